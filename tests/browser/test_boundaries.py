"""The boundary plane in Chromium: its numbers against the library's, each gesture, and the page in the whole app."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, Route, expect

import bfsoft as bf
from bfsoft.crossings import Plane, colouring, mix, plane, plane_edges, regions, walk
from bfsoft.synthesis import random_candidates
from bfsoft_explorer import share
from bfsoft_explorer.plane import SCRIPT, STYLE
from bfsoft_explorer.plane._contract import plane_data

HOME = "http://plane.invalid/"
HARNESS = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Plane</title><link rel="stylesheet" href="/plane.css">
<style>html { --st-background-color: #fff; --st-text-color: #16212c; } body { margin: 20px; }</style>
<main><div id="home"></div></main>
<script type="module">
  import * as plane from "/plane.js";
  window.plane = plane;
  window.commits = [];
  window.mount = (data) => { plane.default({ data, parentElement: document.getElementById("home"),
    setStateValue: (name, value) => window.commits.push(JSON.parse(JSON.stringify(value))) }); };
  window.ready = true;
</script></html>"""


@pytest.fixture
def mount(page: Page) -> Callable[[dict[str, Any]], Page]:
    """A page that holds nothing but the plane; no server is needed for three small files."""

    def serve(route: Route) -> None:
        name = route.request.url.removeprefix(HOME)
        files: dict[str, tuple[str, str]] = {
            "": ("text/html", HARNESS),
            "plane.js": ("text/javascript", SCRIPT.read_text(encoding="utf-8")),
            "plane.css": ("text/css", STYLE.read_text(encoding="utf-8")),
        }
        kind, body = files.get(name, ("text/plain", ""))
        route.fulfill(status=200, content_type=f"{kind}; charset=utf-8", body=body)

    page.route(f"{HOME}**", serve)
    page.goto(HOME)
    page.wait_for_function("window.ready")

    def put(data: dict[str, Any]) -> Page:
        page.evaluate("data => mount(data)", data)
        return page

    return put


def adult() -> tuple[bf.Policy, Plane, np.ndarray]:
    policy = bf.load_scenario("adult").policy
    return policy, plane(policy.domain, "age", "hours.per.week", np.array([37, 0, 8, 49, 0])), random_candidates(
        policy.domain, 100, 0
    )  # fmt: skip


def staff() -> tuple[bf.Policy, Plane, np.ndarray]:
    policy = bf.load_scenario("staff").policy.with_rule("job", bf.Threshold(2))
    return policy, plane(policy.domain, "job", "sick"), random_candidates(policy.domain, 60, 1)


def ties() -> tuple[bf.Policy, Plane, np.ndarray]:
    """A grid where many cells have several nearest candidates, some of them the same record twice."""
    domain = bf.Domain([bf.Numeric("x", 0, 10), bf.Numeric("y", 0, 10), bf.Categorical("c", ["a", "b"])])
    policy = bf.Policy(domain, {"x": bf.Complete(), "y": bf.Edges([(0, 10), (3, 4)])})
    rows = [[8, 2, 0], [2, 8, 0], [2, 2, 0], [8, 8, 0], [5, 5, 1], [8, 2, 0]]
    return policy, plane(domain, "x", "y"), np.array(rows)


def beyond_doubles() -> tuple[bf.Policy, Plane, np.ndarray]:
    """Weights whose common denominator no double holds: ties must still be ties."""
    weights = {"x": 0.12345679, "y": 0.76543217, "z": 0.33333371, "w": 0.99999913, "v": 0.54321093, "u": 0.1}
    spans = (31, 23, 13, 7, 17, 41)
    domain = bf.Domain([bf.Numeric(name, 0, span) for name, span in zip(weights, spans, strict=True)], weights)
    assert domain.denominator > 2**53
    rows = [[5, 11, 3, 2, 1, 9], [25, 11, 3, 2, 1, 9], [15, 1, 3, 2, 1, 9], [15, 21, 3, 2, 1, 9], [15, 11, 9, 4, 9, 2]]
    record = np.array([0, 0, 3, 2, 1, 9])
    return bf.Policy(domain, {"x": bf.Threshold(4)}), plane(domain, "x", "y", record), np.array(rows)


CASES = [adult, staff, ties, beyond_doubles]


