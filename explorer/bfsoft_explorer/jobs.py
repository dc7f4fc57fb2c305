"""Syntheses in the background: one job a session and page, observed round by round and stoppable between rounds."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from bfsoft import Fidelity, Method, Records, Round, Run, Scenario, evolve
from bfsoft.errors import BFSoftError

ORDERS = (1, 2, 3)


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

    def error_frame(self, k: int) -> pd.DataFrame:
        """Errors so far over k-way marginals: columns method, round, error."""
        rows = [row for row in self.errors if row["k"] == k]
        return pd.DataFrame(rows, columns=["method", "round", "k", "error"]).drop(columns="k")

    def run(self, method: str) -> Run | None:
        """The run of one method with the rounds it has, or None before its first."""
        own = next(each for each in self.methods if each.name == method)
        rounds = [*self.rounds[method]]
        return Run(self.scenario.policy, own, self.scenario.budget, self.scenario.rounds, rounds) if rounds else None

    def _work(self) -> None:
        try:
            self.fidelity = Fidelity(self.records)
            orders = [k for k in ORDERS if k <= len(self.scenario.domain.names)]
            for each_round in zip(*map(self._evolve, self.methods), strict=True):
                for method, each in zip(self.methods, each_round, strict=True):
                    for k in orders:
                        error = self.fidelity.error(each.selected, k)
                        self.errors.append({"method": method.name, "round": each.number, "k": k, "error": error})
                    self.rounds[method.name].append(each)
                if self._stop.is_set():
                    return
        except BFSoftError as error:
            self.failure = str(error)
        except Exception as error:  # the thread has no one above it: what it cannot handle must still be seen
            self.failure = f"the synthesis failed unexpectedly ({type(error).__name__})"

    def _evolve(self, method: Method):  # type: ignore[no-untyped-def]
        s = self.scenario
        return evolve(
            self.records, s.policy, method.vote, s.budget, size=s.size, rounds=s.rounds, seed=s.seed, shares=s.shares,
            threshold=s.threshold, resampling=s.resampling, mutation=s.mutation, calibration=method.calibration,
        )  # fmt: skip
