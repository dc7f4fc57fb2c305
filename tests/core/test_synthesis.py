"""Synthesis: each step of the loop does what THEORY, "Synthesis", says, and the loop is repeatable and stoppable."""

from collections import Counter
from math import sqrt, tanh

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import bfsoft as bf
from bfsoft.errors import DataError, DomainTooLargeError, SynthesisError
from bfsoft.privacy import generator
from bfsoft.synthesis import mutate, random_candidates, resample

DOMAIN = bf.Domain(
    [
        bf.Numeric("age", 17, 90),
        bf.Hierarchical("job", {"office": ["admin", "manager", "clerk"], "manual": ["driver", "welder"]}),
        bf.Categorical("income", ["low", "high"]),
    ]
)
POLICY = bf.Policy(DOMAIN, {"age": bf.Threshold(7)})
ROWS = np.column_stack([np.random.default_rng(0).integers(0, count, 3000) for count in DOMAIN.shape])
ROWS[:2000, 0] = np.minimum(ROWS[:2000, 0], 20)
RECORDS = bf.Records.of_codes(DOMAIN, ROWS)
METHODS = [bf.tab_pe(), bf.hard(), bf.bf_soft(0.03)]


def run(method=None, rho=0.1, **settings):
    settings = {"size": 60, "rounds": 4, "seed": 5} | settings
    return bf.synthesize(RECORDS, POLICY, method or bf.bf_soft(0.03), bf.Budget(rho=rho), **settings)


def trace(done: bf.Run) -> bytes:
    return b"".join(a.tobytes() for r in done.rounds for a in (r.candidates, r.votes, r.noisy_votes, r.selected))


# Repeatable, paired, observable, stoppable


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_the_same_seed_gives_the_same_run_on_one_thread_or_many(method, on_threads):
    traces = []
    for count in (1, 2, 4):
        on_threads(count)
        traces.append(trace(run(method)))
    assert len(set(traces)) == 1
    assert trace(run(method, seed=6)) != traces[0]


@pytest.mark.parametrize("calibration", ["policy", "standard", "exact"])
def test_every_calibration_is_repeatable_on_any_number_of_threads(calibration, on_threads):
    runs = []
    for count in (1, 3):
        on_threads(count)
        runs.append(trace(run(bf.Method("m", bf.SoftVote(0.03), calibration))))
    assert runs[0] == runs[1]


def test_the_kernels_and_numpy_make_the_same_run(request):
    fast = run()
    request.getfixturevalue("without_numba")
    plain = run()
    for a, b in zip(fast.rounds, plain.rounds, strict=True):
        assert np.allclose(a.noisy_votes, b.noisy_votes, rtol=1e-9)
    assert np.array_equal(fast.codes, plain.codes)


def test_methods_of_one_seed_share_their_start_and_their_standard_normals():
    runs = [run(method) for method in METHODS]
    firsts = [each.rounds[0] for each in runs]
    assert np.array_equal(firsts[0].candidates, firsts[1].candidates)
    assert np.array_equal(firsts[0].candidates, firsts[2].candidates)
    for number in range(4):
        normals = [(r.noisy_votes - r.votes) / r.sigma for r in (each.rounds[number] for each in runs)]
        assert np.allclose(normals[0], normals[1], atol=1e-9)
        assert np.allclose(normals[0], normals[2], atol=1e-9)


def test_methods_differ_in_vote_and_calibration_alone():
    """Tab-PE and Hard cast the same votes on the same candidates, and with a crossing edge carry the same noise."""
    tab_pe, hard, soft = (run(method).rounds[0] for method in METHODS)
    assert np.array_equal(tab_pe.votes, hard.votes)
    assert tab_pe.sigma == hard.sigma == pytest.approx(sqrt(2) / sqrt(2 * 0.1 / 4))
    assert soft.sigma / hard.sigma == pytest.approx(tanh(7 / 73 / 3 / 0.06))
    assert not np.allclose(soft.votes, hard.votes)


