"""The temperature dial in a Streamlit page: mounts the module through components v2 and hands over a τ let go."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd
import streamlit as st

from bfsoft import Budget, Policy

from . import SCRIPT, STYLE, dial_data

_mount = st.components.v2.component(
    "bfsoft_temperature_dial", js=SCRIPT.read_text(encoding="utf-8"), css=STYLE.read_text(encoding="utf-8")
)


def temperature_dial(
    policy: Policy,
    tau: float,
    budget: Budget,
    rounds: int,
    shares: Sequence[float] | None = None,
    profile: pd.DataFrame | None = None,
    *,
    key: str,
    on_change: Callable[[float], None],
) -> None:
    """Draw the dial at τ; ``on_change`` gets a new τ when it is let go, before the script runs again."""
    handled = f"{key}:handled"

    def let_go() -> None:
        # A component's state outlives its edit; the number of the last one taken up keeps it from coming back.
        committed = (st.session_state.get(key) or {}).get("committed")
        if committed and committed["revision"] > st.session_state.get(handled, 0):
            st.session_state[handled] = committed["revision"]
            on_change(float(committed["tau"]))

    revision = st.session_state.get(handled, 0)
    _mount(
        key=key,
        data=dial_data(policy, tau, budget, rounds, shares, profile, revision),
        on_committed_change=let_go,
    )