@pytest.mark.parametrize("case", CASES)
def test_regions_counts_and_votes_are_the_librarys(mount, case: Callable[[], Any]) -> None:
    policy, shown, candidates = case()
    page = mount(plane_data(policy, shown, candidates, tau=0.03, vote="hard"))
    nearest = regions(shown, candidates)
    rows, columns = nearest.shape
    cells = [(0, 0), (rows - 1, columns - 1), (rows // 2, columns // 3), (rows // 3, columns // 2)]
    found = page.evaluate(
        """([data, cells]) => {
          const d = new plane.Distances(data);
          const nearest = d.regions();
          const x = data.attributes[data.across], y = data.attributes[data.down];
          const pairs = [plane.edgesOf(x, data.rules.across), plane.edgesOf(y, data.rules.down)];
          const count = (i) => {
            const found = plane.crossingsAlong(nearest, d.columns, d.rows, pairs[i], i === 0);
            return [found.crossing, found.total];
          };
          return { nearest: [...nearest], soft: cells.map(([r, c]) => [...d.soft(c, r, data.tau)]),
            pairs, counts: [count(0), count(1)], colours: [...plane.colourRegions(nearest, d.columns, d.rows)] };
        }""",
        [plane_data(policy, shown, candidates, tau=0.03, vote="hard"), cells],
    )
    assert found["nearest"] == nearest.ravel().tolist()
    shares = mix(shown, candidates, 0.03)
    for (row, column), soft in zip(cells, found["soft"], strict=True):
        assert soft == pytest.approx(shares[row, column].tolist(), abs=1e-12)
    for edges, pairs, count in zip(plane_edges(policy, shown, nearest), found["pairs"], found["counts"], strict=True):
        assert sorted(map(tuple, pairs)) == sorted(map(tuple, edges.edges.tolist()))
        assert tuple(count) == edges.share
    colours = dict(found["colours"])
    assert colours.keys() == colouring(nearest).keys()
    for first, second in ((nearest[:, :-1], nearest[:, 1:]), (nearest[:-1], nearest[1:])):
        for a, b in zip(first.ravel().tolist(), second.ravel().tolist(), strict=True):
            assert a == b or colours[a] != colours[b]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("tau", [1e-6, 1 / 599, 1 / 601, 0.03, 2.0])
def test_colours_mix_as_votes_do(mount, case: Callable[[], Any], tau: float) -> None:
    policy, shown, candidates = case()
    data = plane_data(policy, shown, candidates, tau=tau, vote="soft")
    page = mount(data)
    numbers = np.random.default_rng(2).uniform(0, 255, (len(candidates), 3))
    row = shown.shape[0] // 2
    found = page.evaluate(
        """([data, hues, row]) => {
          const distances = new plane.Distances(data);
          const nearest = distances.regions();
          const mixer = distances.mixer(data.tau, hues);
          mixer.enter(row);
          const own = nearest.slice(row * distances.columns, (row + 1) * distances.columns);
          return [...own].map((k, column) => [...mixer.at(column, k)]);
        }""",
        [data, numbers.tolist(), row],
    )
    assert np.allclose(found, mix(shown, candidates, tau)[row] @ numbers, atol=1e-6)


def test_a_tie_that_doubles_cannot_see_goes_to_the_lowest_index(mount) -> None:
    policy, shown, candidates = beyond_doubles()
    nearest = regions(shown, candidates)
    distances = policy.domain.exact_distance(shown.codes, candidates)
    tied = (distances == distances.min(axis=1, keepdims=True)).sum(axis=1) > 1
    assert tied.any()
    page = mount(plane_data(policy, shown, candidates, tau=0.03, vote="hard"))
    found = page.evaluate(
        "data => [...new plane.Distances(data).regions()]",
        plane_data(policy, shown, candidates, tau=0.03, vote="hard"),
    )
    assert np.array(found)[tied].tolist() == nearest.ravel()[tied].tolist()


# --- gestures --------------------------------------------------------------------------------------------------------


def centre(page: Page, selector: str) -> tuple[float, float]:
    box = page.locator(selector).bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def commits(page: Page) -> list[dict[str, Any]]:
    return page.evaluate("window.commits")


def raw(page: Page, name: str) -> float:
    return float(page.locator(f'[data-readout="{name}"]').get_attribute("data-raw") or "nan")


def text(page: Page, selector: str) -> str:
    return page.locator(selector).inner_text()


def test_the_record_is_dragged_across_a_boundary(mount) -> None:
    policy, shown, candidates = adult()
    page = mount(plane_data(policy, shown, candidates, tau=0.03, vote="hard"))
    x, y = centre(page, ".bp-record")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y, steps=5)
    during = raw(page, "soft-change")
    assert commits(page) == []
    page.mouse.move(x + 90, y, steps=5)
    page.mouse.up()
    (edit,) = commits(page)
    record = edit["record"]
    assert record[0] > 37
    assert [record[j] for j in (1, 2, 3, 4)] == [0, 8, 49, 0]
    assert edit["candidates"] is None
    walked = walk(policy, shown.record, "age", candidates, 0.03)
    assert raw(page, "soft-change") == pytest.approx(walked.soft_change[record[0]], abs=1e-9)
    assert raw(page, "hard-change") == pytest.approx(walked.hard_change[record[0]], abs=1e-9)
    assert raw(page, "ceiling") == pytest.approx(walked.ceiling[record[0]], abs=1e-9)
    assert during > 0


def test_arrow_keys_walk_and_end_as_one_gesture(mount) -> None:
    policy, shown, candidates = adult()
    page = mount(plane_data(policy, shown, candidates, tau=0.03, vote="hard"))
    page.locator(".bp-stage").focus()
    for key in ("ArrowRight", "ArrowRight", "Shift+ArrowUp", "ArrowLeft", "ArrowDown"):
        page.keyboard.press(key)
    page.wait_for_function("window.commits.length > 0")
    (edit,) = commits(page)
    assert edit["record"] == [38, 0, 8, 53, 0]


def test_candidates_are_placed_dragged_and_removed(mount) -> None:
    policy, shown, _ = adult()
    one = shown.record[None, :].copy()
    page = mount(plane_data(policy, shown, one, tau=0.03, vote="hard"))
    assert raw(page, "crossing") == 0
    page.locator("[data-choice=add]").click()
    box = page.locator(".bp-stage").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 200, box["y"] + 60)
    placed = commits(page)[-1]["candidates"]
    assert len(placed) == 2
    assert [placed[1][j] for j in (1, 2, 4)] == [0, 8, 0]
    two = regions(shown, np.array(placed))
    assert raw(page, "crossing") == sum(each.share.crossing for each in plane_edges(policy, shown, two))
    x, y = centre(page, "[data-candidate='1']")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 50, y + 40, steps=6)
    page.mouse.up()
    moved = commits(page)[-1]["candidates"]
    assert moved[1][0] > placed[1][0]
    assert moved[1][3] < placed[1][3]
    assert raw(page, "crossing") == sum(
        each.share.crossing for each in plane_edges(policy, shown, regions(shown, np.array(moved)))
    )
    page.mouse.dblclick(x + 50, y + 40)
    assert commits(page)[-1]["candidates"] == [one[0].tolist()]
    # The last one stays: somebody must be there to vote for.
    page.locator(".bp-stage").focus()
    page.keyboard.press("Delete")
    assert commits(page)[-1]["candidates"] == [one[0].tolist()]
    expect(page.locator(".bp-status")).to_contain_text("last candidate stays")


