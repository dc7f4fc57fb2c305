"""Privacy budgets and noise: what ρ buys, how rounds share it, and the noise that a sensitivity asks for.

Everything is zero-concentrated DP (zCDP) with Gaussian noise; ε at a δ follows from ρ, exactly and as the paper does.
"""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from .errors import BudgetError

DEFAULT_DELTA = 1e-5
_BISECTIONS = 60  # halvings that take any bound here to its last digit
# No release is described by budgets beyond these, and within them every ε, μ and σ is a number that floats can hold.
_RHOS, _EPSILONS, _LEAST_DELTA = (1e-100, 1e9), (1e-40, 1e9), 1e-300
# Beyond this ρ the solvers lose their digits; the paper's formula exceeds the exact ε there by √(ln(1/δ)/ρ) at most.
_SOLVED = 1e15
_SMALLEST = sys.float_info.min  # below it floats lose their digits one by one


def exact_epsilon(rho: float, delta: float) -> float:
    """The exact ε at δ of Gaussian mechanisms that compose to ρ-zCDP (THEORY, "Privacy").

    T Gaussian releases with Δ_t/σ_t = √(2ρ_t) compose exactly to one with μ = √(2 Σρ_t), whose ε solves
    δ = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2) (Balle and Wang 2018); solved by dp-accounting, and never above the bound
    ρ + 2√(ρ ln(1/δ)), which rounding may cross where the two meet. 0 at ρ = 0, inf at ρ = inf.
    """
    from dp_accounting import get_epsilon_gaussian

    if rho == 0:
        return 0.0
    bound = epsilon_zcdp(rho, delta)
    if rho > _SOLVED:
        return bound
    with np.errstate(divide="ignore"):  # it takes log 0 where ε is 0
        return min(float(get_epsilon_gaussian(1.0 / math.sqrt(2.0 * rho), delta)), bound)


def epsilon_zcdp(rho: float, delta: float) -> float:
    """ε at δ as the paper converts ρ-zCDP: ρ + 2√(ρ ln(1/δ)) (Bun and Steinke 2016, Proposition 1.3)."""
    return rho + 2.0 * math.sqrt(rho) * math.sqrt(-math.log(delta))


def exact_epsilons(rho: np.ndarray, delta: float) -> np.ndarray:
    """``exact_epsilon`` of many ρ at once, same shape; for maps of pairs, where a solver call each would be slow.

    Bisects log δ(ε) = log(Φ(a) − e^ε Φ(b)), a, b = −ε/μ ± μ/2, which falls in ε, from the bound ρ + 2√(ρ ln(1/δ)) down;
    returns the upper end, within 1e-12 of the root; the bound itself where ρ is too large to solve for.
    """
    from scipy.special import log_ndtr

    rho = np.asarray(rho, dtype=float)
    with np.errstate(over="ignore"):
        epsilon = np.asarray(rho + 2.0 * np.sqrt(rho) * math.sqrt(-math.log(delta)))  # a single ρ would be no array
    solved = (rho > 0) & (rho <= _SOLVED)
    mu = np.sqrt(2.0 * rho[solved])
    high = epsilon[solved]
    low = np.zeros_like(high)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        above, below = log_ndtr(mu / 2 - middle / mu), log_ndtr(-mu / 2 - middle / mu)
        with np.errstate(divide="ignore"):  # equal to the last digit: a δ of 0
            log_delta = above + np.log(-np.expm1(np.minimum(middle + below - above, 0.0)))
        enough = log_delta <= math.log(delta)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    epsilon[solved] = high
    return epsilon


def attacker_success(rho: np.ndarray | float) -> np.ndarray:
    """How often an attacker who knows all else tells two values apart, from a 50:50 start, at most (THEORY, "Privacy").

    The two releases are Gaussians at μ = √(2ρ) standard deviations; the best test is right with probability Φ(μ/2).
    """
    from scipy.special import ndtr

    return ndtr(np.sqrt(np.asarray(rho, dtype=float) / 2.0))


def rho_of_epsilon_zcdp(epsilon: float, delta: float) -> float:
    """The largest ρ that the paper's conversion reports as at most ``epsilon`` at δ; both positive.

    ε = ρ + 2√(ρL) with L = ln(1/δ) is (√ρ + √L)² − L, so √ρ = √(L + ε) − √L = ε / (√(L + ε) + √L): the last form
    loses no digits to cancellation at small ε. Rounded down, so that the claim holds as computed.
    """
    log = -math.log(delta)
    rho = (epsilon / (math.sqrt(log + epsilon) + math.sqrt(log))) ** 2
    return _rounded_down(rho, lambda rho: epsilon_zcdp(rho, delta) <= epsilon)


