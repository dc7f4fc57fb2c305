"""Data and domain: which attributes are there, and which values can they have?"""

import math
from collections import Counter

import pandas as pd
import streamlit as st

import bfsoft as bf
from bfsoft.drafts import KINDS, AttributeDraft
from bfsoft.errors import BFSoftError
from bfsoft.schema import Guess, guess
from bfsoft_explorer import domain_editor as editor
from bfsoft_explorer import state, words

GUESSED = "domain:guessed"
KIND_NAMES = {"numeric": "Numbers", "categorical": "Categories", "hierarchical": "Hierarchy"}


def uploaded() -> None:
    """A file was chosen or taken away; it is read in the page's own run, where reading can show that it goes on."""
    st.session_state.pop(GUESSED, None)
    st.session_state["domain:unread"] = st.session_state.get("domain:file") is not None


def read_public() -> None:
    upload = st.session_state["domain:file"]
    try:
        with st.spinner(f"Reading {upload.name} …"):
            frame = bf.read_table(upload)
            guesses = guess(frame)
        frame.columns = pd.Index([each.column for each in guesses])
        st.session_state[GUESSED] = (upload.name, frame, guesses)
    except BFSoftError as error:
        st.error(words.plain(words.of_file(upload.name, error)), icon=":material/error:")


def take_guesses(chosen: list[Guess], frame: pd.DataFrame | None) -> None:
    editor.start(chosen, frame)
    st.session_state.pop(GUESSED, None)


def open_sample(name: str) -> None:
    state.keep_table(None)
    state.adopt(bf.load_scenario(name))


def starting_points() -> None:
    sample, public, nothing = st.columns([1, 1.6, 1], gap="large")
    with sample:
        st.markdown("**A sample**")
        name = st.selectbox("Sample", bf.samples(), key="domain:sample", label_visibility="collapsed")
        st.button("Open the sample", on_click=open_sample, args=(name,), icon=":material/play_arrow:")
    with public:
        st.markdown("**A public table**")
        confirmed = st.checkbox(
            "This table is public: anyone may see its bounds and its categories", key="domain:public",
            help="A domain must not be read off private data: its extremes and rare values would be published before "
            "any noise is added. For a private table, declare the domain by hand.",
        )  # fmt: skip
        st.file_uploader(
            "CSV or Parquet", type=["csv", "gz", "tsv", "txt", "parquet"], key="domain:file", on_change=uploaded,
            disabled=not confirmed, label_visibility="collapsed",
            help="It stays in memory for this session only: never on disk, never in the link.",
        )  # fmt: skip
    with nothing:
        st.markdown("**Nothing**")
        st.button("Begin with one attribute", on_click=editor.start, args=([], None), icon=":material/add:")
        st.caption("The policy starts empty. Undo brings the present domain back.")


def show_guesses(name: str, frame: pd.DataFrame, guesses: list[Guess]) -> None:
    st.markdown(
        f"**{words.plain(name)}**: {words.counted(len(frame), 'row')}, {words.counted(len(guesses), 'column')}. "
        "What they look like; nothing is taken yet."
    )
    table = pd.DataFrame(
        {
            "Use": [each.included for each in guesses],
            "Column": [each.column for each in guesses],
            "Looks like": [looks_like(each) for each in guesses],
            "Because": [each.reason for each in guesses],
            "To check": ["; ".join(each.notes) for each in guesses],
        }
    )
    edited = st.data_editor(
        table, hide_index=True, disabled=["Column", "Looks like", "Because", "To check"], key=f"domain:guesses:{name}",
    )  # fmt: skip
    chosen = [each for each, use in zip(guesses, edited["Use"], strict=True) if use]
    row = st.container(horizontal=True, vertical_alignment="center")
    row.button(
        f"Start with {words.counted(len(chosen), 'attribute')}", on_click=take_guesses,
        args=(chosen, frame), type="primary", disabled=not chosen, key="domain:take",
    )  # fmt: skip
    row.button("Discard", on_click=lambda: st.session_state.pop(GUESSED, None), key="domain:discard")
    row.caption("Every guess can be changed below afterwards. Syntheses then run on this table.")


