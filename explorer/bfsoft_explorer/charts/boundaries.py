"""Charts of boundaries: a plane, a walk along an attribute, the change along every edge, and bound against exact."""

from __future__ import annotations

import html
import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import pandas as pd

from bfsoft import Policy
from bfsoft.crossings import Crossings, EdgeChanges, Plane, Walk, colouring, mix, plane_edges, regions, walk_frame
from bfsoft.domain import Codes
from bfsoft.sensitivity import SQRT2

from .. import words
from .style import CALM, COLOURS, QUIET, REGIONS, SIGNAL, title

if TYPE_CHECKING:
    import plotly.graph_objects as go

_BINS = 70
_BARS = 6
# More than a chart has pixels; thrice as many rows are what Altair takes.
_MOST_WALKED, _MOST_TURNS = 1500, 35
_MOST_TICKS = 10
# Where the rules at a walk's two ends begin, in pixels from the top: below their names.
_UNDER_NAMES = 28
# Votes are computed in doubles: a change or a share that is less than this away from none or all is none or all.
_ROUNDING = 1e-12
_GROUND = {"light": (255, 255, 255), "dark": (16, 23, 31)}


def percent(share: float) -> str:
    """A share of edges: never 0 % for some, never 100 % for not all."""
    if 0 < share < 0.001:
        return "less than 0.1 %"
    if 0.999 < share < 1:
        return "more than 99.9 %"
    return f"{100 * share:.1f} %"


def settled(value: float) -> float:
    """A computed change or share without what rounding left of it: 0 next to 0, 1 next to 1. Never for counts."""
    return next((float(whole) for whole in (0, 1) if abs(value - whole) < _ROUNDING), value)


def _layered(layers: list[Any], heading: alt.TitleParams, height: int) -> alt.LayerChart:
    chart: Any = alt.layer(*layers)
    return chart.properties(title=heading, height=height)


# --- crossings -------------------------------------------------------------------------------------------------------


def crossings_text(found: Crossings) -> str:
    """How many edges of the whole domain cross, and the one that suffices, in a sentence."""
    if not found.total:
        return "The policy has no edges: nothing to cross, nothing to protect."
    if found.example is None:
        none = "The only edge does not cross" if found.total == 1 else f"None of the {found.total:,} edges crosses"
        return f"{none}: on these candidates the policy saves the hard vote all its noise."
    if found.total == 1:
        return f"The only edge crosses, and one is enough: {found.example}."
    return (
        f"{found.crossing:,} of {words.counted(found.total, 'edge')} {'crosses' if found.crossing == 1 else 'cross'} "
        f"({percent(found.share)}); one is enough: {found.example}."
    )


# --- the plane -------------------------------------------------------------------------------------------------------


def plane_text(policy: Policy, plane: Plane, nearest: np.ndarray, m: int) -> str:
    """The finding of ``plane_figure``: how many edges of the slice cross."""
    shares = [edges.share for edges in plane_edges(policy, plane, nearest)]
    crossing, total = (sum(share[i] for share in shares) for i in (0, 1))
    owners = len(np.unique(nearest))
    own = f"{owners:,} of {words.counted(m, 'candidate')} {'owns' if owners == 1 else 'own'} a region"
    if not total:
        return f"No policy edge runs on this slice; {own}"
    edges_cross = f"{words.counted(total, 'edge')} on this slice {'crosses' if crossing == 1 else 'cross'}"
    return f"{crossing:,} of {edges_cross} a boundary ({percent(crossing / total)}); {own}"


