"""Every gesture of the canvas with real mouse, keyboard and touch events, on a page without any app or server."""

from __future__ import annotations

import math
import re

import pytest
from playwright.sync_api import Locator, Page, expect

import bfsoft as bf
from bfsoft_explorer.canvas._contract import canvas_data

AGE = bf.Numeric("age", 17, 90)
WORK = bf.Categorical("workclass", ["Private", "Self-emp", "Local-gov", "State-gov", "Without-pay", "Never-worked"])
JOB = bf.Hierarchical("job", {"office": ["admin.", "management"], "manual": ["blue-collar", "housemaid", "services"]})
DOMAIN = bf.Domain([AGE, WORK, JOB])


def data(attribute: str = "age", rule: bf.policy.Rule | None = None, tau: float = 0.03, revision: int = 0, **others):
    rules = {**others, **({attribute: rule} if rule else {})}
    return canvas_data(bf.Policy(DOMAIN, rules), attribute, tau=tau, budget=bf.Budget(rho=1e-3), revision=revision)


def value(page: Page, label: object) -> Locator:
    return page.locator(f'[data-value="{label}"]')


def centre(locator: Locator) -> tuple[float, float]:
    box = locator.bounding_box()
    assert box, "not shown"
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def raw(page: Page, name: str = "attribute-reach") -> float:
    return float(page.locator(f"[data-readout={name}]").get_attribute("data-raw"))


def commits(page: Page) -> list[dict]:
    return [commit["value"] for commit in page.evaluate("commits")]


def last_rule(page: Page):
    return commits(page)[-1]["rule"]


