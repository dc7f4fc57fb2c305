"""Variants of the synthesis loop, to find out which of its parts moves a result; each is a loop for ``experiments``.

``TAB_PE`` is this package's own loop, part for part: run through here it gives what ``bfsoft.evolve`` gives. ``DPSDA``
and ``PAPER`` follow published code, read and written anew:

- microsoft/DPSDA (``pe/api/tabular``, ``pe/population``, ``pe/runner``), by the authors of Tab-PE. It counts iterations
  from 0, so its rate after vote t of T is 0.5 − 0.49·((t − 1)/T)^0.2 and its first mutation is at the full 0.5; this
  package has (t/T)^0.2 and starts at 0.18 for T = 8. It mutates after the last vote too, so that what it hands out
  was never voted on. It draws multinomially. Two differences belong to the vote and are not copied here: it searches
  neighbours in L2 on one-hot vectors (categories weighted 1/3) where this package has weighted Gower distance; and
  it splits the table by label and synthesises each part by itself, with the labels' shares taken
  as public, where this package has no labels and votes on that attribute like on any.
- the paper's own experiments (github.com/ayanamirei629/Soft-Voting-for-Policy-Aware-Private-Data-Synthesis,
  ``code/core.py``): normal steps of scale rate × range, at rates from 0.25 towards 0.01 with (t − 1)/(T − 1) for t/T;
  two rounds of multinomial draws, after which the m best noisy votes are *ranked* and kept beside one mutant each,
  so that 2m candidates stand for election. Hard spends √2 without asking for a crossing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from .domain import Codes, Domain
from .errors import ExperimentError
from .experiments.trials import Arm
from .policy import Policy
from .privacy import Budget, SimulationNoise, generator, noise_scale
from .records import Records
from .sensitivity import Sensitivity, sensitivity_bound
from .synthesis import CALIBRATIONS, Resampling, mutate, random_candidates, resample
from .votes import Vote


@dataclass(frozen=True)
class Variant:
    """One loop: votes and noise as in ``bfsoft.synthesis``, and these parts to choose.

    ``step`` is how numbers mutate: uniform in ± rate × range, or normal of scale rate × range. The rate after round t
    of T is first − (first − last)·x^power with x = t/T, (t − 1)/T or (t − 1)/(T − 1) for ``counted`` "after", "before"
    or "span". The first ``sampled_rounds`` draw in proportion to votes, the others take the best (None: all draw);
    with ``keep_parents`` a ranked round's choice stands again beside its mutants. ``mutate_last`` hands out mutants.
    ``population`` fixes the seed of the first candidates, which are the run's own otherwise. Without ``certify`` a
    hard vote at the policy's sensitivity spends √2 without looking for an edge that crosses.
    """

    name: str = field(repr=False, compare=False)  # variants of two names that do the same are the same
    step: Literal["uniform", "normal"] = "uniform"
    first: float = 0.5
    last: float = 0.01
    power: float = 0.2
    counted: Literal["after", "before", "span"] = "after"
    resampling: Resampling = "systematic"
    sampled_rounds: int | None = None
    keep_parents: bool = False
    mutate_last: bool = False
    population: int | None = None
    certify: bool = True

    def rate(self, number: int, rounds: int) -> float:
        """The mutation rate after round ``number``, from 1, of ``rounds``."""
        share = {
            "after": number / rounds,
            "before": (number - 1) / rounds,
            "span": (number - 1) / max(rounds - 1, 1),
        }[self.counted]
        return self.first - (self.first - self.last) * share**self.power

    def __call__(self, records: Records, arm: Arm, seed: int, settings: Mapping[str, Any]) -> Codes:
        """The synthetic records (size, d) of one run; ``settings`` may hold size, rounds, shares and threshold.

        Raises ExperimentError for a setting that the variant decides itself.
        """
        given = {"size": 512, "rounds": 8, "shares": None, "threshold": 0.0, **settings}
        if len(given) > 4:
            own = ", ".join(sorted({*given} - {"size", "rounds", "shares", "threshold"}))
            raise ExperimentError(f"the loop {self.name!r} decides {own} itself; make another Variant to change it")
        domain, size, rounds = records.domain, given["size"], given["rounds"]
        calibrate = CALIBRATIONS[arm.calibration] if isinstance(arm.calibration, str) else arm.calibration
        if arm.calibration == "policy" and not self.certify:
            calibrate = _without_looking
        noise = SimulationNoise(seed)
        pool = random_candidates(domain, size, seed if self.population is None else self.population)
        for number, rho in enumerate(Budget(rho=arm.rho * arm.spend).split(rounds, given["shares"]), start=1):
            sigma = noise_scale(calibrate(arm.policy, arm.vote, pool).l2, rho)
            votes = arm.vote.histogram(domain, records, pool)
            noisy = noise.add(votes, sigma, number) if sigma > 0 else votes
            ranked = self.sampled_rounds is not None and number > self.sampled_rounds
            if ranked:
                chosen = np.argsort(-noisy, kind="stable")[:size]
            else:
                weights = np.maximum(noisy - given["threshold"], 0.0)
                chosen = resample(weights, self.resampling, generator(seed, "resample", number))
            selected = pool[chosen]
            if number == rounds and not self.mutate_last:
                return selected
            mutants = self._mutants(domain, selected, self.rate(number, rounds), generator(seed, "mutate", number))
            if number == rounds:
                return mutants
            pool = np.vstack([selected, mutants]) if ranked and self.keep_parents else mutants
        raise ExperimentError(f"rounds must be at least 1, got {rounds!r}")

    def _mutants(self, domain: Domain, codes: Codes, rate: float, draw: np.random.Generator) -> Codes:
        if self.step == "uniform":
            return mutate(domain, codes, rate, "uniform", draw)
        mutants = codes.copy()
        for position, attribute in enumerate(domain.attributes):
            if attribute.kind == "numeric":
                moved = codes[:, position] + draw.normal(0.0, rate, len(codes)) * attribute.span
                mutants[:, position] = np.rint(np.clip(moved, 0, attribute.span))
            else:
                redrawn = draw.random(len(codes)) < rate
                mutants[redrawn, position] = draw.integers(0, domain.shape[position], int(redrawn.sum()))
        return mutants


def _without_looking(policy: Policy, vote: Vote, candidates: Codes) -> Sensitivity:
    return sensitivity_bound(policy, vote)


TAB_PE = Variant("Tab-PE, as in this package")
DPSDA = Variant("Tab-PE, as in DPSDA", counted="before", resampling="multinomial", mutate_last=True)
PAPER = Variant(
    "the paper's experiments", step="normal", first=0.25, counted="span", resampling="multinomial", sampled_rounds=2,
    keep_parents=True, certify=False,
)  # fmt: skip
