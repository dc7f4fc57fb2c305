"""A comparison in the background: the same rounds as in the foreground, stoppable between them, honest about faults."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import bfsoft as bf
from bfsoft.errors import SynthesisError
from bfsoft_explorer.jobs import Comparison


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
