"""Charts of protection: for every pair of one attribute's values, how well an attacker can tell them apart.

The numbers are ``Policy.protection``'s; these charts only measure, bin and colour them.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from bfsoft import Budget, Policy, Protection, SoftVote, sensitivity_bound
from bfsoft.domain import rational
from bfsoft.privacy import attacker_success, exact_epsilons
from bfsoft.votes import Vote

from .. import words
from . import labels
from .style import COLOURS, QUIET, SIGNAL, title

# Each pair once: 99 bins a side make 4,950 cells, just below the 5,000 rows that Altair embeds in a notebook.
MOST_BINS = 99
# The matrices of more values than this would take seconds and gigabytes; a page says so instead.
MOST_VALUES = 2_000
_LABELLED = 12
# Characters of a title, of a row's and of a column's name, and pixels of a legend: what fits where a chart is
# 320 pixels wide, as on a phone. A chart does not know how wide the page will draw it.
_TITLE_WIDTH, _ROW, _COLUMN, _LEGEND = 40, 18, 14, 210
# Characters of a name within a sentence.
_NAMED = 28
# Pixels of a line of a title, of the matrix, and of a row of it: a cell alone is no taller, names do not overlap.
_LINE, _TALL, _ROW_MOST = 18, 460, 64
# Five lines of so many points stay below Altair's 5,000 rows too.
_MOST_DISTANCES = 999
_PALE, _NO_PROMISE, _INK, _PAPER = "#C3CCD6", "#A23B4A", "#16212C", "#FFFFFF"
SOFT, BY_PATH, BY_DISTANCE = "BF-Soft", "by path", "by distance"
SAME_RHO, SAME_NOISE = "plain DP, same ρ", "plain DP, same noise"
_SOURCES = [SOFT, BY_PATH, BY_DISTANCE, SAME_RHO, SAME_NOISE]
_PALETTE = [COLOURS["BF-Soft"], QUIET, QUIET, COLOURS["Hard"], COLOURS["Tab-PE"]]


@dataclass(frozen=True)
class Measure:
    """One way to say how far a pair can be told apart: its name, the axis title, and the least span worth a colour.

    A difference of less than ``span`` is never shown as a large one; 0 where numbers are read by their ratios.
    """

    key: str
    name: str
    axis: str
    span: float

    def of(self, zcdp: Any, delta: float) -> np.ndarray:
        """The measure of pairs with these zCDP parameters, same shape; larger always means less protected."""
        zcdp = np.asarray(zcdp, dtype=float)
        if self.key == "zcdp":
            return zcdp
        if self.key == "success":
            return attacker_success(zcdp)
        return exact_epsilons(zcdp, delta)

    def say(self, value: float) -> str:
        """The number as people read it: ``52.9 %`` or three digits."""
        return f"{100 * value:.1f} %" if self.key == "success" else words.number(value)

    def read(self, levels: np.ndarray) -> np.ndarray:
        """The levels as people read them: two that are said alike are the same number."""
        if self.key == "success":
            return np.array([float(self.say(level)[:-2]) / 100 for level in levels])
        said = [float(self.say(level).replace(",", "").replace("∞", "inf")) for level in levels]
        return np.minimum(np.array(said), sys.float_info.max)

    def said(self, zcdp: np.ndarray, delta: float) -> list[str]:
        """The measure of each pair as text; of a pair without any bound, that nothing is promised."""
        levels = self.of(zcdp, delta)
        return [
            self.say(level) if math.isfinite(rho) else "no promise" for level, rho in zip(levels, zcdp, strict=True)
        ]


MEASURES = {
    measure.key: measure
    for measure in (
        Measure("success", "attacker's best guess", "right guesses, from 50:50", 0.005),
        Measure("zcdp", "zCDP", "ρ of the pair", 0.0),
        Measure("epsilon", "ε at δ", "exact ε of the pair", 0.0),
    )
}
ARGUMENTS = {"best": "the better of both", "path": BY_PATH, "distance": BY_DISTANCE}


@lru_cache(maxsize=2)
def _protection(policy: Policy, attribute: str, vote: Vote, budget: Budget) -> Protection:
    # One page asks for the same pairs half a dozen times. Policies are public, so they may be remembered.
    return policy.protection(attribute, vote, budget)


def _argued(protection: Protection, by: str) -> np.ndarray:
    return {"best": protection.zcdp, "path": protection.by_path, "distance": protection.by_distance}[by]


def same_noise(policy: Policy, vote: SoftVote, budget: Budget) -> float:
    """The ρ that plain DP, with a hard vote, pays for the noise of this release: ρ / q² (THEORY, "Privacy")."""
    return budget.rho * sensitivity_bound(policy, vote).budget_factor


# ------------------------------------------------------------------ the map


def map_frame(protection: Protection, attribute: Any, by: str = "best", measure: str = "success") -> pd.DataFrame:
    """The cells of the map, each pair of values, or of bins of values, once.

    Columns: ``a`` and ``b``, the values or ranges as text; ``first`` and ``second``, positions of their bins; ``zcdp``
    of the cell's least protected pair (inf where nothing is promised) and ``level``, its measure; ``shown``, the
    measure as text; ``hops``, ``path`` and ``distance`` as text. More than 99 values are binned, equally many values
    to a bin but for the last.
    """
    width = bin_width(len(protection.values))
    count = math.ceil(len(protection.values) / width)
    first, second = np.triu_indices(count, 0 if width > 1 else 1)
    # A last bin of one value makes no pair with itself.
    alone = (first == second) & (first * width == len(protection.values) - 1)
    first, second = first[~alone], second[~alone]
    names = _names(attribute, width)
    chosen = MEASURES[measure]

    def cells(matrix: np.ndarray) -> np.ndarray:
        return _binned(matrix, width)[first, second]

    def said(matrix: np.ndarray) -> list[str]:
        return chosen.said(cells(matrix), protection.delta)

    zcdp, hops = cells(_argued(protection, by)), cells(protection.hops)
    return pd.DataFrame(
        {
            "a": [names[at] for at in first],
            "b": [names[at] for at in second],
            "first": first,
            "second": second,
            "zcdp": zcdp,
            "level": chosen.of(zcdp, protection.delta),
            "shown": chosen.said(zcdp, protection.delta),
            "hops": ["no path" if math.isinf(hop) else f"{hop:.0f}" for hop in hops],
            "path": said(protection.by_path),
            "distance": said(protection.by_distance),
        }
    )


def bin_width(count: int) -> int:
    """How many neighbouring values share a cell of the map."""
    return math.ceil(count / MOST_BINS)


def _names(attribute: Any, width: int) -> list[str]:
    """The bins of an attribute's values as text, each by its first and last."""
    values = attribute.values
    ends = [(values[at], values[min(at + width, len(values)) - 1]) for at in range(0, len(values), width)]
    said = [(labels.value(attribute, first), labels.value(attribute, last)) for first, last in ends]
    return [first if first == last else f"{first} to {last}" for first, last in said]


