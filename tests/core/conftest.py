"""Fixtures of the core's tests: each way to compute a vote, the paper's domains, and the helpers beside this file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import bfsoft as bf
from bfsoft import _kernels

sys.path.insert(0, str(Path(__file__).parent))  # brute.py and cases.py, which the tests import by name


@pytest.fixture
def without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine where numba cannot be imported: votes take the NumPy path."""
    monkeypatch.setattr(_kernels, "compiled", lambda: None)


@pytest.fixture(params=["compiled", "numpy"])
def path(request: pytest.FixtureRequest) -> str:
    """Both ways to compute a vote; a test that asks for it runs once on each."""
    if request.param == "numpy":
        request.getfixturevalue("without_numba")
    else:
        assert _kernels.compiled() is not None, "numba is a dependency: its kernels must load"
    return request.param


@pytest.fixture
def on_threads(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Set how many threads vote."""
    return lambda count: monkeypatch.setenv("BFSOFT_THREADS", str(count))


@pytest.fixture(scope="session")
def adult() -> bf.Domain:
    """The paper's five Adult columns with their public bounds, weight 0.2 each."""
    return bf.Domain(
        [
            bf.Numeric("age", 17, 90),
            bf.Categorical(
                "workclass",
                [
                    *("Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov", "State-gov"),
                    *("Without-pay", "Never-worked", "?"),
                ],
            ),
            bf.Numeric("education.num", 1, 16),
            bf.Numeric("hours.per.week", 1, 99),
            bf.Categorical("income", ["<=50K", ">50K"]),
        ]
    )


@pytest.fixture(scope="session")
def adult_records(adult: bf.Domain) -> bf.Records:
    """The Adult table that comes with the package."""
    return bf.Records.of_frame(adult, bf.load_sample("adult")[0])