def place_of(page: Page, record: list[int], shown: Plane) -> tuple[float, float]:
    """Where a cell's centre is on the screen, seen from where the record is drawn, which is at ``record``."""
    (x, y), box = centre(page, ".bp-record"), page.locator(".bp-stage").bounding_box()
    assert box is not None
    now = [int(code) for code in (page.locator(".bp-record").get_attribute("data-record") or "").split(",")]
    down, across = shown.positions
    rows, columns = shown.shape
    wide = (box["width"] - 62 - 12) / columns  # both axes are numeric here: the stage's margins are fixed
    high = (box["height"] - 8 - 44) / rows
    return x + (record[across] - now[across]) * wide, y - (record[down] - now[down]) * high


def test_moving_the_record_never_takes_hold_of_a_candidate(mount) -> None:
    policy, shown, candidates = adult()
    page = mount(plane_data(policy, shown, candidates, tau=0.03, vote="hard"))
    rx, ry = centre(page, ".bp-record")
    near = min(range(100), key=lambda k: abs(candidates[k][0] - 50) + abs(candidates[k][3] - 20))
    x, y = centre(page, f"[data-candidate='{near}']")
    assert abs(x - rx) + abs(y - ry) > 40
    page.mouse.click(x, y)
    assert commits(page)[-1]["record"][0] == candidates[near][0]
    assert commits(page)[-1]["record"][3] == candidates[near][3]
    page.mouse.move(x + 60, y + 1)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y, steps=4)
    page.mouse.up()
    page.mouse.dblclick(x, y)
    assert len(commits(page)) >= 3
    assert all(edit["candidates"] is None for edit in commits(page))
    assert page.locator(".bp-candidate.is-picked").count() == 0
    assert page.locator("[data-candidate]").count() == 100


def test_a_double_click_on_an_empty_place_adds_one_candidate_and_keeps_it(mount) -> None:
    policy, shown, _ = adult()
    page = mount(plane_data(policy, shown, shown.record[None, :].copy(), tau=0.03, vote="hard"))
    page.locator("[data-choice=add]").click()
    x, y = centre(page, ".bp-record")
    page.mouse.dblclick(x + 90, y + 60)
    expect(page.locator("[data-candidate]")).to_have_count(2)
    assert [len(edit["candidates"]) for edit in commits(page)] == [2]
    page.mouse.dblclick(*centre(page, "[data-candidate='1']"))
    expect(page.locator("[data-candidate]")).to_have_count(1)


