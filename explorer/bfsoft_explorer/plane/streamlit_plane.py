"""The boundary plane in a Streamlit page: mounts the module through components v2 and hands back each edit."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from bfsoft.crossings import Plane
from bfsoft.domain import Codes
from bfsoft.errors import BFSoftError
from bfsoft.policy import Policy

from . import SCRIPT, STYLE
from ._contract import PlaneEdit, committed_edit, plane_data

_mount = st.components.v2.component(
    "bfsoft_boundary_plane", js=SCRIPT.read_text(encoding="utf-8"), css=STYLE.read_text(encoding="utf-8")
)


def boundary_plane(
    policy: Policy,
    plane: Plane,
    candidates: Codes,
    *,
    tau: float,
    vote: str,
    key: str,
    on_change: Callable[[PlaneEdit], None],
    on_error: Callable[[str], None],
) -> None:
    """Draw a plane; when a gesture on it ends, its edit goes to ``on_change`` before the page runs again.

    An edit that does not fit, as of a plane that was since replaced, is dropped, and ``on_error`` told why.
    """
    handled = f"{key}:handled"
    epoch = f"{plane.across}|{plane.down}|{hash(policy.domain)}"

    def committed_now() -> None:
        committed = (st.session_state.get(key) or {}).get("committed")
        # A component's state outlives its edit: the number of the last one taken up keeps it from coming back.
        if not committed or committed["epoch"] != epoch or committed["revision"] <= st.session_state.get(handled, 0):
            return
        st.session_state[handled] = committed["revision"]
        try:
            edit = committed_edit(policy, plane, committed)
        except BFSoftError as error:
            on_error(str(error))
            return
        on_change(edit)

    revision = st.session_state.get(handled, 0)
    _mount(
        key=key,
        data=plane_data(policy, plane, candidates, tau=tau, vote=vote, revision=revision, epoch=epoch),
        on_committed_change=committed_now,
    )
