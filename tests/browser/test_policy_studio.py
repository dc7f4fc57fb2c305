"""Beside the canvas, in Chromium: the protection map under the pointer, suggestions, the domain editor, the menu."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Page, expect

import bfsoft as bf
from bfsoft_explorer import share, words
from bfsoft_explorer.charts import protection

MOST_TABS = 80  # menu, pages and attributes come before the canvas


def open_page(page: Page, url: str, path: str = "", scenario: bf.Scenario | None = None) -> None:
    link = f"?s={share.to_link(scenario)}" if scenario else ""
    page.goto(f"{url}/{path}{link}")
    expect(page.locator(".bfsoft-strip")).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def strip(page: Page, label: str):
    return page.locator(".bfsoft-strip div", has=page.locator(f"dt:text-is('{label}')")).locator("dd")


def charts(page: Page):
    """The drawn charts, in order: reach, the map, the comparison."""
    return page.locator("[data-testid=stVegaLiteChart]")


def test_hovering_the_map_names_the_pair_its_hops_and_the_number(page: Page, app_url: str) -> None:
    open_page(page, app_url, scenario=bf.load_scenario("adult-age"))
    drawn = charts(page).nth(1).locator("canvas, svg").first
    drawn.scroll_into_view_if_needed()
    box = drawn.bounding_box()
    assert box is not None
    tooltip = page.locator("#vg-tooltip-element")
    # The lower left of the map: ages far apart, wherever exactly the pointer lands.
    for part in (0.75, 0.7, 0.65):
        page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * part)
        if tooltip.is_visible():
            break
    expect(tooltip).to_be_visible()
    rows = {
        row.locator("td").nth(0).inner_text(): row.locator("td").nth(1).inner_text()
        for row in tooltip.locator("tr").all()
    }
    a, b = int(rows["age"]), int(rows["and"])
    policy = bf.load_scenario("adult-age").policy
    protection = policy.protection("age", bf.SoftVote(0.03), bf.load_scenario("adult-age").budget)
    at = protection.values.index(a), protection.values.index(b)
    assert rows["hops in the policy"] == f"{protection.hops[at]:.0f}"
    assert rows["attacker's best guess"] == f"{100 * protection.success[at]:.1f} %"


def test_a_suggestion_moves_the_numbers_of_strip_and_canvas(page: Page, app_url: str) -> None:
    scenario = bf.load_scenario("adult-age-hours-workclass")
    open_page(page, app_url, scenario=scenario)
    expect(strip(page, "reach r")).to_have_text("0.2")
    page.get_by_role("button", name="Apply: Take workclass").first.click()
    expect(strip(page, "reach r")).to_have_text("0.0192")
    reach = page.locator("[data-readout=reach]").first
    expect(reach).to_have_attribute("data-raw", repr(scenario.policy.with_rule("workclass", None).reach))
    page.locator(".st-key-policy-undo-button button").click()
    expect(strip(page, "reach r")).to_have_text("0.2")


def test_every_suggestion_is_applied_by_a_button_with_a_name_of_its_own(page: Page, app_url: str) -> None:
    open_page(page, app_url, scenario=bf.load_scenario("adult-age-hours-workclass"))
    buttons = page.get_by_role("button", name="Apply")
    expect(buttons.first).to_be_visible()
    names = [button.inner_text() for button in buttons.all()]
    assert len(names) > 3
    assert len(set(names)) == len(names)


def test_a_policy_is_drawn_by_keyboard_alone(page: Page, app_url: str) -> None:
    scenario = bf.load_scenario("adult-age")
    open_page(page, app_url, scenario=scenario)
    values, reach = page.locator("[data-value]"), page.locator("[data-readout=reach]").first
    expect(values.first).to_be_visible()
    before = reach.get_attribute("data-raw")
    assert before == repr(scenario.policy.reach)
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.locator("[data-value]:focus").count():
            break
    expect(page.locator("[data-value]:focus")).to_have_attribute("data-value", "17")
    page.keyboard.press("Enter")
    for _ in range(3):
        page.keyboard.press("PageDown")
    expect(page.locator("[data-value]:focus")).to_have_attribute("data-value", "47")
    page.keyboard.press("Enter")
    drawn = scenario.policy.with_rule(
        "age", bf.Edges([*((a, b) for a in range(17, 91) for b in range(a + 1, min(a + 7, 90) + 1)), (17, 47)])
    )
    expect(reach).to_have_attribute("data-raw", repr(drawn.reach))
    expect(strip(page, "reach r")).to_have_text(words.number(drawn.reach))
    expect(strip(page, "L2 bound")).to_have_text(
        words.number(bf.sensitivity_bound(drawn, bf.SoftVote(scenario.tau)).l2)
    )


def test_a_mistake_in_the_domain_is_marked_and_mended(page: Page, app_url: str) -> None:
    open_page(page, app_url, "domain")
    highest = page.get_by_role("textbox", name="Highest")
    highest.fill("9O")
    highest.press("Enter")
    expect(page.get_by_text("is not a number")).to_be_visible()
    expect(strip(page, "reach r")).to_have_text("0.0192")
    highest.fill("157")
    highest.press("Enter")
    expect(page.get_by_text("is not a number")).to_have_count(0)
    expect(strip(page, "reach r")).to_have_text("0.01")
    page.reload()
    expect(strip(page, "reach r")).to_have_text("0.01")
    expect(page.get_by_role("textbox", name="Highest")).to_have_value("157")


def test_a_public_table_becomes_the_domain(page: Page, app_url: str, tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    rows = "".join(f"{20 + i % 50};{'ab'[i % 2]};{i * 37 % 1000},5\n" for i in range(200))
    table.write_text("\ufeffage;job;pay\n" + rows, encoding="utf-8")
    open_page(page, app_url, "domain")
    page.get_by_text("Start from a sample, a public table, or nothing").click()
    uploader = page.locator(".st-key-domain-file input[type=file]")
    expect(uploader).to_be_disabled()
    page.get_by_text("This table is public").click()
    expect(uploader).to_be_enabled()
    uploader.set_input_files(table)
    expect(page.get_by_text("200 rows, 3 columns")).to_be_visible()
    page.get_by_role("button", name="Start with 3 attributes").click()
    expect(strip(page, "data")).to_have_text("your table")
    expect(page.get_by_text("200 records")).to_be_visible()


def test_the_menu_hands_over_a_notebook_of_this_very_state(page: Page, app_url: str, tmp_path: Path) -> None:
    scenario = bf.load_scenario("staff").replace(tau=0.07)
    open_page(page, app_url, scenario=scenario)
    expect(charts(page).nth(1)).to_be_visible()
    # The map is redrawn without the rest of the page; the notebook must know of it all the same.
    chosen = page.get_by_role("radio", name="zCDP", exact=True)
    chosen.click()
    first = scenario.domain.names[0]
    said = protection.protection_text(scenario.policy, first, bf.SoftVote(0.07), scenario.budget, "zcdp", "best")
    expect(charts(page).nth(1)).to_have_attribute("aria-label", said)
    page.get_by_role("button", name="Scenario").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Open as notebook").click()
    path = tmp_path / "got.ipynb"
    download.value.save_as(path)
    made = nbformat.reads(path.read_text(encoding="utf-8"), 4)
    names: dict = {}
    exec(made.cells[1].source, names)
    assert names["scenario"] == scenario
    assert any("measure='zcdp'" in cell.source for cell in made.cells)


def test_the_menu_says_what_is_wrong_with_a_file_and_closes_when_a_scenario_is_opened(page: Page, app_url: str) -> None:
    open_page(page, app_url)
    page.get_by_role("button", name="Scenario").click()
    upload = page.locator("[data-testid=stPopoverBody] input[type=file]")
    upload.set_input_files({"name": "bad.yaml", "mimeType": "application/yaml", "buffer": b"domain: ["})
    expect(page.locator("[data-testid=stPopoverBody]").get_by_text("bad.yaml: ")).to_be_visible()
    other = bf.load_scenario("adult").replace(tau=0.05).dumps().encode()
    upload.set_input_files({"name": "other.yaml", "mimeType": "application/yaml", "buffer": other})
    page.get_by_role("button", name="Open other.yaml").click()
    expect(strip(page, "τ")).to_have_text("0.05")
    expect(page.locator("[data-testid=stPopoverBody]")).to_have_count(0)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_runs_off_the_page_at_200_percent(page: Page, app_url: str, theme: str) -> None:
    """Zoom 2 at 1280 px leaves 640 px of layout; the page may scroll down, never sideways."""
    page.set_viewport_size({"width": 640, "height": 500})
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    for path in ("", "domain"):
        open_page(page, app_url, path)
        page.locator("[data-testid=stVegaLiteChart], [data-testid=stDataFrame]").last.wait_for()
        width = page.evaluate("() => document.querySelector('[data-testid=stMain]').scrollWidth")
        assert width <= 640
