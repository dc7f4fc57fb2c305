"""The temperature dial in Chromium: its arithmetic is the library's, and τ is dragged with every read-out moving."""

from __future__ import annotations

import json
import math

import pytest
from playwright.sync_api import Page, expect

import bfsoft as bf
from bfsoft.privacy import noise_scale
from bfsoft.temperature import matched_tau
from bfsoft_explorer import share
from bfsoft_explorer.temperature_dial import SCRIPT

IMPORTED = "source => import(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })))"
STAFF = bf.load_scenario("staff").replace(size=48)


def open_page(page: Page, app_url: str, scenario: bf.Scenario = STAFF) -> Page:
    page.goto(f"{app_url}/temperature?s={share.to_link(scenario)}")
    expect(page.locator("[data-readout=ratio][data-raw]")).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    return page


def raw(page: Page, name: str) -> float:
    return float(page.locator(f'[data-readout="{name}"]').get_attribute("data-raw"))


def tau(page: Page) -> float:
    return float(page.locator("input[name=tau]").get_attribute("data-raw"))


def strip(page: Page) -> str:
    """τ as the strip above the page says it, which is what the scenario has."""
    return page.locator(".bfsoft-strip div", has=page.locator("dt", has_text="τ")).first.locator("dd").inner_text()


def expect_strip(page: Page, text: str) -> None:
    row = page.locator(".bfsoft-strip div", has=page.locator("dt", has_text="τ")).first
    expect(row.locator("dd")).to_have_text(text)


def place(page: Page, temperature: float) -> tuple[float, float]:
    """Where a temperature lies on the first panel of the chart, in pixels of the page."""
    box = page.locator(".bft-panel").first.bounding_box()
    return box["x"] + box["width"] * (math.log10(temperature) + 3) / 3, box["y"] + box["height"] / 2


def agrees_with_core(page: Page, scenario: bf.Scenario) -> None:
    """Every read-out is the library's at the dial's present τ."""
    now = tau(page)
    bound = bf.sensitivity_bound(scenario.policy, bf.SoftVote(now))
    assert raw(page, "ratio") == pytest.approx(bound.ratio, abs=1e-12)
    assert raw(page, "l2") == pytest.approx(bound.l2, abs=1e-12)
    assert raw(page, "factor") == pytest.approx(1 / bound.ratio**2, rel=1e-12)
    spent = scenario.budget.split(scenario.rounds, scenario.shares)
    sigmas = json.loads(page.locator("[data-readout=sigma]").get_attribute("data-rounds"))
    assert sigmas == pytest.approx([noise_scale(bound.l2, rho) for rho in spent], rel=1e-12)
    for name, reach in scenario.policy.reaches.items():
        if scenario.policy.edge_count(name):
            only = bf.Policy(scenario.domain, {name: scenario.policy.rules[name]}, scenario.participation)
            own = bf.sensitivity_bound(only, bf.SoftVote(now)).ratio
            assert raw(page, f"ratio:attribute:{name}") == pytest.approx(own, abs=1e-12), reach


def test_the_modules_formulas_are_the_librarys(page, harness_url):
    page.goto(harness_url)
    page.evaluate(f"{IMPORTED}.then((dial) => {{ window.dial = dial }})", SCRIPT.read_text(encoding="utf-8"))
    domain = bf.Domain([bf.Numeric("x", 0, 1000)])
    for theta in (1, 19, 250, 1000):
        for temperature in (1e-9, 1e-3, 0.0123, 0.03, 0.5, 1, 1e3):
            for participation in (False, True):
                policy = bf.Policy(domain, {"x": bf.Threshold(theta)}, participation)
                bound = bf.sensitivity_bound(policy, bf.SoftVote(temperature))
                found = page.evaluate("given => dial.needs(...given)", [policy.reach, temperature, participation])
                assert found["ratio"] == pytest.approx(bound.ratio, rel=1e-12)
                assert found["l1"] == pytest.approx(bound.l1, rel=1e-12)
                assert found["l2"] == pytest.approx(bound.l2, rel=1e-12)
                assert found["factor"] == pytest.approx(1 / bound.ratio**2, rel=1e-12)
    assert page.evaluate("dial.noiseScale(1.25, 3e-4)") == pytest.approx(noise_scale(1.25, 3e-4), rel=1e-14)


