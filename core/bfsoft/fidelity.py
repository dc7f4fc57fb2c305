"""Fidelity: how close a synthetic table is to the data, by marginals; knows nothing of how the table was made.

The paper's error measure is not stated in the sources at hand. Ours is the mean total-variation distance over all
k-way marginals, numeric attributes in at most 20 equal bins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from .domain import Codes
from .errors import DataError
from .records import Records

# A k-way table with more cells than this is compared on the cells that occur, not laid out whole.
_DENSE = 1 << 20


class Fidelity:
    """A reference table, prepared once, against which any number of synthetic tables are measured.

    ``k`` is how many attributes each marginal has by default, ``bins`` the most that a number is cut into.
    Raises DataError for an empty reference, k outside 1..d, or bins below 1.
    """

    def __init__(self, reference: Records, k: int = 2, bins: int = 20) -> None:
        if not reference.n:
            raise DataError("the reference table has no records to compare with")
        if bins < 1:
            raise DataError(f"bins must be at least 1, got {bins!r}")
        self.reference, self.domain, self.k = reference, reference.domain, self._order(reference.domain.names, k)
        self._bins: list[np.ndarray] = []
        for attribute, count in zip(self.domain.attributes, self.domain.shape, strict=True):
            few = attribute.kind != "numeric" or count <= bins
            self._bins.append(np.arange(count) if few else np.arange(count) * bins // count)
        self._sizes = [int(table[-1]) + 1 for table in self._bins]
        self._weights = reference.counts / reference.n
        self._reference_cells = self._binned(reference.codes)
        self._tables: dict[tuple[int, ...], np.ndarray] = {}

    @staticmethod
    def _order(names: Sequence[str], k: int) -> int:
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= len(names):
            raise DataError(f"k must be a whole number from 1 to {len(names)}, the number of attributes; got {k!r}")
        return int(k)

    def _binned(self, codes: Codes) -> np.ndarray:
        return np.stack([table[codes[:, j]] for j, table in enumerate(self._bins)])

    def _cells(self, cells: np.ndarray, subset: tuple[int, ...]) -> np.ndarray:
        index = cells[subset[0]].astype(np.int64)
        for j in subset[1:]:
            index = index * self._sizes[j] + cells[j]
        return index

    def error(self, codes: Codes, k: int | None = None) -> float:
        """The mean total-variation distance over all k-way marginals, in [0, 1]; ``codes`` (m, d), 0 is equality."""
        codes = self.domain.check_codes(codes)
        if not len(codes):
            raise DataError("the synthetic table has no records to compare")
        k = self.k if k is None else self._order(self.domain.names, k)
        cells, share = self._binned(codes), 1.0 / len(codes)
        distances = [self._distance(cells, share, subset) for subset in combinations(range(len(self._bins)), k)]
        return float(np.mean(distances))

    def _distance(self, cells: np.ndarray, share: float, subset: tuple[int, ...]) -> float:
        own, size = self._cells(cells, subset), math.prod(self._sizes[j] for j in subset)
        if size > _DENSE:
            other = self._cells(self._reference_cells, subset)
            _, inverse = np.unique(np.concatenate([own, other]), return_inverse=True)
            signed = np.concatenate([np.full(len(own), share), -self._weights])
            return 0.5 * float(np.abs(np.bincount(inverse, weights=signed)).sum())
        if subset not in self._tables:
            other = self._cells(self._reference_cells, subset)
            self._tables[subset] = np.bincount(other, weights=self._weights, minlength=size)
        return 0.5 * float(np.abs(np.bincount(own, minlength=size) * share - self._tables[subset]).sum())

    def marginal(self, attribute: str, codes: Codes) -> pd.DataFrame:
        """One attribute's marginals: a row a value with its share in the ``data`` and in the ``synthetic`` table."""
        position = self.domain.position(attribute)
        count = self.domain.shape[position]
        codes = self.domain.check_codes(codes)
        return pd.DataFrame(
            {
                "value": list(self.domain.attributes[position].values),
                "data": np.bincount(self.reference.codes[:, position], weights=self._weights, minlength=count),
                "synthetic": np.bincount(codes[:, position], minlength=count) / max(1, len(codes)),
            }
        )

    def wasserstein(self, attribute: str, codes: Codes) -> float:
        """The 1-Wasserstein distance of a numeric attribute's marginals, in the attribute's own units."""
        values = self.domain[attribute]
        if values.kind != "numeric":
            raise DataError(f"{attribute!r} is {values.kind}; the Wasserstein distance is for numeric attributes")
        from scipy.stats import wasserstein_distance

        position, grid = self.domain.position(attribute), np.array(values.values, dtype=float)
        codes = self.domain.check_codes(codes)
        if not len(codes):
            raise DataError("the synthetic table has no records to compare")
        return float(
            wasserstein_distance(
                grid[self.reference.codes[:, position]], grid[codes[:, position]], self.reference.counts
            )
        )