def _binned(matrix: np.ndarray, width: int) -> np.ndarray:
    """The largest entry of each width × width block; the last blocks may be smaller."""
    starts = np.arange(0, len(matrix), width)
    return np.maximum.reduceat(np.maximum.reduceat(matrix, starts, axis=0), starts, axis=1) if width > 1 else matrix


def protection_text(
    policy: Policy, attribute: str, vote: SoftVote, budget: Budget, measure: str = "success", by: str = "best"
) -> str:
    """The finding of ``protection_map``: what an edge promises, and which pair is told apart best.

    A pair is named only where it is told apart better, by the numbers as people read them, than the policy's edges are.
    """
    protection, chosen = _protection(policy, attribute, vote, budget), MEASURES[measure]
    values = policy.domain[attribute]
    called, zcdp = labels.cut(attribute, _NAMED), _argued(protection, by)
    if len(protection.values) < 2:
        return f"{called} has one value only, so there is nothing to tell apart"
    pairs = zcdp[np.triu_indices(len(zcdp), 1)]
    first, second = sorted(np.unravel_index(int(zcdp.argmax()), zcdp.shape))
    a, b = labels.told_apart([labels.value(values, protection.values[at]) for at in (first, second)], _NAMED)
    # What a path alone promises counts hops, whatever votes look at.
    if _ignored(policy, attribute) and (by != "path" or not pairs.any()):
        return f"{called} has weight 0: votes do not look at it, so nothing is learnt about it"
    if math.isinf(pairs.max()):
        if by == "path":
            return f"{called}: no path joins {a} and {b}, so paths alone promise nothing for them"
        if math.isinf(pairs.min()):
            return f"{called}: the release has no noise, so any two values can be told apart for certain"
        return f"{called}: the release has no noise, so {a} and {b} can be told apart for certain"
    most, least = (chosen.say(float(chosen.of(level, budget.delta))) for level in (pairs.max(), pairs.min()))
    joined = zcdp[protection.hops == 1]
    across = chosen.say(float(chosen.of(joined.max(), budget.delta))) if len(joined) else ""
    if across == most:
        others = "" if len(joined) == 2 * len(pairs) else ", joined or not"
        return f"{called}: at most {most} for any two values{others}"
    told = f"{a} and {b} are told apart best: {most}"
    if len(pairs) > 1:
        if least == most:
            told = f"any two values are told apart at most {most}"
        elif np.count_nonzero(pairs >= pairs.max() * (1 - 1e-9)) > 1:
            told = f"{a} and {b} are among those told apart best: {most}"
    return f"{called}: at most {across} across an edge; {told}" if across else f"{called} has no edges; {told}"


