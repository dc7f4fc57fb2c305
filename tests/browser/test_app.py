"""The whole app in Chromium: draw, see the reach move under the pointer, reload, synthesise, download, go back."""

from __future__ import annotations

import io
import json

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

import bfsoft as bf
from bfsoft_explorer import share


def open_policy(page: Page, url: str, scenario: bf.Scenario | None = None) -> None:
    page.goto(f"{url}/?s={share.to_link(scenario)}" if scenario else url)
    expect(page.locator('[data-readout="reach"]')).to_be_visible()


def raw(page: Page, name: str) -> float:
    return float(page.locator(f'[data-readout="{name}"]').get_attribute("data-raw"))


def centre(page: Page, label: object) -> tuple[float, float]:
    box = page.locator(f'[data-value="{label}"]').bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def settled_reach(page: Page, reach: float) -> None:
    """Wait until the strip, which Python draws, says this reach."""
    page.wait_for_function(
        "reach => [...document.querySelectorAll('.bfsoft-strip div')]"
        ".some(part => part.innerText.startsWith('reach') && part.title.startsWith(String(reach)))",
        arg=reach,
    )


# THEORY, "Numbers to reproduce".
@pytest.mark.parametrize(
    ("name", "reach"),
    [
        ("adult-age", 0.2 * 7 / 73),
        ("adult-age-hours", 0.2 * 7 / 73),
        ("adult-age-hours-workclass-income", 0.2),
        ("bank-age", 0.2 * 7 / 82),
        ("bank-job-siblings", 0.1),
        ("bank-job-all", 0.2),
        ("xor3", 1 / 28),
    ],
)
def test_the_page_shows_theorys_reaches(page: Page, app_url: str, name: str, reach: float) -> None:
    scenario = bf.load_scenario(name)
    assert scenario.policy.reach == pytest.approx(reach, rel=1e-12)
    open_policy(page, app_url, scenario)
    assert raw(page, "reach") == pytest.approx(reach, rel=1e-12)


@pytest.mark.parametrize(("tau", "ratio"), [(0.015, 0.5644), (0.03, 0.3092), (0.06, 0.1585)])
def test_the_page_shows_theorys_noise_ratios(page: Page, app_url: str, tau: float, ratio: float) -> None:
    scenario = bf.load_scenario("adult").replace(tau=tau)
    open_policy(page, app_url, scenario)
    bound = bf.sensitivity_bound(scenario.policy, bf.SoftVote(tau))
    assert raw(page, "ratio") == pytest.approx(ratio, abs=5e-5)
    assert raw(page, "ratio") == pytest.approx(bound.ratio, abs=1e-12)
    assert raw(page, "l1") == pytest.approx(bound.l1, abs=1e-12)
    assert raw(page, "l2") == pytest.approx(bound.l2, abs=1e-12)


def test_an_edge_drawn_moves_the_reach_during_the_drag_and_survives_a_reload(page: Page, app_url: str) -> None:
    open_policy(page, app_url)
    before = raw(page, "reach")
    page.mouse.move(*centre(page, 30))
    page.mouse.down()
    page.mouse.move(*centre(page, 50), steps=5)
    during = raw(page, "reach")
    assert during == pytest.approx(0.2 * 20 / 73, rel=1e-12)
    page.mouse.move(*centre(page, 60), steps=5)
    drawn = raw(page, "reach")
    assert drawn == pytest.approx(0.2 * 30 / 73, rel=1e-12)
    assert before < during < drawn
    page.mouse.up()
    settled_reach(page, drawn)
    page.wait_for_url("**/?s=*")
    page.reload()
    expect(page.locator('[data-readout="reach"]')).to_be_visible()
    assert raw(page, "reach") == pytest.approx(drawn, rel=1e-12)


def test_theta_moves_every_read_out_during_the_drag(page: Page, app_url: str) -> None:
    open_policy(page, app_url)
    box = page.locator("input[name=theta][type=range]").bounding_box()
    y = box["y"] + box["height"] / 2
    seen = {name: {raw(page, name)} for name in ("reach", "l1", "l2", "ratio")}
    page.mouse.move(box["x"] + box["width"] * 0.1, y)
    page.mouse.down()
    for step in range(2, 9):
        page.mouse.move(box["x"] + box["width"] * step / 10, y)
        for name, values in seen.items():
            values.add(raw(page, name))
    page.mouse.up()
    assert all(len(values) >= 7 for values in seen.values()), seen


def test_the_back_button_returns_to_the_policy_before(page: Page, app_url: str) -> None:
    open_policy(page, app_url)
    first = raw(page, "reach")
    page.mouse.move(*centre(page, 20))
    page.mouse.down()
    page.mouse.move(*centre(page, 80), steps=5)
    page.mouse.up()
    settled_reach(page, 0.2 * 60 / 73)
    page.wait_for_url("**/?s=*")
    page.go_back()
    settled_reach(page, first)
    expect(page.locator(f'[data-readout="reach"][data-raw="{first!r}"]')).to_be_visible()
    page.go_forward()
    settled_reach(page, 0.2 * 60 / 73)