def press_at(page: Page, start: tuple[float, float], *through: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    for x, y in through:
        page.mouse.move(x, y, steps=5)


def on_arc(page: Page, a: object, b: object) -> tuple[float, float]:
    """The top of the arc of an edge of the age axis, read off the drawn widest edge or the one arc there is."""
    top = page.evaluate(
        """() => {
            const path = document.querySelector('.bf-widest');
            const at = path.getPointAtLength(path.getTotalLength() / 2).matrixTransform(path.getScreenCTM());
            return [at.x, at.y];
        }"""
    )
    middle = (centre(value(page, a))[0] + centre(value(page, b))[0]) / 2
    assert top[0] == pytest.approx(middle, abs=2), "the widest edge is another one"
    return top[0], top[1]


# --- drawing and erasing -----------------------------------------------------------------------------------------


def test_dragging_from_value_to_value_draws_an_edge_and_moves_the_reach_under_the_pointer(mount):
    page = mount(data(rule=bf.Edges([(20, 25)])))
    before = raw(page)
    press_at(page, centre(value(page, 30)), centre(value(page, 50)))
    during = raw(page)
    assert during == pytest.approx(20 / 73 / 3, abs=1e-12)
    assert during > before
    assert commits(page) == []
    press_at_60 = centre(value(page, 60))
    page.mouse.move(*press_at_60, steps=5)
    assert raw(page) == pytest.approx(30 / 73 / 3, abs=1e-12)
    page.mouse.up()
    assert raw(page) == pytest.approx(30 / 73 / 3, abs=1e-12)
    assert [commit["rule"] for commit in commits(page)] == [{"edges": [[3, 8], [13, 43]]}]
    assert commits(page)[0]["attribute"] == "age"


def test_a_drag_that_ends_nowhere_or_on_escape_leaves_no_edge(mount):
    page = mount(data(rule=bf.Edges([(20, 25)])))
    x, y = centre(value(page, 30))
    press_at(page, (x, y), (x + 200, y - 120))
    page.mouse.up()
    assert commits(page) == []
    press_at(page, (x, y), centre(value(page, 60)))
    assert raw(page) > 0.1
    page.keyboard.press("Escape")
    assert raw(page) == pytest.approx(5 / 73 / 3)
    page.mouse.up()
    assert commits(page) == []


def test_drawing_on_a_threshold_turns_it_into_an_edge_list(mount):
    page = mount(data(rule=bf.Threshold(1)))
    press_at(page, centre(value(page, 20)), centre(value(page, 40)))
    page.mouse.up()
    assert len(last_rule(page)["edges"]) == 73 + 1
    expect(page.locator("[data-mode=draw]")).to_have_attribute("aria-pressed", "true")


def test_clicking_an_arc_erases_its_edge(mount):
    page = mount(data(rule=bf.Edges([(20, 25), (30, 60)])))
    x, y = on_arc(page, 30, 60)
    page.mouse.move(x, y)
    expect(page.locator(".bf-status")).to_have_text("30 – 60: click to erase")
    page.mouse.click(x, y)
    assert last_rule(page) == {"edges": [[3, 8]]}
    assert raw(page) == pytest.approx(5 / 73 / 3)


def test_a_lasso_makes_a_block_and_previews_its_reach(mount):
    page = mount(data())
    left, y = centre(value(page, 30))
    right = centre(value(page, 40))[0]
    page.keyboard.down("Shift")
    press_at(page, (left - 3, y - 120), (right + 3, y - 40))
    assert raw(page) == pytest.approx(10 / 73 / 3)
    page.mouse.up()
    page.keyboard.up("Shift")
    assert last_rule(page) == {"blocks": [[*range(13, 24)]]}


def test_a_lasso_over_drawn_edges_keeps_them(mount):
    page = mount(data(rule=bf.Edges([(20, 60)])))
    left, y = centre(value(page, 30))
    right = centre(value(page, 32))[0]
    page.keyboard.down("Shift")
    press_at(page, (left - 3, y - 60), (right + 3, y - 30))
    page.mouse.up()
    page.keyboard.up("Shift")
    assert sorted(last_rule(page)["edges"]) == [[3, 43], [13, 14], [13, 15], [14, 15]]


# --- sliders -----------------------------------------------------------------------------------------------------


def drag_slider(page: Page, name: str, fraction: float) -> None:
    """Take the slider's thumb and hold it at a fraction of its track."""
    box = page.locator(f"input[name={name}]").bounding_box()
    y = box["y"] + box["height"] / 2
    press_at(page, (box["x"] + 12, y), (box["x"] + 9 + (box["width"] - 18) * fraction, y))


def test_dragging_theta_moves_the_reach_at_every_step_and_commits_once(mount):
    page = mount(data(rule=bf.Threshold(7)))
    page.evaluate(
        """() => {
            window.seen = new Set();
            const output = document.querySelector('[data-readout=reach]');
            new MutationObserver(() => seen.add(output.dataset.raw)).observe(output, { attributes: true });
        }"""
    )
    drag_slider(page, "theta", 0.5)
    assert raw(page, "reach") == pytest.approx(0.5 / 3, abs=0.5 / 73 / 3)
    assert page.evaluate("seen.size") > 3
    assert commits(page) == []
    page.mouse.up()
    assert len(commits(page)) == 1
    theta = last_rule(page)["threshold"]
    assert theta in (36, 37)
    assert raw(page, "reach") == pytest.approx(theta / 73 / 3, abs=1e-12)


def test_the_tau_slider_is_logarithmic_and_a_field_takes_any_positive_tau(mount):
    page = mount(data(rule=bf.Threshold(7), tau=0.5))
    drag_slider(page, "tau", 0.5)
    during = raw(page, "ratio")
    page.mouse.up()
    assert commits(page)[-1]["tau"] == pytest.approx(10**-1.5, rel=0.03)
    assert raw(page, "ratio") == during
    field = page.locator("input[name=tau-exact]")
    field.fill("2.5")
    field.press("Enter")
    assert commits(page)[-1]["tau"] == 2.5
    field.fill("-1")
    field.press("Enter")
    assert field.input_value() == "2.5"
    assert commits(page)[-1]["tau"] == 2.5


@pytest.mark.parametrize(
    ("name", "typed", "said"),
    [
        ("theta", "-3", "θ: -3 is not 0 or more."),
        ("tau", "0", "τ: 0 is not above 0."),
        ("weight", "2", "2 is not from 0 to 1."),
    ],
)
def test_a_number_out_of_range_is_refused_in_words(mount, name, typed, said):
    page = mount(data(rule=bf.Threshold(7)))
    field = page.locator(f"input[name={name}-exact]")
    before = field.input_value()
    field.fill(typed)
    field.press("Enter")
    expect(page.get_by_role("status")).to_contain_text(said)
    assert field.input_value() == before
    assert commits(page) == []


def test_of_attributes_that_reach_equally_far_the_canvas_names_the_one_that_core_names(mount):
    rules = {"workclass": bf.Complete(), "job": bf.Complete()}
    assert bf.Policy(DOMAIN, rules).widest_edge.attribute == "workclass"
    note = ".bf-readout-reach small"
    for shown, other in (("workclass", "job"), ("job", "workclass")):
        page = mount(canvas_data(bf.Policy(DOMAIN, rules), shown, tau=0.03))
        expect(page.locator(note)).to_have_text("set by workclass")
        expect(page.get_by_role("button", name=re.compile("Remove"))).to_contain_text(f"stays 0.333, set by {other}")


def test_notes_follow_participation_on_and_off(mount):
    rules = {"age": bf.Threshold(7)}
    notes = [".bf-readout-l1 small", ".bf-readout-l2 small"]
    page = mount(data(**rules))
    for revision, participation in enumerate((True, False), start=1):
        policy = bf.Policy(DOMAIN, rules, participation=participation)
        page.evaluate("data => { mount(data) }", canvas_data(policy, "age", tau=0.03, revision=revision))
        said = ["floor 1: participation"] * 2 if participation else ["2 tanh(r / 2τ)", "√2 tanh(r / 2τ)"]
        assert [page.locator(note).inner_text() for note in notes] == said


def test_a_budget_that_comes_and_goes_shows_and_hides_its_epsilon(mount):
    page = mount(canvas_data(bf.Policy(DOMAIN, {"age": bf.Threshold(7)}), "age", tau=0.03))
    expect(page.locator("[data-readout=epsilon]")).to_be_hidden()
    page.evaluate("data => { mount(data) }", data(rule=bf.Threshold(7), revision=1))
    expect(page.locator("[data-readout=epsilon]")).to_be_visible()
    assert raw(page, "epsilon") == pytest.approx(bf.Budget(rho=1e-3).epsilon, rel=1e-11)
    page.evaluate("data => { mount(data) }", canvas_data(bf.Policy(DOMAIN, {}), "age", tau=0.03, revision=2))
    expect(page.locator("[data-readout=epsilon]")).to_be_hidden()


def test_joined_values_of_weight_0_are_not_said_to_have_no_edges(mount):
    domain = bf.Domain([AGE, WORK], weights={"age": 0, "workclass": 1})
    for participation in (True, False):
        policy = bf.Policy(domain, {"age": bf.Threshold(7)}, participation=participation)
        page = mount(canvas_data(policy, "age", tau=0.03, budget=bf.Budget(rho=1e-3)))
        expect(page.locator(".bf-readout-reach small")).to_have_text("weight 0: votes ignore it")


def test_scripts_may_fill_the_sliders(mount):
    page = mount(data(rule=bf.Threshold(3), tau=0.5))
    page.locator("input[name=theta]").fill("7")
    page.locator("input[name=tau]").fill("0.03")
    assert (last_rule(page), commits(page)[-1]["tau"]) == ({"threshold": 7}, 0.03)


def test_the_weight_slider_keeps_the_proportions_of_the_others(mount):
    page = mount(data(rule=bf.Threshold(7), workclass=bf.Complete()))
    assert raw(page, "reach") == pytest.approx(1 / 3)
    drag_slider(page, "weight", 0.8)
    assert raw(page, "reach") == pytest.approx(0.1, abs=0.004)
    page.mouse.up()
    weights = commits(page)[-1]["weights"]
    assert sum(weights.values()) == pytest.approx(1, abs=1e-12)
    assert weights["workclass"] == weights["job"]
    assert raw(page, "reach") == pytest.approx(max(weights["workclass"], weights["age"] * 7 / 73), abs=1e-12)


def test_sliders_answer_the_keyboard(mount):
    page = mount(data(rule=bf.Threshold(7)))
    page.locator("input[name=theta]").focus()
    page.keyboard.press("ArrowRight")
    assert last_rule(page) == {"threshold": 8}
    page.keyboard.press("Home")
    assert raw(page, "reach") == 0
    page.locator("input[name=tau]").focus()
    page.keyboard.press("ArrowLeft")
    assert commits(page)[-1]["tau"] == pytest.approx(0.03 * 10**-0.03, rel=0.01)


# --- modes, history, the widest edge -----------------------------------------------------------------------------


def test_modes_carry_what_is_drawn_from_one_to_the_next(mount):
    page = mount(data(rule=bf.Edges([(20, 21), (21, 22), (40, 41)])))
    page.locator("[data-mode=blocks]").click()
    assert last_rule(page) == {"blocks": [[3, 4, 5], [23, 24]]}
    page.locator("[data-mode=draw]").click()
    assert last_rule(page) == {"edges": [[3, 4], [3, 5], [4, 5], [23, 24]]}
    page.locator("[data-mode=complete]").click()
    assert last_rule(page) == {"complete": True}
    assert raw(page) == pytest.approx(1 / 3)
    page.locator("[data-mode=threshold]").click()
    assert last_rule(page) == {"threshold": 7}


def test_undo_and_redo_by_button_and_by_key(mount):
    page = mount(data(rule=bf.Threshold(7)))
    expect(page.locator("[data-action=undo]")).to_be_disabled()
    page.locator("[data-action=clear]").click()
    assert last_rule(page) is None
    assert raw(page) == 0
    page.locator("[data-action=undo]").click()
    assert last_rule(page) == {"threshold": 7}
    expect(page.locator("[data-mode=threshold]")).to_have_attribute("aria-pressed", "true")
    value(page, 30).focus()
    page.keyboard.press("Control+y")
    assert last_rule(page) is None
    page.keyboard.press("Control+z")
    assert raw(page) == pytest.approx(7 / 73 / 3)
    assert [commit["revision"] for commit in commits(page)] == [1, 2, 3, 4]


def test_the_widest_edge_is_named_with_the_effect_of_removing_it(mount):
    page = mount(data(rule=bf.Edges([(20, 27), (30, 60)])))
    expect(page.locator(".bf-widest-text")).to_contain_text("30 – 60, 30 apart")
    button = page.locator("[data-action=remove-widest]")
    expect(button).to_contain_text("Without it: reach 0.0320, noise × 0.50")
    button.click()
    assert last_rule(page) == {"edges": [[3, 10]]}
    assert raw(page, "reach") == pytest.approx(7 / 73 / 3)
    assert f"{raw(page, 'ratio'):.2f}" == "0.49"


def test_removing_the_widest_edges_of_a_threshold_leaves_a_threshold(mount):
    page = mount(data(rule=bf.Threshold(7)))
    expect(page.locator("[data-action=remove-widest]")).to_contain_text("Remove all 67")
    page.locator("[data-action=remove-widest]").click()
    assert last_rule(page) == {"threshold": 6}


def test_an_attribute_that_does_not_set_the_reach_says_which_does(mount):
    page = mount(data(rule=bf.Threshold(7), workclass=bf.Complete()))
    expect(page.locator("[data-action=remove-widest]")).to_contain_text("reach stays 0.333, set by workclass")


# --- blocks ------------------------------------------------------------------------------------------------------


def test_numbers_are_grouped_by_dragging_along_the_axis_and_parted_by_the_cross(mount):
    page = mount(data())
    page.locator("[data-mode=blocks]").click()
    press_at(page, centre(value(page, 20)), centre(value(page, 29)))
    assert raw(page) == pytest.approx(9 / 73 / 3)
    page.mouse.up()
    assert last_rule(page) == {"blocks": [[*range(3, 13)]]}
    press_at(page, centre(value(page, 28)), centre(value(page, 40)))
    page.mouse.up()
    assert last_rule(page) == {"blocks": [[*range(3, 11)], [*range(11, 24)]]}
    page.locator("[data-part='0']").click()
    assert last_rule(page) == {"blocks": [[*range(11, 24)]]}


def test_a_category_dropped_on_another_joins_it_and_pulled_out_parts(mount):
    page = mount(data("workclass", bf.Blocks([["Private", "Self-emp"]])))
    press_at(page, centre(value(page, "Local-gov")), centre(value(page, "State-gov")))
    assert raw(page) == pytest.approx(1 / 3)
    page.mouse.up()
    assert last_rule(page) == {"blocks": [[0, 1], [2, 3]]}
    press_at(page, centre(value(page, "Never-worked")), centre(value(page, "Private")))
    page.mouse.up()
    assert last_rule(page) == {"blocks": [[0, 1, 5], [2, 3]]}
    press_at(page, centre(value(page, "Self-emp")), centre(page.locator("[data-block=apart] .bf-card-head")))
    page.mouse.up()
    assert last_rule(page) == {"blocks": [[0, 5], [2, 3]]}


def test_pulling_the_last_pair_apart_shows_reach_zero_before_release(mount):
    page = mount(data("workclass", bf.Blocks([["Private", "Self-emp"]])))
    press_at(page, centre(value(page, "Private")), centre(page.locator("[data-block=apart] .bf-card-head")))
    assert raw(page) == 0
    page.mouse.up()
    assert last_rule(page) is None
    expect(page.locator("[data-mode=blocks]")).to_have_attribute("aria-pressed", "true")


def test_a_whole_block_dragged_by_its_head_merges(mount):
    page = mount(data("workclass", bf.Blocks([["Private", "Self-emp"], ["Local-gov", "State-gov"]])))
    press_at(page, centre(page.locator("[data-block='1'] .bf-card-head")), centre(value(page, "Private")))
    page.mouse.up()
    assert last_rule(page) == {"blocks": [[0, 1, 2, 3]]}


# --- categories and trees as rows --------------------------------------------------------------------------------


def test_categories_take_edges_too(mount):
    page = mount(data("workclass", bf.Edges([("Private", "Self-emp")])))
    press_at(page, centre(value(page, "Local-gov")), centre(value(page, "Never-worked")))
    page.mouse.up()
    assert last_rule(page) == {"edges": [[0, 1], [2, 5]]}


def test_the_level_of_a_tree_joins_siblings_then_cousins(mount):
    page = mount(data("job"))
    page.locator("input[name=theta]").fill("2")
    assert last_rule(page) == {"threshold": 2}
    assert raw(page) == pytest.approx(0.5 / 3)
    expect(page.locator(".bf-branch.is-whole")).to_have_text(["office", "manual"])
    page.locator("input[name=theta]").fill("4")
    assert raw(page) == pytest.approx(1 / 3)


def test_a_branch_joins_all_below_it(mount):
    page = mount(data("job"))
    page.locator(".bf-branch", has_text="manual").click()
    assert last_rule(page) == {"blocks": [[2, 3, 4]]}


# --- keyboard, touch, screen readers -----------------------------------------------------------------------------


def test_everything_about_edges_works_by_keyboard(mount):
    page = mount(data())
    page.locator("[data-action=redo]").focus()
    value(page, 17).focus()
    for key in ("ArrowRight", "ArrowRight", "Enter", "PageDown", "Enter"):
        page.keyboard.press(key)
    assert last_rule(page) == {"edges": [[2, 12]]}
    page.keyboard.press("Enter")
    page.keyboard.press("PageUp")
    page.keyboard.press("Delete")
    assert last_rule(page) is None
    for key in ("Home", "Shift+ArrowRight", "Shift+ArrowRight", "Enter"):
        page.keyboard.press(key)
    assert last_rule(page) == {"blocks": [[0, 1, 2]]}
    page.keyboard.press("Delete")
    assert last_rule(page) == {"blocks": [[0, 1]]}


def test_blocks_of_categories_work_by_keyboard_and_keep_the_focus(mount):
    page = mount(data("workclass", bf.Blocks([["Private", "Self-emp"]])))
    value(page, "Local-gov").focus()
    page.keyboard.press("Enter")
    value(page, "Private").focus()
    page.keyboard.press("Enter")
    assert last_rule(page) == {"blocks": [[0, 1, 2]]}
    expect(value(page, "Private")).to_be_focused()
    page.keyboard.press("Delete")
    assert last_rule(page) == {"blocks": [[1, 2]]}


def test_one_stop_of_the_tab_key_for_all_values(mount):
    page = mount(data(rule=bf.Threshold(7)))
    assert page.locator("[data-value][tabindex='0']").count() == 1
    value(page, 17).focus()
    page.keyboard.press("End")
    expect(value(page, 90)).to_be_focused()
    expect(page.locator("[data-value][tabindex='0']")).to_have_attribute("data-value", "90")
    expect(page.locator(".bf-status")).to_have_text("90 is joined to 83 to 89.")


def test_edits_are_spoken_and_parts_are_named(mount):
    page = mount(data())
    value(page, 30).click()
    expect(page.get_by_role("status")).to_contain_text("30 picked")
    expect(value(page, 30)).to_have_class(re.compile("is-picked"))
    value(page, 40).click()
    expect(page.get_by_role("status")).to_have_text("Joined 30 and 40.")
    expect(page.locator(".bf-unseen")).to_contain_text("Reach 0.0457")
    expect(page.get_by_role("button", name="age 30", exact=True)).to_have_count(1)
    expect(page.get_by_role("slider", name="Threshold θ")).to_have_count(1)


@pytest.fixture
def touch(touch_page, mount_on):
    """A tablet-sized page with the canvas on it, driven by fingers alone: ``touch(data)`` gives the page and a drag."""
    page, drag = touch_page(820, 1100)
    put = mount_on(page)
    return lambda given: (put(given), drag)


def test_touch_joins_by_tapping_two_values(touch):
    page, _ = touch(data("workclass", bf.Edges([("Private", "Self-emp")])))
    value(page, "State-gov").tap()
    value(page, "Never-worked").tap()
    assert last_rule(page) == {"edges": [[0, 1], [3, 5]]}


def test_touch_joins_by_dragging_from_value_to_value_and_erases_by_a_tap_on_the_arc(touch):
    page, drag = touch(data())
    drag(centre(value(page, 30)), (400, 100), centre(value(page, 60)))
    assert last_rule(page) == {"edges": [[13, 43]]}
    page.touchscreen.tap(*on_arc(page, 30, 60))
    assert last_rule(page) is None


@pytest.mark.parametrize("attribute", ["age", "workclass", "job"])
def test_the_lasso_makes_a_block_by_touch_on_every_kind_of_attribute(touch, attribute):
    page, drag = touch(data(attribute))
    first, last = {
        "age": (30, 40),
        "workclass": ("Self-emp", "State-gov"),
        "job": ("management", "housemaid"),
    }[attribute]
    page.locator("[data-action=lasso]").tap()
    expect(page.locator("[data-action=lasso]")).to_have_attribute("aria-pressed", "true")
    (x0, y0), (x1, y1) = centre(value(page, first)), centre(value(page, last))
    # numbers stand side by side, rows below each other: across them, beginning and ending beside them
    ends = [(x0 - 3, y0 - 60), (x1 + 3, y1 + 10)] if attribute == "age" else [(x0 + 150, y0 - 4), (x1 - 30, y1 + 4)]
    drag(*ends)
    members = {"age": [*range(13, 24)], "workclass": [1, 2, 3], "job": [1, 2, 3]}[attribute]
    assert last_rule(page) == {"blocks": [members]}


def test_the_lasso_gathers_cards_by_touch(touch):
    page, drag = touch(data("workclass", bf.Blocks([["Private", "Self-emp"]])))
    page.locator("[data-action=lasso]").tap()
    (x0, y0), (x1, y1) = centre(value(page, "Local-gov")), centre(value(page, "Without-pay"))
    drag((x0 - 4, y0 - 4), (x1 + 4, y1 + 4))
    assert last_rule(page) == {"blocks": [[0, 1], [2, 3, 4]]}
    page.locator("[data-action=lasso]").tap()
    drag(centre(value(page, "Never-worked")), centre(value(page, "Private")))
    assert last_rule(page) == {"blocks": [[0, 1, 5], [2, 3, 4]]}


def test_a_finger_without_the_lasso_scrolls_the_page_and_changes_nothing(touch):
    page, drag = touch(data(rule=bf.Edges([(20, 25)])))
    page.add_style_tag(content="body { padding-bottom: 2000px; }")
    box = page.locator(".bf-stage").bounding_box()
    drag((box["x"] + 600, box["y"] + 120), (box["x"] + 600, box["y"] - 100))
    page.wait_for_function("scrollY > 0")
    assert not commits(page)


def test_the_lasso_is_put_away_by_its_button_by_escape_and_with_the_attribute(mount):
    page = mount(data())
    lasso = page.locator("[data-action=lasso]")
    lasso.click()
    page.keyboard.press("Escape")
    expect(lasso).to_have_attribute("aria-pressed", "false")
    lasso.click()
    lasso.click()
    expect(lasso).to_have_attribute("aria-pressed", "false")
    press_at(page, centre(value(page, 20)), centre(value(page, 40)))
    page.mouse.up()
    assert last_rule(page) == {"edges": [[3, 23]]}
    lasso.click()
    page.evaluate("data => { mount(data) }", data("workclass"))
    expect(lasso).to_have_attribute("aria-pressed", "false")


def test_what_votes_ignore_is_said_to_need_no_noise(mount):
    page = mount(data(rule=bf.Threshold(7)))
    page.locator("input[name=weight]").fill("0")
    expect(page.locator(".bf-readout-reach")).to_contain_text("votes ignore it")
    expect(page.locator(".bf-readout-epsilon")).to_contain_text("across its edges")
    expect(page.locator("[data-action=remove-widest]")).to_contain_text("reach stays 0")


def test_what_an_edit_said_of_itself_is_over_with_the_next(mount):
    page = mount(data(rule=bf.Threshold(7)))
    page.locator("[data-action=clear]").click()
    expect(page.locator(".bf-status")).to_contain_text("Cleared")
    page.locator("input[name=theta]").fill("4")
    expect(page.locator(".bf-status")).to_have_text("")


def test_the_noise_without_the_widest_edges_is_told_beside_the_present(mount):
    page = mount(data(rule=bf.Threshold(7)))
    weight, tau = 1 / 3, 0.03
    less, now = (math.tanh(weight * steps / 73 / (2 * tau)) for steps in (6, 7))
    expect(page.locator("[data-action=remove-widest]")).to_contain_text(f"noise × {less / now:.2f}")


def test_who_asks_is_told_every_gesture(mount):
    page = mount(data())
    page.get_by_text("How to draw").focus()
    page.keyboard.press("Enter")
    table = page.locator(".bf-help table")
    expect(table).to_be_visible()
    for what in ("Join two values", "Erase an edge", "Make a block", "Undo, redo"):
        expect(table.get_by_role("rowheader", name=what)).to_be_visible()


def test_a_policy_without_edges_promises_nothing(mount):
    page = mount(data())
    expect(page.locator("[data-readout=epsilon]")).to_have_text("no promise")
    press_at(page, centre(value(page, 20)), centre(value(page, 40)))
    page.mouse.up()
    expect(page.locator("[data-readout=epsilon]")).to_have_text(re.compile(r"0\.\d+"))


# --- data from Python --------------------------------------------------------------------------------------------


def test_news_during_a_drag_waits_for_the_release(mount):
    page = mount(data(rule=bf.Edges([(20, 25)])))
    press_at(page, centre(value(page, 30)), centre(value(page, 60)))
    page.evaluate("data => { mount(data) }", data(rule=bf.Edges([(20, 25)]), tau=0.03))
    assert raw(page) == pytest.approx(30 / 73 / 3)
    page.mouse.up()
    assert last_rule(page) == {"edges": [[3, 8], [13, 43]]}
    assert raw(page) == pytest.approx(30 / 73 / 3)


def test_an_answer_to_an_older_edit_does_not_undo_a_newer_one(mount):
    page = mount(data(rule=bf.Threshold(7)))
    page.locator("input[name=theta]").fill("8")
    page.locator("input[name=theta]").fill("9")
    page.evaluate("data => { mount(data) }", data(rule=bf.Threshold(8), revision=1))
    assert raw(page) == pytest.approx(9 / 73 / 3)
    page.evaluate("data => { mount(data) }", data(rule=bf.Threshold(9), revision=2))
    assert raw(page) == pytest.approx(9 / 73 / 3)
    page.locator("[data-action=undo]").click()
    assert last_rule(page) == {"threshold": 8}


def test_a_policy_loaded_elsewhere_replaces_the_picture(mount):
    page = mount(data(rule=bf.Threshold(7)))
    page.locator("input[name=theta]").fill("8")
    page.evaluate("data => { mount(data) }", data(rule=bf.Blocks([[20, 21, 22]]), tau=0.06, revision=1))
    assert raw(page) == pytest.approx(2 / 73 / 3)
    expect(page.locator("[data-mode=blocks]")).to_have_attribute("aria-pressed", "true")
    page.evaluate("data => { mount(data) }", data("job", bf.Threshold(2), revision=1))
    expect(value(page, "housemaid")).to_be_visible()
    assert page.locator(".bf").count() == 1


# --- size --------------------------------------------------------------------------------------------------------


PAY = bf.Domain([bf.Numeric("pay", 0, 999), bf.Categorical("flag", ["no", "yes"])])
STRANDS = """() => [...document.querySelectorAll('.bf-arcs, .bf-arcs-heavy')]
    .map((path) => path.getAttribute('d').split('M').length - 1)
    .reduce((sum, count) => sum + count)"""


@pytest.mark.parametrize(
    "rule",
    [
        bf.Threshold(52),
        bf.Edges([(a, b) for a in range(0, 1000, 2) for b in range(a + 1, min(a + 241, 1000), 2)]),
    ],
    ids=["threshold", "drawn"],
)
def test_a_thousand_values_and_fifty_thousand_edges_are_drawn_in_bundles(mount, rule):
    policy = bf.Policy(PAY, {"pay": rule})
    assert policy.edge_count("pay") > 50_000
    page = mount(canvas_data(policy, "pay", tau=0.03))
    expect(page.locator(".bf-summary")).to_contain_text(f"{policy.edge_count('pay'):,} edges on 1,000 values")
    assert 100 < page.evaluate(STRANDS) <= 1300
    press_at(page, centre(value(page, 100)), centre(value(page, 900)))
    page.mouse.up()
    assert raw(page) == pytest.approx(0.5 * 800 / 999, rel=0.01)


def test_a_hundred_thousand_values_still_draw_group_and_answer(mount):
    gain = bf.Domain([bf.Numeric("gain", 0, 99_999), bf.Categorical("flag", ["no", "yes"])])
    page = mount(canvas_data(bf.Policy(gain, {"gain": bf.Threshold(1000)}), "gain", tau=0.03))
    expect(page.locator(".bf-summary")).to_contain_text("99,499,500 edges on 100,000 values")
    assert page.evaluate(STRANDS) <= 1300
    assert page.locator("[data-value]").count() < 2000
    assert raw(page) == pytest.approx(0.5 * 1000 / 99_999)
    page.locator("[data-mode=draw]").click()
    expect(page.get_by_role("status")).to_contain_text("too many to edit one by one")
    page.locator("[data-action=clear]").click()
    page.locator("[data-mode=blocks]").click()
    x, y = centre(value(page, 99_999))
    axis = x - centre(value(page, 0))[0]
    press_at(page, (x - 400, y), (x - 200, y))
    page.mouse.up()
    assert raw(page) == pytest.approx(0.5 * 200 / axis, rel=0.02)
    assert [len(block) for block in last_rule(page)["blocks"]] == [pytest.approx(100_000 * 200 / axis, rel=0.02)]
    value(page, 0).focus()
    page.keyboard.press("ArrowRight")
    expect(value(page, 1)).to_be_focused()


def test_seventy_four_ages_are_drawn_edge_by_edge(mount):
    page = mount(data(rule=bf.Threshold(7)))
    assert page.evaluate(STRANDS) == 490


@pytest.mark.parametrize("width", [350, 560, 860, 1280, 1600])
@pytest.mark.parametrize("attribute", ["age", "workclass", "job"])
def test_nothing_is_cut_off_at_any_width(mount, width, attribute):
    page = mount(data(attribute, bf.Complete()))
    page.set_viewport_size({"width": width, "height": 900})
    expect(page.locator(".bf-summary")).to_be_visible()
    # a new size is told to the canvas within a frame; the second begins when it has drawn
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    overflowing = page.evaluate(
        """() => {
            const root = document.querySelector('.bf').getBoundingClientRect();
            const outside = (box) => box.width > 0 && (box.left < root.left - 1 || box.right > root.right + 1);
            const clipped = (node) => !node.closest('svg') && node.scrollWidth > node.clientWidth + 1;
            const shown = 'button, dt, dd, small, p:not(.bf-unseen), text, h4, input[type=number]';
            return [...document.querySelectorAll('.bf :is(' + shown + ')')]
                .filter((node) => outside(node.getBoundingClientRect()) || (node.clientWidth > 0 && clipped(node)))
                .map((node) => node.outerHTML.slice(0, 120));
        }"""
    )
    assert overflowing == []