def looks_like(given: Guess) -> str:
    if given.attribute is None:
        return "—"
    return f"{KIND_NAMES[given.attribute.kind]}: {AttributeDraft.of(0, given.attribute).summary()}"


def attribute_list(now: editor.Editing) -> None:
    wrong = {each.key for each in now.problems}
    keys = [draft.key for draft in now.drafts]
    by_key = {draft.key: draft for draft in now.drafts}
    twice = Counter(draft.name.strip() for draft in now.drafts)

    def label(key: int) -> str:
        own = by_key[key].name.strip()
        name = words.plain(own) or "(no name)"
        if twice[own] > 1:  # two labels alike would be one choice to the browser
            name += f" ({keys.index(key) + 1})"
        return f":red[:material/error: {name}]" if key in wrong else name

    def selected() -> None:
        now.selected = st.session_state["domain:selected"]

    st.session_state["domain:selected"] = now.selected
    with st.container(height=430 if len(keys) > 7 else "content", border=len(keys) > 7):
        st.radio(
            "Attributes", keys, key="domain:selected", format_func=label, on_change=selected,
            captions=[f"{KIND_NAMES[draft.kind]} · {draft.summary()}" for draft in now.drafts],
            label_visibility="collapsed",
        )  # fmt: skip


def buttons(now: editor.Editing) -> None:
    row = st.container(horizontal=True, gap="small")
    row.button("Add", on_click=editor.add, icon=":material/add:", key="domain:add", type="tertiary")
    position = [draft.key for draft in now.drafts].index(now.selected) if now.draft() else -1
    row.button(
        "Up", on_click=editor.move, args=(now.selected, -1), icon=":material/arrow_upward:", key="domain:up",
        type="tertiary", disabled=position <= 0,
    )  # fmt: skip
    row.button(
        "Down", on_click=editor.move, args=(now.selected, 1), icon=":material/arrow_downward:", key="domain:down",
        type="tertiary", disabled=not 0 <= position < len(now.drafts) - 1,
    )  # fmt: skip
    row.button(
        "Remove", on_click=editor.remove, args=(now.selected,), icon=":material/delete:", key="domain:remove",
        type="tertiary", disabled=position < 0,
    )  # fmt: skip
    row.button(
        "Undo", on_click=editor.undo, icon=":material/undo:", key="domain:undo", type="tertiary",
        disabled=not now.past,
    )  # fmt: skip


def typed(widget, label: str, now: editor.Editing, draft: AttributeDraft, name: str, **options) -> None:
    """A text field of the draft, with its mistake marked at it."""
    key = f"domain:{draft.key}:{name}"
    st.session_state[key] = getattr(draft, name)
    widget(label, key=key, on_change=lambda: editor.change(draft.key, **{name: st.session_state[key]}), **options)
    problem = now.problem(draft.key, name)
    if problem:
        st.markdown(f":red[:material/error: {words.plain(problem)}]")


def fields(now: editor.Editing, draft: AttributeDraft) -> None:
    name, weight = st.columns([2, 1])
    with name:
        typed(st.text_input, "Name", now, draft, "name", help="The name of its column in a table.")
    with weight:
        typed(
            st.text_input, "Weight", now, draft, "weight",
            help="How much this attribute counts in the distance between two records; weights are made to sum to 1.",
        )  # fmt: skip
    kind_key = f"domain:{draft.key}:kind"
    st.session_state[kind_key] = draft.kind
    st.segmented_control(
        "Kind", KINDS, key=kind_key, format_func=KIND_NAMES.__getitem__, required=True,
        on_change=lambda: editor.recast(draft.key, st.session_state[kind_key]),
        help="Numbers lie on a grid. Categories are all equally far apart. In a hierarchy siblings are close.",
    )  # fmt: skip
    if draft.kind == "numeric":
        for column, (label, field, text) in zip(
            st.columns(3),
            [
                ("Lowest", "low", "The least value possible at all, known in public."),
                ("Highest", "high", "The largest value possible at all, known in public."),
                ("Step", "step", "The distance between neighbouring values."),
            ],
            strict=True,
        ):
            with column:
                typed(st.text_input, label, now, draft, field, help=text)
    elif draft.kind == "categorical":
        typed(
            st.text_area, "Categories, one a line", now, draft, "categories", height=240,
            help='All categories possible at all. Put a blank or padded one in quotation marks: "".',
        )  # fmt: skip
    else:
        typed(
            st.text_area, "Values, one a line, indented below their group", now, draft, "tree", height=300,
            placeholder="office\n  clerk\n  manager\nfield\n  driver\n  mechanic",
            help="A line with indented lines below it is a group, to any depth. Siblings are close together.",
        )  # fmt: skip
    if draft.note:
        st.caption(f":material/lightbulb: Guessed: {words.plain(draft.note)}.")