def plane_colours(plane: Plane, candidates: Codes, nearest: np.ndarray, tau: float | None, theme: str) -> np.ndarray:
    """The colour of every cell, (rows, columns, 3) uint8: its region's, or with ``tau`` the mix of its soft votes."""
    numbers = colouring(nearest)
    ground = np.array(_GROUND[theme], dtype=float)
    hues = np.array([_rgb(REGIONS[numbers.get(k, k) % len(REGIONS)]) for k in range(len(candidates))])
    turns = np.array([numbers.get(k, 0) // len(REGIONS) for k in range(len(candidates))])
    strength = 0.5 * np.array([1.0, 0.5, 1.5])[turns % 3][:, None]
    own = hues * strength + ground * (1 - strength)
    shown = own[nearest] if tau is None else mix(plane, candidates, tau) @ own
    return np.rint(shown).astype(np.uint8)


def _as_is(text: object) -> str:
    """Text of the user's own making for Plotly, which reads tags and, between dollars, formulas."""
    return html.escape(str(text)).replace("$", "&#36;")


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def plane_figure(
    policy: Policy, plane: Plane, candidates: Codes, tau: float | None = None, theme: str = "light"
) -> go.Figure:
    """A plane as a picture: regions (or with ``tau`` the mix of soft votes), crossing edges, candidates, the record."""
    import plotly.graph_objects as go

    nearest = regions(plane, candidates)
    across, down = plane.domain[plane.across], plane.domain[plane.down]
    text = "#16212C" if theme == "light" else "#E8EEF4"
    column_names, row_names = [_as_is(v) for v in across.values], [_as_is(v) for v in down.values]
    across_name, down_name = _as_is(plane.across), _as_is(plane.down)
    hover = [
        [f"{across_name} {x}, {down_name} {y}<br>nearest: #{nearest[j, i] + 1}" for i, x in enumerate(column_names)]
        for j, y in enumerate(row_names)
    ]
    image = go.Image(z=plane_colours(plane, candidates, nearest, tau, theme), hovertext=hover, hoverinfo="text")
    figure = go.Figure(image)
    segments = crossing_segments(policy, plane, nearest)
    figure.add_scatter(
        x=segments["x"], y=segments["y"], mode="lines", line={"color": SIGNAL, "width": 1}, opacity=0.55,
        name="edges that cross", hoverinfo="skip",
    )  # fmt: skip
    row, column = plane.positions
    here = np.all(np.delete(candidates - plane.record, [row, column], axis=1) == 0, axis=1)
    for shown, symbol, name in ((here, "circle", "candidates here"), (~here, "circle-open", "candidates elsewhere")):
        figure.add_scatter(
            x=candidates[shown, column], y=candidates[shown, row], mode="markers", name=name,
            marker={"symbol": symbol, "size": 9, "color": text, "opacity": 1.0 if name.endswith("here") else 0.5},
            text=[f"#{k + 1}" for k in np.flatnonzero(shown)], hoverinfo="text",
        )  # fmt: skip
    figure.add_scatter(
        x=[plane.record[column]], y=[plane.record[row]], mode="markers", name="the record", hoverinfo="skip",
        marker={"symbol": "diamond-open", "size": 13, "color": text, "line": {"width": 2}},
    )  # fmt: skip
    for axis, names, label in (("xaxis", column_names, across_name), ("yaxis", row_names, down_name)):
        every = max(1, math.ceil(len(names) / 12))
        ticks = list(range(0, len(names), every))
        figure.update_layout(
            {axis: {"title": label, "tickvals": ticks, "ticktext": [names[i] for i in ticks], "showgrid": False}}
        )
    figure.update_yaxes(autorange=True if down.kind == "numeric" else "reversed", scaleanchor=False)
    figure.update_xaxes(constrain="domain")
    figure.update_layout(
        title={"text": plane_text(policy, plane, nearest, len(candidates)), "font": {"size": 15}}, height=460,
        paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)", font={"color": text},
        legend={"orientation": "h", "y": 1.06}, margin={"l": 10, "r": 10, "t": 70, "b": 10},
    )  # fmt: skip
    return figure


def crossing_segments(policy: Policy, plane: Plane, nearest: np.ndarray) -> pd.DataFrame:
    """The crossing edges as line segments in cell positions, overlapping ones joined; rows of NaN part them."""
    parts = []
    for along, edges in zip((True, False), plane_edges(policy, plane, nearest), strict=True):
        length = nearest.shape[1 if along else 0]
        for line in range(edges.crossing.shape[1]):
            crossing = edges.edges[edges.crossing[:, line]]
            spans = np.zeros(length + 1, dtype=int)
            np.add.at(spans, crossing[:, 0], 1)
            np.add.at(spans, crossing[:, 1], -1)
            covered = np.cumsum(spans) > 0
            begins = np.flatnonzero(covered & ~np.roll(covered, 1))
            ends = np.flatnonzero(~covered & np.roll(covered, 1))
            for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
                run, held = [begin, end, None], [line, line, None]
                parts.append(pd.DataFrame({"x": run if along else held, "y": held if along else run}, dtype=float))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame({"x": [], "y": []}, dtype=float)


def owners_text(idle: np.ndarray, copied: np.ndarray, m: int, where: str) -> str:
    """Which of m candidates own no cell ``where`` the cells were looked at, and why: copies, and those beaten there.

    ``idle`` and ``copied`` are indices, as of ``without_cell`` and ``copies``.
    """
    if not len(idle):
        return f"{'The only' if m == 1 else 'Every'} candidate owns cells {where}."
    copy, beaten, parts = len(copied), len(idle) - len(copied), []
    if copy:
        told = "is a copy of an earlier candidate, which wins every tie: it owns"
        told = told if copy == 1 else "are copies of earlier candidates, which win every tie: they own"
        parts.append(f"{copy:,} {told} no cell anywhere")
    if beaten:
        parts.append(
            f"{beaten:,} {'is' if beaten == 1 else 'are'} beaten here, and {'owns' if beaten == 1 else 'own'} cells "
            "elsewhere in the domain"
        )
    said = f"{len(idle):,} of {m:,}** candidates {'owns' if len(idle) == 1 else 'own'} no cell {where}"
    return f"**{said}. Of these, {'; '.join(parts)}."


# --- the walk --------------------------------------------------------------------------------------------------------


def walk_text(walked: Walk, to: int) -> str:
    """The finding of ``walk_chart``: what one walk does to each vote."""
    jumps = "jumps by √2" if walked.hard_change[to] > 0 else "stays"
    said = f"{walked.attribute} {walked.values[walked.start]} → {walked.values[to]}: the hard vote {jumps}"
    softly = settled(walked.soft_change[to])
    if not softly:
        return f"{said}, and so does the soft vote" if jumps == "stays" else f"{said}, the soft vote stays"
    return f"{said}, the soft vote moves by {words.number(softly)}"


def walk_chart(walked: Walk, to: int, bound: float) -> alt.LayerChart:
    """How far each vote has moved, in L2, at every value of a walk; ``bound`` is that of the edges along it."""
    numeric = walked.kind == "numeric"
    frame = walk_frame(walked).iloc[_telling(walked, to)]
    order = [*frame["value"]]
    if numeric:
        frame = frame.assign(value=[float(walked.values[code]) for code in frame["code"]])
    kinds = ["hard", "soft", "ceiling"]
    names = {"hard": "hard vote", "soft": "soft vote", "ceiling": "ceiling √2 tanh(d/2τ)"}
    tidy = frame.melt(["value", "code", "joined"], kinds, "kind", "change").assign(
        vote=lambda rows: rows["kind"].map(names)
    )
    some = f" ({len(frame):,} of {len(walked.values):,} values drawn)" if len(frame) < len(walked.values) else ""
    x: Any = (
        alt.X("value:Q", title=walked.attribute + some, scale=alt.Scale(zero=False, nice=False), axis=_ticks(walked))
        if numeric
        else alt.X("value:N", title=walked.attribute + some, sort=order, axis=alt.Axis(labelAngle=-30, labelLimit=130))
    )
    # Above √2, the most that a vote can change, there is room for the names of the two ends.
    y_axis = alt.Axis(values=[0, 0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4])
    y = alt.Y("change:Q", title="change of the vote (L2)", scale=alt.Scale(domain=[0, 1.75], nice=False), axis=y_axis)
    colour = alt.Color(
        "vote:N",
        scale=alt.Scale(domain=[*names.values()], range=[COLOURS["Hard"], COLOURS["BF-Soft"], QUIET]),
        legend=alt.Legend(orient="top", title=None),
    )
    tooltip = [
        alt.Tooltip("value", title=walked.attribute),
        alt.Tooltip("vote"),
        alt.Tooltip("change:Q", format=".4f"),
        alt.Tooltip("joined", title="joined to the start by the policy"),
    ]
    base = alt.Chart(tidy)
    layers: list[Any] = []
    if numeric:
        if walked.joined.any():
            runs = _joined_runs(walked).assign(bound=bound)
            long, lone = runs[runs["low"] < runs["high"]], runs[runs["low"] == runs["high"]]
            low, top = alt.X("low:Q"), alt.Y("bound:Q")
            if len(long):
                shade = alt.Chart(long).mark_rect(opacity=0.14, color=CALM)
                layers.append(shade.encode(x=low, x2=alt.X2("high:Q"), y=top))
            if len(lone):
                shade = alt.Chart(lone).mark_rule(opacity=0.3, color=CALM, strokeWidth=4)
                layers.append(shade.encode(x=low, y=top, y2=alt.datum(0)))
        hard = base.transform_filter("datum.kind == 'hard'").mark_line(interpolate="step", strokeWidth=2.5)
        soft = base.transform_filter("datum.kind == 'soft'").mark_line(strokeWidth=2.5, point={"size": 12})
        top = base.transform_filter("datum.kind == 'ceiling'").mark_line(strokeWidth=1.5, strokeDash=[5, 4])
        layers += [mark.encode(x=x, y=y, color=colour, tooltip=tooltip) for mark in (top, hard, soft)]
    else:
        bars = base.mark_bar().encode(x=x, xOffset=alt.XOffset("vote:N", sort=[*names.values()]), y=y, color=colour)
        layers.append(bars.encode(tooltip=tooltip))
    ends = frame[frame["code"].isin([walked.start, to])].assign(
        end=lambda rows: np.where(rows["code"] == walked.start, "start", "here")
    )
    rules = alt.Chart(ends).mark_rule(strokeDash=[2, 3], color=QUIET)
    layers.append(rules.encode(x=x, y=alt.value(_UNDER_NAMES), y2=alt.value("height")))
    # One above the other and both above the rules, or a rule would strike through its neighbour's name.
    for end, code, height in (("start", walked.start, 0), ("here", to, 14)):
        own = alt.Chart(ends[ends["end"] == end])
        side: Any = "left" if 2 * code < len(walked.values) else "right"
        named = own.mark_text(align=side if numeric else "center", baseline="top", color=QUIET)
        layers.append(named.encode(x=x, y=alt.value(height), text=alt.Text("end")))
    edge = f"policy edge of {walked.attribute}"
    detail = f"at most {words.number(bound)} along a {edge}" if bound else f"no {edge} moves a vote"
    if numeric and walked.joined.any():
        detail += "; shaded: joined to the start"
    return _layered(layers, title(walk_text(walked, to), detail, width=52), 400)


def _ticks(walked: Walk) -> alt.Axis:
    """An axis of a numeric attribute with ticks at values that the domain holds, round ones where it has such."""
    count = len(walked.values)
    low, second = (Fraction(str(walked.values[min(code, count - 1)])) for code in (0, 1))
    steps_from_zero = low / ((second - low) or 1)
    nice = (digit * 10**power for power in range(9) for digit in (1, 2, 5))
    every = next(width for width in nice if count <= width * _MOST_TICKS)
    first = int(-steps_from_zero % every) if steps_from_zero.denominator == 1 else 0
    shown = walked.values[first::every] or walked.values[:1]
    decimals = max(-int(Decimal(str(value)).normalize().as_tuple().exponent) for value in shown)
    return alt.Axis(values=[*map(float, shown)], format=f".{max(decimals, 0)}f")


def _joined_runs(walked: Walk) -> pd.DataFrame:
    """The values that the policy joins to the start, and the start beside them, as runs without a gap: low, high."""
    codes = np.flatnonzero(walked.joined | (np.arange(len(walked.values)) == walked.start))
    breaks = np.flatnonzero(np.diff(codes) > 1) + 1
    runs = [run for run in np.split(codes, breaks) if walked.joined[run].any()]
    some = runs[:: math.ceil(len(runs) / _MOST_WALKED)]
    ends = [(float(walked.values[run[0]]), float(walked.values[run[-1]])) for run in some]
    return pd.DataFrame(ends, columns=["low", "high"])


def _telling(walked: Walk, to: int) -> np.ndarray:
    """The codes that a chart of a walk draws: all, or of too many evenly spread ones and where the hard vote turns."""
    last = len(walked.values) - 1
    if last < _MOST_WALKED:
        return np.arange(last + 1)
    turns = [np.flatnonzero(np.diff(marks))[:_MOST_TURNS] for marks in (walked.hard_change > 0, walked.joined)]
    evenly = np.linspace(0, last, _MOST_WALKED).astype(int)
    return np.unique(np.concatenate([evenly, [walked.start, to], *turns, *(turn + 1 for turn in turns)]))


def walk_votes(walked: Walk, to: int) -> pd.DataFrame:
    """The largest votes before and after: columns vote, candidate, when, share, order."""
    rows = []
    for name, votes in (("hard vote", walked.hard), ("soft vote", walked.soft)):
        before, after = votes[walked.start], votes[to]
        for place, k in enumerate(np.argsort(-np.maximum(before, after), kind="stable")[:_BARS]):
            if max(before[k], after[k]) > 0:
                rows += [
                    (name, f"#{k + 1}", when, share, place)
                    for when, share in (("before", before[k]), ("after", after[k]))
                ]
    return pd.DataFrame(rows, columns=["vote", "candidate", "when", "share", "order"])


def walk_votes_text(walked: Walk, to: int) -> str:
    """The finding of ``walk_votes_chart``: whom the hard vote leaves, and what the soft vote keeps in common."""
    first, then = int(walked.hard[walked.start].argmax()), int(walked.hard[to].argmax())
    common = settled(float(np.minimum(walked.soft[walked.start], walked.soft[to]).sum()))
    hard = f"stays with #{first + 1}" if first == then else f"goes from #{first + 1} to #{then + 1}"
    share = "nothing" if not common else "all" if common == 1 else percent(common)
    return f"The hard vote {hard}; {share} of the soft vote stays where it was"


def walk_votes_chart(walked: Walk, to: int) -> alt.Chart:
    """The largest votes as bars, before and after a walk, for the hard and the soft vote."""
    frame = walk_votes(walked, to)
    # One axis for both votes: their candidates are told apart by the vote's name in front.
    frame = frame.assign(bar=frame["vote"].str.removesuffix(" vote") + " · " + frame["candidate"])
    # Neither vote's own colour: both votes have bars of both kinds.
    colours = alt.Scale(domain=["before", "after"], range=[QUIET, REGIONS[2]])
    return (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            y=alt.Y("bar:N", sort=[*dict.fromkeys(frame["bar"])], title=None),
            yOffset=alt.YOffset("when:N", sort=["before", "after"]),
            x=alt.X(
                "share:Q", title="share of the record's vote", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])
            ),
            color=alt.Color("when:N", scale=colours, legend=alt.Legend(orient="top", title=None)),
            tooltip=[
                alt.Tooltip("vote"),
                alt.Tooltip("candidate"),
                alt.Tooltip("when"),
                alt.Tooltip("share:Q", format=".2%"),
            ],
        )
        .properties(title=title(walk_votes_text(walked, to), width=44), height=400)
    )


