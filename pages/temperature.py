"""Temperature: what does τ buy, and what does it cost?"""

from collections.abc import Callable, Hashable
from typing import Any

import pandas as pd
import streamlit as st

import bfsoft as bf
from bfsoft.errors import BFSoftError, BudgetError
from bfsoft.synthesis import random_candidates
from bfsoft.temperature import Drowning, drowning, round_noise, signal, temperatures, vote_profile
from bfsoft_explorer import shares, state, words
from bfsoft_explorer.charts import temperature as charts
from bfsoft_explorer.drawing import number_field, show_chart
from bfsoft_explorer.temperature_dial.streamlit_dial import temperature_dial

RANDOM = "random"
SOURCE, AT, MADE = "temperature:source", "temperature:round", "temperature:made"
# Evenly spaced in log τ, eight a decade: enough for curves this smooth, and quick even on the largest sample.
GRID = 25

scenario = state.scenario()
policy, budget, tau = scenario.policy, scenario.budget, scenario.tau


def made(name: str, key: Hashable, held: Any, make: Callable[..., Any], *given: Any) -> Any:
    """``make(*given)``, made anew only when its key changes; ``held`` keeps objects whose ids the key names."""
    store = st.session_state.setdefault(MADE, {})
    if name not in store or store[name][0] != key:
        store[name] = (key, held, make(*given))
    return store[name][2]


def last_synthesis() -> Any:
    """The last synthesis, where its candidates are records of the present domain; else None."""
    job = st.session_state.get("synthesis:job")
    if job is None or job.scenario.domain.attributes != scenario.domain.attributes:
        return None
    return job if all(job.rounds.values()) else None


def table() -> bf.Records | None:
    try:
        return state.records()
    except BFSoftError as error:
        st.error(str(error), icon=":material/error:")
        return None


def candidates(job: Any) -> tuple[bf.domain.Codes, int, Hashable]:
    """The candidates to vote on, the round they are of, and what tells them apart from others."""
    source = st.session_state.get(SOURCE, RANDOM)
    if job is not None and source in job.rounds:
        number = min(int(st.session_state.get(AT, 1)), len(job.rounds[source]))
        state.show("temperature", method=source, round=number)
        return job.rounds[source][number - 1].candidates, number, (source, number, id(job))
    state.show("temperature", method=None, round=1)
    return random_candidates(scenario.domain, scenario.size, scenario.seed), 1, (RANDOM, scenario.size, scenario.seed)


# ------------------------------------------------------------------ what every part needs

job, records = last_synthesis(), table()
chosen, number, told = candidates(job)
profile: pd.DataFrame | None = None
if records is not None and records.n:
    data = (scenario.data, id(state.own_table()), scenario.domain, told)
    held = (state.own_table(), job)
    with st.spinner("Voting at every temperature…"):
        curve = made("curve", data, held, vote_profile, records, chosen, temperatures(GRID))
        here = made("here", (data, tau), held, vote_profile, records, chosen, [tau])
    profile = pd.concat([curve, here]).drop_duplicates("tau").sort_values("tau", ignore_index=True)

temperature_dial(
    policy, tau, budget, scenario.rounds, scenario.shares, profile, key="temperature:dial",
    on_change=lambda let_go: state.replace(tau=let_go),
)  # fmt: skip


# ------------------------------------------------------------------ the signal


def show_signal() -> None:
    if records is None or profile is None:
        st.info(
            "There is no table to look at: open a sample in the menu *Scenario*, or bring one on the page *Synthesis*.",
            icon=":material/table_chart:",
        )
        return
    choose_candidates()
    rho = budget.split(scenario.rounds, scenario.shares)[min(number, scenario.rounds) - 1]
    signals = signal(profile, policy, rho)
    found = drowning(signals, policy)
    st.markdown(verdict(found, rho, records.n / len(chosen)))
    frame = made("histogram", (data, tau), held, charts.histogram_frame, records, chosen, tau)
    left, right = st.columns(2, gap="large")
    show_chart(left, charts.sharpness_chart(profile, tau), charts.sharpness_text(profile, tau))
    # Without noise nothing drowns, and the charts of it would be empty.
    noisy = found.hard_rho > 0
    place = left if noisy else right
    show_chart(place, charts.histogram_chart(frame, signals, tau), charts.histogram_text(signals, tau))
    if noisy:
        show_chart(right, charts.signal_chart(signals, policy, tau), charts.signal_text(signals, tau, found))
        show_chart(right, charts.error_chart(signals, policy, tau), charts.error_text(signals, tau, found))
    st.caption(
        "These numbers read the table exactly, without noise: look at them for public data only. They describe one "
        "round's votes, not how good the finished table is; run it on the page *Synthesis*."
    )