def test_a_click_adds_one_candidate_a_cell_and_the_records_too(mount) -> None:
    domain = bf.Domain([bf.Numeric("x", 0, 3), bf.Numeric("y", 0, 2)])
    policy, shown = bf.Policy(domain, {}), plane(domain, "x", "y", np.array([1, 1]))
    page = mount(plane_data(policy, shown, np.array([[0, 0]]), tau=0.03, vote="hard"))
    page.locator("[data-choice=add]").click()
    page.mouse.click(*centre(page, ".bp-record"))
    assert commits(page)[-1]["candidates"] == [[0, 0], [1, 1]]
    x, y = centre(page, ".bp-record")
    page.mouse.dblclick(x + 35, y + 35)  # the same wide cell, away from its mark
    assert commits(page)[-1]["candidates"] == [[0, 0], [1, 1]]
    expect(page.locator(".bp-status")).to_have_text("Candidate #2 is there already: 1, 1.")


@pytest.mark.parametrize("m", [512, 5000])
def test_among_many_candidates_every_cell_is_hovered_and_clicked(mount, m: int) -> None:
    policy, shown, _ = adult()
    candidates = random_candidates(policy.domain, m, 0)
    page = mount(plane_data(policy, shown, candidates, tau=0.03, vote="hard"))
    nearest = regions(shown, candidates)
    draw, told = np.random.default_rng(5), 0
    for age, hours in zip(draw.integers(2, 72, 12).tolist(), draw.integers(2, 97, 12).tolist(), strict=True):
        cell = shown.record.copy()
        cell[[0, 3]] = age, hours
        page.mouse.move(*place_of(page, cell.tolist(), shown))
        values = [str(value) for value in policy.domain.decode(cell[None, :]).iloc[0]]
        assert text(page, ".bp-tip b") == ", ".join(values)
        assert text(page, "[data-tip=hard]").startswith(f"hard: all to #{nearest[hours, age] + 1},")
        assert text(page, "[data-tip=soft]").startswith("soft: #")
        told += page.locator("[data-tip=candidate]").count()
        page.mouse.click(*place_of(page, cell.tolist(), shown))
        assert commits(page)[-1]["record"] == cell.tolist()
    x, y = centre(page, f"[data-candidate='{int(nearest[50, 40])}']")
    page.mouse.move(x, y)
    assert "; owns a region here" in text(page, "[data-tip=candidate]")
    assert told < 12
    page.locator("[data-choice=add]").click()
    added = 0
    for age in range(4, 70, 11):
        cell = shown.record.copy()
        cell[[0, 3]] = age, 31
        before = page.locator("[data-candidate]").count()
        page.mouse.click(*place_of(page, cell.tolist(), shown))
        added += page.locator("[data-candidate]").count() - before
    assert added >= 3  # where no mark that counts here is in the way


@pytest.mark.parametrize("width", [560, 713, 915, 1280])
def test_the_plane_stays_put_while_candidates_are_added(mount, width: int) -> None:
    policy, shown, candidates = adult()
    page = mount(plane_data(policy, shown, candidates[:3], tau=0.03, vote="hard"))
    page.set_viewport_size({"width": width, "height": 900})
    tops = []

    def look() -> None:
        box = page.locator(".bp-stage").bounding_box()
        assert box is not None
        tops.append(box["y"])

    look()
    page.locator("[data-choice=add]").click()
    look()
    assert page.locator(".bp-status").evaluate("node => node.scrollWidth <= node.clientWidth")  # the hint is whole
    page.locator(".bp-stage").focus()
    for key in ("Enter", "Delete"):
        page.keyboard.press(key)
        look()
    page.locator("[data-choice=record]").click()
    look()
    assert len(set(tops)) == 1, tops


def marks(page: Page) -> list[str]:
    return page.locator("[data-mark]").evaluate_all("nodes => nodes.map((node) => node.dataset.mark)")


