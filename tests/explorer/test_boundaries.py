"""The Boundaries page without a browser: its charts' data, what it says in hard cases, and each of its controls."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bfsoft as bf
from bfsoft.crossings import (
    attaining_candidates,
    crossings,
    edge_changes,
    plane,
    plane_edges,
    regions,
    sensitivity_curve,
    walk,
)
from bfsoft.synthesis import random_candidates
from bfsoft_explorer import BoundaryPlane, share
from bfsoft_explorer.background import Answer
from bfsoft_explorer.charts import boundaries as charts
from bfsoft_explorer.charts.style import REGIONS
from bfsoft_explorer.jobs import Comparison
from bfsoft_explorer.plane._contract import committed_edit, plane_data

SQRT2 = math.sqrt(2)


@pytest.fixture(scope="module")
def small() -> bf.Policy:
    domain = bf.Domain(
        [
            bf.Numeric("age", 20, 49),
            bf.Hierarchical("job", {"office": ["admin.", "management"], "manual": ["blue-collar", "housemaid"]}),
            bf.Categorical("income", ["low", "high"]),
        ]
    )
    return bf.Policy(domain, {"age": bf.Threshold(4), "job": bf.Threshold(2)})


@pytest.fixture(scope="module")
def candidates(small: bf.Policy) -> np.ndarray:
    return random_candidates(small.domain, 12, 3)


def layers(chart: Any) -> list[pd.DataFrame]:
    """The data of every layer, as the chart carries it."""
    spec = chart.to_dict()
    named = spec.get("datasets", {})
    found = [layer.get("data", spec.get("data")) for layer in spec.get("layer", [spec])]
    return [pd.DataFrame(named[data["name"]]) for data in found if data]


def text_of(chart: Any) -> str:
    title = chart.to_dict()["title"]["text"]
    return title if isinstance(title, str) else " ".join(title)


# --- charts ----------------------------------------------------------------------------------------------------------


def test_the_sentence_of_the_whole_domain_holds_its_counts(small: bf.Policy, candidates: np.ndarray) -> None:
    found = crossings(small, candidates)
    said = charts.crossings_text(found)
    assert f"{found.crossing:,} of {found.total:,} edges cross" in said
    assert str(found.example) in said
    alone = crossings(small, candidates[:1])
    assert charts.crossings_text(alone).startswith(f"None of the {found.total:,} edges crosses")
    nothing = bf.Policy(small.domain, {})
    assert "no edges" in charts.crossings_text(crossings(nothing, candidates))


def test_one_edge_and_one_candidate_are_spoken_of_as_one() -> None:
    domain = bf.Domain([bf.Categorical("c", ["a", "b"]), bf.Numeric("x", 0, 2)])
    lone = bf.Policy(bf.Domain([bf.Categorical("c", ["a", "b"])]), {"c": bf.Complete()})
    both, one = np.array([[0], [1]]), np.array([[0]])
    assert charts.crossings_text(crossings(lone, both)) == "The only edge crosses, and one is enough: c a → b."
    assert charts.crossings_text(crossings(lone, one)).startswith("The only edge does not cross: ")
    few = bf.Policy(domain, {"c": bf.Complete()})
    corner = crossings(bf.Policy(domain, {"x": bf.Edges([(0, 1)])}), np.array([[0, 0], [0, 1], [1, 0]]))
    assert (corner.crossing, corner.total) == (1, 2)
    assert charts.crossings_text(corner).startswith("1 of 2 edges crosses (50.0 %)")
    shown = plane(domain, "x", "c")
    told = charts.plane_text(few, shown, regions(shown, np.array([[0, 0]])), 1)
    assert told == "0 of 3 edges on this slice cross a boundary (0.0 %); 1 of 1 candidate owns a region"
    changes = edge_changes(lone, one, 0.03)
    assert charts.changes_text(changes) == "The hard vote never jumps; the soft vote never moves"
    assert charts.changes_detail(changes) == "the policy's only edge; typical soft change: 0 where the hard vote stays"
    assert "on the only edge" in charts.changes_text(edge_changes(lone, both, 0.03))
    assert charts.owners_text(np.array([]), np.array([]), 1, "here") == "The only candidate owns cells here."


def test_what_rounding_leaves_is_told_as_nothing_or_all(small: bf.Policy, candidates: np.ndarray) -> None:
    assert [charts.settled(value) for value in (4e-16, 1 - 4e-16, 1e-9, 0.5)] == [0, 1, 1e-9, 0.5]
    one = candidates[:1]
    changes = edge_changes(small, one, 0.03)
    assert charts.changes_text(changes) == "The hard vote never jumps; the soft vote never moves"
    assert "typical soft change: 0 where" in charts.changes_detail(changes)
    curve = pd.DataFrame([*sensitivity_curve(small, one, [0.01, 0.1])])
    assert charts.curve_text(curve, 0.03) == (
        "No changed value moves a vote on these candidates: the exact sensitivity is 0 at every τ searched"
    )
    weightless = bf.Domain([bf.Numeric("x", 0, 9), bf.Numeric("y", 0, 4)], {"x": 0, "y": 1})
    walked = walk(bf.Policy(weightless, {"x": bf.Threshold(2)}), np.array([3, 2]), "x", candidates[:, :2] % 5, 0.03)
    assert charts.walk_text(walked, 5) == "x 3 → 5: the hard vote stays, and so does the soft vote"
    assert charts.walk_votes_text(walked, 5).endswith("; all of the soft vote stays where it was")
    domain = bf.Domain([bf.Numeric("x", 0, 1)])
    apart = walk(bf.Policy(domain, {}), np.array([0]), "x", np.array([[0], [1]]), 0.01)
    assert charts.walk_votes_text(apart, 1).endswith("; nothing of the soft vote stays where it was")


@pytest.mark.parametrize(("share", "said"), [(0, "0.0 %"), (1e-9, "less than 0.1 %"), (0.5, "50.0 %"), (1, "100.0 %")])
def test_a_share_never_claims_none_or_all_for_some(share: float, said: str) -> None:
    assert charts.percent(share) == said
    assert charts.percent(1 - 1e-9) == "more than 99.9 %"


@pytest.mark.parametrize("tau", [None, 0.03])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_plane_as_a_figure(small: bf.Policy, candidates: np.ndarray, tau: float | None, theme: str) -> None:
    shown = plane(small.domain, "age", "job", candidates[0])
    nearest = regions(shown, candidates)
    figure = charts.plane_figure(small, shown, candidates, tau, theme)
    image, edges, here, elsewhere, record = figure.data
    assert np.asarray(image.z).shape == (4, 30, 3)
    assert f"nearest: #{nearest[2, 7] + 1}" in image.hovertext[2][7]
    assert len(here.x) + len(elsewhere.x) == len(candidates)
    on_plane = [k for k, codes in enumerate(candidates.tolist()) if codes[2] == candidates[0][2]]
    assert [*here.text] == [f"#{k + 1}" for k in on_plane]
    assert (record.x[0], record.y[0]) == (candidates[0][0], candidates[0][1])
    crossing = sum(each.share.crossing for each in plane_edges(small, shown, nearest))
    assert f"{crossing} of " in figure.layout.title.text
    assert len(edges.x) > 0


def test_names_are_not_markup_in_the_figure() -> None:
    domain = bf.Domain([bf.Numeric("$x$ <b>h</b>", 0, 3), bf.Categorical("c", ["<i>it</i>", "$1$ & $2$"])])
    figure = charts.plane_figure(bf.Policy(domain, {}), plane(domain, *domain.names), np.array([[1, 1]]))
    shown = [figure.layout.xaxis.title.text, *figure.layout.yaxis.ticktext, *np.ravel(figure.data[0].hovertext)]
    for text in shown:
        assert not re.search(r"[$]|<(?!br>)", text), text
    assert shown[:3] == ["&#36;x&#36; &lt;b&gt;h&lt;/b&gt;", "&lt;i&gt;it&lt;/i&gt;", "&#36;1&#36; &amp; &#36;2&#36;"]


def test_crossing_segments_cover_just_the_crossing_edges(small: bf.Policy, candidates: np.ndarray) -> None:
    shown = plane(small.domain, "age", "job", candidates[0])
    nearest = regions(shown, candidates)
    covered = set()
    for _, part in charts.crossing_segments(small, shown, nearest).groupby(lambda i: i // 3):
        (x0, x1), (y0, y1) = part["x"].to_numpy()[:2], part["y"].to_numpy()[:2]
        covered |= {("across", int(y0), gap) for gap in range(int(x0), int(x1))} if y0 == y1 else set()
        covered |= {("down", int(x0), gap) for gap in range(int(y0), int(y1))} if x0 == x1 else set()
    wanted = set()
    for axis, each in zip(("across", "down"), plane_edges(small, shown, nearest), strict=True):
        for (a, b), lines in zip(each.edges.tolist(), each.crossing, strict=True):
            wanted |= {(axis, int(line), gap) for line in np.flatnonzero(lines) for gap in range(a, b)}
    assert covered == wanted


def test_soft_colours_become_the_hard_ones_as_tau_falls(small: bf.Policy) -> None:
    two = np.array([[0, 0, 0], [29, 3, 1]])
    shown = plane(small.domain, "age", "job")
    nearest = regions(shown, two)
    hard = charts.plane_colours(shown, two, nearest, None, "light").astype(int)
    cold = charts.plane_colours(shown, two, nearest, 1e-9, "light").astype(int)
    warm = charts.plane_colours(shown, two, nearest, 10.0, "light").astype(int)
    # Ties share evenly in the soft vote and go to the first candidate in the hard one.
    distances = small.domain.exact_distance(shown.codes, two)
    clear = (distances[:, 0] != distances[:, 1]).reshape(nearest.shape)
    assert (hard[clear] == cold[clear]).all()
    assert (warm.max(axis=(0, 1)) - warm.min(axis=(0, 1))).max() < (hard.max(axis=(0, 1)) - hard.min(axis=(0, 1))).max()


def test_the_walk_chart_shows_step_curve_and_ceiling(small: bf.Policy, candidates: np.ndarray) -> None:
    walked = walk(small, candidates[0], "age", candidates, 0.03)
    to = int(np.argmax(walked.hard_change))
    assert walked.hard_change[to] > 0
    chart = charts.walk_chart(walked, to, 0.4)
    long = next(frame for frame in layers(chart) if "kind" in frame)
    by_kind = {kind: part["change"].to_numpy() for kind, part in long.groupby("kind")}
    assert set(np.round(by_kind["hard"], 9)) == {0.0, round(SQRT2, 9)}
    assert by_kind["soft"] == pytest.approx(walked.soft_change)
    assert (by_kind["soft"] <= by_kind["ceiling"] + 1e-12).all()
    assert "jumps by √2" in text_of(chart)
    band = next(frame for frame in layers(chart) if "low" in frame)
    start = small.domain["age"].values[walked.start]
    assert (band["low"][0], band["high"][0]) == (max(20, start - 4), min(49, start + 4))


def test_only_values_that_are_joined_are_shaded(small: bf.Policy) -> None:
    domain = bf.Domain([bf.Numeric("age", 20, 60), bf.Numeric("h", 0, 10)])

    def shaded(edges: list[tuple[int, int]]) -> tuple[list[list[float]], list[list[float]]]:
        policy = bf.Policy(domain, {"age": bf.Edges(edges)})
        walked = walk(policy, np.array([20, 5]), "age", np.array([[3, 3], [30, 7]]), 0.03)
        parts = [part[["low", "high"]] for part in layers(charts.walk_chart(walked, 25, 1.0)) if "low" in part]
        runs = sorted(pd.concat(parts).to_numpy().tolist())
        return [run for run in runs if run[0] < run[1]], [run for run in runs if run[0] == run[1]]

    assert shaded([(40, 45), (40, 55), (30, 40)]) == ([], [[30, 30], [45, 45], [55, 55]])
    assert shaded([(39, 40), (40, 42), (40, 43), (40, 60)]) == ([[39, 40], [42, 43]], [[60, 60]])


@pytest.mark.parametrize(
    ("attribute", "ticks", "written"),
    [
        (bf.Numeric("x", 0, 7), [*range(8)], ".0f"),
        (bf.Numeric("x", 17, 90), [*range(20, 91, 10)], ".0f"),
        (bf.Numeric("x", 5, 35, 10), [5, 15, 25, 35], ".0f"),
        (bf.Numeric("x", 0.05, 0.35, 0.1), [0.05, 0.15, 0.25, 0.35], ".2f"),
        (bf.Numeric("x", -0.5, 0.5, 0.05), [-0.5, -0.25, 0, 0.25, 0.5], ".2f"),
        (bf.Numeric("x", 1000, 5000), [1000, 1500, 2000, 2500, 3000, 3500, 4000, 4500, 5000], ".0f"),
        (bf.Numeric("x", 3, 3), [3], ".0f"),
    ],
)
def test_the_walks_axis_has_ticks_at_values_alone(attribute: bf.Numeric, ticks: list[float], written: str) -> None:
    domain = bf.Domain([attribute])
    walked = walk(bf.Policy(domain, {}), np.array([0]), "x", np.array([[0]]), 0.03)
    axis = charts.walk_chart(walked, 0, 0.0).to_dict()["layer"][0]["encoding"]["x"]["axis"]
    assert set(axis["values"]) <= set(map(float, attribute.values))
    assert (axis["values"], axis["format"]) == (ticks, written)


def test_the_ends_of_a_walk_are_named_above_their_rules(small: bf.Policy, candidates: np.ndarray) -> None:
    walked = walk(small, candidates[0], "age", candidates, 0.03)
    found = charts.walk_chart(walked, walked.start + 1, 0.4).to_dict()["layer"]
    rule = next(layer for layer in found if layer["encoding"].get("y2") == {"value": "height"})
    names = [layer for layer in found if layer["mark"]["type"] == "text"]
    heights = [layer["encoding"]["y"]["value"] for layer in names]
    assert len(set(heights)) == 2
    assert max(heights) + 13 <= rule["encoding"]["y"]["value"]  # a line of text is 13 pixels high


def test_categories_that_are_numbers_are_no_scale() -> None:
    domain = bf.Domain([bf.Categorical("label", [0, 1, 10]), bf.Numeric("x", 0, 9)])
    policy = bf.Policy(domain, {"label": bf.Complete()})
    walked = walk(policy, np.array([0, 2]), "label", random_candidates(domain, 5, 0), 0.03)
    spec = charts.walk_chart(walked, 1, 1.0).to_dict()
    assert spec["layer"][0]["mark"]["type"] == "bar"
    assert spec["layer"][0]["encoding"]["x"]["type"] == "nominal"


def test_the_walk_along_names_is_bars(small: bf.Policy, candidates: np.ndarray) -> None:
    walked = walk(small, candidates[0], "job", candidates, 0.03)
    spec = charts.walk_chart(walked, (walked.start + 1) % 4, 0.4).to_dict()
    assert spec["layer"][0]["mark"]["type"] == "bar"


def test_a_walk_of_more_values_than_a_chart_has_pixels_keeps_every_turn() -> None:
    policy = bf.Policy(bf.Domain([bf.Numeric("x", 0, 70_000)]), {"x": bf.Threshold(101)})
    walked = walk(policy, np.array([35_000]), "x", np.array([[10_003], [34_001], [60_001]]), 0.03)
    chart = charts.walk_chart(walked, 12_345, 0.4)
    long = next(frame for frame in layers(chart) if "kind" in frame)
    drawn = set(long["code"])
    turns = np.flatnonzero(np.diff(walked.hard_change))
    assert {*turns.tolist(), *(turns + 1).tolist(), 35_000, 12_345} <= drawn
    assert f"{len(drawn):,} of 70,001 values drawn" in str(chart.to_dict())
    band = next(frame for frame in layers(chart) if "low" in frame)
    assert (band["low"][0], band["high"][0]) == (34_899, 35_101)


def test_votes_before_and_after_are_the_records(small: bf.Policy, candidates: np.ndarray) -> None:
    walked = walk(small, candidates[0], "age", candidates, 0.03)
    frame = charts.walk_votes(walked, 25)
    for row in frame.itertuples():
        votes = walked.hard if row.vote == "hard vote" else walked.soft
        assert row.share == votes[walked.start if row.when == "before" else 25][int(row.candidate[1:]) - 1]
    hard = frame[frame["vote"] == "hard vote"].groupby("when")["share"].sum()
    assert hard.to_dict() == {"before": 1.0, "after": 1.0}
    said = charts.walk_votes_text(walked, 25)
    common = float(np.minimum(walked.soft[walked.start], walked.soft[25]).sum())
    assert charts.percent(common) in said


def test_changes_chart_holds_every_edge_once(small: bf.Policy, candidates: np.ndarray) -> None:
    changes = edge_changes(small, candidates, 0.03)
    frame = charts.changes_frame(changes)
    assert frame["share"].sum() == pytest.approx(1)
    jumps = crossings(small, candidates)
    assert frame[frame["hard"] == "jumps"]["share"].sum() == pytest.approx(jumps.share)
    assert frame["high"].max() <= SQRT2 + 1e-9
    chart = charts.changes_chart(changes, 0.4)
    stems = next(part for part in layers(chart) if "name" in part and "label" in part and "share" in part)
    assert [*stems["change"]] == [0.0, pytest.approx(SQRT2)]
    assert stems["share"][1] == pytest.approx(jumps.share)
    assert charts.percent(jumps.share) in text_of(chart)
    assert f"all {small.record_edge_count:,} policy edges" in charts.changes_detail(changes)


def test_a_sampled_histogram_says_so(small: bf.Policy, candidates: np.ndarray) -> None:
    changes = edge_changes(small, candidates, 0.03, most_work=1000, seed=4)
    said = charts.changes_detail(changes)
    assert f"{changes.looked_at:,} of {changes.total:,}" in said
    assert "seed 4" in said
    most = f"{np.nanmax(changes.most):.3g}"
    finding = charts.changes_text(changes, 0.4)
    assert finding.startswith(f"In a sample of {changes.looked_at:,} edges the hard vote jumps by √2 on ")
    assert finding.endswith(f"; the soft vote moves at most {most} (bound 0.4)")
    assert "never" not in finding
    assert text_of(charts.changes_chart(changes, 0.4)) == finding


def test_the_curve_is_the_bound_and_what_was_found(small: bf.Policy, candidates: np.ndarray) -> None:
    found = pd.DataFrame([*sensitivity_curve(small, candidates, [0.01, 0.1])])
    bounds = pd.DataFrame({"tau": [0.001, 1.0], "bound": [SQRT2, 0.1]})
    chart = charts.curve_chart(found, bounds, 0.03)
    shown = pd.concat([frame for frame in layers(chart) if "kind" in frame])
    assert [*shown[shown["kind"] == "exact, soft vote"]["l2"]] == [*found["exact"]]
    assert "never passes the bound" in text_of(chart)
    pair = pd.DataFrame([*sensitivity_curve(small, attaining_candidates(small), [0.01, 0.1])])
    assert "attains the bound at every τ" in charts.curve_text(pair, 0.03)
    assert charts.curve_text(found.iloc[:0], 0.03) == "The bound falls as τ grows"


def test_a_floor_is_not_said_to_attain_the_bound(small: bf.Policy, candidates: np.ndarray) -> None:
    with_people = bf.Policy(small.domain, small.rules, participation=True)
    taus = [0.001, 0.3, 1.0]
    found = pd.DataFrame([*sensitivity_curve(with_people, attaining_candidates(small), taus)])
    alone = [bf.exact_sensitivity(small, bf.SoftVote(tau), attaining_candidates(small)).l2 for tau in taus]
    assert alone[0] > 1 > alone[1] > alone[2]
    assert [*found["exact"]] == [alone[0], 1.0, 1.0]
    assert charts.curve_text(found, 1.0) == (
        "Participation's floor of 1 sets the exact sensitivity at 2 of 3 τ searched; near τ = 1 a changed value alone "
        f"moves a vote by at most {alone[2]:.3g}"
    )
    assert "at every τ searched" in charts.curve_text(found.iloc[1:], 1.0)
    bounds = pd.DataFrame({"tau": taus, "bound": found["bound"]})
    shown = pd.concat([frame for frame in layers(charts.curve_chart(found, bounds, 0.03)) if "kind" in frame])
    assert [*shown[shown["kind"] == "exact, soft vote without the floor"]["l2"]] == alone[1:]


def test_region_hues_are_not_the_signal() -> None:
    assert len(set(REGIONS)) == len(REGIONS)
    assert charts.SIGNAL not in REGIONS


# --- the plane's contract --------------------------------------------------------------------------------------------


def test_an_edit_comes_back_as_policy_record_and_candidates(small: bf.Policy, candidates: np.ndarray) -> None:
    shown = plane(small.domain, "age", "job", candidates[0])
    data = plane_data(small, shown, candidates, tau=0.03, vote="hard")
    assert data["rules"]["across"]["theta"] == 4
    edit = {"record": [3.0, 1, 0], "tau": 0.5, "vote": "soft", "theta": {"across": 2}, "candidates": [[0, 0, 0]]}
    taken = committed_edit(small, shown, edit)
    assert taken.record.tolist() == [3, 1, 0]
    assert taken.policy.rules["age"] == bf.Threshold(2)
    assert taken.policy.rules["job"] == small.rules["job"]
    assert taken.candidates is not None
    assert taken.candidates.tolist() == [[0, 0, 0]]
    assert "age" not in committed_edit(small, shown, {**edit, "theta": {"across": 0}}).policy.rules
    with pytest.raises(bf.BFSoftError, match="outside"):
        committed_edit(small, shown, {**edit, "record": [99, 0, 0]})


def test_a_rule_without_theta_crosses_as_its_edges(small: bf.Policy, candidates: np.ndarray) -> None:
    blocks = small.with_rule("age", bf.Blocks([[20, 21, 22]]))
    rule = plane_data(blocks, plane(small.domain, "age", "job"), candidates, tau=0.03, vote="hard")["rules"]["across"]
    assert rule["pairs"] == [[0, 1], [0, 2], [1, 2]]
    assert rule["drawn"] == "1 block"


def test_the_notebook_plane_follows_an_edit(small: bf.Policy, candidates: np.ndarray) -> None:
    widget = BoundaryPlane(small, candidates, "age", "job")
    edit = {"revision": 1, "record": [3, 1, 0], "tau": 0.5, "vote": "soft", "theta": {"across": 2}}
    widget.committed = {**edit, "candidates": [[1, 1, 1], [2, 2, 0]]}
    assert (widget.tau, widget.vote, widget.policy.rules["age"]) == (0.5, "soft", bf.Threshold(2))
    assert widget.candidates.tolist() == [[1, 1, 1], [2, 2, 0]]
    assert widget.data["record"] == [3, 1, 0]
    assert widget.data["revision"] == 1
    with pytest.raises(bf.BFSoftError, match="two different attributes"):
        BoundaryPlane(bf.Policy(bf.Domain([bf.Numeric("x", 0, 3)]), {}), np.array([[0]]))


# --- answers in the background ---------------------------------------------------------------------------------------


def test_an_answer_reports_its_result_failure_and_stop() -> None:
    assert Answer("q", lambda watch, found: 7).wait(10).result == 7

    def refuse(watch: Any, found: list[Any]) -> None:
        raise bf.BFSoftError("too large")

    assert Answer("q", refuse).wait(10).failure == "too large"

    def endless(watch: Any, found: list[Any]) -> None:
        while True:
            found.append(1)
            watch(0.5)

    answer = Answer("q", endless)
    answer.stop()
    answer.wait(10)
    assert not answer.running
    assert answer.stopped
    assert answer.found
    unexpected = Answer("q", lambda watch, found: 1 / 0).wait(10)
    assert unexpected.failure is not None
    assert "ZeroDivisionError" in unexpected.failure


# --- the page --------------------------------------------------------------------------------------------------------


def said(app: Any) -> str:
    """All the text on the page, as it is read: a backslash only keeps the next letter from being markup."""
    parts = [*app.markdown, *app.info, *app.caption, *app.error]
    return "\n".join(re.sub(r"\\(\W|_)", r"\1", str(each.value)) for each in parts)


def wait(app: Any) -> Any:
    """Run again until nothing is being computed in the background."""
    for answer in app.session_state["boundaries:answers"].values():
        answer.wait(60)
    app.run()
    assert not app.exception, [each.value for each in app.exception]
    return app


def scenario(*attributes: Any, rules: dict[str, Any] | None = None, **settings: Any) -> str:
    return share.to_link(bf.Scenario.of(bf.Policy(bf.Domain(attributes), rules or {}), **settings))


def table(app: Any) -> pd.DataFrame:
    """The candidates' table; other parts of the app show tables too."""
    return next(each.value for each in app.dataframe if "candidate" in each.value)


