"""Votes: how a private record spreads one vote over the candidates; knows nothing of policies, noise or rounds."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from . import _kernels, _reference
from .domain import Codes, Domain
from .errors import VoteError
from .records import Records


class Vote(Protocol):
    """A rule that sends each record to a point of the simplex over m candidates."""

    def responses(self, domain: Domain, records: Codes, candidates: Codes) -> np.ndarray:
        """The vote of every record, (n, m); each row sums to 1."""
        ...

    def histogram(
        self, domain: Domain, records: Codes | Records, candidates: Codes, counts: np.ndarray | None = None
    ) -> np.ndarray:
        """The sum of all votes, (m,); it sums to n."""
        ...


def _checked(domain: Domain, candidates: Codes) -> Codes:
    candidates = domain.check_codes(candidates, "candidates")
    if not len(candidates):
        raise VoteError("there are no candidates to vote for; give at least one")
    return candidates


def _gathered(domain: Domain, records: Codes | Records, counts: np.ndarray | None) -> Records:
    if not isinstance(records, Records):
        return Records.of_codes(domain, records, counts)
    if counts is not None:
        raise VoteError("these records carry their own counts; leave counts out")
    return records.on(domain)


@dataclass(frozen=True)
class HardVote:
    """All of a record's vote to its nearest candidate; ties go to the lowest index (THEORY, "Votes")."""

    def responses(self, domain: Domain, records: Codes, candidates: Codes) -> np.ndarray:
        """The one-hot votes (n, m). Raises DataError for codes outside the domain, VoteError without candidates."""
        return _reference.hard_responses(domain, domain.check_codes(records, "records"), _checked(domain, candidates))

    def histogram(
        self, domain: Domain, records: Codes | Records, candidates: Codes, counts: np.ndarray | None = None
    ) -> np.ndarray:
        """Votes per candidate (m,), summing to n; ``records`` are codes (n, d) with ``counts`` (n,), or Records."""
        return _kernels.hard_histogram(_gathered(domain, records, counts), _checked(domain, candidates))


@dataclass(frozen=True)
class SoftVote:
    """A record's vote spread by a softmax of −distance/τ (THEORY, "Votes"; paper §4.3).

    As τ → 0 it tends to the hard vote, except that candidates at exactly the same distance share evenly.
    Raises VoteError unless 0 < τ < ∞.
    """

    tau: float

    def __post_init__(self) -> None:
        tau = self.tau
        if isinstance(tau, bool) or not isinstance(tau, numbers.Real) or not math.isfinite(tau) or tau <= 0:
            raise VoteError(f"the temperature τ must be a finite number above 0, got {tau!r}")
        object.__setattr__(self, "tau", float(tau))

    def responses(self, domain: Domain, records: Codes, candidates: Codes) -> np.ndarray:
        """The votes (n, m). Raises DataError for codes outside the domain, VoteError without candidates."""
        records, candidates = domain.check_codes(records, "records"), _checked(domain, candidates)
        return _reference.soft_responses(domain, records, candidates, self.tau)

    def histogram(
        self, domain: Domain, records: Codes | Records, candidates: Codes, counts: np.ndarray | None = None
    ) -> np.ndarray:
        """Votes per candidate (m,), summing to n; ``records`` are codes (n, d) with ``counts`` (n,), or Records."""
        return _kernels.soft_histogram(_gathered(domain, records, counts), _checked(domain, candidates), self.tau)
