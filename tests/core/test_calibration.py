"""Statistical tests of the privacy claim: the noise a synthesis adds, and what an attacker makes of its output.

Seeds are fixed, so the tests do not flicker. Each says how far outside its limits a wrong constant (√2, 2) would land.
"""

from collections.abc import Iterator
from math import sqrt, tanh

import numpy as np
import pytest
from scipy.stats import beta, chi2, kstest, norm

import bfsoft as bf
from bfsoft.synthesis import random_candidates

DOMAIN = bf.Domain([bf.Numeric("a", 0, 20), bf.Categorical("b", ["x", "y", "z"])])
POLICY = bf.Policy(DOMAIN, {"a": bf.Threshold(4)})
REACH = 0.5 * 4 / 20
DATA = bf.Records.of_codes(DOMAIN, np.column_stack([np.arange(200) % 21, np.arange(200) % 3]))
SHARES, RHO, TAU = [1, 2, 3, 4], 0.02, 0.05


@pytest.fixture(autouse=True)
def one_thread(on_threads):
    """Thousands of tiny runs: handing them to threads would cost more than they do."""
    on_threads(1)


@pytest.mark.parametrize(
    ("method", "sensitivity"),
    [(bf.tab_pe(), sqrt(2)), (bf.hard(), sqrt(2)), (bf.bf_soft(TAU), sqrt(2) * tanh(REACH / 2 / TAU))],
    ids=lambda value: getattr(value, "name", ""),
)
def test_noise_has_the_variance_that_the_budget_asks_for(method, sensitivity):
    """noisy − votes ~ N(0, Δ₂²/2ρ_t) in each round: 4,000 draws, standardised by the variance in THEORY.

    Their mean square is within 0.86 to 1.15 with probability 1 − 2e-10; a factor √2 in σ puts it at 0.5 or 2.
    """
    standardised = []
    for seed in range(20):
        done = bf.synthesize(DATA, POLICY, method, bf.Budget(rho=RHO), size=50, rounds=4, seed=seed, shares=SHARES)
        for each, share in zip(done.rounds, SHARES, strict=True):
            variance = sensitivity**2 / (2 * RHO * share / 10)
            standardised.append((each.noisy_votes - each.votes) / sqrt(variance))
    sample = np.concatenate(standardised)
    assert len(sample) == 4000
    low, high = chi2.ppf([1e-10, 1 - 1e-10], len(sample)) / len(sample)
    assert 0.85 < low < np.mean(sample**2) < high < 1.16
    assert kstest(sample, "norm").pvalue > 1e-6
    by_round = np.array(standardised).reshape(20, 4, 50)
    rounds_apart = np.corrcoef(by_round.transpose(1, 0, 2).reshape(4, -1)) - np.eye(4)
    assert np.abs(rounds_apart).max() < 6 / sqrt(1000), "rounds must not share noise"


def attack(method, policy, others, a, b, trials: int, **settings) -> Iterator[bool]:
    """Whether the best attacker is right, trial by trial: it knows the other records, a and b, and sees every round.

    The likelihood ratio over the rounds: the candidates are public, so it recomputes both histograms on each.
    """
    domain = policy.domain
    tables = [bf.Records.of_codes(domain, np.vstack([others, [record]])) for record in (a, b)]
    for trial in range(trials):
        truth = trial % 2
        noise = bf.SimulationNoise(trial)
        rounds = bf.evolve(tables[truth], policy, method.vote, calibration=method.calibration, noise=noise, **settings)
        evidence = 0.0
        for each in rounds:
            at_a, at_b = (method.vote.histogram(domain, table, each.candidates) for table in tables)
            evidence += (
                np.sum((each.noisy_votes - at_a) ** 2) - np.sum((each.noisy_votes - at_b) ** 2)
            ) / each.sigma**2
        yield (evidence > 0) == bool(truth)


def clopper_pearson(right: int, trials: int, alpha: float = 1e-5) -> tuple[float, float]:
    return beta.ppf(alpha / 2, right, trials - right + 1), beta.ppf(1 - alpha / 2, right + 1, trials - right)


CLAIM = bf.Budget(rho=0.5)  # μ = 1: the attacker is right with probability Φ(1/2) = 0.691 at most
WITH_TOO_LITTLE_NOISE = norm.cdf(sqrt(2) / 2)  # 0.760, were σ too small by √2


