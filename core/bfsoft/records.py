"""Records: a table as its distinct rows and how often each occurs, so that no work is done twice on equal rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd

from ._prefix_tree import PrefixTree, prefix_tree
from .domain import Codes, Domain, as_floats
from .errors import DataError
from .wording import short

COUNT = "count"


@dataclass(frozen=True)
class Records:
    """Distinct codes (n_distinct, d) in lexicographic order and their counts (n_distinct,), both int64."""

    domain: Domain
    codes: Codes
    counts: np.ndarray

    @property
    def n(self) -> int:
        """How many records there are, repeats included."""
        return int(self.counts.sum())

    @cached_property
    def tree(self) -> PrefixTree:
        """The rows as a prefix tree, built once; what the vote kernels walk."""
        return prefix_tree(self.codes, self.counts)

    @classmethod
    def of_codes(cls, domain: Domain, codes: Codes, counts: np.ndarray | None = None) -> Records:
        """Gather (n, d) codes, each standing for ``counts`` records (1 by default); rows of count 0 vanish.

        Raises DataError for codes outside the domain, and for counts that are not (n,) whole numbers of at least 0
        or add up to 2**53 or more, beyond which they could not be counted exactly.
        """
        codes = domain.check_codes(codes)
        counts = np.ones(len(codes), dtype=np.int64) if counts is None else _whole(counts, len(codes))
        if domain.size < 2**62 and len(domain.names) <= 32:
            keys = np.ravel_multi_index(tuple(codes.T), domain.shape) if len(codes) else np.empty(0, dtype=np.int64)
            _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
            distinct = codes[first]
        else:
            distinct, inverse = np.unique(codes, axis=0, return_inverse=True)
        total = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(total, inverse.reshape(-1), counts)
        return cls(domain, distinct[total > 0], total[total > 0])

    @classmethod
    def of_frame(cls, domain: Domain, frame: pd.DataFrame, unknown: Literal["error", "clip"] = "error") -> Records:
        """Encode and gather a table; a column ``count`` that is no attribute says how often each row occurs.

        Raises DataError as ``Domain.encode`` does, and for a count that is not a whole number of at least 0.
        """
        codes = domain.encode(frame, unknown)
        if COUNT not in frame.columns or COUNT in domain.names:
            return cls.of_codes(domain, codes)
        if isinstance(frame[COUNT], pd.DataFrame):
            raise DataError(f"column {COUNT!r} appears more than once; keep one")
        counts = as_floats(frame[COUNT])
        bad = np.flatnonzero(~((counts >= 0) & (counts == np.floor(counts)) & (counts < 2**53)))
        if len(bad):
            raise DataError(
                f"row {frame.index[bad[0]]}, column {COUNT!r}: {short(frame[COUNT].iloc[bad[0]])} is not a whole "
                "number of at least 0 and below 2**53; a column of that name says how often a row occurs"
            )
        return cls.of_codes(domain, codes, counts)

    def on(self, domain: Domain) -> Records:
        """The same rows under another domain with the same attributes: weights change distances, never codes."""
        if domain == self.domain:
            return self
        if domain.attributes != self.domain.attributes:
            raise DataError("these records were gathered for other attributes; gather them again for this domain")
        moved = Records(domain, self.codes, self.counts)
        moved.__dict__["tree"] = self.tree
        return moved

    def expand(self) -> Codes:
        """One row a record, (n, d)."""
        return np.repeat(self.codes, self.counts, axis=0)

    def frame(self) -> pd.DataFrame:
        """The table of distinct rows with a ``count`` column."""
        return self.domain.decode(self.codes).assign(**{COUNT: self.counts})


def _whole(counts: np.ndarray, n: int) -> np.ndarray:
    given = np.asarray(counts)
    if given.shape != (n,):
        raise DataError(f"counts must be one number a record, shape ({n},), got shape {given.shape}")
    if given.dtype.kind not in "iuf" or not ((given >= 0) & (given == np.floor(given)) & (given < 2**53)).all():
        raise DataError("counts must be whole numbers of at least 0: how often each record occurs")
    if given.sum(dtype=float) >= 2**53:  # 64-bit sums would wrap round without a word
        raise DataError("the counts add up to more records than can be counted exactly (2**53); scale them down")
    return given.astype(np.int64)


def as_records(domain: Domain, data: pd.DataFrame | Records, unknown: Literal["error", "clip"] = "error") -> Records:
    """Data as Records of a domain: gathered from a frame, or taken over where the attributes are the same."""
    return data.on(domain) if isinstance(data, Records) else Records.of_frame(domain, data, unknown)
