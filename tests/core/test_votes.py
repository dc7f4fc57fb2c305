"""Votes: every way to compute a histogram gives the field's definition, ties and extreme temperatures included."""

import re
from fractions import Fraction
from math import tanh

import brute
import numpy as np
import pytest
from cases import Case, cases, codes, temperatures
from hypothesis import given
from hypothesis import strategies as st

import bfsoft as bf
from bfsoft import _kernels
from bfsoft.errors import DataError, VoteError

with_records = cases(most_candidates=9).flatmap(lambda c: st.tuples(st.just(c), codes(c.domain, 1, 30)))


def soft_by_hand(case: Case, rows: np.ndarray, tau: float) -> np.ndarray:
    return np.array([brute.soft(case.distances(row), tau) for row in rows.tolist()])


def nearest_by_hand(case: Case, rows: np.ndarray) -> list[int]:
    return [brute.nearest(case.distances(row)) for row in rows.tolist()]


# The definition


@given(with_records, temperatures)
def test_soft_responses_are_the_softmax_of_gower(given_case, tau):
    case, rows = given_case
    votes = bf.SoftVote(tau).responses(case.domain, rows, case.candidates)
    assert np.allclose(votes, soft_by_hand(case, rows, tau), rtol=1e-9, atol=1e-13)


@given(with_records, temperatures)
def test_soft_histograms_are_the_sum_of_the_votes(path, given_case, tau):
    case, rows = given_case
    histogram = bf.SoftVote(tau).histogram(case.domain, rows, case.candidates)
    assert np.allclose(histogram, soft_by_hand(case, rows, tau).sum(axis=0), rtol=1e-9, atol=1e-11)
    assert histogram.sum() == pytest.approx(len(rows), rel=1e-12)


@given(with_records)
def test_hard_votes_are_the_nearest_candidate_and_the_lowest_of_equals(path, given_case):
    case, rows = given_case
    expected = nearest_by_hand(case, rows)
    histogram = bf.HardVote().histogram(case.domain, rows, case.candidates)
    assert histogram.tolist() == np.bincount(expected, minlength=len(case.candidates)).tolist()
    responses = bf.HardVote().responses(case.domain, rows, case.candidates)
    assert responses.argmax(axis=1).tolist() == expected
    assert np.array_equal(np.sort(responses, axis=1)[:, -1], np.ones(len(rows)))
    assert responses.sum() == len(rows)


@given(with_records, temperatures, st.integers(0, 2**32))
def test_counts_weigh_records(path, given_case, tau, seed):
    case, rows = given_case
    counts = np.random.default_rng(seed).integers(0, 5, len(rows))
    repeated = np.repeat(rows, counts, axis=0)
    for vote in (bf.HardVote(), bf.SoftVote(tau)):
        weighted = vote.histogram(case.domain, rows, case.candidates, counts)
        assert np.allclose(weighted, vote.histogram(case.domain, repeated, case.candidates), rtol=1e-12, atol=1e-12)
        assert weighted.sum() == pytest.approx(counts.sum(), rel=1e-12)


@pytest.mark.parametrize("tau", [1e-5, 1 / 601, 1 / 599, 0.03])
def test_kernels_agree_with_numpy_at_scale(adult, adult_records, tau, request):
    """Thousands of records, 300 candidates, every branch of the kernels; the definition is checked on small cases."""
    draw = np.random.default_rng(5)
    candidates = np.column_stack([draw.integers(0, count, 300) for count in adult.shape])
    candidates[100:120] = candidates[:20]  # repeated candidates tie exactly
    few = bf.Records.of_codes(adult, adult_records.codes[::7], adult_records.counts[::7])
    soft, hard = bf.SoftVote(tau), bf.HardVote()
    fast = soft.histogram(adult, few, candidates), hard.histogram(adult, few, candidates)
    request.getfixturevalue("without_numba")
    assert np.allclose(fast[0], soft.histogram(adult, few, candidates), rtol=1e-9, atol=1e-9)
    assert np.array_equal(fast[1], hard.histogram(adult, few, candidates))


# Ties


TIES = bf.Domain([bf.Numeric("a", 0, 60), bf.Numeric("b", 0, 7), bf.Numeric("c", 0, 11)])