def rho_of_success(success: float) -> float:
    """The largest ρ at which an attacker is right with probability at most ``success``, in (1/2, 1).

    Φ(√(2ρ)/2) = p gives ρ = 2 Φ⁻¹(p)² (the inverse of ``attacker_success``); rounded down in the same way.
    """
    from scipy.special import ndtri

    return _rounded_down(2.0 * float(ndtri(success)) ** 2, lambda rho: float(attacker_success(rho)) <= success)


def _rounded_down(rho: float, holds: Callable[[float], bool]) -> float:
    """ρ, or the first a few units in the last place below it for which the claim holds as computed."""
    step = 2.0**-52
    while rho > 0 and not holds(rho):
        rho *= 1.0 - step
        step = min(0.5, 2.0 * step)
    return rho


def noise_scale(sensitivity: float, rho: float) -> float:
    """σ = Δ₂ / √(2ρ): adding N(0, σ²) to each entry of a release of L2 sensitivity Δ₂ is ρ-zCDP.

    Proof: the Rényi divergence of order α between N(a, σ²I) and N(b, σ²I) is α‖a − b‖₂²/2σ² ≤ αΔ₂²/2σ² = αρ
    (Bun and Steinke 2016, Proposition 1.6; THEORY, "Privacy"). 0 for a sensitivity of 0 alone: a σ too small for a
    float is rounded up. Raises BudgetError unless ρ is above 0 and finite.
    """
    if not 0 < 2.0 * rho < math.inf:
        raise BudgetError(f"noise needs a finite ρ above 0, got {rho!r}")
    sigma = sensitivity / math.sqrt(2.0 * rho)
    return max(sigma, _SMALLEST) if sensitivity > 0 else 0.0


def proportions(shares: Sequence[float]) -> tuple[float, ...]:
    """Each share over the sum of all; they sum to 1.

    Raises BudgetError, naming the round, for a share that is no number above 0, for shares whose sum is beyond any
    number, and for one so small beside the others that nothing is left of its part.

    >>> proportions([1, 1, 2])
    (0.25, 0.25, 0.5)
    """
    for number, share in enumerate(shares, start=1):
        _check_number(f"share {number}", share)
        if share <= 0:
            raise BudgetError(f"share {number} must be above 0, got {share!r}; every round needs some budget")
    if not math.isfinite(sum(float(share) for share in shares)):
        raise BudgetError(
            f"the {len(shares)} shares add up to more than a number can hold; only their proportions count, "
            "so write smaller ones, such as 1, 1, 2"
        )
    total = math.fsum(shares)
    parts = tuple(share / total for share in shares)
    for number, (share, part) in enumerate(zip(shares, parts, strict=True), start=1):
        if part < _SMALLEST:
            raise BudgetError(
                f"share {number}, {share!r}, is nothing beside the others, so round {number} would get no budget; "
                "give it a larger one"
            )
    return parts


@dataclass(frozen=True, init=False)
class Budget:
    """A privacy budget: total ρ of zCDP with the δ at which ε is reported. Give ``rho`` or ``epsilon`` (exact).

    Raises BudgetError when neither or both are given, or a number is out of range.

    >>> budget = Budget(rho=5.5e-4)
    >>> round(budget.epsilon, 3), round(budget.epsilon_zcdp, 2)
    (0.102, 0.16)
    """

    rho: float
    delta: float

    def __init__(self, rho: float | None = None, epsilon: float | None = None, delta: float = DEFAULT_DELTA) -> None:
        if (rho is None) == (epsilon is None):
            raise BudgetError("give a budget as either rho or epsilon")
        _check_delta(delta)
        object.__setattr__(self, "delta", float(delta))
        name, given, limits = ("ρ", rho, _RHOS) if epsilon is None else ("ε", epsilon, _EPSILONS)
        _check_within(name, given, limits)
        assert given is not None
        spent = float(given) if epsilon is None else _rho_of_epsilon(float(given), float(delta))
        object.__setattr__(self, "rho", spent)

    @classmethod
    def of_epsilon_zcdp(cls, epsilon: float, delta: float = DEFAULT_DELTA) -> Budget:
        """The budget whose ε *by the paper's formula* is the given one; raises BudgetError as the constructor does.

        >>> round(Budget.of_epsilon_zcdp(0.16).rho, 5)
        0.00055
        """
        _check_delta(delta)
        _check_within("ε", epsilon, _EPSILONS)
        return cls(rho=rho_of_epsilon_zcdp(float(epsilon), float(delta)), delta=delta)

    @classmethod
    def of_success(cls, success: float, delta: float = DEFAULT_DELTA) -> Budget:
        """The budget at which an attacker's best chance is the given one, between 1/2 and 1; else BudgetError."""
        _check_number("the attacker's success", success)
        if not 0.5 < success < 1:
            raise BudgetError(
                f"the attacker's success must lie between 0.5, which is guessing, and 1, which is certainty; "
                f"got {success!r}"
            )
        return cls(rho=rho_of_success(float(success)), delta=delta)

    @cached_property
    def epsilon(self) -> float:
        """The exact ε at δ; what to quote."""
        return exact_epsilon(self.rho, self.delta)

    @property
    def epsilon_zcdp(self) -> float:
        """ε as the paper reports it: ρ + 2√(ρ ln(1/δ)), an upper bound of the exact ε."""
        return epsilon_zcdp(self.rho, self.delta)

    @property
    def success(self) -> float:
        """An attacker's best chance to tell a pair at the full ρ apart, from a 50:50 start."""
        return float(attacker_success(self.rho))

    def split(self, rounds: int, shares: Sequence[float] | None = None) -> tuple[float, ...]:
        """ρ_t for each round, summing to ρ: equal, or in proportion to ``shares`` (one positive number a round).

        Raises BudgetError for shares that ``proportions`` refuses, and where a round's part is too small to say.
        """
        if shares is None:
            return (self.rho / rounds,) * rounds
        if len(shares) != rounds:
            raise BudgetError(f"there are {len(shares)} shares for {rounds} rounds; give one a round")
        spent = tuple(self.rho * part for part in proportions(shares))
        for number, rho in enumerate(spent, start=1):
            if rho < _SMALLEST:
                raise BudgetError(
                    f"share {number}, {shares[number - 1]!r}, leaves round {number} nothing of ρ = {self.rho!r}; "
                    "give it a larger share"
                )
        return spent


