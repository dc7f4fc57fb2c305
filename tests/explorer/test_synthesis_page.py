"""The Synthesis page without a browser: controls change the scenario, runs show results, bad input loses nothing."""

from __future__ import annotations

import io
from collections.abc import Callable

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import bfsoft as bf
from bfsoft_explorer import share

Open = Callable[..., AppTest]


def press(app: AppTest, label: str) -> AppTest:
    next(button for button in app.button if button.label == label).click()
    app.run()
    assert not app.exception, [each.value for each in app.exception]
    return app


def choose(app: AppTest, label: str, value: object) -> None:
    """Set pills or a segmented control; AppTest knows both as button groups."""
    next(group for group in app.get("button_group") if group.label == label).set_value(value)


def finished(app: AppTest) -> AppTest:
    app.session_state["synthesis:job"].wait(60)
    return app.run()


def small(open_page: Open, **changes: object) -> AppTest:
    _, scenario = bf.load_sample("staff")
    return open_page("synthesis", s=share.to_link(scenario.replace(size=32, rounds=3, **changes)))


def test_run_shows_both_methods_with_the_same_seed(open_page: Open) -> None:
    app = finished(press(small(open_page), "Run"))
    job = app.session_state["synthesis:job"]
    assert {name: len(rounds) for name, rounds in job.rounds.items()} == {"Hard": 3, "BF-Soft": 3}
    assert (job.rounds["Hard"][0].candidates == job.rounds["BF-Soft"][0].candidates).all()
    labels = [button.label for button in app.get("download_button")]
    assert {"Hard's table", "BF-Soft's table", "Settings (YAML)", "Errors (CSV)"} <= set(labels)
    assert len(app.get("vega_lite_chart")) + len(app.get("arrow_vega_lite_chart")) == 2


def test_a_control_changes_the_scenario_and_the_next_run(open_page: Open) -> None:
    app = small(open_page)
    size = next(each for each in app.number_input if each.label.startswith("Records"))
    size.set_value(16)
    app.run()
    assert app.session_state["scenario"].size == 16
    app = finished(press(app, "Run"))
    assert len(app.session_state["synthesis:job"].run("Hard").codes) == 16


def test_results_of_earlier_settings_say_so(open_page: Open) -> None:
    app = finished(press(small(open_page), "Run"))
    assert not any("Settings have changed" in each.value for each in app.info)
    next(each for each in app.number_input if each.label == "Rounds").set_value(2)
    app.run()
    assert any("Settings have changed" in each.value for each in app.info)


def test_tab_pe_joins_on_request(open_page: Open) -> None:
    app = small(open_page)
    choose(app, "Methods", ["Hard", "BF-Soft", "Tab-PE"])
    app = finished(press(app.run(), "Run"))
    assert list(app.session_state["synthesis:job"].rounds) == ["Hard", "BF-Soft", "Tab-PE"]


def test_the_budget_by_epsilon_takes_the_place_of_rho(open_page: Open) -> None:
    app = small(open_page)
    choose(app, "Budget", "ε")
    app.run()
    next(each for each in app.number_input if each.label == "ε").set_value(0.5)
    app.run()
    scenario = app.session_state["scenario"]
    assert scenario.rho is None
    assert scenario.epsilon == 0.5
    assert scenario.budget.epsilon == pytest.approx(0.5, abs=1e-9)


def test_a_scenario_without_data_says_what_to_do(open_page: Open) -> None:
    policy = bf.Policy(bf.Domain([bf.Numeric("x", 0, 9)]), {"x": bf.Threshold(1)})
    app = open_page("synthesis", s=share.to_link(bf.Scenario.of(policy)))
    app = press(app, "Run")
    assert any("bring a table" in each.value for each in app.error)
    assert "synthesis:job" not in app.session_state


def test_a_policy_without_edges_runs_without_noise(open_page: Open) -> None:
    _, scenario = bf.load_sample("staff")
    bare = scenario.replace(policy=bf.Policy(scenario.domain, {}), size=32, rounds=2)
    app = finished(press(open_page("synthesis", s=share.to_link(bare)), "Run"))
    job = app.session_state["synthesis:job"]
    assert job.failure is None
    assert job.run("Hard").sigma.tolist() == [0.0, 0.0]
    assert not app.exception


def test_an_uploaded_table_is_used_and_a_wrong_one_is_refused_by_cell(open_page: Open) -> None:
    frame, _ = bf.load_sample("staff")
    app = small(open_page)
    uploader = app.get("file_uploader")[-1]
    uploader.set_value(("mine.csv", frame.head(50).to_csv(index=False).encode(), "text/csv"))
    app.run()
    assert app.session_state["table"].n == 50
    app = finished(press(app, "Run"))
    assert app.session_state["synthesis:job"].records.n == 50
    wrong = frame.head(50).copy()
    wrong.loc[7, "age"] = 200
    buffer = io.StringIO()
    wrong.to_csv(buffer, index=False)
    app.get("file_uploader")[-1].set_value(("wrong.csv", buffer.getvalue().encode(), "text/csv"))
    app.run()
    shown = " ".join(each.value for each in app.error)
    assert "wrong.csv" in shown
    assert "row 7" in shown
    assert "'age'" in shown
    assert "200" in shown
    assert app.session_state["table"].n == 50, "the table that worked is kept"


def test_the_synthetic_table_is_a_table_of_the_domain(open_page: Open) -> None:
    app = finished(press(small(open_page), "Run"))
    table = app.session_state["synthesis:job"].run("BF-Soft").records
    domain = app.session_state["scenario"].domain
    assert isinstance(table, pd.DataFrame)
    assert list(table.columns) == list(domain.names)
    assert len(domain.encode(table)) == 32
