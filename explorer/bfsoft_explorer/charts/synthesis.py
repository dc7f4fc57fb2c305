"""Charts of a synthesis: error by round, marginals of one and two attributes, votes and noise, candidates moving."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import pandas as pd

from bfsoft import Fidelity, Records, Round
from bfsoft.domain import Codes

from .. import words
from .style import COLOURS, QUIET, by_round, by_source, title

if TYPE_CHECKING:
    import plotly.graph_objects as go

# What a half-width chart holds of a title on a small laptop, in characters.
HALF = 50
# The most cells along one side of a map of two attributes; numbers are binned as the error measure bins them.
_BINS, _LABELS = 20, 24
# What a browser moves smoothly: points a method, and rounds.
_POINTS, _FRAMES = 400, 60


def error_text(errors: pd.DataFrame, rounds: int | None = None) -> str:
    """The finding of ``error_curves``: who ends lower and by how much; ``rounds`` tells a run that is not over yet."""
    last = errors.groupby("method", sort=False)["error"].last()
    over = rounds is None or errors["round"].max() >= rounds
    if len(last) == 1:
        return f"{last.index[0]} {'ends' if over else 'is so far'} at error {words.number(last.iloc[0])}"
    low, high = last.idxmin(), last.idxmax()
    if last[low] == last[high]:
        return f"All methods {'end' if over else 'are so far'} at error {words.number(last[low])}"
    return (
        f"{low} {'ends' if over else 'is so far'} lower: {words.number(last[low])} against {words.number(last[high])} "
        f"({100 * (1 - last[low] / last[high]):.0f} % less)"
    )


def error_curves(errors: pd.DataFrame, rounds: int) -> alt.Chart:
    """Error after each round, one line a method; ``errors`` has columns method, round, error."""
    methods = [*dict.fromkeys(errors["method"])]
    return (
        alt.Chart(errors)
        .mark_line(point=True, strokeWidth=2.5)
        .encode(
            x=by_round(rounds),
            y=alt.Y("error:Q", title="error (mean total variation)", scale=alt.Scale(zero=False, nice=True)),
            color=by_source("method", methods),
            # Where an edge crosses in every round Hard is Tab-PE to the last vote: dashes let it show below.
            strokeDash=alt.StrokeDash(
                "method:N",
                scale=alt.Scale(domain=methods, range=[[5, 4] if name == "Tab-PE" else [1, 0] for name in methods]),
                legend=None,
            ),
            tooltip=[alt.Tooltip("method"), alt.Tooltip("round"), alt.Tooltip("error:Q", format=".5f")],
        )
        .properties(title=title(error_text(errors, rounds), "one seed; lower is better", HALF), height=340)
    )


def marginal_frame(fidelity: Fidelity, attribute: str, tables: dict[str, Any]) -> pd.DataFrame:
    """One attribute's shares in the data and in each method's table: columns value, source, share, order."""
    parts: list[pd.DataFrame] = []
    for method, codes in tables.items():
        shares = fidelity.marginal(attribute, codes)
        if not parts:
            parts.append(pd.DataFrame({"value": shares["value"], "source": "data", "share": shares["data"]}))
        parts.append(pd.DataFrame({"value": shares["value"], "source": method, "share": shares["synthetic"]}))
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(order=frame.groupby("source").cumcount())


def marginal_text(frame: pd.DataFrame, attribute: str) -> str:
    """The finding of ``marginal_chart``: how far each table's marginal is from the data's."""
    gaps = misplaced(frame)
    return f"{attribute}: {min(gaps, key=gaps.__getitem__)} is closest to the data"


def marginal_chart(frame: pd.DataFrame, attribute: str, numeric: bool) -> alt.Chart:
    """One attribute's marginals: the data as an area or bars, each method as a line or bars beside it."""
    sources = [*dict.fromkeys(frame["source"])]
    colour = by_source("source", sources)
    tooltip = [alt.Tooltip("value"), alt.Tooltip("source"), alt.Tooltip("share:Q", format=".2%")]
    share = alt.Y("share:Q", title="share of records", axis=alt.Axis(format="%"), stack=None)
    base = alt.Chart(frame)
    if numeric:
        x = alt.X("value:Q", title=attribute, scale=alt.Scale(zero=False, nice=False))
        area = base.transform_filter("datum.source == 'data'").mark_area(opacity=0.45, interpolate="step")
        line = base.transform_filter("datum.source != 'data'").mark_line(strokeWidth=2, interpolate="step")
        chart: Any = area.encode(x=x, y=share, color=colour, tooltip=tooltip) + line.encode(
            x=x, y=share, color=colour, tooltip=tooltip
        )
    else:
        chart = base.mark_bar().encode(
            x=alt.X(
                "value:N", sort=alt.SortField("order"), title=attribute, axis=alt.Axis(labelAngle=-30, labelLimit=120)
            ),
            xOffset=alt.XOffset("source:N", sort=sources),
            y=share,
            color=colour,
            tooltip=tooltip,
        )
    gaps = ", ".join(f"{source} {100 * gap:.1f} %" for source, gap in misplaced(frame).items())
    heading = title(marginal_text(frame, attribute), f"records on the wrong value: {gaps}", HALF)
    return chart.properties(title=heading, height=340)


