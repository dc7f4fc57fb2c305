"""Policy: what may be confused with what?"""

from functools import partial

import streamlit as st

from bfsoft import Complete, Policy, SoftVote, sensitivity_bound
from bfsoft.suggestions import Suggestion, suggestions
from bfsoft_explorer import state, words
from bfsoft_explorer.canvas.streamlit_canvas import CanvasResult, policy_canvas
from bfsoft_explorer.charts import policy as charts
from bfsoft_explorer.charts import protection
from bfsoft_explorer.drawing import show_chart

MOST_BUTTONS = 12
# More cards or leaves than this no canvas could show, nor a browser move.
MOST_CARDS = 2_000
scenario = state.scenario()
names = list(scenario.domain.names)
vote = SoftVote(scenario.tau)


def take(result: CanvasResult) -> None:
    state.replace(policy=result.policy, tau=result.tau)


def without_canvas(name: str) -> None:
    st.info(
        f"{words.plain(name)} has {len(scenario.domain[name].values):,} values, too many to draw (at most "
        f"{MOST_CARDS:,}). Gather them into fewer on *Data and domain*, or write the rule in the scenario's YAML.",
        icon=":material/grid_off:",
    )
    row = st.container(horizontal=True)
    for label, rule in (("Protect every pair", Complete()), ("Protect none", None)):
        row.button(label, on_click=lambda rule=rule: state.replace(policy=scenario.policy.with_rule(name, rule)))


def apply(change: Suggestion) -> None:
    st.session_state["policy:undo"] = (change, state.scenario().policy)
    state.replace(policy=change.policy)


def undo(before: Policy) -> None:
    state.replace(policy=before)


def named(name: str) -> str:
    return f"{name} · {words.rule(scenario.policy, name)}"


def labelled(name: str) -> str:
    """For buttons, which read Markdown."""
    return words.plain(named(name))


if st.session_state.get("policy:attribute") not in names:
    protected = [name for name in names if scenario.policy.edge_count(name)]
    st.session_state["policy:attribute"] = (protected or names)[0]

left, right = st.columns([2.4, 1], gap="large")
with left:
    st.markdown(
        "An **edge** joins two values that must stay hard to tell apart in anybody's record. Draw what to protect: the "
        "shorter the longest edge, the less noise it takes.",
        help="Blowfish privacy protects exactly the substitutions that a policy's edges list, one attribute at a time. "
        "The longest edge is the policy's *reach* r, in the distance that votes go by; the noise ratio is "
        "q = tanh(r / 2τ) at temperature τ.",
    )
    # Many attributes would fill the page with buttons; a list that can be searched holds any number.
    few = len(names) <= MOST_BUTTONS
    attribute = (partial(st.segmented_control, wrap=True) if few else st.selectbox)(
        "Attribute", names, key="policy:attribute", required=True, label_visibility="collapsed",
        format_func=labelled if few else named, persist_state="session",
    )  # fmt: skip
    state.show("policy", attribute=attribute)
    if scenario.domain[attribute].kind != "numeric" and len(scenario.domain[attribute].values) > MOST_CARDS:
        without_canvas(attribute)
    else:
        policy_canvas(
            scenario.policy, attribute, tau=scenario.tau, budget=scenario.budget, key=f"canvas:{attribute}",
            on_change=take,
        )  # fmt: skip
    state.bound(
        st.toggle, "Protect taking part at all (participation)", "participation",
        help="Adds the edges between being in the table and not: no sensitivity then falls below 1.",
    )  # fmt: skip
    warnings = words.warnings(scenario.policy, vote)
    if warnings:
        st.subheader("What it leaves open", anchor=False)
        for warning in warnings:
            st.markdown(f":orange-badge[:material/warning:] {warning}")

with right:
    bound = sensitivity_bound(scenario.policy, vote)
    st.subheader("What it buys and costs", anchor=False)
    st.markdown(words.what_it_buys(scenario.policy, vote, bound))
    st.markdown(words.what_it_costs(scenario))
    show_chart(st, charts.reach_bars(scenario.policy), charts.reach_text(scenario.policy))
    st.subheader("What it promises", anchor=False)
    st.markdown(words.across_an_edge(scenario.policy, vote, scenario.budget))
    st.markdown(words.whole_release(scenario.policy, vote, scenario.budget))

offered = suggestions(scenario.policy, vote)
applied = st.session_state.get("policy:undo")
undoable = applied is not None and applied[0].policy == scenario.policy
if offered or undoable:
    st.subheader(
        "Suggestions", anchor=False,
        help="Computed for this policy and this τ: what would lower the noise, and what could be promised for no more. "
        "What a change does to the quality of the synthesis, a pilot on public data tells.",
    )  # fmt: skip
if undoable:
    row = st.container(horizontal=True, vertical_alignment="center")
    row.markdown(f":material/check: Done. {words.plain(applied[0].action)}.", width="content")
    row.button("Undo", on_click=undo, args=(applied[1],), icon=":material/undo:", key="policy:undo:button")
across = 2 if len(offered) in (2, 4) else 3
for start in range(0, len(offered), across):
    for column, change in zip(st.columns(across), offered[start : start + across], strict=False):
        with column.container(border=True, height="stretch"):
            numbers = words.suggestion(change, scenario.policy, vote)
            st.markdown(f"**{words.plain(change.action)}**  \n{numbers}")
            st.caption(f"{words.plain(change.consequence)}.")
            # Its own name for each: who hears the page instead of seeing it meets the buttons without their cards.
            st.button(
                f"Apply: {words.plain(change.action)}", on_click=apply, args=(change,), type="tertiary",
                icon=":material/check:", key=f"policy:apply:{change.action}",
            )  # fmt: skip


@st.fragment
def protection_section() -> None:
    """The protection map; a fragment, so that another way to say it redraws these charts only."""
    st.subheader(
        "Protection map", anchor=False,
        help="An attacker knows everything about a person but this one value, sees the whole release, and guesses "
        "which of two values it was. 50 % right is guessing: nothing learnt.",
    )  # fmt: skip
    count = len(scenario.domain[attribute].values)
    if not 1 < count <= protection.MOST_VALUES:
        st.info(
            f"{words.plain(attribute)} has one value only: there is nothing to tell apart."
            if count < 2
            else f"{words.plain(attribute)} has {count:,} values, and a map takes at most {protection.MOST_VALUES:,}: "
            "give it a wider step on the page Data and domain."
        )
        return
    choices = st.container(horizontal=True, vertical_alignment="bottom", gap="large")
    measure = choices.segmented_control(
        "Say it as", [*protection.MEASURES], default="success", required=True, key="policy:measure",
        format_func=lambda key: protection.MEASURES[key].name, persist_state="session",
        help="The attacker's best guess, the pair's zCDP parameter ρ, or its exact ε at δ.",
    )  # fmt: skip
    by = choices.segmented_control(
        "Argued", [*protection.ARGUMENTS], default="best", required=True, key="policy:by",
        format_func=protection.ARGUMENTS.__getitem__, persist_state="session",
        help="By path: every edge of the policy between two values adds to what is learnt. By distance: close values "
        "vote alike, listed by the policy or not. Both hold, so the better one counts.",
    )  # fmt: skip
    state.show("policy", measure=measure, by=by)
    case = (scenario.policy, attribute, vote, scenario.budget, measure)
    map_column, comparison_column = st.columns([1.15, 1], gap="large")
    show_chart(map_column, protection.protection_map(*case, by), protection.protection_text(*case, by))
    show_chart(comparison_column, protection.comparison_chart(*case), protection.comparison_text(*case))


protection_section()