def view(app: Any) -> dict[str, Any]:
    return app.session_state["boundaries:view"]


def key(app: Any, name: str) -> str:
    """The present key of a control: the page renews it when something else has set its value."""
    ends = f":{view(app)['ends']}" if name == "to" else ""
    return f"boundaries:{name}" if name == "section" else f"boundaries:{name}:{view(app)['moved']}{ends}"


@pytest.fixture
def tiny() -> str:
    return scenario(
        bf.Numeric("x", 0, 9), bf.Numeric("y", 0, 4), bf.Categorical("c", ["a", "b", "d"]), rules={"x": bf.Threshold(2)}
    )


def test_the_page_opens_on_adult_with_the_whole_domains_count(open_page) -> None:
    app = wait(open_page("boundaries"))
    assert "of 13,970,880 edges cross" in said(app)
    assert (view(app)["across"], view(app)["down"]) == ("age", "hours.per.week")
    adult = bf.load_scenario("adult").policy
    found = crossings(adult, random_candidates(adult.domain, 100, 0))
    assert charts.crossings_text(found) in said(app)


def test_picking_the_other_axis_swaps_them(open_page, tiny: str) -> None:
    app = open_page("boundaries", s=tiny)
    assert (view(app)["across"], view(app)["down"]) == ("x", "y")
    app.selectbox(key=key(app, "across")).set_value("y").run()
    assert (view(app)["across"], view(app)["down"]) == ("y", "x")
    app.selectbox(key=key(app, "down")).set_value("c").run()
    assert (view(app)["across"], view(app)["down"]) == ("y", "c")