def misplaced(frame: pd.DataFrame) -> dict[str, float]:
    """The share of mass that each method puts on the wrong value: total variation from the data's marginal."""
    data = frame[frame["source"] == "data"]["share"].to_numpy()
    return {
        source: 0.5 * float(np.abs(part["share"].to_numpy() - data).sum())
        for source, part in frame.groupby("source", sort=False)
        if source != "data"
    }


def vote_frame(each: Round) -> pd.DataFrame:
    """Votes of one round, candidates sorted by their exact vote: columns rank, votes, noisy."""
    votes = each.noisy_votes if each.votes is None else each.votes
    order = np.argsort(-votes, kind="stable")
    return pd.DataFrame({"rank": np.arange(1, len(order) + 1), "votes": votes[order], "noisy": each.noisy_votes[order]})


def vote_text(method: str, each: Round) -> str:
    """The finding of ``vote_chart``: how many candidates' votes stand clear of the noise."""
    votes = vote_frame(each)["votes"]
    if each.sigma == 0:
        return f"{method}: no noise, because no policy edge changes a vote"
    return f"{method}: {int((votes > 2 * each.sigma).sum())} of {len(votes)} candidates have votes above 2σ"


def vote_span(rounds: Sequence[Round]) -> tuple[float, float]:
    """The range of votes, before and after noise, over several rounds: one axis for charts that are compared."""
    parts = [[each.noisy_votes, each.noisy_votes if each.votes is None else each.votes] for each in rounds]
    ends = [(votes.min(), votes.max()) for pair in parts for votes in pair] + [
        (-2 * r.sigma, 2 * r.sigma) for r in rounds
    ]
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    return float(low), float(max(high, low + 1e-9))


def vote_chart(method: str, each: Round, span: tuple[float, float] | None = None) -> alt.LayerChart:
    """Votes of one round before and after noise, candidates sorted by their exact votes; the band is ± 2σ.

    ``span`` is the range of the axis, so that methods share it.
    """
    frame = vote_frame(each)
    band = pd.DataFrame({"low": [-2 * each.sigma], "high": [2 * each.sigma]})
    x = alt.X("rank:Q", title="candidate, by votes", scale=alt.Scale(domain=[1, max(2, len(frame))], nice=False))
    scale = alt.Scale(domain=[*span]) if span else alt.Scale()
    low = alt.Y("low:Q", title="votes", scale=scale)
    noise = alt.Chart(band).mark_rect(opacity=0.18, color=QUIET).encode(y=low, y2=alt.Y2("high:Q"))
    tooltip = [alt.Tooltip("rank"), alt.Tooltip("votes:Q", format=".1f"), alt.Tooltip("noisy:Q", format=".1f")]
    colour = COLOURS[method]
    noisy = alt.Chart(frame).mark_point(size=9, filled=True, opacity=0.5, color=colour)
    exact = alt.Chart(frame).mark_line(strokeWidth=2.5, color=colour)
    layers = noise + noisy.encode(x=x, y=alt.Y("noisy:Q"), tooltip=tooltip) + exact.encode(x=x, y=alt.Y("votes:Q"))
    detail = f"line: exact votes; dots: after noise; band: ± 2σ, σ = {words.number(each.sigma)}"
    return layers.properties(title=title(vote_text(method, each), detail, HALF), height=360)


