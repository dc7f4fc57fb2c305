"""How every chart looks: colours, titles and the parts that several charts share.

Every chart spells its channels as objects: Altair takes some 8 ms to make one of a bare string, and a page has dozens.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

import altair as alt

# Okabe and Ito's palette, which the common kinds of colour-blindness keep apart; mid-tones that carry on both themes.
COLOURS = {"Hard": "#E08A00", "BF-Soft": "#2384D6", "Tab-PE": "#8F5FBF", "data": "#8A949E"}
SIGNAL, CALM, QUIET = "#D55E00", "#7FA6C9", "#8A949E"
# Regions of a plane: hues of the same palette without vermilion, which is the signal drawn over them.
REGIONS = ("#0072B2", "#E6B800", "#009E73", "#B565A7", "#56B4E9", "#8A7F72", "#7A5FC0")


# A number stays with what it counts, and a formula whole: neither "87.6 %" nor "τ = 0.03" may end up on two lines.
_SIGNS = "=≈<>≤≥×+/−"
_TOGETHER = re.compile(rf"(?<=\d) (?=\S)|(?<=[{_SIGNS}±→–]) (?=\S)|(?<=\S) (?=[{_SIGNS}] |ln )|(?<= ln) |(?<=log₂) ")
_TITLE, _DETAIL = 15, 12  # pixels


def wrapped(text: str, width: int) -> list[str]:
    """As few lines of at most so many characters as words allow, alike in length; numbers stay with their units."""
    tied = _TOGETHER.sub("\N{NO-BREAK SPACE}", text)

    def cut(width: int) -> list[str]:
        return textwrap.wrap(tied, width, break_long_words=False, break_on_hyphens=False)

    lines = cut(width)
    longest = max(map(len, lines), default=0)
    while len(lines) > 1 and len(evener := cut(longest - 1)) == len(lines) and max(map(len, evener)) < longest:
        lines, longest = evener, max(map(len, evener))
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def title(finding: str, detail: str = "", width: int = 200) -> alt.TitleParams:
    """A chart's title: the finding, and below it what one must know to read it.

    A chart cuts off a line longer than itself: ``width``, in characters of the finding, breaks both into lines before
    that; the detail's letters are smaller, so its lines hold more of them.
    """
    lines, below = wrapped(finding, width), wrapped(detail, width * _TITLE // _DETAIL)
    return alt.TitleParams(
        lines if len(lines) > 1 else finding,
        subtitle=below if len(below) > 1 else detail or [],
        anchor="start",
        fontSize=_TITLE,
        subtitleFontSize=_DETAIL,
        subtitleColor=QUIET,
        offset=12,
    )


def by_source(field: str, names: Sequence[str]) -> alt.Color:
    """The fixed colour of each method and of the data, with a legend above the chart."""
    scale = alt.Scale(domain=[*names], range=[COLOURS[name] for name in names])
    return alt.Color(f"{field}:N", scale=scale, legend=alt.Legend(orient="top", title=None))


def by_round(rounds: int) -> alt.X:
    """The axis of rounds: whole numbers from 1, the same for every chart that runs along them."""
    return alt.X(
        "round:Q",
        title="round",
        scale=alt.Scale(domain=[1, max(2, rounds)]),
        axis=alt.Axis(tickMinStep=1, format="d"),
    )
