"""Synthesis, Pilot and Paper in Chromium: live runs, candidates that move, stops, visits elsewhere, two tabs."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

import bfsoft as bf
from bfsoft import experiments
from bfsoft_explorer import share


def address(url: str, page: str, name: str = "staff", **changes: object) -> str:
    return f"{url}/{page}?s={share.to_link(bf.load_scenario(name).replace(**changes))}"


def look_at(page: Page, section: str) -> None:
    page.get_by_role("radio", name=section).click()


def at_rest(page: Page) -> None:
    """Wait until the page's script has run: what is typed before it is done goes with the field that it renews."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def run(page: Page) -> None:
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("button", name="BF-Soft's table")).to_be_visible()


def test_candidates_move_when_played_and_follow_the_scrubber(page: Page, app_url: str) -> None:
    page.goto(address(app_url, "synthesis", size=40, rounds=3))
    run(page)
    look_at(page, "Candidates moving")
    expect(page.locator(".js-plotly-plot .scatterlayer .point")).to_have_count(80)
    expect(page.locator(".slider-label").first).to_contain_text("round 1: candidates")

    first = places(page)
    page.locator(".updatemenu-button", has_text="Play").click()
    at_step(page, "round 3: chosen")
    last = places(page)
    assert sum(a != b for a, b in zip(first, last, strict=True)) > 40
    rail = page.locator(".slider-rail-touch-rect").bounding_box()
    page.mouse.click(rail["x"] + 2, rail["y"] + rail["height"] / 2)
    at_step(page, "round 1: candidates")
    page.wait_for_function(f"first => ({PLACES})().join() === first.join()", arg=first)


def at_step(page: Page, name: str) -> None:
    page.wait_for_function("name => document.querySelector('.slider-label')?.textContent.includes(name)", arg=name)


# Where every candidate stands on the chart, as a function in the page.
PLACES = "() => [...document.querySelectorAll('.scatterlayer .point')].map(point => point.getAttribute('transform'))"


def places(page: Page) -> list[str]:
    """Where every candidate stands, once nothing has moved for half a second.

    A label tells its step before the points set off, so it is the points that must have come to rest.
    """
    page.evaluate("window.before = null")
    page.wait_for_function(
        f"""() => {{
            const now = ({PLACES})().join();
            const same = window.before === now;
            window.before = now;
            return same;
        }}""",
        polling=500,
    )
    return page.evaluate(f"({PLACES})()")


@pytest.mark.parametrize("section", ["Votes", "Two attributes", "Over seeds", "Comparison"])
def test_a_run_can_be_looked_at_from_every_side(page: Page, app_url: str, section: str) -> None:
    page.goto(address(app_url, "synthesis", size=32, rounds=3))
    run(page)
    look_at(page, section)
    charts = {"Votes": 2, "Two attributes": 3, "Over seeds": 0, "Comparison": 2}[section]
    expect(page.get_by_test_id("stVegaLiteChart")).to_have_count(charts)
    expect(page.get_by_test_id("stException")).to_have_count(0)


def test_repeats_show_their_progress_stop_and_keep_what_is_done(page: Page, app_url: str) -> None:
    page.goto(address(app_url, "synthesis", size=64, rounds=4))
    look_at(page, "Over seeds")
    seeds = page.get_by_role("spinbutton", name="Seeds")
    expect(seeds).to_be_visible()
    at_rest(page)
    seeds.fill("500")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Repeat over seeds").click()
    expect(page.get_by_text("of 500 seeds done")).to_be_visible()
    expect(page.get_by_text("s left")).to_be_visible()
    page.get_by_role("link", name="Policy").click()
    expect(page.locator('[data-readout="reach"]')).to_be_visible()
    page.get_by_role("link", name="Synthesis").click()
    page.get_by_role("button", name="Stop repeating").click()
    stopped = page.get_by_text("Stopped with")
    expect(stopped).to_be_visible()
    done = int(stopped.inner_text().split("Stopped with ")[1].split(" of")[0])
    assert 0 < done < 500
    with page.expect_download() as download:
        page.get_by_role("button", name="Results (CSV)").click()
    results = pd.read_csv(download.value.path())
    assert sorted(results["seed"].unique()) == [*range(done)]
    assert len(results) == done * 2 * 3


