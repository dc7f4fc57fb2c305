"""Synthesis: run Hard and BF-Soft side by side, and watch them."""

import pandas as pd
import streamlit as st

import bfsoft as bf
from bfsoft.errors import BFSoftError
from bfsoft_explorer import state, words
from bfsoft_explorer.charts import synthesis as charts
from bfsoft_explorer.jobs import Comparison

JOB = "synthesis:job"
scenario = state.scenario()
job: Comparison | None = st.session_state.get(JOB)
running = job is not None and job.running


def run() -> None:
    if JOB in st.session_state and st.session_state[JOB].running:
        return  # a double click
    try:
        records = state.records()
    except BFSoftError as error:
        state.notify(str(error))
        return
    if records is None:
        state.notify("There is no table to run on: choose a sample, or bring a table that fits the domain.")
        return
    now = state.scenario()
    methods = [bf.hard(), bf.bf_soft(now.tau)] + ([bf.tab_pe()] if st.session_state.get("synthesis:tab_pe") else [])
    st.session_state[JOB] = Comparison(now, records, methods).start()
    # Small runs are over at once; showing them whole saves a flicker.
    st.session_state[JOB].wait(0.3)


def stop() -> None:
    st.session_state[JOB].stop()


def bring_table() -> None:
    upload = st.session_state.get("synthesis:table")
    if upload is None:
        state.keep_table(None)
        return
    domain = state.scenario().domain
    try:
        frame = bf.read_table(upload, domain)
        unknown = "clip" if st.session_state.get("synthesis:clip") else "error"
        state.keep_table(bf.Records.of_frame(domain, frame, unknown))
    except BFSoftError as error:
        state.notify(f"{upload.name}: {error}")


def controls() -> None:
    with st.expander("Data", expanded=state.own_table() is None and state.scenario().data is None):
        st.file_uploader(
            "A *public* table that fits the domain (CSV or Parquet)", type=["csv", "gz", "tsv", "txt", "parquet"],
            key="synthesis:table", on_change=bring_table,
            help="It stays in memory for this session only: never on disk, never in the link.",
        )  # fmt: skip
        st.toggle("Move numbers outside the grid to the nearest value", key="synthesis:clip", on_change=bring_table)
    by = st.segmented_control(
        "Budget", ["ρ", "ε"], key="synthesis:by", default="ρ", required=True,
        help="ρ is the total zCDP budget of all rounds. ε is exact at δ; smaller is more private.",
    )  # fmt: skip
    if by == "ρ":
        state.bound(
            st.number_input, "ρ", "rho", min_value=1e-9, max_value=1e6, format="%g", step=None,
            to_widget=lambda rho: rho if rho is not None else scenario.budget.rho, label_visibility="collapsed",
        )  # fmt: skip
    else:
        state.bound(
            st.number_input, "ε", "epsilon", min_value=1e-6, max_value=1e4, format="%g", step=None,
            to_widget=lambda epsilon: epsilon if epsilon is not None else scenario.budget.epsilon,
            label_visibility="collapsed",
        )  # fmt: skip
    state.bound(
        st.number_input, "Temperature τ", "tau", min_value=1e-6, max_value=1e3, format="%g", step=None,
        help="Of BF-Soft's vote, in units of distance: higher needs less noise and smooths more.",
    )  # fmt: skip
    state.bound(
        st.number_input, "Records to make (m)", "size", min_value=1, max_value=20_000, step=64,
        help="Also the number of candidates in every round.",
    )  # fmt: skip
    state.bound(st.number_input, "Rounds", "rounds", min_value=1, max_value=200, step=1)
    state.bound(
        st.number_input, "Seed", "seed", min_value=0, max_value=2**31 - 1, step=1,
        help="All methods share it: same first candidates, same noise draws.",
    )  # fmt: skip
    with st.expander("More settings"):
        state.bound(st.selectbox, "Resampling", "resampling", options=["systematic", "multinomial"])
        state.bound(
            st.selectbox, "Mutation of hierarchical values", "mutation", options=["uniform", "near"],
            format_func={"uniform": "any leaf alike", "near": "near leaves first"}.__getitem__,
        )  # fmt: skip
        state.bound(
            st.number_input, "Threshold H", "threshold", min_value=0.0, max_value=1e9, format="%g", step=None,
            help="Subtracted from every noisy vote before clipping at 0.",
        )  # fmt: skip
        st.toggle("Also run Tab-PE (hard vote, standard DP)", key="synthesis:tab_pe", persist_state="session")


