"""Experiments: what a study's frame holds, that it adds up, and that neither workers nor crashes change it."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest

import bfsoft as bf
from bfsoft import experiments as ex
from bfsoft.errors import BFSoftError, ExperimentError
from bfsoft.experiments.trials import final_codes

SMALL = {"size": 48, "rounds": 2}
BUDGETS = (1e-3, 1e-1)


@pytest.fixture(scope="module")
def policy() -> bf.Policy:
    return bf.Policy(bf.load_sample("xor3")[1].domain, {"x1": bf.Threshold(1)})


@pytest.fixture(scope="module")
def table(policy: bf.Policy) -> bf.Records:
    return bf.Records.of_frame(policy.domain, bf.xor3(600, seed=3))


def compared(table: bf.Records, policy: bf.Policy, **options: object) -> pd.DataFrame:
    methods = [bf.hard(), bf.bf_soft(0.02), bf.bf_soft(0.1)]
    return ex.compare(table, policy, methods, BUDGETS, **{**SMALL, "seeds": 3, **options})


# ------------------------------------------------------------------ frames


def test_a_comparison_is_tidy(table: bf.Records, policy: bf.Policy) -> None:
    frame = compared(table, policy)
    assert list(frame.columns) == ["method", "tau", "rho", "epsilon", "seed", "error"]
    assert len(frame) == 3 * 2 * 3
    assert frame["tau"].isna().equals(frame["method"] == "Hard")
    assert frame.groupby("rho")["epsilon"].first().tolist() == [bf.Budget(rho=rho).epsilon for rho in BUDGETS]
    assert frame["error"].between(0, 1).all()


def test_a_trial_is_the_synthesis_it_names(table: bf.Records, policy: bf.Policy) -> None:
    frame = compared(table, policy, k=(1, 3))
    run = bf.synthesize(table, policy, bf.bf_soft(0.1), bf.Budget(rho=1e-1), seed=2, **SMALL)
    row = frame[(frame["tau"] == 0.1) & (frame["rho"] == 1e-1) & (frame["seed"] == 2)].set_index("measure")["error"]
    assert row.to_dict() == {f"{k}-way": bf.Fidelity(table, k).error(run.codes) for k in (1, 3)}


def test_errors_can_be_against_another_table(table: bf.Records, policy: bf.Policy) -> None:
    other = bf.Records.of_frame(policy.domain, bf.xor3(50, seed=9))
    frame = ex.compare(table, policy, [bf.hard()], [1e-1], seeds=1, reference=other, **SMALL)
    run = bf.synthesize(table, policy, bf.hard(), bf.Budget(rho=1e-1), seed=0, **SMALL)
    assert frame["error"].tolist() == [bf.Fidelity(other).error(run.codes)]


def test_a_sweep_is_hard_and_each_temperature(table: bf.Records, policy: bf.Policy) -> None:
    frame = ex.sweep(table, policy, [0.01, 0.2], [1e-2], seeds=1, **SMALL)
    assert frame["tau"].fillna(0).tolist() == [0, 0.01, 0.2]


@pytest.mark.parametrize("order", ["noise first", "smoothing first"])
def test_a_decomposition_adds_up_to_the_gain_exactly(table: bf.Records, policy: bf.Policy, order: str) -> None:
    frame = ex.decompose(table, policy, [0.02, 0.1], BUDGETS, order=order, seeds=4, **SMALL)
    assert len(frame) == 2 * 2 * 4
    assert (frame["benefit"] - frame["cost"] == frame["gain"]).all()
    assert (frame["hard"] - frame["soft"] == frame["gain"]).all()
    plain = ex.gains(compared(table, policy, seeds=4))
    both = frame.merge(plain, on=["tau", "rho", "seed"])
    assert len(both) == len(frame)
    assert np.allclose(both["gain_x"], both["gain_y"], rtol=0, atol=1e-12)


def test_the_two_orders_differ_in_the_middle_run_alone(table: bf.Records, policy: bf.Policy) -> None:
    noise, smoothing = (
        ex.decompose(table, policy, 0.1, [1e-3], order=order, seeds=3, **SMALL)
        for order in ("noise first", "smoothing first")
    )
    assert noise[["hard", "soft", "gain"]].equals(smoothing[["hard", "soft", "gain"]])
    assert (noise["middle"] != smoothing["middle"]).any()


def test_a_borrowed_calibration_spends_the_other_votes_noise(table: bf.Records, policy: bf.Policy) -> None:
    lent = ex.Borrowed(bf.SoftVote(0.1))
    hard = next(bf.evolve(table, policy, bf.HardVote(), bf.Budget(rho=1e-2), calibration=lent, **SMALL))
    soft = next(bf.evolve(table, policy, bf.SoftVote(0.1), bf.Budget(rho=1e-2), **SMALL))
    assert hard.sigma == soft.sigma
    assert set(np.unique(hard.votes)) <= set(range(table.n + 1)), "a hard vote counts whole records"


def test_policies_are_compared_at_their_own_noise_ratios(table: bf.Records, policy: bf.Policy) -> None:
    wide = bf.Policy(policy.domain, {"x1": bf.Threshold(1), "label": bf.Complete()})
    frame = ex.compare_policies(table, {"narrow": policy, "wide": wide}, budgets=[1e-3], seeds=3, **SMALL)
    soft = frame[frame["method"] == "BF-Soft"].groupby("policy")["ratio"].first()
    assert soft["narrow"] == bf.sensitivity_bound(policy, bf.SoftVote(0.03)).ratio < soft["wide"]
    tested = ex.significance(ex.gains(frame))
    assert tested["policy"].tolist() == ["narrow", "wide"]
    assert (tested["p_holm"] >= tested["p"]).all()


def test_matched_noise_gives_every_policy_the_same_ratio(table: bf.Records, policy: bf.Policy) -> None:
    policies = {f"{theta}": bf.Policy(policy.domain, {"x1": bf.Threshold(theta)}) for theta in (1, 2, 4)}
    frame = ex.matched_noise(table, policies, 0.3, [1e-2], seeds=2, **SMALL)
    soft = frame[frame["method"] == "BF-Soft"]
    assert np.allclose(soft["ratio"], 0.3, rtol=1e-12)
    assert soft["tau"].nunique() == 3
    assert len(ex.gains(frame)) == len(soft)


def test_training_sizes_are_nested_samples(table: bf.Records, policy: bf.Policy) -> None:
    small, large = ex.sample(table, 100, seed=5), ex.sample(table, 400, seed=5)
    within = {tuple(row): count for row, count in zip(large.codes.tolist(), large.counts, strict=True)}
    assert (small.n, large.n) == (100, 400)
    assert all(within[tuple(row)] >= count for row, count in zip(small.codes.tolist(), small.counts, strict=True))
    frame = ex.training_size(table, policy, [100, 600], seeds=2, **SMALL)
    made = ex.training_size(lambda n: bf.xor3(n, 3), policy, [600], seeds=2, **SMALL)
    assert frame["n"].unique().tolist() == [100, 600]
    assert frame[frame["n"] == 600].reset_index(drop=True).equals(made)


def test_a_split_loses_no_record(table: bf.Records) -> None:
    parts = ex.split(table, 250, seed=1)
    whole = bf.Records.of_codes(table.domain, np.concatenate([part.expand() for part in parts]))
    assert [part.n for part in parts] == [250, 350]
    assert np.array_equal(whole.codes, table.codes)
    assert np.array_equal(whole.counts, table.counts)


def test_the_calibration_study_stays_under_the_bound(policy: bf.Policy) -> None:
    frame = ex.calibration(policy, [0.02, 0.5], populations=2, size=64, repeats=1)
    assert len(frame) == 2 * 3
    assert (frame["exact"] <= frame["bound"] * (1 + 1e-12)).all()
    assert (frame[["bound_ms", "exact_ms"]] > 0).all().all()


# ------------------------------------------------------------------ workers, stopping, progress


def test_the_frame_is_the_same_on_one_worker_and_on_many(table: bf.Records, policy: bf.Policy) -> None:
    assert compared(table, policy, seeds=10, jobs=1).equals(compared(table, policy, seeds=10, jobs=2))


def test_the_frame_is_the_same_on_a_dask_cluster(table: bf.Records, policy: bf.Policy) -> None:
    distributed = pytest.importorskip("distributed")
    alone = compared(table, policy, jobs=1)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 40}
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        frame = compared(table, policy, measures={"process": lambda codes: float(os.getpid())})
    where = frame[frame["measure"] == "process"]["error"].astype(int)
    assert os.getpid() not in set(where), "the trials ran on the cluster"
    there = frame[frame["measure"] == "2-way"].drop(columns="measure").reset_index(drop=True)
    assert there.equals(alone)


def test_progress_counts_up_to_the_end(table: bf.Records, policy: bf.Policy) -> None:
    seen: list[ex.Progress] = []
    compared(table, policy, progress=lambda state: seen.append(state))
    assert [state.done for state in seen] == list(range(19))
    assert {state.total for state in seen} == {18}
    assert seen[0].remaining is None
    assert seen[-1].remaining == 0


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_stop_keeps_what_is_done(table: bf.Records, policy: bf.Policy, jobs: int) -> None:
    whole = compared(table, policy, seeds=20)
    part = compared(table, policy, seeds=20, jobs=jobs, progress=lambda state: state.done < 5)
    assert 5 <= len(part) < len(whole)
    assert len(part.merge(whole)) == len(part), "every row that was kept is the one an unstopped run has"


def test_a_stop_before_the_first_trial_runs_nothing(table: bf.Records, policy: bf.Policy) -> None:
    never = {"progress": lambda state: False, "seeds": 2, **SMALL}
    frame = compared(table, policy, **never)
    assert frame.empty
    assert list(frame.columns) == list(compared(table, policy, seeds=1).columns)
    assert ex.decompose(table, policy, 0.1, BUDGETS, **never).empty
    found = ex.pilot(table, policy, None, [0.1], BUDGETS, target=table, **never)
    assert found.forecast.empty
    assert found.recommended.empty
    assert found.agreement is not None
    assert found.agreement.empty


def test_a_stop_within_a_decomposition_keeps_whole_triples(table: bf.Records, policy: bf.Policy) -> None:
    options = {"seeds": 2, **SMALL}
    part = ex.decompose(table, policy, 0.1, BUDGETS, progress=lambda state: state.done < 5, **options)
    whole = ex.decompose(table, policy, 0.1, BUDGETS, **options)
    assert len(part) == 1, "Hard and soft at two seeds, and the middle run at one"
    assert part.iloc[0].equals(whole.iloc[0])


# ------------------------------------------------------------------ resuming


def test_a_results_file_is_continued_and_nothing_repeated(table: bf.Records, policy: bf.Policy, tmp_path: Path) -> None:
    path, ran = tmp_path / "results.csv", []

    def counting(*given: object) -> np.ndarray:
        ran.append(given[2])
        return final_codes(*given)  # type: ignore[arg-type]

    counting.__name__ = "final_codes"  # the same loop, as far as the results file is concerned
    first = compared(table, policy, seeds=2, loop=counting, resume=path)
    assert len(ran) == 12
    again = compared(table, policy, seeds=2, loop=counting, resume=path)
    assert len(ran) == 12, "all was there already"
    more = compared(table, policy, seeds=3, loop=counting, resume=path)
    assert len(ran) == 18, "only the new seed was run"
    assert first.equals(again)
    assert more.equals(compared(table, policy, seeds=3))


KILLED = """
import os, signal, sys
import bfsoft as bf
from bfsoft import experiments as ex

