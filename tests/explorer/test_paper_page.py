"""The Paper page without a browser: every experiment is shown beside the paper's figures, from the committed tables."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from bfsoft.errors import DataError
from bfsoft_explorer import findings
from bfsoft_explorer.charts import paper as charts

PAGE = Path(__file__).resolve().parents[2] / "pages" / "paper.py"


@pytest.fixture
def page() -> AppTest:
    app = AppTest.from_file(str(PAGE), default_timeout=60).run()
    assert not app.exception, [each.value for each in app.exception]
    return app


@pytest.fixture(scope="module")
def found() -> findings.Findings:
    return findings.findings()


def choose(app: AppTest, label: str, value: str) -> AppTest:
    next(group for group in app.get("button_group") if group.label == label).set_value(value)
    app.run()
    assert not app.exception, [each.value for each in app.exception]
    return app


def drawn(app: AppTest) -> int:
    return len(app.get("vega_lite_chart")) + len(app.get("arrow_vega_lite_chart"))


def test_it_says_what_the_measure_is_and_is_not(page: AppTest) -> None:
    said = " ".join(each.value for each in page.markdown)
    assert "does not state the paper's error measure" in said
    assert "mean total variation" in said
    assert "without tuning" in said


@pytest.mark.parametrize("protocol", findings.findings().protocols)
def test_every_experiment_is_drawn_for_every_data_set_and_measure(page: AppTest, protocol: str, found) -> None:  # type: ignore[no-untyped-def]
    choose(page, "Loop", protocol)
    claims = found.table(protocol, "claims")
    for each in charts.EXPERIMENTS:
        if found.table(protocol, each.table).empty:
            continue
        choose(page, "Experiment", each.name)
        assert drawn(page) >= 1
        shown = page.dataframe[0].value
        assert len(shown)
        assert set(shown["Verdict"].str[2:]) <= set(charts.VERDICTS)
        for label in ("Data", "Error"):
            group = next((group for group in page.get("button_group") if group.label == label), None)
            for option in group.options if group is not None else []:
                name = {"Adult": "adult", "Bank": "bank", "XOR-3": "xor3"}.get(option) or {
                    "the paper's": "paper", "attributes": "1-way"}.get(option, option)  # fmt: skip
                choose(page, label, name)
                assert drawn(page) >= 1
    assert len(claims)


def test_the_overview_counts_the_verdicts_of_the_claims(page: AppTest, found) -> None:  # type: ignore[no-untyped-def]
    claims = found.table(found.protocols[0], "claims")
    agree = int((claims["verdict"] == "agrees").sum())
    judged = int((claims["verdict"] != "not comparable").sum())
    assert charts.verdicts_text(claims).startswith(f"{agree} of {judged} claims agree")
    frame = next(iter(charts.verdicts_chart(claims).to_dict()["datasets"].values()))
    assert sum(row["claims"] for row in frame) == len(claims), "an experiment is missing from the page"


def test_what_moves_the_crossover_is_drawn_from_its_table(page: AppTest, found) -> None:  # type: ignore[no-untyped-def]
    moves = found.table("tab-pe", "moves")
    choose(page, "Experiment", "What moves it")
    assert drawn(page) == 1
    tau, measure = moves["tau"].min(), "2-way"
    own = moves[(moves["tau"] == tau) & (moves["measure"] == measure)]
    highest = own.iloc[1:].loc[own.iloc[1:]["epsilon_zcdp"].idxmax(), "changed"]
    assert f"“{highest}” moves it up" in charts.moves_text(moves, tau, measure)


def test_the_crossover_is_compared_with_the_papers_band(found) -> None:  # type: ignore[no-untyped-def]
    table = pd.DataFrame({
        "data": "adult", "measure": "2-way", "tau": [0.015, 0.03, 0.06], "epsilon_zcdp": [0.1, 0.2, 0.4],
        "epsilon_zcdp_low": [0.05, 0.1, 0.3], "epsilon_zcdp_high": [0.2, 0.3, 0.5], "rho": 1e-3, "rho_low": 1e-4,
        "rho_high": 1e-2,
    })  # fmt: skip
    assert "where 2 of 3 lie" in charts.crossover_text(table, "adult", "2-way")
    never = table.assign(epsilon_zcdp=float("nan"))
    assert "never" in charts.crossover_text(never, "adult", "2-way")
    assert charts.crossover_chart(never, "adult", "2-way").to_dict()["layer"]


def test_figures_stand_beside_ours_and_durations_do_not(found) -> None:  # type: ignore[no-untyped-def]
    claims = pd.DataFrame({
        "figure": "fig7", "data": "adult", "claim": ["a", "b", "c"], "measure": None,
        "paper": [1.0, 211.0, float("nan")],
        "ours": [1.0, 3.0, 2.0], "low": 0.5, "high": 1.5, "verdict": ["agrees", "not comparable", "agrees"],
    })  # fmt: skip
    chart = charts.beside_chart(claims)
    assert chart is not None
    shown = [row["claim"] for rows in chart.to_dict()["datasets"].values() for row in rows if "claim" in row]
    assert set(shown) == {"a"}
    assert charts.beside_chart(claims.iloc[1:]) is None


def test_what_is_written_is_shown_without_links_that_lead_nowhere(page: AppTest, found, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    assert found.sections
    choose(page, "Experiment", "What moves it")
    assert [each.label for each in page.expander][1:] == [heading for heading, _ in found.sections]
    (tmp_path / "FINDINGS.md").write_text("# T\nintro\n\n## 1. A\nsee [this](x.md) and [that](https://a.b)\n", "utf-8")
    assert findings.Findings(tmp_path).sections == [("1. A", "see this and [that](https://a.b)")]
    assert findings.Findings(tmp_path / "none").sections == []


def test_missing_tables_say_how_to_make_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "sample_data", lambda: tmp_path)
    with pytest.raises(DataError, match="bfsoft reproduce all"):
        findings.findings()
    app = AppTest.from_file(str(PAGE), default_timeout=60).run()
    assert not app.exception
    assert re.search("bfsoft reproduce all", app.error[0].value)


def test_the_overview_counts_each_claim_once(page: AppTest, found: findings.Findings) -> None:
    """The claims are judged by every error measure; adding those up would count one claim four times."""
    claims = found.table("paper", "claims")
    own = claims[(claims["measure"].isna() | (claims["measure"] == "paper")) & (claims["verdict"] != "not comparable")]
    agree = int((own["verdict"] == "agrees").sum())
    charts_drawn = [*page.get("vega_lite_chart"), *page.get("arrow_vega_lite_chart")]
    assert f"{agree} of {len(own)} claims agree" in str(charts_drawn[0].proto)
