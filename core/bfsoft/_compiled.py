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
def _gather_four(prefix, tables, offset, children, counts, gathered):
    """Add count / Σ_k prefix_k row_k times each of four rows to ``gathered`` (m,)."""
    a, b = tables[offset + children[0]], tables[offset + children[1]]
    c, d = tables[offset + children[2]], tables[offset + children[3]]
    total_a = total_b = total_c = total_d = 0.0
    for k in range(len(prefix)):
        total_a += prefix[k] * a[k]
        total_b += prefix[k] * b[k]
        total_c += prefix[k] * c[k]
        total_d += prefix[k] * d[k]
    share_a, share_b, share_c, share_d = (
        counts[0] / total_a,
        counts[1] / total_b,
        counts[2] / total_c,
        counts[3] / total_d,
    )
    for k in range(len(prefix)):
        gathered[k] += share_a * a[k] + share_b * b[k] + share_c * c[k] + share_d * d[k]


@njit(fastmath=_SUMS, **_OPTIONS)
def soft_products(first, last, blocks, prefixes, shared, starts, children, counts, tables, offsets, out):
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
                _gather_four(
                    prefix, tables, offsets[depths], children[child : child + 4], counts[child : child + 4], gathered
                )
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
def soft_shifted(first, last, blocks, prefixes, shared, starts, children, counts, tables, offsets, scale, out):
    """As ``soft_products`` for τ so small that factors would underflow: whole distances, less the nearest."""
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
def nearest_keys(first, last, blocks, prefixes, shared, starts, children, tables, offsets, out):
    """Write each child's least key to ``out`` (n,); a key is distance × m + index: ties go to the lowest index."""
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


@njit(**_OPTIONS)
def _digits(row, shape, out):
    """Write the mixed-radix digits of a line's number, last attribute fastest; return the first that changed."""
    changed = len(shape)
    for depth in range(len(shape) - 1, -1, -1):
        digit = row % shape[depth]
        row //= shape[depth]
        if out[depth] != digit:
            out[depth] = digit
            changed = depth
    return changed


@njit(fastmath=_SUMS, **_OPTIONS)
def _widest_shift(edges, caps, mass, square, votes, best_l1, best_l2):
    """The largest L1 and L2² over edges, longest first; candidates of one bin move by the same factor.

    ``mass`` and ``square`` (bins,) are the sums of the candidates' weights and squared weights, ``votes``
    (values, bins) what a weight is multiplied by for a record at each value.
    """
    bins = len(mass)
    root = math.sqrt(2.0)
    found = -1
    for edge in range(len(edges)):
        if 2.0 * caps[edge] <= best_l1 and root * caps[edge] <= best_l2:
            break
        a, b = votes[edges[edge, 0]], votes[edges[edge, 1]]
        l1 = 0.0
        l2 = 0.0
        for c in range(bins):
            moved = a[c] - b[c]
            l1 += mass[c] * abs(moved)
            l2 += square[c] * moved * moved
        best_l1 = max(best_l1, l1)
        l2 = math.sqrt(l2)
        if l2 > best_l2:
            best_l2 = l2
            found = edge
    return best_l1, best_l2, found


@njit(fastmath=_SUMS, **_OPTIONS)
def largest_shift(rows, shape, tables, offsets, bins, along, edges, caps, scale, products, best_l1, best_l2):
    """The largest soft-vote change on these lines beyond what is known: L1, L2, and L2's line and edge (−1: none).

    ``tables`` and ``along`` hold factors where ``products``, else whole distances that ``scale`` turns into exponents.
    """
    depths, m, values, count = len(shape), tables.shape[1], along.shape[0], along.shape[1]
    partial = np.ones((depths + 1, m)) if products else np.zeros((depths + 1, m))
    digits = np.full(depths, -1, dtype=np.int64)
    used = np.zeros(values, dtype=np.bool_)
    for edge in range(len(edges)):
        used[edges[edge, 0]] = True
        used[edges[edge, 1]] = True
    mass, square, least = np.empty(count), np.empty(count), np.empty(count)
    votes = np.zeros((values, count))
    best_line, best_edge = -1, -1
    for row in rows:
        if 2.0 * caps[0] <= best_l1 and math.sqrt(2.0) * caps[0] <= best_l2:
            break
        for depth in range(_digits(row, shape, digits), depths):
            factors = tables[offsets[depth] + digits[depth]]
            if products:
                for k in range(m):
                    partial[depth + 1, k] = partial[depth, k] * factors[k]
            else:
                for k in range(m):
                    partial[depth + 1, k] = partial[depth, k] + factors[k]
        weights = partial[depths]
        for c in range(count):
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
            if not used[a]:
                continue
            vote = votes[a]
            total = 0.0
            if products:
                for c in range(count):
                    total += mass[c] * along[a, c]
                share = 1.0 / total
                for c in range(count):
                    vote[c] = along[a, c] * share
            else:
                nearest = least[0] + along[a, 0]
                for c in range(1, count):
                    nearest = min(nearest, least[c] + along[a, c])
                for c in range(count):
                    exponent = (least[c] + along[a, c] - nearest) * scale
                    vote[c] = math.exp(-exponent) if exponent < 746.0 else 0.0
                    total += mass[c] * vote[c]
                for c in range(count):
                    vote[c] /= total
        best_l1, best_l2, found = _widest_shift(edges, caps, mass, square, votes, best_l1, best_l2)
        if found >= 0:
            best_line, best_edge = row, found
    return best_l1, best_l2, best_line, best_edge


@njit(**_OPTIONS)
def crossings(rows, shape, tables, offsets, index, bins, along, edges, stop):
    """How many edges on these lines join values with different nearest candidates; the first line and edge (−1: none).

    Keys are distance × m + candidate, so that ties go to the lowest index; ``index`` (m,) is each candidate's own.
    """
    depths, m, values, count = len(shape), tables.shape[1], along.shape[0], along.shape[1]
    partial = np.zeros((depths + 1, m), dtype=tables.dtype)
    digits = np.full(depths, -1, dtype=np.int64)
    partial[0] = index
    least = np.empty(count, dtype=tables.dtype)
    nearest = np.empty(values, dtype=np.int64)
    total, first_line, first_edge = 0, -1, -1
    for row in rows:
        for depth in range(_digits(row, shape, digits), depths):
            whole = tables[offsets[depth] + digits[depth]]
            for k in range(m):
                partial[depth + 1, k] = partial[depth, k] + whole[k]
        keys = partial[depths]
        for c in range(count):
            least[c] = keys[bins[c]]
            for k in range(bins[c] + 1, bins[c + 1]):
                least[c] = min(least[c], keys[k])
        for a in range(values):
            own = along[a]
            key = tables.dtype.type(least[0] + own[0])
            for c in range(1, count):
                other = tables.dtype.type(least[c] + own[c])
                key = min(key, other)
            nearest[a] = key % m
        for edge in range(len(edges)):
            if nearest[edges[edge, 0]] != nearest[edges[edge, 1]]:
                total += 1
                if first_line < 0:
                    first_line, first_edge = row, edge
                    if stop:
                        return total, first_line, first_edge
    return total, first_line, first_edge