# ------------------------------------------------------------------ two attributes


def _cells(reference: Records, attribute: str) -> tuple[np.ndarray, list[str]]:
    """Which cell of a map each value of an attribute falls into, and the cells' names."""
    position = reference.domain.position(attribute)
    given, count = reference.domain.attributes[position], reference.domain.shape[position]
    names = [str(value) for value in given.values]
    if given.kind == "numeric" and count > _BINS:
        cells = np.arange(count) * _BINS // count
        ends = [np.flatnonzero(cells == cell)[[0, -1]] for cell in range(_BINS)]
        return cells, [names[a] if a == b else f"{names[a]}–{names[b]}" for a, b in ends]
    if count <= _LABELS:
        return np.arange(count), names
    weights = np.bincount(reference.codes[:, position], weights=reference.counts, minlength=count)
    kept = np.sort(np.argsort(-weights, kind="stable")[: _LABELS - 1])
    cells = np.full(count, len(kept))
    cells[kept] = np.arange(len(kept))
    return cells, [*(names[code] for code in kept), f"{count - len(kept)} others"]


def pair_frame(reference: Records, across: str, down: str, tables: Mapping[str, Codes]) -> pd.DataFrame:
    """Shares of two attributes together, in the data and each table: columns source, across, down, share, x, y.

    Numbers are cut into at most 20 equal bins; of more than 24 labels the rarest in the data are taken together.
    x counts cells from the left and y from the top: numbers grow upwards, labels are read downwards.
    """
    domain = reference.domain
    (a, a_names), (b, b_names) = _cells(reference, across), _cells(reference, down)
    i, j, parts = domain.position(across), domain.position(down), []
    y, x = np.divmod(np.arange(len(a_names) * len(b_names)), len(a_names))
    top = len(b_names) - 1 - y if domain[down].kind == "numeric" else y
    for source, codes in {"data": reference.codes, **tables}.items():
        counts = reference.counts if source == "data" else np.ones(len(codes))
        cells = np.bincount(b[codes[:, j]] * len(a_names) + a[codes[:, i]], weights=counts, minlength=len(x))
        parts.append(
            pd.DataFrame({
                "source": source, "across": np.array(a_names, dtype=object)[x],
                "down": np.array(b_names, dtype=object)[y], "share": cells / max(1.0, cells.sum()), "x": x, "y": top,
            })
        )  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def pair_text(frame: pd.DataFrame, across: str, down: str) -> str:
    """The finding of a pair of attributes: how many records each table puts into the wrong cell."""
    gaps = misplaced(frame)
    best = min(gaps, key=gaps.__getitem__)
    others = [f"{name} {100 * gap:.1f} %" for name, gap in gaps.items() if name != best]
    against = f" ({', '.join(others)})" if others else ""
    return f"{best} puts {100 * gaps[best]:.1f} % of records into the wrong cell of {across} × {down}{against}"


def pair_chart(frame: pd.DataFrame, source: str, across: str, down: str) -> alt.Chart:
    """The shares of one source as a map, its colours those of every other source of the frame."""
    own = frame[frame["source"] == source]
    gap = misplaced(frame).get(source)
    heading = source if gap is None else f"{source}: {100 * gap:.1f} % misplaced"
    axis = alt.Axis(labelOverlap=True, labelLimit=90, labelAngle=-40, ticks=False)
    flat = alt.Axis(labelOverlap=True, labelLimit=90, ticks=False)
    # From clear to full, so that empty cells are the page's own ground in either theme; roots lift the rare cells.
    scale = alt.Scale(
        type="sqrt", domain=[0, float(frame["share"].max())], range=["rgba(35, 132, 214, 0.04)", COLOURS["BF-Soft"]]
    )
    return (
        alt.Chart(own)
        .mark_rect()
        .encode(
            x=alt.X("across:O", sort=[*dict.fromkeys(own.sort_values("x")["across"])], title=across, axis=axis),
            y=alt.Y("down:O", sort=[*dict.fromkeys(own.sort_values("y")["down"])], title=down, axis=flat),
            color=alt.Color("share:Q", scale=scale, legend=None),
            tooltip=[
                alt.Tooltip("across", title=across),
                alt.Tooltip("down", title=down),
                alt.Tooltip("share:Q", title="share of records", format=".2%"),
            ],
        )
        .properties(title=title(heading), height=380)
    )


