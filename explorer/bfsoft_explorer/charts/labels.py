"""Labels of charts: numbers, names and marks of axes, short enough to stand beside a chart and still told apart.

Knows nothing of what is drawn. Numbers look as ``words.number`` writes them everywhere else.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import altair as alt

from bfsoft.domain import rational

from .. import words
from .style import QUIET

_MOST_MARKS = 8
_CUT = "…"


def number(exact: Fraction, grain: Fraction) -> str:
    """The shortest way to write a number that no other number, ``grain`` or more away from it, shares.

    >>> number(Fraction(17), Fraction(1)), number(Fraction(10**308), Fraction(10**306))
    ('17', '1e308')
    """
    for digits in (3, 6):
        text = words.number(float(exact), digits)
        if abs(Fraction(text.replace(",", "")) - exact) * 100 <= grain:
            return text
    return f"{float(exact):,}".removesuffix(".0")


def value(attribute: Any, given: Any) -> str:
    """One of an attribute's values as text: a number of its grid in few digits, a category as it is."""
    return number(rational(given), rational(attribute.step)) if attribute.kind == "numeric" else str(given)


def cut(text: str, most: int) -> str:
    """The text in at most so many characters, with its middle left out: endings often tell names apart.

    >>> cut("a very long category name 17", 18)
    'a very lo…name 17'
    """
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return text[: most - 1 - tail].rstrip() + _CUT + text[-tail:].lstrip()


def told_apart(names: Sequence[str], most: int) -> list[str]:
    """The names in about ``most`` characters each, no two alike where the names are not.

    Names that a cut in the middle makes alike keep what they do not share instead; if that does not fit, a number.
    """
    short = [cut(name, most) for name in names]
    for alike in {text for text in short if short.count(text) > 1}:
        which = [at for at, text in enumerate(short) if text == alike]
        group = [names[at] for at in which]
        if len(set(group)) == 1:
            continue
        head = _shared(group)
        tail = min(_shared([name[::-1] for name in group]), min(map(len, group)) - head)
        own = [cut(name[head : len(name) - tail], most - 4) for name in group]
        if len(set(own)) < len(set(group)):
            own = [f"{nth + 1}" for nth in range(len(group))]
        room = max(1, most - max(map(len, own)) - 2)
        for at, name, part in zip(which, group, own, strict=True):
            short[at] = name[: min(room, head)].rstrip() + _CUT + part + (_CUT if tail else "")
    return short


def _shared(names: Sequence[str]) -> int:
    """How many letters the names share at their start."""
    first, last = min(names), max(names)
    return next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))


def marks(low: Fraction, high: Fraction, grain: Fraction = Fraction(0), most: int = _MOST_MARKS) -> list[Fraction]:
    """At most about ``most`` round numbers from ``low`` to ``high``, none nearer to the next than ``grain``."""
    if high <= low:
        return [low]
    if grain and (high - low) / grain < most:
        return [low + at * grain for at in range(int((high - low) / grain) + 1)]
    least = max((high - low) / most, grain)
    power = Fraction(10) ** math.floor(math.log10(least))
    step = next(power * times for times in (1, 2, 5, 10, 20) if power * times >= least)
    return [step * at for at in range(math.ceil(low / step), math.floor(high / step) + 1)]


def axis(places: Sequence[float], texts: Sequence[str], **options: Any) -> alt.Axis:
    """An axis of numbers with these texts at these places, which rise; it leaves out what would be written over."""
    # A last label is moved inwards: half of it would be cut off.
    own = {"grid": False, "labelOverlap": True, "labelFlush": 12, **options}
    return alt.Axis(values=[*places], labelExpr=spoken(places, texts), **own)


def spoken(places: Sequence[float], texts: Sequence[str]) -> str:
    """An expression that says the text of the nearest place: drawn places come back with the error of arithmetic."""
    said = json.dumps(texts[-1]) if texts else "''"
    for left, right, text in reversed([*zip(places, places[1:], texts, strict=False)]):
        said = f"datum.value < {left / 2 + right / 2!r} ? {json.dumps(text)} : {said}"
    return said


def note(*lines: str) -> alt.Chart:
    """A text in the middle of a chart that has nothing else to show."""
    return (
        alt.Chart(alt.InlineData(values=[{}]))
        .mark_text(
            text=[*lines], fontSize=12, lineHeight=17, color=QUIET, x=alt.expr("width / 2"), y=alt.expr("height / 2")
        )
        .encode()
    )