def _check_number(name: str, given: object) -> None:
    if isinstance(given, bool) or not isinstance(given, numbers.Real) or not _is_finite(given):
        raise BudgetError(f"{name} must be a finite number, got {_short(given)}")


def _is_finite(given: Any) -> bool:
    try:
        return math.isfinite(given)
    except OverflowError:  # a whole number beyond all floats
        return False


def _short(given: object) -> str:
    text = repr(given)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _check_within(name: str, given: Any, limits: tuple[float, float]) -> None:
    _check_number(name, given)
    if given <= 0:
        raise BudgetError(f"{name} must be above 0, got {given!r}")
    if not limits[0] <= given <= limits[1]:
        size = "small" if given < limits[0] else "large"
        raise BudgetError(
            f"{name} = {given!r} is too {size} for a budget; it must lie between {limits[0]:g} and {limits[1]:g}"
        )


def _check_delta(delta: Any) -> None:
    _check_number("δ", delta)
    if not 0 < delta < 1:
        raise BudgetError(f"δ must lie between 0 and 1, got {delta!r}; 1e-5 is usual")
    if delta < _LEAST_DELTA:
        raise BudgetError(f"δ must be at least {_LEAST_DELTA:g}, got {delta!r}; 1e-5 is usual")


def _rho_of_epsilon(epsilon: float, delta: float) -> float:
    from dp_accounting import get_sigma_gaussian

    with np.errstate(divide="ignore"):
        rho = 0.5 / float(get_sigma_gaussian(epsilon, delta)) ** 2
    # The solver stops within a tolerance on either side.
    return _rounded_down(rho, lambda rho: exact_epsilon(rho, delta) <= epsilon)


class Noise(Protocol):
    """Where a round's Gaussian noise comes from; ``private`` says whether exact votes may be kept beside it."""

    private: bool

    def add(self, histogram: np.ndarray, sigma: float, round_number: int) -> np.ndarray:
        """The histogram (m,) plus independent N(0, σ²) on each entry."""
        ...


@dataclass(frozen=True)
class SimulationNoise:
    """Seeded noise for studies on public data: repeatable, and therefore no protection at all."""

    seed: int
    private = False

    def add(self, histogram: np.ndarray, sigma: float, round_number: int) -> np.ndarray:
        """The histogram plus seeded Gaussian noise; runs of one seed share the same standard normal draws."""
        return histogram + sigma * generator(self.seed, "noise", round_number).standard_normal(len(histogram))


@dataclass(frozen=True)
class ReleaseNoise:
    """Unseeded noise for a real release, drawn by OpenDP without floating-point leaks; never repeatable."""

    private = True

    def add(self, histogram: np.ndarray, sigma: float, round_number: int) -> np.ndarray:
        """The histogram plus OpenDP's Gaussian noise of scale σ on each entry."""
        import opendp.prelude as dp

        dp.enable_features("contrib")
        space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)
        return np.array(dp.m.make_gaussian(*space, scale=float(sigma))(histogram.tolist()))


_PURPOSES = {"candidates": 0, "noise": 1, "resample": 2, "mutate": 3}


def generator(seed: int, purpose: str, round_number: int = 0) -> np.random.Generator:
    """A random stream of its own for each purpose and round, so that paired runs differ only where they must."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_PURPOSES[purpose], round_number)))
