"""How fast the core is, each number beside what it replaces, measured in the same run: ``make bench``.

The readable definitions here are what a reader of the paper would write; results are compared before times are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
import pytest

import bfsoft as bf
from bfsoft import _enumeration

TAU = 0.03
CHUNK = 2048


def best_of(runs: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest time of some runs, in seconds, and what came out."""
    times = []
    for _ in range(runs):
        start = perf_counter()
        result = work()
        times.append(perf_counter() - start)
    return min(times), result


def report(benchmark: Any, slow: float, what: str) -> float:
    """Write both times and their ratio beside the benchmark, and print them."""
    fast = benchmark.stats.stats.min
    benchmark.extra_info |= {"definition_seconds": slow, "ratio": slow / fast}
    print(f"\n{what}: {1e3 * fast:.2f} ms, definition {1e3 * slow:.1f} ms, {slow / fast:.0f} times as fast")
    return slow / fast


def distances(domain: bf.Domain, chunk: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Weighted Gower as the paper writes it, in floats, (rows, m): nothing shared between rows."""
    total = np.zeros((len(chunk), len(candidates)))
    for j, (attribute, weight) in enumerate(zip(domain.attributes, domain.weights.values(), strict=True)):
        a, b = chunk[:, j, None], candidates[None, :, j]
        total += weight * (np.abs(a - b) / attribute.span if attribute.kind == "numeric" else a != b)
    return total


def soft_by_definition(domain: bf.Domain, rows: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    histogram = np.zeros(len(candidates))
    for start in range(0, len(rows), CHUNK):
        weights = np.exp(-distances(domain, rows[start : start + CHUNK], candidates) / TAU)
        histogram += (weights / weights.sum(axis=1, keepdims=True)).sum(axis=0)
    return histogram


def hard_by_definition(domain: bf.Domain, rows: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    histogram = np.zeros(len(candidates))
    for start in range(0, len(rows), CHUNK):
        # Rounded so that what is equal in exact arithmetic ties, and the lowest index wins.
        nearest = np.round(distances(domain, rows[start : start + CHUNK], candidates), 12).argmin(axis=1)
        histogram += np.bincount(nearest, minlength=len(candidates))
    return histogram


def by_responses(vote: Any, domain: bf.Domain, rows: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """The package's own definition of a vote, exact ties and all, summed over chunks of rows as they come."""
    chunks = [rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK)]
    return sum(vote.responses(domain, chunk, candidates).sum(axis=0) for chunk in chunks)


@pytest.mark.parametrize(
    ("vote", "definition"),
    [(bf.SoftVote(TAU), soft_by_definition), (bf.HardVote(), hard_by_definition)],
    ids=["soft", "hard"],
)
def test_kernels_against_the_definition(benchmark, adult, rows, records, candidates, vote, definition):
    """At least 100 times as fast as the package's NumPy definition over raw rows; beside it a lean one, in floats."""
    what = f"{type(vote).__name__}, 26,048 records, m = 512"
    lean, expected = best_of(3, lambda: definition(adult.domain, rows, candidates))
    slow, _ = best_of(2, lambda: by_responses(vote, adult.domain, rows, candidates))
    _ = records.tree
    found = benchmark(vote.histogram, adult.domain, records, candidates)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9)
    report(benchmark, lean, f"{what}, against floats without exact ties")
    assert report(benchmark, slow, what) >= 100


def test_gathering_a_table(benchmark, adult, rows):
    """What a table costs once, before its first vote: distinct rows, counts and the prefix tree."""
    records = benchmark(lambda: bf.Records.of_codes(adult.domain, rows).tree)
    assert records.counts.sum() == 26_048


def product_graph(policy: bf.Policy) -> tuple[np.ndarray, np.ndarray]:
    """Every record (size, d), and every record-level edge as rows of it (edges, 2)."""
    shape = policy.domain.shape
    everyone = np.stack(np.unravel_index(np.arange(policy.domain.size), shape), axis=1)
    strides = [int(np.prod(shape[j + 1 :])) for j in range(len(shape))]
    parts = []
    for j, name in enumerate(policy.domain.names):
        for a, b in policy.edges(name).tolist():
            start = np.flatnonzero(everyone[:, j] == a)
            parts.append(np.column_stack([start, start + (b - a) * strides[j]]))
    return everyone, np.concatenate(parts)


