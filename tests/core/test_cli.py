"""The command line: THEORY's numbers, one clear line for bad input, and nothing half-written."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import types
import urllib.request

import pandas as pd
import pytest

import bfsoft as bf
from bfsoft import cli

COMMAND = [sys.executable, "-m", "bfsoft.cli"]
posix = pytest.mark.skipif(os.name != "posix", reason="signals and pipes are POSIX's")


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run the command in an empty directory: status, standard output, standard error."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        status = cli.main([*map(str, arguments)])
        return status, *capsys.readouterr()

    return run


def result(run, *arguments):
    status, out, err = run(*arguments, "--json")
    assert status == 0, err
    return json.loads(out)


# ------------------------------------------------------------------ THEORY, "Numbers to reproduce"


@pytest.mark.parametrize(
    ("scenario", "tau", "reach", "ratio"),
    [
        ("adult", 0.015, 0.019178, 0.5644),
        ("adult", 0.03, 0.019178, 0.3092),
        ("adult", 0.06, 0.019178, 0.1585),
        ("bank-age", 0.015, 0.017073, 0.5147),
        ("bank-age", 0.03, 0.017073, 0.2771),
        ("bank-age", 0.06, 0.017073, 0.1413),
        ("xor3", 0.015, 0.035714, 0.8307),
        ("xor3", 0.03, 0.035714, 0.5337),
        ("xor3", 0.06, 0.035714, 0.2891),
    ],
)
def test_reach_and_ratio_of_theory(run, scenario, tau, reach, ratio):
    found = result(run, "reach", scenario, "--tau", tau)
    assert found["reach"] == pytest.approx(reach, abs=5e-7)
    assert found["ratio"] == pytest.approx(ratio, abs=5e-5)
    assert found["tau"] == tau


def test_sensitivity_and_budget_factor_of_theory(run):
    for command in ("reach", "sensitivity"):
        found = result(run, command, "adult")
        found = found.get("bound", found)
        assert found["l1"] == pytest.approx(0.61835, abs=5e-6)
        assert found["l2"] == pytest.approx(0.43724, abs=5e-6)
        assert found["budget_factor"] == pytest.approx(10.461, abs=5e-4)


@pytest.mark.parametrize(("rho", "exact", "paper"), [(5.5e-4, 0.102, 0.16), (4.4e-3, 0.318, 0.45)])
def test_epsilons_of_theory(run, rho, exact, paper):
    found = result(run, "reach", "adult", "--rho", rho)
    assert found["epsilon"] == pytest.approx(exact, abs=5e-4)
    assert found["epsilon_zcdp"] == pytest.approx(paper, abs=5e-3)
    assert result(run, "reach", "adult", "--epsilon", found["epsilon"])["rho"] == pytest.approx(rho, rel=1e-6)


def test_reaches_of_theory_by_attribute(run):
    found = result(run, "reach", "adult-age-hours-workclass-income")
    assert found["reaches"]["hours.per.week"] == pytest.approx(0.016327, abs=5e-7)
    assert found["reaches"]["income"] == 0.2
    assert found["widest_edge"]["length"] == found["reach"] == 0.2
    assert result(run, "reach", "bank-job-siblings")["reach"] == 0.1
    assert result(run, "reach", "bank-job-all")["reach"] == 0.2


def test_reach_in_words(run):
    status, out, err = run("reach", "adult")
    assert (status, err) == (0, "")
    for said in ("0.0191781", "17 ↔ 24", "0.309177", "0.618353", "0.437242", "10.4613", "0.141685", "0.215597"):
        assert said in out
    assert re.search(r"income +unprotected", out)


def test_full_precision_in_json(run):
    scenario = bf.load_scenario("adult")
    assert result(run, "reach", "adult")["l2"] == scenario.sensitivity.l2
    assert result(run, "reach", "adult")["reach"] == scenario.policy.reach


def test_a_policy_without_edges_is_valid_json(run, tmp_path):
    scenario = bf.load_scenario("staff")
    scenario.replace(policy=bf.Policy(scenario.domain, {})).save(tmp_path / "open.yaml")
    found = result(run, "reach", "open.yaml")
    assert (found["reach"], found["budget_factor"], found["widest_edge"]) == (0.0, None, None)
    _, out, _ = run("reach", "open.yaml")
    assert re.search(r"widest edge +none", out)


def test_methods_differ_as_theory_says(run):
    assert result(run, "reach", "adult", "--method", "Hard")["l2"] == pytest.approx(2**0.5)
    assert result(run, "reach", "adult", "--method", "Tab-PE")["l1"] == 2.0


def test_exact_is_within_the_bound_and_names_its_edge(run):
    found = result(run, "sensitivity", "staff", "--exact", "--size", 20, "--seed", 4)
    assert 0 < found["exact"]["l2"] <= found["bound"]["l2"]
    edge, policy = found["exact"]["edge"], bf.load_scenario("staff").policy
    assert edge["b"][edge["attribute"]] in policy.neighbours(edge["attribute"], edge["a"][edge["attribute"]])
    other = result(run, "sensitivity", "staff", "--exact", "--size", 20, "--seed", 5)
    assert other["exact"]["l2"] != found["exact"]["l2"]
    _, out, err = run("sensitivity", "staff", "--exact", "--size", 20, "--method", "Hard")
    assert re.search(r"exact[^$]*L2 sensitivity +1\.41421", out)
    assert err.startswith("searching")


# ------------------------------------------------------------------ synthesize

SMALL = ("--size", 30, "--rounds", 2)


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet"])
def test_synthesize_writes_a_table_of_the_domain(run, tmp_path, name):
    status, out, err = run("synthesize", "staff", "--scenario", "staff", "--out", name, *SMALL)
    assert (status, out) == (0, "")
    domain = bf.load_scenario("staff").domain
    table = bf.read_table(name, domain)
    assert domain.encode(table).shape == (30, 6)
    assert [line for line in err.splitlines() if line.startswith("round ")][-1].startswith("round 2/2")
    assert os.listdir(tmp_path) == [name]


def test_synthesize_is_what_the_library_makes(run):
    frame, scenario = bf.load_sample("staff")
    expected = scenario.replace(size=30, rounds=2, seed=3, method="Hard").synthesize(frame)
    found = result(
        run, "synthesize", "staff", "--scenario", "staff", "--out", "o.csv", *SMALL, "--seed", 3, "--method", "Hard"
    )
    pd.testing.assert_frame_equal(bf.read_table("o.csv", scenario.domain), expected.records, check_dtype=False)
    assert found["sigma"] == expected.sigma.tolist()
    _, out, _ = run("synthesize", "staff", "--scenario", "staff", "--out", "-", *SMALL, "--seed", 3, "--method", "Hard")
    with open("o.csv", encoding="utf-8") as file:
        assert out == file.read()


def test_clip_is_by_request(run, tmp_path):
    (tmp_path / "t.csv").write_text("x1,x2,x3,label\n1,1,1,1\n9,1,1,0\n")
    status, _, err = run("synthesize", "t.csv", "--scenario", "xor3", "--out", "o.csv", *SMALL)
    assert status == 2
    assert "row 2, column 'x1': 9 lies outside 0 to 7" in err
    assert run("synthesize", "t.csv", "--scenario", "xor3", "--out", "o.csv", "--clip", *SMALL)[0] == 0


def test_progress_depends_on_no_private_record(run, tmp_path):
    """Two neighbouring tables, and one of another size: the same lines on standard error."""
    told = []
    for rows in ("1,1,1,1\n", "2,1,1,1\n", "7,7,7,0\n" * 9):
        (tmp_path / "t.csv").write_text("x1,x2,x3,label\n" + rows)
        told.append(run("synthesize", "t.csv", "--scenario", "xor3", "--out", "o.csv", *SMALL)[2])
    assert told[0] == told[1] == told[2]


def test_no_protection_is_a_warning(run, tmp_path):
    scenario = bf.load_scenario("staff")
    scenario.replace(policy=bf.Policy(scenario.domain, {})).save(tmp_path / "open.yaml")
    assert "not private" in run("synthesize", "staff", "--scenario", "open.yaml", "--out", "o.csv", *SMALL)[2]
    assert "not private" not in run("synthesize", "staff", "--scenario", "staff", "--out", "o.csv", *SMALL)[2]


# ------------------------------------------------------------------ bad input: status 2 and one line


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "COMMAND"),
        (["bogus"], "invalid choice: 'bogus'"),
        (["reach"], "SCENARIO"),
        (["reach", "adlut"], "no scenario 'adlut'"),
        (["reach", "adult", "--tau", "warm"], "invalid float value: 'warm'"),
        (["reach", "adult", "--tau", "0"], "tau: must be greater than 0"),
        (["reach", "adult", "--rho", "1", "--epsilon", "1"], "keep one"),
        (["reach", "adult", "--method", "Soft"], "'BF-Soft', 'Hard' or 'Tab-PE'"),
        (["reach", "bad.yaml"], "bad.yaml: line 4, policy.age.threshold: the threshold θ is negative"),
        (["reach", "."], "cannot be read"),
        (["sensitivity", "adult", "--exact", "--method", "Tab-PE"], "blind to the policy"),
        (["synthesize", "none.csv", "--scenario", "adult", "--out", "o.csv"], "no table 'none.csv'"),
        (["synthesize", "adult", "--scenario", "adult"], "--out"),
        (["synthesize", "adult", "--scenario", "adult", "--out", "no/o.csv"], "no directory 'no'"),
        (["synthesize", "adult", "--scenario", "adult", "--out", "."], "is a directory"),
        (["synthesize", "adult", "--scenario", "adult", "--out", "-", "--json"], "--json"),
        (["synthesize", "adult", "--scenario", "bank-age", "--out", "o.csv"], "column 'job' is missing"),
        (["synthesize", "odd.csv", "--scenario", "xor3", "--out", "o.csv"], r"row 1, column 'label': 'a\nb' is not"),
        (["fetch", "iris"], "invalid choice: 'iris'"),
        (["fetch", "bank", "--from", "none.csv"], "none.csv: cannot be read"),
        (["fetch", "bank", "--from", "odd.csv"], "column 'age' is missing"),
        (["explore", "--port", "0"], "--port: must lie between 1 and 65535"),
    ],
)
def test_bad_input_is_one_line_and_status_2(run, tmp_path, arguments, says):
    (tmp_path / "bad.yaml").write_text("domain: {age: {numeric: [17, 90]}}\npolicy:\n  age:\n    threshold: -1\n")
    (tmp_path / "odd.csv").write_text('x1,x2,x3,label\n1,1,1,"a\nb"\n')
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("bfsoft: ")
    assert says in err
    assert err.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == ["bad.yaml", "odd.csv"]


def test_a_program_sees_the_status_too(tmp_path):
    done = subprocess.run([*COMMAND, "reach", "nope"], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("bfsoft: there is no scenario 'nope'")


@pytest.mark.parametrize("command", [[], ["explore"], ["reach"], ["sensitivity"], ["synthesize"], ["fetch"]])
def test_help_is_help(command, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main([*command, "--help"])
    assert caught.value.code == 0
    assert "usage: bfsoft" in capsys.readouterr().out


# ------------------------------------------------------------------ interruption


@posix
def test_ctrl_c_stops_with_130_and_leaves_the_old_file(tmp_path):
    (tmp_path / "o.csv").write_text("old")
    job = subprocess.Popen(
        [*COMMAND, "synthesize", "staff", "--scenario", "staff", "--out", "o.csv", "--rounds", "100000000"],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path,
    )  # fmt: skip
    try:
        assert job.stderr.readline().startswith("round 1/")
        job.send_signal(signal.SIGINT)
        out, err = job.communicate(timeout=60)
    finally:
        job.kill()
    assert job.returncode == 130
    assert err.splitlines()[-1] == "bfsoft: stopped"
    assert "Traceback" not in err
    assert out == ""
    assert os.listdir(tmp_path) == ["o.csv"]
    assert (tmp_path / "o.csv").read_text() == "old"


@posix
def test_a_reader_who_leaves_is_no_error(tmp_path):
    """The pipe's reading end is closed before the command has anything to say."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run([*COMMAND, "reach", "adult"], stdout=writer, stderr=subprocess.PIPE, cwd=tmp_path)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


