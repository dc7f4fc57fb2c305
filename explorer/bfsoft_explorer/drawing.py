"""How a page shows a chart: quickly, and with its finding as the text that a screen reader reads."""

from __future__ import annotations

from typing import Any


class _Unchecked:
    """A chart whose specification is taken as it is.

    Altair holds it to Vega-Lite's schema each time it is asked; that is a third of a page's time, and the tests do it.
    """

    def __init__(self, chart: Any) -> None:
        self._chart = chart

    def to_dict(self) -> dict[str, Any]:
        return self._chart.to_dict(validate=False)


def show_chart(place: Any, chart: Any, finding: str) -> None:
    """Show an Altair chart in ``place``, Streamlit itself or a container of it; ``finding`` is what it shows, in words.

    Raises ValueError where ``finding`` is empty: a chart without words is nothing to who cannot see it.
    """
    if not finding:
        raise ValueError("a chart needs its finding in words, for those who do not see it")
    place.altair_chart(_Unchecked(chart), alt=finding)
