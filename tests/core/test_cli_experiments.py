"""The commands compare, pilot and reproduce: the library's own numbers, progress apart from results, clear refusals."""

import json
import math
import os
import signal
import subprocess
import sys

import pandas as pd
import pytest

import bfsoft as bf
from bfsoft import _cli_experiments, cli
from bfsoft import experiments as ex

SCENARIO = """
domain:
  x1: {numeric: [0, 7]}
  x2: {numeric: [0, 7]}
  x3: {numeric: [0, 7]}
  label: {categories: [0, 1]}
policy: {x1: {threshold: 1}}
size: 48
rounds: 2
threshold: 0.5
resampling: multinomial
"""
GRID = ("--taus", "0.02,0.1", "--rhos", "1e-3,1e-1", "--seeds", "3")


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run the command in a directory with a small scenario s.yaml and table t.csv: status, output, errors."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(SCENARIO, encoding="utf-8")
    bf.write_table(bf.xor3(300, seed=5), tmp_path / "t.csv")

    def run(*arguments):
        status = cli.main([*map(str, arguments)])
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def runs(run):
    """The comparison that the commands below must report, from the library."""
    scenario = bf.load_scenario("s.yaml")
    return ex.compare(
        bf.load_data("t.csv", scenario.domain), scenario.policy, [bf.hard(), bf.bf_soft(0.02), bf.bf_soft(0.1)],
        [1e-3, 1e-1], seeds=3, size=48, rounds=2, threshold=0.5, resampling="multinomial",
    )  # fmt: skip


def same(plain, frame):
    """Whether JSON rows are those of a frame, null standing for what is missing."""
    return plain == [
        {name: None if isinstance(cell, float) and math.isnan(cell) else cell for name, cell in row.items()}
        for row in frame.to_dict("records")
    ]


def test_compare_reports_the_librarys_frame(run, runs):
    status, out, err = run("compare", "t.csv", "--scenario", "s.yaml", *GRID, "--out", "runs.csv", "--json")
    assert status == 0, err
    found = json.loads(out)
    assert same(found["summary"], ex.summarise(runs))
    assert same(found["crossover"], ex.crossover(runs))
    written = pd.read_csv("runs.csv")
    assert written["error"].tolist() == runs["error"].tolist()
    assert "18 of 18 runs" in err
    assert "wrote 18 rows to runs.csv" in err


def test_compare_prints_a_table(run, runs):
    status, out, _ = run("compare", "t.csv", "--scenario", "s.yaml", *GRID)
    assert status == 0
    assert out.startswith("mean 2-way error, with its 95 % interval over 3 seeds\n")
    assert f"{ex.summarise(runs)['mean'][0]:.4g}" in out
    assert "where BF-Soft stops being better than Hard" in out


def test_compare_continues_from_a_file(run):
    common = ("compare", "t.csv", "--scenario", "s.yaml", *GRID, "--resume", "kept.csv", "--json")
    _, first, _ = run(*common)
    status, again, err = run(*common)
    assert (status, again) == (0, first)
    assert err.splitlines() == ["18 of 18 runs, 0 s left"], "nothing was run again"
    status, _, err = run(*common, "--k", "1")
    assert status == 2
    assert "kept.csv: was made with measures" in err


def test_pilot_reports_the_librarys_forecast(run):
    status, out, err = run("pilot", "t.csv", "--scenario", "s.yaml", *GRID, "--private-size", 900, "--json",
                           "--out", "forecast.csv")  # fmt: skip
    assert status == 0, err
    scenario = bf.load_scenario("s.yaml")
    expected = ex.pilot(
        bf.load_data("t.csv", scenario.domain), scenario.policy, 900, [0.02, 0.1], [1e-3, 1e-1], seeds=3, size=48,
        rounds=2, threshold=0.5, resampling="multinomial",
    )  # fmt: skip
    found = json.loads(out)
    assert same(found["recommended"], expected.recommended)
    assert same(found["forecast"], expected.forecast)
    assert found["agreement"] is None
    assert pd.read_csv("forecast.csv")["gain"].tolist() == expected.forecast["gain"].tolist()
    assert "holds only for private data like the public table" in err


def test_pilot_checks_itself_on_a_target(run):
    bf.write_table(bf.xor3(900, seed=6), "target.csv")
    status, out, _ = run("pilot", "t.csv", "--scenario", "s.yaml", *GRID, "--target", "target.csv")
    assert status == 0
    assert "signs of the gain that the forecast had right" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("compare", "t.csv"), "--scenario"),
        (("compare", "none.csv", "--scenario", "s.yaml"), "there is no table 'none.csv'"),
        (("compare", "t.csv", "--scenario", "s.yaml", "--taus", "warm"), "--taus: must be numbers with commas"),
        (("compare", "t.csv", "--scenario", "s.yaml", "--taus", "0"), "temperature"),
        (("compare", "t.csv", "--scenario", "s.yaml", "--rhos", "-1"), "ρ must be above 0"),
        (("compare", "t.csv", "--scenario", "s.yaml", "--seeds", "0"), "at least one seed"),
        (("compare", "t.csv", "--scenario", "s.yaml", "--out", "none/x.csv"), "there is no directory"),
        (("pilot", "t.csv", "--scenario", "s.yaml"), "pilot needs --private-size N"),
        (("pilot", "t.csv", "--scenario", "s.yaml", "--private-size", "0"), "private_size must be"),
        (("reproduce", "fig99"), "invalid choice"),
        (("reproduce", "f6", "--protocol", "ours"), "invalid choice"),
    ],
)
def test_bad_input_is_one_line_and_status_2(run, arguments, said):
    status, out, err = run(*arguments)
    assert status == 2
    assert out == ""
    assert err.startswith("bfsoft: ")
    assert err.count("\n") == 1
    assert said in err


def test_reproduce_writes_tables_and_claims(run, tmp_path):
    status, out, err = run("reproduce", "f6", "--quick", "--out", "found", "--json")
    assert status == 0, err
    assert sorted(path.name for path in (tmp_path / "found").iterdir()) == ["claims.csv", "f6.csv", "runs"]
    claims = json.loads(out)["claims"]
    assert {claim["figure"] for claim in claims} == {"f6"}
    assert {claim["verdict"] for claim in claims} <= {"agrees", "disagrees", "same direction", "undecided"}
    assert "f6-xor3: " in err


def test_the_figures_of_the_command_are_those_of_the_library():
    from bfsoft.reproduction import EXTRAS, FIGURES

    assert (*FIGURES, "all", *EXTRAS) == _cli_experiments._FIGURES


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_ctrl_c_keeps_what_is_done(run, tmp_path):
    """Interrupted at the first line of progress with a run behind it, the command says so and its file has that run."""
    many = ("--taus", "0.02,0.1", "--rhos", "1e-3,1e-1", "--seeds", "4000", "--jobs", "1")
    command = [sys.executable, "-m", "bfsoft.cli", "compare", "t.csv", "--scenario", "s.yaml", "--resume", "kept.csv"]
    process = subprocess.Popen([*command, *many], cwd=tmp_path, stderr=subprocess.PIPE, text=True, encoding="utf-8")
    assert process.stderr is not None
    done = next(int(line.split()[0]) for line in process.stderr if int(line.split()[0]) > 0)
    process.send_signal(signal.SIGINT)
    assert process.stderr.read().splitlines()[-1] == "bfsoft: stopped"
    assert process.wait(timeout=60) == 130
    rows = (tmp_path / "kept.csv").read_text(encoding="utf-8").splitlines()[2:]
    assert done <= len(rows) < 24_000