def test_a_policy_too_long_for_a_link_comes_back_by_the_buttons_and_is_named_after_a_reload(
    page: Page, app_url: str
) -> None:
    open_policy(page, app_url, bf.load_scenario("adult").replace(title="A long policy"))
    page.locator("[data-mode=complete]").click()
    settled_reach(page, 0.2)
    page.locator("[data-mode=draw]").click()
    expect(page.locator(".bfsoft-strip")).to_contain_text("age 2,701 edges")
    page.wait_for_url("**/?s=kept-*")
    page.go_back()
    expect(page.locator(".bfsoft-strip")).to_contain_text("age complete")
    page.go_forward()
    expect(page.locator(".bfsoft-strip")).to_contain_text("age 2,701 edges")
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("Open its YAML file")


def test_state_survives_moving_between_pages(page: Page, app_url: str) -> None:
    scenario = bf.load_scenario("staff").replace(tau=0.07)
    open_policy(page, app_url, scenario)
    page.get_by_role("link", name="Synthesis").click()
    expect(page.get_by_role("button", name="Run")).to_be_visible()
    expect(page.get_by_role("spinbutton", name="Temperature τ")).to_have_value("0.07")
    page.get_by_role("link", name="Policy").click()
    expect(page.locator('[data-readout="reach"]')).to_be_visible()
    assert raw(page, "reach") == pytest.approx(scenario.policy.reach, rel=1e-12)


def test_two_tabs_do_not_mix(page: Page, app_url: str) -> None:
    one, two = page, page.context.new_page()
    open_policy(one, app_url, bf.load_scenario("staff"))
    open_policy(two, app_url, bf.load_scenario("xor3"))
    assert raw(one, "reach") == pytest.approx(bf.load_scenario("staff").policy.reach, rel=1e-12)
    assert raw(two, "reach") == pytest.approx(1 / 28, rel=1e-12)
    one.reload()
    expect(one.locator('[data-readout="reach"]')).to_be_visible()
    assert raw(one, "reach") == pytest.approx(bf.load_scenario("staff").policy.reach, rel=1e-12)


def test_a_damaged_link_says_so_and_opens_the_first_sample(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/?s=not-a-scenario")
    expect(page.get_by_text("The link could not be opened")).to_be_visible()
    expect(page.locator('[data-readout="reach"]')).to_be_visible()
    assert raw(page, "reach") == pytest.approx(bf.load_scenario("adult").policy.reach, rel=1e-12)


def test_a_synthesis_is_run_watched_and_downloaded(page: Page, app_url: str) -> None:
    scenario = bf.load_scenario("adult")
    page.goto(f"{app_url}/synthesis?s={share.to_link(scenario.replace(size=64, rounds=4))}")
    page.get_by_role("button", name="Run").dblclick()
    expect(page.get_by_role("button", name="BF-Soft's table")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="BF-Soft's table").click()
    table = pd.read_csv(download.value.path(), na_filter=False)
    assert len(scenario.domain.encode(table)) == 64
    with page.expect_download() as download:
        page.get_by_role("button", name="Errors (CSV)").click()
    errors = pd.read_csv(download.value.path())
    assert len(errors) == 2 * 4 * 3
    with page.expect_download() as download:
        page.get_by_role("button", name="Settings (YAML)").click()
    with open(download.value.path(), encoding="utf-8") as file:
        assert bf.Scenario.loads(file.read()) == scenario.replace(size=64, rounds=4)
    alone = bf.synthesize(
        bf.load_data("adult", scenario.domain), scenario.policy, bf.bf_soft(scenario.tau), scenario.budget,
        size=64, rounds=4, seed=scenario.seed,
    )  # fmt: skip
    pd.testing.assert_frame_equal(table, pd.read_csv(io.StringIO(alone.records.to_csv(index=False)), na_filter=False))


def test_a_long_run_shows_progress_and_stops(page: Page, app_url: str) -> None:
    scenario = bf.load_scenario("adult").replace(size=4096, rounds=200)
    page.goto(f"{app_url}/synthesis?s={share.to_link(scenario)}")
    page.get_by_role("button", name="Run").click()
    stop = page.get_by_role("main").get_by_role("button", name="Stop")
    expect(page.get_by_text("of the rounds done")).to_be_visible()
    page.get_by_role("link", name="Policy").click()
    expect(page.locator('[data-readout="reach"]')).to_be_visible()
    page.get_by_role("link", name="Synthesis").click()
    stop.click()
    expect(page.get_by_text("Stopped after round")).to_be_visible(timeout=120_000)
    expect(page.get_by_role("button", name="BF-Soft's table")).to_be_visible()


def test_nothing_is_asked_of_any_other_machine(page: Page, app_url: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    open_policy(page, app_url)
    page.get_by_role("link", name="Synthesis").click()
    expect(page.get_by_role("button", name="Run")).to_be_visible()
    abroad = [url for url in asked if not url.startswith((app_url, app_url.replace("http", "ws", 1), "data:", "blob:"))]
    assert not abroad, json.dumps(abroad)
