"""Hypothesis strategies: small domains of every kind of attribute, with policies, candidates and temperatures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from brute import Gower
from hypothesis import strategies as st

import bfsoft as bf

# From where the vote is flat to where every factor underflows; both sides of each path's limit (1/300, 1/600).
TEMPERATURES = [1e-300, 1e-9, 1e-4, 1 / 700, 1 / 599, 1 / 450, 1 / 301, 0.004, 0.015, 0.03, 0.06, 0.2, 1.0, 40.0]

TREES: list[Any] = [
    ["only"],
    {"a": ["a1", "a2"], "b": ["b1"]},
    {"a": ["a1", "a2"], "b": ["b1", "b2"], "c": None},
    {"top": {"left": ["x", "y"], "right": {"deep": ["z"], "w": None}}, "v": None},
    [{"pair": ["p", "q"]}, "lone"],
]


@dataclass(frozen=True)
class Case:
    """A domain with the weights it was given, a policy over it, and candidates."""

    domain: bf.Domain
    weights: dict[str, Any] | None
    policy: bf.Policy
    candidates: np.ndarray

    @cached_property
    def gower(self) -> Gower:
        return Gower(self.domain, self.weights)

    def distances(self, record: Any) -> list[Any]:
        return [self.gower(record, candidate) for candidate in self.candidates.tolist()]


@st.composite
def attributes(draw: st.DrawFn, name: str, most: int = 5) -> Any:
    kind = draw(st.sampled_from(["numeric", "stepped", "categorical", "hierarchical"]))
    if kind == "numeric":
        low = draw(st.integers(-20, 20))
        return bf.Numeric(name, low, low + draw(st.integers(0, most - 1)))
    if kind == "stepped":
        step = draw(st.sampled_from([0.1, 0.25, 0.3, 2, 500]))
        return bf.Numeric(name, 0, float(round(step * draw(st.integers(0, most - 1)), 6)), step)
    if kind == "categorical":
        return bf.Categorical(name, [f"{name}{i}" for i in range(draw(st.integers(1, most - 1)))])
    return bf.Hierarchical(name, draw(st.sampled_from(TREES)))


@st.composite
def rules(draw: st.DrawFn, attribute: Any) -> Any:
    values = attribute.values
    kind = draw(st.sampled_from(["threshold", "blocks", "complete", "edges", "none"]))
    if kind == "threshold":
        unit = attribute.step if attribute.kind == "numeric" else 1
        return bf.Threshold(draw(st.sampled_from([0, unit, round(unit * 2, 6), round(unit * 2.5, 6), float("inf")])))
    if kind == "blocks":
        where = draw(st.lists(st.integers(0, 2), min_size=len(values), max_size=len(values)))
        return bf.Blocks([[v for v, w in zip(values, where, strict=True) if w == b] for b in (1, 2)])
    if kind == "complete":
        return bf.Complete()
    if kind == "edges" and len(values) > 1:
        pair = st.lists(st.sampled_from(values), min_size=2, max_size=2, unique=True)
        return bf.Edges([tuple(edge) for edge in draw(st.lists(pair, max_size=4))])
    return None


@st.composite
def domains(draw: st.DrawFn, most_attributes: int = 3) -> tuple[bf.Domain, dict[str, Any] | None]:
    listed = [draw(attributes(f"x{i}")) for i in range(draw(st.integers(1, most_attributes)))]
    weights = None
    if draw(st.booleans()):
        numbers = st.sampled_from([0, 1, 2, 3, 0.1, 0.25, 0.7])
        given_weights = [draw(numbers) for _ in listed]
        weights = {a.name: w for a, w in zip(listed, given_weights, strict=True)} if any(given_weights) else None
    return bf.Domain(listed, weights), weights


def codes(domain: bf.Domain, least: int, most: int) -> st.SearchStrategy[np.ndarray]:
    one = st.tuples(*(st.integers(0, len(attribute.values) - 1) for attribute in domain.attributes))
    return st.lists(one, min_size=least, max_size=most).map(
        lambda rows: np.array(rows, dtype=np.int64).reshape(-1, len(domain.names))
    )


@st.composite
def cases(draw: st.DrawFn, participation: bool | None = False, most_candidates: int = 6) -> Case:
    domain, weights = draw(domains())
    chosen = {a.name: rule for a in domain.attributes if (rule := draw(rules(a))) is not None}
    part = draw(st.booleans()) if participation is None else participation
    return Case(domain, weights, bf.Policy(domain, chosen, part), draw(codes(domain, 1, most_candidates)))


temperatures = st.sampled_from(TEMPERATURES) | st.floats(0.001, 2)
