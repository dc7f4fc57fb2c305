"""Syntheses in the background: one comparison watched round by round, the same over many seeds, and a pilot.

Each runs in a thread of its session, can be stopped and keeps what is done; none writes anything to a disk. Workers
are threads of this process, never other processes, so that a table stays in the memory it was brought to.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from bfsoft import Budget, Fidelity, Method, Policy, Records, Round, Run, Scenario, evolve, synthesize
from bfsoft.domain import Codes
from bfsoft.errors import BFSoftError
from bfsoft.experiments import Arm, Pilot, compare, pilot

from .background import Answer

ORDERS = (1, 2, 3)
# Around what a scenario sets: a factor of 4 in temperature either way, a decade of budget.
_FACTORS, _SPENDS = (0.25, 0.5, 1.0, 2.0, 4.0), (0.1, 0.3, 1.0, 3.0, 10.0)
FEW_SEEDS = 6


def orders(policy: Policy) -> list[int]:
    """The orders of marginals that errors are measured over: those of ORDERS that the domain has attributes for."""
    return [k for k in ORDERS if k <= len(policy.domain.names)]


def order(policy: Policy, asked: int | None = None) -> int:
    """The order of marginals asked for, where the domain has it; else pairs, or attributes where there is only one."""
    given = orders(policy)
    return asked if asked in given else min(2, given[-1])


def small_grid(scenario: Scenario) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The temperatures τ and budgets ρ that a pilot tries unless told otherwise: five each around the scenario's."""
    return (
        tuple(scenario.tau * factor for factor in _FACTORS),
        tuple(scenario.budget.rho * factor for factor in _SPENDS),
    )


def settings(scenario: Scenario) -> dict[str, Any]:
    """The scenario's settings of a synthesis, but for method, budget and seed."""
    names = ("size", "rounds", "shares", "threshold", "resampling", "mutation")
    return {name: getattr(scenario, name) for name in names}


@dataclass
class Comparison:
    """Several methods on the same data with the same seed, one round of each in turn.

    Other threads may read every field while it runs; rounds and errors only ever grow.
    """

    scenario: Scenario
    records: Records
    methods: Sequence[Method]
    rounds: dict[str, list[Round]] = field(default_factory=dict)
    errors: list[dict[str, object]] = field(default_factory=list)
    failure: str | None = None
    fidelity: Fidelity | None = None

    def __post_init__(self) -> None:
        self.rounds = {method.name: [] for method in self.methods}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="synthesis", daemon=True)

    def start(self) -> Comparison:
        """Begin; returns itself."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """End after the round under way; what is done stays."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end, or so many seconds; whether it has ended."""
        self._thread.join(seconds)
        return not self.running

    @property
    def running(self) -> bool:
        """Whether rounds are still being run."""
        return self._thread.is_alive()

    @property
    def progress(self) -> float:
        """The share of rounds done, in [0, 1]."""
        return sum(map(len, self.rounds.values())) / (len(self.methods) * self.scenario.rounds)

    @property
    def stopped(self) -> bool:
        """Whether it ended before the last round, because it was asked to."""
        return not self.running and self.progress < 1 and self.failure is None

    @property
    def completed(self) -> int:
        """How many rounds all methods have behind them; up to there everything about them is known."""
        return min(map(len, self.rounds.values()))

    def error_frame(self, k: int) -> pd.DataFrame:
        """Errors so far over k-way marginals: columns method, round, error."""
        rows = [row for row in [*self.errors] if row["k"] == k]
        return pd.DataFrame(rows, columns=["method", "round", "k", "error"]).drop(columns="k")

    def run(self, method: str) -> Run | None:
        """The run of one method with the rounds it has, or None before its first."""
        own = next(each for each in self.methods if each.name == method)
        rounds = [*self.rounds[method]]
        return Run(self.scenario.policy, own, self.scenario.budget, self.scenario.rounds, rounds) if rounds else None

    def _work(self) -> None:
        try:
            self.fidelity = Fidelity(self.records)
            for each_round in zip(*map(self._evolve, self.methods), strict=True):
                for method, each in zip(self.methods, each_round, strict=True):
                    for k in orders(self.scenario.policy):
                        error = self.fidelity.error(each.selected, k)
                        self.errors.append({"method": method.name, "round": each.number, "k": k, "error": error})
                    self.rounds[method.name].append(each)
                if self._stop.is_set():
                    return
        except BFSoftError as error:
            self.failure = str(error)
        except Exception as error:  # the thread has no one above it: what it cannot handle must still be seen
            self.failure = f"the synthesis failed unexpectedly ({type(error).__name__})"

    def _evolve(self, method: Method) -> Iterator[Round]:
        now = self.scenario
        return evolve(
            self.records, now.policy, method.vote, now.budget, seed=now.seed, calibration=method.calibration,
            **settings(now),
        )  # fmt: skip


class Timed(Answer):
    """An answer that also knows how long it has taken and how long it will."""

    def __init__(self, question: Hashable, work: Callable[[Callable[[float], None], list[Any]], Any]) -> None:
        self.began = time.monotonic()
        self.ended: float | None = None
        super().__init__(question, self._timed(work))

    @property
    def elapsed(self) -> float:
        """Seconds since it began, until it ended."""
        return (self.ended or time.monotonic()) - self.began

    @property
    def remaining(self) -> float | None:
        """Seconds left at the pace so far; None before there is a pace."""
        return self.elapsed * (1 - self.progress) / self.progress if self.progress > 0 else None

    def _timed(self, work: Callable[[Callable[[float], None], list[Any]], Any]) -> Any:
        def timed(watch: Callable[[float], None], found: list[Any]) -> Any:
            try:
                return work(watch, found)
            finally:
                self.ended = time.monotonic()

        return timed


