"""Sensitivity: the bound holds and is tight, and the exact search finds what trying every edge finds."""

import re
from math import sqrt, tanh

import brute
import numpy as np
import pytest
from cases import Case, cases, temperatures
from hypothesis import assume, given
from hypothesis import strategies as st

import bfsoft as bf
from bfsoft import _enumeration
from bfsoft.errors import DataError, DomainTooLargeError, VoteError

SQRT2 = sqrt(2)


def soft_by_trying_every_edge(case: Case, tau: float) -> tuple[float, float]:
    """THEORY: the largest L1 and the largest L2 of v(x) − v(x′) over all record-level edges."""
    votes = {record: brute.soft(case.distances(record), tau) for record in brute.records(case.domain)}
    moved = [brute.norms(votes[x], votes[y]) for _, x, y in brute.neighbours(case.policy)]
    return max((l1 for l1, _ in moved), default=0.0), max((l2 for _, l2 in moved), default=0.0)


def crossings_by_trying_every_edge(case: Case) -> dict[str, int]:
    own = {record: brute.nearest(case.distances(record)) for record in brute.records(case.domain)}
    counts = dict.fromkeys(case.domain.names, 0)
    for name, x, y in brute.neighbours(case.policy):
        counts[name] += own[x] != own[y]
    return counts


def codes_of(domain: bf.Domain, record) -> tuple[int, ...]:
    return tuple(attribute.values.index(record[attribute.name]) for attribute in domain.attributes)


def assert_is_a_policy_edge(case: Case, edge: bf.RecordEdge) -> tuple[tuple[int, ...], tuple[int, ...]]:
    a, b = codes_of(case.domain, edge.a), codes_of(case.domain, edge.b)
    assert (edge.attribute, *sorted((a, b))) in [(n, *sorted((x, y))) for n, x, y in brute.neighbours(case.policy)]
    assert edge.length == float(case.gower(a, b))
    return a, b


# The bound


@given(cases(participation=None), temperatures)
def test_the_bound_is_the_closed_form_with_its_floor(case, tau):
    reach = float(max((case.gower(x, y) for _, x, y in brute.neighbours(case.policy)), default=0))
    q, floor = tanh(min(reach / 2 / tau, 1e3)), 1.0 if case.policy.participation else 0.0
    bound = bf.sensitivity_bound(case.policy, bf.SoftVote(tau))
    assert (bound.l1, bound.l2) == pytest.approx((max(2 * q, floor), max(SQRT2 * q, floor)), rel=1e-14)
    assert bound.ratio == pytest.approx(bound.l2 / SQRT2, rel=1e-14)
    hard = bf.sensitivity_bound(case.policy, bf.HardVote())
    assert (hard.l1, hard.l2) == ((2.0, SQRT2) if reach > 0 else (floor, floor))


@given(cases(participation=None), temperatures)
def test_across_an_edge_of_no_length_no_vote_moves_and_across_any_other_the_hard_one_can(path, case, tau):
    """The hard bound's proof, edge by edge: equal distances, equal votes; else the two ends as candidates part them."""
    for _, x, y in brute.neighbours(case.policy):
        ends = np.array([x, y])
        if case.gower(x, y) == 0:
            assert case.distances(x) == case.distances(y)
            for vote in (bf.HardVote(), bf.SoftVote(tau)):
                first, second = vote.responses(case.domain, ends, case.candidates)
                assert np.array_equal(first, second)
        else:
            first, second = bf.HardVote().responses(case.domain, ends, ends)
            assert brute.norms(first, second) == (2.0, SQRT2)


def weighted(heavy: float, light: float, participation: bool = False) -> bf.Policy:
    domain = bf.Domain([bf.Numeric("a", 0, 6), bf.Numeric("b", 0, 4)], {"a": light, "b": heavy})
    return bf.Policy(domain, {"a": bf.Threshold(2)}, participation)


def test_only_a_weight_of_0_frees_the_hard_vote_of_noise():
    hard = bf.HardVote()
    assert bf.sensitivity_bound(weighted(1, 0), hard).l2 == 0
    assert bf.sensitivity_bound(weighted(1, 0, participation=True), hard).l2 == 1, "who comes or goes still counts"
    for light in (1e-12, 1e-300):
        assert bf.sensitivity_bound(weighted(1, light), hard).l2 == SQRT2