def test_each_round_votes_on_the_mutated_selection_of_the_round_before():
    done = run()
    for before, after in zip(done.rounds, done.rounds[1:], strict=False):
        assert np.array_equal(after.votes, bf.SoftVote(0.03).histogram(DOMAIN, RECORDS, after.candidates))
        rate = bf.Schedule().rate(before.number, 4)
        assert np.abs(after.candidates[:, 0] - before.selected[:, 0]).max() <= rate * 73 + 0.5
    assert np.array_equal(done.codes, done.rounds[-1].selected)
    listed = {tuple(row) for row in done.rounds[-1].candidates.tolist()}
    assert {tuple(row) for row in done.codes.tolist()} <= listed, "the last round is not mutated"
    assert DOMAIN.encode(done.records).tolist() == done.codes.tolist()


def test_votes_sum_to_the_number_of_records_in_every_round():
    for method in METHODS:
        assert [r.votes.sum() for r in run(method).rounds] == pytest.approx([3000] * 4)


def test_a_run_stops_between_rounds_with_what_it_has():
    seen = []

    def watch(each):
        seen.append(each.number)
        return each.number < 2

    stopped, whole = run(on_round=watch), run()
    assert seen == [1, 2]
    assert (len(stopped.rounds), stopped.planned, stopped.completed) == (2, 4, False)
    assert np.array_equal(stopped.codes, whole.rounds[1].selected)
    assert stopped.spent == pytest.approx(0.05)
    assert whole.completed
    assert whole.spent == pytest.approx(0.1)
    assert run(on_round=lambda each: None).completed


def test_evolve_is_lazy_and_may_be_left_at_any_round():
    rounds = bf.evolve(RECORDS, POLICY, bf.SoftVote(0.03), bf.Budget(rho=0.1), size=60, rounds=4, seed=5)
    first = next(rounds)
    rounds.close()
    assert trace_of(first) == trace_of(run().rounds[0])


def trace_of(each: bf.Round) -> bytes:
    return each.candidates.tobytes() + each.noisy_votes.tobytes()


def test_a_frame_and_its_records_give_the_same_run():
    frame = DOMAIN.decode(ROWS)
    done = bf.synthesize(frame, POLICY, bf.SoftVote(0.03), bf.Budget(rho=0.1), size=60, rounds=4, seed=5)
    assert trace(done) == trace(run())
    counted = bf.synthesize(RECORDS.frame(), POLICY, bf.SoftVote(0.03), bf.Budget(rho=0.1), size=60, rounds=4, seed=5)
    assert trace(counted) == trace(run())


def test_a_release_shows_no_exact_votes():
    done = run(noise=bf.ReleaseNoise())
    assert all(each.votes is None for each in done.rounds)
    assert all(len(each.noisy_votes) == 60 for each in done.rounds)
    assert trace_of(done.rounds[0]) != trace_of(run(noise=bf.ReleaseNoise()).rounds[0])


# The budget


def test_shares_of_the_budget_set_each_rounds_noise():
    done = run(shares=[1, 1, 2, 4])
    assert [r.rho for r in done.rounds] == pytest.approx([0.0125, 0.0125, 0.025, 0.05])
    assert done.sigma == pytest.approx(done.sensitivity / np.sqrt(2 * np.array([0.0125, 0.0125, 0.025, 0.05])))


def test_without_a_crossing_edge_hard_adds_no_noise():
    """Only X is protected, and it has no weight: nothing can cross, and the noisy votes are the votes."""
    domain = bf.Domain([bf.Numeric("x", 0, 9), bf.Numeric("y", 0, 9)], {"x": 0, "y": 1})
    rows = np.column_stack([np.arange(10), np.arange(10)])
    policy = bf.Policy(domain, {"x": bf.Complete()})
    done = bf.synthesize(domain.decode(rows), policy, bf.hard(), bf.Budget(rho=0.1), size=10, rounds=2)
    assert done.sigma.tolist() == [0, 0]
    assert all(np.array_equal(r.votes, r.noisy_votes) for r in done.rounds)
    standard = bf.synthesize(domain.decode(rows), policy, bf.tab_pe(), bf.Budget(rho=0.1), size=10, rounds=2)
    assert standard.sensitivity == pytest.approx([sqrt(2)] * 2)