def test_the_legend_names_the_marks_that_are_drawn(mount) -> None:
    policy, shown, candidates = adult()
    data = plane_data(policy, shown, candidates, tau=0.03, vote="hard")
    page = mount(data)
    owners = set(regions(shown, candidates).ravel().tolist())
    on_slice = (candidates[:, [1, 2, 4]] == shown.record[[1, 2, 4]]).all(axis=1)
    assert not on_slice.any()
    assert 0 < len(owners) < len(candidates)
    assert marks(page) == ["record", "away", "away-idle", "crossing", "calm"]
    rings = page.locator(".bp-candidate:not(.is-idle)").evaluate_all("nodes => nodes.map((n) => +n.dataset.candidate)")
    assert set(rings) == owners
    height = page.locator(".bp-legend").evaluate("node => node.offsetHeight")
    page.locator(".bp-stage").focus()
    page.keyboard.press("ArrowRight")
    assert marks(page)[-1] == "origin"
    assert page.locator(".bp-legend").evaluate("node => node.offsetHeight") == height
    page.keyboard.press("Enter")
    assert {"here", "picked"} <= set(marks(page))
    twice = np.repeat(shown.record[None, :], 2, axis=0)
    page.evaluate("data => mount(data)", {**data, "revision": 9, "candidates": twice.tolist()})
    assert {"here", "here-idle", "calm"} <= set(marks(page))
    assert not {"away", "away-idle", "crossing"} & set(marks(page))
    alone = bf.Policy(policy.domain, {})
    page.evaluate("data => mount(data)", plane_data(alone, shown, candidates, tau=0.03, vote="hard", revision=10))
    assert not {"crossing", "calm"} & set(marks(page))


def test_what_was_said_of_candidates_goes_with_them(mount) -> None:
    policy, shown, candidates = adult()
    data = plane_data(policy, shown, candidates[:4], tau=0.03, vote="hard")
    page = mount(data)
    page.locator(".bp-stage").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Delete")
    status = page.locator(".bp-status")
    expect(status).to_have_text("Candidate #5 removed; later ones move up by one.")
    page.evaluate("data => mount(data)", {**data, "revision": 2})  # the host's answer to that edit
    expect(status).to_have_text("Candidate #5 removed; later ones move up by one.")
    page.evaluate("data => mount(data)", {**data, "revision": 2, "candidates": candidates[4:6].tolist()})
    expect(status).to_have_text("")
    page.locator("[data-choice=add]").click()
    hint = text(page, ".bp-status")
    page.locator(".bp-stage").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".bp-remove")).to_be_enabled()
    page.evaluate("data => mount(data)", {**data, "revision": 3})
    expect(status).to_have_text(hint)
    expect(page.locator(".bp-remove")).to_be_disabled()


def test_a_candidate_is_placed_and_removed_by_keys(mount) -> None:
    policy, shown, candidates = adult()
    page = mount(plane_data(policy, shown, candidates[:3], tau=0.03, vote="hard"))
    page.locator(".bp-stage").focus()
    page.keyboard.press("Enter")
    assert commits(page)[-1]["candidates"][-1] == shown.record.tolist()
    page.keyboard.press("Delete")
    assert commits(page)[-1]["candidates"] == candidates[:3].tolist()


def test_escape_takes_a_drag_back(mount) -> None:
    policy, shown, candidates = adult()
    page = mount(plane_data(policy, shown, candidates, tau=0.03, vote="hard"))
    before = raw(page, "crossing")
    x, y = centre(page, "[data-candidate='55']")
    page.locator("[data-choice=add]").click()
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 120, y - 80, steps=6)
    page.wait_for_function(
        "before => Number(document.querySelector('[data-readout=crossing]').dataset.raw) !== before", arg=before
    )
    page.keyboard.press("Escape")
    page.mouse.up()
    assert raw(page, "crossing") == before
    assert commits(page) == []


def test_theta_thins_crossings_out_while_it_slides(mount) -> None:
    policy, shown, candidates = adult()
    page = mount(plane_data(policy, shown, candidates, tau=0.03, vote="hard"))
    nearest = regions(shown, candidates)
    slider = page.locator("input[name=theta-across]")
    slider.focus()
    counts = []
    for theta in (6, 5, 4, 3, 2, 1):
        slider.evaluate("(node, value) => { node.value = value; node.dispatchEvent(new Event('input')); }", theta)
        calmer = policy.with_rule("age", bf.Threshold(theta))
        counts.append(raw(page, "crossing"))
        assert counts[-1] == plane_edges(calmer, shown, nearest)[0].share.crossing
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] > 0
    assert commits(page) == []
    slider.evaluate("node => node.dispatchEvent(new Event('change'))")
    assert commits(page)[-1]["theta"] == {"across": 1}


def shades(page: Page) -> int:
    """How many different colours the cells have."""
    return page.locator(".bp canvas").evaluate(
        """(canvas) => {
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          const seen = new Set();
          for (let i = 0; i < data.length; i += 4) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
          return seen.size;
        }"""
    )


