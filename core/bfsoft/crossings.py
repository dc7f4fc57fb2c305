"""Crossings: which policy edges a hard vote jumps across, on a plane and in the whole domain, and by how much.

Knows domains, policies and candidates; nothing of data, noise or rounds. A policy edge belongs to the record-level
graph: it occurs once for every setting of the other attributes, and it *crosses* when its two records have different
nearest candidates (THEORY, "Sensitivity"). One crossing edge already costs the hard vote its full √2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from . import _enumeration, _kernels, _reference
from .domain import Codes, Domain
from .errors import DataError, DomainError, DomainTooLargeError, PolicyError, VoteError
from .policy import Policy
from .sensitivity import (
    SQRT2,
    RecordEdge,
    _record_edge,
    _with_floor,
    exact_sensitivity,
    sensitivity_bound,
    shift_ratio,
)
from .votes import HardVote, SoftVote

Watch = Callable[[float], None]

# Parts of [0, √2] in which changes of a vote are counted: fine enough to read quantiles from.
CELLS = 1400
# A few seconds of the compiled kernel on one core; beyond it a sample of lines stands for all of them.
MOST_WORK = 1_500_000_000
# The NumPy path does the same some hundred times slower.
_NUMPY_SLOWER = 100
_RUN = 1 << 12
# A walk keeps two votes over all candidates at every value.
_MOST_WALKED = 50_000_000


# --- the whole domain ------------------------------------------------------------------------------------------------


class Share(NamedTuple):
    """How many of some record-level edges cross, of how many."""

    crossing: int
    total: int


@dataclass(frozen=True)
class Crossings:
    """How many of a policy's record-level edges join records with different nearest candidates.

    ``by_attribute`` splits the counts by the attribute that an edge changes; ``example`` is one crossing edge, which
    certifies the hard vote's sensitivity √2, or None: then every edge was checked and none crosses.
    """

    crossing: int
    total: int
    by_attribute: Mapping[str, Share]
    example: RecordEdge | None

    @property
    def share(self) -> float:
        """The share of edges that cross, in [0, 1]; 0 for a policy without edges."""
        return self.crossing / self.total if self.total else 0.0


def crossings(policy: Policy, candidates: Codes, watch: Watch | None = None) -> Crossings:
    """Count the crossing edges of the whole product domain, exactly, for candidates (m, d) (paper §5.3).

    Every setting of the other attributes counts. Participation edges are left out: they have no second record.
    ``watch`` is told the share done, in [0, 1], now and then; an exception it raises ends the count.
    Raises DomainTooLargeError, with the size, for more records than can be walked, VoteError without candidates.

    >>> from bfsoft import Domain, Numeric, Threshold
    >>> policy = Policy(Domain([Numeric("age", 20, 29)]), {"age": Threshold(2)})
    >>> found = crossings(policy, np.array([[2], [7]]))
    >>> found.crossing, found.total, str(found.example)
    (3, 17, 'age 23 → 25')
    """
    counts, first = _enumeration.count_crossings(policy, _checked(policy.domain, candidates), watch)
    totals = _totals(policy)
    by_attribute = {name: Share(counts.get(name, 0), total) for name, total in totals.items()}
    return Crossings(sum(counts.values()), sum(totals.values()), by_attribute, _record_edge(policy, first))


def _totals(policy: Policy) -> dict[str, int]:
    """How many record-level edges each protected attribute has."""
    domain = policy.domain
    counts = {name: policy.edge_count(name) for name in domain.names}
    return {name: count * (domain.size // len(domain[name].values)) for name, count in counts.items() if count}


def _checked(domain: Domain, candidates: Codes) -> Codes:
    candidates = domain.check_codes(candidates, "candidates")
    if not len(candidates):
        raise VoteError("there are no candidates to vote for; give at least one")
    return candidates


@dataclass(frozen=True)
class EdgeChanges:
    """How much each policy edge changes a vote in L2: the paper's Figure 1 for every edge at once.

    ``counts`` (2, CELLS) are record-level edges by the soft vote's change, which parts [0, √2] evenly; row 0 for
    edges that do not cross (the hard vote changes by 0), row 1 for those that cross (it changes by √2). ``mean``,
    ``least`` and ``most`` (2,) are of the soft change, NaN for a row without edges. ``looked_at`` edges of ``total``
    were computed; where they are fewer, whole lines were drawn at random with ``seed``, and ``counts`` estimates all.
    """

    tau: float
    counts: np.ndarray
    mean: np.ndarray
    least: np.ndarray
    most: np.ndarray
    looked_at: int
    total: int
    seed: int | None

    @property
    def exact(self) -> bool:
        """Whether every edge was computed."""
        return self.seed is None

    @property
    def edges(self) -> np.ndarray:
        """The limits of the cells, (CELLS + 1,), from 0 to √2."""
        return np.linspace(0.0, SQRT2, self.counts.shape[1] + 1)

    def quantile(self, crosses: bool, q: float) -> float:
        """The soft change that a share ``q`` of these edges stay below, to within √2 / CELLS; NaN without edges."""
        row = np.cumsum(self.counts[int(crosses)])
        if row[-1] == 0:
            return math.nan
        cell = int(np.searchsorted(row, q * row[-1]))
        return float(np.clip((cell + 0.5) * SQRT2 / len(row), self.least[int(crosses)], self.most[int(crosses)]))


def edge_changes(
    policy: Policy,
    candidates: Codes,
    tau: float,
    *,
    most_work: float = MOST_WORK,
    seed: int = 0,
    watch: Watch | None = None,
) -> EdgeChanges:
    """How much every record-level policy edge changes the hard and the soft vote on candidates (m, d), in L2.

    The whole product domain where that takes at most about ``most_work`` elementary steps, else a sample: lines
    (all attributes but one held fixed) drawn evenly, with ``seed``, and every edge along them.
    ``watch`` is told the share done; an exception it raises ends the count. Raises VoteError for a bad τ or without
    candidates, DomainTooLargeError, with the size, where lines cannot even be numbered.
    """
    candidates, tau = _checked(policy.domain, candidates), SoftVote(tau).tau
    protected = _enumeration._protected(policy, candidates)
    for lines in protected:
        if not lines.numbered:
            raise DomainTooLargeError(
                f"the product domain has {policy.domain.size:,} records, too many to sample edges from; use the "
                "closed-form bound, or a domain with fewer attributes or wider steps"
            )
    slower = 1 if _kernels.compiled() is not None else _NUMPY_SLOWER
    work = sum(lines.count * _work_of_a_line(lines) for lines in protected) * slower
    kept = min(1.0, most_work / work) if work else 1.0
    counts, sums = np.zeros((2, CELLS)), np.array([[0.0, math.inf, -math.inf]] * 2)
    total, looked_at, done = sum(_totals(policy).values()), 0, 0
    chosen = [_chosen_lines(lines, kept, seed) for lines in protected]
    planned = sum(rows if isinstance(rows, int) else len(rows) for rows in chosen)
    for lines, rows in zip(protected, chosen, strict=True):
        number = rows if isinstance(rows, int) else len(rows)
        each = lines.count / number
        measure = _Changes(lines, tau)
        for part in _parts(rows):
            own, gathered = measure.along(part)
            counts += own * each
            sums[:, 0] += gathered[:, 0] * each
            sums[:, 1] = np.minimum(sums[:, 1], gathered[:, 1])
            sums[:, 2] = np.maximum(sums[:, 2], gathered[:, 2])
            done += len(part)
            if watch is not None:
                watch(done / planned)
        looked_at += number * len(lines.edges)
    still = total - sum(lines.count * len(lines.edges) for lines in protected)
    if still:  # edges of attributes without weight, between records at distance 0: no vote can change
        counts[0, 0] += still
        sums[0, 1], sums[0, 2] = 0.0, max(sums[0, 2], 0.0)
    number = counts.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = sums[:, 0] / number
    least, most = (np.where(number > 0, column, math.nan) for column in (sums[:, 1], sums[:, 2]))
    return EdgeChanges(tau, counts, mean, least, most, looked_at + still, total, seed if kept < 1 else None)


def _work_of_a_line(lines: Any) -> int:
    bins = len(lines.codes)
    return 2 * len(lines.candidates) + bins * (2 * lines.domain.shape[lines.position] + len(lines.edges))


def _chosen_lines(lines: Any, kept: float, seed: int) -> int | np.ndarray:
    """All lines, as their number, or a sorted sample of their numbers."""
    number = max(1, math.ceil(kept * lines.count))
    if number >= lines.count:
        return int(lines.count)
    draw = np.random.default_rng([seed, lines.position])
    if lines.count < 1 << 22:
        return np.sort(draw.choice(lines.count, number, replace=False))
    # Among so many lines a few repeats do not matter, and each is still drawn evenly.
    return np.sort(draw.integers(0, lines.count, number))


def _parts(rows: int | np.ndarray) -> Iterator[np.ndarray]:
    """Lines in runs short enough that progress moves and a stop is heard."""
    for start in range(0, rows if isinstance(rows, int) else len(rows), _RUN):
        if isinstance(rows, int):
            yield np.arange(start, min(start + _RUN, rows), dtype=np.int64)
        else:
            yield rows[start : start + _RUN]


class _Changes:
    """The tables of one attribute's lines for one temperature, and the changes along given lines."""

    def __init__(self, lines: Any, tau: float) -> None:
        self.lines, self.tau = lines, tau
        domain, m = lines.domain, len(lines.candidates)
        dtype = _kernels.key_dtype(domain, m)
        self.products = tau >= _enumeration._SAFE_TAU
        usable = dtype is not None and (self.products or domain.denominator < 2**53)
        self.compiled = _kernels.compiled() is not None and usable
        if not self.compiled:
            return

        def of_keys(j: int, steps: np.ndarray) -> np.ndarray:
            return steps * (domain.multipliers[j] * m)

        def of_factors(j: int, steps: np.ndarray) -> np.ndarray:
            return _kernels.factor(domain, j, steps, tau) if self.products else steps * float(domain.multipliers[j])

        self.keys, self.offsets = lines.tables(of_keys, dtype)
        self.factors, _ = lines.tables(of_factors, float)
        self.along_keys, self.along_factors = lines.along(of_keys, dtype), lines.along(of_factors, float)
        self.index = lines.index.astype(dtype)
        with np.errstate(over="ignore"):
            self.scale = float(min(np.float64(1.0) / domain.denominator / tau, np.finfo(float).max))

    def along(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Counts (2, CELLS) and sums (2, 3) over these lines; the same on any number of threads."""
        if not self.compiled:
            return self._in_numpy(rows)
        from . import _compiled_maps

        lines = self.lines
        blocks = min(_kernels.BLOCKS, len(rows))
        cuts = np.linspace(0, len(rows), blocks + 1).astype(int)
        shape = np.array(lines.shape, dtype=np.int64)
        counts = np.zeros((blocks, 2, CELLS), dtype=np.int64)
        sums = np.tile(np.array([[0.0, math.inf, -math.inf]] * 2), (blocks, 1, 1))

        def work(first: int, last: int) -> None:
            for block in range(first, last):
                _compiled_maps.edge_changes(
                    rows[cuts[block] : cuts[block + 1]], shape, self.keys, self.factors, self.offsets, self.index,
                    lines.bins, self.along_keys, self.along_factors, lines.edges, self.scale, self.products,
                    counts[block], sums[block],
                )  # fmt: skip

        _kernels.in_blocks(work, blocks)
        gathered = np.stack([sums[:, :, 0].sum(axis=0), sums[:, :, 1].min(axis=0), sums[:, :, 2].max(axis=0)], axis=1)
        return counts.sum(axis=0), gathered

    def _in_numpy(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lines, domain = self.lines, self.lines.domain
        counts, sums = np.zeros((2, CELLS)), np.array([[0.0, math.inf, -math.inf]] * 2)
        candidates = lines.candidates[np.argsort(lines.index)]
        for row in rows.tolist():
            records = lines.records(np.array([row]))
            votes = _reference.soft_responses(domain, records, candidates, self.tau)
            nearest = _kernels.nearest(domain, records, candidates)
            for start in range(0, len(lines.edges), 1024):
                a, b = lines.edges[start : start + 1024].T
                change = np.sqrt(((votes[a] - votes[b]) ** 2).sum(axis=1))
                crosses = nearest[a] != nearest[b]
                for side in (0, 1):
                    own = change[crosses == side]
                    if len(own):
                        cell = np.minimum((own * (CELLS / SQRT2)).astype(int), CELLS - 1)
                        counts[side] += np.bincount(cell, minlength=CELLS)
                        sums[side] += [own.sum(), 0.0, 0.0]
                        sums[side, 1] = min(sums[side, 1], own.min())
                        sums[side, 2] = max(sums[side, 2], own.max())
        return counts, sums


def sensitivity_curve(
    policy: Policy, candidates: Codes, taus: Iterable[float], watch: Watch | None = None
) -> Iterator[dict[str, float]]:
    """Bound and exact soft L2 sensitivity on these candidates for each τ, as they are found (paper, Figure 7).

    Rows have tau, bound, exact, hard, the hard vote's exact sensitivity, and values: the exact one of changed values
    alone, which participation's floor may lift to ``exact``. Each exact one is a search of the whole domain. Raises
    DomainTooLargeError where the domain cannot be enumerated.
    """
    taus, edges_alone = list(taus), Policy(policy.domain, policy.rules)
    hard = exact_sensitivity(policy, HardVote(), candidates).l2
    for number, tau in enumerate(taus, start=1):
        vote = SoftVote(tau)
        values = exact_sensitivity(edges_alone, vote, candidates)
        exact = _with_floor(policy, values.l1, values.l2).l2
        if watch is not None:
            watch(number / len(taus))
        bound = sensitivity_bound(policy, vote).l2
        yield {"tau": vote.tau, "bound": bound, "exact": exact, "hard": hard, "values": values.l2}


def attaining_candidates(policy: Policy, record: Codes | None = None) -> Codes:
    """Two candidates, (2, d), on which a policy edge attains the soft bound √2 tanh(r/2τ) at every τ (paper §5.4, E.3).

    They stand at the two ends of the policy's widest edge; the other attributes are as in ``record`` (d,), or the
    first values. Raises PolicyError for a policy without an edge of some length.
    """
    widest = policy.widest_edge
    if widest is None or widest.length == 0:
        raise PolicyError("the policy has no edge of any length, so its bound is 0; add an edge to attain more")
    domain = policy.domain
    base = _one(domain, np.zeros(len(domain.names), dtype=np.int64) if record is None else record)
    ends = np.repeat(base[None, :], 2, axis=0)
    ends[:, domain.position(widest.attribute)] = [domain[widest.attribute].code(end) for end in (widest.a, widest.b)]
    return ends


# --- a plane of two attributes ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plane:
    """A slice of the domain: two attributes free, the others as in ``record`` (d,) codes.

    Grids over it have shape (values of ``down``, values of ``across``).
    """

    domain: Domain
    across: str
    down: str
    record: Codes

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.domain[self.down].values), len(self.domain[self.across].values)

    @property
    def positions(self) -> tuple[int, int]:
        """The places of ``down`` and ``across`` among the domain's attributes."""
        return self.domain.position(self.down), self.domain.position(self.across)

    @property
    def codes(self) -> Codes:
        """Every record of the plane, (cells, d), row by row."""
        rows, columns = self.shape
        codes = np.repeat(self.record[None, :], rows * columns, axis=0)
        down, across = self.positions
        codes[:, down], codes[:, across] = np.repeat(np.arange(rows), columns), np.tile(np.arange(columns), rows)
        return codes


def _one(domain: Domain, record: Codes) -> Codes:
    record = np.asarray(record)
    if record.ndim != 1:
        raise DataError(f"a record must have shape ({len(domain.names)},), got {record.shape}")
    return domain.check_codes(record[None, :], "record")[0].copy()


# A picture of more cells is neither drawn nor read.
MOST_CELLS = 1_000_000


def plane(domain: Domain, across: str, down: str, record: Codes | None = None) -> Plane:
    """The plane of two attributes with the others as in ``record`` (d,) codes, or at their first values.

    Raises DomainError for unknown or equal attributes or more than a million cells, DataError for a bad record.
    """
    for name in (across, down):
        domain.position(name)
    if across == down:
        raise DomainError(f"a plane needs two different attributes, got {across!r} twice; choose another for one axis")
    base = np.zeros(len(domain.names), dtype=np.int64) if record is None else _one(domain, record)
    drawn = Plane(domain, across, down, base)
    if math.prod(drawn.shape) > MOST_CELLS:
        raise DomainTooLargeError(
            f"the plane of {across!r} and {down!r} has {math.prod(drawn.shape):,} cells, too many to draw (at most "
            f"{MOST_CELLS:,}); choose attributes with fewer values, or wider steps"
        )
    return drawn


def regions(plane: Plane, candidates: Codes) -> np.ndarray:
    """The nearest candidate of every cell of the plane, exactly, ties to the lowest index; plane.shape, int64."""
    domain, candidates = plane.domain, _checked(plane.domain, candidates)
    m = len(candidates)
    dtype = _kernels.key_dtype(domain, m)
    if _kernels.compiled() is None or dtype is None:
        return _kernels.nearest(domain, plane.codes, candidates).reshape(plane.shape)
    from . import _compiled_maps

    def keys(position: int, values: np.ndarray) -> np.ndarray:
        def scaled(steps: np.ndarray) -> np.ndarray:
            return (steps * (domain.multipliers[position] * m)).astype(dtype)

        return np.ascontiguousarray(_kernels.attribute_rows(domain, position, values, candidates, scaled))

    down, across = plane.positions
    rest = np.arange(m, dtype=dtype)
    for position in set(range(len(domain.names))) - {down, across}:
        rest += keys(position, plane.record[position : position + 1])[0]
    out = np.empty(plane.shape, dtype=np.int64)
    columns, rows = np.arange(plane.shape[1]), np.arange(plane.shape[0])
    _compiled_maps.nearest_on_plane(keys(across, columns), keys(down, rows), rest, out)
    return out


def mix(plane: Plane, candidates: Codes, tau: float) -> np.ndarray:
    """The soft vote of every cell of the plane, (rows, columns, m); it tends to ``regions`` as τ → 0, ties apart."""
    votes = SoftVote(tau).responses(plane.domain, plane.codes, _checked(plane.domain, candidates))
    return votes.reshape(*plane.shape, -1)


def without_cell(nearest: np.ndarray, m: int) -> np.ndarray:
    """The candidates that own no cell of these regions: they live elsewhere in the domain; sorted indices."""
    return np.setdiff1d(np.arange(m), nearest)


def copies(domain: Domain, candidates: Codes) -> np.ndarray:
    """The candidates at distance 0 from an earlier one, which takes every tie; sorted indices.

    They own no record anywhere. Every other candidate owns at least its own record, for nobody is nearer to it.
    """
    weighted = candidates[:, np.array([multiplier > 0 for multiplier in domain.multipliers])]
    _, first = np.unique(weighted, axis=0, return_index=True)
    return np.setdiff1d(np.arange(len(candidates)), first)


def colouring(nearest: np.ndarray) -> dict[int, int]:
    """A colour number for each candidate with a cell, such that regions that touch have different ones.

    Greedy over the most touched regions first; few numbers are used, the lowest most.
    """
    touching: dict[int, set[int]] = {int(k): set() for k in np.unique(nearest)}
    for first, second in ((nearest[:, :-1], nearest[:, 1:]), (nearest[:-1], nearest[1:])):
        apart = first != second
        for a, b in np.unique(np.column_stack([first[apart], second[apart]]), axis=0).tolist():
            touching[a].add(b)
            touching[b].add(a)
    colours: dict[int, int] = {}
    for k in sorted(touching, key=lambda k: (-len(touching[k]), k)):
        taken = {colours[other] for other in touching[k] if other in colours}
        colours[k] = next(number for number in range(len(taken) + 1) if number not in taken)
    return colours


@dataclass(frozen=True)
class PlaneEdges:
    """One attribute's edges on a plane: ``edges`` (e, 2) codes, and which of them cross on each of its lines.

    ``crossing`` is (e, lines), where line i holds the plane's other attribute at its i-th value.
    """

    attribute: str
    edges: np.ndarray
    crossing: np.ndarray

    @property
    def share(self) -> Share:
        return Share(int(self.crossing.sum()), self.crossing.size)


def plane_edges(policy: Policy, plane: Plane, nearest: np.ndarray) -> tuple[PlaneEdges, PlaneEdges]:
    """The policy's edges on the plane, along ``across`` and along ``down``; ``nearest`` are the plane's regions."""
    along = []
    for name, lines in ((plane.across, nearest.T), (plane.down, nearest)):
        edges = policy.edges(name)
        along.append(PlaneEdges(name, edges, lines[edges[:, 0]] != lines[edges[:, 1]]))
    return along[0], along[1]


# --- a walk ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Walk:
    """A record moved along one attribute, all else fixed: its vote at every value, and how far it is from the start.

    ``kind`` is the attribute's: a category's values may be numbers too. ``hard`` and ``soft`` are votes (values, m);
    ``hard_change`` and ``soft_change`` (values,) are L2 distances to the vote at ``start``, a code; ``ceiling``
    (values,) is √2 tanh(d/2τ) at distance d from the start, which the soft change cannot pass; ``joined`` (values,)
    marks the policy's neighbours of the start.
    """

    attribute: str
    kind: str
    values: tuple[Any, ...]
    start: int
    hard: np.ndarray
    soft: np.ndarray
    hard_change: np.ndarray
    soft_change: np.ndarray
    ceiling: np.ndarray
    joined: np.ndarray


def walk(policy: Policy, record: Codes, attribute: str, candidates: Codes, tau: float) -> Walk:
    """Move a record, (d,) codes, along an attribute and watch both votes over candidates (m, d).

    Raises DomainError for an unknown attribute, DataError for a record outside the domain, VoteError for a bad τ,
    DomainTooLargeError for an attribute of too many values.
    """
    domain, soft = policy.domain, SoftVote(tau)
    position, record, candidates = domain.position(attribute), _one(domain, record), _checked(domain, candidates)
    values = domain.attributes[position].values
    if len(values) * len(candidates) > _MOST_WALKED:
        raise DomainTooLargeError(
            f"{attribute!r} has {len(values):,} values, too many to walk with {len(candidates):,} candidates (at most "
            f"{_MOST_WALKED:,} votes); choose another attribute, fewer candidates or wider steps"
        )
    records = np.repeat(record[None, :], len(values), axis=0)
    records[:, position] = np.arange(len(values))
    start = int(record[position])
    hard_votes = HardVote().responses(domain, records, candidates)
    soft_votes = soft.responses(domain, records, candidates)
    distances = domain.distance(records, record[None, :])[:, 0]
    rule = policy.rules.get(attribute)
    return Walk(
        attribute, domain[attribute].kind, values, start, hard_votes, soft_votes,
        np.linalg.norm(hard_votes - hard_votes[start], axis=1),
        np.linalg.norm(soft_votes - soft_votes[start], axis=1),
        np.array([SQRT2 * shift_ratio(distance, soft.tau) for distance in distances]),
        rule.joined(domain[attribute], start) if rule else np.zeros(len(values), dtype=bool),
    )  # fmt: skip


def walk_frame(walked: Walk) -> pd.DataFrame:
    """A walk as a tidy table: columns value, code, hard, soft, ceiling, joined."""
    return pd.DataFrame(
        {
            "value": [*map(str, walked.values)],
            "code": np.arange(len(walked.values)),
            "hard": walked.hard_change,
            "soft": walked.soft_change,
            "ceiling": walked.ceiling,
            "joined": walked.joined,
        }
    )
