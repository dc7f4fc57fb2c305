"""The field's definitions written out plainly, in fractions and loops, to hold the package against.

Nothing here calls the package's own distances, graphs, votes or searches: only the declarations it was given
(an attribute's values, a tree, a rule's parameters) are read.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

import bfsoft as bf

Record = tuple[int, ...]


def fraction(number: Any) -> Fraction:
    """The number as it is written in decimals."""
    return Fraction(str(number))


def tree_distances(tree: Any) -> dict[tuple[Any, Any], int]:
    """Path lengths between all leaves, by breadth-first search over the tree's links."""
    links: dict[int, list[int]] = {0: []}
    leaves: list[tuple[int, Any]] = []

    def add(parent: int) -> int:
        node = len(links)
        links[node] = [parent]
        links[parent].append(node)
        return node

    def grow(node: int, below: Any) -> None:
        if isinstance(below, Mapping):
            for key, child in below.items():
                if child is None:
                    leaves.append((add(node), key))
                else:
                    grow(add(node), child)
        else:
            for child in below:
                if isinstance(child, Mapping):
                    grow(node, child)
                else:
                    leaves.append((add(node), child))

    grow(0, tree)
    lengths = {}
    for start, leaf in leaves:
        seen, waiting = {start: 0}, deque([start])
        while waiting:
            node = waiting.popleft()
            for other in links[node]:
                if other not in seen:
                    seen[other] = seen[node] + 1
                    waiting.append(other)
        for end, other_leaf in leaves:
            lengths[leaf, other_leaf] = seen[end]
    return lengths


def units(attribute: Any) -> list[list[Fraction]]:
    """Distances in the attribute's own units: years, tree steps, 1 between categories."""
    values = attribute.values
    if attribute.kind == "numeric":
        return [[abs(fraction(a) - fraction(b)) for b in values] for a in values]
    if attribute.kind == "hierarchical":
        lengths = tree_distances(attribute.tree)
        return [[Fraction(lengths[a, b]) for b in values] for a in values]
    return [[Fraction(a != b) for b in values] for a in values]


def deltas(attribute: Any) -> list[list[Fraction]]:
    """δ in [0, 1]: units over the largest."""
    table = units(attribute)
    largest = max(map(max, table)) or Fraction(1)
    return [[length / largest for length in row] for row in table]


class Gower:
    """Weighted Gower distance between code tuples, exact."""

    def __init__(self, domain: bf.Domain, weights: Mapping[str, Any] | None = None) -> None:
        given = {name: Fraction(1) for name in domain.names} if weights is None else weights
        total = sum(fraction(given[name]) for name in domain.names)
        self.weights = [fraction(given[name]) / total for name in domain.names]
        self.tables = [deltas(attribute) for attribute in domain.attributes]

    def __call__(self, x: Sequence[int], y: Sequence[int]) -> Fraction:
        return sum(
            (w * table[a][b] for w, table, a, b in zip(self.weights, self.tables, x, y, strict=True)), Fraction(0)
        )


def nearest(distances: Sequence[Fraction]) -> int:
    """The hard vote: the least distance, the lowest index of equals."""
    return min(range(len(distances)), key=lambda k: (distances[k], k))


def soft(distances: Sequence[Fraction], tau: float) -> list[float]:
    """The soft vote: softmax of −d/τ, from exact distances beyond the nearest."""
    least = min(distances)
    weights = []
    for distance in distances:
        exponent = (distance - least) / Fraction(tau)
        weights.append(0.0 if exponent > 800 else math.exp(-float(exponent)))
    return [weight / math.fsum(weights) for weight in weights]


def edges(attribute: Any, rule: bf.policy.Rule | None) -> set[tuple[int, int]]:
    """The pairs of codes that a rule joins, from what THEORY says the rule means."""
    values, everyone = attribute.values, range(len(attribute.values))
    pairs = set(itertools.combinations(everyone, 2))
    if rule is None:
        return set()
    if isinstance(rule, bf.Threshold):
        apart = units(attribute)
        return {(a, b) for a, b in pairs if math.isinf(rule.theta) or apart[a][b] <= fraction(rule.theta)}
    if isinstance(rule, bf.Blocks):
        return {(a, b) for a, b in pairs if any(values[a] in block and values[b] in block for block in rule.blocks)}
    if isinstance(rule, bf.Complete):
        return pairs
    listed = {frozenset((values.index(a), values.index(b))) for a, b in rule.edges}
    return {(a, b) for a, b in pairs if frozenset((a, b)) in listed}


def records(domain: bf.Domain) -> list[Record]:
    """Every record of the product domain."""
    return list(itertools.product(*(range(len(attribute.values)) for attribute in domain.attributes)))


def neighbours(policy: bf.Policy) -> list[tuple[str, Record, Record]]:
    """All pairs of records that differ in one attribute only, along an edge of its graph; each pair once."""
    domain, found = policy.domain, []
    for position, attribute in enumerate(domain.attributes):
        joined = edges(attribute, policy.rules.get(attribute.name))
        for record in records(domain):
            for a, b in joined:
                if record[position] == a:
                    found.append((attribute.name, record, (*record[:position], b, *record[position + 1 :])))
    return found


def norms(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """L1 and L2 of a difference."""
    moved = [a - b for a, b in zip(first, second, strict=True)]
    return math.fsum(map(abs, moved)), math.sqrt(math.fsum(x * x for x in moved))


def hops(count: int, joined: set[tuple[int, int]]) -> np.ndarray:
    """Hop distances between values by breadth-first search; inf where no path leads."""
    table = np.full((count, count), np.inf)
    for start in range(count):
        table[start, start] = 0
        waiting = deque([start])
        while waiting:
            node = waiting.popleft()
            for a, b in joined:
                for here, there in ((a, b), (b, a)):
                    if here == node and table[start, there] == np.inf:
                        table[start, there] = table[start, node] + 1
                        waiting.append(there)
    return table