def test_record_controls_show_and_set_every_value(open_page, tiny: str) -> None:
    app = open_page("boundaries", s=tiny)
    app.select_slider(key=key(app, "record:x")).set_value(7).run()
    app.selectbox(key=key(app, "record:c")).set_value(2).run()
    assert view(app)["record"].tolist() == [7, 2, 2]
    app.switch_page("../../pages/policy.py").run()
    app.switch_page("../../pages/boundaries.py").run()
    assert view(app)["record"].tolist() == [7, 2, 2]
    assert app.select_slider(key=key(app, "record:x")).value == 7


def test_random_candidates_are_as_many_as_asked_and_seeded(open_page, tiny: str) -> None:
    app = open_page("boundaries", s=tiny)
    app.number_input(key=key(app, "many")).set_value(5).run()
    app.number_input(key=key(app, "seed")).set_value(3).run()
    app.segmented_control(key=key(app, "section")).set_value("The candidates").run()
    domain = share.from_link(tiny).domain
    shown = table(app)
    wanted = domain.decode(random_candidates(domain, 5, 3))
    assert shown[["x", "y", "c"]].astype(str).values.tolist() == wanted.astype(str).values.tolist()
    assert shown["cells on this slice"].sum() == 50
    next(button for button in app.button if button.label == "Draw others").click().run()
    assert view(app)["seed"] == 4


