"""What pages draw with: charts, quickly and with their finding in words, and fields that can be emptied safely."""

from __future__ import annotations

import math
from typing import Any

import streamlit as st

from . import state


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


def number_field(label: str, place: Any = st, name: str | None = None, **options: Any) -> Any:
    """A number input over a value in session state, under its ``key``; None while the user has emptied it.

    Streamlit's own gives the least number it takes when it is emptied: a temperature of 1e-6, say, asked for by nobody.
    It also keeps a number beyond its limits to itself and shows it from then on, whatever the value becomes; here such
    a number is refused with a notice, and the field shows the value again.
    ``name`` is how that notice calls it, which is not read as Markdown as the label is: the label itself by default.
    Without a ``step`` it steps by a tenth of the leading digit's unit, which suits 1e-9 as well as 1e3.
    """
    key = options["key"]
    low, high = options.pop("min_value", -math.inf), options.pop("max_value", math.inf)
    then, args = options.pop("on_change", None), options.pop("args", ())

    def changed() -> None:
        given = st.session_state[key]
        if given is not None and not low <= given <= high:
            limit = f"small; the least is {low:g}" if given < low else f"large; the most is {high:g}"
            state.notify(f"{name or label}: {given:g} is too {limit}.")
        elif then is not None:
            then(*args)

    value = st.session_state.get(key)
    if options.get("step") is None:
        options["step"] = 10.0 ** (math.floor(math.log10(value)) - 1) if value else 1e-3
    return place.number_input(label, value=None, on_change=changed, **options)
