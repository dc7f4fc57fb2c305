"""Charts of a policy: how far each attribute reaches."""

from __future__ import annotations

import altair as alt
import pandas as pd

from bfsoft import Policy

from .. import words
from .style import CALM, QUIET, SIGNAL, title

_MOST_BARS = 14
# What the narrow column beside the canvas holds of a title, in characters.
_TITLE_WIDTH = 36


def reach_text(policy: Policy) -> str:
    """The finding of ``reach_bars``: which attribute sets the reach."""
    widest = policy.widest_edge
    if widest is None:
        return "No attribute is protected yet"
    if widest.length == 0:
        return "Every protected attribute has weight 0, so none has any reach"
    return f"{widest.attribute} sets the reach: {words.number(widest.length)} ({widest.a} ↔ {widest.b})"


def reach_bars(policy: Policy) -> alt.Chart:
    """Reach r_j of each attribute as bars, in units of distance; the one that sets the record's reach stands out.

    Of more than 14 attributes those with the largest reach.
    """
    widest = policy.widest_edge
    kept = sorted(policy.reaches, key=lambda name: -policy.reaches[name])[:_MOST_BARS]
    rows = []
    for name in (name for name in policy.domain.names if name in kept):
        reach = policy.reaches[name]
        own = policy.widest(name)
        rows.append(
            {
                "attribute": name,
                "reach": reach,
                "shown": words.number(reach) if own else "unprotected",
                "edge": f"{own.a} ↔ {own.b}" if own else "none",
                "sets": bool(widest and widest.attribute == name),
            }
        )
    base = alt.Chart(pd.DataFrame(rows)).encode(
        y=alt.Y("attribute:N", sort=None, title=None, axis=alt.Axis(labelLimit=160)),
        tooltip=[
            alt.Tooltip("attribute"),
            alt.Tooltip("reach:Q", format=".6g"),
            alt.Tooltip("edge", title="widest edge"),
        ],
    )
    top = max(policy.reaches.values()) or 1.0
    bars = base.mark_bar(height=14, cornerRadiusEnd=3).encode(
        x=alt.X(
            "reach:Q", title="reach (distance)", scale=alt.Scale(domain=[0, top * 1.25]), axis=alt.Axis(tickCount=4)
        ),
        color=alt.condition("datum.sets", alt.value(SIGNAL), alt.value(CALM)),
    )
    labels = base.mark_text(align="left", dx=4, color=QUIET).encode(x=alt.X("reach:Q"), text=alt.Text("shown"))
    few = len(rows) < len(policy.reaches)
    detail = f"the {len(rows)} of {len(policy.reaches)} attributes that reach furthest" if few else ""
    return (bars + labels).properties(title=title(reach_text(policy), detail, width=_TITLE_WIDTH), height=alt.Step(26))