def test_drawn_candidates_begin_with_those_shown_and_can_start_with_one(open_page, tiny: str) -> None:
    app = open_page("boundaries", s=tiny)
    app.segmented_control(key=key(app, "source")).set_value("drawn").run()
    assert len(view(app)["drawn"]) == 100
    next(button for button in app.button if button.label == "Start with one").click().run()
    assert view(app)["drawn"].tolist() == [view(app)["record"].tolist()]
    assert "**In the whole domain** none of" in said(wait(app))


def bring_back(app: Any) -> Any:
    return next(button for button in app.button if button.label.startswith("Bring back"))


def test_what_was_drawn_comes_back_after_other_candidates_took_its_place(open_page, tiny: str) -> None:
    app = open_page("boundaries", s=tiny)
    app.segmented_control(key=key(app, "source")).set_value("drawn").run()
    assert not any(button.label.startswith("Bring back") for button in app.button)
    view(app).update({"drawn": np.array([[1, 1, 0], [8, 3, 0], [2, 2, 1], [5, 0, 2]]), "drawn_before": []})
    mine = view(app)["drawn"].tolist()
    next(button for button in app.button if button.label == "Start with one").click().run()
    assert bring_back(app).label == "Bring back the 4 candidates drawn before"
    app.segmented_control(key=key(app, "section")).set_value("Exact against the bound").run()
    next(button for button in app.button if button.label.startswith("Place two candidates")).click().run()
    sets = []
    for _ in range(3):
        sets.append(view(app)["drawn"].tolist())
        bring_back(app).click().run()
    assert mine in sets
    assert [*map(len, sets)] == [2, 1, 4]
    assert view(app)["drawn"].tolist() == sets[0]  # and nothing is lost by bringing back
    assert not app.exception