def _ignored(policy: Policy, attribute: str) -> bool:
    """Whether votes do not look at the attribute at all, hard or soft: nothing is learnt about it with any noise."""
    return policy.domain.exact_weights[policy.domain.position(attribute)] == 0


def _heading(finding: str, detail: str) -> alt.TitleParams:
    return title(finding, detail, _TITLE_WIDTH)


def _lines_of(heading: alt.TitleParams) -> int:
    return sum(1 if isinstance(heading[part], str) else len(heading[part]) for part in ("text", "subtitle"))


def protection_map(
    policy: Policy, attribute: str, vote: SoftVote, budget: Budget, measure: str = "success", by: str = "best"
) -> alt.LayerChart | alt.Chart:
    """A matrix over pairs of one attribute's values: how far each pair can be told apart by a release.

    ``measure`` is "success" (an attacker's best guess), "zcdp" or "epsilon"; ``by`` is "best", "path" or "distance"
    (THEORY, "Privacy"). Blue cells keep what the policy promises across an edge, orange ones fall short of it, and dark
    red ones have no promise at all; cells of the same number have the same colour. Attributes of more than 99 values
    are shown in bins, by their worst pairs.
    """
    protection, chosen = _protection(policy, attribute, vote, budget), MEASURES[measure]
    values = policy.domain[attribute]
    finding = protection_text(policy, attribute, vote, budget, measure, by)
    if len(values.values) < 2:
        return labels.note("one value: no pair to tell apart").properties(title=_heading(finding, ""), height=120)
    frame = map_frame(protection, values, by, measure)
    promised = np.isfinite(frame["zcdp"])
    # Colours are of the numbers as they are read, so that no difference is seen where none can be read.
    frame = frame.assign(
        zcdp=frame["zcdp"].where(promised), level=chosen.read(frame["level"].where(promised, 0.5).to_numpy())
    )
    width = bin_width(len(values.values))
    cell = "a pair of values" if width == 1 else f"the worst pair of {width} values by {width}"
    detail = f"{ARGUMENTS[by]}; a cell is {cell}"
    if not promised.all():
        detail += "; dark red: no promise at all"
    tooltip = [
        alt.Tooltip("a:N", title=attribute),
        alt.Tooltip("b:N", title="and"),
        alt.Tooltip("hops:N", title="hops in the policy"),
        alt.Tooltip("shown:N", title=chosen.name),
        alt.Tooltip("path:N", title="… by path"),
        alt.Tooltip("distance:N", title="… by distance"),
    ]
    base = _on_a_grid(frame, values, width) if values.kind == "numeric" else _on_labels(frame, values, width)
    colour = _colour(chosen, frame["level"][promised].to_numpy(), budget)
    chart: Any = base.mark_rect().encode(color=colour, tooltip=tooltip)
    heading = _heading(finding, detail)
    if values.kind == "numeric":
        return chart.properties(title=heading, height=_TALL + _LINE * _lines_of(heading))
    if len(values.values) <= _LABELLED:
        # Where cells are narrower than their numbers, only hovering tells them.
        room = 6 * max(map(len, frame["shown"])) + 2
        ink = alt.when("!isValid(datum.zcdp)").then(alt.value(_PAPER)).otherwise(alt.value(_INK))
        numbers = base.mark_text(fontSize=11, opacity=alt.expr(f"bandwidth('x') < {room} ? 0 : 1"))
        chart = chart + numbers.encode(text=alt.Text("shown:N"), color=ink, tooltip=tooltip)
    rows = max(1, math.ceil(len(values.values) / width) - 1)
    return chart.properties(title=heading, height=alt.Step(min(_ROW_MOST, _TALL / rows)))