# --- every edge ------------------------------------------------------------------------------------------------------


def changes_text(changes: EdgeChanges, bound: float | None = None) -> str:
    """The finding of ``changes_chart``: how often the hard vote jumps, and the most that the soft one moves.

    Of a sample it says only what the sample showed, beside the ``bound`` that holds for every edge, where given.
    """
    total, jumping = changes.counts.sum(), changes.counts[1].sum()
    if not total:
        return "The policy has no edges"
    share, most = percent(jumping / total), settled(float(np.nanmax(changes.most)))
    if not changes.exact:
        hard = f"jumps by √2 on {share} of them" if jumping else "does not jump"
        soft = f"moves at most {words.number(most)}" if most else "does not move"
        beside = f" (bound {words.number(bound)})" if bound is not None else ""
        looked_at = words.counted(changes.looked_at, "edge")
        return f"In a sample of {looked_at} the hard vote {hard}; the soft vote {soft}{beside}"
    on = "the only edge" if changes.total == 1 else f"{share} of the edges"
    hard = f"jumps by √2 on {on}" if jumping else "never jumps"
    return f"The hard vote {hard}; the soft vote never moves{f' more than {words.number(most)}' if most else ''}"


def changes_detail(changes: EdgeChanges) -> str:
    """What ``changes_chart`` covers and its typical values, in a line."""
    middles = [
        f"{words.number(settled(changes.quantile(crosses, 0.5)))} where the hard vote {'jumps' if crosses else 'stays'}"
        for crosses in (False, True)
        if changes.counts[int(crosses)].sum()
    ]
    over = (
        ("the policy's only edge" if changes.total == 1 else f"all {changes.total:,} policy edges")
        if changes.exact
        else f"{changes.looked_at:,} of {changes.total:,} policy edges, lines drawn at random with seed {changes.seed}"
    )
    return f"{over}; typical soft change: {', '.join(middles)}" if middles else over


