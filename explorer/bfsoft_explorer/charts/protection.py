"""Charts of protection: for every pair of one attribute's values, how well an attacker can tell them apart.

The numbers are ``Policy.protection``'s; these charts only measure, bin and colour them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from bfsoft import Budget, HardVote, Policy, Protection, SoftVote, sensitivity_bound
from bfsoft.privacy import attacker_success, exact_epsilons
from bfsoft.votes import Vote

from .. import words
from .style import COLOURS, QUIET, SIGNAL, title

# Each pair once: 99 bins a side make 4,950 cells, just below the 5,000 rows that Altair embeds in a notebook.
MOST_BINS = 99
# The matrices of more values than this would take seconds and gigabytes; a page says so instead.
MOST_VALUES = 2_000
_LABELLED = 12
_TITLE_WIDTH = 58
# Five lines of so many points stay below Altair's 5,000 rows too.
_MOST_DISTANCES = 999
_PALE, _NO_PROMISE, _INK = "#C3CCD6", "#A23B4A", "#16212C"
SOFT, BY_PATH, BY_DISTANCE = "BF-Soft", "by path", "by distance"
SAME_RHO, SAME_NOISE = "hard vote or plain DP, same ρ", "plain DP, same noise"
_SOURCES = [SOFT, BY_PATH, BY_DISTANCE, SAME_RHO, SAME_NOISE]
_PALETTE = [COLOURS["BF-Soft"], QUIET, QUIET, COLOURS["Hard"], COLOURS["Tab-PE"]]


@dataclass(frozen=True)
class Measure:
    """One way to say how far a pair can be told apart: its name, the axis title, and how a number is shown."""

    key: str
    name: str
    axis: str
    format: str

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

    def said(self, zcdp: np.ndarray, delta: float) -> list[str]:
        """The measure of each pair as text; of a pair without any bound, that nothing is promised."""
        levels = self.of(zcdp, delta)
        return [
            self.say(level) if math.isfinite(rho) else "no promise" for level, rho in zip(levels, zcdp, strict=True)
        ]


MEASURES = {
    measure.key: measure
    for measure in (
        Measure("success", "attacker's best guess", "right guesses, from 50:50", ".1%"),
        Measure("zcdp", "zCDP", "ρ of the pair", ".2~g"),
        Measure("epsilon", "ε at δ", "exact ε of the pair", ".2~g"),
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


def same_rho(policy: Policy, attribute: str, budget: Budget) -> float:
    """The ρ of the worst pair of an attribute's values under a hard vote at the same budget.

    Under a policy with an edge it is the budget itself, as for plain DP; without one there is no noise at all.
    """
    return float(_protection(policy, attribute, HardVote(), budget).zcdp.max())


# ------------------------------------------------------------------ the map


def map_frame(protection: Protection, by: str = "best", measure: str = "success") -> pd.DataFrame:
    """The cells of the map, each pair of values, or of bins of values, once.

    Columns: ``a`` and ``b``, the values or ranges as text; ``first`` and ``second``, positions of their bins; ``zcdp``
    of the cell's least protected pair (inf where nothing is promised) and ``level``, its measure; ``shown``, the
    measure as text; ``hops``, ``path`` and ``distance`` as text. More than 99 values are binned, equally many values
    to a bin but for the last.
    """
    width = bin_width(len(protection.values))
    count = math.ceil(len(protection.values) / width)
    first, second = np.triu_indices(count, 0 if width > 1 else 1)
    names = [_name(protection.values[at * width : (at + 1) * width]) for at in range(count)]
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


def _name(values: tuple[Any, ...]) -> str:
    return str(values[0]) if len(values) == 1 else f"{values[0]} to {values[-1]}"


def _binned(matrix: np.ndarray, width: int) -> np.ndarray:
    """The largest entry of each width × width block; the last blocks may be smaller."""
    starts = np.arange(0, len(matrix), width)
    return np.maximum.reduceat(np.maximum.reduceat(matrix, starts, axis=0), starts, axis=1) if width > 1 else matrix


def protection_text(
    policy: Policy, attribute: str, vote: SoftVote, budget: Budget, measure: str = "success", by: str = "best"
) -> str:
    """The finding of ``protection_map``: what an edge promises, and which pair is told apart best."""
    protection, chosen = _protection(policy, attribute, vote, budget), MEASURES[measure]
    zcdp, delta = _argued(protection, by), budget.delta
    if len(protection.values) < 2:
        return f"{attribute} has one value only, so there is nothing to tell apart"
    first, second = np.unravel_index(int(zcdp.argmax()), zcdp.shape)
    a, b = protection.values[min(first, second)], protection.values[max(first, second)]
    worst = float(chosen.of(zcdp[first, second], delta))
    if math.isinf(zcdp[first, second]):
        if by == "path":
            return f"{attribute}: no path joins {a} and {b}, so paths alone promise nothing for them"
        return f"{attribute}: the release has no noise, so {a} and {b} are told apart for certain"
    if zcdp[first, second] == 0:
        return f"{attribute}: no pair can be told apart, for votes do not look at it"
    joined = zcdp[protection.hops == 1]
    most = f"{a} and {b} are told apart best: {chosen.say(worst)}"
    if not len(joined):
        return f"{attribute} has no edges; {most}"
    return f"{attribute}: at most {chosen.say(float(chosen.of(joined.max(), delta)))} across an edge; {most}"


def protection_map(
    policy: Policy, attribute: str, vote: SoftVote, budget: Budget, measure: str = "success", by: str = "best"
) -> alt.LayerChart | alt.Chart:
    """A matrix over pairs of one attribute's values: how far each pair can be told apart by a release.

    ``measure`` is "success" (an attacker's best guess), "zcdp" or "epsilon"; ``by`` is "best", "path" or "distance"
    (THEORY, "Privacy"). Blue cells keep what the policy promises across an edge, orange ones fall short of it, and dark
    red ones have no promise at all. Attributes of more than 99 values are shown in bins, by their worst pairs.
    """
    protection, chosen = _protection(policy, attribute, vote, budget), MEASURES[measure]
    values = policy.domain[attribute]
    frame = map_frame(protection, by, measure)
    least = float(chosen.of(0.0, budget.delta))
    edge = float(chosen.of(budget.rho, budget.delta))
    levels = frame["level"][np.isfinite(frame["zcdp"])]
    top = max(edge, float(levels.max()) if len(levels) else edge)
    bounds, colours = [least, edge], [COLOURS["BF-Soft"], _PALE]
    if top > edge * (1 + 1e-9):
        bounds, colours = [*bounds, top], [*colours, SIGNAL]
    key = [chosen.axis, f"grey: ρ = {words.number(budget.rho)}, an edge's promise"]
    if len(levels) < len(frame):
        key.append("dark red: no promise at all")
    # A label too near another would be written over it.
    apart = [bound for bound in bounds if bound in (least, bounds[-1]) or 0.12 < (bound - least) / (top - least) < 0.88]
    legend = alt.Legend(
        title=key, orient="top-right", direction="horizontal", gradientLength=250, format=chosen.format,
        values=apart, titleFontWeight="normal", titleLimit=320, offset=0,
    )  # fmt: skip
    scale = alt.Scale(domain=bounds, range=colours, clamp=True, interpolate="lab")
    # Without a promise: a darker shade of its own, for no level on the scale is that bad.
    colour = (
        alt.when("!isValid(datum.zcdp)").then(alt.value(_NO_PROMISE)).otherwise("level:Q", scale=scale, legend=legend)
    )
    tooltip = [
        alt.Tooltip("a:N", title=attribute),
        alt.Tooltip("b:N", title="and"),
        alt.Tooltip("hops:N", title="hops in the policy"),
        alt.Tooltip("shown:N", title=chosen.name),
        alt.Tooltip("path:N", title="… by path"),
        alt.Tooltip("distance:N", title="… by distance"),
    ]
    width = bin_width(len(values.values))
    frame = frame.assign(zcdp=frame["zcdp"].where(np.isfinite(frame["zcdp"])), level=frame["level"].clip(upper=top))
    base = _on_a_grid(frame, values, width) if values.kind == "numeric" else _on_labels(frame)
    chart: Any = base.mark_rect().encode(color=colour, tooltip=tooltip)
    if values.kind != "numeric" and len(values.values) <= _LABELLED:
        chart = chart + base.mark_text(fontSize=11, color=_INK).encode(text=alt.Text("shown:N"), tooltip=tooltip)
    cell = "a pair of values" if width == 1 else f"the worst pair of {width} values by {width}"
    heading = title(
        protection_text(policy, attribute, vote, budget, measure, by),
        f"{ARGUMENTS[by]}; each cell is {cell}",
        _TITLE_WIDTH,
    )
    return chart.properties(title=heading, height=420)


def _on_a_grid(frame: pd.DataFrame, values: Any, width: int) -> alt.Chart:
    """The cells as rectangles on two number axes, the larger value downwards, so that both axes touch the cells."""
    step, bins = float(values.step), math.ceil(len(values.values) / width)
    starts = float(values.low) + (np.arange(bins) * width - 0.5) * step
    ends = np.append(starts[1:], float(values.high) + 0.5 * step)
    first, second = frame["first"], frame["second"]
    whole, axis = [starts[0], ends[-1]], alt.Axis(grid=False, tickMinStep=step)
    return alt.Chart(frame.assign(x=starts[first], x2=ends[first], y=starts[second], y2=ends[second])).encode(
        x=alt.X("x:Q", title=values.name, scale=alt.Scale(domain=whole, nice=False), axis=axis),
        x2=alt.X2("x2:Q"),
        y=alt.Y("y:Q", title=values.name, scale=alt.Scale(domain=whole, nice=False, reverse=True), axis=axis),
        y2=alt.Y2("y2:Q"),
    )


def _on_labels(frame: pd.DataFrame) -> alt.Chart:
    """The cells in the attribute's order of values, each axis labelled as far as there is room."""
    order = [*dict.fromkeys([*frame.sort_values("first")["a"], *frame.sort_values("second")["b"]])]
    overlap = len(order) > 40
    return alt.Chart(frame).encode(
        x=alt.X(
            "a:N",
            title=None,
            sort=order,
            axis=alt.Axis(labelAngle=-35, labelLimit=110, grid=False, labelOverlap=overlap),
        ),
        y=alt.Y("b:N", title=None, sort=order, axis=alt.Axis(labelLimit=130, grid=False, labelOverlap=overlap)),
    )


# ------------------------------------------------------------------ beside the alternatives


@dataclass(frozen=True)
class _Compared:
    """For each distance, in the attribute's own units, the zCDP of its least protected pair by each argument."""

    distances: np.ndarray
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

    apart = np.maximum.reduceat(steps, starts) * (float(values.step) if values.kind == "numeric" else 1.0)
    hops = ["no path" if math.isinf(most) else f"{most:.0f}" for most in worst(protection.hops)]
    lines = {
        SOFT: worst(protection.zcdp),
        BY_PATH: worst(protection.by_path),
        BY_DISTANCE: worst(protection.by_distance),
        SAME_RHO: np.full(len(apart), same_rho(policy, attribute, budget)),
        SAME_NOISE: np.full(len(apart), same_noise(policy, vote, budget)),
    }
    return _Compared(apart, hops, lines)


def comparison_frame(
    policy: Policy, attribute: str, vote: SoftVote, budget: Budget, measure: str = "success"
) -> pd.DataFrame:
    """The least protected pair at each distance between values, beside what the alternatives give every pair.

    More than 999 distances are taken together in equal groups, each under its largest.
    Columns: ``distance``, in the attribute's own units; ``source``; ``zcdp`` (inf where nothing is promised) and
    ``level``, its measure; ``shown``, the measure as text; ``hops``, the most hops at that distance, as text.
    """
    compared, chosen = _compared(policy, attribute, vote, budget), MEASURES[measure]
    count = len(compared.distances)
    zcdp = np.concatenate([*compared.zcdp.values()])
    return pd.DataFrame(
        {
            "distance": np.tile(compared.distances, len(compared.zcdp)),
            "source": np.repeat([*compared.zcdp], count),
            "zcdp": zcdp,
            "level": chosen.of(zcdp, budget.delta),
            "shown": chosen.said(zcdp, budget.delta),
            "hops": compared.hops * len(compared.zcdp),
        }
    )


def comparison_text(policy: Policy, attribute: str, vote: SoftVote, budget: Budget, measure: str = "success") -> str:
    """The finding of ``comparison_chart``: up to what distance BF-Soft hides values as well as plain DP does."""
    compared = _compared(policy, attribute, vote, budget)
    soft, distances = compared.zcdp[SOFT], compared.distances
    if not len(distances):
        return f"{attribute} has one value only, so there is nothing to compare"
    if not math.isfinite(soft.max()):
        return "Without noise nothing is hidden"
    kept = distances[soft <= compared.zcdp[SAME_RHO] * (1 + 1e-9)]
    noise = f"with {words.number(sensitivity_bound(policy, vote).ratio)} of its noise"
    if not len(kept):
        return f"No pair hidden as well as by plain DP, but {noise}"
    if len(kept) == len(distances):
        return f"Every pair hidden as well as by plain DP, {noise}"
    return f"Up to {words.number(float(kept.max()), 6)} apart as good as plain DP, {noise}"


def comparison_chart(
    policy: Policy, attribute: str, vote: SoftVote, budget: Budget, measure: str = "success"
) -> alt.LayerChart:
    """How far values can be told apart: this release, and beside it a hard vote or plain DP.

    Lines over the distance between values; bars where all values are equally far apart.
    """
    chosen = MEASURES[measure]
    frame = comparison_frame(policy, attribute, vote, budget, measure)
    promised = np.isfinite(frame["zcdp"])
    bounded = frame[frame["source"].isin([SOFT, SAME_RHO, SAME_NOISE]) & promised]["level"]
    least = float(chosen.of(0.0, budget.delta))
    top = float(bounded.max()) if len(bounded) else 1.0
    spread = frame["distance"].nunique() > 1
    level: dict[str, Any] = {
        "title": chosen.name if chosen.key == "success" else chosen.axis,
        "scale": alt.Scale(domain=[least, least + (top - least) * 1.12], nice=False),
        "axis": alt.Axis(format=chosen.format, tickCount=6),
    }
    frame = frame.assign(level=frame["level"].where(promised, np.nan if spread else least))
    base = alt.Chart(frame).encode(
        tooltip=[
            alt.Tooltip("distance:Q", title="apart"),
            alt.Tooltip("source:N", title="argument"),
            alt.Tooltip("shown:N", title=chosen.name),
            alt.Tooltip("hops:N", title="hops in the policy"),
        ]
    )
    finding = comparison_text(policy, attribute, vote, budget, measure)
    if spread:
        layers = _lines(base, policy.domain[attribute], level, bool(promised.any()))
        detail = "the least protected pair at each distance; lower is better"
    else:
        layers = _bars(base, least, level)
        detail = "the least protected pair; lower is better"
    return layers.properties(title=title(finding, detail, _TITLE_WIDTH), height=420 if spread else 300)


def _lines(base: alt.Chart, values: Any, level: dict[str, Any], any_line: bool) -> alt.LayerChart:
    unit = "steps in the tree" if values.kind == "hierarchical" else "distance between two values"
    ticks = alt.Axis(grid=False, tickMinStep=float(values.step) if values.kind == "numeric" else 1)
    x = alt.X("distance:Q", title=f"{values.name}: {unit}", scale=alt.Scale(nice=False), axis=ticks)
    y = alt.Y("level:Q", **level)
    legend: Any = None
    if any_line:
        legend = alt.Legend(
            orient="bottom", title=None, columns=2, symbolType="stroke", symbolSize=350, labelLimit=260
        )  # fmt: skip
    dashes = [[1, 0], [6, 4], [2, 3], [1, 0], [1, 0]]
    lines = base.mark_line(clip=True, strokeWidth=2.2).encode(
        x=x,
        y=y,
        color=alt.Color("source:N", sort=_SOURCES, scale=alt.Scale(domain=_SOURCES, range=_PALETTE), legend=legend),
        strokeDash=alt.StrokeDash(
            "source:N", sort=_SOURCES, scale=alt.Scale(domain=_SOURCES, range=dashes), legend=legend
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
