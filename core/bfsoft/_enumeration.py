"""Walks the record-level policy graph, attribute by attribute, for the largest shift of a vote and for crossings.

A *line* holds all but one attribute fixed: the edges of that attribute's policy graph run along it. On a line a
candidate matters only through its value of the free attribute and its distance in the others, so the m candidates
fall into a few bins, and a whole line costs little more than its bins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from . import _kernels, _reference
from .domain import Domain
from .errors import DomainTooLargeError, VoteError
from .policy import MOST_EDGES, Policy

# A domain of this many records takes some seconds to walk.
MOST_RECORDS = 200_000_000
# The distances from every value of every attribute to every candidate are laid out; more would take gigabytes.
_MOST_CELLS = 200_000_000
# The search squares products of factors, and the squares must not underflow either.
_SAFE_TAU = 2 * _kernels.SAFE_TAU
_CHUNK = 1 << 16

Where = tuple[int, np.ndarray, int, int]


@dataclass(frozen=True)
class Shift:
    """The largest change of one vote found: L1, L2, and the edge that attains L2 (None when nothing moves)."""

    l1: float
    l2: float
    where: Where | None


@dataclass(frozen=True)
class _Lines:
    """The lines along one attribute with the candidates sorted into bins by their value of it."""

    domain: Domain
    position: int
    candidates: np.ndarray  # (m, d), sorted by bin, then by their own index
    index: np.ndarray  # (m,), each sorted candidate's own index
    bins: np.ndarray  # (bins + 1,), bounds of the bins in the sorted order
    codes: np.ndarray  # (bins,), the value of each bin
    others: tuple[int, ...]  # the other attributes, fewest values first
    edges: np.ndarray  # (e, 2), longest first
    steps: np.ndarray  # (e,), their steps

    @property
    def count(self) -> int:
        return self.domain.size // self.domain.shape[self.position]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.domain.shape[other] for other in self.others)

    def tables(self, of_steps: Any, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
        """Rows of ``of_steps`` for every value of the other attributes, and where each attribute's rows start."""
        offsets = (np.cumsum((0, *self.shape))[:-1]).astype(np.int64)
        rows = np.empty((sum(self.shape), len(self.candidates)), dtype=dtype)
        for offset, other in zip(offsets, self.others, strict=True):
            values = np.arange(self.domain.shape[other])
            rows[offset : offset + len(values)] = _kernels.attribute_rows(
                self.domain, other, values, self.candidates, partial(of_steps, other)
            )
        return rows, offsets

    def along(self, of_steps: Any, dtype: Any) -> np.ndarray:
        """``of_steps`` from every value of the free attribute to every bin, (values, bins)."""
        attribute = self.domain.attributes[self.position]
        values = np.arange(self.domain.shape[self.position])
        steps = attribute.steps(values[:, None], self.codes[None, :])
        return np.ascontiguousarray(of_steps(self.position, steps), dtype)

    @property
    def numbered(self) -> bool:
        """Whether every line has a number in 64 bits."""
        return self.count < 2**62

    def near_candidates(self) -> np.ndarray:
        """The lines that pass through a candidate: shifts are large and boundaries close there."""
        if not self.others:
            return np.zeros(1, dtype=np.int64)
        return np.unique(np.ravel_multi_index(tuple(self.candidates[:, self.others].T), self.shape))

    def all(self) -> Iterator[np.ndarray]:
        for start in range(0, self.count, _CHUNK):
            yield np.arange(start, min(start + _CHUNK, self.count), dtype=np.int64)

    def record(self, line: int) -> np.ndarray:
        """The codes (d,) of a line; 0 for the free attribute."""
        codes = np.zeros(len(self.domain.names), dtype=np.int64)
        if self.others:
            codes[list(self.others)] = np.unravel_index(line, self.shape)
        return codes

    def records(self, lines: np.ndarray) -> np.ndarray:
        """Every record on these lines, (lines × values, d), line by line."""
        values = self.domain.shape[self.position]
        codes = np.empty((len(lines), values, len(self.domain.names)), dtype=np.int64)
        codes[:, :, self.position] = np.arange(values)
        if self.others:
            for other, column in zip(self.others, np.unravel_index(lines, self.shape), strict=True):
                codes[:, :, other] = column[:, None]
        return codes.reshape(-1, len(self.domain.names))


