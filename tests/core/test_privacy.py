"""Budgets and noise: ε solves its defining equation, σ is what ρ asks for, both kinds of noise are as they say."""

from math import exp, inf, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import chi2, kstest, norm

import bfsoft as bf
from bfsoft.errors import BudgetError
from bfsoft.privacy import attacker_success, exact_epsilon, exact_epsilons, generator, noise_scale


def delta_of(epsilon: float, rho: float) -> float:
    """δ(ε) of a Gaussian at μ = √(2ρ): Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2) (Balle and Wang 2018; Dong et al. 2022)."""
    mu = sqrt(2 * rho)
    return norm.cdf(-epsilon / mu + mu / 2) - exp(epsilon + norm.logcdf(-epsilon / mu - mu / 2))


@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.01])
@pytest.mark.parametrize("rho", [1e-5, 1e-4, 5.5e-4, 1e-3, 4.4e-3, 0.1, 1, 10])
def test_epsilon_solves_its_equation(rho, delta):
    epsilon = bf.Budget(rho=rho, delta=delta).epsilon
    if delta_of(0, rho) <= delta:
        assert epsilon == 0
    else:
        assert epsilon == pytest.approx(brentq(lambda e: delta_of(e, rho) - delta, 0, 200, xtol=1e-14), rel=1e-6)


@given(st.floats(1e-6, 50), st.floats(1e-10, 0.5))
def test_the_papers_epsilon_is_an_upper_bound(rho, delta):
    budget = bf.Budget(rho=rho, delta=delta)
    assert 0 <= budget.epsilon <= budget.epsilon_zcdp * (1 + 1e-12)
    assert budget.epsilon_zcdp == pytest.approx(rho + 2 * sqrt(rho * log(1 / delta)))


@given(st.floats(1e-3, 100), st.floats(1e-10, 0.1))
def test_a_budget_from_epsilon_claims_no_more_than_asked_and_wastes_nothing(epsilon, delta):
    budget = bf.Budget(epsilon=epsilon, delta=delta)
    assert budget.epsilon <= epsilon
    assert budget.epsilon == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize("epsilon", [1e-14, 1e-12, 1e-9, 1e-6])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.1])
def test_the_smallest_epsilons_still_give_a_budget(epsilon, delta):
    budget = bf.Budget(epsilon=epsilon, delta=delta)
    assert budget.rho > 0
    assert budget.epsilon <= epsilon


@given(st.floats(1e-5, 10), st.floats(1.001, 3), st.floats(1e-8, 0.01))
def test_more_rho_is_more_epsilon_and_more_delta_is_less(rho, factor, delta):
    here = bf.Budget(rho=rho, delta=delta)
    more = bf.Budget(rho=rho * factor, delta=delta)
    assert more.epsilon > here.epsilon or here.epsilon == more.epsilon == 0
    assert more.epsilon_zcdp > here.epsilon_zcdp
    assert more.success > here.success
    assert bf.Budget(rho=rho, delta=min(0.5, delta * factor)).epsilon <= here.epsilon


def test_no_budget_and_no_limit():
    assert exact_epsilon(0, 1e-5) == 0
    assert exact_epsilon(inf, 1e-5) == inf
    assert attacker_success(0) == 0.5
    assert attacker_success(inf) == 1.0


