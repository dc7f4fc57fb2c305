"""The bars of reach: what they show, and what they say where there is nothing to show."""

import pytest

import bfsoft as bf
from bfsoft_explorer.charts import policy as charts


def drawn(chart) -> list[dict]:
    return next(iter(chart.to_dict()["datasets"].values()))


def many(rules: dict) -> bf.Policy:
    return bf.Policy(bf.Domain([bf.Numeric(f"a{at}", 0, 9) for at in range(40)]), rules)


def subtitle(chart) -> str:
    return chart.to_dict()["title"].get("subtitle") or ""


@pytest.mark.parametrize("count", [3, 40])
def test_without_an_edge_there_are_words_and_no_bars(count):
    policy = bf.Policy(bf.Domain([bf.Numeric(f"a{at}", 0, 9) for at in range(count)]), {})
    spec = charts.reach_bars(policy).to_dict()
    assert spec["mark"]["text"] == ["no edge, so no reach"]
    assert spec["title"]["text"] == charts.reach_text(policy) == "No attribute is protected yet"
    assert not spec["title"].get("subtitle")


def test_edges_of_weight_0_have_no_reach_to_draw():
    domain = bf.Domain([bf.Numeric("a", 0, 9), bf.Numeric("b", 0, 9)], weights={"a": 0, "b": 1})
    spec = charts.reach_bars(bf.Policy(domain, {"a": bf.Threshold(1)})).to_dict()
    assert spec["mark"]["type"] == "text"
    assert "weight 0" in " ".join(spec["title"]["text"])


def test_of_many_attributes_those_that_reach_are_drawn_and_the_others_counted():
    few = charts.reach_bars(many({"a3": bf.Threshold(2), "a30": bf.Threshold(1)}))
    assert [row["attribute"] for row in drawn(few)] == ["a3", "a30"]
    assert subtitle(few) == "38 more attributes without any reach"
    all_of_them = charts.reach_bars(many({f"a{at}": bf.Threshold(1 + at % 9) for at in range(40)}))
    assert len(drawn(all_of_them)) == 14
    assert subtitle(all_of_them) == "the 14 of 40 attributes that reach furthest"
    assert {row["sets"] for row in drawn(all_of_them)} == {True, False}


def test_a_small_policy_shows_every_attribute():
    policy = bf.load_scenario("adult").policy
    rows = drawn(charts.reach_bars(policy))
    assert [row["attribute"] for row in rows] == [*policy.domain.names]
    assert [row["shown"] for row in rows] == ["0.0192", *["unprotected"] * 4]


def test_numbers_and_names_are_short():
    huge = bf.Domain(
        [bf.Numeric("x", -8e307, 8e307, 1e306), bf.Categorical("y", [f"{'on and ' * 20}{c}" for c in "ab"])]
    )
    number = charts.reach_text(bf.Policy(huge, {"x": bf.Threshold(1e307)}))
    assert number == "x sets the reach: 0.0312 (-8e307 ↔ -7e307)"
    name = charts.reach_text(bf.Policy(huge, {"y": bf.Complete()}))
    assert len(name) < 90
    assert name.count("a ↔") == name.count("b)") == 1
