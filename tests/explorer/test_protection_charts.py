"""The protection map and its comparison show the library's numbers, and never a better one."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest

import bfsoft as bf
from bfsoft.privacy import attacker_success
from bfsoft_explorer.charts import protection as charts

BUDGET = bf.Budget(rho=1e-3)
VOTE = bf.SoftVote(0.03)


@pytest.fixture(scope="module")
def adult() -> bf.Policy:
    return bf.load_scenario("adult-age-hours-workclass").policy


def test_each_pair_of_ages_is_one_cell_with_the_librarys_number(adult):
    protection = adult.protection("age", VOTE, BUDGET)
    frame = charts.map_frame(protection)
    assert len(frame) == 74 * 73 // 2
    for row in frame.sample(50, random_state=0).itertuples():
        a, b = (protection.values.index(int(name)) for name in (row.a, row.b))
        assert row.level == protection.success[a, b]
        assert row.shown == f"{100 * protection.success[a, b]:.1f} %"
        assert row.hops == f"{math.ceil((b - a) / 7)}"


def test_numbers_of_theory_by_hand(adult):
    """Two ages 7 apart get ρ by path; 17 and 90, at distance 0.2, get ρ (tanh(0.2/2τ)/q)², q for reach 0.2."""
    frame = charts.map_frame(adult.protection("age", VOTE, BUDGET), measure="zcdp").set_index(["a", "b"])
    narrow = adult.with_rule("workclass", None)
    alone = charts.map_frame(narrow.protection("age", VOTE, BUDGET), measure="zcdp").set_index(["a", "b"])
    assert frame.loc[("17", "90"), "level"] == pytest.approx(1e-3, rel=1e-12)
    q = math.tanh(0.2 * 7 / 73 / 0.06)
    assert alone.loc[("17", "24"), "level"] == pytest.approx(1e-3, rel=1e-12)
    assert alone.loc[("17", "90"), "level"] == pytest.approx(1e-3 * (math.tanh(0.2 / 0.06) / q) ** 2, rel=1e-12)


@pytest.mark.parametrize("measure", [*charts.MEASURES])
def test_measures_agree_with_the_library(adult, measure):
    protection = adult.protection("hours.per.week", VOTE, BUDGET)
    level = charts.map_frame(protection, measure=measure)["level"].to_numpy()
    expected = {"success": protection.success, "zcdp": protection.zcdp, "epsilon": protection.epsilon}[measure]
    assert level == pytest.approx(expected[np.triu_indices(len(expected), 1)], rel=1e-12)


@pytest.mark.parametrize("count", [99, 100, 1000, 1001, 2000])
def test_bins_are_few_and_each_says_its_worst_pair(count):
    policy = bf.Policy(bf.Domain([bf.Numeric("x", 0, count - 1)]), {"x": bf.Threshold(5)})
    protection = policy.protection("x", VOTE, BUDGET)
    width = charts.bin_width(count)
    frame = charts.map_frame(protection, measure="zcdp")
    assert len(frame) <= 5000
    assert (width == 1) == (count <= 99)
    for row in frame.sample(30, random_state=1).itertuples():
        block = protection.zcdp[
            row.first * width : (row.first + 1) * width, row.second * width : (row.second + 1) * width
        ]
        assert row.level == block.max()
    assert frame["level"].max() == protection.zcdp.max()


def test_a_pair_without_a_path_has_no_promise_by_path_and_one_by_distance(adult):
    protection = adult.protection("workclass", VOTE, BUDGET)
    by_path = charts.map_frame(protection, by="path").set_index(["a", "b"])
    apart, joined = ("Private", "State-gov"), ("Federal-gov", "State-gov")
    assert by_path.loc[apart, "shown"] == "no promise"
    assert by_path.loc[apart, "hops"] == "no path"
    assert by_path.loc[joined, "shown"] != "no promise"
    assert math.isfinite(charts.map_frame(protection, by="best").set_index(["a", "b"]).loc[apart, "zcdp"])
    text = charts.protection_text(adult, "workclass", VOTE, BUDGET, by="path")
    assert "no path joins Private and" in text


def test_titles_name_the_finding(adult):
    narrow = adult.with_rule("workclass", None)
    text = charts.protection_text(narrow, "age", VOTE, BUDGET)
    q = math.tanh(0.2 * 7 / 73 / 0.06)
    worst = 100 * float(attacker_success(1e-3 * (math.tanh(0.2 / 0.06) / q) ** 2))
    assert text == f"age: at most 50.9 % across an edge; 17 and 90 are told apart best: {worst:.1f} %"
    assert charts.protection_text(narrow, "income", VOTE, BUDGET).startswith("income has no edges; ")
    assert charts.comparison_text(narrow, "age", VOTE, BUDGET).startswith("Up to 7 apart as good as plain DP")


def test_the_alternatives_are_plain_dp_at_the_same_budget_and_at_the_same_noise(adult):
    narrow = adult.with_rule("workclass", None)
    frame = charts.comparison_frame(narrow, "age", VOTE, BUDGET, "zcdp")
    q = bf.sensitivity_bound(narrow, VOTE).ratio
    assert set(frame.loc[frame.source == charts.SAME_RHO, "level"]) == {1e-3}
    assert frame.loc[frame.source == charts.SAME_NOISE, "level"].to_numpy() == pytest.approx(1e-3 / q**2, rel=1e-12)
    soft = frame[frame.source == charts.SOFT].set_index("distance")["level"]
    assert soft.index.tolist() == [*range(1, 74)]
    assert soft[7] == pytest.approx(1e-3, rel=1e-12)
    assert soft[8] > 1e-3


def test_a_policy_without_edges_adds_no_noise_and_says_so(adult):
    bare = bf.Policy(adult.domain, {})
    assert charts.comparison_text(bare, "age", VOTE, BUDGET) == "Without noise nothing is hidden"
    assert "no noise" in charts.protection_text(bare, "age", VOTE, BUDGET)


def test_many_distances_are_taken_together_under_the_largest():
    policy = bf.Policy(bf.Domain([bf.Numeric("x", 0, 1999)]), {"x": bf.Threshold(10)})
    frame = charts.comparison_frame(policy, "x", VOTE, BUDGET, "zcdp")
    soft = frame[frame.source == charts.SOFT]
    assert len(frame) <= 5000
    assert soft["distance"].max() == 1999
    assert soft["level"].max() == policy.protection("x", VOTE, BUDGET).zcdp.max()
    assert soft["distance"].is_monotonic_increasing


def specification(chart) -> dict:
    return json.loads(chart.to_json())


@pytest.mark.parametrize("measure", [*charts.MEASURES])
@pytest.mark.parametrize(
    "rules",
    [{}, {"x": bf.Threshold(2), "c": bf.Complete()}, {"c": bf.Blocks([["a", "b"]]), "h": bf.Threshold(2)}],
    ids=["bare", "number and all labels", "labels"],
)
@pytest.mark.parametrize("participation", [False, True])
def test_every_kind_of_attribute_draws_under_every_policy(rules, measure, participation):
    domain = bf.Domain(
        [
            bf.Numeric("x", 0, 1, 0.1),
            bf.Categorical("c", ["a", "b", "c"]),
            bf.Hierarchical("h", {"up": ["p", "q"], "down": ["r"]}),
            bf.Categorical("one", ["only"]),
        ]
    )
    policy = bf.Policy(domain, rules, participation)
    for name in ("x", "c", "h"):
        case = (policy, name, VOTE, BUDGET, measure)
        for by in charts.ARGUMENTS:
            spec = specification(charts.protection_map(*case, by))
            drawn = next(iter(spec["datasets"].values()))
            assert len(drawn) == math.comb(len(domain[name].values), 2)
            shown = spec["title"]["text"]
            assert (" ".join(shown) if isinstance(shown, list) else shown) == charts.protection_text(*case, by)
        assert specification(charts.comparison_chart(*case))["title"]["text"]
    assert "one value only" in charts.protection_text(policy, "one", VOTE, BUDGET, measure)
    assert "one value only" in charts.comparison_text(policy, "one", VOTE, BUDGET, measure)


def test_the_frame_holds_text_where_hovering_shows_text(adult):
    frame = charts.map_frame(adult.protection("workclass", VOTE, BUDGET))
    assert isinstance(frame, pd.DataFrame)
    assert all(isinstance(text, str) for column in ("a", "b", "hops", "shown", "path") for text in frame[column])


def legend_of(chart) -> dict:
    """The legend of a map's colours."""
    colour = chart.to_dict()["encoding"]["color"]
    return colour.get("legend") or colour["condition"].get("legend") or {}


def test_a_legend_names_the_colour_of_no_promise_and_writes_no_label_over_another(adult):
    scattered = adult.with_rule("age", bf.Blocks([[17, 18], [40, 41]]))
    assert (
        "dark red: no promise at all"
        in legend_of(charts.protection_map(scattered, "age", VOTE, BUDGET, "epsilon", "path"))["title"]
    )
    legend = legend_of(charts.protection_map(adult, "age", VOTE, BUDGET, "epsilon", "path"))
    assert "dark red: no promise at all" not in legend["title"]
    values = legend["values"]
    assert all((b - a) / (values[-1] - values[0]) > 0.12 for a, b in itertools.pairwise(values))