def choose_candidates() -> None:
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="large")
    sources = [RANDOM, *(job.rounds if job is not None else [])]
    if st.session_state.get(SOURCE) not in sources:
        st.session_state[SOURCE] = RANDOM
    row.segmented_control(
        "Candidates", sources, key=SOURCE, required=True, persist_state="session",
        format_func=lambda source: f"{scenario.size:,} at random" if source == RANDOM else f"last synthesis, {source}",
        help="What records vote for. A synthesis starts from random candidates; later rounds have better ones. "
        + ("" if job is not None else "Run a synthesis to choose its rounds here."),
    )  # fmt: skip
    source = st.session_state[SOURCE]
    if source != RANDOM and len(job.rounds[source]) > 1:
        st.session_state[AT] = number
        row.slider("Round", 1, len(job.rounds[source]), key=AT, width=260)


def verdict(found: Drowning, rho: float, votes: float) -> str:
    """Where each vote drowns, in plain words."""
    if found.hard_rho == 0:
        why = (
            "The policy has no edges"
            if policy.widest_edge is None
            else "Every joined attribute has weight 0, so votes do not look at it"
        )
        return f"{why}: no noise is added, and the hard vote loses nothing."
    total = found.hard_rho / rho * budget.rho
    hard = (
        f"**Noise drowns the hard vote** at any budget below ρ = {words.number(total)}: its σ is then larger than the "
        f"{charts.votes_of(votes)} of an average candidate"
    )
    hard += f" (now ρ = {words.number(budget.rho)}: {'drowned' if found.hard_drowned else 'above water'})."
    if found.smoothed_from is None:
        return f"{hard} At no temperature looked at does **smoothing drown the soft vote**."
    return (
        f"{hard} **Smoothing drowns the soft vote** above τ = {words.number(found.smoothed_from, 2)}: half of what "
        "tells candidates apart is gone."
    )


# ------------------------------------------------------------------ budget and rounds


def amount(place: Any, label: str, name: str, value: float, take: Callable[[float], None], help: str) -> None:
    """A number that shows one way to say the budget and, when set, changes the scenario."""
    key = f"temperature:{name}"
    st.session_state[key] = value

    def changed() -> None:
        given = st.session_state[key]
        if given is None:
            return
        try:
            take(float(given))
        except BFSoftError as error:
            state.notify(str(error))

    number_field(label, place, key=key, format="%.6g", on_change=changed, help=help)


def show_budget() -> None:
    st.markdown("Set any one of these; the others follow.")
    row = st.columns(5, gap="medium")
    amount(
        row[0], "ρ (zCDP), all rounds", "rho", budget.rho, lambda rho: state.replace(rho=rho),
        "Zero-concentrated differential privacy: what the noise is computed from. It adds up over rounds.",
    )  # fmt: skip
    amount(
        row[1], "ε, exact", "epsilon", budget.epsilon, lambda epsilon: state.replace(epsilon=epsilon),
        "The ε of these Gaussian releases at δ, with nothing lost in conversion. What to quote.",
    )  # fmt: skip
    amount(
        row[2], "ε by the paper's formula", "epsilon_zcdp", budget.epsilon_zcdp,
        lambda epsilon: state.replace(rho=bf.Budget.of_epsilon_zcdp(epsilon, budget.delta).rho),
        "ρ + 2√(ρ ln 1/δ): true of any ρ-zCDP mechanism, so never below the exact ε. To compare with the paper.",
    )  # fmt: skip
    amount(
        row[3], "δ", "delta", budget.delta, lambda delta: state.replace(delta=delta),
        "The probability that ε's promise may fail; well below one over the number of records. Changing it keeps "
        f"{'ρ' if scenario.rho is not None else 'the exact ε'}, which was set.",
    )  # fmt: skip
    amount(
        row[4], "Attacker's success (%)", "success", 100 * budget.success,
        lambda percent: state.replace(rho=bf.Budget.of_success(percent / 100).rho),
        "An attacker knows all else, sees the whole release and guesses which of two neighbouring values a person has: "
        "at best so often right. 50 % is guessing.",
    )  # fmt: skip
    parts = st.columns([1, 2.2, 1.6], gap="medium", vertical_alignment="bottom")
    with parts[0]:
        state.bound(
            number_field, "Rounds", "rounds", min_value=1, max_value=1_000, step=1,
            also=lambda rounds: {"shares": shares.for_rounds(state.scenario().shares, rounds)},
            help="Each round of a synthesis spends a part of ρ; more rounds mean more noise in each.",
        )  # fmt: skip
    shares_key = "temperature:shares"
    st.session_state[shares_key] = shares.written(scenario.shares or (1.0,) * scenario.rounds)
    parts[1].text_input(
        "Shares of ρ, one number a round", key=shares_key, on_change=take_shares,
        help="Any positive numbers, separated by commas or spaces; only their proportions count. 1, 2, 3 gives the "
        "third round half of the budget.",
    )  # fmt: skip
    buttons = parts[2].container(horizontal=True)
    buttons.button("Equal", on_click=state.replace, kwargs={"shares": None})
    buttons.button(
        "Rising", on_click=state.replace, kwargs={"shares": shares.made("rising", scenario.rounds)}, help="1, 2, 3, …"
    )
    buttons.button(
        "Falling", on_click=state.replace, kwargs={"shares": shares.made("falling", scenario.rounds)}, help="…, 3, 2, 1"
    )
    given = (policy, tau, budget, scenario.rounds, scenario.shares)
    left, right = st.columns(2, gap="large")
    show_chart(left, charts.rounds_chart(*given), charts.rounds_text(*given))
    show_chart(right, charts.epsilon_chart(budget), charts.epsilon_text(budget))
    with left.expander("σ of every round, as a table"):
        st.dataframe(
            round_noise(*given), hide_index=True,
            column_config={
                "round": "Round",
                "share": st.column_config.NumberColumn("Share of ρ", format="percent"),
                "rho": st.column_config.NumberColumn("ρ", format="%.6g"),
                "sigma_soft": st.column_config.NumberColumn("σ BF-Soft (votes)", format="%.6g"),
                "sigma_hard": st.column_config.NumberColumn("σ Hard (votes)", format="%.6g"),
            },
        )  # fmt: skip