def tied_in(domain: bf.Domain, weights: dict | None, m: int) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Records and candidates with many exact ties, and the nearest by fractions."""
    draw = np.random.default_rng(m)
    candidates = np.column_stack([draw.integers(0, count, m) for count in domain.shape])
    rows = np.column_stack([draw.integers(0, count, 400) for count in domain.shape])
    gower = brute.Gower(domain, weights)
    return rows, candidates, [brute.nearest([gower(r, c) for c in candidates.tolist()]) for r in rows.tolist()]


@pytest.mark.parametrize(
    ("weights", "meant", "width"),
    [
        (None, None, np.int32),
        ({"a": 1 / 6, "b": 2 / 6, "c": 3 / 6}, {"a": 1, "b": 2, "c": 3}, np.int32),
        ({"a": 0.123456789, "b": 0.3, "c": 0.576543211}, None, np.int64),
        ({"a": 0.12345678901234567, "b": 0.30000000000000004, "c": 0.5}, None, None),
    ],
)
def test_exact_ties_go_to_the_lowest_index_in_every_width(path, weights, meant, width):
    """The three paths of the hard kernel: 32-bit keys, 64-bit keys, and Python integers beyond."""
    domain = bf.Domain(TIES.attributes, weights)
    assert _kernels.key_dtype(domain, 24) is width
    rows, candidates, expected = tied_in(domain, meant or weights, 24)
    histogram = bf.HardVote().histogram(domain, rows, candidates)
    assert histogram.tolist() == np.bincount(expected, minlength=24).tolist()


def test_ties_that_floating_point_sums_break_are_ties():
    """0.1 + 0.2 against 0.3: three attributes of ten steps, weights 0.1, 0.2, 0.3, 0.4; floats prefer one of them."""
    domain = bf.Domain([bf.Categorical(name, [0, 1]) for name in "abcd"], {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4})
    record = np.array([[0, 0, 0, 0]])
    both = np.array([[1, 1, 0, 0], [0, 0, 1, 0]])
    assert 0.1 + 0.2 > 0.3, "what the naive sum would say"
    for candidates in (both, both[::-1]):
        assert bf.HardVote().histogram(domain, record, candidates).tolist() == [1, 0]
        assert bf.SoftVote(1e-300).histogram(domain, record, candidates).tolist() == [0.5, 0.5]
        assert bf.SoftVote(1e-17).responses(domain, record, candidates).tolist() == [[0.5, 0.5]]


def test_repeated_candidates_tie(path):
    domain = bf.Domain([bf.Numeric("a", 0, 9)])
    rows, candidates = np.array([[2], [2], [8]]), np.array([[7], [2], [2], [7]])
    assert bf.HardVote().histogram(domain, rows, candidates).tolist() == [1, 2, 0, 0]
    assert bf.SoftVote(1e-6).histogram(domain, rows, candidates).tolist() == [0.5, 1.0, 1.0, 0.5]


# Temperature


@given(with_records, st.sampled_from([1e-6, 1e-12, 1e-300, 5e-324]))
def test_a_vanishing_temperature_votes_for_the_nearest_and_splits_ties_evenly(path, given_case, tau):
    case, rows = given_case
    expected = np.zeros(len(case.candidates))
    for row in rows.tolist():
        distances = case.distances(row)
        winners = [k for k, d in enumerate(distances) if d == min(distances)]
        expected[winners] += 1 / len(winners)
    histogram = bf.SoftVote(tau).histogram(case.domain, rows, case.candidates)
    assert np.allclose(histogram, expected, rtol=1e-12, atol=1e-12)


@given(with_records)
def test_a_large_temperature_votes_evenly(path, given_case):
    case, rows = given_case
    m = len(case.candidates)
    for tau in (1e9, 1e308):
        histogram = bf.SoftVote(tau).histogram(case.domain, rows, case.candidates)
        assert np.allclose(histogram, len(rows) / m, rtol=1e-6)


@given(with_records, temperatures)
def test_any_two_records_move_the_vote_by_at_most_the_bound_at_their_distance(given_case, tau):
    """THEORY, "Privacy": neighbours or not, L2 ≤ √2 tanh(d/2τ) and L1 ≤ 2 tanh(d/2τ)."""
    case, rows = given_case
    votes = bf.SoftVote(tau).responses(case.domain, rows, case.candidates)
    for first, vote in zip(rows.tolist(), votes, strict=True):
        for second, other in zip(rows.tolist(), votes, strict=True):
            most = tanh(min(float(case.gower(first, second) / Fraction(tau)), 1e3) / 2)
            l1, l2 = brute.norms(vote.tolist(), other.tolist())
            assert l1 <= 2 * most + 1e-12
            assert l2 <= 2**0.5 * most + 1e-12


@pytest.mark.parametrize("tau", [0, -0.1, float("nan"), float("inf"), "0.03", None, True, 1j])
def test_a_temperature_must_be_a_finite_number_above_zero(tau):
    with pytest.raises(VoteError, match="temperature τ must be a finite number above 0"):
        bf.SoftVote(tau)


def test_any_real_number_is_a_temperature():
    domain, row, candidates = bf.Domain([bf.Numeric("a", 0, 9)]), np.array([[1]]), np.array([[1], [5]])
    expected = bf.SoftVote(0.25).histogram(domain, row, candidates)
    for tau in (Fraction(1, 4), np.float64(0.25), np.float32(0.25)):
        assert bf.SoftVote(tau).histogram(domain, row, candidates).tolist() == expected.tolist()


# Threads, shapes, errors


@pytest.mark.parametrize("vote", [bf.HardVote(), bf.SoftVote(0.03), bf.SoftVote(1e-4)], ids=str)
def test_one_thread_or_many_give_the_same_bits(adult, adult_records, on_threads, vote):
    draw = np.random.default_rng(2)
    candidates = np.column_stack([draw.integers(0, count, 100) for count in adult.shape])
    histograms = []
    for count in (1, 2, 3, 7, 64):
        on_threads(count)
        histograms.append(vote.histogram(adult, adult_records, candidates).tobytes())
    assert len(set(histograms)) == 1


def test_threads_follow_the_environment(on_threads):
    on_threads(5)
    assert _kernels.threads() == 5
    for nonsense in ("0", "-1", "many", ""):
        on_threads(nonsense)
        assert _kernels.threads() >= 1


@pytest.mark.parametrize("vote", [bf.HardVote(), bf.SoftVote(0.1), bf.SoftVote(1e-5)], ids=str)
def test_small_shapes(path, vote):
    one = bf.Domain([bf.Numeric("a", 0, 9)])
    assert vote.histogram(one, np.array([[4]]), np.array([[9]])).tolist() == [1]
    assert vote.histogram(one, np.empty((0, 1), dtype=int), np.array([[9], [3]])).tolist() == [0, 0]
    assert vote.responses(one, np.empty((0, 1), dtype=int), np.array([[9], [3]])).shape == (0, 2)
    assert vote.histogram(one, np.array([[4]]), np.array([[9]]), np.array([0])).tolist() == [0]
    constant = bf.Domain([bf.Categorical("c", ["only"]), bf.Numeric("n", 3, 3)])
    histogram = vote.histogram(constant, np.zeros((5, 2), dtype=int), np.zeros((2, 2), dtype=int))
    assert histogram.tolist() == ([5, 0] if isinstance(vote, bf.HardVote) else [2.5, 2.5])


def test_records_may_come_in_any_order_and_whole_number_type(path):
    domain = bf.Domain([bf.Numeric("a", 0, 9), bf.Categorical("b", ["x", "y"])])
    rows = np.array([[3, 1], [0, 0], [9, 1], [3, 1]])
    candidates = np.array([[2, 1], [8, 0]])
    expected = bf.SoftVote(0.1).histogram(domain, rows, candidates)
    for dtype in (np.int8, np.uint8, np.uint64, np.int32):
        shuffled = np.asfortranarray(rows[[2, 0, 3, 1]].astype(dtype))
        assert np.allclose(bf.SoftVote(0.1).histogram(domain, shuffled, candidates.astype(dtype)), expected, rtol=1e-14)


@pytest.mark.parametrize("vote", [bf.HardVote(), bf.SoftVote(0.1)], ids=str)
def test_votes_refuse_what_they_cannot_count(vote):
    domain = bf.Domain([bf.Numeric("a", 0, 9)])
    rows, candidates = np.array([[4]]), np.array([[9]])
    with pytest.raises(VoteError, match="there are no candidates"):
        vote.histogram(domain, rows, np.empty((0, 1), dtype=int))
    with pytest.raises(DataError, match=re.escape("candidates: row 0, column 'a': code 10 lies outside 0 to 9")):
        vote.histogram(domain, rows, np.array([[10]]))
    with pytest.raises(DataError, match="records must be whole numbers"):
        vote.responses(domain, rows.astype(float), candidates)
    with pytest.raises(VoteError, match="carry their own counts"):
        vote.histogram(domain, bf.Records.of_codes(domain, rows), candidates, np.array([1]))