def _colour(chosen: Measure, levels: np.ndarray, budget: Budget) -> Any:
    """The colours of levels as they are read: grey at an edge's promise, blue below, orange above.

    Full blue is what tells nothing. Full orange is at least as far beyond an edge's promise as that is from nothing:
    a pair barely beyond it is barely coloured.
    """
    nothing, edge = chosen.read(chosen.of(np.array([0.0, budget.rho]), budget.delta))
    span = max(edge - nothing, chosen.span)
    bounds, colours = [float(edge)], [_PALE]
    if edge > nothing:
        bounds, colours = (
            [float(nothing), *bounds],
            [_between(_PALE, COLOURS["BF-Soft"], (edge - nothing) / span), _PALE],
        )
    worst = max(levels, default=edge)
    if worst > edge or len(bounds) == 1:
        bounds.append(float(min(max(worst, edge + span), sys.float_info.max)) or 1.0)
        colours.append(SIGNAL)
    said = [chosen.say(bound) for bound in bounds]
    # A label too near another would be written over it.
    room = [3.2 * (len(said[0]) + len(text)) / _LEGEND for text in said]
    places = [(bound - bounds[0]) / (bounds[-1] - bounds[0]) for bound in bounds]
    apart = [
        at
        for at in range(len(bounds))
        if at in (0, len(bounds) - 1) or 1.5 * room[at] < places[at] < 1 - 1.5 * room[at]
    ]
    legend: Any = None
    if len(levels):
        legend = alt.Legend(
            title=[chosen.axis, f"grey: ρ = {words.number(budget.rho)}, an edge's promise"], orient="top",
            direction="horizontal", gradientLength=_LEGEND, values=[bounds[at] for at in apart],
            labelExpr=labels.spoken([bounds[at] for at in apart], [said[at] for at in apart]),
            titleFontWeight="normal", titleLimit=_LEGEND + 60, offset=6,
        )  # fmt: skip
    scale = alt.Scale(domain=bounds, range=colours, clamp=True, interpolate="lab")
    # Without a promise: a darker shade of its own, for no level on the scale is that bad.
    return (
        alt.when("!isValid(datum.zcdp)").then(alt.value(_NO_PROMISE)).otherwise("level:Q", scale=scale, legend=legend)
    )


