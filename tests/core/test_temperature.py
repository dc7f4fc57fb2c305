"""What τ buys and costs: the curves against the paper's numbers, the profile of votes against loops, and inverses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bfsoft as bf
from bfsoft.errors import BudgetError, VoteError
from bfsoft.privacy import attacker_success, noise_scale
from bfsoft.sensitivity import SQRT2, sensitivity_bound, shift_ratio
from bfsoft.synthesis import random_candidates
from bfsoft.temperature import (
    FLOOR,
    ceiling,
    drowning,
    matched_curves,
    matched_tau,
    noise_curves,
    round_noise,
    signal,
    temperatures,
    vote_profile,
)

TEAM = bf.Domain(
    [
        bf.Numeric("age", 20, 29),
        bf.Categorical("site", ["north", "south", "west"]),
        bf.Categorical("on", ["no", "yes"]),
    ],
    {"age": 0.5, "site": 0.3, "on": 0.2},
)
AGE = bf.Policy(TEAM, {"age": bf.Threshold(2), "on": bf.Complete()})


def team(n: int = 60, seed: int = 1) -> bf.Records:
    return bf.Records.of_codes(TEAM, random_candidates(TEAM, n, seed))


# --- noise -------------------------------------------------------------------------------------------------------


def test_the_curves_pass_through_the_papers_numbers_on_adult():
    scenario = bf.load_scenario("adult")
    curves = noise_curves(scenario.policy, scenario.budget, taus=[0.015, 0.03, 0.06])
    record = curves[curves["kind"] == "record"]
    assert [round(ratio, 4) for ratio in record["ratio"]] == [0.5644, 0.3092, 0.1585]  # THEORY, "Numbers to reproduce"
    assert round(record["factor"].iloc[1], 3) == 10.461
    assert round(record["l2"].iloc[1], 5) == 0.43724


@pytest.mark.parametrize("participation", [False, True])
def test_each_curve_is_the_bound_of_the_policy_it_stands_for(participation):
    policy = bf.Policy(TEAM, AGE.rules, participation)
    budget, shares = bf.Budget(rho=0.02), (1.0, 2.0, 5.0)
    curves = noise_curves(policy, budget, 3, shares, taus=[0.004, 0.05, 0.7])
    stands_for = {
        ("record", "record"): policy,
        ("attribute", "age"): bf.Policy(TEAM, {"age": bf.Threshold(2)}, participation),
        ("attribute", "on"): bf.Policy(TEAM, {"on": bf.Complete()}, participation),
        ("ceiling", "site"): bf.Policy(TEAM, {"site": bf.Edges([("north", "west")])}, participation),
    }
    assert {*zip(curves["kind"], curves["name"], strict=True)} == {*stands_for, ("floor", "participation")}
    for (kind, name), meant in stands_for.items():
        for row in curves[(curves["kind"] == kind) & (curves["name"] == name)].itertuples():
            bound = sensitivity_bound(meant, bf.SoftVote(row.tau))
            assert row.ratio == pytest.approx(bound.ratio, abs=1e-14)
            assert row.factor == pytest.approx((SQRT2 / bound.l2) ** 2, rel=1e-12)
            assert row.sigma_least == pytest.approx(noise_scale(bound.l2, 0.02 * 5 / 8), rel=1e-12)
            assert row.sigma_most == pytest.approx(noise_scale(bound.l2, 0.02 / 8), rel=1e-12)


def test_participation_never_lets_the_ratio_below_its_floor():
    policy = bf.Policy(TEAM, {"age": bf.Threshold(1)}, participation=True)
    curves = noise_curves(policy, bf.Budget(rho=1e-3))
    assert curves["ratio"].min() == pytest.approx(FLOOR) == pytest.approx(math.sqrt(0.5))
    free = noise_curves(bf.Policy(TEAM, {"age": bf.Threshold(1)}), bf.Budget(rho=1e-3))
    assert free[free["kind"] == "record"]["ratio"].min() < 0.05


def test_no_edge_of_a_flat_categorical_attribute_reaches_beyond_the_ceiling():
    top = ceiling(TEAM)
    assert (top.attribute, top.reach) == ("site", 0.3)
    for name in ("site", "on"):
        assert bf.Policy(TEAM, {name: bf.Complete()}).reach <= top.reach
    assert ceiling(bf.Domain([bf.Numeric("age", 17, 90)])) is None
    assert ceiling(bf.Domain([bf.Numeric("label", 0, 1), bf.Numeric("x", 0, 7)])).attribute == "label"


def test_a_policy_without_edges_needs_no_noise():
    curves = noise_curves(bf.Policy(TEAM, {}), bf.Budget(rho=1e-3))
    record = curves[curves["kind"] == "record"]
    assert (record["sigma_most"] == 0).all()
    assert np.isinf(record["factor"]).all()
    assert not (curves["kind"] == "attribute").any()


def test_round_noise_spends_the_budget_and_answers_to_it():
    rounds = round_noise(AGE, 0.05, bf.Budget(rho=0.01), 4, (1, 2, 3, 4))
    assert math.fsum(rounds["rho"]) == pytest.approx(0.01, rel=1e-12)
    assert rounds["share"].tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4])
    # zCDP of a Gaussian release is Δ²/2σ² (Bun and Steinke 2016): the rounds' noise must give back what they spent
    for column, l2 in (("sigma_soft", SQRT2 * math.tanh(0.2 / 0.1)), ("sigma_hard", SQRT2)):
        assert (l2**2 / (2 * rounds[column] ** 2)).tolist() == pytest.approx(rounds["rho"].tolist(), rel=1e-12)


# --- the signal --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tau", [0.01, 0.08, 0.6])
def test_the_profile_is_what_loops_over_records_find(tau):
    records, candidates = team(), random_candidates(TEAM, 7, 5)
    row = vote_profile(records, candidates, [tau]).iloc[0]
    entropies, tops, soft, hard = [], [], np.zeros(7), np.zeros(7)
    for record in records.expand():
        distances = [
            0.5 * abs(record[0] - c[0]) / 9 + 0.3 * (record[1] != c[1]) + 0.2 * (record[2] != c[2]) for c in candidates
        ]
        odds = [math.exp(-distance / tau) for distance in distances]
        vote = [odd / sum(odds) for odd in odds]
        entropies.append(-sum(share * math.log2(share) for share in vote if share))
        tops.append(max(vote))
        soft += vote
        hard[min(range(7), key=lambda k: (round(distances[k], 12), k))] += 1
    assert row["entropy"] == pytest.approx(np.mean(entropies), rel=1e-9)
    assert row["evenness"] == pytest.approx(np.mean(entropies) / math.log2(7), rel=1e-9)
    assert row["top_share"] == pytest.approx(np.mean(tops), rel=1e-9)
    assert row["entropy_error"] == row["top_error"] == 0
    assert row["contrast_soft"] == pytest.approx(np.std(soft), rel=1e-9)
    assert row["contrast_hard"] == pytest.approx(np.std(hard), rel=1e-9)
    assert row["smoothing"] == pytest.approx(np.linalg.norm(soft - hard) / math.sqrt(7), rel=1e-9)
    assert row["moved"] == pytest.approx(np.abs(soft - hard).sum() / 120, rel=1e-9)
    assert (row["n"], row["m"]) == (60, 7)


def test_a_cold_vote_is_the_hard_one_and_a_hot_one_says_nothing():
    records = team()
    apart = np.array([[0, 0, 0], [3, 1, 1], [9, 2, 0]])  # no record of the domain lies equally near to two of them
    cold, hot = vote_profile(records, apart, [1e-9, 1e6]).itertuples()
    assert cold.entropy == 0
    assert cold.top_share == 1
    assert cold.smoothing == 0
    assert hot.entropy == pytest.approx(math.log2(3), abs=1e-9)
    assert hot.top_share == pytest.approx(1 / 3, abs=1e-6)
    assert hot.contrast_soft == pytest.approx(0, abs=1e-3)
    assert hot.smoothing == pytest.approx(hot.contrast_hard, rel=1e-4)


def test_a_sample_of_records_brackets_the_mean_over_all():
    records, candidates = team(4_000, 3), random_candidates(TEAM, 20, 0)
    whole = vote_profile(records, candidates, [0.05], sample=10_000).iloc[0]
    inside = 0
    for seed in range(20):
        part = vote_profile(records, candidates, [0.05], sample=40, seed=seed).iloc[0]
        inside += abs(part["top_share"] - whole["top_share"]) <= part["top_error"]
        assert part["smoothing"] == whole["smoothing"]  # histograms are never sampled
    assert inside >= 16  # of 95 % intervals, 16 or fewer out of 20 would cover with probability under 0.02


def test_the_profile_of_one_candidate_and_of_an_empty_table():
    row = vote_profile(team(), np.array([[1, 1, 1]]), [0.03]).iloc[0]
    assert (row["entropy"], row["top_share"], row["smoothing"]) == (0, 1, 0)
    with pytest.raises(VoteError, match="no records"):
        vote_profile(bf.Records.of_codes(TEAM, np.empty((0, 3), dtype=int)), np.array([[1, 1, 1]]), [0.03])


def test_the_error_is_what_noise_in_fact_does():
    records, candidates, tau, rho = team(), random_candidates(TEAM, 30, 5), 0.05, 0.5
    row = signal(vote_profile(records, candidates, [tau]), AGE, rho).iloc[0]
    soft = bf.SoftVote(tau).histogram(TEAM, records, candidates)
    hard = bf.HardVote().histogram(TEAM, records, candidates)
    draw = np.random.default_rng(0)
    missed = {"soft": [], "hard": []}
    for _ in range(4_000):
        for name, histogram in (("soft", soft), ("hard", hard)):
            noisy = histogram + row[f"sigma_{name}"] * draw.standard_normal(30)
            missed[name].append(np.mean((noisy - hard) ** 2))
    for name, squares in missed.items():
        assert row[f"error_{name}"] == pytest.approx(math.sqrt(np.mean(squares)), rel=0.01)
    assert row["snr_hard"] == pytest.approx(2.0 / row["sigma_hard"])
    assert row["snr_soft"] == pytest.approx(2.0 / row["sigma_soft"])


@given(rho=st.floats(1e-4, 1e2))
def test_the_hard_vote_drowns_below_its_threshold_and_only_there(rho):
    profile = vote_profile(team(), random_candidates(TEAM, 12, 5), [0.01, 0.1])
    found = drowning(signal(profile, AGE, rho), AGE)
    assert found.hard_rho == pytest.approx(0.5 * 2 * (12 / 60) ** 2)
    assert found.hard_drowned == (rho < found.hard_rho)


def test_between_its_crossings_the_soft_vote_misses_by_less_and_outside_by_more():
    records, candidates, rho = team(400, 2), random_candidates(TEAM, 12, 5), 0.006
    near = bf.Policy(TEAM, {"age": bf.Threshold(1)})
    found = drowning(signal(vote_profile(records, candidates, temperatures(61)), near, rho), near)
    assert found.soft_from < found.best < found.soft_to < found.smoothed_from

    def at(tau: float):
        return signal(vote_profile(records, candidates, [tau]), near, rho).iloc[0]

    for tau in (found.soft_from, found.soft_to):
        level = min(at(tau)["error_hard"], at(tau)["contrast_hard"])
        assert at(tau)["error_soft"] == pytest.approx(level, rel=0.02)
        inward, outward = (1.1, 1 / 1.1) if tau == found.soft_from else (1 / 1.1, 1.1)
        assert at(tau * inward)["error_soft"] < level < at(tau * outward)["error_soft"]
    lost = at(found.smoothed_from)
    assert lost["smoothing"] ** 2 == pytest.approx(lost["contrast_hard"] ** 2 / 2, rel=0.02)


def test_where_nothing_is_noisy_the_hard_vote_is_never_beaten():
    profile = vote_profile(team(), random_candidates(TEAM, 12, 5), temperatures(9))
    free = bf.Policy(TEAM, {})
    signals = signal(profile, free, 0.1)
    assert np.isinf(signals["snr_hard"]).all()
    found = drowning(signals, free)
    assert (found.hard_drowned, found.hard_rho, found.best, found.soft_from) == (False, 0.0, None, None)


# --- matched noise -----------------------------------------------------------------------------------------------


@given(reach=st.floats(1e-6, 1), ratio=st.floats(1e-9, 1 - 1e-9))
def test_a_matched_temperature_has_the_ratio_asked_for(reach, ratio):
    assert shift_ratio(reach, matched_tau(reach, ratio)) == pytest.approx(ratio, rel=1e-12)


def test_matched_curves_keep_their_ratio_along_the_reach():
    curves = matched_curves([0.1, 0.5], [0.02, 0.2, 1.0])
    assert len(curves) == 6
    for row in curves.itertuples():
        assert math.tanh(row.reach / (2 * row.tau)) == pytest.approx(row.ratio, rel=1e-12)
    per_ratio = curves.groupby("ratio")["tau"].apply(lambda taus: taus.to_numpy() / [0.02, 0.2, 1.0])
    assert all(np.allclose(line, line[0]) for line in per_ratio)  # the curves are straight lines through 0


@pytest.mark.parametrize(
    ("reach", "ratio"), [(0, 0.5), (-1, 0.5), (math.inf, 0.5), (math.nan, 0.5), (0.1, 0), (0.1, 1)]
)
def test_what_cannot_be_matched_is_refused(reach, ratio):
    with pytest.raises(VoteError, match="to match"):
        matched_tau(reach, ratio)


@pytest.mark.parametrize("asked", [{"count": 1}, {"coldest": 0}, {"coldest": 2}, {"hottest": math.inf}])
def test_impossible_temperatures_are_refused(asked):
    with pytest.raises(VoteError, match="temperatures need"):
        temperatures(**asked)


# --- the ways to say a budget ------------------------------------------------------------------------------------


@given(epsilon=st.floats(1e-12, 1e6), delta=st.floats(1e-12, 0.9))
def test_the_papers_epsilon_is_inverted_without_ever_granting_more(epsilon, delta):
    budget = bf.Budget.of_epsilon_zcdp(epsilon, delta)
    assert budget.epsilon_zcdp <= epsilon
    assert budget.epsilon_zcdp == pytest.approx(epsilon, rel=1e-12)


@given(success=st.floats(0.5, 1, exclude_min=True, exclude_max=True))
def test_an_attackers_success_is_inverted_without_ever_granting_more(success):
    budget = bf.Budget.of_success(success)
    assert budget.success <= success
    assert budget.success == pytest.approx(success, rel=1e-12)


@given(rho=st.floats(1e-10, 1e1), delta=st.sampled_from([1e-9, 1e-5, 0.1]))
def test_every_way_to_say_a_budget_comes_back_to_its_rho(rho, delta):
    budget = bf.Budget(rho=rho, delta=delta)
    assert bf.Budget.of_epsilon_zcdp(budget.epsilon_zcdp, delta).rho == pytest.approx(rho, rel=1e-9)
    # near certainty the success saturates, near 1/2 it keeps few digits of ρ
    assert bf.Budget.of_success(budget.success, delta).rho == pytest.approx(rho, rel=1e-5)


def test_the_success_of_a_known_budget():
    assert bf.Budget.of_success(0.6914624612740131).rho == pytest.approx(0.5, rel=1e-12)  # Φ(1/2): μ = 1, ρ = 1/2
    assert float(attacker_success(0.5)) == pytest.approx(0.6914624612740131, rel=1e-12)


@pytest.mark.parametrize("success", [0.5, 1, 0, 1.2, math.nan, "0.6", True])
def test_an_impossible_success_is_refused(success):
    with pytest.raises(BudgetError, match="success"):
        bf.Budget.of_success(success)


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 1e-5), (-1, 1e-5), (math.inf, 1e-5), (1, 0), (1, 1), (True, 0.1)])
def test_an_impossible_epsilon_is_refused(epsilon, delta):
    with pytest.raises(BudgetError, match=r"[εδ]"):
        bf.Budget.of_epsilon_zcdp(epsilon, delta)
