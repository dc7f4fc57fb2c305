"""Synthesis: the rounds of Private Evolution on a table, with the vote and its calibration pluggable.

Tab-PE, Hard and BF-Soft differ in the vote and the calibration, and in nothing else (THEORY, "Synthesis").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from .domain import Codes, Domain
from .errors import DomainTooLargeError, SynthesisError
from .policy import Policy
from .privacy import Budget, Noise, SimulationNoise, generator, noise_scale
from .records import Records, as_records
from .sensitivity import Sensitivity, exact_sensitivity, full_sensitivity, sensitivity_bound
from .votes import HardVote, SoftVote, Vote

Calibration = Callable[[Policy, Vote, Codes], Sensitivity]
Resampling = Literal["systematic", "multinomial"]
Mutation = Literal["uniform", "near"]


def calibrate_standard(policy: Policy, vote: Vote, candidates: Codes) -> Sensitivity:
    """Standard bounded DP, blind to the policy: any record may become any other."""
    return full_sensitivity(vote)


def calibrate_policy(policy: Policy, vote: Vote, candidates: Codes) -> Sensitivity:
    """The policy's sensitivity as the paper calibrates it: the closed form for a soft vote, crossings for a hard one.

    Where the domain is too large to prove that no edge crosses, the hard vote is taken to cross: more noise.
    """
    if not isinstance(vote, HardVote):
        return sensitivity_bound(policy, vote)
    try:
        return exact_sensitivity(policy, vote, candidates)
    except DomainTooLargeError:
        return sensitivity_bound(policy, vote)


def calibrate_exact(policy: Policy, vote: Vote, candidates: Codes) -> Sensitivity:
    """The exact sensitivity on each round's candidates: the least noise, at the cost of a search every round."""
    return exact_sensitivity(policy, vote, candidates)


CALIBRATIONS: dict[str, Calibration] = {
    "standard": calibrate_standard,
    "policy": calibrate_policy,
    "exact": calibrate_exact,
}


@dataclass(frozen=True)
class Method:
    """A vote with its calibration: all that tells one synthesis method from another."""

    name: str
    vote: Vote
    calibration: str = "policy"


def tab_pe() -> Method:
    """Tab-PE: the hard vote under standard DP, Δ₂ = √2."""
    return Method("Tab-PE", HardVote(), "standard")


def hard() -> Method:
    """Hard: the hard vote at the policy's sensitivity, √2 where an edge crosses a boundary and 0 where none does."""
    return Method("Hard", HardVote())


def bf_soft(tau: float) -> Method:
    """BF-Soft: the soft vote at temperature τ and its closed-form bound √2 tanh(r/2τ)."""
    return Method("BF-Soft", SoftVote(tau))


@dataclass(frozen=True)
class Schedule:
    """How fast mutation fades: after round t of T the rate is first − (first − last)·(t/T)^power (Tab-PE)."""

    first: float = 0.5
    last: float = 0.01
    power: float = 0.2

    def __post_init__(self) -> None:
        for name, rate in (("first", self.first), ("last", self.last)):
            if not 0 <= rate <= 1:
                raise SynthesisError(f"the {name} mutation rate must lie in [0, 1], got {rate!r}")
        if not 0 < self.power < math.inf:
            raise SynthesisError(f"the schedule's power must be above 0, got {self.power!r}")

    def rate(self, round_number: int, rounds: int) -> float:
        """The mutation rate after a round, counted from 1."""
        return self.first - (self.first - self.last) * (round_number / rounds) ** self.power


@dataclass(frozen=True)
class Round:
    """What one round did. Codes are (m, d), votes (m,); ``selected`` is the population resampled from ``candidates``.

    ``votes`` are exact counts of the data before noise: for simulation only, and None under release noise.
    """

    number: int
    candidates: Codes
    votes: np.ndarray | None
    noisy_votes: np.ndarray
    sensitivity: Sensitivity
    rho: float
    sigma: float
    selected: Codes


