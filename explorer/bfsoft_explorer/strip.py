"""The strip on every page: the scenario in one line, and the menu that opens, saves and shares it."""

from __future__ import annotations

from functools import lru_cache
from html import escape

import streamlit as st

import bfsoft as bf
from bfsoft import Scenario, SoftVote, sensitivity_bound
from bfsoft.differences import differences
from bfsoft.errors import BFSoftError

from . import state, words
from .notebook import notebook

_MOST_DIFFERENCES, _SHORT, _LONGEST_CELL = 12, 4, 60
_FILE = "menu:other"  # the scenario of a file that was brought, with its name
_MENU, _FAULT = "menu", "menu:fault"
# Only what Streamlit has no setting for: labels and values flowing in one line (!important outdoes its list margins),
# no cross in every number field, which drawing.number_field would bring with it, and dark letters on the dark theme's
# light blue buttons.
_STYLE = """<style>
.bfsoft-strip {display: flex; flex-wrap: wrap; gap: 0.15rem 1.4rem; font-size: 0.875rem;}
.bfsoft-strip, .bfsoft-strip * {margin: 0 !important; padding: 0 !important;}
.bfsoft-strip div {display: flex; gap: 0.4rem; align-items: baseline;}
.bfsoft-strip dt {opacity: 0.7; font-weight: 400; flex: none;}
[data-testid="stNumberInputClearButton"] {display: none;}
[data-testid="stBaseButton-primary"]:enabled {color: light-dark(#fff, #0b1118);}
.bfsoft-strip div, .bfsoft-strip dd {min-width: 0; overflow-wrap: anywhere;}
.bfsoft-strip dd {font-weight: 600; font-variant-numeric: tabular-nums;}
</style>"""


def facts(scenario: Scenario, data: str) -> list[tuple[str, str, str]]:
    """What the strip says, as (label, short value, full value or explanation)."""
    policy, budget = scenario.policy, scenario.budget
    bound = sensitivity_bound(policy, SoftVote(scenario.tau))
    return [
        ("data", data, "the table that syntheses run on"),
        ("policy", words.summary(policy), "which values must be confusable with which"),
        ("reach r", words.number(policy.reach), f"{policy.reach!r}: the longest protected substitution"),
        ("τ", words.number(scenario.tau), "temperature of the soft vote, in units of distance"),
        ("L2 bound", words.number(bound.l2), f"{bound.l2!r} = √2 tanh(r/2τ), at least 1 with participation"),
        ("noise ratio q", words.number(bound.ratio), f"{bound.ratio!r}: the soft vote's noise over the hard vote's"),
        _epsilon(budget, bound, policy),
    ]


def _epsilon(budget: bf.Budget, bound: bf.Sensitivity, policy: bf.Policy) -> tuple[str, str, str]:
    """A budget is a promise only where there is noise to spend it on."""
    if bound.l2 == 0 and policy.widest_edge is not None:
        return "ε", "0 across edges", "votes ignore the joined attributes, of weight 0; nothing else is protected"
    if bound.l2 == 0:
        return "ε", "no promise", "the policy has no edges, so a release under it has no noise and protects nobody"
    said = f"{words.number(budget.epsilon)} at δ = {words.number(budget.delta)}"
    return "ε", said, f"{budget.epsilon!r}, exact; ρ = {budget.rho!r}"


def data_name() -> str:
    """What the strip calls the data: a sample's name, the user's own table, or a file's that a scenario names."""
    if state.own_table() is not None:
        return "your table"
    data = state.scenario().data
    if not data:
        return "none chosen"
    return data if data in bf.samples() else f"{data} (not here)"


def show_strip(page: str = "policy") -> None:
    """Draw the strip, its menu, and any notice that waits; ``page`` is the script's name, whose notebook is offered."""
    row = st.container(horizontal=True, vertical_alignment="center")
    items = "".join(
        f'<div title="{escape(full)}"><dt>{escape(label)}</dt><dd>{escape(value)}</dd></div>'
        for label, value, full in facts(state.scenario(), data_name())
    )
    row.html(f'{_STYLE}<dl class="bfsoft-strip" aria-label="The scenario">{items}</dl>', width="stretch")
    # It tracks whether it is open only so that opening a scenario can close it.
    with row.popover(
        "Scenario", icon=":material/folder_open:", help="Open, save or share all that is set", key=_MENU,
        on_change="rerun",
    ):  # fmt: skip
        _menu(page)
    if not state.has_link(state.scenario()):
        st.caption(
            ":material/link_off: This policy is too long for the address: save it as YAML in the menu *Scenario*, or a "
            "reload of the page loses it."
        )
    notice = state.take_notice()
    if notice:
        st.error(words.plain(notice), icon=":material/error:")