def test_a_hard_vote_is_not_freed_of_noise_where_a_weight_is_too_small_for_a_float(path):
    """a's weight is 1e-600, 0 as a float; yet candidates equal in b are told apart by it, exactly."""
    policy, candidates = weighted(1e300, 1e-300), np.array([[0, 2], [6, 2]])
    assert policy.reach == 0
    ends = np.array([[3, 2], [4, 2]])
    assert brute.norms(*bf.HardVote().responses(policy.domain, ends, candidates)) == (2.0, SQRT2)
    for found in (
        bf.sensitivity_bound(policy, bf.HardVote()),
        bf.exact_sensitivity(policy, bf.HardVote(), candidates),
    ):
        assert (found.l1, found.l2, found.edge) == (2.0, SQRT2, None)


@given(cases(participation=None), temperatures)
def test_the_bound_is_never_below_the_exact_sensitivity(path, case, tau):
    for vote in (bf.SoftVote(tau), bf.HardVote()):
        bound, exact = bf.sensitivity_bound(case.policy, vote), bf.exact_sensitivity(case.policy, vote, case.candidates)
        assert exact.l1 <= bound.l1 * (1 + 1e-12)
        assert exact.l2 <= bound.l2 * (1 + 1e-12)


@given(cases(), st.floats(0.01, 5))
def test_two_candidates_on_the_widest_edge_attain_the_bound(path, case, tau):
    """THEORY, "Sensitivity": candidates at x, x′ with d(x, x′) = r move by exactly 2 tanh(r/2τ) and √2 tanh(r/2τ)."""
    assume(case.policy.reach > 0)
    _, x, y = max(brute.neighbours(case.policy), key=lambda edge: case.gower(edge[1], edge[2]))
    exact = bf.exact_sensitivity(case.policy, bf.SoftVote(tau), np.array([x, y]))
    q = tanh(case.policy.reach / 2 / tau)
    assert exact.l1 == pytest.approx(2 * q, rel=1e-9)
    assert exact.l2 == pytest.approx(SQRT2 * q, rel=1e-9)
    assert_is_a_policy_edge(case, exact.edge)


def test_more_candidates_far_away_approach_the_bound(path):
    """The bound is approached as the others recede: m = 10, the rest at distance 1, temperature falling."""
    domain = bf.Domain([bf.Numeric("a", 0, 10), bf.Categorical("b", ["near", "far"])], {"a": 1, "b": 9})
    policy = bf.Policy(domain, {"a": bf.Edges([(4, 5)])})
    candidates = np.array([[4, 0], [5, 0]] + [[5, 1]] * 8)
    short = []
    for tau in (0.5, 0.2, 0.1, 0.05):
        vote = bf.SoftVote(tau)
        exact, bound = bf.exact_sensitivity(policy, vote, candidates), bf.sensitivity_bound(policy, vote)
        short.append(1 - exact.l2 / bound.l2)
    assert short == sorted(short, reverse=True)
    assert 0 <= short[-1] < 1e-6 < 0.1 < short[0]


def test_the_bound_grows_with_reach_and_falls_with_temperature(adult):
    def l2(theta, tau):
        return bf.sensitivity_bound(bf.Policy(adult, {"age": bf.Threshold(theta)}), bf.SoftVote(tau)).l2

    by_theta = [l2(theta, 0.03) for theta in (0, 1, 7, 20, 73)]
    by_tau = [l2(7, tau) for tau in (1e-4, 0.015, 0.03, 0.06, 1)]
    assert by_theta == sorted(set(by_theta))
    assert by_tau == sorted(set(by_tau), reverse=True)
    assert by_theta[0] == 0
    assert by_tau[0] == pytest.approx(SQRT2)


def test_standard_dp_is_reach_one():
    from bfsoft.sensitivity import full_sensitivity

    assert full_sensitivity(bf.HardVote()).l2 == SQRT2
    assert full_sensitivity(bf.SoftVote(0.5)).l2 == pytest.approx(SQRT2 * tanh(1.0))
    assert full_sensitivity(bf.SoftVote(0.5)).l1 == pytest.approx(2 * tanh(1.0))


# Exact, soft


@given(cases(), temperatures)
def test_exact_soft_is_what_trying_every_edge_finds(path, case, tau):
    l1, l2 = soft_by_trying_every_edge(case, tau)
    exact = bf.exact_sensitivity(case.policy, bf.SoftVote(tau), case.candidates)
    assert exact.l1 == pytest.approx(l1, rel=1e-9, abs=1e-12)
    assert exact.l2 == pytest.approx(l2, rel=1e-9, abs=1e-12)
    if l2 > 1e-9:
        a, b = assert_is_a_policy_edge(case, exact.edge)
        attained = brute.norms(brute.soft(case.distances(a), tau), brute.soft(case.distances(b), tau))[1]
        assert attained == pytest.approx(l2, rel=1e-9)