def test_exact_calibration_never_adds_more_noise_than_the_bound():
    exact, bound = run(bf.Method("exact", bf.SoftVote(0.03), "exact")), run()
    assert (exact.sensitivity <= bound.sensitivity * (1 + 1e-12)).all()
    assert (exact.sensitivity > 0).all()
    assert bound.sensitivity == pytest.approx([sqrt(2) * tanh(7 / 73 / 3 / 0.06)] * 4)


def test_a_domain_too_large_to_search_is_calibrated_to_the_full_hard_vote():
    """More noise, never less: eight thousand-valued attributes cannot be proven free of crossings."""
    domain = bf.Domain([bf.Numeric(f"n{i}", 0, 999) for i in range(8)])
    data = bf.Records.of_codes(domain, np.random.default_rng(0).integers(0, 1000, (20, 8)))
    policy = bf.Policy(domain, {"n0": bf.Threshold(1)})
    done = bf.synthesize(data, policy, bf.hard(), bf.Budget(rho=0.1), size=12, rounds=2)
    assert done.sensitivity == pytest.approx([sqrt(2)] * 2)
    wide = bf.Domain([bf.Numeric("x", 0, 100_000)])
    crowded = bf.Policy(wide, {"x": bf.Threshold(1000)})
    done = bf.synthesize(bf.Records.of_codes(wide, np.array([[5]])), crowded, bf.hard(), bf.Budget(rho=0.1), size=3)
    assert done.sensitivity == pytest.approx([sqrt(2)] * 8)
    with pytest.raises(DomainTooLargeError):
        bf.synthesize(data, policy, bf.Method("exact", bf.SoftVote(0.1), "exact"), bf.Budget(rho=0.1), size=12)


def test_a_calibration_may_be_a_function():
    def twice(policy, vote, candidates):
        bound = bf.sensitivity_bound(policy, vote)
        return bf.Sensitivity(2 * bound.l1, 2 * bound.l2, 2 * bound.ratio)

    assert run(bf.SoftVote(0.03), calibration=twice).sigma == pytest.approx(2 * run().sigma)


# Resampling


weights = st.lists(st.just(0.0) | st.floats(1e-3, 1e6), min_size=1, max_size=40).map(np.array)


@given(weights, st.integers(0, 2**32))
def test_systematic_resampling_rounds_each_expected_count_up_or_down(given_weights, seed):
    m = len(given_weights)
    counts = np.bincount(resample(given_weights, "systematic", np.random.default_rng(seed)), minlength=m)
    even = given_weights if given_weights.any() else np.ones(m)
    expected = m * even / even.sum()
    assert counts.sum() == m
    assert (counts >= np.floor(expected - 1e-9)).all()
    assert (counts <= np.ceil(expected + 1e-9)).all()


@given(weights, st.integers(0, 2**32), st.sampled_from(["systematic", "multinomial"]))
def test_a_candidate_without_votes_is_never_chosen(given_weights, seed, how):
    chosen = resample(given_weights, how, np.random.default_rng(seed))
    assert len(chosen) == len(given_weights)
    if given_weights.any():
        assert (given_weights[chosen] > 0).all()


class Lowest:
    """A source of draws that only ever gives the least of them, 0."""

    def random(self, size=None):
        return 0.0 if size is None else np.zeros(size)


def test_a_draw_that_falls_on_a_bound_belongs_to_the_candidate_above_it():
    """Cumulative 0, 2, 2, 4 and quantiles 0, 1, 2, 3: the first and third candidate have no votes and no quantile."""
    votes = np.array([0.0, 2.0, 0.0, 2.0])
    assert resample(votes, "systematic", Lowest()).tolist() == [1, 1, 3, 3]
    assert resample(votes, "multinomial", Lowest()).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("how", ["systematic", "multinomial"])
