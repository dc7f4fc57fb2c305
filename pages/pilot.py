"""Pilot: will softness help here? A forecast from public data, over temperature and budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

import bfsoft as bf
from bfsoft.errors import BFSoftError
from bfsoft.experiments import Pilot
from bfsoft_explorer import state, words
from bfsoft_explorer.charts import experiments as charts
from bfsoft_explorer.data_choice import choose_data
from bfsoft_explorer.drawing import number_field, show_chart
from bfsoft_explorer.jobs import FEW_SEEDS, Forecast, PilotAsked, order, orders, small_grid

JOB, VIEW = "pilot:job", "pilot:view"
MOST = 12
ONLY_LIKE = (
    "A pilot holds only for private data like the public table. Nothing here can tell whether yours is: a table from "
    "another year, place or population may give another answer."
)

scenario = state.scenario()


def fresh_view() -> dict[str, Any]:
    """Where the page starts on a domain: a small grid around the scenario's τ and ρ."""
    taus, rhos = small_grid(scenario)
    return {
        "attributes": scenario.domain.attributes, "private": None, "seeds": FEW_SEEDS, "k": None, "taus": taus,
        "rhos": rhos,
    }  # fmt: skip


if VIEW not in st.session_state or st.session_state[VIEW]["attributes"] != scenario.domain.attributes:
    st.session_state[VIEW] = fresh_view()
view: dict[str, Any] = st.session_state[VIEW]
state.shown()["pilot"] = view
job: Forecast | None = st.session_state.get(JOB)
running = job is not None and job.running


def table() -> bf.Records | None:
    try:
        return state.records()
    except BFSoftError as error:
        st.error(str(error), icon=":material/error:")
        return None


records = table()


def asked_now() -> PilotAsked:
    k = order(state.scenario().policy, view["k"])
    size = view["private"] or (records.n if records is not None else 1)
    return PilotAsked.of(state.scenario(), int(size), view["taus"], view["rhos"], int(view["seeds"]), k)


def begin() -> None:
    now = st.session_state.get(JOB)
    if records is None or (now is not None and now.running):
        return  # nothing to run on, or a double click
    st.session_state[JOB] = Forecast(asked_now(), records)
    st.session_state[JOB].wait(0.3)


def use(tau: float | None) -> None:
    """Put a recommendation into the scenario: a temperature for BF-Soft, or the hard vote."""
    if tau is None:
        state.replace(method="Hard")
    else:
        state.replace(tau=tau, method="BF-Soft")


# ------------------------------------------------------------------ settings


def kept(widget: Callable[..., Any], label: str, name: str, shown: Any, **options: Any) -> Any:
    """A widget for one thing of this page's view, which outlives a visit to another page."""
    key = f"pilot:{name}"
    st.session_state[key] = shown

    def changed() -> None:
        if st.session_state[key] is not None:
            view[name] = st.session_state[key]

    return widget(label, key=key, on_change=changed, **options)


def numbers(label: str, name: str, explained: str) -> None:
    """A list of numbers as people type it; what cannot be read is refused with a notice and the old list stays."""
    key = f"pilot:{name}"
    st.session_state[key] = ", ".join(f"{value:.6g}" for value in view[name])

    def changed() -> None:
        given: list[float] = []
        for word in st.session_state[key].replace(",", " ").replace(";", " ").split():
            try:
                value = float(word)
            except ValueError:
                value = -1.0
            if not 0 < value < float("inf"):
                state.notify(f"{label}: {word!r} is not a number above 0; separate numbers by commas.")
                return
            given.append(value)
        chosen = tuple(sorted(set(given)))
        if not 1 <= len(chosen) <= MOST:
            state.notify(f"{label}: give from 1 to {MOST} numbers, got {len(chosen)}.")
            return
        view[name] = chosen

    st.text_input(label, key=key, on_change=changed, help=explained)


def controls() -> None:
    choose_data("pilot")
    kept(
        number_field, "Records in the private table", "private",
        view["private"] or (records.n if records is not None else None), min_value=1, max_value=2**40, step=1,
        placeholder="how many", help="Taken as public. The pilot scales its noise by the public table's size over "
        "this, so that noise against votes is what the private run will see.",
    )  # fmt: skip
    numbers("Temperatures τ", "taus", "Those to try, separated by commas. They start around the scenario's own.")
    numbers("Budgets ρ", "rhos", "Of the private run, in zCDP over all rounds. They start around the scenario's own.")
    row = st.columns(2, gap="small")
    with row[0]:
        kept(
            number_field, "Seeds", "seeds", view["seeds"], min_value=2, max_value=200, step=1,
            help="Runs of every setting. More seeds narrow the intervals and take longer.",
        )  # fmt: skip
    given = orders(scenario.policy)
    with row[1]:
        kept(
            st.selectbox, "Error over", "k", asked_now().k, options=given,
            format_func=lambda k: f"{k}-way" if k > 1 else "attributes",
            help="Mean total variation over all marginals of so many attributes.",
        )  # fmt: skip
    if records is None:
        return
    asked = asked_now()
    runs = Forecast.per_seed(records.n, asked) * asked.seeds
    st.caption(
        f"{words.counted(runs, 'run')} of {words.counted(scenario.rounds, 'round')}, "
        f"{words.counted(scenario.size, 'record')} each; other settings are the scenario's."
    )


# ------------------------------------------------------------------ results