@pytest.fixture(scope="module")
def small() -> tuple[bf.Policy, np.ndarray]:
    """Four columns, 14,800 records, 140,400 edges: small enough to try every edge in NumPy."""
    domain = bf.Domain(
        [bf.Numeric("a", 17, 90), bf.Numeric("b", 1, 20), bf.Categorical("c", range(5)), bf.Categorical("e", [0, 1])]
    )
    draw = np.random.default_rng(0)
    candidates = np.column_stack([draw.integers(0, count, 128) for count in domain.shape])
    return bf.Policy(domain, {"a": bf.Threshold(7)}), candidates


def test_exact_soft_against_trying_every_edge(benchmark, small):
    policy, candidates = small

    def brute_force() -> float:
        everyone, edges = product_graph(policy)
        votes = np.exp(-distances(policy.domain, everyone, candidates) / TAU)
        votes /= votes.sum(axis=1, keepdims=True)
        parts = np.array_split(edges, 64)
        return max(float(np.sqrt(((votes[p[:, 0]] - votes[p[:, 1]]) ** 2).sum(axis=1)).max()) for p in parts)

    slow, expected = best_of(1, brute_force)
    found = benchmark(bf.exact_sensitivity, policy, bf.SoftVote(TAU), candidates)
    assert found.l2 == pytest.approx(expected, rel=1e-9)
    report(benchmark, slow, "exact soft sensitivity, 14,800 records")


def test_crossings_against_trying_every_edge(benchmark, small):
    policy, candidates = small

    def brute_force() -> int:
        everyone, edges = product_graph(policy)
        nearest = np.round(distances(policy.domain, everyone, candidates), 12).argmin(axis=1)
        return int((nearest[edges[:, 0]] != nearest[edges[:, 1]]).sum())

    slow, expected = best_of(1, brute_force)
    counts, _ = benchmark(_enumeration.count_crossings, policy, candidates)
    assert sum(counts.values()) == expected
    report(benchmark, slow, "crossings, 14,800 records")


@pytest.mark.parametrize("tau", [0.015, 0.03, 0.06])
def test_exact_soft_on_adult(benchmark, policy, candidates, tau):
    """The paper needs 1.48 s for this search over 2.1 million records; the issue asks for well below 1 s."""
    found = benchmark(bf.exact_sensitivity, policy, bf.SoftVote(tau), candidates)
    assert 0 < found.l2 <= bf.sensitivity_bound(policy, bf.SoftVote(tau)).l2 * (1 + 1e-12)


def test_exact_hard_on_adult(benchmark, policy, candidates):
    """A certificate near a candidate; the paper needs 211 ms."""
    assert benchmark(bf.crossing_edge, policy, candidates) is not None


def test_proof_of_no_crossing_on_adult(benchmark, adult):
    """The worst case: two candidates that differ in income alone, so every age edge of the domain has to be checked."""
    policy = bf.Policy(adult.domain, {"age": bf.Threshold(7)})
    candidates = np.repeat([[30, 0, 8, 39, 0], [30, 0, 8, 39, 1]], 256, axis=0)
    assert benchmark(bf.crossing_edge, policy, candidates) is None


def test_bound(benchmark, adult):
    """The closed form from a fresh policy, as the page computes it on every move of a slider."""
    rules = {"age": bf.Threshold(7)}
    bound = benchmark(lambda: bf.sensitivity_bound(bf.Policy(adult.domain, rules), bf.SoftVote(TAU)))
    assert bound.l2 == pytest.approx(0.43724, abs=5e-6)


@pytest.mark.parametrize("method", [bf.tab_pe(), bf.hard(), bf.bf_soft(TAU)], ids=lambda m: m.name)
def test_a_whole_run(benchmark, policy, records, method):
    """Eight rounds, 512 records, as in the paper."""
    seeds = itertools.count()
    run = benchmark(lambda: bf.synthesize(records, policy, method, bf.Budget(rho=1e-3), seed=next(seeds)))
    assert run.completed


def test_fidelity_of_a_round(benchmark, records, candidates):
    """The 2-way error, cheap enough to watch every round."""
    fidelity = bf.Fidelity(records)
    assert 0 < benchmark(fidelity.error, candidates) < 1
