"""Charts of boundaries: a plane, a walk along an attribute, the change along every edge, and bound against exact."""

from __future__ import annotations

import math
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
_GROUND = {"light": (255, 255, 255), "dark": (16, 23, 31)}


def percent(share: float) -> str:
    """A share of edges: never 0 % for some, never 100 % for not all."""
    if 0 < share < 0.001:
        return "less than 0.1 %"
    if 0.999 < share < 1:
        return "more than 99.9 %"
    return f"{100 * share:.1f} %"


def _layered(layers: list[Any], heading: alt.TitleParams, height: int) -> alt.LayerChart:
    chart: Any = alt.layer(*layers)
    return chart.properties(title=heading, height=height)


# --- crossings -------------------------------------------------------------------------------------------------------


def crossings_text(found: Crossings) -> str:
    """How many edges of the whole domain cross, and the one that suffices, in a sentence."""
    if not found.total:
        return "The policy has no edges: nothing to cross, nothing to protect."
    if found.example is None:
        none = f"None of the {found.total:,} edges crosses"
        return f"{none}: on these candidates the policy saves the hard vote all its noise."
    return (
        f"{found.crossing:,} of {found.total:,} {'edge crosses' if found.crossing == 1 else 'edges cross'} "
        f"({percent(found.share)}); one is enough: {found.example}."
    )


# --- the plane -------------------------------------------------------------------------------------------------------


def plane_text(policy: Policy, plane: Plane, nearest: np.ndarray, m: int) -> str:
    """The finding of ``plane_figure``: how many edges of the slice cross."""
    shares = [edges.share for edges in plane_edges(policy, plane, nearest)]
    crossing, total = (sum(share[i] for share in shares) for i in (0, 1))
    owners = len(np.unique(nearest))
    own = f"{owners} of {m} candidates {'owns' if owners == 1 else 'own'} a region"
    if not total:
        return f"No policy edge runs on this slice; {own}"
    return f"{crossing:,} of {total:,} edges on this slice cross a boundary ({percent(crossing / total)}); {own}"


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
    column_names, row_names = [str(v) for v in across.values], [str(v) for v in down.values]
    hover = [
        [f"{plane.across} {x}, {plane.down} {y}<br>nearest: #{nearest[j, i] + 1}" for i, x in enumerate(column_names)]
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
    for axis, names, label in (("xaxis", column_names, plane.across), ("yaxis", row_names, plane.down)):
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
        return f"Every candidate owns cells {where}."
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
    return f"{said}, the soft vote moves by {words.number(walked.soft_change[to])}"


def walk_chart(walked: Walk, to: int, bound: float) -> alt.LayerChart:
    """How far each vote has moved, in L2, at every value of a walk; ``bound`` is that of the edges along it."""
    numeric = all(isinstance(value, int | float) for value in walked.values)
    frame = walk_frame(walked).iloc[_telling(walked, to)]
    order = [*frame["value"]]
    if numeric:
        frame = frame.assign(value=[float(walked.values[code]) for code in frame["code"]])
    kinds = ["hard", "soft", "ceiling"]
    names = {"hard": "hard vote", "soft": "soft vote", "ceiling": "ceiling √2 tanh(d/2τ)"}
    long = frame.melt(["value", "code", "joined"], kinds, "kind", "change").assign(
        vote=lambda rows: rows["kind"].map(names)
    )
    some = f" ({len(frame):,} of {len(walked.values):,} values drawn)" if len(frame) < len(walked.values) else ""
    x: Any = (
        alt.X("value:Q", title=walked.attribute + some, scale=alt.Scale(zero=False, nice=False))
        if numeric
        else alt.X("value:N", title=walked.attribute + some, sort=order, axis=alt.Axis(labelAngle=-30, labelLimit=130))
    )
    y = alt.Y("change:Q", title="change of the vote (L2)", scale=alt.Scale(domain=[0, 1.5]))
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
    base = alt.Chart(long)
    layers: list[Any] = []
    if numeric:
        if walked.joined.any():
            near = frame[frame["joined"] | (frame["code"] == walked.start)]["value"]
            band = pd.DataFrame({"low": [near.min()], "high": [near.max()], "bound": [bound]})
            layers.append(
                alt.Chart(band)
                .mark_rect(opacity=0.14, color=CALM)
                .encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=alt.Y("bound:Q"))
            )
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
    layers.append(alt.Chart(ends).mark_rule(strokeDash=[2, 3], color=QUIET).encode(x=x))
    # Two heights, or the names of neighbouring values would cover each other.
    for end, height in (("start", 0), ("here", 14)):
        own = alt.Chart(ends[ends["end"] == end])
        named = own.mark_text(dx=4, align="left", baseline="top", color=QUIET)
        layers.append(named.encode(x=x, y=alt.value(height), text=alt.Text("end")))
    edge = f"policy edge of {walked.attribute}"
    detail = f"at most {words.number(bound)} along a {edge}" if bound else f"no {edge} moves a vote"
    if numeric and walked.joined.any():
        detail += "; shaded: joined to the start"
    return _layered(layers, title(walk_text(walked, to), detail, width=52), 400)


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
    common = float(np.minimum(walked.soft[walked.start], walked.soft[to]).sum())
    hard = f"stays with #{first + 1}" if first == then else f"goes from #{first + 1} to #{then + 1}"
    return f"The hard vote {hard}; {percent(common)} of the soft vote stays where it was"


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


def changes_text(changes: EdgeChanges) -> str:
    """The finding of ``changes_chart``: how often the hard vote jumps, and the most that the soft one moves."""
    total = changes.counts.sum()
    if not total:
        return "The policy has no edges"
    share = changes.counts[1].sum() / total
    return (
        f"The hard vote jumps by √2 on {percent(share)} of the edges; the soft vote never moves more than "
        f"{words.number(float(np.nanmax(changes.most)))}"
    )


def changes_detail(changes: EdgeChanges) -> str:
    """What ``changes_chart`` covers and its typical values, in a line."""
    middles = [
        f"{words.number(changes.quantile(crosses, 0.5))} where the hard vote {'jumps' if crosses else 'stays'}"
        for crosses in (False, True)
        if changes.counts[int(crosses)].sum()
    ]
    over = (
        f"all {changes.total:,} policy edges"
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
    heading = title(changes_text(changes), changes_detail(changes))
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
        alone = f"{near} a changed value alone moves a vote by at most {words.number(at['values'])}"
        return f"{said} searched; {alone}"
    share = curve["exact"] / curve["bound"]
    if share.min() > 1 - 1e-6:
        return f"The exact sensitivity attains the bound at {'every τ' if len(curve) > 1 else 'the first τ'} searched"
    return f"The exact sensitivity never passes the bound: {near} it is {percent(at['exact'] / at['bound'])} of it"


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