# ------------------------------------------------------------------ fetch

BANK = """age;"job";"marital";"education";"balance";"y"
58;"management";"married";"tertiary";2143;"no"
95;"unknown";"single";"unknown";-10250;"yes"
33;"admin.";"single";"primary";260000;"no"
"""


def test_fetch_from_a_file_fits_the_ready_domain(run, tmp_path):
    (tmp_path / "raw.csv").write_text(BANK)
    status, _, err = run("fetch", "bank", "--from", "raw.csv")
    assert status == 0
    assert (tmp_path / "bank.csv").read_text() == (
        "age,job,education,balance,y\n58,management,tertiary,2000,no\n95,unknown,unknown,-10000,yes\n"
        "33,admin.,primary,110000,no\n"
    )
    assert "wrote 3 records" in err
    scenario = bf.load_scenario("bank-all")
    assert len(scenario.domain.encode(bf.load_data(scenario.data, scenario.domain))) == 3
    assert "is there already" in run("fetch", "bank", "--from", "raw.csv")[2]
    assert run("fetch", "bank", "--from", "raw.csv", "--out", "bank.csv")[0] == 0


def test_fetch_reads_what_the_repository_sends(run, monkeypatch):
    """Its names have hyphens, its unknowns are empty cells or question marks, and half of its labels end in a dot."""
    sent = pd.DataFrame(
        {
            "age": [39, 50, 38],
            "workclass": ["State-gov", None, "?"],
            "education": ["Bachelors", "HS-grad", "HS-grad"],
            "education-num": [13, 9, 9],
            "hours-per-week": [40, 13, 99],
            "income": ["<=50K", ">50K.", "<=50K."],
        }
    )
    asked = []

    def fetch_ucirepo(id):
        asked.append(id)
        return types.SimpleNamespace(data=types.SimpleNamespace(original=sent))

    monkeypatch.setitem(sys.modules, "ucimlrepo", types.SimpleNamespace(fetch_ucirepo=fetch_ucirepo))
    assert run("fetch", "adult")[0] == 0
    assert asked == [2]
    found = bf.read_table("adult.csv")
    assert found.to_dict("list") == {
        "age": [39, 50, 38], "workclass": ["State-gov", "?", "?"], "education.num": [13, 9, 9],
        "hours.per.week": [40, 13, 99], "income": ["<=50K", ">50K", "<=50K"],
    }  # fmt: skip


