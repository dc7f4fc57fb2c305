"""The Synthesis page without a browser: controls change the scenario, runs show results, bad input loses nothing."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import bfsoft as bf
import bfsoft.experiments
from bfsoft_explorer import share, words
from bfsoft_explorer.charts import synthesis as synthesis_charts

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


@pytest.mark.parametrize("page", ["synthesis", "temperature", "boundaries", "pilot"])
def test_a_field_that_is_emptied_keeps_its_number(open_page: Open, page: str) -> None:
    app = open_page(page, s="staff")
    app.session_state["temperature:part"] = "Budget and rounds"
    app.run()
    before, count = app.session_state["scenario"], len(app.number_input)
    assert count
    for at in range(count):
        field = app.number_input[at]
        label, value = field.label, field.value
        field.set_value(None)
        app.run()
        assert not app.exception, [each.value for each in app.exception]
        assert app.session_state["scenario"] == before, label
        assert not app.error, label
        assert page == "pilot" or app.number_input[at].value == value, label


def test_a_run_that_is_not_over_claims_no_end() -> None:
    errors = pd.DataFrame({"method": ["Hard", "BF-Soft"], "round": [2, 2], "error": [0.4, 0.3]})
    assert synthesis_charts.error_text(errors, 3) == "BF-Soft is so far lower: 0.3 against 0.4 (25 % less)"
    assert synthesis_charts.error_text(errors, 2) == "BF-Soft ends lower: 0.3 against 0.4 (25 % less)"


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
    assert words.plain("wrong.csv") in shown
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


# ------------------------------------------------------------------ many seeds


def look_at(app: AppTest, section: str) -> AppTest:
    choose(app, "Look at", section)
    return app.run()


def repeated(app: AppTest, seeds: int) -> AppTest:
    app = look_at(app, "Over seeds")
    next(each for each in app.number_input if each.label == "Seeds").set_value(seeds)
    press(app.run(), "Repeat over seeds")
    app.session_state["synthesis:repeats"].wait(60)
    return app.run()


def test_repeats_say_the_finding_with_its_interval(open_page: Open) -> None:
    app = repeated(small(open_page), 4)
    job = app.session_state["synthesis:repeats"]
    assert sorted(job.frame["seed"].unique()) == [0, 1, 2, 3]
    runs = job.frame[job.frame["measure"] == "2-way"]
    row = bf.experiments.summarise(bf.experiments.gains(runs), "relative", ["method"]).iloc[0]
    said = " ".join(each.value for each in app.markdown)
    assert f"{abs(100 * row['mean']):.0f} % ± {50 * (row['high'] - row['low']):.0f}" in said or "No difference" in said
    assert ("No difference" in said) == (row["low"] <= 0 <= row["high"])
    assert "4 seeds" in said
    assert any(button.label == "Results (CSV)" for button in app.get("download_button"))


def test_repeats_of_other_settings_say_so_and_stay(open_page: Open) -> None:
    app = repeated(small(open_page), 2)
    next(each for each in app.number_input if each.label == "Rounds").set_value(2)
    app.run()
    assert any("Settings have changed" in each.value for each in app.info)
    assert app.session_state["synthesis:repeats"].done == 2


def test_tab_pe_alone_can_be_repeated(open_page: Open) -> None:
    app = small(open_page)
    choose(app, "Methods", ["Tab-PE"])
    app = repeated(app.run(), 2)
    assert not app.exception
    assert any("Tab-PE's error is" in each.value for each in app.markdown)


def test_without_methods_nothing_can_be_run(open_page: Open) -> None:
    app = small(open_page)
    choose(app, "Methods", [])
    app.run()
    assert next(button for button in app.button if button.label == "Run").disabled
    assert any("Choose at least one method" in each.value for each in app.info)
    assert any("Choose at least one method" in each.value for each in app.caption)


@pytest.mark.parametrize("section", ["Comparison", "Votes", "Two attributes", "Candidates moving"])
def test_every_look_at_a_run_works_for_any_methods(open_page: Open, section: str) -> None:
    app = small(open_page)
    choose(app, "Methods", ["Hard", "BF-Soft", "Tab-PE"])
    app = look_at(finished(press(app.run(), "Run")), section)
    assert not app.exception
    drawn = len(app.get("vega_lite_chart")) + len(app.get("arrow_vega_lite_chart")) + len(app.get("plotly_chart"))
    assert drawn == {"Comparison": 2, "Votes": 3, "Two attributes": 4, "Candidates moving": 1}[section]


# ------------------------------------------------------------------ shares of the budget


def shares_typed(app: AppTest, text: str) -> AppTest:
    choose(app, "Budget by round", "own")
    app.run()
    next(each for each in app.text_input if each.label.startswith("Parts")).set_value(text)
    return app.run()


def test_shares_rise_with_the_rounds_and_keep_rising_when_rounds_change(open_page: Open) -> None:
    app = small(open_page)
    choose(app, "Budget by round", "rising")
    app.run()
    assert app.session_state["scenario"].shares == (1.0, 2.0, 3.0)
    next(each for each in app.number_input if each.label == "Rounds").set_value(4)
    app.run()
    assert app.session_state["scenario"].shares == (1.0, 2.0, 3.0, 4.0)
    app = finished(press(app, "Run"))
    rhos = [each.rho for each in app.session_state["synthesis:job"].rounds["Hard"]]
    assert rhos == pytest.approx([app.session_state["scenario"].budget.rho * part / 10 for part in (1, 2, 3, 4)])


def test_shares_of_ones_own_set_the_rounds_and_nonsense_loses_nothing(open_page: Open) -> None:
    app = shares_typed(small(open_page), "1, 2; 2.5 4")
    assert app.session_state["scenario"].shares == (1.0, 2.0, 2.5, 4.0)
    assert app.session_state["scenario"].rounds == 4
    for nonsense in ("1, two, 3", "1, -2", "1, 0", "1, inf", " , "):
        app = shares_typed(app, nonsense)
        assert any("shares" in each.value or "share" in each.value for each in app.error), nonsense
        assert app.session_state["scenario"].shares == (1.0, 2.0, 2.5, 4.0)
    assert not app.exception


# ------------------------------------------------------------------ data


def test_another_sample_brings_its_domain_and_the_same_one_keeps_the_policy(open_page: Open) -> None:
    _, staff = bf.load_sample("staff")
    drawn = bf.Policy(staff.domain, {"age": bf.Threshold(3)})
    app = small(open_page, policy=drawn)
    data = next(each for each in app.selectbox if each.label == "Data")
    data.set_value("xor3")
    app.run()
    assert app.session_state["scenario"] == bf.load_scenario("xor3")
    app = small(open_page, policy=drawn, data=None)
    next(each for each in app.selectbox if each.label == "Data").set_value("staff")
    app.run()
    assert app.session_state["scenario"].data == "staff"
    assert app.session_state["scenario"].policy == drawn


def uploaded(app: AppTest, rows: int = 50) -> AppTest:
    frame, _ = bf.load_sample("staff")
    content = frame.head(rows).to_csv(index=False).encode()
    app.get("file_uploader")[-1].set_value(("mine.csv", content, "text/csv"))
    return app.run()


def test_a_table_of_ones_own_stays_on_a_visit_elsewhere_and_in_no_link(open_page: Open) -> None:
    app = small(open_page)
    link = app.session_state["s"]
    app = uploaded(app)
    assert app.session_state["s"] == link, "the link says nothing of the table"
    app.switch_page("../../pages/policy.py").run()
    app.switch_page("../../pages/synthesis.py").run()
    assert app.session_state["table"].n == 50
    next(each for each in app.toggle if each.label.startswith("Move numbers")).set_value(True)
    app.run()
    assert app.session_state["table"].n == 50, "a toggle without a file takes no table away"
    next(each for each in app.selectbox if each.label == "Data").set_value("staff")
    app.run()
    assert "table" not in app.session_state


# ------------------------------------------------------------------ in the middle of a run


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Hard votes wait until the event is set; it is set when the test ends."""
    opened, whole = threading.Event(), bf.HardVote.histogram

    def waiting(self, *args, **kwargs):  # type: ignore[no-untyped-def]
        assert opened.wait(60)
        return whole(self, *args, **kwargs)

    monkeypatch.setattr(bf.HardVote, "histogram", waiting)
    yield opened
    opened.set()


