"""The Policy page without a browser: what it says follows the scenario; suggestions apply, undo and enter the link."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

import bfsoft as bf
from bfsoft_explorer import share

Open = Callable[..., AppTest]


def linked(open_page: Open, scenario: bf.Scenario) -> AppTest:
    return open_page("policy", s=share.to_link(scenario))


def said(app: AppTest) -> str:
    return "\n".join(each.value for each in [*app.markdown, *app.caption, *app.info])


def charts(app: AppTest) -> list[str]:
    """The text alternatives of the charts on the page."""
    return [each.proto.alt for each in [*app.get("vega_lite_chart"), *app.get("arrow_vega_lite_chart")]]


def choose(app: AppTest, key: str, option: str) -> AppTest:
    app.get_by_key(key).set_value(option)
    app.run()
    assert not app.exception, [each.value for each in app.exception]
    return app


def apply(app: AppTest, action: str) -> AppTest:
    app.button(key=f"policy:apply:{action}").click()
    app.run()
    assert not app.exception, [each.value for each in app.exception]
    return app


def test_the_side_column_says_what_the_policy_buys_promises_and_leaves_open(open_page: Open) -> None:
    text = said(open_page("policy", s="adult"))
    assert "0.309 of the hard vote's noise: as if you had 10.5 times the budget" in text
    assert "release is 0.0105-zCDP" in text
    assert r"**workclass, education\.num, hours\.per\.week and income**: no edge protects any value" in text


def test_every_chart_has_a_text_alternative_that_states_the_finding(open_page: Open) -> None:
    assert charts(open_page("policy", s="adult")) == [
        "age sets the reach: 0.0192 (17 ↔ 24)",
        "age: at most 50.9 % across an edge; 17 and 90 are told apart best: 52.9 %",
        "Up to 7 apart as good as plain DP, with 0.309 of its noise",
    ]


def test_measure_and_argument_change_the_map(open_page: Open) -> None:
    app = choose(open_page("policy", s="adult"), "policy:measure", "zcdp")
    assert charts(app)[1] == "age: at most 0.001 across an edge; 17 and 90 are told apart best: 0.0104"
    app = choose(app, "policy:by", "path")
    assert "told apart best: 0.121" in charts(app)[1]  # 11 hops: 121 ρ


def test_another_attribute_brings_its_own_map(open_page: Open) -> None:
    app = choose(open_page("policy", s="adult"), "policy:attribute", "income")
    assert charts(app)[1].startswith("income has no edges; <=50K and >50K are told apart best")


def test_a_suggestion_applies_and_comes_off_again(open_page: Open) -> None:
    before = bf.load_scenario("adult-age-hours-workclass")
    app = linked(open_page, before)
    app = apply(app, "A two-level hierarchy for workclass")
    after = app.session_state["scenario"]
    assert after.domain["workclass"].kind == "hierarchical"
    assert after.policy.reach == pytest.approx(0.1)
    assert r"Done. A two\-level hierarchy for workclass." in said(app)
    app.button(key="policy:undo:button").click()
    app.run()
    assert app.session_state["scenario"] == before
    assert "Done." not in said(app)


def test_undo_is_offered_only_while_the_policy_is_the_one_applied(open_page: Open) -> None:
    app = apply(open_page("policy", s="adult"), "θ = 3 for age")
    now = app.session_state["scenario"]
    app.session_state["scenario"] = now.replace(policy=now.policy.with_rule("age", bf.Threshold(20)))
    app.run()
    assert "Done." not in said(app)


def test_a_suggestion_changes_the_link(open_page: Open) -> None:
    app = apply(open_page("policy", s="adult"), "θ = 3 for age")
    link = app.query_params["s"]
    again = open_page("policy", s=link[0] if isinstance(link, list) else link)
    assert again.session_state["scenario"] == app.session_state["scenario"]


def test_an_attribute_of_one_value_or_too_many_has_no_map_and_says_why(open_page: Open) -> None:
    domain = bf.Domain([bf.Categorical("one", ["only"]), bf.Numeric("many", 0, 5000)])
    app = linked(open_page, bf.Scenario.of(bf.Policy(domain, {})))
    assert "one has one value only" in said(app)
    app = choose(app, "policy:attribute", "many")
    assert "many has 5,001 values, and a map takes at most 2,000" in said(app)


def test_participation_is_a_setting_of_the_scenario(open_page: Open) -> None:
    app = open_page("policy", s="adult")
    app.toggle(key="bound:participation").set_value(True)
    app.run()
    assert app.session_state["scenario"].participation
    apply(app, "Protect values only, not taking part")
    assert not app.session_state["scenario"].participation


def test_a_bare_policy_offers_first_edges(open_page: Open) -> None:
    app = linked(open_page, bf.Scenario.of(bf.Policy(bf.load_scenario("adult").domain, {})))
    assert "Draw an edge to begin" in said(app)
    app = apply(app, "θ = 7 for age")
    assert app.session_state["scenario"].policy.rules == {"age": bf.Threshold(7)}


def test_a_table_of_ones_own_follows_a_hierarchy(open_page: Open) -> None:
    """A suggestion may reorder an attribute's values; the user's table must mean the same records after it."""
    from bfsoft_explorer import state

    before = bf.load_scenario("adult-age-hours-workclass").replace(data=None)
    frame = before.domain.decode(before.domain.encode(bf.load_sample("adult")[0])[:50])
    app = linked(open_page, before)
    app.session_state["table"] = bf.Records.of_frame(before.domain, frame)
    apply(app, "A two-level hierarchy for workclass")
    domain = app.session_state["scenario"].domain
    records = state._own(app.session_state["table"], domain)
    expected = bf.Records.of_frame(domain, frame)
    assert (records.codes == expected.codes).all()
    assert (records.counts == expected.counts).all()


def test_two_hundred_attributes_fit_the_page(open_page: Open) -> None:
    domain = bf.Domain([bf.Numeric(f"x{at}", 0, 9) for at in range(200)])
    app = linked(open_page, bf.Scenario.of(bf.Policy(domain, {"x7": bf.Threshold(1)})))
    assert app.selectbox(key="policy:attribute").value == "x7"
    assert "**x0, x1, x2, x3, x4, x5 and 193 more**: no edge protects" in said(app)
    choose(app, "policy:attribute", "x150")
    assert charts(app)[1].startswith("x150 has no edges")


def test_the_chosen_attribute_is_still_chosen_after_another_page(open_page: Open) -> None:
    app = choose(open_page("policy"), "policy:attribute", "income")
    app.switch_page("../../pages/domain.py").run()
    app.switch_page("../../pages/policy.py").run()
    assert charts(app)[1].startswith("income has no edges")


def test_more_values_than_a_canvas_can_show_are_said_and_can_still_be_protected(open_page: Open) -> None:
    domain = bf.Domain([bf.Categorical("code", range(2_500)), bf.Numeric("salary", 0, 9_999)])
    app = linked(open_page, bf.Scenario.of(bf.Policy(domain, {"code": bf.Complete(), "salary": bf.Complete()})))
    assert any("2,500 values, too many to draw" in each.value for each in app.info)
    next(button for button in app.button if button.label == "Protect none").click()
    app.run()
    assert not app.exception
    assert app.session_state["scenario"].policy.unprotected == ("code",)