def _between(one: str, other: str, share: float) -> str:
    """The colour at a share of the way from one to another."""
    pairs = [(int(one[at : at + 2], 16), int(other[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * share):02X}" for a, b in pairs)


def _on_a_grid(frame: pd.DataFrame, values: Any, width: int) -> alt.Chart:
    """The cells as rectangles over positions on the grid of values, the larger downwards: both axes touch the cells.

    Positions, for a browser's arithmetic fails at numbers such as 1e308; the axes say the numbers.
    """
    count = len(values.values)
    starts = np.arange(0, count, width) - 0.5
    ends = np.append(starts[1:], count - 0.5)
    first, second = frame["first"], frame["second"]
    whole, axis = [-0.5, count - 0.5], _numbers(rational(values.low), rational(values.high), values, values.low)
    return alt.Chart(frame.assign(x=starts[first], x2=ends[first], y=starts[second], y2=ends[second])).encode(
        x=alt.X("x:Q", title=labels.cut(values.name, _NAMED), scale=alt.Scale(domain=whole, nice=False), axis=axis),
        x2=alt.X2("x2:Q"),
        y=alt.Y(
            "y:Q",
            title=labels.cut(values.name, _NAMED),
            scale=alt.Scale(domain=whole, nice=False, reverse=True),
            axis=axis,
        ),
        y2=alt.Y2("y2:Q"),
    )


def _numbers(low: Fraction, high: Fraction, values: Any, origin: float) -> alt.Axis:
    """An axis over grid steps from ``origin`` that says the numbers there, round ones between ``low`` and ``high``."""
    step = rational(values.step)
    marks = labels.marks(low, high, step)
    places = [float((mark - rational(origin)) / step) for mark in marks]
    return labels.axis(places, [labels.number(mark, step) for mark in marks])


def _on_labels(frame: pd.DataFrame, values: Any, width: int) -> alt.Chart:
    """The cells in the attribute's order of values, each axis labelled as far as there is room."""
    names = _names(values, width)
    rows, columns = (json.dumps(labels.told_apart(names, most)) for most in (_ROW, _COLUMN))
    # Lying names fit under columns that are wider even on a phone; upright ones leave the least out.
    lying = max(map(len, labels.told_apart(names[:-1], _COLUMN))) * 6.5 * (len(names) - 1) < _LEGEND
    few = len(names) <= _LABELLED
    axis: dict[str, Any] = {"grid": False, "labelOverlap": True, "labelSeparation": 0, "labelFlush": False}
    if not few:
        axis |= {"labelFontSize": 10}
    return alt.Chart(frame).encode(
        x=alt.X(
            "first:O",
            title=None,
            axis=alt.Axis(labelExpr=f"{columns}[datum.value]", labelAngle=0 if lying else -45 if few else -90, **axis),
        ),
        y=alt.Y("second:O", title=None, axis=alt.Axis(labelExpr=f"{rows}[datum.value]", **axis)),
    )


# ------------------------------------------------------------------ beside the alternatives


@dataclass(frozen=True)
class _Compared:
    """For each distance, in steps between values, the zCDP of its least protected pair by each argument."""

    steps: np.ndarray
    distances: list[str]
    hops: list[str]
    zcdp: dict[str, np.ndarray]


@lru_cache(maxsize=4)
def _compared(policy: Policy, attribute: str, vote: SoftVote, budget: Budget) -> _Compared:
    protection, values = _protection(policy, attribute, vote, budget), policy.domain[attribute]
    codes = np.arange(len(values.values))
    first, second = np.triu_indices(len(codes), 1)
    steps = values.steps(codes[first], codes[second])
    order = np.argsort(steps, kind="stable")
    first, second, steps = first[order], second[order], steps[order]
    starts = np.flatnonzero(np.diff(steps, prepend=-1))
    starts = starts[:: math.ceil(len(starts) / _MOST_DISTANCES)] if len(starts) else starts

    def worst(matrix: np.ndarray) -> np.ndarray:
        return np.maximum.reduceat(matrix[first, second], starts)

    apart = np.maximum.reduceat(steps, starts)
    step = rational(values.step) if values.kind == "numeric" else Fraction(1)
    said = [labels.number(int(count) * step, step) for count in apart]
    hops = ["no path" if math.isinf(most) else f"{most:.0f}" for most in worst(protection.hops)]
    lines = {
        SOFT: worst(protection.zcdp),
        BY_PATH: worst(protection.by_path),
        BY_DISTANCE: worst(protection.by_distance),
        SAME_RHO: np.full(len(apart), budget.rho),
        SAME_NOISE: np.full(len(apart), same_noise(policy, vote, budget)),
    }
    return _Compared(apart, said, hops, lines)


def comparison_frame(
    policy: Policy, attribute: str, vote: SoftVote, budget: Budget, measure: str = "success"
) -> pd.DataFrame:
    """The least protected pair at each distance between values, beside what the alternatives give every pair.

    More than 999 distances are taken together in equal groups, each under its largest.
    Columns: ``steps``, from value to value; ``distance``, the same in the attribute's own units, as text; ``source``;
    ``zcdp`` (inf where nothing is promised) and ``level``, its measure; ``shown``, the measure as text; ``hops``, the
    most hops at that distance, as text.
    """
    compared, chosen = _compared(policy, attribute, vote, budget), MEASURES[measure]
    count = len(compared.steps)
    zcdp = np.concatenate([*compared.zcdp.values()])
    return pd.DataFrame(
        {
            "steps": np.tile(compared.steps, len(compared.zcdp)),
            "distance": compared.distances * len(compared.zcdp),
            "source": np.repeat([*compared.zcdp], count),
            "zcdp": zcdp,
            "level": chosen.of(zcdp, budget.delta),
            "shown": chosen.said(zcdp, budget.delta),
            "hops": compared.hops * len(compared.zcdp),
        }
    )


def comparison_text(policy: Policy, attribute: str, vote: SoftVote, budget: Budget, measure: str = "success") -> str:
    """The finding of ``comparison_chart``: up to what distance BF-Soft hides values as well as plain DP does."""
    compared, chosen = _compared(policy, attribute, vote, budget), MEASURES[measure]
    soft, plain = compared.zcdp[SOFT], budget.rho
    called = labels.cut(attribute, _NAMED)
    if not len(soft):
        return f"{called} has one value only, so there is nothing to compare"
    if _ignored(policy, attribute):
        return f"{called} has weight 0: no vote looks at it, so nothing is learnt about it, with or without noise"
    if not math.isfinite(soft.max()):
        return "Without noise nothing is hidden"

    def read(zcdp: Any) -> np.ndarray:
        return chosen.read(chosen.of(np.atleast_1d(zcdp), budget.delta))

    share = words.number(sensitivity_bound(policy, vote).ratio)
    noise = f"with {'all' if share == '1' else share} of its noise"
    alike = read(soft) <= read(plain)
    kept = soft <= plain * (1 + 1e-9)
    kept = kept if kept.any() else alike
    if alike.all():
        return f"Every pair hidden as well as by plain DP, {noise}"
    if not kept[0]:
        return f"No pair hidden as well as by plain DP, {'even' if share == '1' else 'but'} {noise}"
    return f"Up to {compared.distances[int(kept.argmin()) - 1]} apart as good as plain DP, {noise}"


def comparison_chart(
    policy: Policy, attribute: str, vote: SoftVote, budget: Budget, measure: str = "success"
) -> alt.LayerChart | alt.Chart:
    """How far values can be told apart: what this release promises, and beside it plain DP, with the hard vote.

    Lines over the distance between values; bars where all values are equally far apart.
    """
    chosen, values = MEASURES[measure], policy.domain[attribute]
    finding = comparison_text(policy, attribute, vote, budget, measure)
    frame = comparison_frame(policy, attribute, vote, budget, measure)
    if not len(frame):
        return labels.note("one value: no pair to compare").properties(title=_heading(finding, ""), height=120)
    promised = np.isfinite(frame["zcdp"])
    bounded = frame[frame["source"].isin([SOFT, SAME_RHO, SAME_NOISE]) & promised]["level"]
    least = float(chosen.of(0.0, budget.delta))
    top = max(float(bounded.max()), least + chosen.span) or 1.0
    spread = frame["steps"].nunique() > 1
    # Beside a bar its number needs room.
    end = min(least + (top - least) * (1.12 if spread else 1.4), sys.float_info.max)
    marks = labels.marks(rational(least), rational(end), most=5)
    level: dict[str, Any] = {
        "title": chosen.name if chosen.key == "success" else chosen.axis,
        "scale": alt.Scale(domain=[least, end], nice=False),
        "axis": labels.axis([*map(float, marks)], [chosen.say(float(mark)) for mark in marks], grid=True),
    }
    frame = frame.assign(level=frame["level"].where(promised, np.nan if spread else least))
    # Drawn from the last to the first: this release lies over what it equals.
    base = alt.Chart(frame[::-1]).encode(
        tooltip=[
            alt.Tooltip("distance:N", title="apart"),
            alt.Tooltip("source:N", title="argument"),
            alt.Tooltip("shown:N", title=chosen.name),
            alt.Tooltip("hops:N", title="hops in the policy"),
        ]
    )
    detail = f"what is promised for the least protected pair{' at each distance' if spread else ''}; lower is better"
    heading = _heading(finding, detail)
    if not spread:
        return _bars(base, least, level).properties(title=heading, height=240 + _LINE * _lines_of(heading))
    layers = _lines(base, values, level, frame[promised])
    if not promised[frame["source"] == SOFT].any():
        layers = layers + labels.note("without noise,", "BF-Soft promises nothing")
    return layers.properties(title=heading, height=_TALL + _LINE * _lines_of(heading))


def _lines(base: alt.Chart, values: Any, level: dict[str, Any], promised: pd.DataFrame) -> alt.LayerChart:
    unit = "steps in the tree" if values.kind == "hierarchical" else "distance between two values"
    least, most = (int(end) for end in (base.data["steps"].min(), base.data["steps"].max()))
    if values.kind == "numeric":
        step = rational(values.step)
        axis = _numbers(least * step, most * step, values, 0)
    else:
        marks = labels.marks(Fraction(least), Fraction(most), Fraction(1))
        axis = labels.axis([*map(float, marks)], [labels.number(mark, Fraction(1)) for mark in marks])
    x = alt.X(
        "steps:Q",
        title=[labels.cut(values.name, _NAMED), unit],
        scale=alt.Scale(domain=[least, most], nice=False),
        axis=axis,
    )
    y = alt.Y("level:Q", **level)
    # A line that is nowhere, for nothing is promised, needs no name.
    drawn = [at for at, source in enumerate(_SOURCES) if source in set(promised["source"])]
    names = [_SOURCES[at] for at in drawn]
    legend = alt.Legend(
        orient="bottom", title=None, columns=alt.expr("width < 300 ? 1 : 2"), symbolType="stroke", symbolSize=350,
        labelLimit=_LEGEND,
    )  # fmt: skip
    dashes = [[1, 0], [6, 4], [2, 3], [1, 0], [1, 0]]
    lines = base.mark_line(clip=True, strokeWidth=2.2).encode(
        x=x,
        y=y,
        color=alt.Color(
            "source:N", sort=names, scale=alt.Scale(domain=names, range=[_PALETTE[at] for at in drawn]), legend=legend
        ),
        strokeDash=alt.StrokeDash(
            "source:N", sort=names, scale=alt.Scale(domain=names, range=[dashes[at] for at in drawn]), legend=legend
        ),
        tooltip=alt.value(None),
    )
    # A line is hard to hit with a pointer: unseen dots carry what hovering shows.
    return lines + base.mark_circle(clip=True, size=60, opacity=0.001).encode(x=x, y=y)


def _bars(base: alt.Chart, least: float, level: dict[str, Any]) -> alt.LayerChart:
    y = alt.Y("source:N", title=None, sort=_SOURCES, axis=alt.Axis(labelLimit=230))
    x = alt.X("level:Q", **level)
    colour = alt.Color("source:N", sort=_SOURCES, scale=alt.Scale(domain=_SOURCES, range=_PALETTE), legend=None)
    bars = base.mark_bar(clip=True, size=26).encode(x=x, x2=alt.datum(least), y=y, color=colour)
    return bars + base.mark_text(dx=5, align="left", color=QUIET).encode(x=x, y=y, text=alt.Text("shown:N"))