def test_an_attackers_success_by_hand():
    """Φ(μ/2) with μ = √(2ρ): ρ = 2 gives Φ(1) = 0.8413; ρ = 1e-3 gives Φ(0.02236) = 0.50892."""
    assert bf.Budget(rho=2.0).success == pytest.approx(0.841345, abs=1e-6)
    assert bf.Budget(rho=1e-3).success == pytest.approx(0.508920, abs=1e-6)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: bf.Budget(), "either rho or epsilon"),
        (lambda: bf.Budget(rho=1, epsilon=1), "either rho or epsilon"),
        (lambda: bf.Budget(rho=0), "ρ must be above 0"),
        (lambda: bf.Budget(rho=-1e-3), "ρ must be above 0"),
        (lambda: bf.Budget(epsilon=-1), "ε must be above 0"),
        (lambda: bf.Budget(rho=inf), "ρ must be a finite number"),
        (lambda: bf.Budget(rho="1"), "ρ must be a finite number, got '1'"),
        (lambda: bf.Budget(rho=True), "ρ must be a finite number, got True"),
        (lambda: bf.Budget(epsilon=float("nan")), "ε must be a finite number"),
        (lambda: bf.Budget(rho=1, delta=0), "δ must lie between 0 and 1"),
        (lambda: bf.Budget(rho=1, delta=1), "δ must lie between 0 and 1"),
        (lambda: bf.Budget(rho=1, delta=None), "δ must be a finite number"),
        (lambda: bf.Budget(rho=1).split(3, [1, 2]), "2 shares for 3 rounds"),
        (lambda: bf.Budget(rho=1).split(2, [1, 0]), "share 2 must be above 0"),
        (lambda: bf.Budget(rho=1).split(2, [1, float("nan")]), "share 2 must be a finite number"),
        (lambda: bf.Budget(rho=1).split(2, [1, 10**400]), "share 2 must be a finite number, got 1000"),
        (lambda: bf.Budget(rho=1).split(3, [1e308, 1e308, 1e-308]), "3 shares add up to more than a number can hold"),
        (lambda: bf.Budget(rho=1).split(2, [1e-320, 1e300]), "share 1, 1e-320, is nothing .* round 1 .* larger"),
        (lambda: bf.Budget(rho=1e-9).split(2, [1, 1e-305]), "share 2, 1e-305, leaves round 2 nothing of ρ = 1e-09"),
        (lambda: bf.Budget(rho=1e300), r"ρ = 1e\+300 is too large for a budget"),
        (lambda: bf.Budget(rho=1e-320), "ρ = 1e-320 is too small for a budget; it must lie between 1e-100 and"),
        (lambda: bf.Budget(rho=10**400), "ρ must be a finite number"),
        (lambda: bf.Budget(epsilon=1e300), r"ε = 1e\+300 is too large"),
        (lambda: bf.Budget(epsilon=1e-320), "ε = 1e-320 is too small"),
        (lambda: bf.Budget.of_epsilon_zcdp(1e-320), "ε = 1e-320 is too small"),
        (lambda: bf.Budget(rho=1, delta=1e-320), "δ must be at least 1e-300, got 1e-320"),
    ],
)
def test_impossible_budgets(make, says):
    with pytest.raises(BudgetError, match=says):
        make()


@given(st.floats(1e-6, 10), st.lists(st.floats(0.01, 100), min_size=1, max_size=12))
def test_shares_split_rho_in_proportion_and_lose_none(rho, shares):
    spent = bf.Budget(rho=rho).split(len(shares), shares)
    assert sum(spent) == pytest.approx(rho, rel=1e-12)
    assert [s / spent[0] for s in spent] == pytest.approx([s / shares[0] for s in shares], rel=1e-9)
    assert bf.Budget(rho=rho).split(len(shares)) == pytest.approx([rho / len(shares)] * len(shares))


@given(st.lists(st.floats(min_value=0, exclude_min=True), min_size=1, max_size=8), st.sampled_from([1e-100, 1, 1e9]))
def test_shares_are_refused_or_every_round_gets_noise_that_a_number_can_say(shares, rho):
    try:
        spent = bf.Budget(rho=rho).split(len(shares), shares)
    except BudgetError:
        assert sum(shares) == inf or min(shares) < max(shares) * 1e-200
        return
    assert sum(spent) == pytest.approx(rho, rel=1e-9)
    for sensitivity in (5e-324, 1e-12, sqrt(2)):
        assert all(0 < noise_scale(sensitivity, part) < inf for part in spent)


@pytest.mark.parametrize("given", [{"rho": 1e-100}, {"rho": 1e9}, {"epsilon": 1e-40}, {"epsilon": 1e9}, {"rho": 1e3}])
@pytest.mark.parametrize("delta", [1e-300, 1e-5, 1 - 1e-16])
@pytest.mark.filterwarnings("error")
def test_the_most_extreme_budgets_are_numbers_in_order(given, delta):
    budget = bf.Budget(**given, delta=delta)
    assert 0 < budget.rho < inf
    assert 0 <= budget.epsilon <= budget.epsilon_zcdp < inf
    assert budget.epsilon <= given.get("epsilon", inf)
    assert 0.5 <= budget.success <= 1
    assert noise_scale(sqrt(2), budget.rho) > 0


