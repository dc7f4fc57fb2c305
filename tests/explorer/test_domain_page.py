"""The page Data and domain without a browser: edits reach the scenario, mistakes stay at their field, rules follow."""

from __future__ import annotations

import io
from collections.abc import Callable

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import bfsoft as bf
from bfsoft_explorer import share, words

Open = Callable[..., AppTest]


def run(app: AppTest) -> AppTest:
    app.run()
    assert not app.exception, [each.value for each in app.exception]
    return app


def put(app: AppTest, key: str, value: object) -> AppTest:
    app.get_by_key(key).set_value(value)
    return run(app)


def press(app: AppTest, key: str) -> AppTest:
    app.button(key=key).click()
    return run(app)


def scenario(app: AppTest) -> bf.Scenario:
    return app.session_state["scenario"]


def said(app: AppTest) -> str:
    return "\n".join(each.value for each in [*app.markdown, *app.caption, *app.info, *app.warning, *app.error])


def upload(app: AppTest, name: str, content: bytes) -> AppTest:
    put(app, "domain:public", True)
    app.get_by_key("domain:file").upload(name, content)
    return run(app)


def test_a_bound_reaches_the_scenario_and_keeps_the_rule(open_page: Open) -> None:
    app = put(open_page("domain", s="adult"), "domain:0:high", "100")
    assert scenario(app).domain["age"].high == 100
    assert scenario(app).policy.rules == {"age": bf.Threshold(7)}


def test_a_mistake_is_told_at_its_field_and_loses_nothing(open_page: Open) -> None:
    app = open_page("domain", s="adult")
    before = scenario(app)
    put(app, "domain:0:high", "9O")
    assert scenario(app) == before
    assert app.text_input(key="domain:0:high").value == "9O"
    assert "is not a number" in said(app)
    assert "1 attribute has a mistake" in said(app)
    app.switch_page("../../pages/policy.py").run()
    app.switch_page("../../pages/domain.py").run()
    assert app.text_input(key="domain:0:high").value == "9O"
    put(app, "domain:0:high", "80")
    assert scenario(app).domain["age"].high == 80
    assert "mistake" not in said(app)


@pytest.mark.parametrize(
    ("field", "typed", "message"),
    [
        ("low", "", "give a number"),
        ("low", "95", "is above high"),
        ("high", "90.5", "plus whole steps"),
        ("step", "0", "step must be above 0"),
        ("step", "1,5", "decimal comma"),
        ("weight", "-1", "must be 0 or more"),
        ("weight", "much", "is not a number"),
        ("name", " ", "give the attribute a name"),
        ("name", "income", "another attribute is named"),
    ],
)
def test_each_mistake_has_its_words(open_page: Open, field: str, typed: str, message: str) -> None:
    app = put(open_page("domain", s="adult"), f"domain:0:{field}", typed)
    assert message in said(app).replace("\\", "")


def test_renaming_takes_the_rule_along(open_page: Open) -> None:
    app = put(open_page("domain", s="adult"), "domain:0:name", "years")
    assert scenario(app).policy.rules == {"years": bf.Threshold(7)}
    assert scenario(app).data is None  # the sample has no such column


def test_add_move_remove_and_undo(open_page: Open) -> None:
    app = open_page("domain", s="adult")
    before = scenario(app)
    press(app, "domain:add")
    assert scenario(app).domain.names[-1] == "attribute 1"
    press(app, "domain:up")
    assert scenario(app).domain.names[-2] == "attribute 1"
    put(app, "domain:selected", 0)
    press(app, "domain:remove")
    assert "age" not in scenario(app).domain.names
    assert "age is gone, and its rule with it" in said(app)
    for _ in range(3):
        press(app, "domain:undo")
    assert scenario(app) == before


def test_the_last_attribute_may_go_but_the_scenario_keeps_its_domain(open_page: Open) -> None:
    one = bf.Scenario.of(bf.Policy(bf.Domain([bf.Numeric("x", 0, 9)]), {"x": bf.Threshold(1)}))
    app = press(open_page("domain", s=share.to_link(one)), "domain:remove")
    assert "There is no attribute left" in said(app)
    assert scenario(app) == one
    press(app, "domain:add")
    assert scenario(app).domain.names == ("attribute 1",)


