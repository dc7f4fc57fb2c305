"""Crossings, planes, walks and changes against the definitions written out in fractions and loops."""

from __future__ import annotations

import math

import brute
import numpy as np
import pytest
from cases import Case, cases, temperatures
from hypothesis import given, settings
from hypothesis import strategies as st

import bfsoft as bf
from bfsoft import crossings
from bfsoft.crossings import (
    Plane,
    attaining_candidates,
    colouring,
    copies,
    edge_changes,
    mix,
    plane,
    plane_edges,
    regions,
    sensitivity_curve,
    walk,
    without_cell,
)
from bfsoft.synthesis import random_candidates

SQRT2 = math.sqrt(2)


def votes(case: Case, record: brute.Record) -> int:
    return brute.nearest(case.distances(record))


def ends(case: Case, edge: bf.RecordEdge) -> list[brute.Record]:
    """The codes of a record edge's two records."""
    domain = case.domain
    return [
        tuple(attribute.values.index(end[attribute.name]) for attribute in domain.attributes)
        for end in (edge.a, edge.b)
    ]


@given(cases(participation=None))
def test_crossings_are_those_of_the_product_graph(path: str, case: Case) -> None:
    found = crossings(case.policy, case.candidates)
    edges = brute.neighbours(case.policy)
    crossing = [(name, a, b) for name, a, b in edges if votes(case, a) != votes(case, b)]
    assert (found.crossing, found.total) == (len(crossing), len(edges))
    for name, share in found.by_attribute.items():
        assert share.crossing == sum(each == name for each, _, _ in crossing)
        assert share.total == sum(each == name for each, _, _ in edges)
    assert sum(share.total for share in found.by_attribute.values()) == len(edges)
    assert (found.example is None) == (not crossing)
    if found.example is not None:
        a, b = ends(case, found.example)
        assert (found.example.attribute, *sorted([a, b])) in [(name, *sorted([x, y])) for name, x, y in crossing]


@given(cases())
def test_crossings_agree_with_the_certificate(case: Case) -> None:
    assert (crossings(case.policy, case.candidates).crossing > 0) == (
        bf.crossing_edge(case.policy, case.candidates) is not None
    )


def test_the_paper_has_13_970_880_edges_on_adult_and_some_cross(adult: bf.Domain) -> None:
    policy = bf.Policy(adult, {"age": bf.Threshold(7)})
    candidates = random_candidates(adult, 64, 0)
    found = crossings(policy, candidates)
    assert found.total == 13_970_880
    # Every line of a sample, counted by the definition, as a check on the whole count's size.
    draw = np.random.default_rng(1)
    lines = np.column_stack([draw.integers(0, count, 400) for count in adult.shape])
    edges = policy.edges("age")
    crossing = 0
    for line in lines:
        records = np.repeat(line[None, :], 74, axis=0)
        records[:, 0] = np.arange(74)
        nearest = np.argmax(bf.HardVote().responses(adult, records, candidates), axis=1)
        crossing += int((nearest[edges[:, 0]] != nearest[edges[:, 1]]).sum())
    assert found.share == pytest.approx(crossing / (400 * len(edges)), rel=0.1)


def test_crossings_thin_out_with_theta_but_never_reach_zero(adult: bf.Domain) -> None:
    candidates = random_candidates(adult, 100, 0)
    counts = [
        crossings(bf.Policy(adult, {"age": bf.Threshold(theta)}), candidates).crossing for theta in (7, 5, 3, 2, 1)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] > 0


