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