@pytest.mark.parametrize("method", [bf.tab_pe(), bf.hard(), bf.bf_soft(0.5)], ids=lambda m: m.name)
def test_the_worst_pair_on_two_candidates_is_told_apart_exactly_as_often_as_claimed(method):
    """Candidates at x and x′ attain every method's sensitivity: the attacker's success is Φ(μ/2), no more, no less."""
    domain = bf.Domain([bf.Numeric("a", 0, 1)])
    policy = bf.Policy(domain, {"a": bf.Complete()})
    seed = next(seed for seed in range(50) if set(random_candidates(domain, 2, seed)[:, 0].tolist()) == {0, 1})
    others = np.array([[0], [1], [1]])
    trials = 2500
    right = sum(attack(method, policy, others, [0], [1], trials, budget=CLAIM, size=2, rounds=1, seed=seed))
    low, high = clopper_pearson(right, trials)
    assert low <= CLAIM.success <= high
    assert high < WITH_TOO_LITTLE_NOISE
    assert low > norm.cdf(1 / sqrt(2) / 2), "nor is there √2 too much"


def codes_of(domain, record) -> list[int]:
    return [attribute.values.index(record[attribute.name]) for attribute in domain.attributes]


@pytest.mark.parametrize("method", [bf.Method("exact", bf.SoftVote(0.05), "exact"), bf.hard()], ids=lambda m: m.name)
def test_the_exact_witness_edge_is_told_apart_exactly_as_often_as_claimed(method):
    """Noise from the exact sensitivity on eight candidates; the pair is the witness that attains it."""
    candidates = random_candidates(DOMAIN, 8, 1)
    edge = bf.exact_sensitivity(POLICY, method.vote, candidates).edge
    a, b = codes_of(DOMAIN, edge.a), codes_of(DOMAIN, edge.b)
    trials = 2500
    right = sum(attack(method, POLICY, DATA.codes[:20], a, b, trials, budget=CLAIM, size=8, rounds=1, seed=1))
    low, high = clopper_pearson(right, trials)
    assert low <= CLAIM.success <= high < WITH_TOO_LITTLE_NOISE


@pytest.mark.parametrize("method", [bf.tab_pe(), bf.hard(), bf.bf_soft(0.05)], ids=lambda m: m.name)
def test_over_several_rounds_the_worst_pair_stays_under_the_claim(method):
    """Three adaptive rounds share ρ: the attacker adds up its evidence, and its success stays under Φ(μ/2).

    Each round's own candidates move the pair a little less than the worst case, so the claim need not be attained;
    were each round to spend the whole ρ, the success would be near Φ(√3/2) = 0.807.
    """
    edge = bf.exact_sensitivity(POLICY, method.vote, random_candidates(DOMAIN, 8, 1)).edge
    a, b = codes_of(DOMAIN, edge.a), codes_of(DOMAIN, edge.b)
    trials = 1500
    right = sum(attack(method, POLICY, DATA.codes[:20], a, b, trials, budget=CLAIM, size=8, rounds=3, seed=1))
    low, high = clopper_pearson(right, trials)
    assert low <= CLAIM.success
    assert 0.5 < high < WITH_TOO_LITTLE_NOISE


def test_a_pair_beyond_the_policy_is_told_apart_no_more_than_protection_says():
    """The ends of an unprotected attribute, on two candidates at those ends: ρ′ = ρ (tanh(d/2τ)/q)², attained."""
    domain = bf.Domain([bf.Numeric("a", 0, 1), bf.Categorical("b", ["x", "y"])], {"a": 9, "b": 1})
    policy, method = bf.Policy(domain, {"b": bf.Complete()}), bf.bf_soft(0.5)
    wanted = {(0, 0), (1, 0)}
    seed = next(s for s in range(500) if set(map(tuple, random_candidates(domain, 2, s).tolist())) == wanted)
    budget = bf.Budget(rho=0.05)
    claim = policy.protection("a", method.vote, budget).success[0, 1]
    assert claim > budget.success + 0.1, "more is learnt than the policy's ρ would allow: the pair is not protected"
    trials = 2500
    right = sum(
        attack(method, policy, np.array([[0, 0]]), [0, 0], [1, 0], trials, budget=budget, size=2, rounds=1, seed=seed)
    )
    low, high = clopper_pearson(right, trials)
    assert low <= claim <= high
