"""Policies: which substitutions are protected, how far they reach, and what the policy graph leaves open.

A policy knows its domain and nothing of votes, noise or data. Attribute j has a policy graph on its values;
an edge (a, b) says that nobody may tell a from b by much (THEORY, "Policy graph and reach").
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from .domain import Domain, _shown, rational
from .errors import PolicyError

if TYPE_CHECKING:
    from .privacy import Budget
    from .protection import Protection
    from .votes import Vote

# Listing more edges than this would take gigabytes; reach and counts never need the list.
MOST_EDGES = 20_000_000


@dataclass(frozen=True)
class Edge:
    """A protected substitution of one attribute: its two values and their weighted distance w_j δ_j."""

    attribute: str
    a: Any
    b: Any
    length: float

    def __str__(self) -> str:
        return f"{self.attribute} {self.a} ↔ {self.b} ({self.length:.6g})"


class Rule:
    """How one attribute's policy graph is drawn; the subclasses are the kinds of the paper and the free drawing."""

    def check(self, attribute: Any) -> None:
        """Raise PolicyError when the rule does not fit the attribute."""

    def pairs(self, attribute: Any) -> np.ndarray:
        """The edges as (e, 2) codes with the smaller code first, in lexicographic order, without repeats."""
        raise NotImplementedError

    def count(self, attribute: Any) -> int:
        """How many edges there are, without listing them where that can be avoided."""
        return len(self.pairs(attribute))

    def hops(self, attribute: Any) -> np.ndarray | None:
        """Hop distances (n_values, n_values) where the rule has a formula for them, else None: walk the graph."""
        return None

    def groups(self, attribute: Any) -> np.ndarray | None:
        """A label (n_values,) that exactly the values of one component share, without listing edges; else None."""
        return None

    def joined(self, attribute: Any, code: int) -> np.ndarray:
        """Which values have an edge to that of a code, (n_values,) booleans, without listing edges where avoidable."""
        pairs, joined = self.pairs(attribute), np.zeros(len(attribute.values), dtype=bool)
        joined[pairs[pairs[:, 0] == code, 1]] = joined[pairs[pairs[:, 1] == code, 0]] = True
        return joined

    def widest(self, attribute: Any) -> tuple[int, int] | None:
        """The codes of the edge with the most steps (the first of several), or None without edges."""
        pairs = self.pairs(attribute)
        if not len(pairs):
            return None
        first = pairs[int(np.argmax(attribute.steps(pairs[:, 0], pairs[:, 1])))]
        return int(first[0]), int(first[1])


def _all_pairs(count: int) -> np.ndarray:
    return np.column_stack(np.triu_indices(count, 1)).astype(np.int64)


@dataclass(frozen=True)
class Threshold(Rule):
    """Join values at most ``theta`` apart, in the attribute's own units: years for ages, steps in a tree.

    Distinct values of a flat categorical attribute are 1 apart. ``theta`` = 0 protects nothing.
    """

    theta: float

    def check(self, attribute: Any) -> None:
        theta = self.theta
        if isinstance(theta, bool) or not isinstance(theta, numbers.Real) or math.isnan(theta):
            raise PolicyError(f"{attribute.name!r}: the threshold θ must be a number, got {theta!r}")
        if theta < 0:
            raise PolicyError(f"{attribute.name!r}: the threshold θ is negative ({theta!r}); use 0 or more")

    def _within(self, attribute: Any) -> int:
        """θ in whole steps, never more than the span."""
        if math.isinf(self.theta):
            return attribute.span
        unit = rational(attribute.step) if attribute.kind == "numeric" else 1
        return min(int(rational(self.theta) / unit), attribute.span)

    def pairs(self, attribute: Any) -> np.ndarray:
        within, count = self._within(attribute), len(attribute.values)
        if attribute.kind == "numeric":
            first = np.repeat(np.arange(count), np.minimum(within, count - 1 - np.arange(count)))
            offset = np.concatenate([np.arange(1, min(within, count - 1 - a) + 1) for a in range(count)])
            return np.column_stack([first, first + offset]).astype(np.int64)
        pairs = _all_pairs(count)
        return pairs[attribute.steps(pairs[:, 0], pairs[:, 1]) <= within]

    def count(self, attribute: Any) -> int:
        within, count = self._within(attribute), len(attribute.values)
        if attribute.kind == "categorical":
            return math.comb(count, 2) if within else 0
        if attribute.kind != "numeric":
            return len(self.pairs(attribute))
        return within * count - within * (within + 1) // 2

    def hops(self, attribute: Any) -> np.ndarray | None:
        within = self._within(attribute)
        if attribute.kind != "numeric" or not within:
            return None
        codes = np.arange(len(attribute.values))
        # On a line the fewest hops are as long as they may be.
        return np.ceil(attribute.steps(codes[:, None], codes[None, :]) / within)

    def joined(self, attribute: Any, code: int) -> np.ndarray:
        codes = np.arange(len(attribute.values))
        return (codes != code) & (attribute.steps(code, codes) <= self._within(attribute))

    def groups(self, attribute: Any) -> np.ndarray | None:
        within, count = self._within(attribute), len(attribute.values)
        if attribute.kind == "hierarchical":
            return None
        return np.zeros(count, dtype=np.int64) if within else np.arange(count)

    def widest(self, attribute: Any) -> tuple[int, int] | None:
        if attribute.kind == "hierarchical":
            return super().widest(attribute)
        within = self._within(attribute)
        return (0, within) if within else None


