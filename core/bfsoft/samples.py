"""The tables and scenarios that come with the package, and where they lie: in a checkout or inside a wheel."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .errors import DataError, ScenarioError
from .tables import read_table

if TYPE_CHECKING:
    from .domain import Domain
    from .scenario import Scenario

_HERE = Path(__file__).resolve().parent


def xor3(n: int = 12_000, seed: int = 0) -> pd.DataFrame:
    """XOR-3 (THEORY, "Experiments"): x1, x2, x3 uniform on 0..7, label the XOR of the three x_i ≥ 4; (n, 4) integers.

    No pair of columns tells anything about the label; only all three together do.

    >>> xor3(3).columns.tolist()
    ['x1', 'x2', 'x3', 'label']
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise DataError(f"n must be a whole number of at least 0, got {n!r}")
    x = np.random.default_rng(seed).integers(0, 8, size=(n, 3))
    frame = pd.DataFrame(x, columns=["x1", "x2", "x3"])
    return frame.assign(label=(x >= 4).sum(axis=1) % 2)


_JOBS = {
    # job: (share of the staff, youngest, mean remote days, mean satisfaction)
    "developer": (0.17, 20, 3.2, 6.9),
    "tester": (0.07, 20, 2.8, 6.5),
    "designer": (0.07, 20, 2.9, 7.0),
    "accountant": (0.09, 21, 2.0, 6.2),
    "recruiter": (0.05, 21, 2.2, 6.4),
    "assistant": (0.10, 18, 1.2, 5.9),
    "driver": (0.14, 19, 0.1, 5.2),
    "warehouse": (0.16, 18, 0.0, 4.9),
    "technician": (0.08, 19, 0.4, 5.9),
    "team lead": (0.05, 28, 1.9, 7.2),
    "director": (0.02, 38, 1.6, 8.0),
}


def staff(n: int = 400, seed: int = 7) -> pd.DataFrame:
    """A made-up staff survey for teaching; nobody in it exists. ``sample_data/staff.csv`` is ``staff()``.

    Columns: age 18–67 (years), service 0–40 (years with the firm), job (one of 11, in four groups),
    remote 0–5 (days a week), sick 0–30 (days last year), satisfaction 1–10. Service grows with age, remote days
    and satisfaction go with the job, sick days rise with age and fall with satisfaction. The numbers are
    drawn by inversion from uniforms alone, whose stream NumPy keeps the same from release to release.
    """
    u = np.random.default_rng(seed).random((n, 8))
    names = np.array([*_JOBS])
    share, youngest, remote, content = np.array([*_JOBS.values()]).T
    job = np.minimum(np.searchsorted(np.cumsum(share) / share.sum(), u[:, 0], side="right"), len(names) - 1)
    # The mean of two uniforms is a triangle: most are in mid-life, few at either end.
    age = np.floor(youngest[job] + (68 - youngest[job]) * (u[:, 1] + u[:, 2]) / 2)
    service = np.floor(np.minimum(40, age - 17) * u[:, 3] ** 1.5)
    remote_days = np.clip(np.rint(remote[job] + 3 * (u[:, 4] - 0.5) * (remote[job] > 0.5)), 0, 5)
    satisfaction = np.clip(np.rint(content[job] + 0.03 * service + 6 * ((u[:, 5] + u[:, 6]) / 2 - 0.5)), 1, 10)
    sick_mean = 2.5 + 0.07 * (age - 18) + 0.6 * (10 - satisfaction)
    sick = np.clip(np.floor(-sick_mean * np.log1p(-u[:, 7])), 0, 30)
    whole = {"age": age, "service": service, "remote": remote_days, "sick": sick, "satisfaction": satisfaction}
    frame = pd.DataFrame({name: values.astype(np.int64) for name, values in whole.items()})
    frame.insert(2, "job", pd.Series(names[job], dtype=object))
    return frame


def sample_data() -> Path:
    """The directory of the sample tables and scenarios; raises DataError when the installation lacks it."""
    for place in (_HERE / "sample_data", _HERE.parents[1] / "sample_data"):  # a wheel, a checkout
        if (place / "adult.yaml").is_file():
            return place
    raise DataError("the sample data is missing from this installation; install the package again")


def samples() -> list[str]:
    """The names of the samples: each has a scenario and a table."""
    return [*_named(sample_data())]


def _named(place: Path) -> dict[str, Path]:
    return {path.stem: path for path in sorted(place.glob("*.yaml"), key=lambda path: path.stem)}


def policies() -> dict[str, Scenario]:
    """The ready policies by name, those of the paper's experiments on Adult and Bank (THEORY, "Experiments")."""
    from .scenario import Scenario

    return {name: Scenario.load(path) for name, path in _named(sample_data() / "policies").items()}


def load_sample(name: str) -> tuple[pd.DataFrame, Scenario]:
    """The table and the scenario of a sample; the table may have a ``count`` column. Raises DataError if unknown."""
    from .scenario import Scenario

    if name not in samples():
        raise DataError(f"there is no sample {name!r}; there are {', '.join(samples())}")
    scenario = Scenario.load(sample_data() / f"{name}.yaml")
    return _sample_table(name, scenario.domain), scenario


def load_scenario(name: str | os.PathLike[str]) -> Scenario:
    """The scenario of that name: a sample's, a ready policy's, or a file's. Raises ScenarioError if there is none.

    A bare name means what comes with the package; write ``./adult`` for a file of that name.
    """
    from .scenario import Scenario

    ready = _named(sample_data()) | _named(sample_data() / "policies")
    if os.fspath(name) in ready:
        return Scenario.load(ready[os.fspath(name)])
    if not os.path.exists(name):
        raise ScenarioError(f"there is no scenario {os.fspath(name)!r}: no such file, and none of {', '.join(ready)}")
    return Scenario.load(name)


def load_data(data: str | os.PathLike[str], domain: Domain) -> pd.DataFrame:
    """The table that a scenario's ``data`` names, a sample or a file, read for a domain; DataError if none."""
    if os.fspath(data) in samples():
        return _sample_table(os.fspath(data), domain)
    if not os.path.exists(data):
        raise DataError(f"there is no table {os.fspath(data)!r}: no such file, and no sample of that name")
    return read_table(data, domain)


def _sample_table(name: str, domain: Domain) -> pd.DataFrame:
    return xor3() if name == "xor3" else read_table(sample_data() / f"{name}.csv", domain)