def test_the_soft_picture_is_a_mix_and_turns_hard_as_tau_falls(mount) -> None:
    policy, shown, candidates = adult()
    calm = bf.Policy(policy.domain, {})  # no edges over the cells
    page = mount(plane_data(calm, shown, candidates, tau=0.03, vote="hard"))
    hard = shades(page)  # a few hues, and the smooth rims of the boundaries' lines
    page.locator("[data-choice=soft]").click()
    assert commits(page)[-1]["vote"] == "soft"
    mixed = shades(page)
    assert mixed > 5 * hard
    slider = page.locator("input[name=tau]")
    slider.evaluate("node => { node.value = -4; node.dispatchEvent(new Event('input')); }")
    page.wait_for_function("document.querySelector('[data-readout=tau]').dataset.raw < 0.00011")
    assert shades(page) < mixed / 3
    slider.evaluate("node => node.dispatchEvent(new Event('change'))")
    assert commits(page)[-1]["tau"] == pytest.approx(1e-4)


def test_hovering_names_the_record_and_its_top_votes(mount) -> None:
    policy, shown, candidates = adult()
    page = mount(plane_data(policy, shown, candidates, tau=0.03, vote="soft"))
    box = page.locator(".bp-stage").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 333, box["y"] + 222)
    tip = page.locator(".bp-tip")
    expect(tip).to_be_visible()
    named = text(page, ".bp-tip b").split(", ")
    record = policy.domain.encode(_frame(policy.domain, named))
    votes = bf.SoftVote(0.03).responses(policy.domain, record, candidates)[0]
    top = np.argsort(-votes, kind="stable")[:3]
    wanted = ", ".join(f"#{k + 1} {100 * votes[k]:.1f} %" for k in top)
    assert text(page, "[data-tip=soft]") == f"soft: {wanted}"
    hard = int(bf.HardVote().responses(policy.domain, record, candidates)[0].argmax())
    assert text(page, "[data-tip=hard]").startswith(f"hard: all to #{hard + 1},")
    page.mouse.move(5, 5)
    expect(tip).to_be_hidden()


def _frame(domain: bf.Domain, named: list[str]) -> Any:
    import pandas as pd

    return pd.DataFrame([dict(zip(domain.names, named, strict=True))])


def test_an_answer_to_an_older_edit_does_not_undo_a_newer_one(mount) -> None:
    policy, shown, candidates = adult()
    data = plane_data(policy, shown, candidates, tau=0.03, vote="hard")
    page = mount(data)
    page.locator("[data-choice=soft]").click()
    page.locator("[data-choice=hard]").click()
    page.locator("[data-choice=soft]").click()
    page.evaluate("data => mount(data)", {**data, "vote": "soft", "revision": 1})
    page.evaluate("data => mount(data)", {**data, "vote": "hard", "revision": 2})
    expect(page.locator("[data-choice=soft]")).to_have_attribute("aria-pressed", "true")
    page.evaluate("data => mount(data)", {**data, "vote": "hard", "revision": 3})
    expect(page.locator("[data-choice=hard]")).to_have_attribute("aria-pressed", "true")


def test_more_edges_than_can_be_drawn_are_said_not_drawn(mount) -> None:
    domain = bf.Domain([bf.Numeric("x", 0, 9999), bf.Categorical("c", ["a", "b"])])
    policy = bf.Policy(domain, {"x": bf.Complete()})
    shown, candidates = plane(domain, "x", "c"), random_candidates(domain, 5, 0)
    page = mount(plane_data(policy, shown, candidates, tau=0.03, vote="hard"))
    expect(page.locator(".bp-counts")).to_have_text(
        "Too many edges on this slice to count and draw here; its regions and votes are exact."
    )
    assert page.locator(".bp-record").count() == 1


def test_more_values_than_a_canvas_is_wide_are_drawn_and_hovered(mount) -> None:
    domain = bf.Domain([bf.Numeric("x", 0, 70_000), bf.Categorical("c", ["a", "b", "d"])], {"x": 0.99, "c": 0.01})
    shown, candidates = plane(domain, "x", "c"), np.array([[10_000, 0], [60_000, 1], [30_000, 2]])
    for policy in (bf.Policy(domain, {}), bf.Policy(domain, {"x": bf.Threshold(1)})):
        page = mount(plane_data(policy, shown, candidates, tau=0.03, vote="hard"))
        box = page.locator(".bp-stage").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 300, box["y"] + 150)
        named = text(page, ".bp-tip b").split(", ")
        assert int(named[0]) % 100  # any value, not just those that have a pixel
        record = domain.encode(_frame(domain, named))
        own = int(bf.HardVote().responses(domain, record, candidates)[0].argmax())
        assert text(page, "[data-tip=hard]").startswith(f"hard: all to #{own + 1},")
        assert raw(page, "owners") == 3
        colours = colours_under_candidates(page)
        assert colours[2] not in (*colours[:2], (255, 255, 255))  # the region in the middle touches both others
    page.locator("[data-choice=soft]").click()
    assert (255, 255, 255) not in colours_under_candidates(page)
    x, y = centre(page, ".bp-record")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 10, y, steps=2)
    page.mouse.up()
    assert commits(page)[-1]["record"][0] > 500
    page.locator(".bp-stage").focus()
    at = commits(page)[-1]["record"][0]
    page.keyboard.press("ArrowRight")
    page.wait_for_function("at => window.commits.at(-1).record[0] === at + 1", arg=at)


