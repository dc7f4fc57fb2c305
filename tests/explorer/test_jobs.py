"""Jobs in the background: the same results as in the foreground, stoppable, honest about faults, off every disk."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest

import bfsoft as bf
from bfsoft.errors import SynthesisError
from bfsoft.experiments import compare, pilot
from bfsoft_explorer import jobs
from bfsoft_explorer.jobs import Comparison, Forecast, PilotAsked, RepeatAsked, Repeats, settings


@pytest.fixture(scope="module")
def staff() -> tuple[bf.Scenario, bf.Records]:
    frame, scenario = bf.load_sample("staff")
    return scenario.replace(size=32, rounds=4), bf.Records.of_frame(scenario.domain, frame)


def methods(scenario: bf.Scenario) -> list[bf.Method]:
    return [bf.hard(), bf.bf_soft(scenario.tau)]


def test_it_runs_what_synthesize_runs(staff: tuple[bf.Scenario, bf.Records]) -> None:
    scenario, records = staff
    job = Comparison(scenario, records, methods(scenario)).start()
    assert job.wait()
    assert job.failure is None
    for method in methods(scenario):
        alone = bf.synthesize(records, scenario.policy, method, scenario.budget, size=32, rounds=4, seed=scenario.seed)
        run = job.run(method.name)
        assert run is not None
        assert run.completed
        np.testing.assert_array_equal(run.codes, alone.codes)
        np.testing.assert_array_equal(run.sigma, alone.sigma)


def test_errors_are_those_of_the_fidelity_measure(staff: tuple[bf.Scenario, bf.Records]) -> None:
    scenario, records = staff
    job = Comparison(scenario, records, methods(scenario)).start()
    job.wait()
    for k in (1, 2, 3):
        frame = job.error_frame(k)
        assert list(frame.columns) == ["method", "round", "error"]
        assert len(frame) == 8
        for row in frame.itertuples():
            selected = job.rounds[row.method][row.round - 1].selected
            assert row.error == bf.Fidelity(records, k).error(selected)


def test_stop_ends_between_rounds_and_keeps_what_there_is(staff: tuple[bf.Scenario, bf.Records]) -> None:
    scenario, records = staff
    reached, released = threading.Event(), threading.Event()

    class Held(bf.HardVote):
        """Stops in its second round until the test has asked for the end."""

        rounds = 0

        def histogram(self, *args, **kwargs):  # type: ignore[no-untyped-def]
            Held.rounds += 1
            if Held.rounds == 2:
                reached.set()
                assert released.wait(60)
            return super().histogram(*args, **kwargs)

    job = Comparison(scenario, records, [bf.Method("Hard", Held()), bf.bf_soft(0.03)]).start()
    assert reached.wait(60)
    job.stop()
    released.set()
    assert job.wait(60)
    assert {name: len(rounds) for name, rounds in job.rounds.items()} == {"Hard": 2, "BF-Soft": 2}
    assert job.stopped
    assert job.progress == 0.5
    assert not job.run("Hard").completed  # type: ignore[union-attr]


def test_an_error_of_ours_is_shown_and_one_of_the_machine_is_named_without_its_text(
    staff: tuple[bf.Scenario, bf.Records],
) -> None:
    scenario, records = staff

    def broken(error: Exception) -> Comparison:
        class Broken(bf.HardVote):
            def histogram(self, *args, **kwargs):  # type: ignore[no-untyped-def]
                raise error

        job = Comparison(scenario, records, [bf.Method("Hard", Broken())]).start()
        job.wait(60)
        return job

    assert broken(SynthesisError("m is odd")).failure == "m is odd"
    hidden = broken(RuntimeError("a private cell: 42")).failure
    assert hidden is not None
    assert "RuntimeError" in hidden
    assert "42" not in hidden


# ------------------------------------------------------------------ over seeds


class Gate(bf.HardVote):
    """A hard vote that waits, from its nth histogram on, until the test opens it."""

    def __init__(self, nth: int) -> None:
        self.nth, self.cast = nth, 0
        self.reached, self.opened = threading.Event(), threading.Event()

    def histogram(self, *args, **kwargs):  # type: ignore[no-untyped-def]
        self.cast += 1
        if self.cast >= self.nth:
            self.reached.set()
            assert self.opened.wait(60)
        return super().histogram(*args, **kwargs)


def test_repeats_are_the_experiment_of_the_library(staff: tuple[bf.Scenario, bf.Records]) -> None:
    scenario, records = staff
    job = Repeats(RepeatAsked(scenario, tuple(methods(scenario)), (5, 6, 7)), records).wait()
    assert job.failure is None
    expected = compare(
        records, scenario.policy, methods(scenario), scenario.budget, seeds=[5, 6, 7], k=(1, 2, 3), jobs=1,
        **settings(scenario),
    )  # fmt: skip
    by = ["method", "seed", "measure"]
    pd.testing.assert_frame_equal(
        job.frame.sort_values(by, ignore_index=True), expected.sort_values(by, ignore_index=True)
    )
    assert job.progress == 1.0
    assert job.done == 3
    assert not job.stopped


def test_stopped_repeats_keep_whole_seeds_and_no_half_ones(staff: tuple[bf.Scenario, bf.Records]) -> None:
    scenario, records = staff
    gate = Gate(nth=6)  # 4 rounds a run: the second of the second seed
    asked = RepeatAsked(scenario, (bf.Method("Hard", gate), bf.bf_soft(scenario.tau)), tuple(range(50)))
    job = Repeats(asked, records)
    assert gate.reached.wait(60)
    job.stop()
    gate.opened.set()
    job.wait(60)
    assert job.stopped
    assert not job.running
    assert sorted(job.frame["seed"].unique()) == [0]
    assert set(job.frame["method"]) == {"Hard", "BF-Soft"}


def test_time_left_falls_to_nothing_and_stays_finite(staff: tuple[bf.Scenario, bf.Records]) -> None:
    scenario, records = staff
    gate = Gate(nth=3)
    job = Repeats(RepeatAsked(scenario, (bf.Method("Hard", gate),), (0, 1)), records)
    assert gate.reached.wait(60)
    assert job.progress == pytest.approx(2 / 8)
    assert job.remaining == pytest.approx(3 * job.elapsed, rel=0.5)
    gate.opened.set()
    job.wait(60)
    assert job.remaining == 0


def test_a_domain_of_one_attribute_is_measured_over_that_alone() -> None:
    policy = bf.Policy(bf.Domain([bf.Numeric("x", 0, 9)]), {"x": bf.Threshold(1)})
    records = bf.Records.of_codes(policy.domain, np.arange(10)[:, None])
    scenario = bf.Scenario.of(policy, size=8, rounds=2)
    job = Repeats(RepeatAsked(scenario, (bf.hard(),), (0, 1)), records).wait()
    assert job.failure is None
    assert job.frame["measure"].tolist() == ["1-way", "1-way"]


# ------------------------------------------------------------------ pilots


def small_pilot(scenario: bf.Scenario, private_size: int, seeds: int = 3) -> PilotAsked:
    return PilotAsked.of(scenario, private_size, (0.02, 0.2), (1e-3, 1e-1), seeds, 2)


def test_a_forecast_is_the_pilot_of_the_library(staff: tuple[bf.Scenario, bf.Records]) -> None:
    scenario, records = staff
    asked = small_pilot(scenario, 2 * records.n)
    job = Forecast(asked, records).wait()
    assert job.failure is None
    assert job.seeds == 3
    assert job.progress == 1.0
    expected = pilot(
        records, scenario.policy, 2 * records.n, asked.taus, [bf.Budget(rho=rho) for rho in asked.budgets], seeds=3,
        jobs=1, **settings(scenario),
    )  # fmt: skip
    assert job.latest is not None
    pd.testing.assert_frame_equal(job.latest.forecast, expected.forecast)
    pd.testing.assert_frame_equal(job.latest.recommended, expected.recommended)
    pd.testing.assert_frame_equal(job.latest.runs, expected.runs)
    assert len(expected.runs) == job.runs


def test_each_run_of_a_pilot_is_run_once(
    staff: tuple[bf.Scenario, bf.Records], monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario, records = staff
    ran: list[object] = []
    whole = jobs.synthesize
    monkeypatch.setattr(jobs, "synthesize", lambda *args, **given: ran.append(1) or whole(*args, **given))
    job = Forecast(small_pilot(scenario, 2 * records.n), records).wait()
    assert job.failure is None
    assert len(ran) == job.runs == 2 * 3 * 2 * 3


def test_a_pilot_of_equal_sizes_leaves_the_unscaled_runs_out(staff: tuple[bf.Scenario, bf.Records]) -> None:
    scenario, records = staff
    job = Forecast(small_pilot(scenario, records.n, seeds=2), records).wait()
    assert job.latest is not None
    assert set(job.latest.forecast["scaling"]) == {"scaled"}
    assert len(job.latest.runs) == job.runs == 3 * 2 * 2


def test_a_stopped_pilot_keeps_the_whole_grid_of_fewer_seeds(staff: tuple[bf.Scenario, bf.Records]) -> None:
    scenario, records = staff
    job = Forecast(small_pilot(scenario, records.n, seeds=500), records)
    while job.seeds < 2 and job.running:
        job.wait(0.01)
    job.stop()
    job.wait(60)
    assert job.stopped
    assert 2 <= job.seeds < 500
    forecast = job.latest.forecast  # type: ignore[union-attr]
    assert len(forecast) == 4
    assert set(forecast["seeds"]) == {job.seeds}


def test_what_a_pilot_does_not_use_does_not_make_it_stale(staff: tuple[bf.Scenario, bf.Records]) -> None:
    scenario, _ = staff
    asked = small_pilot(scenario, 100)
    assert small_pilot(scenario.replace(tau=0.5, method="Hard", seed=9, title="other"), 100) == asked
    for change in ({"size": 16}, {"rounds": 2}, {"delta": 1e-6}, {"threshold": 1.0}, {"resampling": "multinomial"}):
        assert small_pilot(scenario.replace(**change), 100) != asked
    assert small_pilot(scenario, 101) != asked


def test_no_job_of_the_app_starts_another_process_or_writes_a_file(
    staff: tuple[bf.Scenario, bf.Records], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario, records = staff
    monkeypatch.setenv("JOBLIB_TEMP_FOLDER", str(tmp_path))
    monkeypatch.setattr(subprocess, "Popen", lambda *args, **given: pytest.fail("a process was started"))
    monkeypatch.setattr(joblib, "Parallel", lambda *args, **given: pytest.fail("joblib was asked for workers"))
    many = 60  # more runs than the library takes for worth a pool of workers
    assert Repeats(RepeatAsked(scenario, tuple(methods(scenario)), tuple(range(many))), records).wait().failure is None
    assert Forecast(small_pilot(scenario, 2 * records.n, seeds=5), records).wait().failure is None
    assert not [*tmp_path.iterdir()]


def test_a_fault_in_an_experiment_is_named_without_its_text(staff: tuple[bf.Scenario, bf.Records]) -> None:
    scenario, records = staff

    class Broken(bf.HardVote):
        def histogram(self, *args, **kwargs):  # type: ignore[no-untyped-def]
            raise RuntimeError("a private cell: 42")

    job = Repeats(RepeatAsked(scenario, (bf.Method("Hard", Broken()),), (0,)), records).wait(60)
    assert job.failure is not None
    assert "RuntimeError" in job.failure
    assert "42" not in job.failure