@dataclass(frozen=True)
class Run:
    """A synthesis, whole or stopped early: its rounds, and the table it made."""

    policy: Policy
    method: Method
    budget: Budget
    planned: int
    rounds: list[Round] = field(repr=False)

    @property
    def completed(self) -> bool:
        """Whether every planned round was run."""
        return len(self.rounds) == self.planned

    @property
    def codes(self) -> Codes:
        """The synthetic records as codes (m, d): the last round's selection, not mutated."""
        return self.rounds[-1].selected

    @cached_property
    def records(self) -> pd.DataFrame:
        """The synthetic table, m rows."""
        return self.policy.domain.decode(self.codes)

    @property
    def sigma(self) -> np.ndarray:
        """The noise scale σ_t of each round run, (rounds,)."""
        return np.array([each.sigma for each in self.rounds])

    @property
    def sensitivity(self) -> np.ndarray:
        """The L2 sensitivity Δ₂ that each round was calibrated to, (rounds,)."""
        return np.array([each.sensitivity.l2 for each in self.rounds])

    @property
    def spent(self) -> float:
        """The ρ that the rounds run have used; less than the budget's for a run stopped early."""
        return math.fsum(each.rho for each in self.rounds)


def evolve(
    data: pd.DataFrame | Records,
    policy: Policy,
    vote: Vote,
    budget: Budget,
    *,
    size: int = 512,
    rounds: int = 8,
    seed: int = 0,
    shares: Sequence[float] | None = None,
    threshold: float = 0.0,
    resampling: Resampling = "systematic",
    mutation: Mutation = "uniform",
    schedule: Schedule | None = None,
    calibration: str | Calibration = "policy",
    noise: Noise | None = None,
) -> Iterator[Round]:
    """The rounds of a synthesis, one by one; stop whenever you like and keep what there is.

    ``data`` is a table that fits the policy's domain (a ``count`` column says how often a row occurs) or Records;
    ``size`` is m; ``threshold`` H is subtracted from noisy votes before clipping; ``mutation="near"`` redraws
    hierarchical values among near leaves first; ``calibration`` is "policy", "standard", "exact" or a function.
    Without ``noise`` the run is a simulation, repeatable by its seed. Raises SynthesisError for impossible
    settings at once, not at the first round, and DataError where the table does not fit.
    """
    for what, given, wanted in (("policy", policy, Policy), ("budget", budget, Budget)):
        if not isinstance(given, wanted):
            raise SynthesisError(f"a synthesis needs a {wanted.__name__} as its {what}, got {given!r}")
    if not hasattr(vote, "histogram"):
        raise SynthesisError(f"a synthesis needs a vote such as HardVote() or SoftVote(tau=0.03), got {vote!r}")
    records = as_records(policy.domain, data)
    _check(records, size, rounds, seed, threshold, resampling, mutation)
    spent = budget.split(rounds, shares)
    calibrate = _calibration(calibration)
    return _rounds(
        records, policy, vote, spent, size, seed, float(threshold), resampling, mutation, schedule or Schedule(),
        calibrate, noise or SimulationNoise(seed),
    )  # fmt: skip


def _rounds(
    records: Records,
    policy: Policy,
    vote: Vote,
    spent: Sequence[float],
    size: int,
    seed: int,
    threshold: float,
    resampling: str,
    mutation: str,
    schedule: Schedule,
    calibrate: Calibration,
    noise: Noise,
) -> Iterator[Round]:
    domain, rounds = policy.domain, len(spent)
    candidates = random_candidates(domain, size, seed)
    for number, rho in enumerate(spent, start=1):
        sensitivity = calibrate(policy, vote, candidates)
        sigma = noise_scale(sensitivity.l2, rho)
        votes = vote.histogram(domain, records, candidates)
        noisy = noise.add(votes, sigma, number) if sigma > 0 else votes.copy()
        chosen = resample(np.maximum(noisy - threshold, 0.0), resampling, generator(seed, "resample", number))
        selected = candidates[chosen]
        yield Round(number, candidates, None if noise.private else votes, noisy, sensitivity, rho, sigma, selected)
        rate = schedule.rate(number, rounds)
        candidates = mutate(domain, selected, rate, mutation, generator(seed, "mutate", number))


def synthesize(
    data: pd.DataFrame | Records,
    policy: Policy,
    vote: Vote | Method,
    budget: Budget,
    *,
    on_round: Callable[[Round], bool | None] | None = None,
    **settings: Any,
) -> Run:
    """Run a synthesis to its end (THEORY, "Synthesis"); settings as in :func:`evolve`.

    ``vote`` may be a Method, which brings its own calibration. ``on_round`` sees every round as it ends; when it
    returns False the run stops there with what it has.
    """
    method = vote if isinstance(vote, Method) else Method(_name(vote), vote, settings.pop("calibration", "policy"))
    kept: list[Round] = []
    for each in evolve(data, policy, method.vote, budget, calibration=method.calibration, **settings):
        kept.append(each)
        if on_round is not None and on_round(each) is False:
            break
    return Run(policy, method, budget, settings.get("rounds", 8), kept)


