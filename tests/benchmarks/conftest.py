"""The paper's case for every benchmark: Adult's five columns, 26,048 records, 512 candidates, age θ = 7, τ = 0.03."""

from __future__ import annotations

import numpy as np
import pytest

import bfsoft as bf


@pytest.fixture(scope="session")
def adult() -> bf.Scenario:
    return bf.load_sample("adult")[1]


@pytest.fixture(scope="session")
def rows(adult: bf.Scenario) -> np.ndarray:
    """26,048 raw rows of the Adult training file, as many as the paper trains on; (26048, 5) codes."""
    everyone = bf.Records.of_frame(adult.domain, bf.load_sample("adult")[0]).expand()
    return everyone[np.random.default_rng(0).permutation(len(everyone))[:26_048]]


@pytest.fixture(scope="session")
def records(adult: bf.Scenario, rows: np.ndarray) -> bf.Records:
    return bf.Records.of_codes(adult.domain, rows)


@pytest.fixture(scope="session")
def candidates(rows: np.ndarray) -> np.ndarray:
    """512 of the rows, as after some rounds: the candidates lie where the data lie."""
    return rows[np.random.default_rng(1).choice(len(rows), 512)]


@pytest.fixture(scope="session")
def policy(adult: bf.Scenario) -> bf.Policy:
    return bf.Policy(adult.domain, {"age": bf.Threshold(7)})