def test_a_category_taken_out_and_put_back_brings_its_edges_back(open_page: Open) -> None:
    app = open_page("domain", s=share.to_link(bf.load_scenario("adult-age-hours-workclass")))
    before = scenario(app).policy
    put(app, "domain:selected", 1)
    text = app.text_area(key="domain:1:categories").value
    put(app, "domain:1:categories", text.replace("Local-gov\n", ""))
    assert scenario(app).policy.edge_count("workclass") == before.edge_count("workclass") - 2
    assert "2 edges to values that are gone" in said(app).replace("\\", "")
    put(app, "domain:1:categories", text)
    assert scenario(app).policy == before


def test_categories_become_a_hierarchy_by_indenting(open_page: Open) -> None:
    app = put(open_page("domain", s="adult"), "domain:selected", 1)
    put(app, "domain:1:kind", "hierarchical")
    assert scenario(app).domain["workclass"].kind == "hierarchical"
    lines = app.text_area(key="domain:1:tree").value.splitlines()
    put(
        app,
        "domain:1:tree",
        "\n".join(["paid", *(f"  {line}" for line in lines[:6]), "unpaid", *(f"  {line}" for line in lines[6:])]),
    )
    assert scenario(app).domain["workclass"].paths[0] == ("paid",)
    put(app, "domain:1:tree", "paid\n  a\n  a")
    assert "is there already; write it once" in said(app).replace("\\", "")


def test_weights_are_exact_and_become_equal_again(open_page: Open) -> None:
    app = put(open_page("domain", s="adult"), "domain:0:weight", "1/3")
    shares = scenario(app).domain.exact_weights
    assert shares[0] / shares[1] == pytest.approx((1 / 3) / 0.2)
    next(button for button in app.button if button.label == "Make all weights equal").click()
    run(app)
    assert scenario(app) == bf.load_scenario("adult")


def test_a_public_table_is_guessed_shown_and_taken_only_on_request(open_page: Open) -> None:
    app = open_page("domain", s="adult")
    before = scenario(app)
    table = "\ufeffage;job;note\n" + "".join(f"{20 + i % 50};{'ab'[i % 2]};text {i}\n" for i in range(300))
    upload(app, "people.csv", table.encode())
    assert "300 rows, 3 columns" in said(app)
    assert scenario(app) == before
    press(app, "domain:take")
    assert scenario(app).domain == bf.Domain([bf.Numeric("age", 20, 69), bf.Categorical("job", ["a", "b"])])
    assert scenario(app).data is None
    assert app.session_state["table"].n == 300
    put(app, "domain:0:low", "0")
    assert app.session_state["table"].domain["age"].low == 0
    for _ in range(2):
        press(app, "domain:undo")
    assert scenario(app) == before


def test_no_table_is_read_before_it_is_said_to_be_public(open_page: Open) -> None:
    assert open_page("domain", s="adult").get_by_key("domain:file").proto.disabled


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("twice.csv", b"a,a\n1,2\n", "twice"),
        ("empty.csv", b"", "empty"),
        ("bare.csv", b"a,b\n", "no rows"),
        ("latin.csv", "a\nB\u00fcro\n".encode("latin-1"), "line 2 is not UTF-8"),
        ("wide.csv", b"a,b\n1,2,3\n", "line 2 has 3 cells"),
        ("book.csv", b"PK\x03\x04rest", "spreadsheet"),
        ("torn.parquet", b"PAR1nothing", "damaged"),
    ],
)
def test_a_bad_file_says_why_and_changes_nothing(open_page: Open, name: str, content: bytes, message: str) -> None:
    app = open_page("domain", s="adult")
    before = scenario(app)
    upload(app, name, content)
    assert any(words.plain(message) in each.value and words.plain(name) in each.value for each in app.error)
    assert scenario(app) == before


