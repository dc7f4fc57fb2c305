"""The Pilot page without a browser: a forecast from public data, its grid, and its recommendation in the scenario."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

import bfsoft as bf
from bfsoft import experiments
from bfsoft_explorer import share
from bfsoft_explorer.jobs import settings

Open = Callable[..., AppTest]


def small(open_page: Open, **changes: object) -> AppTest:
    _, scenario = bf.load_sample("staff")
    app = open_page("pilot", s=share.to_link(scenario.replace(size=64, rounds=3, **changes)))
    fill(app, "Temperatures τ", "0.02, 0.2")
    fill(app, "Budgets ρ", "0.001 0.1")
    number(app, "Seeds", 3)
    return app


def fill(app: AppTest, label: str, text: str) -> None:
    next(each for each in app.text_input if each.label == label).set_value(text)
    app.run()
    assert not app.exception


def number(app: AppTest, label: str, value: float) -> None:
    next(each for each in app.number_input if each.label == label).set_value(value)
    app.run()
    assert not app.exception


def press(app: AppTest, label: str) -> AppTest:
    next(button for button in app.button if button.label == label).click()
    app.run()
    assert not app.exception, [each.value for each in app.exception]
    return app


def forecast(app: AppTest) -> AppTest:
    press(app, "Forecast")
    app.session_state["pilot:job"].wait(60)
    app.run()
    assert not app.exception, [each.value for each in app.exception]
    return app


def said(app: AppTest) -> str:
    return " ".join(each.value for kind in (app.markdown, app.caption, app.warning, app.info) for each in kind)


def test_the_forecast_is_the_librarys_pilot_at_the_scenarios_settings(open_page: Open) -> None:
    app = small(open_page)
    number(app, "Records in the private table", 1_000)
    app = forecast(app)
    scenario, job = app.session_state["scenario"], app.session_state["pilot:job"]
    frame = bf.load_data("staff", scenario.domain)
    alone = experiments.pilot(
        frame, scenario.policy, 1_000, (0.02, 0.2), [bf.Budget(rho=0.001), bf.Budget(rho=0.1)], seeds=3, jobs=1,
        **settings(scenario),
    )  # fmt: skip
    assert job.latest.forecast.equals(alone.forecast)
    assert job.latest.recommended.equals(alone.recommended)
    assert len(app.get("vega_lite_chart")) + len(app.get("arrow_vega_lite_chart")) == 3
    assert "400 records and the private one 1,000" in said(app)
    assert "multiplies its noise by 0.4" in said(app)


def test_it_warns_before_and_after_that_it_holds_for_like_data_only(open_page: Open) -> None:
    app = small(open_page)
    assert "holds only for private data like the public table" in said(app)
    assert "holds only for private data like the public table" in said(forecast(app))


def test_its_recommendation_goes_into_the_scenario_with_one_click(open_page: Open) -> None:
    app = forecast(small(open_page, rho=0.001))
    row = app.session_state["pilot:job"].latest.recommended.set_index("rho").loc[0.001]
    soft = row["method"] == "BF-Soft"
    before = app.session_state["scenario"]
    app = press(app, "Use this τ" if soft else "Use Hard")
    after = app.session_state["scenario"]
    assert after == (before.replace(tau=float(row["tau"])) if soft else before.replace(method="Hard"))
    assert next(button for button in app.button if button.label == "In use").disabled
    assert "Settings have changed" not in said(app), "a pilot does not depend on the τ it recommends"


@pytest.mark.parametrize(("rho", "tau", "expected"), [(0.001, 0.1, "BF-Soft"), (1e3, 5.0, "Hard")])
def test_little_budget_speaks_for_softness_and_plenty_against_a_blunt_vote(
    open_page: Open, rho: float, tau: float, expected: str
) -> None:
    """With little budget the hard vote is mostly noise; with plenty a vote as blunt as τ = 5 is only blunt."""
    app = small(open_page, rho=rho)
    number(app, "Seeds", 8)
    fill(app, "Temperatures τ", repr(tau))
    fill(app, "Budgets ρ", repr(rho))
    app = forecast(app)
    found = app.session_state["pilot:job"].latest
    assert found.recommended["method"].tolist() == [expected]
    assert found.forecast["sure"].all()
    assert any(button.label == ("Use Hard" if expected == "Hard" else "Use this τ") for button in app.button)


def test_tables_of_one_size_need_no_scaling_and_no_second_map(open_page: Open) -> None:
    app = forecast(small(open_page))
    assert "needs no scaling" in said(app)
    assert len(app.get("vega_lite_chart")) + len(app.get("arrow_vega_lite_chart")) == 2


@pytest.mark.parametrize("nonsense", ["0.1, x", "0", "-1", "", "nan", ", ".join(str(k) for k in range(1, 20))])
def test_a_list_that_cannot_be_read_is_refused_and_the_old_one_stays(open_page: Open, nonsense: str) -> None:
    app = small(open_page)
    fill(app, "Temperatures τ", nonsense)
    assert any("Temperatures τ" in each.value for each in app.error)
    assert next(each for each in app.text_input if each.label == "Temperatures τ").value == "0.02, 0.2"


def test_a_changed_setting_marks_the_forecast_as_old_and_keeps_it(open_page: Open) -> None:
    app = forecast(small(open_page))
    assert "Settings have changed" not in said(app)
    number(app, "Records in the private table", 900)
    assert "Settings have changed" in said(app)
    assert app.session_state["pilot:job"].asked.private_size == 400


def test_a_stopped_pilot_says_on_how_many_seeds_it_rests(open_page: Open) -> None:
    app = small(open_page)
    number(app, "Seeds", 200)
    app = press(app, "Forecast")
    job = app.session_state["pilot:job"]
    while not job.seeds:
        job.wait(0.01)
    press(app.run(), "Stop")
    job.wait(60)
    app.run()
    assert not app.exception
    assert f"Stopped with {job.seeds} of 200 seeds done" in said(app)


def test_leaving_and_coming_back_finds_grid_and_forecast(open_page: Open) -> None:
    app = forecast(small(open_page))
    job = app.session_state["pilot:job"]
    app.switch_page("../../pages/policy.py").run()
    app.switch_page("../../pages/pilot.py").run()
    assert app.session_state["pilot:job"] is job
    assert next(each for each in app.text_input if each.label == "Temperatures τ").value == "0.02, 0.2"
    assert next(each for each in app.number_input if each.label == "Seeds").value == 3
    assert any(button.label == "Runs (CSV)" for button in app.get("download_button"))


def test_another_domain_starts_a_grid_of_its_own(open_page: Open) -> None:
    app = forecast(small(open_page))
    next(each for each in app.selectbox if each.label == "Data").set_value("xor3")
    app.run()
    assert not app.exception
    tau = bf.load_scenario("xor3").tau
    assert next(each for each in app.text_input if each.label == "Temperatures τ").value.split(", ")[2] == f"{tau:.6g}"
    assert "Settings have changed" in said(app)


def test_without_a_table_there_is_nothing_to_forecast_from(open_page: Open) -> None:
    policy = bf.Policy(bf.Domain([bf.Numeric("x", 0, 9)]), {"x": bf.Threshold(1)})
    app = open_page("pilot", s=share.to_link(bf.Scenario.of(policy)))
    assert next(button for button in app.button if button.label == "Forecast").disabled
    assert not app.exception