def test_drawn_candidates_wait_while_another_domain_is_shown(open_page, tiny: str) -> None:
    app = open_page("boundaries", s=tiny)
    mine = np.array([[1, 1, 0], [8, 3, 0]])
    view(app).update({"drawn": mine, "source": "drawn"})
    first = app.run().session_state["scenario"]
    app.session_state["scenario"] = bf.load_scenario("xor3")
    app.run()
    assert view(app)["source"] == "random"
    app.session_state["scenario"] = first
    wait(app.run())
    assert (view(app)["source"], view(app)["drawn"].tolist()) == ("drawn", mine.tolist())


def test_candidates_of_the_last_synthesis(open_page) -> None:
    app = open_page("boundaries", s="xor3")
    app.segmented_control(key=key(app, "source")).set_value("synthesis").run()
    assert "No synthesis has run" in said(app)
    now = bf.load_scenario("xor3").replace(size=16, rounds=2)
    records = bf.Records.of_frame(now.domain, bf.load_data("xor3", now.domain))
    job = Comparison(now, records, [bf.hard(), bf.bf_soft(now.tau)]).start()
    assert job.wait(60)
    app.session_state["synthesis:job"] = job
    app.run()
    app.segmented_control(key=key(app, "method")).set_value("Hard").run()
    app.slider(key=key(app, "round")).set_value(2).run()
    app.segmented_control(key=key(app, "section")).set_value("The candidates").run()
    shown = table(app)[[*now.domain.names]]
    wanted = now.domain.decode(job.rounds["Hard"][1].candidates)
    assert shown.astype(str).values.tolist() == wanted.astype(str).values.tolist()


