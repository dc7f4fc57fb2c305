"""Samples: they are what they say they are, and their scenarios give THEORY's numbers."""

import itertools
import os

import numpy as np
import pandas as pd
import pytest

import bfsoft as bf
from bfsoft.errors import BFSoftError, DataError, ScenarioError


def test_every_sample_fits_its_domain():
    assert bf.samples() == ["adult", "staff", "xor3"]
    for name in bf.samples():
        frame, scenario = bf.load_sample(name)
        records = bf.Records.of_frame(scenario.domain, frame)
        assert records.n == {"adult": 32_561, "staff": 400, "xor3": 12_000}[name]
        assert scenario.data == name
        assert scenario.policy.reach > 0


def test_adult_matches_the_public_marginals():
    """Counts of the original training file, from its documentation: 24,720 at most 50K, 1,836 unknown workclass."""
    frame, _ = bf.load_sample("adult")
    assert len(frame) == 13_839
    assert frame.groupby("income")["count"].sum().to_dict() == {"<=50K": 24_720, ">50K": 7_841}
    assert frame.loc[frame.workclass == "?", "count"].sum() == 1_836


@pytest.mark.parametrize(
    ("name", "reach"),
    [
        ("adult", 0.2 * 7 / 73),
        ("adult-age", 0.2 * 7 / 73),
        ("adult-age-hours", 0.2 * 7 / 73),
        ("adult-age-hours-workclass", 0.2),
        ("adult-age-hours-workclass-income", 0.2),
        ("adult-all", 0.2),
        ("bank-age", 0.2 * 7 / 82),
        ("bank-age-balance", 0.2 * 7 / 82),
        ("bank-job-siblings", 0.1),
        ("bank-job-all", 0.2),
        ("bank-all", 0.2),
        ("xor3", 1 / 28),
    ],
)
def test_reaches_of_theory(name, reach):
    assert bf.load_scenario(name).policy.reach == pytest.approx(reach, rel=1e-12)


def test_hours_alone_have_the_reach_of_theory():
    assert bf.load_scenario("adult-age-hours").policy.reaches["hours.per.week"] == pytest.approx(0.016327, abs=5e-7)


def test_policies_are_all_there_and_save():
    ready = bf.policies()
    assert sum(name.startswith("adult") for name in ready) == 5
    assert sum(name.startswith("bank") for name in ready) == 5
    for scenario in ready.values():
        assert bf.Scenario.loads(scenario.dumps()) == scenario
        assert set(scenario.domain.weights.values()) == {0.2}
        assert (scenario.tau, scenario.rho, scenario.delta) == (0.03, 1e-3, 1e-5)
        assert (scenario.size, scenario.rounds) == (512, 8)


def test_bank_domain_is_the_declared_one():
    domain = bf.policies()["bank-all"].domain
    assert domain.names == ("age", "job", "education", "balance", "y")
    assert domain.shape == (83, 12, 4, 241, 2)
    assert domain["y"].values == ("no", "yes")
    assert domain["job"].span == 4


def test_xor3_hides_the_label_from_pairs_and_shows_it_to_triples():
    frame = bf.xor3()
    assert len(frame) == 12_000
    upper = frame[["x1", "x2", "x3"]] >= 4
    for name in upper:
        counts = frame[name].value_counts()
        assert counts.size == 8
        # 1,500 each on average, standard deviation 36: six of those
        assert counts.between(1500 - 218, 1500 + 218).all()
        assert abs(frame.label[upper[name]].mean() - 0.5) < 0.04  # one column tells nothing: six deviations of 0.0065
    for a, b in itertools.combinations(upper, 2):
        assert abs(frame.label[upper[a] & upper[b]].mean() - 0.5) < 0.055
    assert (frame.label == (upper.x1 ^ upper.x2 ^ upper.x3).astype(int)).all()


def test_xor3_is_seeded():
    pd.testing.assert_frame_equal(bf.xor3(50, seed=3), bf.xor3(50, seed=3))
    assert not bf.xor3(50, seed=3).equals(bf.xor3(50, seed=4))
    assert bf.xor3(0).shape == (0, 4)
    with pytest.raises(DataError, match="n must be"):
        bf.xor3(-1)


def test_the_staff_file_is_what_its_generator_makes():
    frame, scenario = bf.load_sample("staff")
    made = bf.staff()
    assert frame.astype(str).equals(made.astype(str))
    assert set(made.job) == set(scenario.domain["job"].values)


def test_the_staff_survey_has_the_dependence_it_promises():
    staff = bf.staff(20_000, seed=1)
    assert (staff.service <= staff.age - 17).all()
    ranks = staff.drop(columns="job").rank().corr()
    assert ranks.loc["age", "service"] > 0.3
    assert ranks.loc["sick", "satisfaction"] < -0.1
    means = staff.groupby("job")[["remote", "satisfaction"]].mean()
    assert means.remote["developer"] > means.remote["driver"] + 2
    assert means.satisfaction["director"] > means.satisfaction["warehouse"] + 2
    assert np.corrcoef(means.remote, means.satisfaction)[0, 1] > 0.3


def test_names_that_are_not_there_are_told_what_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="no sample 'bank'; there are adult, staff, xor3"):
        bf.load_sample("bank")
    with pytest.raises(ScenarioError, match="adult-age-hours"):
        bf.load_scenario("adlut")
    with pytest.raises(DataError, match="no such file"):
        bf.load_data("nothing.csv", bf.load_scenario("adult").domain)
    assert issubclass(ScenarioError, BFSoftError)


def test_a_scenario_file_is_found_from_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scenario = bf.load_scenario("adult").replace(title="mine")
    scenario.save("mine.yaml")
    os.mkdir("sub")
    monkeypatch.chdir("sub")
    assert bf.load_scenario("../mine.yaml") == scenario
    assert len(bf.load_data("adult", scenario.domain)) == 13_839