@pytest.mark.parametrize("inverse", [50, 250, 299, 301, 320, 400, 500, 599, 601, 5000])
def test_an_edge_that_moves_only_far_from_every_candidate_is_found(path, inverse):
    """Both candidates lie 0.9 away where their votes trade places: the squares of e^(−0.9/τ) underflow there."""
    domain = bf.Domain([bf.Categorical("a", [0, 1]), bf.Categorical("b", ["p", "q", "r"])], {"a": 0.1, "b": 0.9})
    policy, tau = bf.Policy(domain, {"a": bf.Complete()}), 1 / inverse
    exact = bf.exact_sensitivity(policy, bf.SoftVote(tau), np.array([[0, 0], [1, 1]]))
    assert exact.l2 == pytest.approx(SQRT2 * tanh(0.1 / 2 / tau), rel=1e-9)
    assert exact.edge.a["b"] == "r"


def test_wide_denominators_at_tiny_temperatures_keep_their_ties(path):
    """Two candidates always tie along b: at any τ they share evenly, and no a-edge moves that."""
    weights = {"a": 0.12345678901234567, "b": 0.30000000000000004}
    domain = bf.Domain([bf.Numeric("a", 0, 6), bf.Numeric("b", 0, 4)], weights)
    candidates = np.array([[3, 0], [3, 4], [0, 2]])
    case = Case(domain, weights, bf.Policy(domain, {"a": bf.Threshold(1)}), candidates)
    for tau in (1e-5, 1e-20, 1e-300):
        l1, l2 = soft_by_trying_every_edge(case, tau)
        exact = bf.exact_sensitivity(case.policy, bf.SoftVote(tau), candidates)
        assert (exact.l1, exact.l2) == pytest.approx((l1, l2), rel=1e-12)


@pytest.mark.parametrize("tau", [0.003, 0.015, 0.06])
def test_exact_soft_on_a_middling_domain_with_every_rule(path, tau):
    """2,520 records: the search's bins, blocks and pruning at work, against votes of the whole domain at once."""
    domain = bf.Domain(
        [
            bf.Numeric("n", 0, 20),
            bf.Hierarchical("h", {"a": ["a1", "a2", "a3"], "b": {"c": ["c1", "c2"], "d": None}}),
            bf.Numeric("s", 0, 1, 0.25),
            bf.Categorical("c", ["x", "y", "z", "w"]),
        ],
        {"n": 0.4, "h": 0.3, "s": 0.2, "c": 0.1},
    )
    rules = {"n": bf.Threshold(3), "h": bf.Threshold(2), "s": bf.Edges([(0, 1), (0.25, 0.5)]), "c": bf.Complete()}
    policy = bf.Policy(domain, rules)
    draw = np.random.default_rng(3)
    candidates = np.column_stack([draw.integers(0, count, 40) for count in domain.shape])
    everyone = np.array(brute.records(domain))
    numbered = {record: row for row, record in enumerate(map(tuple, everyone.tolist()))}
    gower = brute.Gower(domain, {"n": 0.4, "h": 0.3, "s": 0.2, "c": 0.1})
    tables = [
        np.array([[float(w * x) for x in row] for row in t]) for w, t in zip(gower.weights, gower.tables, strict=True)
    ]
    distance = sum(t[everyone[:, None, j], candidates[None, :, j]] for j, t in enumerate(tables))
    votes = np.exp(-distance / tau)
    votes /= votes.sum(axis=1, keepdims=True)
    pairs = np.array([(numbered[x], numbered[y]) for _, x, y in brute.neighbours(policy)])
    moved = votes[pairs[:, 0]] - votes[pairs[:, 1]]
    exact = bf.exact_sensitivity(policy, bf.SoftVote(tau), candidates)
    assert exact.l1 == pytest.approx(np.abs(moved).sum(axis=1).max(), rel=1e-9)
    assert exact.l2 == pytest.approx(np.sqrt((moved**2).sum(axis=1)).max(), rel=1e-9)
    counts, _ = _enumeration.count_crossings(policy, candidates)
    whole = domain.exact_distance(everyone, candidates)
    nearest = whole.argmin(axis=1)
    assert sum(counts.values()) == (nearest[pairs[:, 0]] != nearest[pairs[:, 1]]).sum()


