"""Compiled kernels behind the pictures of a policy: nearest candidates on a plane, and every edge's change of vote.

Loops only, over tables prepared by ``crossings``; like ``_compiled`` they release the interpreter lock.
"""

# numba infers the types of these loops itself.
# mypy: ignore-errors

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ._compiled import _OPTIONS, _SUMS, _digits


@njit(**_OPTIONS)
def nearest_on_plane(across, down, rest, out):
    """Write the nearest candidate of each cell to ``out`` (rows, columns).

    ``across`` (columns, m), ``down`` (rows, m) and ``rest`` (m,) hold distance × m, ``rest`` with the index added.
    """
    m = len(rest)
    row = np.empty(m, dtype=rest.dtype)
    for y in range(len(down)):
        for k in range(m):
            row[k] = rest[k] + down[y, k]
        for x in range(len(across)):
            own = across[x]
            least = row[0] + own[0]
            for k in range(1, m):
                least = min(least, row[k] + own[k])
            out[y, x] = least % m


@njit(fastmath=_SUMS, **_OPTIONS)
def edge_changes(
    rows, shape, keys, factors, offsets, index, bins, along_keys, along_factors, edges, scale, products, counts, sums
):
    """Add every edge on these lines to ``counts`` (2, cells) by how much it changes the soft vote in L2.

    Row 0 is for edges that leave the hard vote alone, row 1 for those that move it; the cells part [0, √2] evenly.
    ``sums`` (2, 3) gathers the sum, the least and the largest change of each row.
    """
    depths, m, values, count = len(shape), keys.shape[1], along_keys.shape[0], along_keys.shape[1]
    cells = counts.shape[1]
    per_cell = cells / math.sqrt(2.0)
    digits = np.full(depths, -1, dtype=np.int64)
    whole = np.zeros((depths + 1, m), dtype=keys.dtype)
    whole[0] = index
    partial = np.ones((depths + 1, m)) if products else np.zeros((depths + 1, m))
    least_key = np.empty(count, dtype=keys.dtype)
    nearest = np.empty(values, dtype=np.int64)
    mass, square, least = np.empty(count), np.empty(count), np.empty(count)
    votes = np.zeros((values, count))
    for row in rows:
        for depth in range(_digits(row, shape, digits), depths):
            at = offsets[depth] + digits[depth]
            for k in range(m):
                whole[depth + 1, k] = whole[depth, k] + keys[at, k]
            if products:
                for k in range(m):
                    partial[depth + 1, k] = partial[depth, k] * factors[at, k]
            else:
                for k in range(m):
                    partial[depth + 1, k] = partial[depth, k] + factors[at, k]
        line, weights = whole[depths], partial[depths]
        for c in range(count):
            least_key[c] = line[bins[c]]
            for k in range(bins[c] + 1, bins[c + 1]):
                least_key[c] = min(least_key[c], line[k])
            total, squares = 0.0, 0.0
            if products:
                for k in range(bins[c], bins[c + 1]):
                    total += weights[k]
                    squares += weights[k] * weights[k]
            else:
                least[c] = weights[bins[c]]
                for k in range(bins[c], bins[c + 1]):
                    least[c] = min(least[c], weights[k])
                for k in range(bins[c], bins[c + 1]):
                    weight = math.exp(-min((weights[k] - least[c]) * scale, 746.0))
                    total += weight
                    squares += weight * weight
            mass[c], square[c] = total, squares
        for a in range(values):
            key = keys.dtype.type(least_key[0] + along_keys[a, 0])
            for c in range(1, count):
                other = keys.dtype.type(least_key[c] + along_keys[a, c])
                key = min(key, other)
            nearest[a] = key % m
            vote = votes[a]
            total = 0.0
            if products:
                for c in range(count):
                    total += mass[c] * along_factors[a, c]
                for c in range(count):
                    vote[c] = along_factors[a, c] / total
            else:
                lowest = least[0] + along_factors[a, 0]
                for c in range(1, count):
                    lowest = min(lowest, least[c] + along_factors[a, c])
                for c in range(count):
                    exponent = (least[c] + along_factors[a, c] - lowest) * scale
                    vote[c] = math.exp(-exponent) if exponent < 746.0 else 0.0
                    total += mass[c] * vote[c]
                for c in range(count):
                    vote[c] /= total
        for edge in range(len(edges)):
            a, b = edges[edge, 0], edges[edge, 1]
            first, second = votes[a], votes[b]
            squares = 0.0
            for c in range(count):
                moved = first[c] - second[c]
                squares += square[c] * moved * moved
            change = math.sqrt(squares)
            crosses = 1 if nearest[a] != nearest[b] else 0
            counts[crosses, min(int(change * per_cell), cells - 1)] += 1
            sums[crosses, 0] += change
            sums[crosses, 1] = min(sums[crosses, 1], change)
            sums[crosses, 2] = max(sums[crosses, 2], change)
