"""Analysis of frames, against statsmodels and numbers known beforehand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

import bfsoft as bf
from bfsoft import experiments as ex
from bfsoft.errors import ExperimentError

probabilities = st.floats(0, 1)
values = st.lists(st.floats(-1, 1), min_size=2, max_size=12).filter(lambda given: np.std(given) > 1e-6)


@settings(max_examples=15)  # statsmodels takes its time
@given(st.lists(probabilities, min_size=1, max_size=12))
def test_holm_is_that_of_statsmodels(p: list[float]) -> None:
    assert np.allclose(ex.holm(p), multipletests(p, method="holm")[1], rtol=1e-12, atol=0)


def test_holm_refuses_what_is_no_probability() -> None:
    for wrong in ([0.5, 1.2], [math.nan], [[0.5]]):
        with pytest.raises(ExperimentError, match="p-values"):
            ex.holm(wrong)  # type: ignore[arg-type]


@given(values)
def test_the_interval_is_that_of_statsmodels(given: list[float]) -> None:
    mean, low, high = ex.t_interval(np.array(given))
    stats = DescrStatsW(given)
    assert np.allclose([mean, low, high], [stats.mean, *stats.tconfint_mean(0.05)], rtol=1e-9, atol=1e-12)


@settings(max_examples=15)
@given(st.lists(values, min_size=1, max_size=5))
def test_significance_is_that_of_statsmodels(groups: list[list[float]]) -> None:
    rows = [{"group": g, "seed": s, "gain": v} for g, given in enumerate(groups) for s, v in enumerate(given)]
    found = ex.significance(pd.DataFrame(rows))
    p = [DescrStatsW(given).ttest_mean(0)[1] for given in groups]
    assert np.allclose(found["p"], p, rtol=1e-6, atol=1e-15)
    assert np.allclose(found["p_holm"], multipletests(p, method="holm")[1], rtol=1e-6, atol=1e-15)


def test_few_or_equal_seeds_have_their_own_rules() -> None:
    one = ex.summarise(pd.DataFrame({"method": ["Hard"], "seed": [0], "error": [0.5]}))
    assert one["mean"].tolist() == [0.5]
    assert one[["low", "high"]].isna().all().all()
    same = pd.DataFrame({"g": [0, 0, 1, 1], "seed": [0, 1, 0, 1], "gain": [0.0, 0.0, 0.25, 0.25]})
    assert ex.significance(same)["p"].tolist() == [1.0, 0.0]
    with pytest.raises(ExperimentError, match="at least two seeds"):
        ex.significance(same.iloc[:1])


def runs(gain: dict[float, list[float]], tau: float = 0.03) -> pd.DataFrame:
    """Hard at error 0.5, BF-Soft better by the given gain a seed, for each budget."""
    rows = []
    for rho, by_seed in gain.items():
        epsilon = bf.Budget(rho=rho).epsilon
        for seed, each in enumerate(by_seed):
            rows.append(("Hard", math.nan, rho, epsilon, seed, 0.5))
            rows.append(("BF-Soft", tau, rho, epsilon, seed, 0.5 - each))
    return pd.DataFrame(rows, columns=["method", "tau", "rho", "epsilon", "seed", "error"])


def test_gains_pair_by_seed_and_budget() -> None:
    found = ex.gains(runs({1e-4: [0.25, 0.125], 1e-2: [-0.5, 0.0]}))
    assert found["gain"].tolist() == [0.25, 0.125, -0.5, 0.0]
    assert found["relative"].tolist() == [0.5, 0.25, -1.0, 0.0]
    assert found["method"].unique().tolist() == ["BF-Soft"]


def test_gains_need_a_partner() -> None:
    frame = runs({1e-4: [0.25, 0.125]})
    with pytest.raises(ExperimentError, match="seed 1 and 'Hard' was not"):
        ex.gains(frame.drop(index=2))
    with pytest.raises(ExperimentError, match="no run of the method 'Tab-PE'"):
        ex.gains(frame, "Tab-PE")
    with pytest.raises(ExperimentError, match="several runs"):
        ex.gains(pd.concat([frame, frame]))
    with pytest.raises(ExperimentError, match="no column 'error'"):
        ex.gains(frame.drop(columns="error"))


def test_a_crossover_is_interpolated_in_log_rho() -> None:
    found = ex.crossover(runs({1e-4: [0.25, 0.25], 1e-2: [-0.25, -0.25], 1e-1: [-0.5, -0.5]})).iloc[0]
    assert found["rho"] == pytest.approx(1e-3, rel=1e-12)
    assert (found["low"], found["high"]) == pytest.approx((1e-3, 1e-3), rel=1e-12)
    assert (found["crossed"], found["turns"], found["before"], found["after"]) == (1.0, 1, True, False)
    assert bf.Budget(rho=1e-4).epsilon < found["epsilon"] < bf.Budget(rho=1e-2).epsilon


def test_a_crossover_interval_covers_what_the_seeds_disagree_on() -> None:
    slope = np.random.default_rng(0).normal(0, 0.1, 12)
    found = ex.crossover(runs({1e-4: list(0.25 + slope), 1e-2: list(-0.25 + slope)})).iloc[0]
    mean = slope.mean()
    assert found["rho"] == pytest.approx(10 ** (-4 + 2 * (0.25 + mean) / 0.5), rel=1e-9)
    assert 1e-4 < found["low"] < found["rho"] < found["high"] < 1e-2


def test_a_gain_that_never_turns_has_no_crossover() -> None:
    always, never = (ex.crossover(runs({1e-4: [g, g], 1e-2: [g, g]})).iloc[0] for g in (0.1, -0.1))
    assert math.isnan(always["rho"])
    assert math.isnan(always["low"])
    assert (always["before"], always["after"], always["crossed"]) == (True, True, 0.0)
    assert (never["before"], never["after"]) == (False, False)
    rising = ex.crossover(runs({1e-4: [-0.1, -0.1], 1e-2: [0.1, 0.1]})).iloc[0]
    assert math.isnan(rising["rho"]), "a gain that rises through 0 is no reversal of the advantage"


def test_a_crossover_needs_whole_seeds_and_two_budgets() -> None:
    with pytest.raises(ExperimentError, match="two budgets"):
        ex.crossover(runs({1e-4: [0.1, 0.1]}))
    with pytest.raises(ExperimentError, match="every seed must have every budget"):
        ex.crossover(runs({1e-4: [0.1, 0.1], 1e-2: [-0.1]}))


@given(st.floats(0.01, 0.99), st.integers(1, 7))
def test_the_temperature_for_a_ratio_gives_it(ratio: float, theta: int) -> None:
    policy = bf.Policy(bf.Domain([bf.Numeric("x", 0, 10), bf.Numeric("y", 0, 1)]), {"x": bf.Threshold(theta)})
    tau = ex.temperature_for(policy, ratio)
    assert bf.sensitivity_bound(policy, bf.SoftVote(tau)).ratio == pytest.approx(ratio, rel=1e-9)


def test_no_temperature_gives_a_ratio_beyond_hard() -> None:
    policy = bf.Policy(bf.Domain([bf.Numeric("x", 0, 10)]), {})
    with pytest.raises(ExperimentError, match="no edges"):
        ex.temperature_for(policy, 0.5)
    with pytest.raises(ExperimentError, match="between 0 and 1"):
        ex.temperature_for(policy, 1.0)