policy = bf.Policy(bf.load_sample("xor3")[1].domain, {"x1": bf.Threshold(1)})
table = bf.Records.of_frame(policy.domain, bf.xor3(600, seed=3))
methods = [bf.hard(), bf.bf_soft(0.02), bf.bf_soft(0.1)]

def progress(state):
    if state.done == 7:
        os.kill(os.getpid(), signal.SIGKILL)

ex.compare(table, policy, methods, (1e-3, 1e-1), seeds=3, size=48, rounds=2, resume=sys.argv[1], progress=progress)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill a process at once")
def test_a_killed_run_loses_nothing_complete_and_repeats_nothing(
    table: bf.Records, policy: bf.Policy, tmp_path: Path
) -> None:
    path = tmp_path / "results.csv"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False, timeout=120)
    assert killed.returncode == -signal.SIGKILL
    assert len(path.read_text(encoding="utf-8").splitlines()) == 2 + 7, "settings, header, and the seven that ended"
    # What a crash in the middle of a write would leave: the last line torn.
    path.write_bytes(path.read_bytes()[:-4])
    seen: list[int] = []
    frame = compared(table, policy, resume=path, progress=lambda state: seen.append(state.done))
    assert seen == list(range(6, 19)), "six were whole; the torn one and the rest were run once each"
    assert frame.equals(compared(table, policy))


