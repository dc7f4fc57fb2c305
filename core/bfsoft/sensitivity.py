"""Sensitivity: how much one protected substitution can change a vote histogram, by bound and exactly.

Neighbouring tables differ in one record along one policy edge (or, with participation, by one record), and a
histogram is a sum over records, so its sensitivity is the largest change of one record's vote over those edges.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _enumeration
from .domain import Codes
from .errors import PolicyError, VoteError
from .policy import Policy
from .votes import HardVote, SoftVote, Vote

SQRT2 = math.sqrt(2.0)


@dataclass(frozen=True)
class RecordEdge:
    """Two neighbouring records: equal but for one attribute, whose values a policy edge of this length joins."""

    attribute: str
    a: Mapping[str, Any]
    b: Mapping[str, Any]
    length: float

    def __str__(self) -> str:
        others = ", ".join(str(value) for name, value in self.a.items() if name != self.attribute)
        moved = f"{self.attribute} {self.a[self.attribute]} → {self.b[self.attribute]}"
        return f"{moved}, {others}" if others else moved


@dataclass(frozen=True)
class Sensitivity:
    """L1 and L2 sensitivity of one vote histogram, and the ratio to the hard vote's full √2.

    ``edge`` is the neighbouring pair that attains ``l2``, where the sensitivity was computed exactly.
    """

    l1: float
    l2: float
    ratio: float
    edge: RecordEdge | None = None

    @property
    def budget_factor(self) -> float:
        """How many times the budget the hard vote would need for the same noise, 1/q²; inf without noise."""
        return equal_noise(self.ratio)


def equal_noise(ratio: float) -> float:
    """1/q², how many times the budget plain noise needs to be as small; inf where q² is 0, or too small for a float."""
    square = ratio * ratio
    return 1.0 / square if square > 0 else math.inf


def full_sensitivity(vote: Vote) -> Sensitivity:
    """The sensitivity under standard bounded DP, where any record may become any other (THEORY, "Sensitivity").

    Hard: L1 = 2, L2 = √2. Soft: no two records are further apart than 1, so r = 1 in the closed form.
    """
    _check_vote(vote)
    ratio = shift_ratio(1.0, vote.tau) if isinstance(vote, SoftVote) else 1.0
    return Sensitivity(2.0 * ratio, SQRT2 * ratio, ratio)


def shift_ratio(distance: float, tau: float) -> float:
    """tanh(d / 2τ), the largest total variation between the soft votes of two records at distance d.

    Proof (paper §5.4, E.3; THEORY, "Sensitivity"). By the triangle inequality each logit −d(·, c_k)/τ moves by at
    most s = d/τ, so the ratio v_k(x)/v_k(x′) lies in some [α, β] with α ≤ 1 ≤ β and β/α ≤ e^{2s}. Then
    TV ≤ (1 − α)(β − 1)/(β − α), which is largest at α = e^{−s}, β = e^{s}, where it is tanh(s/2).
    TV is the sum of the positive parts of v(x) − v(x′), so L1 = 2·TV ≤ 2 tanh(d/2τ). The positive and the negative
    part each sum to TV, and ‖u‖₂ ≤ ‖u‖₁ for each, so L2² ≤ TV² + TV²: L2 ≤ √2 tanh(d/2τ).
    """
    with np.errstate(over="ignore"):
        return float(np.tanh(np.float64(distance) / (2.0 * tau)))


def sensitivity_bound(policy: Policy, vote: Vote) -> Sensitivity:
    """The closed-form sensitivity: no candidates needed (THEORY, "Sensitivity").

    Soft: L1 = 2q, L2 = √2 q with q = tanh(r / 2τ). Hard: L1 = 2, L2 = √2 as soon as the policy has an edge of some
    length, however short, and 0 where it has none. Participation adds a floor of 1 to both, because a vote of unit
    mass appears or disappears and ‖v‖₂ ≤ ‖v‖₁ = 1. ``ratio`` is always L2 / √2.

    Proof for the hard vote (paper §5.3; THEORY, "Records" and "Sensitivity"). Neighbours x, x′ differ in one
    attribute j, so for every candidate c the triangle inequality of δ_j gives
    |d(x, c) − d(x′, c)| = w_j |δ_j(x_j, c_j) − δ_j(x′_j, c_j)| ≤ w_j δ_j(x_j, x′_j), the length of their edge.
    Length 0: all distances are equal, and with them the nearest candidate and its tie-break, since votes compare
    distances exactly, as whole numbers; no vote changes, on any candidates. As δ_j of different values is above 0,
    that is so just where w_j = 0. Length above 0: on the two candidates x and x′ each end votes for itself, at
    distance 0, so the votes are two unit vectors, which are √2 apart in L2 and 2 in L1: as far as any two votes.
    """
    _check_policy(policy)
    _check_vote(vote)
    q = shift_ratio(policy.reach, vote.tau) if isinstance(vote, SoftVote) else float(bool(_moving(policy)))
    return _with_floor(policy, 2.0 * q, SQRT2 * q)


def _check_policy(policy: Policy) -> None:
    if not isinstance(policy, Policy):
        raise PolicyError(f"a sensitivity needs a Policy(domain, rules), got {type(policy).__name__}")


def _check_vote(vote: Vote) -> None:
    # A vote not known here has no proven bound: to take it for the hard one would be a guess.
    if not isinstance(vote, HardVote | SoftVote):
        raise VoteError(f"a sensitivity is known for HardVote and SoftVote, not {vote!r}; write SoftVote(tau=…)")


def _moving(policy: Policy) -> list[str]:
    """The attributes with edges of some length, by their exact weights: a float may round a tiny one to 0."""
    domain = policy.domain
    weights = zip(domain.names, domain.exact_weights, strict=True)
    return [name for name, weight in weights if weight > 0 and policy.edge_count(name)]


def _with_floor(policy: Policy, l1: float, l2: float, edge: RecordEdge | None = None) -> Sensitivity:
    if policy.participation:
        edge = edge if l2 >= 1.0 else None
        l1, l2 = max(l1, 1.0), max(l2, 1.0)
    return Sensitivity(l1, l2, l2 / SQRT2, edge)


def exact_sensitivity(policy: Policy, vote: Vote, candidates: Codes) -> Sensitivity:
    """The sensitivity on these candidates (m, d): the maximum over all record-level edges, with the pair attaining L2.

    Hard: √2 (L1 2) with the first crossing edge, or 0 when none crosses. Soft: the largest ‖v(x) − v(x′)‖ over
    the whole product domain. Participation adds its floor of 1, as in the bound. A hard vote over edges whose length
    rounds to 0 in floats is taken to cross, without a witness: the search passes such edges over.
    Raises DomainTooLargeError, with the size, where the domain cannot be enumerated.
    """
    _check_policy(policy)
    _check_vote(vote)
    if not isinstance(vote, SoftVote):
        edge = crossing_edge(policy, candidates)
        crosses = edge is not None or any(policy.reaches[name] == 0 for name in _moving(policy))
        return _with_floor(policy, 2.0 if crosses else 0.0, SQRT2 if crosses else 0.0, edge)
    candidates = policy.domain.check_codes(candidates, "candidates")
    found = _enumeration.largest_shift(policy, candidates, vote.tau)
    return _with_floor(policy, found.l1, found.l2, _record_edge(policy, found.where))


def crossing_edge(policy: Policy, candidates: Codes) -> RecordEdge | None:
    """A record-level policy edge whose ends have different nearest candidates, or None: then there is none.

    One such edge certifies the hard vote's sensitivity √2 (paper §5.3); None has checked every edge of the product
    domain. Raises DomainTooLargeError, with the size, if none was found near the candidates and there are too many
    edges to check.
    """
    candidates = policy.domain.check_codes(candidates, "candidates")
    return _record_edge(policy, _enumeration.first_crossing(policy, candidates))


def _record_edge(policy: Policy, where: tuple[int, np.ndarray, int, int] | None) -> RecordEdge | None:
    """Name an edge given as (attribute position, codes of one end, the two codes of that attribute)."""
    if where is None:
        return None
    position, record, code_a, code_b = where
    domain, name = policy.domain, policy.domain.names[position]
    ends = []
    for code in (code_a, code_b):
        codes = record.copy()
        codes[position] = code
        ends.append({n: a.values[c] for n, a, c in zip(domain.names, domain.attributes, codes.tolist(), strict=True)})
    return RecordEdge(name, ends[0], ends[1], domain.length(name, code_a, code_b))