@dataclass(frozen=True)
class RepeatAsked:
    """What a repetition was asked: the scenario, the methods and the seeds, in order."""

    scenario: Scenario
    methods: tuple[Method, ...]
    seeds: tuple[int, ...]


class Repeats(Timed):
    """The methods of a comparison at many seeds; ``found`` gains one tidy frame a seed, all methods or none of them."""

    def __init__(self, asked: RepeatAsked, records: Records) -> None:
        self.asked, self.records = asked, records
        super().__init__(asked, self._repeat)

    @property
    def frame(self) -> pd.DataFrame:
        """The seeds done so far: the frame of ``bfsoft.experiments.compare`` with the column ``measure``."""
        return pd.concat([*self.found], ignore_index=True) if self.found else pd.DataFrame()

    @property
    def done(self) -> int:
        """How many seeds are done."""
        return len(self.found)

    def _repeat(self, watch: Callable[[float], None], found: list[Any]) -> None:
        now, methods, seeds = self.asked.scenario, self.asked.methods, self.asked.seeds
        total, ran = len(methods) * len(seeds) * now.rounds, 0

        def on_round(each: Round) -> None:
            nonlocal ran
            ran += 1
            watch(ran / total)

        def loop(records: Records, arm: Arm, seed: int, given: Mapping[str, Any]) -> Codes:
            return _synthesis(records, arm, seed, given, now.delta, on_round)

        ks = orders(now.policy)
        for seed in seeds:
            frame = compare(
                self.records, now.policy, methods, now.budget, seeds=[seed], k=ks, loop=loop, jobs=1, **settings(now)
            )
            # One order of marginals is not worth a column to compare(); here every frame has it.
            found.append(frame if "measure" in frame else frame.assign(measure=f"{ks[0]}-way"))


@dataclass(frozen=True)
class PilotAsked:
    """What a pilot was asked: the scenario's policy and settings, and the grid. ρ of ``budgets`` are the private run's.

    Equal for scenarios that differ only in what a pilot does not use, such as τ.
    """

    policy: Policy
    settings: tuple[tuple[str, Any], ...]
    delta: float
    private_size: int
    taus: tuple[float, ...]
    budgets: tuple[float, ...]
    seeds: int
    k: int

    @classmethod
    def of(
        cls, scenario: Scenario, private_size: int, taus: Sequence[float], budgets: Sequence[float], seeds: int, k: int
    ) -> PilotAsked:
        """The question that a scenario and a grid make."""
        given = tuple(settings(scenario).items())
        return cls(scenario.policy, given, scenario.delta, private_size, tuple(taus), tuple(budgets), seeds, k)


class Forecast(Timed):
    """A pilot in the background; ``found`` gains a Pilot of the whole grid a seed, each with one seed more.

    The noise is scaled, and where that makes a difference also left unscaled, to show what scaling did.
    """

    def __init__(self, asked: PilotAsked, records: Records) -> None:
        self.asked, self.records = asked, records
        super().__init__(asked, self._pilot)

    @property
    def latest(self) -> Pilot | None:
        """The pilot with the seeds done so far, or None before the first."""
        return self.found[-1] if self.found else None

    @property
    def seeds(self) -> int:
        """How many seeds are done."""
        return len(self.found)

    @property
    def runs(self) -> int:
        """How many syntheses it takes."""
        return self.per_seed(self.records.n, self.asked) * self.asked.seeds

    @staticmethod
    def scalings(n_public: int, asked: PilotAsked) -> tuple[str, ...]:
        """Which scalings are run: for tables of one size they are the same."""
        return ("scaled",) if n_public == asked.private_size else ("scaled", "unscaled")

    @classmethod
    def per_seed(cls, n_public: int, asked: PilotAsked) -> int:
        """How many syntheses one seed takes: Hard and every τ, at every budget and scaling."""
        return len(cls.scalings(n_public, asked)) * (len(asked.taus) + 1) * len(asked.budgets)

    def _pilot(self, watch: Callable[[float], None], found: list[Any]) -> None:
        asked, made, ran = self.asked, dict[Hashable, Codes](), 0
        budgets = [Budget(rho=rho, delta=asked.delta) for rho in asked.budgets]
        total = self.runs * dict(asked.settings)["rounds"]

        def loop(records: Records, arm: Arm, seed: int, given: Mapping[str, Any]) -> Codes:
            # A pilot with one seed more asks for the earlier seeds again; their tables are kept.
            key = (arm.labels, seed)
            if key not in made:
                made[key] = _synthesis(records, arm, seed, given, asked.delta, on_round)
            return made[key]

        def on_round(each: Round) -> None:
            nonlocal ran
            ran += 1
            watch(ran / total)

        for seeds in range(1, asked.seeds + 1):
            found.append(
                pilot(
                    self.records, asked.policy, asked.private_size, asked.taus, budgets, seeds=seeds, k=asked.k,
                    scalings=self.scalings(self.records.n, asked), loop=loop, jobs=1, **dict(asked.settings),
                )
            )  # fmt: skip


def _synthesis(
    records: Records, arm: Arm, seed: int, given: Mapping[str, Any], delta: float, on_round: Callable[[Round], None]
) -> Codes:
    """One run of an experiment, seen round by round, so that a long one stops soon; codes (size, d)."""
    method, budget = Method("", arm.vote, str(arm.calibration)), Budget(rho=arm.rho * arm.spend, delta=delta)
    return synthesize(records, arm.policy, method, budget, on_round=on_round, seed=seed, **given).codes