def test_resampling_is_in_proportion(how):
    """Pooled over 4,000 draws of five: shares 0, 1/2, 1/4, 1/8, 1/8; the limit is beyond chance, not a bug."""
    shares = np.array([0, 4, 2, 1, 1.0])
    draw = np.random.default_rng(1)
    counts = sum(np.bincount(resample(shares, how, draw), minlength=5) for _ in range(4000))
    assert counts[0] == 0
    expected = 20_000 * shares[1:] / 8
    assert np.abs(counts[1:] - expected).max() < 6 * np.sqrt(expected.max())
    if how == "multinomial":
        assert chisquare(counts[1:], expected).pvalue > 1e-6


def test_systematic_counts_vary_less_than_multinomial_ones():
    shares, draw = np.arange(1.0, 41), np.random.default_rng(1)
    spread = {
        how: np.var([np.bincount(resample(shares, how, draw), minlength=40) for _ in range(300)], axis=0).sum()
        for how in ("systematic", "multinomial")
    }
    assert spread["systematic"] < spread["multinomial"] / 3


def test_without_any_votes_every_candidate_is_as_good():
    assert sorted(resample(np.zeros(7), "systematic", np.random.default_rng(0))) == list(range(7))
    assert len(set(resample(np.zeros(70), "multinomial", np.random.default_rng(0)))) > 20


def test_votes_that_the_threshold_eats_whole_leave_an_even_draw():
    """H beyond every noisy vote: all are 0 after clipping, and each candidate is kept once (systematic)."""
    done = run(threshold=1e9)
    for each in done.rounds:
        assert np.array_equal(np.sort(each.selected, axis=0), np.sort(each.candidates, axis=0))


def test_the_threshold_is_subtracted_before_the_draw():
    """With almost no noise, candidates with fewer than H votes vanish and the others keep votes less H."""
    done = run(bf.hard(), rho=1e9, threshold=40.0, rounds=1)
    only = done.rounds[0]
    survivors = {tuple(row) for row in only.candidates[only.noisy_votes > 40].tolist()}
    assert {tuple(row) for row in only.selected.tolist()} <= survivors
    left = np.maximum(only.noisy_votes - 40, 0)
    chosen, grouped = Counter(map(tuple, only.selected.tolist())), Counter()
    for row, weight in zip(only.candidates.tolist(), left, strict=True):
        grouped[tuple(row)] += 60 * weight / left.sum()
    repeats = Counter(map(tuple, only.candidates.tolist()))
    assert all(abs(chosen[row] - expected) <= repeats[row] for row, expected in grouped.items())


# Mutation


CODES = np.tile([[36, 0, 0]], (20_000, 1))


def test_a_numeric_step_is_uniform_within_rate_times_range():
    """± 0.1 × 73 steps about the middle: −7..7, each as likely but the ends (0.3 + 0.5 of a step is cut to 0.8)."""
    steps = mutate(DOMAIN, CODES, 0.1, "uniform", np.random.default_rng(0))[:, 0] - 36
    assert (steps.min(), steps.max()) == (-7, 7)
    expected = np.full(15, 1.0)
    expected[[0, -1]] = 7.3 - 6.5
    counts = np.bincount(steps + 7)
    assert chisquare(counts, expected / expected.sum() * len(steps)).pvalue > 1e-6


def test_numeric_steps_stop_at_the_bounds():
    for code in (0, 73):
        moved = mutate(DOMAIN, np.tile([[code, 0, 0]], (2000, 1)), 0.5, "uniform", np.random.default_rng(0))[:, 0]
        assert (moved.min(), moved.max()) == ((0, 36) if code == 0 else (37, 73))
        assert 0.4 < (moved == code).mean() < 0.6, "half of the steps lead outside"


