"""Paper: what the paper found, and what this machine finds."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from bfsoft.errors import DataError
from bfsoft_explorer import state, words
from bfsoft_explorer.charts import paper as charts
from bfsoft_explorer.charts.paper import ALL, DATA, MEASURES, MOVES
from bfsoft_explorer.drawing import show_chart
from bfsoft_explorer.findings import CLAIMS, PROTOCOLS, Findings, findings


def chosen(label: str, name: str, options: list[str], names: dict[str, str], help: str | None = None) -> str:
    """One choice of this page's view; where the one before is not offered any more, the first."""
    key = f"paper:{name}"
    if st.session_state.get(key) not in options:
        st.session_state[key] = options[0]
    taken = st.segmented_control(
        label, options, format_func=lambda each: names.get(each, each), required=True, key=key, persist_state="session",
        help=help, wrap=True,
    )  # fmt: skip
    state.show("paper", **{name: taken})
    return taken


def opening(found: Findings) -> None:
    st.subheader("What the paper found, and what this machine finds", anchor=False)
    st.markdown(
        "The paper is [arXiv 2610.11285](https://arxiv.org/abs/2610.11285), *Soft Voting for Policy-Aware Private Data "
        "Synthesis*. Its experiments were run again with this package, without tuning anything to make them agree."
    )
    with st.expander("How errors are measured, and what a verdict means"):
        st.markdown(
            "The text that this package was made from does not state the paper's error measure. **The paper's** below "
            "is read off its published code: the mean L1 distance (0 to 2) over all pairs of columns in a few fixed "
            "bins, against rows held out; for XOR-3 over 16 cells of all columns. **Ours** is the mean total variation "
            "(0 to 1) over all marginals of one, two or three attributes, numbers in at most 20 equal bins, against "
            "the training table.\n\n"
            "**agrees**: the paper's figure lies in our 95 % interval, or ours within a tenth of it. **same "
            "direction**: only the sign agrees. **undecided**: the interval holds the figure but 0 too. **not "
            "comparable**: durations, which belong to a machine. Statements without a figure agree when they hold here."
        )


def experiment(found: Findings, protocol: str, each: charts.Experiment, claims: pd.DataFrame, row: Any) -> None:
    table = found.table(protocol, each.table)
    own = claims[claims["figure"] == each.figure]
    if table.empty or own.empty:
        st.info(f"{each.where} was not run with this loop.", icon=":material/info:")
        return
    sets, measures = charts.offered(own)
    with row:
        data = chosen("Data", "data", sets, DATA) if len(sets) > 1 else sets[0]
        measure = chosen("Error", "measure", measures, MEASURES) if len(measures) > 1 else measures[0]
    st.markdown(f"**{each.where}: {each.question}**")
    said = charts.claims_of(own, each.figure, data, measure)
    left, right = st.columns(2, gap="large")
    picture = charts.PICTURES[each.figure](table, data, measure)
    show_chart(left, picture, charts.heading(picture))
    if each.figure == "table4":
        curves = charts.curves_chart(found.table(protocol, "table4-curves"), data, measure)
        show_chart(left, curves, charts.heading(curves))
    beside = charts.beside_chart(said)
    if beside is not None:
        show_chart(right, beside, charts.beside_text(said))
    verdicts(said, st.container() if beside is not None else right)
    st.download_button(
        "Table (CSV)", table.to_csv(index=False), f"{protocol}-{each.table}.csv", "text/csv",
        icon=":material/download:", on_click="ignore",
    )  # fmt: skip


def verdicts(said: pd.DataFrame, place: Any) -> None:
    icons = {"agrees": "✓", "same direction": "→", "undecided": "?", "disagrees": "✗", "not comparable": "·"}
    shown = pd.DataFrame({
        "Verdict": [f"{icons[verdict]} {verdict}" for verdict in said["verdict"]],
        "The paper says": said["claim"],
        "Paper": [figure(value) for value in said["paper"]],
        "Here": [interval(row) for _, row in said.iterrows()],
    })  # fmt: skip
    place.dataframe(
        shown, hide_index=True,
        column_config={"The paper says": st.column_config.TextColumn(width="medium")},
        alt="Claims of the paper with what was found here and a verdict",
    )  # fmt: skip


def figure(value: float) -> str:
    return "" if pd.isna(value) else words.number(float(value)).replace("-", "−")


def interval(row: pd.Series) -> str:
    ends = (
        "" if pd.isna(row["low"]) or row["low"] == row["high"] else f" ({figure(row['low'])} to {figure(row['high'])})"
    )
    return f"{figure(row['ours'])}{ends}"


def what_moves(found: Findings, row: Any) -> None:
    moves = found.moves
    if len(moves):
        with row:
            taus = charts.temperatures_of(moves)
            tau = chosen("Temperature τ", "tau", taus, {})
            measures = [name for name in MEASURES if name in set(moves["measure"])]
            measure = chosen("Error", "measure", measures, MEASURES)
        chart = charts.moves_chart(moves, float(tau), measure)
        show_chart(st, chart, charts.heading(chart))
    for heading, body in found.sections:
        with st.expander(heading, expanded="moves" in heading):
            st.markdown(body)


try:
    found = findings()
except DataError as error:
    st.error(str(error), icon=":material/error:")
    st.stop()
opening(found)
name = chosen("Experiment", "experiment", [ALL, *(each.name for each in charts.EXPERIMENTS), MOVES], {})
row = st.container(horizontal=True, gap="large")
with row:
    protocol = chosen(
        "Loop", "protocol", found.protocols, PROTOCOLS,
        "The rounds that make a table: this package's follow Tab-PE as published; the paper's own code selects and "
        "mutates in another way.",
    )  # fmt: skip
claims = found.table(protocol, CLAIMS)
if name == ALL:
    with row:
        measure = chosen("Error", "measure", charts.offered(claims)[1], MEASURES)
    claims = charts.measured_by(claims, measure)
    left, right = st.columns([1.1, 1], gap="large")
    show_chart(left, charts.verdicts_chart(claims), charts.verdicts_text(claims))
    for heading, body in found.sections[:1]:
        right.markdown(f"**{heading}**\n\n{body}")
    if found.sections[1:]:
        right.caption("The rest of what was found stands under *What moves it*.")
elif name == MOVES:
    what_moves(found, row)
else:
    experiment(found, protocol, next(each for each in charts.EXPERIMENTS if each.name == name), claims, row)