def test_parquet_and_two_hundred_columns(open_page: Open) -> None:
    frame = pd.DataFrame({f"c{i}": range(i, i + 30) for i in range(200)}).astype({"c3": str})
    frame = frame.apply(lambda column: column.sample(frac=1, replace=True, random_state=1).to_numpy())
    packed = io.BytesIO()
    frame.to_parquet(packed)
    app = upload(open_page("domain", s="adult"), "wide.parquet", packed.getvalue())
    assert "30 rows, 200 columns" in said(app)
    press(app, "domain:take")
    assert len(scenario(app).domain.names) == 200


def test_from_nothing_and_back(open_page: Open) -> None:
    app = open_page("domain", s="adult")
    before = scenario(app)
    next(button for button in app.button if button.label == "Begin with one attribute").click()
    run(app)
    assert scenario(app).domain == bf.Domain([bf.Numeric("attribute 1", 0, 100)])
    assert scenario(app).policy.rules == {}
    press(app, "domain:undo")
    assert scenario(app) == before


def elsewhere(app: AppTest, policy: bf.Policy) -> AppTest:
    """The policy as another page would change it."""
    app.session_state["scenario"] = scenario(app).replace(policy=policy)
    return run(app)


def test_a_scenario_opened_elsewhere_replaces_the_drafts_and_undo_brings_them_back(open_page: Open) -> None:
    app = put(open_page("domain", s="adult"), "domain:0:high", "oops")
    app.session_state["scenario"] = bf.load_scenario("staff")
    run(app)
    assert app.text_input(key="domain:0:high").value == "67"
    press(app, "domain:undo")
    assert app.text_input(key="domain:0:high").value == "oops"
    press(app, "domain:undo")
    assert scenario(app).domain == bf.load_scenario("adult").domain


def test_undo_goes_back_behind_a_rule_drawn_on_another_page(open_page: Open) -> None:
    app = open_page("domain", s="adult")
    before = scenario(app)
    next(button for button in app.button if button.label == "Begin with one attribute").click()
    run(app)
    elsewhere(app, scenario(app).policy.with_rule("attribute 1", bf.Threshold(3)))
    press(app, "domain:undo")
    assert scenario(app) == before


def test_what_is_typed_stays_while_rules_and_weights_change_on_another_page(open_page: Open) -> None:
    app = put(open_page("domain", s="adult"), "domain:0:high", "oops")
    policy = scenario(app).policy
    domain = bf.Domain(policy.domain.attributes, weights={name: 1 + (name == "age") for name in policy.domain.names})
    elsewhere(app, bf.Policy(domain, {"age": bf.Threshold(3)}))
    assert app.text_input(key="domain:0:high").value == "oops"
    put(app, "domain:0:high", "100")
    assert scenario(app).policy.rules == {"age": bf.Threshold(3)}
    assert scenario(app).domain["age"].high == 100
    assert scenario(app).domain.exact_weights == domain.exact_weights
    put(app, "domain:0:name", "years")
    elsewhere(app, scenario(app).policy.with_rule("years", bf.Threshold(5)))
    put(app, "domain:0:high", "90")
    assert scenario(app).policy.rules == {"years": bf.Threshold(5)}


def test_names_are_shown_as_they_are(open_page: Open) -> None:
    app = put(open_page("domain", s="adult"), "domain:0:name", "$x^2$ *a*")
    assert words.plain("$x^2$ *a*") in [each.value for each in app.subheader]


def test_two_attributes_of_one_name_can_be_told_apart_in_the_list(open_page: Open) -> None:
    app = open_page("domain", s="staff")
    field = next(each for each in app.text_input if each.label == "Name")
    first = field.value
    other = app.session_state["scenario"].domain.names[1]
    field.set_value(other)
    app.run()
    labels = app.radio[0].options
    assert len(set(labels)) == len(labels)
    assert {f":red[:material/error: {other} ({at})]" for at in (1, 2)} <= set(labels)
    field = next(each for each in app.text_input if each.label == "Name")
    field.set_value("renamed")
    app.run()
    assert app.radio[0].value == 0
    assert "renamed" in app.session_state["scenario"].domain.names
    assert first not in app.session_state["scenario"].domain.names