def colours_under_candidates(page: Page) -> list[tuple[int, ...]]:
    """The canvas's colour where each candidate stands."""
    found = page.locator(".bp canvas").evaluate(
        """(canvas) => [...document.querySelectorAll("[data-candidate]")].map((mark) => {
          const [x, y] = ["cx", "cy"].map((name) => Number(mark.getAttribute(name)));
          return [...canvas.getContext("2d").getImageData(x - 4, y - 15, 1, 1).data].slice(0, 3);
        })"""
    )
    return [tuple(colour) for colour in found]


@pytest.mark.parametrize("case", CASES)
def test_labels_stay_inside_and_apart(mount, case: Callable[[], Any]) -> None:
    policy, shown, candidates = case()
    for width in (700, 1280):
        page = mount(plane_data(policy, shown, candidates, tau=0.03, vote="hard"))
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(150)
        stage = page.locator(".bp-stage").bounding_box()
        assert stage is not None
        boxes = page.evaluate(
            """[...document.querySelectorAll('.bp-axes text')].map((node) => {
              const box = node.getBoundingClientRect();
              return [box.left, box.top, box.right, box.bottom, node.textContent, node.getAttribute('transform')];
            })"""
        )
        for left, top, right, bottom, label, _ in boxes:
            assert left >= stage["x"] - 1, label
            assert right <= stage["x"] + stage["width"] + 14, label
            assert bottom <= stage["y"] + stage["height"] + 2, label
            assert top >= stage["y"] - 8, label
        level = [box for box in boxes if box[5] is None]
        for i, first in enumerate(level):
            for second in level[i + 1 :]:
                assert (
                    first[2] <= second[0] + 1 or second[2] <= first[0] + 1
                    or first[3] <= second[1] + 4 or second[3] <= first[1] + 4
                ), (first[4], second[4])  # fmt: skip


# --- the whole app ---------------------------------------------------------------------------------------------------


def open_boundaries(page: Page, url: str, scenario: bf.Scenario | None = None) -> None:
    page.goto(f"{url}/boundaries{f'?s={share.to_link(scenario)}' if scenario else ''}")
    expect(page.locator(".bp-record")).to_be_visible()
    expect(page.get_by_text("In the whole domain")).to_be_visible()


def test_moving_the_record_moves_the_controls_and_outlives_other_pages(page: Page, app_url: str) -> None:
    open_boundaries(page, app_url)
    x, y = centre(page, ".bp-record")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 80, y, steps=6)
    page.mouse.up()
    record = page.locator(".bp-record").get_attribute("data-record")
    assert record is not None
    age = str(int(record.split(",")[0]) + 17)
    expect(page.get_by_text(f"from {age} to")).to_be_visible()
    page.get_by_role("link", name="Policy").click()
    expect(page.locator('[data-readout="reach"]').first).to_be_visible()
    page.get_by_role("link", name="Boundaries").click()
    expect(page.locator(".bp-record")).to_have_attribute("data-record", record)


def test_theta_on_the_plane_is_the_scenarios(page: Page, app_url: str) -> None:
    open_boundaries(page, app_url)
    slider = page.locator("input[name=theta-across]")
    slider.focus()
    for _ in range(4):
        slider.press("ArrowLeft")
    expect(page.locator(".bfsoft-strip")).to_contain_text("age θ = 3")
    policy = bf.load_scenario("adult").policy.with_rule("age", bf.Threshold(3))
    total = f"{policy.record_edge_count:,} edges cross"
    expect(page.get_by_text(total)).to_be_visible()
    page.reload()
    expect(page.locator(".bfsoft-strip")).to_contain_text("age θ = 3")