@st.fragment(run_every=0.25 if running else None)
def progress() -> None:
    assert job is not None
    st.progress(job.progress, text=f"{job.progress:.0%} of the rounds done")
    if job.running:
        show(job)
    else:
        st.rerun()


def show(done: Comparison) -> None:
    if done.failure:
        st.error(done.failure, icon=":material/error:")
    if not all(done.rounds.values()):
        return
    if done.scenario != state.scenario() and not done.running:
        st.info("Settings have changed since this run; press Run to see their effect.", icon=":material/history:")
    if done.stopped:
        st.warning(f"Stopped after round {len(done.rounds['Hard'])} of {done.scenario.rounds}; these are its results.")
    names, completed = list(done.scenario.domain.names), min(map(len, done.rounds.values()))
    k, attribute, at = view_controls(done, names, completed)
    errors = done.error_frame(k)
    tables = {name: rounds[at - 1].selected for name, rounds in done.rounds.items()}
    marginals = charts.marginal_frame(done.fidelity, attribute, tables)
    numeric = done.scenario.domain[attribute].kind == "numeric"
    left, right = st.columns(2, gap="large")
    left.altair_chart(charts.error_curves(errors, done.scenario.rounds), alt=charts.error_text(errors))
    right.altair_chart(
        charts.marginal_chart(marginals, attribute, numeric), alt=charts.marginal_text(marginals, attribute)
    )
    for column, (name, rounds) in zip(st.columns(len(done.rounds), gap="large"), done.rounds.items(), strict=True):
        each = rounds[at - 1]
        column.altair_chart(charts.vote_chart(name, each), alt=charts.vote_text(name, each))
    if not done.running:
        downloads(done)


def view_controls(done: Comparison, names: list[str], completed: int) -> tuple[int, str, int]:
    """What to look at: the order of marginals, an attribute, and after which round."""
    orders = sorted({row["k"] for row in done.errors})
    if st.session_state.get("synthesis:attribute") not in names:
        st.session_state["synthesis:attribute"] = names[0]
    first, second, third = st.columns([1.5, 1, 1.5], gap="medium")
    k = first.segmented_control(
        "Error over", orders, default=min(2, orders[-1]), required=True, key="synthesis:k", persist_state="session",
        format_func=lambda k: f"{k}-way marginals" if k > 1 else "attributes",
        help="Mean total variation between data and synthetic table over all marginals of so many attributes: "
        "0 is equality, 1 is nothing in common.",
    )  # fmt: skip
    attribute = second.selectbox("Attribute", names, key="synthesis:attribute", persist_state="session")
    if completed < 2 or done.running:
        return k, attribute, completed
    # Another run may have fewer rounds; the key carries their number so that the slider starts at the last.
    at = third.slider("After round", 1, completed, completed, key=f"synthesis:at:{id(done)}")
    return k, attribute, at


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


left, right = st.columns([1, 4.2], gap="large")
with left:
    buttons = st.container(horizontal=True)
    buttons.button("Run", on_click=run, type="primary", icon=":material/play_arrow:", disabled=running)
    if running:
        buttons.button("Stop", on_click=stop, icon=":material/stop:")
    controls()
with right:
    if running:
        progress()
    elif job is not None:
        show(job)
    else:
        bound = scenario.sensitivity
        st.subheader("Hard and BF-Soft, same data, same seed", anchor=False)
        st.markdown(
            f"Press **Run**: {scenario.rounds} rounds make {scenario.size:,} records twice, once with the hard vote "
            f"and once with the soft one. Under this policy BF-Soft adds {words.number(bound.ratio)} times the noise."
        )
