"""What a vote is, in NumPy: the readable definition that the compiled kernels are tested against.

It is also the path taken where numba cannot be imported. Distances are exact whole numbers, so ties are ties.
"""

from __future__ import annotations

import numpy as np

from .domain import Domain

# Rows a chunk, so that the (rows, m) distances stay within a few megabytes.
_CELLS = 2_000_000


def hard_responses(domain: Domain, records: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """One-hot at the nearest candidate, ties to the lowest index; (n, m)."""
    responses = np.zeros((len(records), len(candidates)))
    responses[np.arange(len(records)), nearest(domain, records, candidates)] = 1.0
    return responses


def nearest(domain: Domain, records: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """The index of the nearest candidate, ties to the lowest; (n,)."""
    parts = [np.argmin(domain.exact_distance(chunk, candidates), axis=1) for chunk in chunks(records, len(candidates))]
    return np.concatenate(parts).astype(np.int64) if parts else np.empty(0, dtype=np.int64)


def soft_responses(domain: Domain, records: np.ndarray, candidates: np.ndarray, tau: float) -> np.ndarray:
    """v_k(x) = exp(−d(x, c_k)/τ) / Σ_l exp(−d(x, c_l)/τ) (THEORY, "Votes"); (n, m)."""
    whole = domain.exact_distance(records, candidates)
    # Distances beyond the nearest: the shift cancels in the quotient and keeps tiny τ from underflowing.
    beyond = ((whole - whole.min(axis=1, keepdims=True)) / domain.denominator).astype(float)
    with np.errstate(over="ignore"):
        weights = np.exp(-beyond / tau)
    return weights / weights.sum(axis=1, keepdims=True)


def hard_histogram(domain: Domain, records: np.ndarray, counts: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """The sum of the hard votes of records that occur ``counts`` times; (m,)."""
    return np.bincount(nearest(domain, records, candidates), weights=counts, minlength=len(candidates))


def soft_histogram(
    domain: Domain, records: np.ndarray, counts: np.ndarray, candidates: np.ndarray, tau: float
) -> np.ndarray:
    """The sum of the soft votes of records that occur ``counts`` times; (m,)."""
    histogram = np.zeros(len(candidates))
    start = 0
    for chunk in chunks(records, len(candidates)):
        histogram += counts[start : start + len(chunk)] @ soft_responses(domain, chunk, candidates, tau)
        start += len(chunk)
    return histogram


def chunks(records: np.ndarray, m: int) -> list[np.ndarray]:
    """The records cut so that a chunk's distances to m candidates stay within a few megabytes."""
    rows = max(1, _CELLS // max(1, m))
    return [records[start : start + rows] for start in range(0, len(records), rows)]