def test_steps_of_the_arrow_keys_are_two_digit_numbers_and_undo_each_other(page, harness_url):
    page.goto(harness_url)
    walk = page.evaluate(
        IMPORTED
        + """.then(({ stepped }) => {
            const up = [0.001];
            while (up[up.length - 1] < 1) up.push(stepped(up[up.length - 1], true));
            const down = [up[up.length - 1]];
            while (down[down.length - 1] > 0.001) down.push(stepped(down[down.length - 1], false));
            return { up, down };
        })""",
        SCRIPT.read_text(encoding="utf-8"),
    )
    assert walk["up"] == walk["down"][::-1]
    assert len(walk["up"]) == 3 * 90 + 1
    assert all(float(f"{each:.1e}") == each for each in walk["up"])


def test_read_outs_move_during_a_drag_and_the_scenario_only_on_release(page, app_url):
    open_page(page, app_url)
    assert strip(page) == "0.03"
    agrees_with_core(page, STAFF)
    page.mouse.move(*place(page, 0.03))
    page.mouse.down()
    seen = []
    for goal in (0.04, 0.06, 0.1, 0.2):
        page.mouse.move(*place(page, goal), steps=3)
        agrees_with_core(page, STAFF)
        seen.append((tau(page), raw(page, "ratio"), raw(page, "top"), page.locator(".bft-finding").inner_text()))
    assert [each[0] for each in seen] == pytest.approx([0.04, 0.06, 0.1, 0.2], rel=0.02)
    for column in (1, 2):  # less noise, and less of a vote in one place
        values = [each[column] for each in seen]
        assert values == sorted(values, reverse=True)
        assert len(set(values)) == 4
    assert len({each[3] for each in seen}) == 4
    assert strip(page) == "0.03"
    page.mouse.up()
    expect_strip(page, f"{tau(page):g}")
    agrees_with_core(page, STAFF)
    let_go = tau(page)
    page.reload()
    expect(page.locator("[data-readout=ratio][data-raw]")).to_be_visible()
    assert tau(page) == let_go
    expect_strip(page, f"{let_go:g}")


def test_escape_lets_go_where_the_drag_began(page, app_url):
    open_page(page, app_url)
    page.mouse.move(*place(page, 0.03))
    page.mouse.down()
    page.mouse.move(*place(page, 0.3), steps=3)
    assert tau(page) > 0.25
    page.keyboard.press("Escape")
    assert tau(page) == 0.03
    page.mouse.move(*place(page, 0.5), steps=3)
    page.mouse.up()
    assert tau(page) == 0.03
    assert strip(page) == "0.03"


def test_the_keyboard_turns_the_dial_and_hands_over_when_the_key_comes_up(page, app_url):
    open_page(page, app_url)
    grip = page.locator("[data-grip=tau]")
    grip.focus()
    for key, expected in (
        ("ArrowRight", 0.031),
        ("ArrowUp", 0.032),
        ("ArrowLeft", 0.031),
        ("PageUp", 0.046),
        ("Home", 0.001),
    ):
        page.keyboard.down(key)
        assert tau(page) == expected
        agrees_with_core(page, STAFF)
        page.keyboard.up(key)
        expect_strip(page, f"{expected:g}")
    page.keyboard.press("End")
    expect_strip(page, "1")
    expect(grip).to_be_focused()
    expect(grip).to_have_attribute("aria-valuenow", "1")


def test_any_temperature_can_be_typed_and_none_that_is_impossible(page, app_url):
    open_page(page, app_url)
    field = page.locator("input[name=tau]")
    for typed, shown in (("1e-9", "1e-9"), ("1000", "1,000"), ("0.0123456789", "0.0123")):
        field.fill(typed)
        field.press("Enter")
        expect_strip(page, shown)
        assert tau(page) == float(typed)
        agrees_with_core(page, STAFF)
    field.fill("-3")
    field.press("Enter")
    expect(page.locator(".bft-status")).to_contain_text("above 0")
    assert tau(page) == 0.0123456789
    expect(field).to_have_value("0.0123457")  # what it has room for
    field.fill("1e-9")
    field.press("Enter")
    expect(page.locator(".bft-label")).to_contain_text("left of this axis")


