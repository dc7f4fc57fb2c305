"""The domain being edited: drafts kept in the session, and taken into the scenario whenever they are without mistakes.

A mistake leaves the scenario as it was and the text as typed. Rules follow their attributes from the policy that the
editing began with, so that a value taken out and put back brings its edges back too.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import streamlit as st

import bfsoft as bf
from bfsoft.drafts import AttributeDraft, Problem, carried, check, drafts_of
from bfsoft.errors import BFSoftError
from bfsoft.policy import Policy
from bfsoft.schema import Guess

from . import state

_EDITING = "domain:editing"
_MOST_UNDO = 100


@dataclass(frozen=True)
class Stage:
    """What one change makes and undo brings back: drafts in order, and the policy and the data they began with.

    ``table`` is a public table that the user brought to start from, and ``columns`` which of its columns each draft is.
    """

    drafts: list[AttributeDraft]
    origin: Policy
    data: str | None
    table: pd.DataFrame | None = None
    columns: dict[int, str] = field(default_factory=dict)


@dataclass
class Editing:
    """The present stage and those before it, the draft that is shown, and the policy last taken into the scenario.

    ``taken`` are the names under which that policy has the drafts, by their keys.
    """

    stage: Stage
    applied: Policy
    taken: dict[int, str]
    selected: int = 0
    past: list[Stage] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    table_problem: str | None = None

    @property
    def drafts(self) -> list[AttributeDraft]:
        return self.stage.drafts

    def draft(self) -> AttributeDraft | None:
        """The draft that is shown, or None when there is none at all."""
        return next((draft for draft in self.drafts if draft.key == self.selected), None)

    def problem(self, key: int, name: str) -> str | None:
        """What is wrong with one field, if anything."""
        return next((each.message for each in self.problems if (each.key, each.field) == (key, name)), None)


def editing() -> Editing:
    """The editing under way, brought up to what was changed elsewhere; undo still goes back behind that."""
    now: Editing | None = st.session_state.get(_EDITING)
    policy = state.scenario().policy
    if now is None:
        now = st.session_state[_EDITING] = _begun(policy)
    elif now.applied.domain.attributes != policy.domain.attributes:
        past = [*now.past, now.stage]
        now = st.session_state[_EDITING] = _begun(policy)
        now.past = past
    elif now.applied != policy:
        now.stage = _on(policy, now)
        now.applied = policy
    return now


def _begun(policy: Policy) -> Editing:
    drafts = drafts_of(policy.domain)
    return Editing(Stage(drafts, policy, state.scenario().data), policy, _names(drafts))


def _names(drafts: list[AttributeDraft]) -> dict[int, str]:
    return {draft.key: draft.name.strip() for draft in drafts}


def _on(policy: Policy, now: Editing) -> Stage:
    """The same drafts, whatever is typed in them, on the rules and weights that their attributes now have."""
    drafts = [dataclasses.replace(draft, origin=now.taken.get(draft.key)) for draft in now.drafts]
    if policy.domain.exact_weights != now.applied.domain.exact_weights:
        weights = {draft.name: draft.weight for draft in drafts_of(policy.domain)}
        drafts = [
            dataclasses.replace(draft, weight=weights[draft.origin]) if draft.origin in weights else draft
            for draft in drafts
        ]
    return dataclasses.replace(now.stage, drafts=drafts, origin=policy)


def change(key: int, **fields: Any) -> None:
    """Set fields of one draft."""
    _take([dataclasses.replace(each, **fields) if each.key == key else each for each in editing().drafts])


def recast(key: int, kind: str) -> None:
    """Make one draft another kind of attribute."""
    _take([each.recast(kind) if each.key == key else each for each in editing().drafts])


def add() -> None:
    """A new attribute at the end, selected, with a name of its own."""
    now = editing()
    names = {draft.name for draft in now.drafts}
    number = next(count for count in range(1, len(names) + 2) if f"attribute {count}" not in names)
    now.selected = _unused(now)
    _take([*now.drafts, AttributeDraft(now.selected, f"attribute {number}", weight=_typical(now.drafts))])


def remove(key: int) -> None:
    """Take an attribute out; its neighbour is selected."""
    now = editing()
    at = next(position for position, draft in enumerate(now.drafts) if draft.key == key)
    rest = [draft for draft in now.drafts if draft.key != key]
    if rest:
        now.selected = rest[min(at, len(rest) - 1)].key
    _take(rest)


def move(key: int, by: int) -> None:
    """Shift an attribute up (−1) or down (+1) in the order, which is also the order of columns."""
    drafts = [*editing().drafts]
    at = next(position for position, draft in enumerate(drafts) if draft.key == key)
    to = min(max(at + by, 0), len(drafts) - 1)
    drafts.insert(to, drafts.pop(at))
    _take(drafts)


def equal_weights() -> None:
    """Give all attributes the same weight."""
    _take([dataclasses.replace(each, weight="1") for each in editing().drafts])


def undo() -> None:
    """Take back the last change."""
    now = editing()
    if now.past:
        _enter(now, now.past.pop())


def start(guesses: list[Guess], table: pd.DataFrame | None) -> None:
    """Begin anew from guesses about a public table, which syntheses then run on too, or with none from nothing."""
    drafts = [_guessed(key, each) for key, each in enumerate(guesses)] or [AttributeDraft(0, "attribute 1")]
    columns = {key: each.column for key, each in enumerate(guesses)} if table is not None else {}
    now = editing()
    now.past.append(now.stage)
    now.selected = 0
    state.keep_table(None)
    _enter(now, Stage(drafts, Policy(state.scenario().domain, {}), None, table, columns))


def _guessed(key: int, given: Guess) -> AttributeDraft:
    note = "; ".join([given.reason, *given.notes])
    if given.attribute is None:
        return AttributeDraft(key, given.column, "categorical", note=note)
    return AttributeDraft.of(key, given.attribute, note=note)


def _unused(now: Editing) -> int:
    """A key that no draft, present or past, ever had: what was typed under it must not come back in another's field."""
    return 1 + max([draft.key for stage in [now.stage, *now.past] for draft in stage.drafts], default=-1)