def _lines(policy: Policy, position: int, candidates: np.ndarray) -> _Lines:
    domain = policy.domain
    edges = policy.edges(domain.names[position])
    steps = domain.attributes[position].steps(edges[:, 0], edges[:, 1])
    longest = np.argsort(-steps, kind="stable")
    by_bin = np.argsort(candidates[:, position], kind="stable")
    codes, starts = np.unique(candidates[by_bin, position], return_index=True)
    others = [other for other in range(len(domain.names)) if other != position]
    return _Lines(
        domain=domain,
        position=position,
        candidates=candidates[by_bin],
        index=by_bin,
        bins=np.append(starts, len(candidates)).astype(np.int64),
        codes=codes,
        others=tuple(sorted(others, key=lambda other: domain.shape[other])),
        edges=np.ascontiguousarray(edges[longest]),
        steps=steps[longest],
    )


def _protected(policy: Policy, candidates: np.ndarray) -> list[_Lines]:
    """The lines of every protected attribute whose edges have length, the farthest-reaching first."""
    if not len(candidates):
        raise VoteError("there are no candidates to vote for; give at least one")
    positions = [j for j, name in enumerate(policy.domain.names) if policy.reaches[name] > 0]
    edges = max((policy.edge_count(policy.domain.names[j]) for j in positions), default=0)
    if edges > MOST_EDGES:
        raise DomainTooLargeError(
            f"an attribute's policy has {edges:,} edges, too many to check (at most {MOST_EDGES:,}); "
            "use the closed-form bound, a wider step or a smaller θ"
        )
    if positions and sum(policy.domain.shape) * len(candidates) > _MOST_CELLS:
        raise DomainTooLargeError(
            f"the attributes have {sum(policy.domain.shape):,} values, too many to measure from {len(candidates):,} "
            f"candidates (at most {_MOST_CELLS:,} distances); use the closed-form bound, or wider steps"
        )
    positions.sort(key=lambda j: -policy.reaches[policy.domain.names[j]])
    return [_lines(policy, position, candidates) for position in positions]


def _refuse_large(domain: Domain, what: str) -> None:
    if domain.size > MOST_RECORDS:
        raise DomainTooLargeError(
            f"the product domain has {domain.size:,} records, too many to {what} (at most {MOST_RECORDS:,}); "
            "use the closed-form bound, or a domain with fewer attributes or wider steps"
        )


def largest_shift(policy: Policy, candidates: np.ndarray, tau: float) -> Shift:
    """The largest L1 and L2 change of a soft vote over all record-level policy edges, over every line.

    An edge of length ℓ changes the vote by at most 2 tanh(ℓ/2τ) in L1 and √2 tanh(ℓ/2τ) in L2, whatever the other
    values; edges go longest first, so each line stops at the first length that can no longer win.
    """
    lines = _protected(policy, candidates)
    _refuse_large(policy.domain, "search for the exact soft sensitivity")
    best = Shift(0.0, 0.0, None)
    for search in [_SoftSearch(axis, tau) for axis in lines]:
        for rows in (search.lines.near_candidates(), *search.lines.all()):
            best = search.improve(best, rows)
    return best


