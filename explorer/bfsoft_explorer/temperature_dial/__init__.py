"""The temperature dial: one ES module of our own that draws what τ buys and costs, and lets τ be dragged on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bfsoft import Budget, HardVote, Policy, sensitivity_bound
from bfsoft.temperature import reaches

from ..charts.style import COLOURS, QUIET, SIGNAL

SCRIPT = Path(__file__).with_name("temperature_dial.js")
STYLE = Path(__file__).with_name("temperature_dial.css")


def dial_data(
    policy: Policy,
    tau: float,
    budget: Budget,
    rounds: int,
    shares: Sequence[float] | None = None,
    profile: pd.DataFrame | None = None,
    revision: int = 0,
) -> dict[str, Any]:
    """All that the dial needs to draw and compute alone, as JSON-ready values.

    The first curve is the record's; ``hard`` is the hard vote's own L2 bound, √2 wherever an edge moves any vote, and
    ``joined`` whether there are edges at all. ``profile`` is a ``bfsoft.temperature.vote_profile``, whose top shares
    become the panel of costs; ``revision`` is the number of the last τ already taken up from the dial.
    """
    sharpness = None
    if profile is not None:
        ordered = profile.sort_values("tau")
        sharpness = {"taus": ordered["tau"].tolist(), "top": ordered["top_share"].tolist()}
    return {
        "tau": float(tau),
        "participation": policy.participation,
        "joined": policy.widest_edge is not None,
        "hard": sensitivity_bound(policy, HardVote()).l2,
        "rhos": [*budget.split(rounds, shares)],
        "curves": [{"kind": kind, "name": name, "reach": reach} for kind, name, reach in reaches(policy)],
        "profile": sharpness,
        "colours": {"soft": COLOURS["BF-Soft"], "signal": SIGNAL, "quiet": QUIET},
        "revision": revision,
    }