def take_shares() -> None:
    text = st.session_state["temperature:shares"]
    if not text.strip():
        state.replace(shares=None)
        return
    try:
        given = shares.parse(text)
    except BudgetError as error:
        state.notify(str(error))
        return
    # As many rounds as shares: who types three numbers wants three rounds.
    state.replace(rounds=len(given), shares=None if shares.pattern(given) == "equal" else given)


# ------------------------------------------------------------------ matched noise


def why_tau(policy: bf.Policy) -> str:
    return (
        "The present τ for this policy; for another reach the least one, since under participation's floor any hotter "
        "one has that q too."
        if policy.participation
        else "The one temperature at which that reach needs this policy's noise."
    )


def show_matched() -> None:
    left, right = st.columns([1.15, 1], gap="large")
    show_chart(left, charts.matched_chart(policy, tau), charts.matched_text(policy, tau))
    with right:
        st.markdown(
            "**The same q does not mean the same result.** The noise depends on r and τ only through "
            "q = tanh(r / 2τ): twice the reach at twice the temperature needs the same noise. But a vote is flattened "
            "by τ alone. A policy of longer reach pays for equal noise with blunter votes."
        )
        points = charts.matched_points(policy, tau)
        if policy.participation:
            st.info(
                "With participation protected q never falls below 0.707: in the grey area all pairs need that same "
                "noise, and a higher temperature only blunts the votes."
            )
        if points.empty:
            return
        named = {"record": "this policy", "ceiling": "any edge of {}"}
        shown = points[["name", "reach", "tau"]].assign(
            name=[
                named.get(row.kind, "{}").format(row.name) for row in points[["kind", "name"]].itertuples(index=False)
            ]
        )
        config: dict[str, Any] = {
            "name": "Reach of",
            "reach": st.column_config.NumberColumn("Reach", format="%.4g"),
            "tau": st.column_config.NumberColumn("τ for this q", format="%.4g", help=why_tau(policy)),
        }
        if records is not None and profile is not None:
            at = made("matched", (data, *points["tau"]), held, vote_profile, records, chosen, points["tau"])
            shown = shown.assign(top=100 * at["top_share"], moved=100 * at["moved"])
            config["top"] = st.column_config.NumberColumn(
                "Top share",
                format="%.1f %%",
                help="Largest share of a vote, averaged over records; smaller is blunter.",
            )
            config["moved"] = st.column_config.NumberColumn(
                "Moved", format="%.1f %%", help="Share of all votes that softness hands to other candidates."
            )
        st.dataframe(shown, hide_index=True, column_config=config)


PARTS = {"What it does to the signal": show_signal, "Budget and rounds": show_budget, "Matched noise": show_matched}
for tab, show in zip(st.tabs([*PARTS], key="temperature:part", on_change="rerun"), PARTS.values(), strict=True):
    if tab.open:
        with tab:
            show()
