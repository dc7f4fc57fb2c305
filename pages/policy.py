"""Policy: what may be confused with what?"""

import streamlit as st

from bfsoft import SoftVote, sensitivity_bound
from bfsoft_explorer import state, words
from bfsoft_explorer.canvas.streamlit_canvas import CanvasResult, policy_canvas
from bfsoft_explorer.charts import policy as charts

scenario = state.scenario()
names = list(scenario.domain.names)


def take(result: CanvasResult) -> None:
    state.replace(policy=result.policy, tau=result.tau)


if st.session_state.get("policy:attribute") not in names:
    protected = [name for name in names if scenario.policy.edge_count(name)]
    st.session_state["policy:attribute"] = (protected or names)[0]

left, right = st.columns([2.4, 1], gap="large")
with left:
    attribute = st.segmented_control(
        "Attribute", names, key="policy:attribute", required=True, label_visibility="collapsed",
        format_func=lambda name: f"{name} · {words.rule(scenario.policy, name)}",
    )  # fmt: skip
    policy_canvas(
        scenario.policy, attribute, tau=scenario.tau, budget=scenario.budget, key=f"canvas:{attribute}", on_change=take
    )

with right:
    vote = SoftVote(scenario.tau)
    bound = sensitivity_bound(scenario.policy, vote)
    st.subheader("What this policy buys", anchor=False)
    st.markdown(words.what_it_buys(scenario.policy, vote, bound))
    st.altair_chart(charts.reach_bars(scenario.policy), alt=charts.reach_text(scenario.policy))
    st.subheader("What it promises", anchor=False)
    st.markdown(words.whole_release(scenario.policy, vote, scenario.budget))
    warnings = words.warnings(scenario.policy, vote)
    if warnings:
        st.subheader("What it leaves open", anchor=False)
        for warning in warnings:
            st.markdown(f":orange-badge[:material/warning:] {warning}")
    state.bound(
        st.toggle, "Protect taking part at all (participation)", "participation",
        help="Adds the edges between being in the table and not: no sensitivity then falls below 1.",
    )  # fmt: skip
