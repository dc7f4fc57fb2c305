"""Protection: how well a release hides which of two values a person has, for every pair of one attribute's values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .privacy import Budget, attacker_success, exact_epsilons
from .sensitivity import SQRT2, full_sensitivity, sensitivity_bound, shift_ratio
from .votes import SoftVote, Vote

if TYPE_CHECKING:
    from .policy import Policy


@dataclass(frozen=True)
class Protection:
    """Pairs of one attribute's values: all matrices are (n_values, n_values), symmetric, 0 on the diagonal.

    ``hops`` is the distance in the policy graph (inf if not joined), ``by_path`` and ``by_distance`` the zCDP that
    each argument gives, ``zcdp`` the smaller of the two. ``worst`` bounds any two records at all, listed or not.
    """

    attribute: str
    values: tuple[Any, ...]
    delta: float
    hops: np.ndarray
    by_path: np.ndarray
    by_distance: np.ndarray
    worst: float

    @property
    def zcdp(self) -> np.ndarray:
        """The zCDP parameter ρ′ of each pair."""
        return np.minimum(self.by_path, self.by_distance)

    @property
    def success(self) -> np.ndarray:
        """The attacker's best success probability for each pair, from a 50:50 start; 0.5 is nothing learnt."""
        return attacker_success(self.zcdp)

    @cached_property
    def epsilon(self) -> np.ndarray:
        """The exact ε at δ of each pair."""
        return exact_epsilons(self.zcdp, self.delta)

    def frame(self) -> pd.DataFrame:
        """The pairs as a tidy table: a, b, hops, zcdp, success; each pair once, the earlier value first."""
        first, second = np.triu_indices(len(self.values), 1)
        names = np.array(self.values, dtype=object)
        return pd.DataFrame(
            {
                "a": names[first],
                "b": names[second],
                "hops": self.hops[first, second],
                "zcdp": self.zcdp[first, second],
                "success": self.success[first, second],
            }
        )


def protection(policy: Policy, attribute: str, vote: Vote, budget: Budget) -> Protection:
    """How well each pair of values is protected when every round is calibrated to the policy's bound Δ₂.

    A pair whose histograms differ by at most s in L2 gets zCDP ρ (s/Δ₂)², since σ = Δ₂/√(2ρ) and zCDP grows with
    the square of the shift (see ``privacy.noise_scale``). Two bounds on s (THEORY, "Privacy"):
    along a path of k edges, each shifting at most Δ_edge, the triangle inequality gives s ≤ k Δ_edge; and for any
    two records at distance d, s ≤ √2 tanh(d/2τ) for a soft vote and s ≤ √2 for a hard one, policy or not.
    Without participation Δ_edge = Δ₂, which is THEORY's ρ · min(k², (tanh(d/2τ)/q)²). A release without noise
    (Δ₂ = 0) protects no pair that it can tell apart. The hard vote is taken at its full sensitivity, as with any
    crossing edge.
    """
    domain, values = policy.domain, policy.domain[attribute]
    everyone = np.arange(len(values.values))
    steps = values.steps(everyone[:, None], everyone[None, :])
    position = domain.position(attribute)
    distance = steps * float(domain.exact_weights[position] / max(1, values.span))
    apart = steps > 0
    noise = sensitivity_bound(policy, vote).l2
    if isinstance(vote, SoftVote):
        with np.errstate(over="ignore"):
            shift = SQRT2 * np.tanh(distance / (2.0 * vote.tau))
        edge = SQRT2 * shift_ratio(policy.reach, vote.tau)
    else:
        shift, edge = np.where(distance > 0, SQRT2, 0.0), SQRT2
    hops = policy.hops(attribute)
    # Of a path that does not exist nothing is known, not even where an edge moves nothing (0 · ∞).
    path = np.where(np.isfinite(hops), np.where(np.isfinite(hops), hops, 0.0) * edge, math.inf)

    def zcdp(moved: np.ndarray) -> np.ndarray:
        if noise > 0:
            return np.where(apart, budget.rho * (moved / noise) ** 2, 0.0)
        return np.where(apart & (moved > 0), math.inf, 0.0)

    return Protection(
        attribute=attribute,
        values=values.values,
        delta=budget.delta,
        hops=hops,
        by_path=zcdp(path),
        by_distance=zcdp(shift),
        worst=budget.rho * (full_sensitivity(vote).l2 / noise) ** 2 if noise > 0 else math.inf,
    )
