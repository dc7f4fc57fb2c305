"""The compiled vote kernels: loops only, over a prefix tree and per-attribute tables prepared by ``_kernels``.

Every kernel works through whole blocks of parents and releases the interpreter lock, so that plain threads
run it in parallel; numba's own thread pool would abort when two sessions of an app vote at once.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
# Sums may be regrouped into vector lanes; NaN and signed zeros keep their meaning.
_SUMS = {"reassoc", "contract", "nsz"}


@njit(fastmath=_SUMS, **_OPTIONS)
def _gather_four(prefix, tables, offset, children, counts, gathered):  # type: ignore[no-untyped-def]
    """Add count / Σ_k prefix_k row_k times each of four rows to ``gathered`` (m,)."""
    a, b = tables[offset + children[0]], tables[offset + children[1]]
    c, d = tables[offset + children[2]], tables[offset + children[3]]
    total_a = total_b = total_c = total_d = 0.0
    for k in range(len(prefix)):
        total_a += prefix[k] * a[k]
        total_b += prefix[k] * b[k]
        total_c += prefix[k] * c[k]
        total_d += prefix[k] * d[k]
    share_a, share_b, share_c, share_d = counts[0] / total_a, counts[1] / total_b, counts[2] / total_c, counts[3] / total_d
    for k in range(len(prefix)):
        gathered[k] += share_a * a[k] + share_b * b[k] + share_c * c[k] + share_d * d[k]


@njit(fastmath=_SUMS, **_OPTIONS)
def soft_products(first, last, blocks, prefixes, shared, starts, children, counts, tables, offsets, out):  # type: ignore[no-untyped-def]
    """Add the soft votes of blocks first..last−1 to their rows of ``out`` (blocks, m).

    exp(−Σ_j) is a product of per-attribute factors: ``tables[offsets[depth] + value]`` is a row of m factors.
    """
    depths = prefixes.shape[1]
    m = tables.shape[1]
    partial = np.ones((depths + 1, m))
    gathered = np.empty(m)
    for block in range(first, last):
        histogram = out[block]
        for parent in range(blocks[block], blocks[block + 1]):
            begin = 0 if parent == blocks[block] else shared[parent]
            for depth in range(begin, depths):
                row = tables[offsets[depth] + prefixes[parent, depth]]
                above = partial[depth]
                here = partial[depth + 1]
                for k in range(m):
                    here[k] = above[k] * row[k]
            prefix = partial[depths]
            gathered[:] = 0.0
            child, end = starts[parent], starts[parent + 1]
            while child + 4 <= end:  # four rows a pass: each prefix and gathered value is loaded once for all four
                _gather_four(prefix, tables, offsets[depths], children[child : child + 4], counts[child : child + 4], gathered)
                child += 4
            while child < end:
                row = tables[offsets[depths] + children[child]]
                total = 0.0
                for k in range(m):
                    total += prefix[k] * row[k]
                share = counts[child] / total
                for k in range(m):
                    gathered[k] += share * row[k]
                child += 1
            for k in range(m):
                histogram[k] += prefix[k] * gathered[k]


@njit(fastmath=_SUMS, **_OPTIONS)
def soft_shifted(first, last, blocks, prefixes, shared, starts, children, counts, tables, offsets, scale, out):  # type: ignore[no-untyped-def]
    """As ``soft_products`` for τ so small that the factors would underflow: exact whole distances, shifted by the nearest."""
    depths = prefixes.shape[1]
    m = tables.shape[1]
    partial = np.zeros((depths + 1, m), dtype=tables.dtype)
    whole = np.empty(m, dtype=tables.dtype)
    weights = np.empty(m)
    for block in range(first, last):
        histogram = out[block]
        for parent in range(blocks[block], blocks[block + 1]):
            begin = 0 if parent == blocks[block] else shared[parent]
            for depth in range(begin, depths):
                row = tables[offsets[depth] + prefixes[parent, depth]]
                for k in range(m):
                    partial[depth + 1, k] = partial[depth, k] + row[k]
            prefix = partial[depths]
            for child in range(starts[parent], starts[parent + 1]):
                row = tables[offsets[depths] + children[child]]
                for k in range(m):
                    whole[k] = prefix[k] + row[k]
                least = whole[0]
                for k in range(1, m):
                    least = min(least, whole[k])
                total = 0.0
                for k in range(m):
                    exponent = (whole[k] - least) * scale
                    # exp(−746) is 0 in double precision; most candidates lie beyond and need no exp.
                    weights[k] = math.exp(-exponent) if exponent < 746.0 else 0.0
                    total += weights[k]
                share = counts[child] / total
                for k in range(m):
                    histogram[k] += share * weights[k]


@njit(**_OPTIONS)
def nearest_keys(first, last, blocks, prefixes, shared, starts, children, tables, offsets, out):  # type: ignore[no-untyped-def]
    """Write the least key of each child to ``out`` (n,); a key is distance × m + index, so ties go to the lowest index."""
    depths = prefixes.shape[1]
    m = tables.shape[1]
    partial = np.zeros((depths + 1, m), dtype=tables.dtype)
    for block in range(first, last):
        for parent in range(blocks[block], blocks[block + 1]):
            begin = 0 if parent == blocks[block] else shared[parent]
            for depth in range(begin, depths):
                row = tables[offsets[depth] + prefixes[parent, depth]]
                above = partial[depth]
                here = partial[depth + 1]
                for k in range(m):
                    here[k] = above[k] + row[k]
            prefix = partial[depths]
            for child in range(starts[parent], starts[parent + 1]):
                row = tables[offsets[depths] + children[child]]
                least = tables.dtype.type(prefix[0] + row[0])
                for k in range(1, m):
                    key = tables.dtype.type(prefix[k] + row[k])
                    least = min(least, key)
                out[child] = least
