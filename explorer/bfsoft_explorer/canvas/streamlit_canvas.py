"""The policy canvas in a Streamlit page: mounts the module through components v2 and hands back a policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from bfsoft.policy import Policy

from . import SCRIPT, STYLE
from ._contract import canvas_data, committed_policy

_mount = st.components.v2.component(
    "bfsoft_policy_canvas", js=SCRIPT.read_text(encoding="utf-8"), css=STYLE.read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class CanvasResult:
    """What the canvas stands for now; ``changed`` is true in the one run that first meets a new edit."""

    policy: Policy
    tau: float
    changed: bool


def policy_canvas(
    policy: Policy,
    attribute: str,
    *,
    tau: float,
    budget: Any = None,
    key: str,
    on_change: Callable[[CanvasResult], None] | None = None,
) -> CanvasResult:
    """Draw one attribute's policy; an edit comes back when its gesture ends, as one rerun.

    Without ``on_change`` the result of that rerun has ``changed`` set. With it, the edit goes to ``on_change`` before
    the script runs, so that a page need not run twice to show it everywhere.
    """
    handled = f"{key}:handled"

    def pending() -> Mapping[str, Any] | None:
        # A component's state outlives its edit: the number of the last edit taken up keeps an old one from
        # undoing a policy that was since loaded from elsewhere.
        committed = (st.session_state.get(key) or {}).get("committed")
        if not committed or committed["revision"] <= st.session_state.get(handled, 0):
            return None
        return committed

    def take() -> CanvasResult | None:
        committed = pending()
        if committed is None:
            return None
        st.session_state[handled] = committed["revision"]
        return CanvasResult(committed_policy(policy, committed), float(committed["tau"]), changed=True)

    def committed_now() -> None:
        result = take() if on_change else None
        if result and on_change:
            on_change(result)

    result = take() or CanvasResult(policy, tau, changed=False)
    _mount(
        key=key,
        data=canvas_data(
            result.policy, attribute, tau=result.tau, budget=budget, revision=st.session_state.get(handled, 0)
        ),
        on_committed_change=committed_now,
    )
    return result
