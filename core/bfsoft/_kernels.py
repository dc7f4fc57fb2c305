"""Prepares tables for the compiled kernels and runs them on threads; falls back to the NumPy definition.

The same histogram comes out on one thread or many, because work is cut into fixed blocks (``_prefix_tree``).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import Any

import numpy as np

from . import _reference
from ._prefix_tree import BLOCKS, PrefixTree
from .domain import Domain
from .records import Records

# Distances are at most 1, so a product of factors is at least exp(−1/τ); below this τ it could underflow.
SAFE_TAU = 1 / 600
# Sums of up to a thousand rounded terms of at most 1 differ from exact ones by less.
_CLOSE = 1e-12


@lru_cache(maxsize=1)
def compiled() -> Any | None:
    """The module of compiled kernels, or None where numba cannot be imported."""
    try:
        from . import _compiled
    except ImportError:
        return None
    return _compiled


def threads() -> int:
    """How many threads vote: BFSOFT_THREADS, or the processors this process may use."""
    asked = os.environ.get("BFSOFT_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


@lru_cache(maxsize=4)
def _pool(workers: int, process: int) -> ThreadPoolExecutor:
    # `process` keeps a forked child from waiting on its parent's threads.
    return ThreadPoolExecutor(workers, thread_name_prefix="bfsoft")


def in_blocks(work: Callable[[int, int], None], blocks: int = BLOCKS) -> None:
    """Run ``work(first, last)`` over the ranges of blocks on all threads; the ranges cover 0..blocks once."""
    workers = min(threads(), blocks)
    if workers == 1:
        work(0, blocks)
        return
    cuts = np.linspace(0, blocks, workers + 1).astype(int)
    pool = _pool(workers, os.getpid())
    waiting = [pool.submit(work, int(cuts[i]), int(cuts[i + 1])) for i in range(1, workers)]
    work(int(cuts[0]), int(cuts[1]))
    for future in waiting:
        future.result()


def attribute_rows(
    domain: Domain, position: int, values: np.ndarray, candidates: np.ndarray, of_steps: Callable[[np.ndarray], Any]
) -> np.ndarray:
    """``of_steps`` of the steps from each value to each candidate, (values, m), computed once a pair of values."""
    codes, inverse = np.unique(candidates[:, position], return_inverse=True)
    return of_steps(domain.attributes[position].steps(values[:, None], codes[None, :]))[:, inverse]


def _tables(domain: Domain, tree: PrefixTree, candidates: np.ndarray, of_steps: Any, dtype: Any) -> tuple[Any, Any]:
    offsets = np.concatenate([[0], np.cumsum([len(used) for used in tree.used])[:-1]]).astype(np.int64)
    rows = np.empty((sum(map(len, tree.used)), len(candidates)), dtype=dtype)
    for offset, used, position in zip(offsets, tree.used, tree.order, strict=True):
        rows[offset : offset + len(used)] = attribute_rows(
            domain, position, used, candidates, partial(of_steps, position)
        )
    return rows, offsets


def factor(domain: Domain, position: int, steps: np.ndarray, tau: float) -> np.ndarray:
    """exp(−w_j δ_j / τ) for whole steps of one attribute."""
    return np.exp(-(steps * (domain.multipliers[position] / domain.denominator)) / tau)


def soft_histogram(records: Records, candidates: np.ndarray, tau: float) -> np.ndarray:
    """The soft histogram (m,) of records over candidates (m, d)."""
    kernels, domain, m = compiled(), records.domain, len(candidates)
    safe = tau >= SAFE_TAU
    if kernels is None or not len(records.codes) or not (safe or domain.denominator < 2**62):
        return _reference.soft_histogram(domain, records.codes, records.counts, candidates, tau)
    tree = records.tree
    out = np.zeros((BLOCKS, m))
    shape = (tree.blocks, tree.prefixes, tree.shared, tree.starts, tree.children, tree.counts)
    if safe:
        rows, offsets = _tables(domain, tree, candidates, lambda j, steps: factor(domain, j, steps, tau), float)
        in_blocks(lambda first, last: kernels.soft_products(first, last, *shape, rows, offsets, out))
    else:
        rows, offsets = _tables(domain, tree, candidates, lambda j, s: s * domain.multipliers[j], np.int64)
        with np.errstate(over="ignore"):
            scale = float(min(np.float64(1.0) / domain.denominator / tau, np.finfo(float).max))
        in_blocks(lambda first, last: kernels.soft_shifted(first, last, *shape, rows, offsets, scale, out))
    return out.sum(axis=0)


def key_dtype(domain: Domain, m: int) -> Any | None:
    """The narrowest integer that holds distance × m + index, or None where none does."""
    largest = (domain.denominator + 1) * m
    return np.int32 if largest < 2**31 else np.int64 if largest < 2**62 else None


def nearest(domain: Domain, records: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """The index of each record's nearest candidate (n,), ties to the lowest, however wide the exact distances are.

    Weights of many digits make them wider than 64 bits. Doubles then rule out all candidates but the close ones,
    and Python's integers decide among those.
    """
    if domain.denominator < 2**62:
        return _reference.nearest(domain, records, candidates)
    chosen = np.empty(len(records), dtype=np.int64)
    start = 0
    for chunk in _reference.chunks(records, len(candidates)):
        distance = np.zeros((len(chunk), len(candidates)))
        for position, attribute in enumerate(domain.attributes):
            steps = attribute.steps(chunk[:, position, None], candidates[None, :, position])
            distance += steps * (domain.multipliers[position] / domain.denominator)
        row, close = np.nonzero(distance <= distance.min(axis=1, keepdims=True) + _CLOSE)
        whole = np.zeros(len(row), dtype=object)
        for position, attribute in enumerate(domain.attributes):
            steps = attribute.steps(chunk[row, position], candidates[close, position])
            whole += steps.astype(object) * domain.multipliers[position]
        first: dict[int, tuple[int, int]] = {}
        for of, key in zip(row.tolist(), zip(whole.tolist(), close.tolist(), strict=True), strict=True):
            first[of] = min(key, first.get(of, key))
        chosen[start : start + len(chunk)] = [first[of][1] for of in range(len(chunk))]
        start += len(chunk)
    return chosen


def hard_histogram(records: Records, candidates: np.ndarray) -> np.ndarray:
    """The hard histogram (m,) of records over candidates (m, d); ties go to the lowest index."""
    kernels, domain, m = compiled(), records.domain, len(candidates)
    dtype = key_dtype(domain, m)
    if kernels is None or dtype is None or not len(records.codes):
        chosen = nearest(domain, records.codes, candidates)
        return np.bincount(chosen, weights=records.counts, minlength=m)
    tree = records.tree
    rows, offsets = _tables(domain, tree, candidates, lambda j, s: s * (domain.multipliers[j] * m), dtype)
    rows[: len(tree.used[0])] += np.arange(m, dtype=dtype)
    keys = np.empty(len(tree.children), dtype=dtype)
    shape = (tree.blocks, tree.prefixes, tree.shared, tree.starts, tree.children)
    in_blocks(lambda first, last: kernels.nearest_keys(first, last, *shape, rows, offsets, keys))
    return np.bincount(keys % m, weights=tree.counts, minlength=m)