def changes_frame(changes: EdgeChanges, bins: int = _BINS) -> pd.DataFrame:
    """Shares of all edges by the soft vote's change: columns low, high, hard ("stays", "jumps"), share."""
    cells = changes.counts.shape[1]
    part = cells // bins
    counts = changes.counts[:, : part * bins].reshape(2, bins, part).sum(axis=2)
    limits = changes.edges[::part][: bins + 1]
    total = max(changes.counts.sum(), 1.0)
    rows = [
        pd.DataFrame({"low": limits[:-1], "high": limits[1:], "hard": name, "share": counts[side] / total})
        for side, name in enumerate(("stays", "jumps"))
    ]
    frame = pd.concat(rows, ignore_index=True)
    return frame[frame["share"] > 0].reset_index(drop=True)


def changes_chart(changes: EdgeChanges, bound: float) -> alt.LayerChart:
    """How much every policy edge changes each vote (the paper's Figure 1): the hard vote's two stems, the soft bars."""
    frame = changes_frame(changes)
    total = max(changes.counts.sum(), 1.0)
    stems = pd.DataFrame(
        {"change": [0.0, SQRT2], "share": changes.counts.sum(axis=1) / total, "name": ["hard vote: 0", "hard vote: √2"]}
    )
    stems["label"] = [
        f"hard vote unmoved: {percent(stems['share'][0])}",
        f"hard vote jumps: {percent(stems['share'][1])}",
    ]
    x_scale = alt.Scale(domain=[0, 1.5], nice=False)
    y_scale = alt.Scale(type="sqrt", domain=[0, 1.05], nice=False)
    y_axis = alt.Axis(format=".1~%", values=[0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1])
    x = alt.X("low:Q", title="change of one record's vote along an edge (L2)", scale=x_scale)
    colour = alt.Color(
        "hard:N",
        scale=alt.Scale(domain=["stays", "jumps"], range=[COLOURS["BF-Soft"], SIGNAL]),
        legend=alt.Legend(
            orient="top", title=None, labelExpr="'soft vote, where the hard vote ' + datum.label", labelLimit=320
        ),
    )
    tooltip: list[Any] = [
        alt.Tooltip("low:Q", format=".3f", title="change from"),
        alt.Tooltip("high:Q", format=".3f", title="to"),
        alt.Tooltip("hard", title="hard vote"),
        alt.Tooltip("share:Q", format=".3%", title="share of edges"),
    ]
    share = alt.Y("share:Q", title="share of edges (root scale)", scale=y_scale, axis=y_axis, stack=None)
    bars = (
        alt.Chart(frame)
        .mark_rect(opacity=0.72)
        .encode(x=x, x2=alt.X2("high:Q"), y=share, y2=alt.datum(0), color=colour, tooltip=tooltip)
    )
    own = alt.Chart(stems)
    stem_tip: list[Any] = [alt.Tooltip("name"), alt.Tooltip("share:Q", format=".3%", title="share of edges")]
    stem = own.mark_rule(strokeWidth=4, color=COLOURS["Hard"]).encode(
        x=alt.X("change:Q"), y=alt.Y("share:Q"), y2=alt.datum(0), tooltip=stem_tip
    )
    head = own.mark_point(filled=True, size=90, color=COLOURS["Hard"], opacity=1).encode(
        x=alt.X("change:Q"), y=alt.Y("share:Q"), tooltip=stem_tip
    )
    # The label of the stem at √2 would leave the picture on its right.
    beside: dict[str, Any] = {"dy": -2, "color": QUIET, "fontWeight": 600}
    labels = [
        marked.encode(x=alt.X("change:Q"), y=alt.Y("share:Q"), text=alt.Text("label"))
        for marked in (
            alt.Chart(stems.iloc[[0]]).mark_text(align="left", dx=10, **beside),
            alt.Chart(stems.iloc[[1]]).mark_text(align="right", dx=-10, **beside),
        )
    ]
    limit = alt.Chart(pd.DataFrame({"change": [bound], "label": [f"bound {words.number(bound)}"]}))
    lines = limit.mark_rule(strokeDash=[5, 4], color=QUIET, strokeWidth=1.5).encode(x=alt.X("change:Q"))
    named = limit.mark_text(align="left", dx=5, color=QUIET).encode(
        x=alt.X("change:Q"), y=alt.value(8), text=alt.Text("label")
    )
    heading = title(changes_text(changes, bound), changes_detail(changes))
    return _layered([bars, lines, named, stem, head, *labels], heading, 420)