def test_a_second_press_starts_nothing_else(open_page: Open, gate: threading.Event) -> None:
    app = press(small(open_page), "Run")
    first = app.session_state["synthesis:job"]
    run = next(button for button in app.button if button.label == "Run")
    assert run.disabled
    run.proto.disabled = False  # what the browser showed when the second click set out
    run.click()
    app.run()
    assert app.session_state["synthesis:job"] is first
    gate.set()
    first.wait(60)


def test_a_change_in_the_middle_is_for_the_next_run(open_page: Open, gate: threading.Event) -> None:
    app = press(small(open_page), "Run")
    job = app.session_state["synthesis:job"]
    next(each for each in app.number_input if each.label == "Temperature τ").set_value(0.5)
    app.run()
    next(each for each in app.number_input if each.label.startswith("Records")).set_value(16)
    app.run()
    gate.set()
    app = finished(app)
    assert app.session_state["synthesis:job"] is job
    assert job.failure is None
    assert [method.vote.tau for method in job.methods if method.name == "BF-Soft"] == [job.scenario.tau] != [0.5]
    assert len(job.run("Hard").codes) == 32
    assert any("Settings have changed" in each.value for each in app.info)


def test_leaving_the_page_stops_nothing_and_coming_back_shows_it(open_page: Open, gate: threading.Event) -> None:
    app = press(small(open_page), "Run")
    job = app.session_state["synthesis:job"]
    app.switch_page("../../pages/policy.py").run()
    gate.set()
    job.wait(60)
    app.switch_page("../../pages/synthesis.py").run()
    assert app.session_state["synthesis:job"] is job
    assert job.completed == 3
    assert any(button.label == "Hard's table" for button in app.get("download_button"))