# ------------------------------------------------------------------ candidates moving


def moves(rounds: Sequence[Round]) -> list[tuple[str, Codes, np.ndarray]]:
    """What candidates do, step by step: a name, where they are (m, d), and how much weight each has (m,).

    In every round they stand for votes, the k-th where it mutated to; then the k-th moves to the candidate that was
    chosen in its place, from where it mutates next. The last choice is the synthetic table.
    """
    steps = []
    for each in rounds:
        weight = np.maximum(each.noisy_votes, 0.0)
        weight = weight / weight.max() if weight.any() else np.ones(len(weight))
        steps.append((f"round {each.number}: candidates, by noisy votes", each.candidates, weight))
        steps.append((f"round {each.number}: chosen", each.selected, np.full(len(weight), 0.2)))
    return steps


def moves_figure(
    reference: Records, rounds: Mapping[str, Sequence[Round]], across: str, down: str, *, moving: bool = True
) -> go.Figure:
    """Candidates of each method on the plane of two attributes, over the data's own density, moving round by round.

    A slider and a play button work in the browser alone; without ``moving`` it is the last step, still. Of many
    candidates every so-manieth is shown, and of many rounds likewise; positions are spread a little within a value.
    """
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    domain = reference.domain
    i, j = domain.position(across), domain.position(down)
    every = {name: _thinned(moves(own), _FRAMES) for name, own in rounds.items()}
    names = [*every]
    figure = make_subplots(
        1, len(names), shared_xaxes="all", shared_yaxes="all", horizontal_spacing=0.03, subplot_titles=names
    )

    def trace(name: str, step: tuple[str, Codes, np.ndarray]) -> go.Scatter:
        _, codes, weight = step
        shown = np.unique(np.linspace(0, len(codes) - 1, min(_POINTS, len(codes))).astype(int))
        spread = np.random.default_rng(0).uniform(-0.35, 0.35, (len(codes), 2))[shown]
        x, y = codes[shown, i] + spread[:, 0], codes[shown, j] + spread[:, 1]
        size = 4 + 10 * np.sqrt(weight[shown])
        return go.Scatter(
            x=x.round(2).tolist(), y=y.round(2).tolist(), mode="markers", name=name, showlegend=False,
            hoverinfo="skip", ids=[str(k) for k in shown],
            marker={"size": size.round(1).tolist(), "color": COLOURS[name], "opacity": 0.6, "line": {"width": 0}},
        )  # fmt: skip

    first = 0 if moving else -1
    for column, name in enumerate(names, start=1):
        figure.add_trace(trace(name, every[name][first]), row=1, col=column)
    if moving:
        labels = [step[0] for step in every[names[0]]]
        figure.frames = [
            go.Frame(
                name=str(number), data=[trace(name, every[name][number]) for name in names], traces=[*range(len(names))]
            )
            for number in range(len(labels))
        ]
        _controls(figure, labels)
    _axes(figure, domain[across], domain[down])
    final = pair_frame(reference, across, down, {name: own[-1].selected for name, own in rounds.items()})
    figure.update_layout(
        title={"text": pair_text(final, across, down), "font": {"size": 15}, "x": 0, "xanchor": "left"},
        height=500 if moving else 430, margin={"l": 60, "r": 10, "t": 76, "b": 40},
        paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)",
        shapes=_ground(reference, across, down, len(names)),
    )  # fmt: skip
    return figure