# --- exact against the bound -----------------------------------------------------------------------------------------


def curve_text(curve: pd.DataFrame, tau: float) -> str:
    """The finding of ``curve_chart``: how near the exact sensitivity comes to the bound, or that a floor sets it."""
    if curve.empty:
        return "The bound falls as τ grows"
    at = curve.iloc[(np.log(curve["tau"]) - math.log(tau)).abs().argmin()]
    near, floored = f"near τ = {words.number(at['tau'])}", curve["exact"] > curve["values"]
    if floored.any():
        which = "every τ" if floored.all() else f"{floored.sum()} of {len(curve)} τ"
        said = f"Participation's floor of 1 sets the exact sensitivity at {which if len(curve) > 1 else 'the first τ'}"
        alone = f"{near} a changed value alone moves a vote by at most {words.number(settled(at['values']))}"
        return f"{said} searched; {alone}"
    share, searched = curve["exact"] / curve["bound"], "every τ" if len(curve) > 1 else "the first τ"
    if not settled(curve["exact"].max()):
        return f"No changed value moves a vote on these candidates: the exact sensitivity is 0 at {searched} searched"
    if share.min() > 1 - 1e-6:
        return f"The exact sensitivity attains the bound at {searched} searched"
    said, reached = "The exact sensitivity never passes the bound", settled(at["exact"] / at["bound"])
    return f"{said}: {near} it is {f'{percent(reached)} of it' if settled(at['exact']) else '0'}"