def test_the_walk_ends_where_the_hard_vote_jumps_until_another_end_is_chosen(open_page, tiny: str) -> None:
    app = open_page("boundaries", s=tiny)
    first = view(app)["to"]
    domain, policy = share.from_link(tiny).domain, share.from_link(tiny).policy
    walked = walk(policy, view(app)["record"], "x", random_candidates(domain, 100, 0), 0.03)
    assert walked.hard_change[first] > 0
    app.select_slider(key=key(app, "to")).set_value(0).run()
    assert view(app)["to"] == 0
    app.run()
    assert view(app)["to"] == 0
    app.selectbox(key=key(app, "along")).set_value("c").run()
    assert view(app)["along"] == "c"
    assert not app.exception


def test_the_walk_is_held_to_its_own_attributes_bound(open_page) -> None:
    rules = {"x": bf.Threshold(1), "c": bf.Complete()}
    link = scenario(bf.Numeric("x", 0, 9), bf.Categorical("c", ["a", "b"]), bf.Numeric("y", 0, 4), rules=rules)
    app = open_page("boundaries", s=link)
    bound = SQRT2 * math.tanh(1 / 3 / 9 / 2 / 0.03)  # a third of the weight, one step of nine, at τ = 0.03
    for along, told in (
        ("x", f"at most {bound:.3g} along a policy edge of x; shaded: joined to the start"),
        ("c", "at most 1.41 along a policy edge of c"),
        ("y", "no policy edge of y moves a vote"),
    ):
        app.selectbox(key=key(app, "along")).set_value(along).run()
        drawn = [each for name in ("vega_lite_chart", "arrow_vega_lite_chart") for each in app.get(name)]
        details = [json.loads(each.proto.spec)["title"]["subtitle"] for each in drawn]
        assert any(told in (text if isinstance(text, str) else " ".join(text)) for text in details), along