def test_participation_draws_its_floor_in_force(page, app_url):
    scenario = STAFF.replace(participation=True)
    open_page(page, app_url, scenario)
    expect(page.locator('[data-curve="ratio:floor"]')).to_have_class("bft-floor is-on")
    page.mouse.click(*place(page, 0.5))
    assert raw(page, "ratio") == pytest.approx(math.sqrt(0.5), abs=1e-12)
    agrees_with_core(page, scenario)


def test_the_ceiling_of_flat_categories_is_a_curve_of_its_own(page, app_url):
    adult = bf.load_scenario("adult").replace(size=32)
    open_page(page, app_url, adult)
    expect(page.locator('[data-curve="ratio:ceiling:workclass"]')).to_be_attached()
    page.locator("input[name=tau]").fill(repr(matched_tau(0.2, 0.5)))
    page.locator("input[name=tau]").press("Enter")
    assert raw(page, "ratio:ceiling:workclass") == pytest.approx(0.5, abs=1e-12)


def test_another_scenario_is_not_undone_by_an_earlier_drag(page, app_url):
    open_page(page, app_url)
    page.mouse.click(*place(page, 0.1))
    expect_strip(page, "0.1")
    page.get_by_role("button", name="Scenario").click()
    page.get_by_role("button", name="Open adult").click()
    expect_strip(page, "0.03")
    expect(page.locator("input[name=tau]")).to_have_value("0.03")
    page.keyboard.press("Escape")
    page.mouse.click(*place(page, 0.2))
    expect_strip(page, "0.2")


def test_a_budget_set_by_any_name_moves_the_noise_on_the_dial(page, app_url):
    open_page(page, app_url)
    page.get_by_role("tab", name="Budget and rounds").click()
    before = raw(page, "sigma")
    field = page.get_by_role("spinbutton", name="Attacker's success (%)")
    field.fill("75")
    field.press("Enter")
    expect(page.get_by_role("spinbutton", name="ρ (zCDP), all rounds")).not_to_have_value("0.05")
    budget = bf.Budget.of_success(0.75)
    changed = STAFF.replace(rho=budget.rho)
    expect(page.locator("[data-readout=sigma]")).not_to_have_attribute("data-raw", str(before))
    agrees_with_core(page, changed)
    page.get_by_role("button", name="Rising").click()
    expect(page.locator("[data-readout=sigma]")).to_contain_text("…")
    agrees_with_core(page, changed.replace(shares=tuple(range(1, 9))))
    expect(page.get_by_role("textbox", name="Shares of ρ, one number a round")).to_have_value("1, 2, 3, 4, 5, 6, 7, 8")


def test_a_number_out_of_range_is_refused_in_words_and_its_field_goes_on_following(page, app_url):
    open_page(page, app_url)
    page.get_by_role("tab", name="Budget and rounds").click()
    rho, epsilon = (page.get_by_label(name, exact=True) for name in ("ρ (zCDP), all rounds", "ε, exact"))
    expect(epsilon).to_be_visible()
    before = epsilon.input_value()
    epsilon.fill("-1")
    epsilon.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("epsilon")
    expect(epsilon).to_have_value(before)
    rho.fill("0.5")
    rho.press("Enter")
    expect(epsilon).to_have_value(f"{bf.Budget(rho=0.5).epsilon:.6g}")
    rounds = page.get_by_label("Rounds", exact=True)
    rounds.fill("0")
    rounds.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Rounds: 0 is too small; the least is 1.")
    expect(rounds).not_to_have_value("0")


# --- words, rooms and fingers --------------------------------------------------------------------------------------


def test_the_sigma_of_uneven_rounds_is_its_least_and_its_most(page, app_url):
    scenario = STAFF.replace(rounds=3, shares=(1.0, 100.0, 1.0))
    open_page(page, app_url, scenario)
    sigmas = json.loads(page.locator("[data-readout=sigma]").get_attribute("data-rounds"))
    said = [float(each.replace(",", "")) for each in page.locator("[data-readout=sigma]").inner_text().split(" … ")]
    assert said == pytest.approx([min(sigmas), max(sigmas)], rel=5e-3)
    expect(page.locator(".bft-readout", has=page.locator("[data-readout=sigma]")).locator("small")).to_have_text(
        "votes: least in round 2, most in rounds 1 and 3"
    )
    agrees_with_core(page, scenario)


