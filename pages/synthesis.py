"""Synthesis: run the methods side by side, watch them, and repeat them until a difference can be told from chance."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

import bfsoft as bf
from bfsoft.errors import BFSoftError
from bfsoft_explorer import shares, state, words
from bfsoft_explorer.charts import experiments
from bfsoft_explorer.charts import synthesis as charts
from bfsoft_explorer.data_choice import choose_data
from bfsoft_explorer.drawing import number_field, show_chart
from bfsoft_explorer.jobs import Comparison, RepeatAsked, Repeats, orders

JOB, REPEATS, METHODS = "synthesis:job", "synthesis:repeats", "synthesis:methods"
SECTION, ORDER, ATTRIBUTE, AT = "synthesis:section", "synthesis:k", "synthesis:attribute", "synthesis:at"
ACROSS, DOWN, SEEDS = "synthesis:across", "synthesis:down", "synthesis:seeds"
SECTIONS = ["Comparison", "Votes", "Two attributes", "Candidates moving", "Over seeds"]
FIRST = ["Hard", "BF-Soft"]
FEW_SEEDS = 8
MAKES = {"Hard": lambda tau: bf.hard(), "BF-Soft": bf.bf_soft, "Tab-PE": lambda tau: bf.tab_pe()}
WHAT = {
    "Hard": "one vote a record, noise by the policy",
    "BF-Soft": "votes shared out at τ, noise by the policy",
    "Tab-PE": "one vote a record, noise of standard DP",
}

scenario = state.scenario()
job: Comparison | None = st.session_state.get(JOB)
repeats: Repeats | None = st.session_state.get(REPEATS)
running = job is not None and job.running
repeating = repeats is not None and repeats.running


def methods() -> list[bf.Method]:
    chosen = st.session_state.get(METHODS, FIRST)
    return [make(state.scenario().tau) for name, make in MAKES.items() if name in chosen]


def table() -> bf.Records | None:
    """The records to run on; where there are none, a notice says what to do."""
    try:
        records = state.records()
    except BFSoftError as error:
        state.notify(str(error))
        return None
    if records is None:
        state.notify("There is no table to run on: choose a sample, or bring a table that fits the domain.")
    return records


def run() -> None:
    if JOB in st.session_state and st.session_state[JOB].running:
        return  # a double click
    records = table()
    if records is None:
        return
    st.session_state[JOB] = Comparison(state.scenario(), records, methods()).start()
    st.session_state.pop(AT, None)
    # Small runs are over at once; showing them whole saves a flicker.
    st.session_state[JOB].wait(0.3)


def stop() -> None:
    st.session_state[JOB].stop()


def repeat() -> None:
    if REPEATS in st.session_state and st.session_state[REPEATS].running:
        return
    records = table()
    if records is None:
        return
    now = state.scenario()
    seeds = range(now.seed, now.seed + st.session_state.get(SEEDS, FEW_SEEDS))
    st.session_state[REPEATS] = Repeats(RepeatAsked(now, tuple(methods()), tuple(seeds)), records)
    st.session_state[REPEATS].wait(0.3)


# ------------------------------------------------------------------ settings


def controls() -> None:
    choose_data("synthesis")
    st.pills(
        "Methods", [*MAKES], selection_mode="multi", default=FIRST, key=METHODS,
        persist_state="session", help="\n\n".join(f"**{name}**: {what}." for name, what in WHAT.items()),
    )  # fmt: skip
    if not methods():
        st.caption(":material/arrow_upward: Choose at least one method to run.")
    state.show("synthesis", methods=[method.name for method in methods()])
    row = st.columns([1.25, 1], gap="small", vertical_alignment="bottom")
    by = row[0].segmented_control(
        "Budget", ["ρ", "ε"], key="synthesis:by", default="ρ", required=True, persist_state="session",
        help="ρ is the total zCDP budget of all rounds. ε is exact at δ; smaller is more private.",
    )  # fmt: skip
    with row[1]:
        if by == "ρ":
            state.bound(
                number_field, "ρ", "rho", min_value=1e-9, max_value=1e6, format="%.4g",
                to_widget=lambda rho: rho if rho is not None else scenario.budget.rho, label_visibility="collapsed",
            )  # fmt: skip
        else:
            state.bound(
                number_field, "ε", "epsilon", min_value=1e-6, max_value=1e4, format="%.4g",
                to_widget=lambda epsilon: epsilon if epsilon is not None else scenario.budget.epsilon,
                label_visibility="collapsed",
            )  # fmt: skip
    state.bound(
        number_field, "Temperature τ", "tau", min_value=1e-6, max_value=1e3, format="%g",
        help="Of BF-Soft's vote, in units of distance: higher needs less noise and smooths more.",
    )  # fmt: skip
    state.bound(
        number_field, "Records to make (m)", "size", min_value=1, max_value=20_000, step=64,
        help="Also the number of candidates in every round.",
    )  # fmt: skip
    row = st.columns(2, gap="small")
    with row[0]:
        rounds_control()
    with row[1]:
        state.bound(
            number_field, "Seed", "seed", min_value=0, max_value=2**31 - 1, step=1,
            help="All methods share it: same first candidates, same noise draws.",
        )  # fmt: skip
    with st.expander("More settings"):
        shares_control()
        state.bound(
            number_field, "Threshold H", "threshold", min_value=0.0, max_value=1e9, format="%g",
            help="Subtracted from every noisy vote before clipping at 0, in records. 0 leaves votes as they are.",
        )  # fmt: skip
        state.bound(
            st.selectbox, "Resampling", "resampling", options=["systematic", "multinomial"],
            help="How candidates are drawn by their votes. Systematic: each as often as expected, rounded up or down. "
            "Multinomial: independent draws, which adds chance.",
        )  # fmt: skip
        state.bound(
            st.selectbox, "Mutation of hierarchical values", "mutation", options=["uniform", "near"],
            format_func={"uniform": "any leaf alike", "near": "near leaves first"}.__getitem__,
        )  # fmt: skip


def rounds_control() -> None:
    state.bound(
        number_field, "Rounds", "rounds", min_value=1, max_value=200, step=1,
        also=lambda rounds: {"shares": shares.for_rounds(state.scenario().shares, rounds)},
    )  # fmt: skip


def shares_control() -> None:
    now = "own" if st.session_state.get("synthesis:typing") else shares.pattern(scenario.shares)
    st.session_state["synthesis:pattern"] = now
    names = {"equal": "Equal", "rising": "Rising", "falling": "Falling", "own": "Own"}
    st.segmented_control(
        "Budget by round", shares.PATTERNS, format_func=names.__getitem__, key="synthesis:pattern", required=True,
        on_change=take_pattern, help="How rounds share the budget. Rising: 1, 2, 3, … parts.",
    )  # fmt: skip
    if now == "own":
        given = scenario.shares or (1.0,) * scenario.rounds
        st.session_state["synthesis:shares"] = shares.written(given)
        st.text_input(
            "Parts, one a round", key="synthesis:shares", on_change=take_shares,
            help="Numbers above 0 separated by commas; as many rounds as numbers.",
        )  # fmt: skip


def take_pattern() -> None:
    chosen = st.session_state["synthesis:pattern"]
    st.session_state["synthesis:typing"] = chosen == "own"
    if chosen != "own":
        state.replace(shares=shares.made(chosen, state.scenario().rounds))


def take_shares() -> None:
    try:
        given = shares.parse(st.session_state["synthesis:shares"])
    except BFSoftError as error:
        state.notify(str(error))
        return
    state.replace(rounds=len(given), shares=given)


# ------------------------------------------------------------------ what a run shows


@st.fragment(run_every=0.3 if running or repeating else None)
def live() -> None:
    # The page as a whole knows only when it was drawn; the end of a run is seen here, and draws it anew.
    over = (running and job is not None and not job.running) or (
        repeating and repeats is not None and not repeats.running
    )
    if over:
        st.rerun()
    show()


def show() -> None:
    if job is not None and running:
        st.progress(job.progress, text=f"{job.progress:.0%} of the rounds done")
    if job is not None and job.failure:
        st.error(job.failure, icon=":material/error:")
    headline()
    section = st.segmented_control(
        "Look at", SECTIONS, default=SECTIONS[0], required=True, key=SECTION, persist_state="session",
        label_visibility="collapsed",
    )  # fmt: skip
    state.show("synthesis", section=section)
    if section == SECTIONS[4]:
        over_seeds()
    elif job is None or not job.completed:
        waiting()
    else:
        done = job
        if done.stopped:
            st.warning(f"Stopped after round {done.completed} of {done.scenario.rounds}; these are its results.")
        {SECTIONS[0]: comparison, SECTIONS[1]: votes, SECTIONS[2]: two_attributes, SECTIONS[3]: moving}[section](done)


def waiting() -> None:
    if running:
        return
    q = bf.sensitivity_bound(scenario.policy, bf.SoftVote(scenario.tau)).ratio
    chosen = [method.name for method in methods()]
    if not chosen:
        st.info("Choose at least one method on the left.", icon=":material/arrow_back:")
        return
    st.subheader(f"{' and '.join(chosen)}, same data, same seed", anchor=False)
    st.markdown(
        f"Press **Run**: {words.counted(scenario.rounds, 'round')} of voting and "
        f"{words.counted(scenario.size, 'record')} made by every method. Records vote for candidates, noise is added "
        "to the votes, and the winners mutate. Under this policy BF-Soft adds "
        f"**{words.number(q)}** times Hard's noise; whether that makes a better table, the run shows."
    )


def headline() -> None:
    """The finding above everything: over seeds where there are some, else of this one seed."""
    now = state.scenario()
    if repeats is not None and repeats.done and repeats.asked.scenario == now:
        said = experiments.findings(experiments.measured(repeats.frame, order(orders(repeats.asked.scenario.policy))))
        st.markdown("  \n".join(f"**{text}.**" for text in said))
    elif job is not None and job.completed and not running:
        errors = job.error_frame(order(orders(job.scenario.policy)))
        many = len(job.methods) > 1
        st.markdown(
            f"**{charts.error_text(errors)}** at seed {job.scenario.seed}. "
            + (
                "One seed proves little: look *over seeds* before believing a difference. *Pilot* forecasts at which "
                "budget and temperature softness pays."
                if many
                else ""
            )
        )
    if job is not None and not job.running and job.completed and job.scenario != now:
        st.info("Settings have changed since this run; press Run to see their effect.", icon=":material/history:")


def order(given: list[int]) -> int:
    """The order of marginals that errors are shown over: the one chosen, where the domain has it."""
    chosen = st.session_state.get(ORDER)
    return chosen if chosen in given else min(2, given[-1])


def order_control(place: Any, given: list[int]) -> int:
    st.session_state[ORDER] = order(given)
    k = place.segmented_control(
        "Error over", given, required=True, key=ORDER, persist_state="session",
        format_func=lambda k: f"{k}-way marginals" if k > 1 else "attributes",
        help="Mean total variation between data and synthetic table over all marginals of so many attributes: "
        "0 is equality, 1 is nothing in common.",
    )  # fmt: skip
    state.show("synthesis", k=k)
    return k


def round_control(place: Any, done: Comparison) -> int:
    """The round to look at: the last until another is chosen."""
    last = done.completed
    if last < 2 or done.running:
        return last
    at = st.session_state.get(AT)
    st.session_state[AT] = at if at is not None and 1 <= at <= last else last
    at = place.slider("After round", 1, last, key=AT, persist_state="session")
    state.show("synthesis", at=at)
    return at


def attribute_control(place: Any, label: str, key: str, names: list[str], first: int) -> str:
    if st.session_state.get(key) not in names:
        st.session_state[key] = names[min(first, len(names) - 1)]
    return place.selectbox(label, names, key=key, persist_state="session")


def plane_controls(place: list[Any], names: list[str]) -> tuple[str, str]:
    across = attribute_control(place[0], "Across", ACROSS, names, 0)
    down = attribute_control(place[1], "Down", DOWN, [name for name in names if name != across] or names, 0)
    state.show("synthesis", across=across, down=down)
    return across, down


def comparison(done: Comparison) -> None:
    row = st.columns([1.6, 1, 1.4], gap="medium")
    names = list(done.scenario.domain.names)
    k = order_control(row[0], orders(done.scenario.policy))
    attribute = attribute_control(row[1], "Attribute", ATTRIBUTE, names, 0)
    state.show("synthesis", attribute=attribute)
    at = round_control(row[2], done)
    errors = done.error_frame(k)
    errors = errors[errors["round"] <= done.completed]
    tables = {name: rounds[at - 1].selected for name, rounds in done.rounds.items()}
    marginals = charts.marginal_frame(done.fidelity, attribute, tables)
    numeric = done.scenario.domain[attribute].kind == "numeric"
    left, right = st.columns(2, gap="large")
    rounds = done.scenario.rounds
    show_chart(left, charts.error_curves(errors, rounds), charts.error_text(errors, rounds))
    show_chart(right, charts.marginal_chart(marginals, attribute, numeric), charts.marginal_text(marginals, attribute))
    if not done.running:
        downloads(done)


def votes(done: Comparison) -> None:
    at = round_control(st.columns([1, 2])[0], done)
    rounds = {name: own[at - 1] for name, own in done.rounds.items()}
    span = charts.vote_span([*rounds.values()])
    for column, (name, each) in zip(st.columns(len(rounds), gap="medium"), rounds.items(), strict=True):
        show_chart(column, charts.vote_chart(name, each, span), charts.vote_text(name, each))
    st.caption(
        "Each dot is a candidate. Where the line is inside the band, noise decides who is chosen; all charts share one "
        "axis. A soft vote spreads a record's vote over near candidates, so its line is flatter and its band narrower."
    )


def two_attributes(done: Comparison) -> None:
    row = st.columns([1, 1, 1.6], gap="medium")
    names = list(done.scenario.domain.names)
    across, down = plane_controls(row, names)
    at = round_control(row[2], done)
    frame = charts.pair_frame(
        done.records, across, down, {name: rounds[at - 1].selected for name, rounds in done.rounds.items()}
    )
    st.markdown(f"**{words.plain(charts.pair_text(frame, across, down))}**")
    sources = [*dict.fromkeys(frame["source"])]
    for column, source in zip(st.columns(len(sources), gap="small"), sources, strict=True):
        shares_of_both = f"{source}: shares of {across} and {down} together"
        show_chart(column, charts.pair_chart(frame, source, across, down), shares_of_both)
    st.caption(
        "Darker or brighter: more records, on the same scale in every map (square root, so that rare cells show)."
    )


def moving(done: Comparison) -> None:
    row = st.columns([1, 1, 1.6], gap="medium", vertical_alignment="bottom")
    across, down = plane_controls(row, list(done.scenario.domain.names))
    rounds = {name: own[: done.completed] for name, own in done.rounds.items()}
    figure = charts.moves_figure(done.records, rounds, across, down, moving=not done.running)
    last = charts.pair_frame(done.records, across, down, {name: own[-1].selected for name, own in rounds.items()})
    st.plotly_chart(
        figure, key="synthesis:moves", config={"displayModeBar": False}, alt=charts.pair_text(last, across, down)
    )
    st.caption(
        "Grey: where the data is. A candidate is as large as its noisy vote; chosen ones are copied, then mutate. "
        "Points are spread a little within a value, and of many only some are drawn."
    )


def downloads(done: Comparison) -> None:
    row = st.container(horizontal=True)
    for name in done.rounds:
        made = done.run(name)
        row.download_button(
            f"{name}'s table", made.records.to_csv(index=False), f"synthetic-{name.lower()}.csv", "text/csv",
            icon=":material/download:", on_click="ignore",
        )  # fmt: skip
    row.download_button(
        "Settings (YAML)", done.scenario.dumps(), "scenario.yaml", "application/yaml", icon=":material/settings:",
        on_click="ignore",
    )  # fmt: skip
    row.download_button(
        "Errors (CSV)", pd.DataFrame(done.errors).to_csv(index=False), "errors.csv", "text/csv",
        icon=":material/monitoring:", on_click="ignore",
    )  # fmt: skip
    st.caption("A simulation on public data with repeatable noise: good for study, no protection for private records.")


# ------------------------------------------------------------------ over seeds


def take_seeds(field: str) -> None:
    if st.session_state[field] is not None:
        st.session_state[SEEDS] = st.session_state[field]


def over_seeds() -> None:
    row = st.columns([2.3, 0.8, 1.2, 1.2], gap="small", vertical_alignment="bottom")
    k = order_control(row[0], orders((repeats.asked.scenario if repeats is not None else scenario).policy))
    field = f"{SEEDS}:field"
    st.session_state[field] = st.session_state.setdefault(SEEDS, FEW_SEEDS)
    number_field(
        "Seeds", row[1], min_value=2, max_value=500, step=1, key=field, on_change=take_seeds, args=(field,),
        help="How many runs of each method, at the seed set on the left and those after it.",
    )  # fmt: skip
    state.show("synthesis", seeds=st.session_state[SEEDS])
    if row[2].button(
        "Repeat over seeds",
        icon=":material/replay:",
        disabled=repeating or not methods(),
        type="primary",
        width="stretch",
    ):
        repeat()
        st.rerun()  # all of the page: this part knows only what the page knew when it was drawn
    if repeats is None:
        st.markdown(
            "One seed is one throw of the dice. This repeats every method at several seeds, the same for each, and "
            "says how large the difference is and how sure one can be of it."
        )
        return
    if repeats.running:
        row[3].button("Stop repeating", on_click=repeats.stop, icon=":material/stop:", width="stretch")
        left = repeats.remaining
        rest = "" if left is None else f" · about {max(1, round(left))} s left"
        st.progress(min(repeats.progress, 1.0), text=f"{repeats.done} of {len(repeats.asked.seeds)} seeds done{rest}")
    if repeats.failure:
        st.error(repeats.failure, icon=":material/error:")
    if repeats.stopped:
        st.warning(f"Stopped with {repeats.done} of {len(repeats.asked.seeds)} seeds done; these are their results.")
    if not repeats.running and repeats.asked.scenario != state.scenario():
        st.info("Settings have changed since; repeat to see their effect.", icon=":material/history:")
    if not repeats.done:
        return
    runs = experiments.measured(repeats.frame, k)
    left, right = st.columns(2, gap="large")
    show_chart(left, experiments.seeds_chart(runs), experiments.seeds_text(runs))
    if runs["method"].nunique() > 1:
        show_chart(right, experiments.gains_chart(runs), ". ".join(experiments.findings(runs)))
    if not repeats.running:
        st.container(horizontal=True).download_button(
            "Results (CSV)", repeats.frame.to_csv(index=False), "results.csv", "text/csv",
            icon=":material/monitoring:", on_click="ignore",
        )  # fmt: skip
    st.caption(
        "Intervals are 95 % t intervals over seeds; methods are compared at equal seeds, which share first candidates "
        "and noise draws. They say how sure the mean is on this table, not on another."
    )


left, right = st.columns([1, 4.2], gap="large")
with left:
    buttons = st.container(horizontal=True)
    none = not methods()
    buttons.button(
        "Run", on_click=run, type="primary", icon=":material/play_arrow:", disabled=running or none,
        help="Choose at least one method." if none else None,
    )  # fmt: skip
    if running:
        buttons.button("Stop", on_click=stop, icon=":material/stop:")
    controls()
with right:
    live()
