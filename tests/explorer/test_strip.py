"""The strip above every page: it says the scenario, and its menu compares, opens, saves and hands over a notebook."""

from __future__ import annotations

import math
from collections.abc import Callable

import nbformat
import pytest
from streamlit.testing.v1 import AppTest

import bfsoft as bf
from bfsoft.differences import differences
from bfsoft_explorer import share, strip, words
from bfsoft_explorer.notebook import notebook
from bfsoft_explorer.strip import facts

Open = Callable[..., AppTest]


def differing(app: AppTest) -> dict[str, tuple[str, str]]:
    """The table of differences in the menu: setting → (now, there)."""
    table = next((each.value for each in app.markdown if each.value.startswith("| Setting | Now | There |")), "")
    rows = [line.strip("| ").replace("\\", "").split(" | ") for line in table.splitlines()[2:]]
    return {setting: (now, there) for setting, now, there in rows}


def bring(app: AppTest, name: str, content: bytes) -> AppTest:
    app.get_by_key("menu:file").upload(name, content)
    app.run()
    assert not app.exception, [each.value for each in app.exception]
    return app


def press(app: AppTest, label: str) -> AppTest:
    next(button for button in app.button if button.label == label).click()
    app.run()
    assert not app.exception, [each.value for each in app.exception]
    return app


def test_facts_are_the_librarys_numbers() -> None:
    scenario = bf.load_scenario("adult")
    short = {label: (value, full) for label, value, full in strip.facts(scenario, "adult")}
    assert short["reach r"][1].startswith(repr(scenario.policy.reach))
    assert short["noise ratio q"][1].startswith(repr(bf.sensitivity_bound(scenario.policy, bf.SoftVote(0.03)).ratio))
    assert float(short["noise ratio q"][0]) == pytest.approx(math.tanh(0.2 * 7 / 73 / 0.06), rel=2e-3)
    assert repr(scenario.budget.epsilon) in short["ε"][1]


def test_a_file_of_data_that_is_not_a_sample_is_said_to_be_missing(open_page: Open) -> None:
    scenario = bf.load_scenario("staff").replace(data="nowhere.csv")
    said = "".join(each.value for each in open_page("policy", s=share.to_link(scenario)).html)
    assert "nowhere.csv (not here)" in said


@pytest.mark.parametrize("page", ["policy", "domain", "synthesis"])
def test_the_strip_is_on_every_page_and_escapes_names(open_page: Open, page: str) -> None:
    domain = bf.Domain([bf.Numeric("<b>age", 0, 9)])
    app = open_page(page, s=share.to_link(bf.Scenario.of(bf.Policy(domain, {"<b>age": bf.Threshold(1)}))))
    said = "".join(each.value for each in app.html)
    assert "&lt;b&gt;age θ = 1" in said
    assert "<b>age" not in said


def test_a_file_is_compared_before_it_is_opened(open_page: Open) -> None:
    now = bf.load_scenario("adult")
    other = now.replace(policy=now.policy.with_rule("age", bf.Threshold(9)), tau=0.05)
    app = bring(open_page("policy"), "other.yaml", other.dumps().encode())
    assert app.session_state["scenario"] == now
    assert differing(app) == {"policy.age": ("threshold 7", "threshold 9"), "tau": ("0.03", "0.05")}
    app.session_state["menu"] = True
    press(app, r"Open other\.yaml")
    assert app.session_state["scenario"] == other
    assert not app.session_state["menu"]


def test_a_ready_scenario_is_compared_and_opened(open_page: Open) -> None:
    app = open_page("policy")
    app.selectbox(key="menu:ready").set_value("adult-age-hours")
    app.run()
    assert differing(app)["policy.hours.per.week"] == ("—", "threshold 8")
    press(app, r"Open adult\-age\-hours")
    assert app.session_state["scenario"] == bf.load_scenario("adult-age-hours")


def test_the_present_scenario_has_nothing_to_open(open_page: Open) -> None:
    app = open_page("policy")
    assert differing(app) == {}
    assert any("is the present scenario" in each.value for each in app.caption)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"domain: {age: {numeric: [1, 2]}}\n", "policy"),
        (b"domain: [", "line"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"domain: {age: {numeric: [17, 90]}}\npolicy: {aeg: complete}\n", "did you mean 'age'"),
    ],
)
def test_a_bad_file_says_what_is_wrong_and_changes_nothing(open_page: Open, content: bytes, said: str) -> None:
    app = bring(open_page("policy"), "bad.yaml", content)
    assert any(words.plain(said) in each.value and words.plain("bad.yaml") in each.value for each in app.error)
    assert app.session_state["scenario"] == bf.load_scenario("adult")