def test_another_domain_in_the_middle_breaks_nothing(open_page: Open, gate: threading.Event) -> None:
    app = press(small(open_page), "Run")
    next(each for each in app.selectbox if each.label == "Data").set_value("xor3")
    app.run()
    gate.set()
    app = finished(app)
    assert not app.exception
    for section in ("Votes", "Two attributes", "Candidates moving", "Over seeds", "Comparison"):
        app = look_at(app, section)
        assert not app.exception, section


def test_two_sessions_run_side_by_side_and_do_not_mix(open_page: Open) -> None:
    one, two = small(open_page), small(open_page, seed=5, tau=0.4)
    press(one, "Run"), press(two, "Run")
    one, two = finished(one), finished(two)
    first, second = one.session_state["synthesis:job"], two.session_state["synthesis:job"]
    assert first.scenario.seed == 0
    assert second.scenario.seed == 5
    for job in (first, second):
        alone = bf.synthesize(
            job.records, job.scenario.policy, bf.bf_soft(job.scenario.tau), job.scenario.budget, size=32, rounds=3,
            seed=job.scenario.seed,
        )  # fmt: skip
        assert (job.run("BF-Soft").codes == alone.codes).all()


def test_what_one_looks_at_outlives_a_visit_elsewhere(open_page: Open) -> None:
    app = finished(press(small(open_page), "Run"))
    app = look_at(app, "Two attributes")
    next(each for each in app.selectbox if each.label == "Down").set_value("job")
    app.run()
    next(each for each in app.slider if each.label == "After round").set_value(2)
    app.run()
    app.switch_page("../../pages/policy.py").run()
    app.switch_page("../../pages/synthesis.py").run()
    assert next(each for each in app.selectbox if each.label == "Down").value == "job"
    assert next(each for each in app.slider if each.label == "After round").value == 2


def test_settings_beyond_what_the_widgets_offer_are_shown_as_they_are(open_page: Open) -> None:
    _, scenario = bf.load_sample("staff")
    app = open_page("synthesis", s=share.to_link(scenario.replace(rho=1e-12, tau=1e-9, rounds=1000)))
    assert next(each for each in app.number_input if each.label == "ρ").value == 1e-12
    assert next(each for each in app.number_input if each.label == "Rounds").value == 1000