def shown(value: object) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def data_status() -> None:
    try:
        records = state.records()
    except BFSoftError as error:
        st.warning(f"The data no longer fit this domain: {words.plain(str(error))}", icon=":material/table_chart:")
        return
    if records is not None:
        name = "Your table" if state.own_table() is not None else f"The sample {state.scenario().data}"
        st.markdown(
            f":material/table_chart: {name}: {words.counted(records.n, 'record')}, {len(records.codes):,} different."
        )
    else:
        st.markdown(":material/table_chart: No table to run on; policies and bounds need none.")


now = editor.editing()
with st.expander("Start from a sample, a public table, or nothing", icon=":material/upload_file:"):
    starting_points()
if st.session_state.pop("domain:unread", False):
    read_public()
if GUESSED in st.session_state:
    show_guesses(*st.session_state[GUESSED])

left, right = st.columns([1, 1.7], gap="large")
with left:
    st.subheader("Attributes", anchor=False)
    if now.drafts:
        attribute_list(now)
    else:
        st.warning("There is no attribute left: add one. Until then the scenario keeps its last domain, shown below.")
    buttons(now)
with right:
    draft = now.draft()
    if draft is not None:
        st.subheader(words.plain(draft.name.strip()) or "(no name)", anchor=False)
        fields(now, draft)

domain = state.scenario().domain
if now.problems:
    count = len({each.key for each in now.problems})
    st.warning(
        f"{count} {'attribute has a mistake' if count == 1 else 'attributes have mistakes'}, marked in red. Until then "
        "the scenario keeps the last domain without one; what you typed stays here.",
        icon=":material/error:",
    )
for loss in now.lost:
    st.info(f"From the policy: {words.plain(loss)}.", icon=":material/link_off:")
if now.table_problem:
    st.warning(f"Your table cannot be run on: {words.plain(now.table_problem)}.", icon=":material/table_chart:")

st.subheader("What this makes", anchor=False)
weights, facts = st.columns([1.7, 1], gap="large")
with weights:
    shares = pd.DataFrame(
        {
            "Attribute": domain.names,
            "Kind": [KIND_NAMES[attribute.kind] for attribute in domain.attributes],
            "Values": [len(attribute.values) for attribute in domain.attributes],
            "From": [shown(attribute.values[0]) for attribute in domain.attributes],
            "To": [shown(attribute.values[-1]) for attribute in domain.attributes],
            "Weight": [*domain.weights.values()],
            "Rule": [words.rule(state.scenario().policy, name) for name in domain.names],
        }
    )
    st.dataframe(
        shares, hide_index=True,
        column_config={"Weight": st.column_config.ProgressColumn(format="%.3g", min_value=0.0, max_value=1.0)},
        alt="The attributes of the scenario's domain with their values, weights and rules",
    )  # fmt: skip
with facts:
    digits = math.log10(domain.size)
    size = f"{domain.size:,}" if digits < 12 else f"about 10^{digits:.0f}"
    st.markdown(f":material/grid_on: {size} different records are possible.")
    data_status()
    st.button("Make all weights equal", on_click=editor.equal_weights, icon=":material/balance:")