def test_counting_reports_progress_and_can_be_stopped(adult: bf.Domain) -> None:
    policy, candidates = bf.Policy(adult, {"age": bf.Threshold(7)}), random_candidates(adult, 8, 0)
    seen: list[float] = []
    crossings(policy, candidates, seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0

    class Enough(Exception):
        pass

    def stop(share: float) -> None:
        raise Enough

    for count in (
        lambda: crossings(policy, candidates, stop),
        lambda: edge_changes(policy, candidates, 0.03, watch=stop),
        lambda: list(sensitivity_curve(policy, candidates, [0.03], stop)),
    ):
        with pytest.raises(Enough):
            count()


def test_a_domain_too_large_to_count_says_its_size() -> None:
    domain = bf.Domain([bf.Numeric(f"x{i}", 0, 99) for i in range(6)])
    policy = bf.Policy(domain, {"x0": bf.Threshold(1)})
    with pytest.raises(bf.errors.DomainTooLargeError, match="1,000,000,000,000 records"):
        crossings(policy, random_candidates(domain, 4, 0))


def test_no_candidates_is_an_error(adult: bf.Domain) -> None:
    policy, none = bf.Policy(adult, {"age": bf.Threshold(7)}), np.empty((0, 5), dtype=np.int64)
    for ask in (
        lambda: crossings(policy, none),
        lambda: edge_changes(policy, none, 0.03),
        lambda: regions(plane(adult, "age", "income"), none),
        lambda: walk(policy, np.zeros(5, dtype=int), "age", none, 0.03),
    ):
        with pytest.raises(bf.errors.VoteError, match="no candidates"):
            ask()


# --- changes along every edge ----------------------------------------------------------------------------------------


@given(cases(participation=None), temperatures)
def test_changes_are_those_of_every_edge(path: str, case: Case, tau: float) -> None:
    changes = edge_changes(case.policy, case.candidates, tau)
    sides: tuple[list[float], list[float]] = ([], [])
    for _, a, b in brute.neighbours(case.policy):
        moved = brute.norms(brute.soft(case.distances(a), tau), brute.soft(case.distances(b), tau))[1]
        sides[votes(case, a) != votes(case, b)].append(moved)
    assert changes.exact
    assert changes.looked_at == changes.total == sum(map(len, sides))
    for side, moved in enumerate(sides):
        assert changes.counts[side].sum() == len(moved)
        if moved:
            cell = SQRT2 / changes.counts.shape[1]
            counted = np.repeat(changes.edges[:-1], changes.counts[side].astype(int))
            # Sorted changes fall in sorted cells, up to rounding at a cell's limit.
            assert np.abs(np.sort(moved) - counted - cell / 2).max() <= cell / 2 + 1e-9
            assert changes.mean[side] == pytest.approx(np.mean(moved), abs=1e-9)
            assert changes.least[side] == pytest.approx(min(moved), abs=1e-9)
            assert changes.most[side] == pytest.approx(max(moved), abs=1e-9)
            assert changes.quantile(bool(side), 0.5) == pytest.approx(
                np.quantile(moved, 0.5, method="inverted_cdf"), abs=cell + 1e-9
            )
        else:
            assert math.isnan(changes.mean[side])
            assert math.isnan(changes.quantile(bool(side), 0.5))


def test_changes_find_the_exact_sensitivity_and_do_not_depend_on_threads(adult: bf.Domain, on_threads) -> None:
    policy, candidates = bf.Policy(adult, {"age": bf.Threshold(7)}), random_candidates(adult, 64, 3)
    on_threads(1)
    alone = edge_changes(policy, candidates, 0.03)
    on_threads(3)
    shared = edge_changes(policy, candidates, 0.03)
    assert (alone.counts == shared.counts).all()
    exact = bf.exact_sensitivity(policy, bf.SoftVote(0.03), candidates).l2
    assert np.nanmax(alone.most) == pytest.approx(exact, rel=1e-9)
    assert alone.counts.sum() == 13_970_880
    assert alone.counts[1].sum() == crossings(policy, candidates).crossing


def test_figure_1_of_the_paper(adult: bf.Domain) -> None:
    # Paper, Figure 1: 0.06-0.09 where the hard vote does not move, about 1.2 on boundary-crossing edges, for m = 512.
    policy, candidates = bf.Policy(adult, {"age": bf.Threshold(7)}), random_candidates(adult, 512, 0)
    assert 0.06 <= edge_changes(policy, candidates, 0.03).quantile(False, 0.5) <= 0.09
    assert 1.1 <= edge_changes(policy, candidates, 0.002).quantile(True, 0.5) <= 1.3


def test_a_sample_of_lines_estimates_the_whole(adult: bf.Domain) -> None:
    policy, candidates = bf.Policy(adult, {"age": bf.Threshold(7)}), random_candidates(adult, 64, 3)
    whole = edge_changes(policy, candidates, 0.03)
    sample = edge_changes(policy, candidates, 0.03, most_work=20_000_000, seed=5)
    again = edge_changes(policy, candidates, 0.03, most_work=20_000_000, seed=5)
    assert whole.exact
    assert not sample.exact
    assert sample.seed == 5
    assert 0 < sample.looked_at < sample.total / 5
    assert (sample.counts == again.counts).all()
    assert sample.counts.sum() == pytest.approx(sample.total)
    assert sample.counts[1].sum() == pytest.approx(whole.counts[1].sum(), rel=0.2)
    assert sample.quantile(False, 0.5) == pytest.approx(whole.quantile(False, 0.5), rel=0.1)


def test_a_huge_domain_is_sampled_and_one_beyond_numbers_refused() -> None:
    large = bf.Domain([bf.Numeric(f"x{i}", 0, 99) for i in range(6)])
    policy = bf.Policy(large, {"x0": bf.Threshold(1)})
    changes = edge_changes(policy, random_candidates(large, 4, 0), 0.1, most_work=1_000_000)
    assert not changes.exact
    assert changes.counts.sum() == pytest.approx(99 * 100**5)
    huge = bf.Domain([bf.Numeric(f"x{i}", 0, 99) for i in range(12)])
    with pytest.raises(bf.errors.DomainTooLargeError, match="too many to sample"):
        edge_changes(bf.Policy(huge, {"x0": bf.Threshold(1)}), random_candidates(huge, 4, 0), 0.1)


# --- planes ----------------------------------------------------------------------------------------------------------


@st.composite
def planes(draw: st.DrawFn) -> tuple[Case, Plane]:
    case = draw(cases().filter(lambda case: len(case.domain.names) > 1))
    across, down = draw(st.permutations(case.domain.names))[:2]
    record = np.array([draw(st.integers(0, count - 1)) for count in case.domain.shape])
    return case, plane(case.domain, across, down, record)


@given(planes())
def test_regions_are_the_nearest_candidates(path: str, drawn) -> None:
    case, shown = drawn
    nearest = regions(shown, case.candidates)
    row, column = shown.positions
    for j, i in np.ndindex(*shown.shape):
        record = shown.record.copy()
        record[row], record[column] = j, i
        assert nearest[j, i] == votes(case, tuple(record.tolist()))
    idle = without_cell(nearest, len(case.candidates))
    assert {*idle.tolist()} == {*range(len(case.candidates))} - {*nearest.ravel().tolist()}


def test_regions_of_adult_follow_the_definition(adult: bf.Domain) -> None:
    candidates = random_candidates(adult, 512, 0)
    for across, down in (("age", "hours.per.week"), ("workclass", "age"), ("income", "education.num")):
        shown = plane(adult, across, down, np.array([20, 3, 8, 40, 1]))
        hard = np.argmax(bf.HardVote().responses(adult, shown.codes, candidates), axis=1)
        assert (regions(shown, candidates).ravel() == hard).all()


@given(planes(), temperatures)
def test_the_mix_is_the_soft_vote_and_becomes_the_hard_picture(drawn, tau: float) -> None:
    case, shown = drawn
    row, column = shown.positions
    shares, cold = mix(shown, case.candidates, tau), mix(shown, case.candidates, 1e-12)
    nearest = regions(shown, case.candidates)
    for j, i in np.ndindex(*shown.shape):
        record = shown.record.copy()
        record[row], record[column] = j, i
        distances = case.distances(tuple(record.tolist()))
        assert shares[j, i] == pytest.approx(brute.soft(distances, tau), abs=1e-9)
        # The nearest candidates share evenly where they tie, and nobody else has anything.
        ties = [k for k, distance in enumerate(distances) if distance == min(distances)]
        assert nearest[j, i] == ties[0]
        assert cold[j, i, ties] == pytest.approx(1 / len(ties))


@given(planes())
def test_edges_of_a_plane_are_those_of_the_product_graph_on_it(drawn) -> None:
    case, shown = drawn
    on_plane = {tuple(codes) for codes in shown.codes.tolist()}
    for edges in plane_edges(case.policy, shown, regions(shown, case.candidates)):
        own = [(a, b) for name, a, b in brute.neighbours(case.policy) if name == edges.attribute and a in on_plane]
        crossing = sum(votes(case, a) != votes(case, b) for a, b in own)
        assert edges.share == (crossing, len(own))


@given(cases(), st.data())
def test_copies_are_just_the_candidates_that_own_no_record(case: Case, data: st.DataObject) -> None:
    again = data.draw(st.lists(st.sampled_from(range(len(case.candidates))), max_size=3))
    candidates = np.concatenate([case.candidates, case.candidates[again]])
    every = np.array([*np.ndindex(*case.domain.shape)])
    owners = bf.HardVote().responses(case.domain, every, candidates).argmax(axis=1)
    assert copies(case.domain, candidates).tolist() == without_cell(owners, len(candidates)).tolist()


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 12), st.integers(1, 30))
@settings(max_examples=60)
def test_regions_that_touch_have_different_colours(seed: int, rows: int, columns: int, m: int) -> None:
    nearest = np.random.default_rng(seed).integers(0, m, (rows, columns))
    colours = colouring(nearest)
    assert {*colours} == {*nearest.ravel().tolist()}
    for first, second in ((nearest[:, :-1], nearest[:, 1:]), (nearest[:-1], nearest[1:])):
        for a, b in zip(first.ravel().tolist(), second.ravel().tolist(), strict=True):
            assert a == b or colours[a] != colours[b]


