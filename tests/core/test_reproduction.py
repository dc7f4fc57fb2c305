"""Reproduction: the paper's error as its code defines it, verdicts that can go either way, and honest omissions."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bfsoft as bf
from bfsoft import reproduction
from bfsoft.errors import ExperimentError
from bfsoft.reproduction import BinnedError, Reproduction, reproduce


@pytest.fixture
def lab() -> reproduction._Lab:
    return reproduction._Lab(Reproduction("tab-pe", True), None, None, 1, None)


# ------------------------------------------------------------------ the paper's error


def records(domain: bf.Domain, rows: list[tuple]) -> bf.Records:
    return bf.Records.of_frame(domain, pd.DataFrame(rows, columns=list(domain.names)))


def test_the_error_is_an_l1_distance_over_bins() -> None:
    domain = bf.Domain([bf.Numeric("age", 0, 9), bf.Categorical("label", ["a", "b"])])
    reference = records(domain, [(1, "a"), (4, "a"), (5, "b"), (9, "b")])
    error = BinnedError(reference, {"age": (5,)})
    assert error(reference.expand()) == 0
    assert error(domain.encode(pd.DataFrame({"age": [0, 2], "label": ["b", "b"]}))) == 2.0, "no cell in common"
    # Half of it moves from (young, a) to (old, a): 2 × 1/4 of the mass, twice.
    moved = pd.DataFrame({"age": [1, 5, 5, 9], "label": ["a", "a", "b", "b"]})
    assert error(domain.encode(moved)) == pytest.approx(0.5)
    # Within a bin nothing counts, and a value on an edge belongs above it.
    assert error(domain.encode(pd.DataFrame({"age": [0, 0, 7, 7], "label": ["a", "a", "b", "b"]}))) == 0


def test_with_unit_bins_the_error_is_twice_the_total_variation() -> None:
    domain = bf.load_sample("xor3")[1].domain
    reference, own = (bf.Records.of_frame(domain, bf.xor3(200, seed)) for seed in (0, 1))
    for ways in (1, 2, 3):
        error = BinnedError(reference, {}, ways)
        assert error(own.expand()) == pytest.approx(2 * bf.Fidelity(reference, ways).error(own.expand()), rel=1e-12)


def test_xor3_is_measured_on_sixteen_cells() -> None:
    [data] = reproduction._Lab(Reproduction("paper", True), None, None, 1, None).data("xor3")
    error = data.measures()["paper"]
    truth = pd.DataFrame([(a, b, c, (a + b + c) // 4 % 2) for a in (0, 4) for b in (0, 4) for c in (0, 4)],
                         columns=["x1", "x2", "x3", "label"])  # fmt: skip
    codes = data.domain.encode(truth.assign(label=(truth[["x1", "x2", "x3"]] >= 4).sum(axis=1) % 2))
    assert error(codes) < 0.1, "each true cell once is nearly the truth"
    wrong = codes.copy()
    wrong[:, 3] = 1 - wrong[:, 3]
    assert error(wrong) == pytest.approx(2.0), "every label wrong is as far as can be"


# ------------------------------------------------------------------ verdicts


@pytest.mark.parametrize(
    ("paper", "ours", "verdict"),
    [
        (0.30, (0.31, 0.29, 0.33), "agrees"),
        (0.30, (0.28, 0.279, 0.281), "agrees"),  # within a tenth
        (0.30, (0.20, 0.10, 0.35), "agrees"),  # within an interval that excludes 0
        (0.30, (0.20, -0.10, 0.50), "undecided"),
        (0.30, (0.10, 0.05, 0.15), "same direction"),
        (0.30, (-0.10, -0.15, -0.05), "disagrees"),
        (-0.89, (0.10, 0.05, 0.15), "disagrees"),
        (0.30, (math.nan, math.nan, math.nan), "disagrees"),
    ],
)
def test_a_figure_has_a_verdict(
    lab: reproduction._Lab, paper: float, ours: tuple[float, float, float], verdict: str
) -> None:
    lab.figure("fig3", "adult", "some figure", paper, ours)
    assert lab.claims[0]["verdict"] == verdict


def test_a_statement_holds_or_not_and_a_cost_is_not_judged(lab: reproduction._Lab) -> None:
    lab.holds("fig4", "adult", "a statement", True)
    lab.holds("fig4", "adult", "another", False)
    lab.cost("fig7", "adult", "milliseconds", 211.0, 3.0)
    assert [claim["verdict"] for claim in lab.claims] == ["agrees", "disagrees", "not comparable"]


@pytest.mark.parametrize("protocol", reproduction.PROTOCOLS)
def test_the_committed_verdicts_follow_from_the_committed_numbers(protocol: str, lab: reproduction._Lab) -> None:
    from bfsoft.samples import sample_data

    claims = pd.read_csv(sample_data() / "reproduction" / protocol / "claims.csv", keep_default_na=False)
    assert set(claims["figure"]) == set(reproduction.FIGURES)
    judged = claims[(claims["paper"] != "") & (claims["verdict"] != "not comparable")]
    for row in judged.itertuples():
        lab.figure(
            row.figure, row.data, row.claim, float(row.paper), (float(row.ours), float(row.low), float(row.high))
        )
    assert [claim["verdict"] for claim in lab.claims] == judged["verdict"].tolist()


# ------------------------------------------------------------------ runs


def test_tables_have_the_sizes_of_the_paper(shared_data: Path) -> None:
    for protocol in reproduction.PROTOCOLS:
        lab = reproduction._Lab(Reproduction(protocol, True), shared_data / "bank.csv.gz", None, 1, None)
        sizes = {data.name: data.train.n for data in lab.data("adult", "bank", "xor3")}
        assert sizes == {"adult": 26_048, "bank": 27_126, "xor3": 12_000}


def test_policies_have_the_reaches_of_theory(shared_data: Path) -> None:
    lab = reproduction._Lab(Reproduction("paper", True), shared_data / "bank.csv.gz", None, 1, None)
    adult, bank = lab.data("adult", "bank")
    reach = {name: policy.reach for name, policy in reproduction._policies(adult).items()}
    assert reach["age"] == pytest.approx(0.019178, abs=5e-7)
    assert reach["hours"] == pytest.approx(0.016327, abs=5e-7)
    assert reach["age, hours"] == reach["age"]
    assert reach["all five"] == pytest.approx(0.2)
    reach = {name: policy.reach for name, policy in reproduction._policies(bank).items()}
    assert reach["age"] == pytest.approx(0.017073, abs=5e-7)
    assert (reach["job, within groups"], reach["job, all pairs"]) == pytest.approx((0.1, 0.2))


def test_a_quick_experiment_runs_and_resumes(tmp_path: Path) -> None:
    first = reproduce("f6", quick=True, runs=tmp_path / "runs")
    seen: list[tuple[str, int]] = []
    again = reproduce("f6", quick=True, runs=tmp_path / "runs", progress=lambda label, p: seen.append((label, p.done)))
    assert seen == [("f6-xor3", 24)], "all was there already"
    pd.testing.assert_frame_equal(first.claims, again.claims)
    paths = first.write(tmp_path / "out")
    assert [path.name for path in paths] == ["f6.csv", "claims.csv"]
    written = pd.read_csv(paths[0])
    assert np.allclose(written["mean"], first.tables["f6"]["mean"], rtol=1e-4)


def test_the_protocols_differ_and_both_run() -> None:
    ours, theirs = (reproduce("f6", quick=True, protocol=protocol) for protocol in reproduction.PROTOCOLS)
    assert ours.tables["f6"].shape == theirs.tables["f6"].shape
    assert not np.allclose(ours.tables["f6"]["mean"], theirs.tables["f6"]["mean"])


def test_what_moves_the_crossover_is_found_one_change_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduction, "_PARTS", {"normal steps": {"step": "normal"}})
    monkeypatch.setattr(reproduction, "_BACK", {})
    monkeypatch.setattr(reproduction, "_SETTINGS", {"m = 128": {"size": 128}})
    table = reproduce("moves", quick=True).tables["moves"]
    errors = table[table["measure"] == "2-way"].set_index("changed")[["hard at 0.0001", "soft at 0.01"]]
    assert len(errors) == 8
    assert errors.drop_duplicates().shape == errors.shape, "every change made a difference"


def test_without_bank_a_note_says_so() -> None:
    def no_adult(label: str, progress: object) -> bool:
        return not label.endswith("adult")

    found = reproduce("table4", quick=True, progress=no_adult)
    assert found.stopped
    assert found.claims.empty
    assert found.notes[-1].startswith("stopped before the end")
    lab = reproduction._Lab(Reproduction("tab-pe", True), None, None, 1, None)
    assert [data.name for data in lab.data("bank", "xor3")] == ["xor3"]
    assert "Bank is left out" in lab.found.notes[0]


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ExperimentError, match="no experiment 'fig1'; there are fig3"):
        reproduce("fig1")
    with pytest.raises(ExperimentError, match="no protocol 'mine'"):
        reproduce("f6", protocol="mine")