def _typical(drafts: list[AttributeDraft]) -> str:
    weights = {draft.weight for draft in drafts}
    return weights.pop() if len(weights) == 1 else "1"


def _take(drafts: list[AttributeDraft]) -> None:
    now = editing()
    if drafts != now.drafts:
        now.past = [*now.past[-_MOST_UNDO:], now.stage]
        _enter(now, dataclasses.replace(now.stage, drafts=drafts))


def _enter(now: Editing, stage: Stage) -> None:
    """Make a stage the present one, and take it into the scenario if it is a domain."""
    now.stage = stage
    if now.draft() is None and now.drafts:
        now.selected = now.drafts[0].key
    domain, now.problems = check(now.drafts)
    if domain is None:
        return
    origins = {draft.name.strip(): draft.origin for draft in now.drafts}
    policy, now.lost = carried(stage.origin, domain, origins)
    before = state.scenario().domain
    state.replace(policy=policy, data=stage.data if stage.data and _sample_fits(stage.data, domain) else None)
    now.applied, now.taken = state.scenario().policy, _names(now.drafts)
    now.table_problem = None
    if stage.table is not None and (state.own_table() is None or domain.attributes != before.attributes):
        _gather(now, domain)


def _sample_fits(data: str, domain: bf.Domain) -> bool:
    """Whether the scenario's sample still has every column; its cells are looked at when a synthesis asks for them."""
    if data not in bf.samples():
        return True
    return set(domain.names) <= set(bf.load_scenario(data).domain.names)


def _gather(now: Editing, domain: bf.Domain) -> None:
    """Read the user's own table again for a changed domain; what does not fit is said, and no table is run on."""
    table, columns = now.stage.table, now.stage.columns
    assert table is not None
    named = {draft.name.strip(): columns[draft.key] for draft in now.drafts if draft.key in columns}
    own = pd.DataFrame({name: table[column] for name, column in named.items()})
    if bf.records.COUNT in table.columns and bf.records.COUNT not in domain.names:
        own[bf.records.COUNT] = table[bf.records.COUNT]
    try:
        state.keep_table(bf.Records.of_frame(domain, own, "clip"))
    except BFSoftError as error:
        state.keep_table(None)
        now.table_problem = str(error)