def _thinned(steps: list[Any], most: int) -> list[Any]:
    kept = np.unique(np.linspace(0, len(steps) - 1, min(most, len(steps))).astype(int))
    return [steps[k] for k in kept]


def _ground(reference: Records, across: str, down: str, columns: int) -> list[dict[str, Any]]:
    """The data's density behind the candidates, as shapes: a heat map would vanish while points move."""
    domain = reference.domain
    i, j = domain.position(across), domain.position(down)
    sides = []
    for position in (i, j):
        count = domain.shape[position]
        bins = min(count, _LABELS)
        cells = np.arange(count) * bins // count
        ends = np.array([np.flatnonzero(cells == cell)[[0, -1]] for cell in range(bins)]) + np.array([-0.5, 0.5])
        sides.append((cells, ends.tolist()))
    (a, x), (b, y) = sides
    flat = np.bincount(
        b[reference.codes[:, j]] * len(x) + a[reference.codes[:, i]],
        weights=reference.counts,
        minlength=len(x) * len(y),
    )
    strength = 0.6 * np.sqrt(flat / flat.max())
    return [
        {
            "type": "rect", "layer": "below", "line": {"width": 0}, "fillcolor": QUIET,
            "opacity": round(float(strength[cell]), 3), "xref": f"x{column or ''}", "yref": f"y{column or ''}",
            "x0": x[cell % len(x)][0], "x1": x[cell % len(x)][1],
            "y0": y[cell // len(x)][0], "y1": y[cell // len(x)][1],
        }
        for column in [0, *range(2, columns + 1)]
        for cell in np.flatnonzero(strength > 0.02)
    ]  # fmt: skip


def _controls(figure: Any, labels: Sequence[str]) -> None:
    """A play and a pause button, and a slider over the steps, in colours that either theme carries."""
    now = {"mode": "immediate", "fromcurrent": True, "frame": {"duration": 900, "redraw": False}}
    still = {"mode": "immediate", "frame": {"duration": 0, "redraw": False}, "transition": {"duration": 0}}
    moving = {**now, "transition": {"duration": 700, "easing": "cubic-in-out"}}
    figure.update_layout(
        updatemenus=[{
            "type": "buttons", "direction": "left", "showactive": False, "x": 0, "y": -0.17, "xanchor": "left",
            "yanchor": "top", "pad": {"t": 14, "r": 10}, "bgcolor": "rgba(0,0,0,0)", "bordercolor": QUIET,
            "font": {"color": QUIET},
            "buttons": [
                {"label": "▶ Play", "method": "animate", "args": [None, moving]},
                {"label": "❚❚ Pause", "method": "animate", "args": [[None], still]},
            ],
        }],
        sliders=[{
            "active": 0, "x": 0.2, "len": 0.8, "y": -0.17, "yanchor": "top", "pad": {"t": 8}, "ticklen": 0,
            "bordercolor": QUIET, "bgcolor": "rgba(138, 148, 158, 0.35)", "activebgcolor": QUIET,
            "font": {"color": "rgba(0,0,0,0)", "size": 1},
            "currentvalue": {"font": {"color": QUIET, "size": 13}, "xanchor": "left"},
            "steps": [
                {"label": label, "method": "animate",
                 "args": [[str(number)], {**still, "transition": {"duration": 250}}]}
                for number, label in enumerate(labels)
            ],
        }],
    )  # fmt: skip


def _axes(figure: Any, across: Any, down: Any) -> None:
    for update, attribute, most in ((figure.update_xaxes, across, 8), (figure.update_yaxes, down, 12)):
        count = len(attribute.values)
        ticks = [*range(0, count, max(1, -(-count // most)))]
        update(
            tickvals=ticks, ticktext=[_short(str(attribute.values[k])) for k in ticks],
            range=[count - 0.4, -0.6] if attribute is down and down.kind != "numeric" else [-0.6, count - 0.4],
            showgrid=False, zeroline=False, fixedrange=True,
        )  # fmt: skip
    figure.update_xaxes(title=across.name)
    figure.update_yaxes(title=down.name, col=1)


def _short(name: str, most: int = 14) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