@dataclass(frozen=True)
class Blocks(Rule):
    """Join all values within each block; blocks must not overlap, and values in no block stay unprotected."""

    blocks: Sequence[Sequence[Any]]

    def __post_init__(self) -> None:
        if isinstance(self.blocks, str) or not isinstance(self.blocks, Iterable):
            raise PolicyError(f"blocks must be a list of lists of values, got {self.blocks!r}")
        blocks = tuple(self.blocks)
        for block in blocks:
            if isinstance(block, str) or not isinstance(block, Iterable):
                raise PolicyError(f"a block must be a list of values, got {block!r}")
        object.__setattr__(self, "blocks", tuple(tuple(block) for block in blocks))

    def check(self, attribute: Any) -> None:
        self._codes(attribute)

    def _codes(self, attribute: Any) -> list[list[int]]:
        seen: dict[int, int] = {}
        blocks = []
        for number, block in enumerate(self.blocks, start=1):
            codes = [_code(attribute, value) for value in block]
            for value, code in zip(block, codes, strict=True):
                if code in seen:
                    other = f"block {seen[code]} already" if seen[code] != number else f"block {number} twice"
                    raise PolicyError(
                        f"{attribute.name!r}: {value!r} is in {other} and blocks must not overlap; "
                        f"take it out of block {number}"
                    )
                seen[code] = number
            blocks.append(sorted(codes))
        return blocks

    def pairs(self, attribute: Any) -> np.ndarray:
        joined = [np.array(block)[_all_pairs(len(block))] for block in self._codes(attribute) if len(block) > 1]
        return _canonical(np.concatenate(joined)) if joined else np.empty((0, 2), dtype=np.int64)

    def count(self, attribute: Any) -> int:
        return sum(math.comb(len(block), 2) for block in self.blocks)

    def groups(self, attribute: Any) -> np.ndarray | None:
        labels = np.arange(len(attribute.values))
        for block in self._codes(attribute):
            labels[block] = min(block, default=0)
        return labels

    def widest(self, attribute: Any) -> tuple[int, int] | None:
        if attribute.kind == "categorical":
            return min(((block[0], block[1]) for block in self._codes(attribute) if len(block) > 1), default=None)
        if attribute.kind != "numeric":
            return super().widest(attribute)
        ends = [(block[0], block[-1]) for block in self._codes(attribute) if len(block) > 1]
        return max(ends, key=lambda pair: (pair[1] - pair[0], -pair[0]), default=None)


@dataclass(frozen=True)
class Complete(Rule):
    """Join every pair of values."""

    def pairs(self, attribute: Any) -> np.ndarray:
        return _all_pairs(len(attribute.values))

    def count(self, attribute: Any) -> int:
        return math.comb(len(attribute.values), 2)

    def hops(self, attribute: Any) -> np.ndarray | None:
        return 1.0 - np.eye(len(attribute.values))

    def groups(self, attribute: Any) -> np.ndarray | None:
        return np.zeros(len(attribute.values), dtype=np.int64)

    def joined(self, attribute: Any, code: int) -> np.ndarray:
        return np.arange(len(attribute.values)) != code

    def widest(self, attribute: Any) -> tuple[int, int] | None:
        if attribute.kind == "hierarchical":
            return super().widest(attribute)
        return (0, attribute.span) if attribute.span else None


@dataclass(frozen=True)
class Edges(Rule):
    """Join just the listed pairs of values; a pair listed twice, or both ways round, counts once."""

    edges: Sequence[tuple[Any, Any]]

    def __post_init__(self) -> None:
        if isinstance(self.edges, str) or not isinstance(self.edges, Iterable):
            raise PolicyError(f"edges must be a list of pairs of values, got {self.edges!r}")
        edges = tuple(self.edges)
        for edge in edges:
            if isinstance(edge, str) or not isinstance(edge, Sequence | np.ndarray) or len(edge) != 2:
                raise PolicyError(f"an edge must be a pair of values, got {edge!r}")
        object.__setattr__(self, "edges", tuple((a, b) for a, b in edges))

    def check(self, attribute: Any) -> None:
        for a, b in self.edges:
            if _code(attribute, a) == _code(attribute, b):
                raise PolicyError(f"{attribute.name!r}: the edge ({a!r}, {b!r}) joins a value to itself; remove it")

    def pairs(self, attribute: Any) -> np.ndarray:
        codes = [(_code(attribute, a), _code(attribute, b)) for a, b in self.edges]
        return _canonical(np.array(codes, dtype=np.int64).reshape(-1, 2))


