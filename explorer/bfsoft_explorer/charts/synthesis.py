"""Charts of a synthesis: error by round, marginals against the data, votes before and after noise."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from bfsoft import Fidelity, Round

from .. import words
from .style import COLOURS, QUIET, by_source, title


def error_text(errors: pd.DataFrame) -> str:
    """The finding of ``error_curves``: who ends lower and by how much."""
    last = errors.groupby("method", sort=False)["error"].last()
    if len(last) == 1:
        return f"{last.index[0]} ends at error {words.number(last.iloc[0])}"
    low, high = last.idxmin(), last.idxmax()
    if last[low] == last[high]:
        return f"All methods end at error {words.number(last[low])}"
    return (
        f"{low} ends lower: {words.number(last[low])} against {words.number(last[high])} "
        f"({100 * (1 - last[low] / last[high]):.0f} % less)"
    )


def error_curves(errors: pd.DataFrame, rounds: int) -> alt.Chart:
    """Error after each round, one line a method; ``errors`` has columns method, round, error."""
    methods = [*dict.fromkeys(errors["method"])]
    return (
        alt.Chart(errors)
        .mark_line(point=True, strokeWidth=2.5)
        .encode(
            x=alt.X(
                "round:Q",
                title="round",
                scale=alt.Scale(domain=[1, max(2, rounds)]),
                axis=alt.Axis(tickMinStep=1, format="d"),
            ),
            y=alt.Y("error:Q", title="error (mean total variation)", scale=alt.Scale(zero=False, nice=True)),
            color=by_source("method", methods),
            tooltip=["method", "round", alt.Tooltip("error:Q", format=".5f")],
        )
        .properties(title=title(error_text(errors), "one seed; lower is better"), height=340)
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
    tooltip = ["value", "source", alt.Tooltip("share:Q", format=".2%")]
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
    heading = title(marginal_text(frame, attribute), f"mass on the wrong value: {gaps}")
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


def vote_chart(method: str, each: Round) -> alt.LayerChart:
    """Votes of one round before and after noise, candidates sorted by their exact votes; the band is ± 2σ."""
    frame = vote_frame(each)
    band = pd.DataFrame({"low": [-2 * each.sigma], "high": [2 * each.sigma]})
    x = alt.X("rank:Q", title="candidate, by votes", scale=alt.Scale(domain=[1, max(2, len(frame))], nice=False))
    noise = alt.Chart(band).mark_rect(opacity=0.18, color=QUIET).encode(y=alt.Y("low:Q", title="votes"), y2="high:Q")
    tooltip = ["rank", alt.Tooltip("votes:Q", format=".1f"), alt.Tooltip("noisy:Q", format=".1f")]
    colour = COLOURS[method]
    noisy = alt.Chart(frame).mark_point(size=9, filled=True, opacity=0.5, color=colour)
    exact = alt.Chart(frame).mark_line(strokeWidth=2.5, color=colour)
    layers = noise + noisy.encode(x=x, y="noisy:Q", tooltip=tooltip) + exact.encode(x=x, y="votes:Q")
    detail = f"line: exact votes; dots: after noise; band: ± 2σ, σ = {words.number(each.sigma)}"
    return layers.properties(title=title(vote_text(method, each), detail), height=280)