def test_a_file_and_a_notebook_are_offered(open_page: Open) -> None:
    for page in ("policy", "domain", "synthesis"):
        labels = [button.label for button in open_page(page).get("download_button")]
        assert {"Save as YAML", "Open as notebook"} <= set(labels)


def code_for(app: AppTest, page: str) -> str:
    """The code of the notebook that the menu hands over."""
    text = notebook(page, app.session_state["scenario"], app.session_state["shown"][page])
    return "\n".join(cell.source for cell in nbformat.reads(text, 4).cells)


def choose(app: AppTest, label: str, value: object) -> AppTest:
    kinds = (app.get("button_group"), app.number_input, app.text_input, app.selectbox)
    next(each for kind in kinds for each in kind if each.label == label).set_value(value)
    app.run()
    assert not app.exception, [each.value for each in app.exception]
    return app


def test_a_notebook_gets_what_the_pilot_page_asks(open_page: Open) -> None:
    app = choose(open_page("pilot", s="staff"), "Temperatures τ", "0.02, 0.2")
    app = choose(choose(app, "Seeds", 3), "Records in the private table", 1_000)
    code = code_for(app, "pilot")
    assert "taus=[0.02, 0.2]" in code
    assert "seeds=3" in code
    assert "private_size = 1000" in code


def test_a_notebook_gets_what_the_paper_page_shows(open_page: Open) -> None:
    app = choose(open_page("paper"), "Experiment", "Crossover")
    assert "charts.PICTURES['table4'](found.table('paper', 'table4'), 'adult', 'paper')" in code_for(app, "paper")
    app = choose(choose(choose(app, "Loop", "tab-pe"), "Data", "bank"), "Error", "2-way")
    assert "charts.PICTURES['table4'](found.table('tab-pe', 'table4'), 'bank', '2-way')" in code_for(app, "paper")


def test_a_notebook_gets_what_the_synthesis_page_runs_and_shows(open_page: Open) -> None:
    app = choose(open_page("synthesis", s="staff"), "Methods", ["Hard", "Tab-PE"])
    app = choose(choose(app, "Look at", "Over seeds"), "Seeds", 5)
    code = code_for(app, "synthesis")
    assert "methods = [bf.hard(), bf.tab_pe()]" in code
    assert "range(scenario.seed, scenario.seed + 5)" in code


def test_a_policy_too_long_for_a_link_says_so(open_page: Open) -> None:
    domain = bf.Domain([bf.Numeric("x", 0, 3_000)])
    edges = [(a, (a * 1_237 + 11) % 3_000) for a in range(3_000) if a != (a * 1_237 + 11) % 3_000]
    app = open_page("policy")
    app.session_state["scenario"] = bf.Scenario.of(bf.Policy(domain, {"x": bf.Edges(edges)}))
    app.run()
    assert any("too long for a link" in each.value for each in app.warning)


def test_many_differences_are_cut_short_and_counted(open_page: Open) -> None:
    many = bf.Domain([bf.Categorical(f"x{at}", [f"value number {of}" for of in range(9)]) for at in range(30)])
    app = bring(open_page("policy"), "many.yaml", bf.Scenario.of(bf.Policy(many, {})).dumps().encode())
    shown = differing(app)
    assert len(shown) == 12
    assert all(len(cell) <= 60 for row in shown.values() for cell in row)
    total = len(differences(bf.load_scenario("adult"), bf.Scenario.of(bf.Policy(many, {}))))
    assert any(each.value == f"and {total - 12} more settings" for each in app.caption)


def test_a_policy_without_edges_makes_no_promise() -> None:
    """ε would read as protection where there is no noise at all."""
    scenario = bf.load_scenario("adult")
    bare = scenario.replace(policy=bf.Policy(scenario.domain, {}))
    assert dict((label, value) for label, value, _ in facts(bare, "adult"))["ε"] == "no promise"
    assert "at δ" in dict((label, value) for label, value, _ in facts(scenario, "adult"))["ε"]
