"""Charts of a policy: how far each attribute reaches."""

from __future__ import annotations

import altair as alt
import pandas as pd

from bfsoft import Edge, Policy

from .. import words
from . import labels
from .style import CALM, QUIET, SIGNAL, title

_MOST_BARS = 14
# What the narrow column beside the canvas holds of a title, in characters.
_TITLE_WIDTH = 36
# Characters of a name beside its bar, and within the title.
_ROW, _NAMED = 20, 24


def reach_text(policy: Policy) -> str:
    """The finding of ``reach_bars``: which attribute sets the reach."""
    widest = policy.widest_edge
    if widest is None:
        return "No attribute is protected yet"
    if widest.length == 0:
        return "Every protected attribute has weight 0, so none has any reach"
    name, reach = labels.cut(widest.attribute, _NAMED), words.number(widest.length)
    return f"{name} sets the reach: {reach} ({_edge(policy, widest)})"


def _edge(policy: Policy, edge: Edge) -> str:
    """The values that an edge joins, shortly: ``17 ↔ 24``."""
    values = policy.domain[edge.attribute]
    return " ↔ ".join(labels.told_apart([labels.value(values, end) for end in (edge.a, edge.b)], _NAMED))


def reach_bars(policy: Policy) -> alt.LayerChart | alt.Chart:
    """Reach r_j of each attribute as bars, in units of distance; the one that sets the record's reach stands out.

    Of more than 14 attributes those with the largest reach, if they have any; a few words where nothing has a reach.
    """
    widest, names = policy.widest_edge, policy.domain.names
    if widest is None or widest.length == 0:
        left = "no edge, so no reach" if widest is None else "votes look at nothing that is joined"
        return labels.note(left).properties(title=title(reach_text(policy), width=_TITLE_WIDTH), height=90)
    kept, detail = [*names], ""
    if len(names) > _MOST_BARS:
        reaching = sorted((name for name in names if policy.reaches[name] > 0), key=lambda name: -policy.reaches[name])
        kept = reaching[:_MOST_BARS]
        detail = (
            f"the {len(kept)} of {len(names)} attributes that reach furthest"
            if len(kept) < len(reaching)
            else f"{words.counted(len(names) - len(kept), 'more attribute')} without any reach"
        )
    shown = [name for name in names if name in set(kept)]
    called = dict(zip(shown, labels.told_apart(shown, _ROW), strict=True))
    rows = []
    for name in shown:
        reach = policy.reaches[name]
        own = policy.widest(name)
        rows.append(
            {
                "attribute": name,
                "called": called[name],
                "reach": reach,
                "shown": words.number(reach) if own else "unprotected",
                "edge": _edge(policy, own) if own else "none",
                "sets": widest.attribute == name,
            }
        )
    base = alt.Chart(pd.DataFrame(rows)).encode(
        y=alt.Y("called:N", sort=None, title=None, axis=alt.Axis(labelLimit=160)),
        tooltip=[
            alt.Tooltip("attribute:N"),
            alt.Tooltip("shown:N", title="reach"),
            alt.Tooltip("edge:N", title="widest edge"),
        ],
    )
    # Each bar says its number, so the axis needs none.
    x = alt.X(
        "reach:Q",
        title="reach (distance)",
        scale=alt.Scale(domain=[0, widest.length * 1.35]),
        axis=alt.Axis(labels=False, ticks=False, grid=False),
    )
    bars = base.mark_bar(height=14, cornerRadiusEnd=3).encode(
        x=x, color=alt.condition("datum.sets", alt.value(SIGNAL), alt.value(CALM))
    )
    numbers = base.mark_text(align="left", dx=4, color=QUIET).encode(x=x, text=alt.Text("shown:N"))
    return (bars + numbers).properties(title=title(reach_text(policy), detail, width=_TITLE_WIDTH), height=alt.Step(26))