def test_the_end_of_a_long_walk_is_asked_in_the_attributes_own_units(open_page) -> None:
    name = "in_come *n*"
    link = scenario(bf.Numeric(name, 1000, 9000, 2), bf.Categorical("b", ["x", "y"]), rules={"b": bf.Complete()})
    app = open_page("boundaries", s=link)
    app.selectbox(key=key(app, "along")).set_value(name).run()
    field = app.number_input(key=key(app, "to"))
    values = share.from_link(link).domain[name].values
    assert (field.label, field.value, field.step) == ("from 5000 to", values[view(app)["to"]], 2)
    field.set_value(1246).run()
    assert values[view(app)["to"]] == 1246
    app.number_input(key=key(app, "to")).set_value(1249).run()
    assert app.number_input(key=key(app, "to")).value in (1248, 1250)
    assert f"{name} has no value 1249: its values lie 2 apart. The nearest, 12" in said(app)
    record = key(app, f"record:{name}")
    assert app.number_input(key=record).label == "in\\_come \\*n\\* · on the plane"
    app.number_input(key=record).set_value(1301).run()
    assert f"{name} has no value 1301" in said(app)
    app.number_input(key=record).set_value(10_000).run()
    assert f"{name} · on the plane: 10000 is too large; the most is 9000." in said(app)


def test_a_long_category_is_walked_by_its_names(open_page) -> None:
    names = [f"v{i}" for i in range(600)]
    app = open_page("boundaries", s=scenario(bf.Categorical("c", names), bf.Numeric("x", 0, 3)))
    app.selectbox(key=key(app, "along")).set_value("c").run()
    app.selectbox(key=key(app, "to")).set_value(77).run()
    assert view(app)["to"] == 77
    assert app.selectbox(key=key(app, "to")).label == "from v0 to"
    assert not app.exception


def test_names_and_values_are_read_as_they_are(open_page) -> None:
    number, letter, values = "a_b*c*_d", "$x$ <b>h</b>", ["$1$ and $2$", "*star*", "_u_"]
    rules = {number: bf.Threshold(2), letter: bf.Complete()}
    link = scenario(bf.Numeric(number, 0, 9), bf.Categorical(letter, values), bf.Numeric("#1", 5, 5), rules=rules)
    app = wait(open_page("boundaries", s=link))
    app.selectbox(key=key(app, "along")).set_value(letter).run()
    shown = [each.value for each in (*app.markdown, *app.info, *app.caption)]
    shown += [each.label for kind in (app.select_slider, app.selectbox, app.number_input) for each in kind]
    marked = [text for text in shown if re.search(r"(?<!\\)(b\*c|\$x|\*star|\$1|#1)", text)]
    assert not [text for text in marked if not text.startswith("| Setting")], marked  # the menu's own table
    read = [re.sub(r"\\(\W|_)", r"\1", text) for text in shown]
    for text in (f"{number} · on the plane", f"{letter} · on the plane", "#1: always 5", f"from {values[0]} to"):
        assert text in read
    assert any(text.startswith(f"By attribute: {number} ") and f"· {letter} " in text for text in read)
    app.selectbox(key=key(app, "along")).set_value("#1").run()
    assert "#1 has one value, 5: there is nowhere to walk to." in said(app)
    assert "\\#1 has one value" in "".join(each.value for each in app.info)


def test_the_name_of_an_only_attribute_is_read_as_it_is(open_page) -> None:
    app = wait(open_page("boundaries", s=scenario(bf.Numeric("$x$ *y*", 0, 9), rules={"$x$ *y*": bf.Threshold(2)})))
    assert "this domain has only $x$ *y*." in said(app)
    assert not any("$x$" in each.value for each in (*app.info, *app.markdown, *app.caption))


def test_every_edge_and_the_exact_curve(open_page, tiny: str) -> None:
    app = open_page("boundaries", s=tiny)
    app.segmented_control(key=key(app, "section")).set_value("Every edge").run()
    wait(app)
    changes = app.session_state["boundaries:answers"]["changes"].result
    assert changes.total == share.from_link(tiny).policy.record_edge_count
    app.segmented_control(key=key(app, "section")).set_value("Exact against the bound").run()
    wait(app)
    found = app.session_state["boundaries:answers"]["curve"].found
    assert len(found) == 13
    next(button for button in app.button if button.label.startswith("Place two candidates")).click().run()
    wait(app)
    assert view(app)["source"] == "drawn"
    for row in app.session_state["boundaries:answers"]["curve"].found:
        assert row["exact"] == pytest.approx(row["bound"], rel=1e-9)


