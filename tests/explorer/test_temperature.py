"""The Temperature page without a browser: each chart's own data, and each control on the page."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable

import altair as alt
import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import bfsoft as bf
from bfsoft.synthesis import random_candidates
from bfsoft.temperature import drowning, signal, temperatures, vote_profile
from bfsoft_explorer import share, words
from bfsoft_explorer.charts import temperature as charts
from bfsoft_explorer.charts.style import title, wrapped
from bfsoft_explorer.temperature_dial import dial_data

Open = Callable[..., AppTest]
STAFF = bf.load_scenario("staff")
POLICY, BUDGET = STAFF.policy, STAFF.budget
WEIGHTLESS = bf.Policy(
    bf.Domain(STAFF.domain.attributes, {name: float(name != "age") for name in STAFF.domain.names}),
    {"age": bf.Threshold(7)},
)
TOGETHER = bf.Policy(STAFF.domain, {**POLICY.rules, "job": bf.Complete()}, participation=True)


@pytest.fixture(scope="module")
def records() -> bf.Records:
    return bf.Records.of_frame(STAFF.domain, bf.load_data("staff", STAFF.domain))


@pytest.fixture(scope="module")
def profile(records: bf.Records) -> pd.DataFrame:
    return vote_profile(records, random_candidates(STAFF.domain, 50, 0), [*temperatures(9), 0.03])


def data_of(chart: alt.TopLevelMixin) -> list[pd.DataFrame]:
    """The tables inside a chart, as Vega-Lite gets them; the chart is checked against the schema on the way."""
    return [pd.DataFrame(rows) for rows in chart.to_dict()["datasets"].values()]


def with_columns(chart: alt.TopLevelMixin, *columns: str) -> pd.DataFrame:
    return next(table for table in data_of(chart) if {*columns} <= {*table.columns})


def title_of(chart: alt.TopLevelMixin) -> str:
    said = chart.to_dict()["title"]["text"]
    return said if isinstance(said, str) else " ".join(said)


# --- charts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("show", ["ratio", "sigma_most", "factor"])
def test_the_noise_chart_draws_every_curve_of_the_policy(show):
    chart = charts.noise_chart(TOGETHER, 0.03, BUDGET, show=show)
    table = with_columns(chart, "curve", show)
    assert {*table["curve"]} == {
        "this policy", "age alone", "job alone", "sick alone", "satisfaction alone", "participation floor",
    }  # fmt: skip
    record = table[table["curve"] == "this policy"]
    bounds = [bf.sensitivity_bound(TOGETHER, bf.SoftVote(tau)).ratio for tau in record["tau"]]
    expected = {"ratio": bounds, "factor": [1 / q**2 for q in bounds]}
    if show in expected:
        assert record[show].tolist() == pytest.approx(expected[show], rel=1e-12)
    assert title_of(chart) == charts.noise_text(TOGETHER, 0.03)


def test_the_noise_chart_of_adult_draws_the_ceiling_and_says_the_papers_numbers():
    adult = bf.load_scenario("adult")
    chart = charts.noise_chart(adult.policy, 0.03, adult.budget)
    assert "any edge of workclass" in {*with_columns(chart, "curve")["curve"]}
    assert "0.309" in title_of(chart)
    assert "10.5 times" in title_of(chart)


@pytest.mark.parametrize("tau", [1e-9, 0.03, 1e3])
@pytest.mark.parametrize(
    "policy",
    [POLICY, TOGETHER, bf.Policy(STAFF.domain, {}), bf.Policy(STAFF.domain, {}, True)],
    ids=["near", "together", "empty", "present"],
)
def test_every_chart_stands_at_any_temperature_and_policy(records, policy, tau):
    candidates = random_candidates(STAFF.domain, 20, 0)
    looked_at = vote_profile(records, candidates, [*temperatures(5), tau])
    signals = signal(looked_at, policy, 1e-3)
    frame = charts.histogram_frame(records, candidates, tau)
    for chart in (
        charts.noise_chart(policy, tau, BUDGET),
        charts.sharpness_chart(looked_at, tau),
        charts.histogram_chart(frame, signals, tau),
        charts.signal_chart(signals, policy, tau),
        charts.error_chart(signals, policy, tau),
        charts.rounds_chart(policy, tau, BUDGET, 3),
        charts.matched_chart(policy, tau),
    ):
        said = title_of(chart)
        assert said
        assert "nan" not in said
        assert "NaN" not in json.dumps(chart.to_dict())


def test_the_histograms_are_the_votes_and_sum_to_the_table(records, profile):
    candidates = random_candidates(STAFF.domain, 50, 0)
    frame = charts.histogram_frame(records, candidates, 0.03)
    table = with_columns(charts.histogram_chart(frame, signal(profile, POLICY, 0.01), 0.03), "rank", "votes")
    assert table.groupby("method")["votes"].sum().to_dict() == pytest.approx({"BF-Soft": 400, "Hard": 400})
    hard = table[table["method"] == "Hard"]["votes"].tolist()
    votes = bf.HardVote().histogram(STAFF.domain, records, candidates)
    assert hard == sorted(votes, reverse=True)
    assert len(charts.histogram_frame(records, random_candidates(STAFF.domain, 3_000, 0), 0.03)) <= 600


def test_signal_to_noise_on_the_chart_is_votes_over_sigma(profile):
    chart = charts.signal_chart(signal(profile, POLICY, 0.01), POLICY, 0.03)
    table = with_columns(chart, "method", "snr")
    soft = table[(table["method"] == "BF-Soft") & (table["tau"] == 0.03)]["snr"].iloc[0]
    sigma = math.sqrt(2) * math.tanh(POLICY.reach / 0.06) / math.sqrt(0.02)
    assert soft == pytest.approx((400 / 50) / sigma, rel=1e-12)
    assert "Noise drowns the hard vote" in title_of(chart)  # σ is 10 votes, an average candidate has 8


def test_a_flat_vote_above_its_noise_is_called_flat(profile):
    signals = signal(profile, POLICY, 0.01)
    found = drowning(signals, POLICY)
    assert found.smoothed_from is not None
    assert charts.signal_text(signals, 1.0, found).endswith("smoothing has flattened it")
    assert "flattened" not in charts.signal_text(signals, float(signals["tau"].min()), found)


def test_the_error_chart_bands_where_softness_pays(profile):
    signals = signal(profile, POLICY, 0.01)
    found = drowning(signals, POLICY)
    chart = charts.error_chart(signals, POLICY, 0.03)
    band = with_columns(chart, "tau", "to")
    assert band.iloc[0].tolist() == [found.soft_from, found.soft_to]
    assert "softness pays" in title_of(chart)
    hotter = charts.error_text(signal(profile, POLICY, 100.0), 1.0, drowning(signal(profile, POLICY, 100.0), POLICY))
    assert "no τ" in hotter or "smoothing costs more" in hotter


def test_the_rounds_chart_says_the_range_of_sigma():
    chart = charts.rounds_chart(POLICY, 0.03, BUDGET, 4, (1, 2, 3, 4))
    table = with_columns(chart, "round", "sigma")
    soft = table[table["method"] == "BF-Soft"].sort_values("round")["sigma"].to_numpy()
    assert soft[0] / soft[3] == pytest.approx(2, rel=1e-12)  # a quarter of the budget doubles σ
    assert title_of(chart).startswith("σ runs from")
    assert charts.rounds_text(POLICY, 0.03, BUDGET, 4, None).startswith("Each of the 4 rounds adds noise")
    assert charts.rounds_text(POLICY, 0.03, BUDGET, 1, None).startswith("The one round adds noise")


@pytest.mark.parametrize(
    ("shares", "least", "most"),
    [
        ((1, 100, 1), "in round 2", "in rounds 1 and 3"),
        ((100, 1, 100), "in rounds 1 and 3", "in round 2"),
        ((1, 2, 3), "in round 3", "in round 1"),
        ((1, 1, 1, 1, 9), "in round 5", "in 4 rounds"),
    ],
)
def test_the_range_of_sigma_is_its_least_and_its_most_wherever_they_are(shares, least, most):
    spent = BUDGET.split(len(shares), shares)
    bound = bf.sensitivity_bound(POLICY, bf.SoftVote(0.03)).l2
    low, high = (words.number(bound / math.sqrt(2 * rho)) for rho in (max(spent), min(spent)))
    said = charts.rounds_text(POLICY, 0.03, BUDGET, len(shares), shares)
    assert said == f"σ runs from {low} votes {least} to {high} {most}"


def test_weightless_edges_are_said_to_need_no_noise_and_not_to_be_none(records):
    """Their votes cannot move; a policy without edges is another thing, and participation a third."""
    for said in (
        charts.noise_text(WEIGHTLESS, 0.03),
        charts.rounds_text(WEIGHTLESS, 0.03, BUDGET, 8, None),
        charts.matched_text(WEIGHTLESS, 0.03),
    ):
        assert said.startswith("Votes ignore what is joined, of weight 0: its edges need no noise")
        assert "without edges" not in said
    assert charts.noise_text(bf.Policy(STAFF.domain, {}), 0.03).startswith("A policy without edges")
    present = bf.Policy(WEIGHTLESS.domain, WEIGHTLESS.rules, participation=True)
    for said in (charts.noise_text(present, 0.03), charts.matched_text(present, 0.03)):
        assert said.startswith("Participation alone sets the noise")
    voted = vote_profile(bf.Records(WEIGHTLESS.domain, records.codes, records.counts), records.codes[:9], [0.03])
    assert drowning(signal(voted, WEIGHTLESS, 1e-6), WEIGHTLESS).hard_rho == 0
    assert charts.signal_text(signal(voted, WEIGHTLESS, 1e-6), 0.03, None) == "No noise is needed, so no vote drowns"
    found = dial_data(WEIGHTLESS, 0.03, BUDGET, 8)
    assert (found["joined"], found["hard"]) == (True, 0)
    assert dial_data(present, 0.03, BUDGET, 8)["hard"] == 1
    assert not dial_data(bf.Policy(STAFF.domain, {}), 0.03, BUDGET, 8)["joined"]


def test_where_participation_sets_the_noise_the_matched_chart_says_so():
    """q = 1/√2 from τ = r / (2 artanh 1/√2) = 0.567 r on, for every pair; the bound agrees on both sides of it."""
    hot, cold = 0.6 * TOGETHER.reach, 0.5 * TOGETHER.reach
    assert (
        bf.sensitivity_bound(TOGETHER, bf.SoftVote(hot)).l2 == 1 < bf.sensitivity_bound(TOGETHER, bf.SoftVote(cold)).l2
    )
    assert charts.matched_text(TOGETHER, hot).startswith(
        "Participation sets the noise: all pairs with τ ≥ 0.567 × reach"
    )
    assert charts.matched_text(TOGETHER, cold).startswith("All pairs on the line τ = 0.5 × reach")
    for tau in (hot, cold):
        labels = {label for table in data_of(charts.matched_chart(TOGETHER, tau)) for label in table.get("label", [])}
        assert "q = 0.5" not in labels, "no pair has a ratio below the floor"
        assert any("participation" in label for label in labels)
        assert any("this policy" in label for label in labels) == (tau == cold)
    assert "q = 0.5" in {*with_columns(charts.matched_chart(POLICY, 0.03), "label")["label"]}


@pytest.mark.parametrize("size", [1, 2])
def test_one_of_a_thing_is_said_as_one(size):
    one = bf.Records.of_codes(STAFF.domain, np.zeros((1, len(STAFF.domain.names)), dtype=int))
    voted = vote_profile(one, random_candidates(STAFF.domain, size, 0), [0.01, 0.03])
    signals = signal(voted, POLICY, 0.01)
    said = json.dumps(
        [charts.sharpness_chart(voted, 0.03).to_dict(), charts.signal_chart(signals, POLICY, 0.03).to_dict()]
    )
    assert "1 record, " in said
    assert not re.search(r"(?<![\d.,])1 (candidates|records|rounds|votes)", said)
    assert ("1 candidate: 1 vote;" in said) == (size == 1)
    assert "all 1 " not in said


@pytest.mark.parametrize(
    ("finding", "whole"),
    [
        ("the widest edge keeps 87.6 % of the soft vote", "87.6 %"),
        ("At τ = 0.03 softness hands 22.3 % of all votes to others", "τ = 0.03"),
        ("off by 109 votes a candidate against 89.4", "109 votes"),
        ("exact; the formula ρ + 2√(ρ ln 1/δ) holds for any mechanism", "ρ + 2√(ρ ln 1/δ)"),
    ],
)
def test_no_chart_title_parts_a_number_from_its_unit(finding, whole):
    for width in range(16, 60):
        lines = wrapped(finding, width)
        assert " ".join(lines) == finding
        assert any(whole in line for line in lines)
        assert max(map(len, lines)) <= max(width, 21)
        for shown in (title(finding, width=width).text, title("", finding, width).subtitle):
            assert shown == finding or any(whole in line for line in shown)


def test_titles_fit_a_chart_on_a_telephone(records, profile):
    """Some 6.8 pixels a letter of a title and 5.5 of a subtitle: 48 and 60 letters are 330 pixels."""
    signals = signal(profile, TOGETHER, 1e-3)
    frame = charts.histogram_frame(records, random_candidates(STAFF.domain, 50, 0), 0.03)
    drawn = [
        charts.noise_chart(POLICY, 0.03, BUDGET), charts.sharpness_chart(profile, 0.03),
        charts.histogram_chart(frame, signals, 0.03), charts.signal_chart(signals, TOGETHER, 0.03),
        charts.error_chart(signals, TOGETHER, 0.03), charts.rounds_chart(POLICY, 0.03, BUDGET, 3, (1, 100, 1)),
        charts.epsilon_chart(BUDGET), charts.matched_chart(TOGETHER, 1.0), charts.matched_chart(POLICY, 0.03),
    ]  # fmt: skip
    for chart in drawn:
        heading = chart.to_dict()["title"]
        for name, most in (("text", 48), ("subtitle", 60)):
            lines = [heading[name]] if isinstance(heading[name], str) else heading[name]
            assert max(map(len, lines), default=0) <= most, lines


@pytest.mark.parametrize(
    ("budget", "says"),
    [
        (bf.Budget(rho=1e9), "ε = 1e9; the paper's formula says the same"),
        (bf.Budget(rho=1e-3), "ε = 0.142; the paper's formula says 0.216, 52.2 % more"),
        (bf.Budget(rho=1e-3, delta=0.015), "says 0.131, 21.4 times as much"),
    ],
)
def test_how_much_the_formula_overstates_is_said_in_a_number_that_says_something(budget, says):
    assert says in charts.epsilon_text(budget)
    assert "e-" not in charts.epsilon_text(budget).split("says")[1]


@pytest.mark.parametrize(("rho", "delta"), [(1e-3, 1e-5), (1e-12, 1e-5), (1e6, 0.5), (1e-3, 0.5)])
def test_the_exact_epsilon_never_lies_above_the_papers(rho, delta):
    budget = bf.Budget(rho=rho, delta=delta)
    table = with_columns(charts.epsilon_chart(budget), "by", "epsilon")
    both = table.pivot_table(index="rho", columns="by", values="epsilon").dropna()
    assert (both["exact"] <= both["paper's formula"]).all() if "exact" in both else budget.epsilon == 0
    assert "ε" in charts.epsilon_text(budget)


def test_marks_on_the_line_of_equal_noise_need_equal_noise():
    free = bf.Policy(TOGETHER.domain, TOGETHER.rules)
    for policy, tau in ((free, 0.2), (TOGETHER, 0.01)):
        points = charts.matched_points(policy, tau)
        assert {*points["name"]} == {"record", "age", "job", "sick", "satisfaction"}
        q = np.tanh(points["reach"] / (2 * points["tau"]))
        assert q.tolist() == pytest.approx([math.tanh(policy.reach / (2 * tau))] * 5, rel=1e-12)
    held = charts.matched_points(TOGETHER, 0.2)
    assert held["tau"].iloc[0] == 0.2
    assert np.tanh(held["reach"] / (2 * held["tau"]))[1:].tolist() == pytest.approx([math.sqrt(0.5)] * 4, rel=1e-12)
    assert charts.matched_points(bf.Policy(STAFF.domain, {}), 0.03).empty
    assert charts.matched_points(POLICY, 1e-9).empty


def test_the_dial_gets_what_core_says(profile):
    data = json.loads(json.dumps(dial_data(TOGETHER, 0.03, BUDGET, 4, (1, 2, 3, 4), profile, 3)))
    assert data["curves"][0] == {"kind": "record", "name": "record", "reach": TOGETHER.reach}
    assert {curve["name"]: curve["reach"] for curve in data["curves"] if curve["kind"] == "attribute"} == {
        name: reach for name, reach in TOGETHER.reaches.items() if reach
    }
    assert sum(data["rhos"]) == pytest.approx(BUDGET.rho)
    assert data["profile"]["taus"] == sorted(data["profile"]["taus"])
    assert data["revision"] == 3
    assert data["participation"] is True


# --- the page ----------------------------------------------------------------------------------------------------


def small(open_page: Open, **changes: object) -> AppTest:
    return open_page("temperature", s=share.to_link(STAFF.replace(size=24, **changes)))


def number(app: AppTest, label: str):
    return next(each for each in app.number_input if each.label.startswith(label))


def sound(app: AppTest) -> AppTest:
    assert not app.exception, [each.value for each in app.exception]
    return app


def part(app: AppTest, name: str) -> AppTest:
    app.session_state["temperature:part"] = name
    return sound(app.run())


def budget_of(app: AppTest) -> bf.Budget:
    return app.session_state["scenario"].budget


def drawn(app: AppTest) -> int:
    return len(app.get("vega_lite_chart")) + len(app.get("arrow_vega_lite_chart"))


def test_the_page_opens_on_the_signal_and_switches_parts(open_page: Open) -> None:
    app = small(open_page)
    assert drawn(app) == 4
    assert any("Noise drowns the hard vote" in each.value for each in app.markdown)
    assert drawn(part(app, "Budget and rounds")) == 2
    assert drawn(part(app, "Matched noise")) == 1
    assert len(app.dataframe) == 1


@pytest.mark.parametrize(
    ("label", "set_to", "says"),
    [
        ("ρ", 0.02, lambda budget: budget.rho),
        ("ε, exact", 0.5, lambda budget: budget.epsilon),
        ("ε by", 0.5, lambda budget: budget.epsilon_zcdp),
        ("δ", 1e-7, lambda budget: budget.delta),
        ("Attacker", 60.0, lambda budget: 100 * budget.success),
    ],
)
def test_any_way_to_say_the_budget_sets_it_and_the_others_follow(open_page: Open, label, set_to, says) -> None:
    app = part(small(open_page), "Budget and rounds")
    number(app, label).set_value(set_to)
    sound(app.run())
    budget = budget_of(app)
    assert says(budget) == pytest.approx(set_to, rel=1e-8)
    assert says(budget) <= set_to * (1 + 1e-15)
    shown = {each.label: each.value for each in app.number_input}
    assert shown["ρ (zCDP), all rounds"] == budget.rho
    assert shown["ε, exact"] == budget.epsilon
    assert shown["ε by the paper's formula"] == budget.epsilon_zcdp
    assert shown["Attacker's success (%)"] == 100 * budget.success


def test_delta_keeps_whatever_was_set(open_page: Open) -> None:
    app = part(small(open_page), "Budget and rounds")
    number(app, "ε, exact").set_value(0.5)
    sound(app.run())
    before = budget_of(app).rho
    number(app, "δ").set_value(1e-3)
    sound(app.run())
    assert budget_of(app).epsilon == pytest.approx(0.5, rel=1e-8)
    assert budget_of(app).rho > before


@pytest.mark.parametrize(
    ("label", "bad"),
    [
        ("ρ", 0.0), ("ρ", 1e300), ("ρ", 1e-320), ("ε, exact", 1e300), ("ε, exact", 1e-320),
        ("ε by", 0.0), ("ε by", 1e300), ("ε by", 1e-320), ("δ", 1.5), ("δ", 1e-320),
        ("Attacker", 50.0), ("Attacker", 100.0),
    ],
)  # fmt: skip
def test_an_impossible_budget_is_refused_and_nothing_is_lost(open_page: Open, label, bad) -> None:
    app = part(small(open_page), "Budget and rounds")
    before = app.session_state["scenario"]
    number(app, label).set_value(bad)
    sound(app.run())
    assert app.session_state["scenario"] == before
    assert len(app.error) == 1


@pytest.mark.parametrize(("rho", "delta"), [(1e-12, 1e-5), (1e6, 1e-5), (1e-3, 0.5), (1e6, 0.5)])
@pytest.mark.parametrize("tau", [1e-9, 1e3])
def test_absurd_scenarios_still_show_every_part(open_page: Open, tau, rho, delta) -> None:
    app = small(open_page, tau=tau, rho=rho, delta=delta)
    assert drawn(app) == 4
    assert drawn(part(app, "Budget and rounds")) == 2
    assert drawn(part(app, "Matched noise")) == 1


def test_rounds_and_shares_stay_in_step(open_page: Open) -> None:
    app = part(small(open_page), "Budget and rounds")
    next(button for button in app.button if button.label == "Rising").click()
    sound(app.run())
    assert app.session_state["scenario"].shares == tuple(range(1, 9))
    number(app, "Rounds").set_value(3)
    sound(app.run())
    assert app.session_state["scenario"].shares == (1, 2, 3)
    shares = next(each for each in app.text_input if each.label.startswith("Shares"))
    shares.set_value("1; 1, 2 4")
    sound(app.run())
    assert (app.session_state["scenario"].rounds, app.session_state["scenario"].shares) == (4, (1, 1, 2, 4))
    number(app, "Rounds").set_value(6)
    sound(app.run())
    assert app.session_state["scenario"].shares == (1, 1, 2, 4, 4, 4)
    next(button for button in app.button if button.label == "Equal").click()
    sound(app.run())
    assert app.session_state["scenario"].shares is None


@pytest.mark.parametrize(
    "bad", ["1, two", "1, -1", "0", "1, nan", "1e308 1e308 1e-308", "1e-320 1e300", "1 3e-308", "1e999"]
)
def test_shares_that_are_no_shares_are_refused(open_page: Open, bad) -> None:
    app = part(small(open_page), "Budget and rounds")
    before = app.session_state["scenario"]
    next(each for each in app.text_input if each.label.startswith("Shares")).set_value(bad)
    sound(app.run())
    assert app.session_state["scenario"] == before
    assert len(app.error) == 1


def test_an_empty_policy_and_participation_are_told_apart(open_page: Open) -> None:
    app = small(open_page, policy=bf.Policy(STAFF.domain, {}))
    assert any("no edges" in each.value for each in app.markdown)
    app = small(open_page, policy=WEIGHTLESS)
    assert any("weight 0" in each.value for each in app.markdown)
    assert not any("no edges" in each.value or "drowns" in each.value for each in app.markdown)
    assert drawn(app) == 2
    app = part(small(open_page, policy=TOGETHER), "Matched noise")
    assert any("0.707" in each.value for each in app.info)


def test_without_a_table_the_rest_still_works(open_page: Open) -> None:
    app = small(open_page, data=None)
    assert any("no table" in each.value for each in app.info)
    assert drawn(part(app, "Budget and rounds")) == 2
    assert drawn(part(app, "Matched noise")) == 1


def test_rounds_of_the_last_synthesis_can_be_looked_at(open_page: Open) -> None:
    app = small(open_page, rounds=3)
    app.switch_page("../../pages/synthesis.py").run()
    next(button for button in app.button if button.label == "Run").click()
    app.run()
    job = app.session_state["synthesis:job"]
    assert job.wait(60)
    app.switch_page("../../pages/temperature.py").run()
    app.session_state["temperature:source"] = "BF-Soft"
    sound(app.run())
    next(each for each in app.slider if each.label == "Round").set_value(3)
    sound(app.run())
    key, _, looked_at = app.session_state["temperature:made"]["curve"]
    assert key[-1][:2] == ("BF-Soft", 3)
    third = job.rounds["BF-Soft"][2].candidates
    again = vote_profile(job.records, third, looked_at["tau"])
    assert looked_at["smoothing"].tolist() == pytest.approx(again["smoothing"].tolist())