def test_the_answer_does_not_depend_on_threads(on_threads):
    """Many lines come within rounding of the bound: where the search may stop must be the same for all."""
    domain = bf.Domain(
        [bf.Numeric("a", 0, 20), bf.Numeric("b", 0, 30), bf.Numeric("c", 0, 30), bf.Categorical("e", ["x", "y"])]
    )
    draw = np.random.default_rng(0)
    for _ in range(25):
        policy = bf.Policy(domain, {"a": bf.Threshold(int(draw.integers(1, 20)))})
        candidates = np.column_stack([draw.integers(0, count, draw.integers(2, 4)) for count in domain.shape[:1]] * 4)
        candidates = np.minimum(candidates, np.array(domain.shape) - 1)
        tau = float(draw.choice([0.003, 0.01, 0.03, 0.1]))
        found = set()
        for count in (1, 2, 3, 5):
            on_threads(count)
            exact = bf.exact_sensitivity(policy, bf.SoftVote(tau), candidates)
            found.add((exact.l1, exact.l2, str(exact.edge), str(bf.crossing_edge(policy, candidates))))
        assert len(found) == 1


# Exact, hard


@given(cases(participation=None))
def test_hard_is_zero_or_full_and_agrees_with_its_certificate(path, case):
    """0 or √2; a certificate really crosses; no certificate means that trying every edge finds none either."""
    edge = bf.crossing_edge(case.policy, case.candidates)
    exact = bf.exact_sensitivity(case.policy, bf.HardVote(), case.candidates)
    floor = 1.0 if case.policy.participation else 0.0
    if edge is None:
        assert not any(crossings_by_trying_every_edge(case).values())
        assert (exact.l1, exact.l2, exact.edge) == (floor, floor, None)
    else:
        a, b = assert_is_a_policy_edge(case, edge)
        assert brute.nearest(case.distances(a)) != brute.nearest(case.distances(b))
        assert (exact.l1, exact.l2) == (2.0, SQRT2)
        assert exact.edge == edge


@given(cases())
def test_crossings_are_counted_as_by_trying_every_edge(path, case):
    counts, first = _enumeration.count_crossings(case.policy, case.candidates)
    expected = crossings_by_trying_every_edge(case)
    assert {name: counts.get(name, 0) for name in case.domain.names} == expected
    assert (first is None) == (sum(expected.values()) == 0)


@pytest.mark.parametrize("weights", [{"a": 0.123456789, "b": 0.876543211}, {"a": 0.12345678901234567, "b": 0.3}])
def test_crossings_in_wider_integers(path, weights):
    domain = bf.Domain([bf.Numeric("a", 0, 12), bf.Numeric("b", 0, 6)], weights)
    candidates = np.array([[0, 3], [12, 3], [6, 0], [6, 0], [3, 6]])
    case = Case(domain, weights, bf.Policy(domain, {"a": bf.Threshold(2), "b": bf.Threshold(1)}), candidates)
    assert _enumeration.count_crossings(case.policy, candidates)[0] == crossings_by_trying_every_edge(case)


def test_a_proof_of_none_covers_ties():
    """A record midway goes to the lower index, so the edge to its left crosses and the one to its right does not."""
    domain = bf.Domain([bf.Numeric("a", 0, 4)])
    for candidates, crossing in (([[0], [4]], (2, 3)), ([[4], [0]], (1, 2))):
        policies = {(a, a + 1): bf.Policy(domain, {"a": bf.Edges([(a, a + 1)])}) for a in range(4)}
        found = {ends for ends, policy in policies.items() if bf.crossing_edge(policy, np.array(candidates))}
        assert found == {crossing}


def test_blocks_that_match_the_regions_need_no_noise():
    """Two candidates of two classes, blocks within each class: nothing crosses, and the proof says so."""
    domain = bf.Domain([bf.Categorical("job", ["a1", "a2", "b1", "b2"]), bf.Categorical("class", ["a", "b"])])
    policy = bf.Policy(domain, {"job": bf.Complete()})
    candidates = np.array([[0, 0], [0, 1]])
    assert bf.crossing_edge(policy, candidates) is None
    assert bf.exact_sensitivity(policy, bf.HardVote(), candidates).l2 == 0


# The edges of what can be asked


def test_no_edges_and_weightless_edges_move_nothing(path):
    domain = bf.Domain([bf.Numeric("a", 0, 4), bf.Numeric("b", 0, 4)], {"a": 0, "b": 1})
    candidates = np.array([[0, 0], [4, 4]])
    for rules in ({}, {"a": bf.Complete()}, {"b": bf.Threshold(0)}):
        policy = bf.Policy(domain, rules)
        for vote in (bf.SoftVote(0.1), bf.HardVote()):
            exact = bf.exact_sensitivity(policy, vote, candidates)
            assert (exact.l1, exact.l2, exact.edge) == (0.0, 0.0, None)