@pytest.mark.parametrize("rho", [1e12, 1e16, 1e100, 1e308])
@pytest.mark.filterwarnings("error")
def test_what_little_noise_leaves_open_is_bounded_however_large_it_is(rho):
    """A pair told apart by ρ′ this large: its ε lies between ρ′, at δ ≈ 1/2, and the paper's bound (1e-5 above)."""
    for epsilon in (exact_epsilon(rho, 1e-5), float(exact_epsilons(np.array([rho]), 1e-5)[0])):
        assert rho <= epsilon <= rho * (1 + 1e-5)
    assert attacker_success(rho) == 1.0


@pytest.mark.parametrize("rho", [0, -1, float("nan"), inf])
def test_no_noise_is_computed_from_no_budget(rho):
    with pytest.raises(BudgetError, match="a finite ρ above 0"):
        noise_scale(1.0, rho)


def test_sigma_by_hand():
    """σ = Δ₂/√(2ρ): √2 at ρ = 1e-3/8 is 89.44."""
    assert noise_scale(sqrt(2), 1e-3 / 8) == pytest.approx(89.4427, abs=1e-4)


@given(st.floats(0.01, 2), st.floats(1e-5, 1), st.floats(1.1, 20))
def test_the_gaussian_at_sigma_spends_exactly_rho(sensitivity, rho, order):
    """Its Rényi divergence of any order α is α · Δ₂²/2σ² (Bun and Steinke 2016, Proposition 1.6): αρ."""
    sigma = noise_scale(sensitivity, rho)
    assert order * sensitivity**2 / (2 * sigma**2) == pytest.approx(order * rho, rel=1e-12)


# Noise


def assert_normal(sample: np.ndarray, sigma: float) -> None:
    """Variance within chi-square limits that a factor √2 misses by far, and the shape by Kolmogorov's test."""
    low, high = chi2.ppf([1e-7, 1 - 1e-7], len(sample)) / len(sample)
    assert low < np.mean(sample**2) / sigma**2 < high
    assert low > 1 / sqrt(2)
    assert high < sqrt(2)
    assert kstest(sample / sigma, "norm").pvalue > 1e-7


def test_simulation_noise_is_normal_and_repeatable():
    noise, votes = bf.SimulationNoise(3), np.arange(5000.0)
    first = noise.add(votes, 7.0, 1)
    assert_normal(first - votes, 7.0)
    assert np.array_equal(first, noise.add(votes, 7.0, 1))
    assert not np.array_equal(first, noise.add(votes, 7.0, 2))
    assert not np.array_equal(first, bf.SimulationNoise(4).add(votes, 7.0, 1))
    assert np.allclose(noise.add(votes, 14.0, 1) - votes, 2 * (first - votes)), "one seed, the same standard normals"


def test_release_noise_is_normal_and_never_repeats():
    noise, votes = bf.ReleaseNoise(), np.arange(5000.0)
    first = noise.add(votes, 7.0, 1)
    assert_normal(first - votes, 7.0)
    assert not np.array_equal(first, noise.add(votes, 7.0, 1))


def test_release_noise_of_scale_zero_is_no_noise():
    assert bf.ReleaseNoise().add(np.array([1.5, 2.0]), 0.0, 1).tolist() == [1.5, 2.0]


def test_only_release_noise_is_private():
    assert bf.ReleaseNoise().private
    assert not bf.SimulationNoise(0).private


def test_streams_of_one_seed_are_independent():
    """Purposes and rounds must not share draws: 4 purposes × 8 rounds, no two alike, and no correlation to speak of."""
    streams = [
        generator(9, purpose, number).standard_normal(2000)
        for purpose in ("candidates", "noise", "resample", "mutate")
        for number in range(8)
    ]
    correlation = np.corrcoef(streams) - np.eye(len(streams))
    assert np.abs(correlation).max() < 6 / sqrt(2000)