def _code(attribute: Any, value: Any) -> int:
    try:
        return attribute.code(value)
    except ValueError as error:
        raise PolicyError(f"the policy names an unknown value: {error}") from None


def _canonical(pairs: np.ndarray) -> np.ndarray:
    return np.unique(np.sort(pairs, axis=1), axis=0).astype(np.int64)


class Policy:
    """A policy over a domain: one rule for each protected attribute; an attribute left out is unprotected.

    ``participation`` adds the add/remove edges: that a person is in the table at all is protected too.
    Raises PolicyError for an unknown attribute or value, overlapping blocks, a negative θ, a self-loop.

    >>> from bfsoft import Domain, Numeric, Categorical
    >>> domain = Domain([Numeric("age", 17, 90), Categorical("income", ["<=50K", ">50K"])])
    >>> policy = Policy(domain, {"age": Threshold(7)})
    >>> round(policy.reach, 6), str(policy.widest_edge)
    (0.047945, 'age 17 ↔ 24 (0.0479452)')
    """

    def __init__(self, domain: Domain, rules: Mapping[str, Rule], participation: bool = False) -> None:
        if not isinstance(domain, Domain):
            raise PolicyError(f"a policy needs a Domain, got {type(domain).__name__}")
        if not isinstance(rules, Mapping):
            raise PolicyError(f"rules must map attribute names to rules, got {rules!r}")
        for name, rule in rules.items():
            if name not in domain.names:
                raise PolicyError(f"the policy names the attribute {name!r}; the domain has {_shown(domain.names)}")
            if not isinstance(rule, Rule):
                raise PolicyError(f"{name!r}: {rule!r} is no rule; use Threshold, Blocks, Complete or Edges")
            rule.check(domain[name])
        self.domain = domain
        self.rules: dict[str, Rule] = {name: rules[name] for name in domain.names if name in rules}
        self.participation = bool(participation)
        self._cache: dict[tuple[str, Hashable], Any] = {}

    def __repr__(self) -> str:
        return f"Policy({self.rules!r}, participation={self.participation})"

    def _repr_html_(self) -> str:
        """How a notebook shows it: each attribute's rule, edges, reach and widest edge."""
        rows = []
        for name in self.domain.names:
            rule, own = self.rules.get(name), self.widest(name)
            # A rule can list thousands of edges; its kind and its count say enough.
            said = (
                (repr(rule) if isinstance(rule, Threshold) else type(rule).__name__) if rule and own else "unprotected"
            )
            ends = f"{own.a} ↔ {own.b}" if own else "none"
            cells = (name, said, f"{self.edge_count(name):,}", f"{self.reaches[name]:.6g}", ends)
            rows.append("".join(f"<td>{escape(cell)}</td>" for cell in cells))
        heads = "".join(f"<th>{head}</th>" for head in ("attribute", "rule", "edges", "reach", "widest edge"))
        participation = ", participation protected" if self.participation else ""
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return (
            f"<table><caption>Policy with reach {self.reach:.6g}{participation}</caption>"
            f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Policy)
            and self.domain == other.domain
            and self.rules == other.rules
            and self.participation == other.participation
        )

    def __hash__(self) -> int:
        return hash((self.domain, tuple(self.rules), self.participation))

    def with_rule(self, attribute: str, rule: Rule | None) -> Policy:
        """The same policy with another rule for one attribute; None leaves it unprotected."""
        self.domain.position(attribute)
        rules = {name: kept for name, kept in self.rules.items() if name != attribute}
        return Policy(self.domain, rules if rule is None else {**rules, attribute: rule}, self.participation)

    def without_edge(self, edge: Edge) -> Policy:
        """The same policy less one edge; its attribute's rule becomes an edge list."""
        attribute = self.domain[edge.attribute]
        dropped = sorted((_code(attribute, edge.a), _code(attribute, edge.b)))
        kept = [pair for pair in self.edges(edge.attribute).tolist() if pair != dropped]
        named = [(attribute.values[a], attribute.values[b]) for a, b in kept]
        return self.with_rule(edge.attribute, Edges(named))

    def edges(self, attribute: str) -> np.ndarray:
        """One attribute's edges as (e, 2) codes, the smaller first, sorted; raises PolicyError beyond 20 million."""

        def listed() -> np.ndarray:
            count = self.edge_count(attribute)
            if count > MOST_EDGES:
                raise PolicyError(
                    f"{attribute!r}: the policy has {count:,} edges, too many to list (at most {MOST_EDGES:,}); "
                    "use a wider step or a smaller θ"
                )
            rule = self.rules.get(attribute)
            return rule.pairs(self.domain[attribute]) if rule else np.empty((0, 2), dtype=np.int64)

        return self._cached("edges", attribute, listed)

    def edge_count(self, attribute: str) -> int:
        """How many edges the policy graph of one attribute has."""
        values = self.domain[attribute]
        rule = self.rules.get(attribute)
        return self._cached("count", attribute, lambda: rule.count(values) if rule else 0)

    @property
    def record_edge_count(self) -> int:
        """How many pairs of records are neighbours: each edge occurs with every setting of the other attributes."""
        return sum(
            self.edge_count(name) * (self.domain.size // len(self.domain[name].values)) for name in self.domain.names
        )

    def widest(self, attribute: str) -> Edge | None:
        """The longest edge of one attribute (the first of several), or None when it has none."""
        rule, values = self.rules.get(attribute), self.domain[attribute]
        pair = rule.widest(values) if rule else None
        if pair is None:
            return None
        return Edge(attribute, values.values[pair[0]], values.values[pair[1]], self.domain.length(attribute, *pair))

    @cached_property
    def reaches(self) -> dict[str, float]:
        """r_j = w_j · max δ_j over the edges of each attribute; 0 where there are none (THEORY, "Reach")."""
        widest = {name: self.widest(name) for name in self.domain.names}
        return {name: edge.length if edge else 0.0 for name, edge in widest.items()}

    @property
    def reach(self) -> float:
        """r = max_j r_j: neighbours differ in one attribute only (THEORY, "Reach"); 0 for a policy without edges."""
        return max(self.reaches.values())

    @property
    def widest_edge(self) -> Edge | None:
        """The edge that sets the reach, or None for a policy without edges."""
        edges = [edge for edge in map(self.widest, self.domain.names) if edge]
        return max(edges, key=lambda edge: edge.length, default=None)

    @property
    def unprotected(self) -> tuple[str, ...]:
        """The attributes without a single edge: their values may be learnt exactly."""
        return tuple(name for name in self.domain.names if not self.edge_count(name))

    def _graph(self, attribute: str) -> Any:
        from scipy.sparse import coo_array

        pairs, count = self.edges(attribute), len(self.domain[attribute].values)
        return coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(count, count)).tocsr()

    def components(self, attribute: str) -> np.ndarray:
        """For each value the number of its connected component, (n_values,), numbered by first appearance."""

        def labelled() -> np.ndarray:
            rule = self.rules.get(attribute)
            labels = rule.groups(self.domain[attribute]) if rule else np.arange(len(self.domain[attribute].values))
            if labels is None:
                from scipy.sparse.csgraph import connected_components

                labels = connected_components(self._graph(attribute), directed=False)[1]
            _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
            return np.argsort(np.argsort(first))[inverse]

        return self._cached("components", attribute, labelled)

    def hops(self, attribute: str) -> np.ndarray:
        """Hop distances in the policy graph, (n_values, n_values) floats; inf between components."""

        def walked() -> np.ndarray:
            rule = self.rules.get(attribute)
            known = rule.hops(self.domain[attribute]) if rule else None
            if known is not None:
                return known
            from scipy.sparse.csgraph import shortest_path

            return shortest_path(self._graph(attribute), method="D", directed=False, unweighted=True)

        return self._cached("hops", attribute, walked)

    def neighbours(self, attribute: str, value: Any) -> list[Any]:
        """The values that a value must be confusable with, in the attribute's order; raises PolicyError if unknown."""
        code, pairs = _code(self.domain[attribute], value), self.edges(attribute)
        joined = np.concatenate([pairs[pairs[:, 0] == code, 1], pairs[pairs[:, 1] == code, 0]])
        return [self.domain[attribute].values[other] for other in np.sort(joined)]

    def unprotected_pairs(self, attribute: str) -> list[tuple[Any, Any]]:
        """The pairs of values that no path joins: the policy promises nothing about telling them apart."""
        labels, values = self.components(attribute), self.domain[attribute].values
        pairs = _all_pairs(len(values))
        apart = pairs[labels[pairs[:, 0]] != labels[pairs[:, 1]]]
        return [(values[a], values[b]) for a, b in apart.tolist()]

    def protection(self, attribute: str, vote: Vote, budget: Budget) -> Protection:
        """How well each pair of values is protected by a release; see :func:`bfsoft.protection.protection`."""
        from .protection import protection

        return protection(self, attribute, vote, budget)

    def _cached(self, what: str, attribute: str, compute: Any) -> Any:
        self.domain.position(attribute)
        key = (what, attribute)
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]