def test_a_plane_refuses_what_it_cannot_show(adult: bf.Domain) -> None:
    with pytest.raises(bf.errors.DomainError, match="two different attributes"):
        plane(adult, "age", "age")
    with pytest.raises(bf.errors.DomainError, match="no attribute 'agee'"):
        plane(adult, "agee", "income")
    with pytest.raises(bf.errors.DataError, match="record"):
        plane(adult, "age", "income", np.array([1, 2]))
    with pytest.raises(bf.errors.DataError, match="outside"):
        plane(adult, "age", "income", np.array([74, 0, 0, 0, 0]))
    long = bf.Domain([bf.Numeric("x", 0, 4999), bf.Numeric("y", 0, 4999)])
    with pytest.raises(bf.errors.DomainTooLargeError, match="25,000,000 cells"):
        plane(long, "x", "y")


# --- the walk and the bound ------------------------------------------------------------------------------------------


@given(cases(participation=None), temperatures, st.data())
def test_a_walk_follows_the_votes(case: Case, tau: float, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(case.domain.names))
    position = case.domain.position(name)
    record = np.array([data.draw(st.integers(0, count - 1)) for count in case.domain.shape])
    walked = walk(case.policy, record, name, case.candidates, tau)
    start = tuple(record.tolist())
    joined = brute.edges(case.domain[name], case.policy.rules.get(name))
    for code in range(case.domain.shape[position]):
        here = (*start[:position], code, *start[position + 1 :])
        first, then = (brute.soft(case.distances(each), tau) for each in (start, here))
        assert walked.soft_change[code] == pytest.approx(brute.norms(first, then)[1], abs=1e-9)
        assert walked.hard_change[code] == pytest.approx(SQRT2 * (votes(case, start) != votes(case, here)))
        assert walked.soft_change[code] <= walked.ceiling[code] + 1e-9
        assert walked.joined[code] == ((min(code, start[position]), max(code, start[position])) in joined)