@lru_cache(maxsize=1)
def _ready() -> dict[str, str]:
    """The names and titles of the scenarios that come with the package; read once, they do not change."""
    scenarios = {name: state.ready_scenario(name) for name in bf.samples()} | bf.policies()
    return {name: f"{name}: {scenario.title}" for name, scenario in scenarios.items()}


def _menu(page: str) -> None:
    now, shown, own = state.scenario(), state.shown(), state.own_table() is not None
    row = st.container(horizontal=True)
    row.download_button(
        "Save as YAML", now.dumps(), "scenario.yaml", "application/yaml", icon=":material/download:",
        on_click="ignore",
    )  # fmt: skip
    row.download_button(
        "Open as notebook", lambda: notebook(page, now, {**shown.get(page, {}), "own": own}), f"{page}.ipynb",
        "application/x-ipynb+json", icon=":material/code:", on_click="ignore",
        help="A Jupyter notebook that rebuilds this very state with the library and draws this page's charts.",
    )  # fmt: skip
    if state.has_link(now):
        st.caption("The address of this page is a link to exactly this scenario. It never holds records.")
    else:
        st.warning("This policy is too long for a link. Save it as YAML: a reload of the page would lose it.")
    st.divider()
    ready = _ready()
    chosen = st.selectbox("Open a ready scenario", [*ready], format_func=ready.__getitem__, key="menu:ready")
    st.file_uploader("Or a scenario file (YAML)", type=["yaml", "yml"], key="menu:file", on_change=_read_file)
    if st.session_state.get(_FAULT):
        st.error(words.plain(st.session_state[_FAULT]), icon=":material/error:")
    _compare(*(st.session_state.get(_FILE) or (chosen, state.ready_scenario(chosen))))


def _compare(name: str, other: Scenario) -> None:
    """What opening another scenario would change, before it is opened."""
    found = differences(state.scenario(), other)
    if not found:
        st.caption(f":material/check: {words.plain(name)} is the present scenario.")
        return
    rows = [(each.key, each.here, each.there) for each in found[:_MOST_DIFFERENCES]]
    table = ["| Setting | Now | There |", "|---|---|---|", *(f"| {' | '.join(map(_cell, row))} |" for row in rows)]
    st.button(f"Open {words.plain(name)}", on_click=_open, args=(other,), icon=":material/play_arrow:", width="stretch")
    st.caption(f"It would change {words.counted(len(found), 'setting')}:")
    with st.container(height=200 if len(rows) > _SHORT else "content", border=False):
        st.markdown("\n".join(table))
        if len(found) > len(rows):
            st.caption(f"and {len(found) - len(rows)} more settings")


def _cell(text: str) -> str:
    """Text for a cell of a Markdown table, which is one line, and short enough to leave the others room."""
    line = " ".join(text.split())
    return words.plain(line if len(line) <= _LONGEST_CELL else f"{line[: _LONGEST_CELL - 1]}…")


def _open(other: Scenario) -> None:
    state.adopt(other)
    st.session_state.pop(_FILE, None)
    st.session_state.pop(_FAULT, None)
    st.session_state[_MENU] = False


def _read_file() -> None:
    """Read a scenario file to compare; a file that is none leaves everything as it was, and the menu says why."""
    st.session_state.pop(_FILE, None)
    st.session_state.pop(_FAULT, None)
    upload = st.session_state.get("menu:file")
    if upload is None:
        return
    try:
        st.session_state[_FILE] = (upload.name, Scenario.loads(upload.getvalue().decode("utf-8-sig")))
    except UnicodeDecodeError:
        st.session_state[_FAULT] = f"{upload.name} is not UTF-8 text; a scenario file is YAML saved as UTF-8."
    except BFSoftError as error:
        st.session_state[_FAULT] = words.of_file(upload.name, error)