def test_participation_is_a_floor_of_one_without_a_witness_edge(path):
    domain = bf.Domain([bf.Numeric("a", 0, 100)])
    policy, candidates = bf.Policy(domain, {"a": bf.Threshold(1)}, participation=True), np.array([[0], [100]])
    exact = bf.exact_sensitivity(policy, bf.SoftVote(1.0), candidates)
    assert (exact.l1, exact.l2, exact.edge) == (1.0, 1.0, None)
    above = bf.exact_sensitivity(policy, bf.SoftVote(0.001), np.array([[50], [51]]))
    assert above.l2 == pytest.approx(SQRT2 * tanh(5.0))
    assert above.edge is not None


BIG = bf.Domain([bf.Numeric(f"n{i}", 0, 999) for i in range(8)])  # 10^24 records: lines have no 64-bit number


def test_a_domain_too_large_says_so_with_its_size(path):
    policy, candidates = bf.Policy(BIG, {"n0": bf.Threshold(1)}), np.zeros((3, 8), dtype=int)
    size = re.escape("1,000,000,000,000,000,000,000,000 records, too many to ")
    for ask in (
        lambda: bf.exact_sensitivity(policy, bf.SoftVote(0.1), candidates),
        lambda: bf.exact_sensitivity(policy, bf.HardVote(), candidates),
        lambda: bf.crossing_edge(policy, candidates),
        lambda: _enumeration.count_crossings(policy, candidates),
    ):
        with pytest.raises(DomainTooLargeError, match=size):
            ask()


def test_a_crossing_near_a_candidate_is_found_however_large_the_domain(path):
    candidates = np.zeros((2, 8), dtype=int)
    candidates[1, 0] = 999
    edge = bf.crossing_edge(bf.Policy(BIG, {"n0": bf.Threshold(1)}), candidates)
    assert (edge.attribute, edge.a["n0"], edge.b["n0"]) == ("n0", 499, 500)


def test_too_many_edges_or_values_are_too_large_too():
    wide = bf.Domain([bf.Numeric("x", 0, 100_000), bf.Categorical("y", ["a", "b"])])
    policy = bf.Policy(wide, {"x": bf.Threshold(1000)})
    with pytest.raises(DomainTooLargeError, match="99,500,500 edges"):
        bf.crossing_edge(policy, np.array([[0, 0]]))
    huge = bf.Domain([bf.Numeric("x", 0, 5_000_000)])
    with pytest.raises(DomainTooLargeError, match="5,000,001 values"):
        bf.exact_sensitivity(bf.Policy(huge, {"x": bf.Threshold(1)}), bf.SoftVote(0.1), np.zeros((512, 1), dtype=int))


def test_wrong_questions(adult):
    policy = bf.Policy(adult, {"age": bf.Threshold(7)})
    with pytest.raises(VoteError, match="no candidates"):
        bf.exact_sensitivity(policy, bf.SoftVote(0.1), np.empty((0, 5), dtype=int))
    with pytest.raises(VoteError, match="no candidates"):
        bf.crossing_edge(policy, np.empty((0, 5), dtype=int))
    with pytest.raises(DataError, match="code 74 lies outside"):
        bf.exact_sensitivity(policy, bf.SoftVote(0.1), np.array([[74, 0, 0, 0, 0]]))
    with pytest.raises(VoteError, match="known for HardVote and SoftVote, not <object"):
        bf.exact_sensitivity(policy, object(), np.array([[0, 0, 0, 0, 0]]))


def test_a_witness_reads_as_a_sentence():
    domain = bf.Domain([bf.Numeric("age", 17, 90), bf.Categorical("income", ["low", "high"])])
    edge = bf.crossing_edge(bf.Policy(domain, {"income": bf.Complete()}), np.array([[0, 0], [0, 1]]))
    assert str(edge) == "income low → high, 17"
    assert edge.length == 0.5


def test_a_number_is_no_vote_and_a_mapping_no_policy():
    """0.03 in place of SoftVote(0.03) must not pass for the hard vote."""
    policy = bf.Policy(bf.Domain([bf.Numeric("x", 0, 9)]), {"x": bf.Threshold(1)})
    for wrong in (0.03, "soft", None):
        with pytest.raises(VoteError, match="SoftVote"):
            bf.sensitivity_bound(policy, wrong)
        with pytest.raises(VoteError, match="SoftVote"):
            bf.exact_sensitivity(policy, wrong, np.array([[0]]))
    with pytest.raises(bf.BFSoftError, match="needs a Policy"):
        bf.sensitivity_bound({"x": 1}, bf.SoftVote(0.03))