@pytest.mark.parametrize("rate", [0.0, 0.2, 1.0])
def test_categories_are_redrawn_evenly_with_probability_rate(rate):
    """A redraw may give the old value back: P(other) = rate (1 − 1/v), for two and for five values."""
    mutated = mutate(DOMAIN, CODES, rate, "uniform", np.random.default_rng(0))
    for position, values in ((1, 5), (2, 2)):
        counts = np.bincount(mutated[:, position], minlength=values)
        expected = np.full(values, rate / values)
        expected[0] += 1 - rate
        assert np.abs(counts / len(CODES) - expected).max() < 0.02
        if rate == 0:
            assert counts[0] == len(CODES)


def test_near_mutation_prefers_siblings_and_never_redraws_the_same():
    """Odds 2^−steps: from admin, siblings at 2 steps weigh 1/4 each and the two manual leaves at 4 weigh 1/16 each."""
    mutated = mutate(DOMAIN, CODES, 1.0, "near", np.random.default_rng(0))[:, 1]
    shares = np.bincount(mutated, minlength=5) / len(CODES)
    odds = np.array([0, 4, 4, 1, 1]) / 10
    assert shares[0] == 0
    assert np.abs(shares - odds).max() < 0.02
    income = mutate(DOMAIN, CODES, 1.0, "near", np.random.default_rng(0))[:, 2]
    assert 0.45 < income.mean() < 0.55, "flat categories are redrawn evenly all the same"


def test_mutation_leaves_its_input_alone_and_stays_in_the_domain():
    before = CODES.copy()
    for how in ("uniform", "near"):
        DOMAIN.check_codes(mutate(DOMAIN, CODES, 1.0, how, np.random.default_rng(0)))
    assert np.array_equal(CODES, before)


def test_the_rate_falls_from_half_to_a_hundredth():
    """init − (init − final)·(t/T)^0.2 (THEORY): at the end exactly final; at t/T = 1/32, (1/32)^0.2 = 1/2."""
    schedule = bf.Schedule()
    assert schedule.rate(0, 8) == 0.5
    assert schedule.rate(8, 8) == pytest.approx(0.01)
    assert schedule.rate(1, 32) == pytest.approx(0.5 - 0.49 / 2)
    assert bf.Schedule(0.3, 0.3).rate(3, 8) == 0.3


def test_the_first_candidates_are_uniform():
    drawn = random_candidates(DOMAIN, 20_000, 3)
    for position, values in enumerate(DOMAIN.shape):
        assert chisquare(np.bincount(drawn[:, position], minlength=values)).pvalue > 1e-6


# The corners


TINY = bf.Domain([bf.Categorical("c", ["x", "y"])])
CONSTANT = bf.Domain([bf.Categorical("c", ["only"]), bf.Numeric("n", 3, 3), bf.Hierarchical("h", ["leaf"])])


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
@pytest.mark.parametrize("mutation", ["uniform", "near"])
@pytest.mark.parametrize(
    ("domain", "n", "size"),
    [(TINY, 1, 1), (TINY, 1, 50), (TINY, 7, 1), (CONSTANT, 4, 3), (CONSTANT, 1, 1), (DOMAIN, 1, 1)],
    ids=["n1-m1", "m-beyond-domain", "m1", "one-value", "one-value-n1-m1", "d3-n1-m1"],
)
def test_corners_are_defined(method, mutation, domain, n, size):
    policy = bf.Policy(domain, {"c": bf.Complete()} if domain is TINY else {})
    data = bf.Records.of_codes(domain, np.zeros((n, len(domain.names)), dtype=int))
    done = bf.synthesize(data, policy, method, bf.Budget(rho=0.1), size=size, rounds=3, mutation=mutation)
    assert len(done.records) == size
    assert done.completed
    assert all(np.isfinite(r.noisy_votes).all() for r in done.rounds)
    assert domain.encode(done.records).shape == (size, len(domain.names))


