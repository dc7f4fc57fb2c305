"""Distinct records as a prefix tree, so that the kernels compute what rows share once; knows nothing of votes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Work is cut into this many blocks whatever the number of threads, and block results are added in order:
# the same sums come out on one thread or many.
BLOCKS = 32


@dataclass(frozen=True)
class PrefixTree:
    """Records sorted so that leaving out the last attribute leaves few distinct rows, the *parents*.

    ``order`` (d,) lists attribute positions by depth, ``used[depth]`` the codes that occur there; ``prefixes``
    (parents, d − 1) and ``children`` (records,) index into ``used``. Parent p owns the children from
    ``starts[p]`` to ``starts[p + 1]`` and agrees with parent p − 1 on the first ``shared[p]`` depths.
    """

    order: np.ndarray
    used: tuple[np.ndarray, ...]
    prefixes: np.ndarray
    shared: np.ndarray
    starts: np.ndarray
    children: np.ndarray
    counts: np.ndarray
    blocks: np.ndarray


def prefix_tree(codes: np.ndarray, counts: np.ndarray) -> PrefixTree:
    """The tree of distinct codes (n, d) with their counts (n,)."""
    n, d = codes.shape
    gathered = [np.unique(codes[:, position], return_inverse=True) for position in range(d)]
    order = _order(codes, [len(values) for values, _ in gathered])
    local = np.column_stack([gathered[position][1] for position in order]).astype(np.int32)
    rows = np.lexsort(local.T[::-1])
    local = local[rows]
    prefix = local[:, :-1]
    # A row opens a parent where any prefix column changes; `shared` counts the leading columns that did not.
    differs = np.ones((n, d), dtype=bool)
    differs[1:, :-1] = prefix[1:] != prefix[:-1]
    differs[1:, -1] = False
    opens = differs.any(axis=1)
    first = np.flatnonzero(opens)
    shared = np.argmax(differs[first], axis=1).astype(np.int32)
    shared[:1] = 0
    starts = np.append(first, n).astype(np.int64)
    edges = np.searchsorted(starts, np.linspace(0, n, BLOCKS + 1), side="left")
    return PrefixTree(
        order=np.array(order),
        used=tuple(gathered[position][0] for position in order),
        prefixes=np.ascontiguousarray(prefix[first]),
        shared=shared,
        starts=starts,
        children=np.ascontiguousarray(local[:, -1]),
        counts=counts[rows].astype(np.float64),
        blocks=np.minimum(edges, len(first)).astype(np.int64),
    )


def _order(codes: np.ndarray, used: list[int]) -> list[int]:
    """Last the attribute whose removal leaves the fewest distinct rows; before it the others by values used."""
    rest = [[other for other in range(len(used)) if other != position] for position in range(len(used))]
    parents = [len(np.unique(codes[:, others], axis=0)) for others in rest]
    last = int(np.argmin(parents))
    return [*sorted(rest[last], key=used.__getitem__), last]