@pytest.mark.parametrize(("rule", "joined"), [(bf.Threshold(500), 1000), (bf.Complete(), 100_000)])
def test_a_walk_needs_no_list_of_edges(rule: bf.Threshold | bf.Complete, joined: int) -> None:
    policy = bf.Policy(bf.Domain([bf.Numeric("x", 0, 100_000)]), {"x": rule})
    with pytest.raises(bf.errors.PolicyError, match="too many to list"):
        policy.edges("x")
    walked = walk(policy, np.array([50_000]), "x", np.array([[49_000], [52_000]]), 0.03)
    assert (walked.joined.sum(), walked.joined[50_000]) == (joined, False)
    assert walked.joined[[49_500, 50_500]].all()


@given(cases().filter(lambda case: case.policy.reach > 0), st.floats(0.005, 2))
def test_two_candidates_at_the_widest_edge_attain_the_bound(case: Case, tau: float) -> None:
    pair = attaining_candidates(case.policy, case.candidates[0])
    vote = bf.SoftVote(tau)
    bound, exact = bf.sensitivity_bound(case.policy, vote), bf.exact_sensitivity(case.policy, vote, pair)
    assert exact.l2 == pytest.approx(bound.l2, rel=1e-9)
    assert exact.l1 == pytest.approx(bound.l1, rel=1e-9)


def test_without_a_lengthy_edge_there_is_nothing_to_attain(adult: bf.Domain) -> None:
    with pytest.raises(bf.errors.PolicyError, match="add an edge"):
        attaining_candidates(bf.Policy(adult, {}))


def test_the_exact_curve_stays_below_the_bound(adult: bf.Domain) -> None:
    policy = bf.Policy(adult, {"age": bf.Threshold(7)})
    rows = list(sensitivity_curve(policy, random_candidates(adult, 24, 0), [0.005, 0.03, 0.3]))
    assert [row["tau"] for row in rows] == [0.005, 0.03, 0.3]
    for row in rows:
        assert 0 < row["exact"] <= row["bound"] * (1 + 1e-12)
        assert row["bound"] == pytest.approx(SQRT2 * math.tanh(policy.reach / 2 / row["tau"]))
        assert row["hard"] == SQRT2


def test_participation_lifts_the_curve_to_its_floor_and_keeps_what_is_beneath(adult: bf.Domain) -> None:
    policy, taus = bf.Policy(adult, {"age": bf.Threshold(7)}), [0.005, 0.03, 0.3]
    candidates = random_candidates(adult, 24, 0)
    alone = list(sensitivity_curve(policy, candidates, taus))
    floored = list(sensitivity_curve(bf.Policy(adult, policy.rules, participation=True), candidates, taus))
    for row, lifted in zip(alone, floored, strict=True):
        assert row["values"] == row["exact"] == lifted["values"]
        assert lifted["exact"] == max(row["exact"], 1.0)
        assert lifted["bound"] == max(row["bound"], 1.0)
    assert floored[2]["exact"] > floored[2]["values"]