@pytest.mark.parametrize("participation", [False, True])
def test_the_help_of_the_attaining_pair_tells_of_a_floor(open_page, participation: bool) -> None:
    policy = bf.Policy(bf.Domain([bf.Numeric("x", 0, 9), bf.Numeric("y", 0, 4)]), {"x": bf.Threshold(2)}, participation)
    app = open_page("boundaries", s=share.to_link(bf.Scenario.of(policy)))
    app.segmented_control(key=key(app, "section")).set_value("Exact against the bound").run()
    told = next(button for button in app.button if button.label.startswith("Place two candidates")).help
    assert ("so the bound cannot be lowered" in told) == (not participation)
    assert ("that or 1, whichever is larger" in told) == participation


def test_candidates_without_cells_are_told_apart(open_page, tiny: str) -> None:
    app = open_page("boundaries", s=tiny)
    twice = np.array([[1, 1, 0], [8, 3, 0], [1, 1, 0], [8, 3, 2], [8, 3, 2]])
    view(app).update({"drawn": twice, "source": "drawn", "record": np.array([5, 2, 0]), "section": "The candidates"})
    wait(app.run())
    assert table(app)["cells on this slice"].tolist()[2:] == [0, 0, 0]
    assert (
        "**3 of 5** candidates own no cell on this slice. Of these, 2 are copies of earlier candidates, which win "
        "every tie: they own no cell anywhere; 1 is beaten here, and owns cells elsewhere in the domain."
    ) in said(app)
    view(app)["drawn"] = twice[:2]
    assert "Every candidate owns cells on this slice." in said(wait(app.run()))


def test_a_domain_of_one_attribute_tells_its_owners(open_page) -> None:
    app = open_page("boundaries", s=scenario(bf.Numeric("x", 0, 9), rules={"x": bf.Threshold(2)}))
    view(app).update({"drawn": np.array([[2], [2], [7]]), "source": "drawn", "section": "The candidates"})
    wait(app.run())
    assert table(app)["cells of the domain"].tolist() == [5, 0, 5]
    assert (
        "**1 of 3** candidates owns no cell of the domain. Of these, 1 is a copy of an earlier candidate, which wins "
        "every tie: it owns no cell anywhere."
    ) in said(app)


def test_a_domain_of_one_attribute_is_told_kindly_and_still_walks(open_page) -> None:
    link = scenario(bf.Numeric("x", 0, 9), rules={"x": bf.Threshold(2)})
    app = wait(open_page("boundaries", s=link))
    assert "A plane needs two attributes, and this domain has only x" in said(app)
    assert "of 17 edges cross" in said(app)
    assert app.select_slider(key=key(app, "to")).value is not None


def test_one_value_attributes_and_an_empty_policy(open_page) -> None:
    app = wait(open_page("boundaries", s=scenario(bf.Numeric("x", 5, 5), bf.Categorical("c", ["only"]))))
    assert "**In the whole domain** the policy has no edges" in said(app)
    assert "x: always 5" in said(app)
    assert "nowhere to walk to" in said(app)
    for name in ("Every edge", "Exact against the bound", "The candidates"):
        app.segmented_control(key=key(app, "section")).set_value(name).run()
        assert not app.exception
    assert len(table(app)) == 100


def test_a_domain_too_large_to_count_says_so_and_still_draws(open_page) -> None:
    link = scenario(*(bf.Numeric(f"x{i}", 0, 99) for i in range(6)), rules={"x0": bf.Threshold(1)})
    app = wait(open_page("boundaries", s=link))
    assert "1,000,000,000,000 records, too many to count crossings" in said(app)
    assert regions(plane(share.from_link(link).domain, "x0", "x1"), view(app)["record"][None, :]).shape == (100, 100)
    app.segmented_control(key=key(app, "section")).set_value("Exact against the bound").run()
    assert any(button.label == "Search the exact sensitivity" for button in app.button)
    next(button for button in app.button if button.label == "Search the exact sensitivity").click().run()
    wait(app)
    assert "too many" in said(app)
    app.segmented_control(key=key(app, "section")).set_value("Every edge").run()
    wait(app)
    assert not app.session_state["boundaries:answers"]["changes"].result.exact


def test_a_plane_too_large_to_draw_says_so(open_page) -> None:
    link = scenario(bf.Numeric("x", 0, 4999), bf.Numeric("y", 0, 4999), rules={"x": bf.Threshold(2)})
    app = open_page("boundaries", s=link)
    assert "25,000,000 cells" in said(app)
    app.number_input(key=key(app, "record:x")).set_value(77).run()
    assert view(app)["record"][0] == 77


def test_an_attribute_of_ten_thousand_values_all_joined_still_opens(open_page) -> None:
    rules = {"x": bf.Complete(), "c": bf.Complete()}
    link = scenario(bf.Numeric("x", 0, 9999), bf.Categorical("c", ["a", "b"]), rules=rules)
    app = wait(open_page("boundaries", s=link))
    assert "49,995,000 edges, too many to check" in said(app)
    app.segmented_control(key=key(app, "section")).set_value("Every edge").run()
    assert "49,995,000 edges, too many" in said(wait(app))
    assert not app.exception


def test_another_scenario_takes_the_page_along(open_page, tiny: str) -> None:
    app = open_page("boundaries", s=tiny)
    app.segmented_control(key=key(app, "source")).set_value("drawn").run()
    app.session_state["scenario"] = bf.load_scenario("xor3")
    wait(app.run())
    assert view(app)["source"] == "random"
    assert view(app)["across"] == "x1"
    assert "of 896 edges cross" in said(app)