class _SoftSearch:
    """The tables of one attribute's lines for one temperature, and the search along given lines."""

    def __init__(self, lines: _Lines, tau: float) -> None:
        self.lines, self.tau = lines, tau
        domain = lines.domain
        per_step = domain.multipliers[lines.position] / domain.denominator
        with np.errstate(over="ignore"):
            cap = np.tanh(lines.steps * per_step / (2.0 * tau))
        # What is within 1e-12 of its cap is as good as attained: rounding alone is of that order.
        self.caps = cap * (1.0 - 1e-12)
        self.products = tau >= _SAFE_TAU
        # Whole distances are kept in doubles, which are exact up to 2^53.
        self.kernels = _kernels.compiled() if self.products or domain.denominator < 2**53 else None
        if self.kernels is None:
            return

        def of_steps(j: int, steps: np.ndarray) -> np.ndarray:
            return _kernels.factor(domain, j, steps, tau) if self.products else steps * float(domain.multipliers[j])

        self.rows, self.offsets = lines.tables(of_steps, float)
        self.along = lines.along(of_steps, float)
        self.scale = 0.0
        if not self.products:
            with np.errstate(over="ignore"):
                self.scale = float(min(np.float64(1.0) / domain.denominator / tau, np.finfo(float).max))

    def improve(self, best: Shift, rows: np.ndarray) -> Shift:
        """The better of what is known and the best edge on these lines; of equals the first found stays."""
        if self._settled(best, 0):
            return best
        kernels = self.kernels
        if kernels is None:
            return self._improve_in_numpy(best, rows)
        found: dict[int, tuple[float, float, int, int]] = {}
        blocks = min(_kernels.BLOCKS, len(rows))
        cuts = np.linspace(0, len(rows), blocks + 1).astype(int)
        shape = np.array(self.lines.shape, dtype=np.int64)

        def work(first: int, last: int) -> None:
            # Block by block: where a search may stop early must not depend on how threads share the blocks.
            for block in range(first, last):
                found[block] = kernels.largest_shift(
                    rows[cuts[block] : cuts[block + 1]], shape, self.rows, self.offsets, self.lines.bins, self.along,
                    self.lines.edges, self.caps, self.scale, self.products, best.l1, best.l2,
                )  # fmt: skip

        _kernels.in_blocks(work, blocks)
        for block in sorted(found):
            best = self._better(best, *found[block])
        return best

    def _settled(self, best: Shift, edge: int) -> bool:
        """Whether neither this edge nor any later, shorter one can beat the best known."""
        return 2 * self.caps[edge] <= best.l1 and math.sqrt(2) * self.caps[edge] <= best.l2

    def _better(self, best: Shift, l1: float, l2: float, line: int, edge: int) -> Shift:
        where = best.where
        if l2 > best.l2 and edge >= 0:
            a, b = self.lines.edges[edge].tolist()
            where = (self.lines.position, self.lines.record(line), a, b)
        return Shift(max(l1, best.l1), max(l2, best.l2), where)

    def _improve_in_numpy(self, best: Shift, rows: np.ndarray) -> Shift:
        lines, values = self.lines, self.lines.domain.shape[self.lines.position]
        for line in rows.tolist():
            records = lines.records(np.array([line]))
            votes = _reference.soft_responses(lines.domain, records, lines.candidates, self.tau).reshape(values, -1)
            for start in range(0, len(lines.edges), 1024):
                if self._settled(best, start):
                    break
                part = lines.edges[start : start + 1024]
                moved = votes[part[:, 0]] - votes[part[:, 1]]
                l2 = np.sqrt((moved**2).sum(axis=1))
                edge = int(np.argmax(l2))
                best = self._better(best, float(np.abs(moved).sum(axis=1).max()), float(l2[edge]), line, start + edge)
        return best


def first_crossing(policy: Policy, candidates: np.ndarray) -> Where | None:
    """The first record-level edge found whose ends have different nearest candidates; None is a proof of none."""
    lines = _protected(policy, candidates)
    for axis in lines:
        where = _crossing_near_candidates(axis)
        if where is not None:
            return where
    if lines:
        _refuse_large(policy.domain, "prove that no edge crosses")
    for axis in lines:
        for rows in axis.all():
            where = _crossings(axis, rows, stop=True)[1]
            if where is not None:
                return where
    return None