def test_two_tabs_run_their_own(page: Page, app_url: str) -> None:
    one, two = page, page.context.new_page()
    one.goto(address(app_url, "synthesis", size=32, rounds=3, seed=1))
    two.goto(address(app_url, "synthesis", name="xor3", size=48, rounds=2, seed=2))
    one.get_by_role("button", name="Run").click()
    two.get_by_role("button", name="Run").click()
    for tab, name, size in ((one, "staff", 32), (two, "xor3", 48)):
        with tab.expect_download() as download:
            tab.get_by_role("button", name="BF-Soft's table").click()
        domain = bf.load_scenario(name).domain
        assert len(domain.encode(bf.read_table(download.value.path(), domain))) == size


def test_a_control_moved_while_it_runs_is_for_the_next_run(page: Page, app_url: str) -> None:
    page.goto(address(app_url, "synthesis", name="adult", size=2048, rounds=60))
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_text("of the rounds done")).to_be_visible()
    page.get_by_role("spinbutton", name="Temperature τ").fill("0.25")
    page.keyboard.press("Enter")
    expect(page.locator(".bfsoft-strip")).to_contain_text("0.25")
    page.get_by_role("main").get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped after round")).to_be_visible()
    expect(page.get_by_text("Settings have changed since this run")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Settings (YAML)").click()
    with open(download.value.path(), encoding="utf-8") as file:
        assert bf.Scenario.loads(file.read()).tau == bf.load_scenario("adult").tau


# ------------------------------------------------------------------ the pilot


def test_a_pilot_forecasts_and_its_temperature_is_taken_over(page: Page, app_url: str) -> None:
    scenario = bf.load_scenario("staff").replace(size=64, rounds=3, rho=0.001)
    page.goto(f"{app_url}/pilot?s={share.to_link(scenario)}")
    for field, text, runs in (
        (page.get_by_role("textbox", name="Temperatures τ"), "0.02, 0.2", "90 runs"),
        (page.get_by_role("textbox", name="Budgets ρ"), "0.001, 0.1", "36 runs"),
        (page.get_by_role("spinbutton", name="Records in the private table"), "1000", "72 runs"),
    ):
        at_rest(page)
        field.fill(text)
        page.keyboard.press("Enter")
        expect(page.get_by_text(runs)).to_be_visible()
    page.get_by_role("button", name="Forecast", exact=True).click()
    expect(page.get_by_role("button", name="Runs (CSV)")).to_be_visible()
    expect(page.get_by_text("seeds done")).to_have_count(0)
    expect(page.get_by_test_id("stVegaLiteChart")).to_have_count(3)
    expect(page.get_by_text("holds only for private data like the public table")).to_be_visible()
    expect(page.get_by_text("The public table has 400 records and the private one 1,000")).to_be_visible()
    found = experiments.pilot(
        bf.load_data("staff", scenario.domain), scenario.policy, 1_000, (0.02, 0.2), (0.001, 0.1), seeds=6, jobs=1,
        size=64, rounds=3,
    )  # fmt: skip
    best = found.recommended.set_index("rho").loc[0.001]
    assert best["method"] == "BF-Soft"
    page.get_by_role("button", name="Use this τ").click()
    expect(page.get_by_role("button", name="In use")).to_be_disabled()
    page.get_by_role("link", name="Synthesis").click()
    expect(page.get_by_role("spinbutton", name="Temperature τ")).to_have_value(f"{best['tau']:g}")


# ------------------------------------------------------------------ the paper


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_papers_figures_stand_beside_ours(new_page: Callable[..., Page], app_url: str, scheme: str) -> None:
    page = new_page(color_scheme=scheme)
    page.goto(f"{app_url}/paper")
    expect(page.get_by_text("What the paper found, and what this machine finds")).to_be_visible()
    for name, charts in (("Crossover", 3), ("Temperature", 2), ("Public pilot", 2), ("What moves it", 1)):
        page.get_by_role("radio", name=name).click()
        expect(page.get_by_test_id("stVegaLiteChart")).to_have_count(charts)