def test_with_a_huge_budget_the_data_come_through():
    """Almost no noise and one-attribute data: the synthetic share of each value approaches the true share."""
    domain = bf.Domain([bf.Numeric("n", 0, 9)])
    rows = np.repeat(np.arange(10), [0, 0, 50, 0, 25, 0, 0, 25, 0, 0])[:, None]
    data = bf.Records.of_codes(domain, rows)
    policy = bf.Policy(domain, {"n": bf.Threshold(1)})
    done = bf.synthesize(data, policy, bf.hard(), bf.Budget(rho=1e9), size=200, rounds=6)
    counts = np.bincount(done.codes[:, 0], minlength=10)
    assert counts.tolist() == [0, 0, 100, 0, 50, 0, 0, 50, 0, 0]


# Errors, raised at once


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"size": 0}, "size must be a whole number of at least 1, got 0"),
        ({"size": 2.5}, "size must be a whole number"),
        ({"size": True}, "size must be a whole number"),
        ({"rounds": 0}, "rounds must be a whole number of at least 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"threshold": -1}, "threshold H must be a finite number of at least 0"),
        ({"threshold": float("nan")}, "threshold H must be a finite number"),
        ({"threshold": float("inf")}, "threshold H must be a finite number"),
        ({"resampling": "random"}, "resampling must be 'systematic' or 'multinomial', got 'random'"),
        ({"mutation": "far"}, "mutation must be 'uniform' or 'near', got 'far'"),
        ({"calibration": "none"}, "no calibration 'none'; use one of standard, policy, exact"),
        ({"shares": [1, 2]}, "2 shares for 8 rounds"),
    ],
)
def test_impossible_settings_are_refused_before_the_first_round(settings, says):
    with pytest.raises(bf.BFSoftError, match=says):
        bf.evolve(RECORDS, POLICY, bf.SoftVote(0.03), bf.Budget(rho=0.1), **settings)


def test_data_that_do_not_fit_are_refused_before_the_first_round():
    with pytest.raises(DataError, match="row 0, column 'age': 5 lies outside"):
        bf.evolve(
            pd.DataFrame({"age": [5], "job": ["admin"], "income": ["low"]}), POLICY, bf.HardVote(), bf.Budget(rho=1)
        )
    with pytest.raises(SynthesisError, match="no records"):
        bf.evolve(DOMAIN.decode(np.empty((0, 3), dtype=int)), POLICY, bf.HardVote(), bf.Budget(rho=1))


@pytest.mark.parametrize(("first", "last", "power"), [(1.5, 0.1, 1), (0.5, -0.1, 1), (0.5, 0.1, 0), (0.5, 0.1, np.inf)])
def test_impossible_schedules(first, last, power):
    with pytest.raises(SynthesisError):
        bf.Schedule(first, last, power)


def test_numpy_whole_numbers_are_whole_numbers():
    done = run(size=np.int64(60), rounds=np.int32(4), seed=np.uint8(5))
    assert trace(done) == trace(run())


def test_a_generator_of_its_own_for_each_purpose():
    assert generator(1, "noise", 2).random() == generator(1, "noise", 2).random()
    assert generator(1, "noise", 2).random() != generator(1, "mutate", 2).random()


def test_arguments_of_another_kind_are_named():
    policy = bf.Policy(bf.Domain([bf.Numeric("x", 0, 9)]), {"x": bf.Threshold(1)})
    frame = pd.DataFrame({"x": [1, 2]})
    with pytest.raises(SynthesisError, match=r"Budget as its budget, got 0\.001"):
        bf.synthesize(frame, policy, bf.HardVote(), 1e-3)
    with pytest.raises(SynthesisError, match="Policy as its policy"):
        bf.synthesize(frame, {"x": 1}, bf.HardVote(), bf.Budget(rho=1.0))
    with pytest.raises(SynthesisError, match=r"SoftVote\(tau=0.03\), got 0.03"):
        bf.synthesize(frame, policy, 0.03, bf.Budget(rho=1.0))
