"""Trials: many seeded syntheses run side by side, each measured, kept as they end, and continued after a crash.

It knows how to run and to remember; which trials make an experiment is said in ``studies`` and ``forecast``.
A trial depends on its own description and seed alone, so the same frame comes out whatever the workers,
the order in which trials end, or how often the work was interrupted.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..domain import Codes
from ..errors import ExperimentError
from ..policy import Policy
from ..privacy import DEFAULT_DELTA, Budget
from ..records import Records
from ..synthesis import Calibration, evolve
from ..votes import Vote
from .results import ResultsFile

Measure = Callable[[Codes], float]
Labels = tuple[tuple[str, Any], ...]

# Starting worker processes takes about as long as this many runs; below it one process is quicker.
_WORTH_WORKERS = 48
_CHUNK = 16


@dataclass(frozen=True)
class Arm:
    """One thing to run over seeds: a vote with its calibration on one of the bench's tables.

    ``labels`` are its columns in the frame. ``spend`` times ρ is what a run really spends: other than 1 only in a
    pilot on public data, which scales its noise to that of the target.
    """

    labels: Labels
    policy: Policy
    vote: Vote
    calibration: str | Calibration
    rho: float
    table: int = 0
    spend: float = 1.0


@dataclass(frozen=True)
class Trial:
    """An arm at one seed."""

    arm: Arm
    seed: int

    @property
    def labels(self) -> Labels:
        return (*self.arm.labels, ("seed", self.seed))


def final_codes(records: Records, arm: Arm, seed: int, settings: Mapping[str, Any]) -> Codes:
    """The synthetic records (m, d) of one run by the loop of ``bfsoft.synthesis``."""
    budget = Budget(rho=arm.rho * arm.spend)
    codes = None
    for each in evolve(records, arm.policy, arm.vote, budget, seed=seed, calibration=arm.calibration, **settings):
        codes = each.selected
    assert codes is not None
    return codes


Loop = Callable[[Records, Arm, int, Mapping[str, Any]], Codes]


@dataclass(frozen=True)
class Bench:
    """What trials share, prepared once: tables as distinct records, the measures of each, the settings, the loop.

    For each table, ``measures`` has the named functions that turn synthetic codes into an error, and
    ``references`` the table that they compare with.
    """

    tables: Sequence[Records]
    measures: Sequence[Mapping[str, Measure]]
    references: Sequence[Records]
    settings: Mapping[str, Any] = field(default_factory=dict)
    loop: Loop = final_codes

    def run(self, trial: Trial) -> list[float]:
        """The errors of one trial, in the order of the measures."""
        table = trial.arm.table
        codes = self.loop(self.tables[table], trial.arm, trial.seed, self.settings)
        return [float(measure(codes)) for measure in self.measures[table].values()]

    @property
    def measured(self) -> list[str]:
        return list(self.measures[0])


@dataclass(frozen=True)
class Progress:
    """How far an experiment is: trials done (those resumed included) of all, seconds spent, seconds left if known."""

    done: int
    total: int
    elapsed: float
    remaining: float | None


OnProgress = Callable[[Progress], bool | None]


def run_trials(
    bench: Bench,
    trials: Sequence[Trial],
    *,
    delta: float = DEFAULT_DELTA,
    jobs: int | None = None,
    progress: OnProgress | None = None,
    resume: str | os.PathLike[str] | None = None,
    about: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Run trials on all cores; a tidy frame, one row a trial and measure, in the order of the trials.

    Columns: the trials' labels with ``epsilon`` (exact, at ``delta``) after ``rho``, ``seed``, ``measure`` where
    there are several, and ``error``. ``jobs`` as joblib counts them; None takes all cores, or the backend that
    ``joblib.parallel_config`` has set, so that ``with joblib.parallel_config(backend="dask")`` runs on a cluster.
    ``progress`` sees every batch as it ends; when it returns False the work stops and the frame holds what is
    done. ``resume`` names a results file: what it holds is not run again, and what ends is added to it at once.
    Raises ExperimentError where that file was made with other settings; ``about`` are the settings it records.
    """
    keys = [_key(trial) for trial in trials]
    if len(set(keys)) < len(keys):
        twice = next(trial for trial, key in zip(trials, keys, strict=True) if keys.count(key) > 1)
        raise ExperimentError(f"the experiment asks twice for {dict(twice.labels)}; give each budget, τ and seed once")
    columns = [*(name for name, _ in (trials[0].labels if trials else ())), "arm"]
    with contextlib.ExitStack() as stack:
        file = None
        if resume is not None:
            settings = {**_settings(bench), **(about or {})}
            file = stack.enter_context(ResultsFile(resume, settings, columns, bench.measured))
        done: dict[tuple[str, ...], list[float]] = {} if file is None else dict(file.rows)
        waiting = [trial for trial, key in zip(trials, keys, strict=True) if key not in done]
        clock, wanted = _Clock(len(trials), len(trials) - len(waiting)), _Wanted(progress)
        wanted.ask(clock.progress())
        for batch in _results(bench, waiting, jobs, wanted):
            rows = [(_key(trial), errors) for trial, errors in batch]
            if file is not None:
                file.append(rows)
            done.update(rows)
            clock.advance(len(rows))
            wanted.ask(clock.progress())
    return _frame(bench, trials, done, delta)


def _key(trial: Trial) -> tuple[str, ...]:
    """The labels, and a digest of what they stand for: two arms of one name are still two arms."""
    arm = trial.arm
    calibration = getattr(arm.calibration, "__qualname__", None) or repr(arm.calibration)
    meant = json.dumps([repr(arm.vote), calibration, arm.rho, arm.spend, arm.table, policy_digest(arm.policy)])
    return (*(text(value) for _, value in trial.labels), hashlib.sha256(meant.encode()).hexdigest()[:8])