def curve_chart(curve: pd.DataFrame, bounds: pd.DataFrame, tau: float) -> alt.LayerChart:
    """Exact L2 sensitivity on these candidates against the bound, over τ (the paper's Figure 7).

    ``curve`` has the columns of ``bfsoft.crossings.sensitivity_curve``, a row for each τ searched (none yet: no rows);
    ``bounds`` tau and bound, finely spaced. What changed values attain below participation's floor is shown beneath it.
    """
    kinds, hues = ["bound", "exact, soft vote", "exact, hard vote"], [QUIET, COLOURS["BF-Soft"], COLOURS["Hard"]]
    beneath = curve[curve["exact"] > curve["values"]]
    if not beneath.empty:
        kinds, hues = [*kinds, "exact, soft vote without the floor"], [*hues, CALM]
    colours = alt.Scale(domain=kinds, range=hues)
    colour = alt.Color("kind:N", scale=colours, legend=alt.Legend(orient="top", title=None, labelLimit=320))
    low, high = float(bounds["tau"].min()), float(bounds["tau"].max())
    x = alt.X("tau:Q", title="temperature τ (distance)", scale=alt.Scale(type="log", domain=[low, high], nice=False))
    y = alt.Y("l2:Q", title="L2 sensitivity", scale=alt.Scale(domain=[0, 1.5]))
    tooltip = [
        alt.Tooltip("kind"),
        alt.Tooltip("tau:Q", format=".4g"),
        alt.Tooltip("l2:Q", format=".5f", title="L2 sensitivity"),
    ]

    def shown(frame: pd.DataFrame, column: str, kind: str) -> Any:
        return alt.Chart(pd.DataFrame({"tau": frame["tau"], "l2": frame[column], "kind": kind}))

    layers = [shown(bounds, "bound", kinds[0]).mark_line(strokeWidth=2, strokeDash=[6, 4])]
    if not curve.empty:
        layers.append(shown(curve, "exact", kinds[1]).mark_point(filled=True, size=80, opacity=1))
        hard = pd.DataFrame({"tau": [low, high], "hard": float(curve["hard"].iloc[0])})
        layers.append(shown(hard, "hard", kinds[2]).mark_line(strokeWidth=2.5))
    if not beneath.empty:
        layers.append(shown(beneath, "values", kinds[3]).mark_point(filled=True, size=50, opacity=1))
    now = alt.Chart(pd.DataFrame({"tau": [tau], "label": [f"τ = {words.number(tau)}"]}))
    rule = now.mark_rule(color=QUIET, strokeDash=[2, 3]).encode(x=alt.X("tau:Q"))
    label = now.mark_text(align="left", dx=5, color=QUIET).encode(
        x=alt.X("tau:Q"), y=alt.value(8), text=alt.Text("label")
    )
    drawn = [layer.encode(x=x, y=y, color=colour, tooltip=tooltip) for layer in layers]
    return _layered([*drawn, rule, label], title(curve_text(curve, tau), width=100), 420)