def _name(vote: Vote) -> str:
    return {HardVote: "Hard", SoftVote: "BF-Soft"}.get(type(vote), type(vote).__name__)


def random_candidates(domain: Domain, size: int, seed: int) -> Codes:
    """``size`` records drawn uniformly from the product domain, (size, d); ``size`` may exceed the domain's."""
    draw = generator(seed, "candidates")
    return np.column_stack([draw.integers(0, count, size) for count in domain.shape]).astype(np.int64)


def resample(weights: np.ndarray, how: str, draw: np.random.Generator) -> np.ndarray:
    """m indices drawn in proportion to non-negative weights (m,); evenly where all weights are 0.

    *Systematic* takes evenly spaced quantiles from one random start: each index occurs its expected number of
    times, rounded up or down. *Multinomial* draws independently.
    """
    m = len(weights)
    if not weights.any():
        weights = np.ones(m)
    cumulative = np.cumsum(weights)
    quantiles = (np.arange(m) + draw.random()) / m if how == "systematic" else draw.random(m)
    # The last quantile times the total may round up to the total itself, past the last positive weight.
    last = int(np.flatnonzero(weights)[-1])
    return np.minimum(np.searchsorted(cumulative, quantiles * cumulative[-1], side="right"), last)


def mutate(domain: Domain, codes: Codes, rate: float, how: str, draw: np.random.Generator) -> Codes:
    """Tab-PE's operators on (m, d) codes: numbers take a uniform step of ± rate × range, rounded to the grid and
    clipped; other values are redrawn with probability ``rate``, evenly or, in a hierarchy with ``how="near"``,
    in proportion to 2^−steps among the other leaves."""
    mutated = codes.copy()
    for position, attribute in enumerate(domain.attributes):
        count = domain.shape[position]
        if attribute.kind == "numeric":
            moved = codes[:, position] + draw.uniform(-rate, rate, len(codes)) * attribute.span
            mutated[:, position] = np.clip(np.rint(moved), 0, attribute.span)
            continue
        redrawn = draw.random(len(codes)) < rate
        fresh = draw.random(len(codes))
        if attribute.kind == "hierarchical" and how == "near" and count > 1:
            own = np.arange(count)
            odds = np.exp2(-attribute.steps(own[:, None], own[None, :]).astype(float))
            np.fill_diagonal(odds, 0.0)
            cumulative = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
            own_odds = cumulative[codes[:, position]]
            values = (own_odds <= fresh[:, None] * own_odds[:, -1:]).sum(axis=1)
        else:
            values = (fresh * count).astype(np.int64)
        mutated[redrawn, position] = np.minimum(values, count - 1)[redrawn]
    return mutated


def _calibration(given: str | Calibration) -> Calibration:
    if callable(given):
        return given
    if given not in CALIBRATIONS:
        raise SynthesisError(f"there is no calibration {given!r}; use one of {', '.join(CALIBRATIONS)}")
    return CALIBRATIONS[given]


def _check(records: Records, size: Any, rounds: Any, seed: Any, threshold: Any, resampling: Any, mutation: Any) -> None:
    for name, number, least in (("size", size, 1), ("rounds", rounds, 1), ("seed", seed, 0)):
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
            raise SynthesisError(f"{name} must be a whole number of at least {least}, got {number!r}")
    if (
        isinstance(threshold, bool)
        or not isinstance(threshold, int | float | np.number)
        or not 0 <= threshold < math.inf
    ):
        raise SynthesisError(f"the threshold H must be a finite number of at least 0, got {threshold!r}")
    if resampling not in ("systematic", "multinomial"):
        raise SynthesisError(f"resampling must be 'systematic' or 'multinomial', got {resampling!r}")
    if mutation not in ("uniform", "near"):
        raise SynthesisError(f"mutation must be 'uniform' or 'near', got {mutation!r}")
    if not records.n:
        raise SynthesisError("the table has no records; a synthesis needs at least one")
