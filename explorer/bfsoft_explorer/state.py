"""The app's one state: the scenario, the table it runs on, and the URL that brings both back after a reload.

Pages read the scenario and replace it; nothing else that a user can set lives anywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import streamlit as st

import bfsoft as bf
from bfsoft import Scenario
from bfsoft.errors import BFSoftError

from . import share

FIRST_SAMPLE = "adult"
_SCENARIO, _URL, _NOTICE, _TABLE, _GATHERED = "scenario", "s", "notice", "table", "gathered"
_SHOWN = "shown"
# Scenarios too long for a link, by the names that stand for them in this session's addresses; the latest ones only.
_KEPT, _KEPT_NAME, _MOST_KEPT = "kept", "kept-", 50


def scenario() -> Scenario:
    """The scenario that every page shows; the first sample's in a new session."""
    if _SCENARIO not in st.session_state:
        st.session_state[_SCENARIO] = ready_scenario(FIRST_SAMPLE)
    return st.session_state[_SCENARIO]


@lru_cache(maxsize=32)
def ready_scenario(name: str) -> Scenario:
    """The scenario of that name that comes with the package, read once; ScenarioError if there is none."""
    return bf.load_scenario(name)


def replace(**changes: Any) -> None:
    """Change settings of the scenario; a setting that does not fit is refused with a notice and nothing is lost."""
    try:
        st.session_state[_SCENARIO] = scenario().replace(**changes)
    except BFSoftError as error:
        notify(str(error))


def adopt(new: Scenario) -> None:
    """Take another scenario in place of the present one; a table of one's own stays while it still fits."""
    st.session_state[_SCENARIO] = new
    table = st.session_state.get(_TABLE)
    if table is not None and table.domain.attributes != new.domain.attributes:
        del st.session_state[_TABLE]


def notify(message: str) -> None:
    """Have the next run show an error once, above the page."""
    st.session_state[_NOTICE] = message


def take_notice() -> str | None:
    """The message to show now, if any; it is shown once."""
    return st.session_state.pop(_NOTICE, None)


def shown() -> dict[str, dict[str, Any]]:
    """By page, what it shows of the scenario, such as the chosen attribute; a notebook of the page shows the same.

    It is one dict for the whole session: a part of a page that is redrawn alone tells it too, after the strip is drawn.
    """
    return st.session_state.setdefault(_SHOWN, {})


def show(page: str, **what: Any) -> None:
    """Note what a page shows, besides what was noted before."""
    shown().setdefault(page, {}).update(what)


def bound(widget: Callable[..., Any], label: str, setting: str, **options: Any) -> Any:
    """A widget that shows one setting of the scenario and changes it; its value is always the scenario's.

    ``to_widget`` and ``to_setting`` translate between the two where they differ; ``also`` names, for a new setting,
    the other settings that must change with it.
    """
    to_widget: Callable[[Any], Any] = options.pop("to_widget", lambda value: value)
    to_setting: Callable[[Any], Any] = options.pop("to_setting", lambda value: value)
    also: Callable[[Any], dict[str, Any]] = options.pop("also", lambda value: {})
    key = f"bound:{setting}"
    value = st.session_state[key] = to_widget(getattr(scenario(), setting))
    # A file or a link may hold what a widget would not offer; it must still be shown, not refused by the widget.
    for limit, widest in (("min_value", min), ("max_value", max)):
        if options.get(limit) is not None and value is not None:
            options[limit] = widest(options[limit], value)

    def changed() -> None:
        if st.session_state[key] is not None:
            new = to_setting(st.session_state[key])
            replace(**{setting: new, **also(new)})

    return widget(label, key=key, on_change=changed, **options)


def keep_table(records: bf.Records | None) -> None:
    """Run on a table of one's own, held in memory for this session only; None goes back to the sample."""
    if records is None:
        st.session_state.pop(_TABLE, None)
    else:
        st.session_state[_TABLE] = records


def own_table() -> bf.Records | None:
    """The table that the user brought, if any."""
    return st.session_state.get(_TABLE)


def records() -> bf.Records | None:
    """The records to run on: the user's own table, or the scenario's sample; None when there is neither.

    Raises BFSoftError where the sample does not fit the scenario's domain.
    """
    now = scenario()
    table = own_table()
    if table is not None:
        return _own(table, now.domain)
    if now.data not in bf.samples():
        return None
    kept = st.session_state.get(_GATHERED)
    if kept is None or kept[0] != (now.data, now.domain.attributes):
        gathered = bf.Records.of_frame(now.domain, bf.load_data(now.data, now.domain))
        kept = st.session_state[_GATHERED] = ((now.data, now.domain.attributes), gathered)
    return kept[1].on(now.domain)


def _own(table: bf.Records, domain: bf.Domain) -> bf.Records:
    """The user's table under the present domain; gathered again where its attributes changed, as by a hierarchy."""
    if table.domain.attributes == domain.attributes:
        return table.on(domain)
    kept = st.session_state.get(_GATHERED)
    if kept is None or kept[0] != (id(table), domain.attributes):
        gathered = bf.Records.of_frame(domain, table.frame(), "clip")
        kept = st.session_state[_GATHERED] = ((id(table), domain.attributes), gathered)
    return kept[1].on(domain)


def follow_url() -> None:
    """Keep the scenario and the URL saying the same: a link, a reload and the back button bring a scenario back.

    A hidden text field bound to the query parameter does it, because the browser's history works for bound fields
    and only for them: each change of the scenario is one step, and moving between pages keeps it.
    """
    if _SCENARIO not in st.session_state and st.query_params.get(_URL):
        _follow(st.query_params[_URL])
    said = st.session_state[_URL] = _address(scenario())
    with st.container(key="scenario-in-the-url"):
        st.html("<style>.st-key-scenario-in-the-url {display: none;}</style>")
        asked = st.text_input("Scenario", key=_URL, bind="query-params")
    if asked != said:
        _follow(asked or FIRST_SAMPLE)
        st.rerun()


def _address(now: Scenario) -> str:
    """What the URL says of a scenario: its link, or the name under which this session alone keeps a long one."""
    said = link(now)
    if said is not None:
        return said
    name = _KEPT_NAME + hashlib.sha256(share.to_link(now).encode("ascii")).hexdigest()[:16]
    kept = st.session_state.setdefault(_KEPT, {})
    kept[name] = kept.pop(name, now)
    while len(kept) > _MOST_KEPT:
        del kept[next(iter(kept))]
    return name


def _follow(asked: str) -> None:
    kept = st.session_state.get(_KEPT, {})
    try:
        if asked in kept:
            adopt(kept[asked])
        elif asked.startswith(_KEPT_NAME):
            notify(
                "This address stands for a policy too long for a link, which only the tab that it was drawn in could "
                "bring back, until it was reloaded. Open its YAML file from the menu Scenario."
            )
        else:
            adopt(ready_scenario(asked) if asked in bf.samples() else share.from_link(asked))
    except BFSoftError as error:
        notify(f"The link could not be opened: {error}")


def link(now: Scenario) -> str | None:
    """The query parameter ``s`` that brings a scenario back: a sample's name, or all of it; None if it is too long.

    Empty for the first sample, which an address without parameters opens.
    """
    if now.data in bf.samples() and now == ready_scenario(now.data):
        return "" if now.data == FIRST_SAMPLE else now.data
    packed = share.to_link(now)
    return packed if len(packed) <= share.LONGEST else None


def has_link(now: Scenario) -> bool:
    """Whether the URL can hold the scenario; one that cannot must be saved as a file."""
    return link(now) is not None