@st.fragment(run_every=0.5 if running else None)
def live() -> None:
    if running and job is not None and not job.running:
        st.rerun()
    if job is None:
        return explain()
    progress(job)
    if job.latest is not None:
        show(job, job.latest)
    return None


def explain() -> None:
    st.subheader("Will softness help on your private table?", anchor=False)
    st.markdown(
        "A pilot runs Hard and BF-Soft on a **public** table that resembles the private one, and forecasts at which "
        "temperature and budget softness pays. It spends no privacy budget: of the private table it uses only how many "
        "records there are. Press **Forecast**."
    )
    st.warning(ONLY_LIKE, icon=":material/warning:")


def progress(now: Forecast) -> None:
    if now.running:
        row = st.container(horizontal=True, vertical_alignment="center")
        left = now.remaining
        rest = "" if left is None else f" · about {max(1, round(left))} s left"
        done = f"{now.seeds} of {now.asked.seeds} seeds done" if now.seeds else f"{now.progress:.0%} done"
        row.progress(min(now.progress, 1.0), text=f"{done}{rest}")
        row.button("Stop", on_click=now.stop, icon=":material/stop:", key="pilot:stop")
    elif now.failure:
        st.error(now.failure, icon=":material/error:")
    elif now.stopped:
        st.warning(f"Stopped with {now.seeds} of {now.asked.seeds} seeds done: the forecast rests on these.")
    if not now.running and (asked_now() != now.asked or not same_table(now)):
        st.info("Settings have changed since this forecast; press Forecast to renew it.", icon=":material/history:")


def same_table(now: Forecast) -> bool:
    """Whether the forecast is of the present table; weights of the domain are part of the question, not of it."""
    return records is not None and records.codes is now.records.codes


def show(now: Forecast, found: Pilot) -> None:
    forecast = charts.scaling(found.forecast, "scaled")
    unscaled = charts.scaling(found.forecast, "unscaled")
    row = charts.recommended_at(found.recommended, scenario.budget.rho)
    if row is not None:
        with st.container(border=True):
            said, button = st.columns([4, 1], vertical_alignment="center")
            said.markdown(f"**{charts.recommendation_text(row, forecast)}**")
            said.caption(f":material/warning: {ONLY_LIKE}")
            tau = None if row["method"] == "Hard" else float(row["tau"])
            in_use = (scenario.method, scenario.tau) == ("BF-Soft", tau) or (tau is None and scenario.method == "Hard")
            label = "Use Hard" if tau is None else "Use this τ"
            if button.button(
                "In use" if in_use else label, key="pilot:use", type="primary", disabled=in_use,
                icon=":material/check:", width="stretch", help="Puts it into the scenario, which every page reads.",
            ):  # fmt: skip
                use(tau)
                st.rerun()  # all of the page, the strip above it included
    marked = None if row is None else charts.marked(row)
    left, right = st.columns(2, gap="large")
    heading = "" if unscaled.empty else "Noise scaled"
    show_chart(left, charts.forecast_chart(forecast, marked, heading), charts.forecast_text(forecast))
    if row is not None:
        show_chart(right, charts.temperature_chart(forecast, row), charts.temperature_text(forecast, row))
    text = f"**What scaling did.** {charts.scaling_text(found.forecast, now.records.n, now.asked.private_size)}"
    if unscaled.empty:
        right.markdown(text)
    else:
        show_chart(left, charts.forecast_chart(unscaled, None, "Noise unscaled"), charts.forecast_text(unscaled))
        right.markdown(text)
    with right:
        details(found)


def details(found: Pilot) -> None:
    with st.expander("Recommended at every budget"):
        st.dataframe(
            found.recommended.assign(share=100 * found.recommended["share"])[
                ["epsilon", "rho", "method", "tau", "gain", "low", "high", "share", "tau_low", "tau_high"]
            ],
            hide_index=True,
            column_config={
                "epsilon": st.column_config.NumberColumn("ε", format="%.3g"),
                "rho": st.column_config.NumberColumn("ρ", format="%.3g"),
                "method": "Best",
                "tau": st.column_config.NumberColumn("τ", format="%.4g"),
                "gain": st.column_config.NumberColumn("Gain in error", format="%.4f"),
                "low": st.column_config.NumberColumn("95 % low", format="%.4f"),
                "high": st.column_config.NumberColumn("95 % high", format="%.4f"),
                "share": st.column_config.NumberColumn(
                    "Sure", format="%.0f %%", help="How many resamplings of the seeds choose the same."
                ),
                "tau_low": st.column_config.NumberColumn("τ from", format="%.4g", help="0 stands for Hard."),
                "tau_high": st.column_config.NumberColumn("τ to", format="%.4g"),
            },
        )  # fmt: skip
    row = st.container(horizontal=True)
    for label, frame, name in (
        ("Forecast table (CSV)", found.forecast, "forecast.csv"),
        ("Runs (CSV)", found.runs, "pilot-runs.csv"),
    ):
        row.download_button(
            label, frame.to_csv(index=False), name, "text/csv", icon=":material/download:", on_click="ignore"
        )


left, right = st.columns([1, 4.2], gap="large")
with left:
    st.button(
        "Forecast", on_click=begin, type="primary", icon=":material/query_stats:",
        disabled=running or records is None, help="Bring a table or choose a sample." if records is None else None,
    )  # fmt: skip
    controls()
with right:
    live()