def text(value: Any) -> str:
    """A label as the results file holds it: numbers to the last digit, nothing for none."""
    if isinstance(value, float | np.floating):
        return "" if math.isnan(value) else repr(float(value))
    return str(value)


class _Wanted:
    """Whether more trials are wanted: until the caller's progress function says False."""

    def __init__(self, progress: OnProgress | None) -> None:
        self.more, self._progress = True, progress

    def ask(self, progress: Progress) -> None:
        if self.more and self._progress is not None:
            self.more = self._progress(progress) is not False


class _Clock:
    def __init__(self, total: int, resumed: int) -> None:
        self.total, self.resumed, self.ran, self.start = total, resumed, 0, time.monotonic()

    def advance(self, count: int) -> None:
        self.ran += count

    def progress(self) -> Progress:
        elapsed, done = time.monotonic() - self.start, self.resumed + self.ran
        remaining = elapsed / self.ran * (self.total - done) if self.ran else (0.0 if done == self.total else None)
        return Progress(done, self.total, elapsed, remaining)


# ------------------------------------------------------------------ on all cores


def _results(
    bench: Bench, trials: Sequence[Trial], jobs: int | None, wanted: _Wanted
) -> Iterator[list[tuple[Trial, list[float]]]]:
    """Batches of trials with their errors, as they end; no new ones once they are not wanted any more."""
    import joblib

    if jobs is None and (len(trials) <= _WORTH_WORKERS and not _elsewhere()):
        jobs = 1
    if jobs == 1:
        for trial in itertools.takewhile(lambda _: wanted.more, trials):
            yield [(trial, bench.run(trial))]
        return
    for records in bench.tables:
        _ = records.tree  # built here once, and travels to the workers with the records
    jobs = -1 if jobs is None and not _elsewhere() else jobs
    size = max(1, min(_CHUNK, math.ceil(len(trials) / (4 * _workers(jobs)))))
    chunks = (trials[start : start + size] for start in range(0, len(trials), size))
    # joblib takes tasks from this generator only as workers fall free: ending it ends the work, and what is
    # already with a worker still comes back.
    tasks = (
        joblib.delayed(_run_chunk)(bench, chunk, os.getpid())
        for chunk in itertools.takewhile(lambda _: wanted.more, chunks)
    )
    for chunk, errors in joblib.Parallel(n_jobs=jobs, batch_size=1, return_as="generator_unordered")(tasks):
        yield list(zip(chunk, errors, strict=True))


def _elsewhere() -> bool:
    """Whether the caller has chosen a backend or a number of jobs by ``joblib.parallel_config``."""
    from joblib.parallel import get_active_backend

    backend, jobs = get_active_backend()
    return type(backend).__name__ != "LokyBackend" or jobs not in (None, 1)


def _workers(jobs: int | None) -> int:
    import joblib

    return max(1, joblib.effective_n_jobs(-1 if jobs is None else jobs))


def _run_chunk(bench: Bench, trials: Sequence[Trial], parent: int) -> tuple[Sequence[Trial], list[list[float]]]:
    if os.getpid() != parent:
        # One worker a core already: votes on several threads each would only fight for them.
        os.environ["BFSOFT_THREADS"] = "1"
    return trials, [bench.run(trial) for trial in trials]


# ------------------------------------------------------------------ settings and frames


def _settings(bench: Bench) -> dict[str, Any]:
    """All that decides a trial's errors besides its labels, as plain values for the results file."""
    from importlib.metadata import version

    return {
        "bfsoft": version("bfsoft"),
        "loop": getattr(bench.loop, "__name__", repr(bench.loop)),
        "measures": bench.measured,
        **{f"table {number}": fingerprint(table) for number, table in enumerate(bench.tables)},
        **{f"reference {number}": fingerprint(table) for number, table in enumerate(bench.references)},
        **{name: repr(value) for name, value in sorted(bench.settings.items())},
    }


def fingerprint(records: Records) -> str:
    """A digest of a table and its domain: equal for equal tables, whatever the order of their rows."""
    digest = hashlib.sha256(repr((records.domain.attributes, records.domain.exact_weights)).encode())
    digest.update(np.ascontiguousarray(records.codes, dtype="<i8").tobytes())
    digest.update(np.ascontiguousarray(records.counts, dtype="<i8").tobytes())
    return digest.hexdigest()[:16]


def policy_digest(policy: Policy) -> str:
    """A digest of the rules and participation of a policy."""
    return hashlib.sha256(json.dumps([repr(policy.rules), policy.participation]).encode()).hexdigest()[:16]


def _frame(
    bench: Bench, trials: Sequence[Trial], done: Mapping[tuple[str, ...], list[float]], delta: float
) -> pd.DataFrame:
    """The trials that are done, in their order; the columns are there even when none is."""
    several = len(bench.measured) > 1
    columns = [name for name, _ in trials[0].labels] if trials else ["method", "tau", "rho", "seed"]
    columns.insert(columns.index("rho") + 1, "epsilon")
    columns += ["measure", "error"] if several else ["error"]
    epsilons = {rho: Budget(rho=rho, delta=delta).epsilon for rho in {trial.arm.rho for trial in trials}}
    rows = []
    for trial in trials:
        labels = {**dict(trial.labels), "epsilon": epsilons[trial.arm.rho]}
        for measure, error in zip(bench.measured, done.get(_key(trial), ()), strict=False):
            rows.append({**labels, "measure": measure, "error": error})
    return pd.DataFrame(rows, columns=columns).astype({"rho": float, "epsilon": float, "error": float})