def test_fetch_without_network_or_package_says_what_to_do(run, monkeypatch, tmp_path):
    def no_network(id):
        raise ConnectionError("Error connecting to server")

    monkeypatch.setitem(sys.modules, "ucimlrepo", types.SimpleNamespace(fetch_ucirepo=no_network))
    status, _, err = run("fetch", "bank")
    assert status == 2
    assert err.splitlines()[-1].startswith("bfsoft: bank cannot be fetched (Error connecting to server)")
    monkeypatch.setitem(sys.modules, "ucimlrepo", None)
    status, _, err = run("fetch", "bank")
    assert status == 2
    assert "--from FILE" in err
    assert os.listdir(tmp_path) == []


# ------------------------------------------------------------------ explore


def health(port: int, job: subprocess.Popen) -> bytes:
    """What the app says of its health, once it answers; the command names the address before it does."""
    last = time.monotonic() + 60
    while job.poll() is None and time.monotonic() < last:
        try:
            with urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=60) as answer:
                return answer.read()
        except OSError:
            threading.Event().wait(0.1)
    raise AssertionError("the app did not answer")


@posix
def test_explore_serves_the_app_on_this_machine_only(tmp_path):
    """From any directory, without a browser; it stops on Ctrl-C."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    job = subprocess.Popen(
        [*COMMAND, "explore", "--port", str(port), "--no-browser"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=tmp_path,
    )  # fmt: skip
    try:
        said = ""
        while f"http://localhost:{port}" not in said:
            line = job.stdout.readline()
            assert line, said
            said += line
        assert health(port, job) == b"ok"
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=60)
    finally:
        job.kill()
    assert "External URL" not in said
    assert "Network URL" not in said


def test_explore_asks_for_what_must_hold(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    command = cli.explore_command(8600, browser=False)
    assert command[:4] == [sys.executable, "-m", "streamlit", "run"]
    assert os.path.isfile(command[4])
    for flag in ("server.address=localhost", "server.port=8600", "server.headless=true"):
        assert f"--{flag}" in command
    assert "--browser.gatherUsageStats=false" in command
    assert [flag for flag in command if flag.startswith("--server.address")] == ["--server.address=localhost"]


def test_the_app_is_found_without_importing_it():
    loaded = "[name for name in ('bfsoft_explorer', 'streamlit') if name in sys.modules]"
    code = f"import sys, bfsoft.cli; bfsoft.cli.explore_command(1); print({loaded})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_busy_port_is_named_with_the_remedy():
    with socket.socket() as other:
        other.bind(("localhost", 0))
        other.listen()
        port = other.getsockname()[1]
        done = subprocess.run(
            [*COMMAND, "explore", "--port", str(port), "--no-browser"], capture_output=True, text=True
        )
    assert done.returncode == 2
    assert re.fullmatch(rf"bfsoft: port {port} cannot be had .*--port\n", done.stderr), done.stderr