def count_crossings(
    policy: Policy, candidates: np.ndarray, watch: Callable[[float], None] | None = None
) -> tuple[dict[str, int], Where | None]:
    """For each attribute with edges of some length how many record-level edges cross, and the first that does.

    ``watch`` is told the share of lines done after each chunk; what it raises ends the count.
    """
    lines = _protected(policy, candidates)
    _refuse_large(policy.domain, "count crossings")
    counts, first = {}, None
    done, whole = 0, sum(axis.count for axis in lines)
    for axis in lines:
        total = 0
        for rows in axis.all():
            count, where = _crossings(axis, rows, stop=False)
            total += count
            first = first or where
            done += len(rows)
            if watch is not None:
                watch(done / whole)
        counts[policy.domain.names[axis.position]] = total
    return counts, first


def _crossings(lines: _Lines, rows: np.ndarray, stop: bool) -> tuple[int, Where | None]:
    """How many edges on these lines cross, and the first in line order; with ``stop`` each thread ends at its first."""
    kernels, m = _kernels.compiled(), len(lines.candidates)
    dtype = _kernels.key_dtype(lines.domain, m)
    if kernels is None or dtype is None:
        return _crossings_in_numpy(lines, rows, stop)
    multipliers = lines.domain.multipliers

    def of_steps(j: int, steps: np.ndarray) -> np.ndarray:
        return steps * (multipliers[j] * m)

    # Prepared anew for each call, which costs far less than the lines themselves.
    tables, offsets = lines.tables(of_steps, dtype)
    along = lines.along(of_steps, dtype)
    index = lines.index.astype(dtype)
    found: dict[int, tuple[int, int, int]] = {}
    blocks = min(_kernels.BLOCKS, len(rows))
    cuts = np.linspace(0, len(rows), blocks + 1).astype(int)
    shape = np.array(lines.shape, dtype=np.int64)

    def work(first: int, last: int) -> None:
        part = rows[cuts[first] : cuts[last]]
        found[first] = kernels.crossings(part, shape, tables, offsets, index, lines.bins, along, lines.edges, stop)

    _kernels.in_blocks(work, blocks)
    total, where = 0, None
    for first in sorted(found):
        count, line, edge = found[first]
        total += count
        if where is None and count:
            where = (lines.position, lines.record(line), *lines.edges[edge].tolist())
    return total, where


def _crossings_in_numpy(lines: _Lines, rows: np.ndarray, stop: bool) -> tuple[int, Where | None]:
    total, where = 0, None
    for line in rows.tolist():
        crossing = _crossing_edges(lines, lines.records(np.array([line])))
        total += len(crossing)
        if where is None and len(crossing):
            where = (lines.position, lines.record(line), *lines.edges[crossing[0]].tolist())
            if stop:
                break
    return total, where


def _crossing_edges(lines: _Lines, records: np.ndarray) -> np.ndarray:
    """Which edges cross on the line of these records, (values, d) in the order of the free attribute."""
    nearest = _kernels.nearest(lines.domain, records, lines.candidates[np.argsort(lines.index)])
    return np.flatnonzero(nearest[lines.edges[:, 0]] != nearest[lines.edges[:, 1]])


def _crossing_near_candidates(lines: _Lines) -> Where | None:
    """A crossing edge on a line through a candidate, however large the domain; None where there is none."""
    if lines.numbered:
        return _crossings(lines, lines.near_candidates(), stop=True)[1]
    values = np.arange(lines.domain.shape[lines.position])
    for candidate in lines.candidates:
        records = np.repeat(candidate[None, :], len(values), axis=0)
        records[:, lines.position] = values
        crossing = _crossing_edges(lines, records)
        if len(crossing):
            return (lines.position, records[0], *lines.edges[crossing[0]].tolist())
    return None