def test_drawing_candidates_and_attaining_the_bound(page: Page, app_url: str) -> None:
    open_boundaries(page, app_url)
    page.locator("[data-choice=add]").click()
    box = page.locator(".bp-stage").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 210, box["y"] + 90)
    expect(page.get_by_role("button", name="Start with one")).to_be_visible()
    assert page.locator("[data-candidate]").count() == 101
    page.get_by_role("radio", name="Exact against the bound").click()
    page.get_by_role("button", name="Place two candidates").click()
    expect(page.locator("[data-candidate]")).to_have_count(2)
    expect(page.locator("[data-candidate]").first).to_have_class("bp-candidate is-here")
    title = page.get_by_role("button", name="Fullscreen: The exact sensitivity attains the bound at every τ searched")
    expect(title).to_be_attached(timeout=180_000)


def test_drawn_candidates_come_back_after_a_random_one_was_dragged(page: Page, app_url: str) -> None:
    open_boundaries(page, app_url)
    source = page.get_by_role("radiogroup", name="Candidates")
    counted, marks = page.locator("p", has_text="In the whole domain"), page.locator("[data-candidate]")

    def then(act: Callable[[], None], m: int) -> None:
        """Wait until the page, and not the plane alone, shows what came of it."""
        before = counted.inner_text()
        act()
        expect(marks).to_have_count(m)
        expect(counted).not_to_have_text(before)

    def drag() -> None:
        x, y = centre(page, "[data-candidate='7']")
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x - 60, y + 30, steps=4)
        page.mouse.up()
        expect(source.get_by_role("radio", name="Drawn")).to_be_checked()

    source.get_by_role("radio", name="Drawn").click()
    then(page.get_by_role("button", name="Start with one").click, 1)
    page.locator("[data-choice=add]").click()
    x, y = centre(page, ".bp-record")
    for m, (dx, dy) in enumerate([(-90, 40), (70, 50), (60, -40)], start=2):
        then(lambda at=(x + dx, y + dy): page.mouse.click(*at), m)
    then(source.get_by_role("radio", name="Random").click, 100)
    drag()
    then(page.get_by_role("button", name="Bring back the 4 candidates drawn before").click, 4)
    then(page.get_by_role("button", name="Bring back the 100 candidates drawn before").click, 100)


def test_the_sources_of_candidates_are_whole_words_on_a_narrow_page(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 1024, "height": 900})
    open_boundaries(page, app_url)
    group = page.get_by_role("radiogroup", name="Candidates")
    room = group.bounding_box()
    assert room is not None
    for name in ("Random", "Drawn", "Last run"):
        box = group.get_by_role("radio", name=name).bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= room["x"] + room["width"] + 1, name


def test_the_soft_vote_and_tau_are_kept(page: Page, app_url: str) -> None:
    open_boundaries(page, app_url)
    page.locator("[data-choice=soft]").click()
    slider = page.locator("input[name=tau]")
    slider.focus()
    slider.press("Home")
    expect(page.locator(".bfsoft-strip")).to_contain_text("0.0001")
    page.get_by_role("link", name="Policy").click()
    expect(page.locator('[data-readout="reach"]').first).to_be_visible()
    page.get_by_role("link", name="Boundaries").click()
    expect(page.locator("[data-choice=soft]")).to_have_attribute("aria-pressed", "true")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 1920])
def test_words_stand_out_from_the_ground_in_both_themes(
    new_page: Callable[..., Page], app_url: str, theme: str, width: int
) -> None:
    page = new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
    open_boundaries(page, app_url)
    contrast = page.locator(".bp").evaluate(
        """(plane, selectors) => {
          const channels = (colour) => {
            const numbers = colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
            return colour.startsWith("color(srgb") ? numbers : numbers.map((channel) => channel / 255);
          };
          const light = (colour) => {
            const linear = channels(colour).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
            return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
          };
          const ground = light(getComputedStyle(document.querySelector(".stApp")).backgroundColor);
          return Object.fromEntries(selectors.map((selector) => {
            const own = light(getComputedStyle(plane.querySelector(selector)).color);
            return [selector, (Math.max(own, ground) + 0.05) / (Math.min(own, ground) + 0.05)];
          }));
        }""",
        [".bp-counts", ".bp-counts b", ".bp-side h4", ".bp-side dd", ".bp-hint", ".bp-legend"],
    )
    for selector, ratio in contrast.items():
        # Web accessibility guidelines: 3 for the large count in the signal colour, 4.5 for words.
        assert ratio >= (3 if selector == ".bp-counts b" else 4.5), (selector, ratio)
    clipped = page.locator(".bp").evaluate(
        """(plane) => [...plane.querySelectorAll('.bp-bar, .bp-side, .bp-counts, .bp-legend')]
          .filter((node) => node.scrollWidth > node.clientWidth + 1).map((node) => node.className)"""
    )
    assert clipped == []