@pytest.mark.parametrize(
    ("change", "named"),
    [({"rounds": 3}, "rounds 2"), ({"threshold": 1.0}, "threshold not set"), ({"k": 1}, "measures"),
     ({"reference": bf.xor3(10)}, "reference 0")],
)  # fmt: skip
def test_other_settings_are_refused_by_name(
    table: bf.Records, policy: bf.Policy, tmp_path: Path, change: dict[str, object], named: str
) -> None:
    path = tmp_path / "results.csv"
    compared(table, policy, seeds=1, resume=path)
    before = path.read_bytes()
    with pytest.raises(ExperimentError, match=r"results\.csv.*" + named.split()[0]) as refused:
        compared(table, policy, seeds=1, resume=path, **change)
    assert named in str(refused.value)
    assert path.read_bytes() == before


def test_another_table_or_policy_is_refused(table: bf.Records, policy: bf.Policy, tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    compared(table, policy, seeds=1, resume=path)
    with pytest.raises(ExperimentError, match="table 0"):
        compared(ex.sample(table, 599), policy, seeds=1, resume=path)
    with pytest.raises(ExperimentError, match="policy"):
        compared(table, bf.Policy(policy.domain, {"x1": bf.Threshold(2)}), seeds=1, resume=path)


def test_a_method_of_the_same_name_is_not_mistaken(table: bf.Records, policy: bf.Policy, tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    options = {**SMALL, "seeds": 1, "resume": path}
    bound = ex.compare(table, policy, [bf.bf_soft(0.1)], [1e-3], **options)
    exact = ex.compare(table, policy, [bf.Method("BF-Soft", bf.SoftVote(0.1), "standard")], [1e-3], **options)
    assert not bound.equals(exact)


def test_a_label_may_hold_commas_quotes_and_line_ends(table: bf.Records, policy: bf.Policy, tmp_path: Path) -> None:
    policies = {'a, "b"\nc\r\u2028': policy}
    seen: list[int] = []
    for _ in range(2):
        frame = ex.compare_policies(table, policies, budgets=[1e-2], seeds=1, resume=tmp_path / "results.csv",
                                    progress=lambda state: seen.append(state.done), **SMALL)  # fmt: skip
        assert frame["policy"].unique().tolist() == list(policies)
    assert seen == [0, 1, 2, 2], "the second time all was there"


def test_a_file_of_something_else_is_left_alone(table: bf.Records, policy: bf.Policy, tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear all,\n", encoding="utf-8")
    with pytest.raises(ExperimentError, match=r"letter\.txt: is not a results file"):
        compared(table, policy, resume=path)
    assert path.read_text(encoding="utf-8") == "Dear all,\n"


def test_two_runs_cannot_write_one_file(table: bf.Records, policy: bf.Policy, tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    path = tmp_path / "results.csv"

    def inner(state: ex.Progress) -> bool:
        with pytest.raises(ExperimentError, match="another run is writing"):
            compared(table, policy, seeds=1, resume=path)
        return False

    compared(table, policy, seeds=1, resume=path, progress=inner)


def test_a_place_that_cannot_be_written_is_named(table: bf.Records, policy: bf.Policy, tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="cannot be opened for results"):
        compared(table, policy, resume=tmp_path / "none" / "results.csv")


# ------------------------------------------------------------------ pilot


@pytest.fixture(scope="module")
def piloted(policy: bf.Policy) -> ex.Pilot:
    """Public and target data of one distribution, the public table a sixteenth of the target's size."""
    target = bf.Records.of_frame(policy.domain, bf.xor3(9600, seed=3))
    public = bf.Records.of_frame(policy.domain, bf.xor3(600, seed=4))
    return ex.pilot(public, policy, None, (0.02, 0.06, 0.2), (1e-4, 1e-3, 1e-2), target=target, seeds=4, size=128)


def test_a_scaled_pilot_agrees_more_often(piloted: ex.Pilot) -> None:
    assert piloted.agreement is not None
    shares = piloted.agreement.set_index("scaling")["share"]
    assert shares["scaled"] > shares["unscaled"]
    assert piloted.agreement["settings"].tolist() == [9, 9]


def test_scaling_makes_noise_relative_to_votes_that_of_the_target(table: bf.Records, policy: bf.Policy) -> None:
    half = ex.pilot(table, policy, 1200, [0.1], [1e-3], seeds=2, **SMALL).runs
    assert half["scaling"].unique().tolist() == ["scaled", "unscaled"]
    quieter = ex.compare(table, policy, [bf.hard(), bf.bf_soft(0.1)], [4e-3], seeds=2, **SMALL)["error"]
    assert half[half["scaling"] == "scaled"]["error"].tolist() == quieter.tolist(), "half the noise is four times ρ"
    same = ex.compare(table, policy, [bf.hard(), bf.bf_soft(0.1)], [1e-3], seeds=2, **SMALL)["error"]
    assert half[half["scaling"] == "unscaled"]["error"].tolist() == same.tolist()


def test_a_pilot_recommends_the_least_mean_error(piloted: ex.Pilot) -> None:
    scaled = piloted.runs[piloted.runs["scaling"] == "scaled"]
    for row in piloted.recommended.itertuples():
        means = scaled[scaled["rho"] == row.rho].groupby("tau", dropna=False)["error"].mean()
        best = means.idxmin()
        assert (math.isnan(best) and row.method == "Hard") or row.tau == best
        assert 0 < row.share <= 1
        assert row.tau_low <= row.tau_high
    signs = piloted.forecast["sign"].to_numpy()
    assert np.array_equal(signs == "soft", piloted.forecast["gain"].to_numpy() > 0)


def test_a_stopped_pilot_forecasts_what_it_has(table: bf.Records, policy: bf.Policy) -> None:
    found = ex.pilot(table, policy, 1200, [0.1], BUDGETS, seeds=2, progress=lambda state: state.done < 3, **SMALL)
    assert len(found.runs) == 3
    assert found.forecast["seeds"].tolist() == [1]


def test_a_pilot_needs_to_know_the_private_size(table: bf.Records, policy: bf.Policy) -> None:
    with pytest.raises(ExperimentError, match="private_size must be how many records"):
        ex.pilot(table, policy)


# ------------------------------------------------------------------ what cannot be asked for


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sizes": 3}, "there is no setting 'sizes'"),
        ({"seeds": 0}, "at least one seed"),
        ({"seeds": [1, 1]}, "asks twice for"),
        ({"seeds": [-1]}, "whole number of at least 0"),
        ({"seeds": 1.5}, "a number of seeds or a list"),
        ({"k": ()}, "nothing to measure"),
        ({"k": 5}, "k must be a whole number from 1 to 4"),
        ({"rounds": 0}, "rounds must be"),
    ],
)
def test_impossible_settings_are_refused(
    table: bf.Records, policy: bf.Policy, options: dict[str, object], said: str
) -> None:
    with pytest.raises(BFSoftError, match=said):
        compared(table, policy, **options)


def test_impossible_budgets_are_refused(table: bf.Records, policy: bf.Policy) -> None:
    with pytest.raises(ExperimentError, match="no budgets"):
        ex.compare(table, policy, budgets=[])
    with pytest.raises(ExperimentError, match="different δ"):
        ex.compare(table, policy, budgets=[bf.Budget(rho=1), bf.Budget(rho=1, delta=1e-6)])
    with pytest.raises(ExperimentError, match="over another domain"):
        ex.compare_policies(table, {"a": policy, "b": bf.Policy(bf.load_sample("adult")[1].domain, {})})
    with pytest.raises(ExperimentError, match="from 1 to 600"):
        ex.sample(table, 601)
    with pytest.raises(ExperimentError, match="order must be"):
        ex.decompose(table, policy, order="middle out")


def test_experiments_leave_the_votes_of_this_process_on_all_threads(table: bf.Records, policy: bf.Policy) -> None:
    compared(table, policy, seeds=10, jobs=2)
    assert "BFSOFT_THREADS" not in os.environ or os.environ["BFSOFT_THREADS"] != "1"


def test_the_package_offers_experiments_without_loading_them() -> None:
    script = (
        "import sys, bfsoft as bf; assert 'bfsoft.experiments' not in sys.modules; "
        "from bfsoft import experiments as ex; "
        "assert (bf.compare, bf.sweep, bf.decompose, bf.pilot) == (ex.compare, ex.sweep, ex.decompose, ex.pilot); "
        "assert callable(bf.reproduce) and bf.crossover is ex.crossover and bf.experiments is ex"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