@pytest.mark.parametrize(
    ("weight", "rules", "participation", "says"),
    [
        (0, {"age": bf.Threshold(7)}, False, "Votes ignore what is joined, of weight 0: its edges need no noise."),
        (0, {"age": bf.Threshold(7)}, True, "Participation alone sets the noise"),
        (1, {}, False, "This policy has no edges"),
        (1, {}, True, "Participation alone sets the noise"),
    ],
)
def test_why_there_is_no_noise_to_save_is_told_apart(page, app_url, weight, rules, participation, says):
    domain = bf.Domain(STAFF.domain.attributes, {name: weight if name == "age" else 1 for name in STAFF.domain.names})
    scenario = STAFF.replace(policy=bf.Policy(domain, rules, participation))
    open_page(page, app_url, scenario)
    expect(page.locator(".bft-finding")).to_contain_text(says)
    expect(page.locator(".bft-readout", has=page.locator("[data-readout=ratio]"))).to_contain_text("full noise")


@pytest.mark.parametrize("width", [320, 390, 820])
def test_no_title_of_the_dial_is_cut_off_or_over_another(new_page, app_url, width):
    page = open_page(new_page(viewport={"width": width, "height": 900}), app_url)
    right = page.locator(".bft-stage").bounding_box()["x"] + page.locator(".bft-stage").bounding_box()["width"]
    titles = [title.bounding_box() for title in page.locator("text.bft-title").all()]
    assert len(titles) == 4
    panels = [panel.bounding_box() for panel in page.locator(".bft-panel").all()]
    for title in titles:
        assert title["x"] + title["width"] <= right + 0.5
        assert not any(
            title["y"] + 2 < panel["y"] + panel["height"] and panel["y"] < title["y"] + title["height"] - 2
            for panel in panels
        )
    first, second = titles[:2]
    assert first["x"] + first["width"] < second["x"]


@pytest.fixture
def fingers(touch_page, app_url):
    """The page on a telephone, wider than its window, and a drag by one finger along points of the window."""
    page, drag = touch_page(390, 800)
    open_page(page, app_url)
    # What scrolls the page gets something to scroll to, both ways.
    page.locator(".bft-stage").evaluate(
        """stage => {
            const up = (node) => node.parentElement ?? node.getRootNode().host;
            let box = up(stage);
            while (box && !['auto', 'scroll'].includes(getComputedStyle(box).overflowY)) box = up(box);
            box ??= document.scrollingElement;
            box.style.overflowX = "auto";
            const far = document.createElement("div");
            far.style = "flex: none; align-self: flex-start; width: 900px; height: 2000px";
            box.append(far);
            window.scroller = box;
        }"""
    )
    page.wait_for_function("scroller.scrollWidth > 800 && scroller.scrollHeight > 2000")
    return page, drag


def scrolled(page: Page) -> list[float]:
    return page.evaluate("[scroller.scrollLeft, scroller.scrollTop]")


def test_a_finger_along_the_dial_sets_tau_though_the_page_could_scroll_sideways(fingers):
    page, drag = fingers
    x, y = place(page, 0.01)
    drag((x + 40, y), (x - 60, y + 6))
    assert scrolled(page)[0] == 0
    expect_strip(page, f"{tau(page):g}")
    assert tau(page) < 0.01


def test_a_finger_across_the_dial_scrolls_the_page_and_leaves_tau(fingers):
    page, drag = fingers
    x, y = place(page, 0.01)
    drag((x, y), (x + 4, y - 250))
    page.wait_for_function("scroller.scrollTop > 0")
    assert tau(page) == 0.03
    assert strip(page) == "0.03"


def test_what_a_finger_may_do_is_declared_on_html(page, app_url):
    """Within an SVG browsers pass over touch-action."""
    open_page(page, app_url)
    declared = page.locator(".bft-stage").evaluate("stage => [stage.namespaceURI, getComputedStyle(stage).touchAction]")
    assert declared == ["http://www.w3.org/1999/xhtml", "pan-y pinch-zoom"]
