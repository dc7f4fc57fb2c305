"""Fidelity: total variation by pandas' crosstabs, Wasserstein by SciPy on expanded rows."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from cases import codes, domains
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

import bfsoft as bf
from bfsoft.errors import DataError

TABLES = domains().flatmap(lambda d: st.tuples(st.just(d[0]), codes(d[0], 1, 25), codes(d[0], 1, 25)))


def total_variation(first: pd.DataFrame, second: pd.DataFrame, k: int) -> float:
    """The mean over all k columns of half the L1 distance between relative frequencies."""
    distances = []
    for columns in combinations(first.columns, k):
        shares = [frame.value_counts([*columns], normalize=True) for frame in (first, second)]
        distances.append(shares[0].subtract(shares[1], fill_value=0).abs().sum() / 2)
    return float(np.mean(distances))


@given(TABLES)
def test_error_is_the_mean_total_variation_of_all_marginals(tables):
    domain, data, synthetic = tables
    fidelity = bf.Fidelity(bf.Records.of_codes(domain, data), k=1)
    frames = [pd.DataFrame(rows, columns=[*domain.names]) for rows in (data, synthetic)]
    for k in range(1, len(domain.names) + 1):
        assert fidelity.error(synthetic, k) == pytest.approx(total_variation(*frames, k), abs=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_against_crosstabs_on_adult(adult, adult_records, k):
    """Numbers in 20 equal bins: code · 20 // values, as for ages 17–90 (74 values) into 3 or 4 years a bin."""
    draw = np.random.default_rng(0)
    synthetic = adult_records.codes[draw.choice(len(adult_records.codes), 512)]

    def binned(rows: np.ndarray) -> pd.DataFrame:
        frame = pd.DataFrame(rows, columns=[*adult.names])
        for name, count in (("age", 74), ("hours.per.week", 99)):
            edges = np.ceil(np.arange(21) * count / 20)  # a bin starts at the first code with code · 20 ≥ bin · count
            frame[name] = pd.cut(frame[name], edges, right=False, labels=False)
        return frame

    error = bf.Fidelity(adult_records, k=k).error(synthetic)
    assert error == pytest.approx(total_variation(binned(adult_records.expand()), binned(synthetic), k), abs=1e-12)


def test_the_data_themselves_have_no_error_and_disjoint_tables_all_of_it():
    domain = bf.Domain([bf.Numeric("n", 0, 9), bf.Categorical("c", ["x", "y"])])
    rows = np.array([[0, 0], [3, 0], [3, 0]])
    fidelity = bf.Fidelity(bf.Records.of_codes(domain, rows))
    assert fidelity.error(rows) == pytest.approx(0, abs=1e-15)
    assert fidelity.error(np.repeat(rows, 5, axis=0)) == pytest.approx(0, abs=1e-15)
    assert fidelity.error(np.array([[9, 1]])) == 1.0
    assert fidelity.error(np.array([[0, 1]]), k=1) == pytest.approx((2 / 3 + 1) / 2)


def test_bins_hold_equal_shares_of_the_range():
    """41 values in 20 bins: two values each, the last bin three... counted by which pairs are confused."""
    domain = bf.Domain([bf.Numeric("n", 0, 39)])
    fidelity = bf.Fidelity(bf.Records.of_codes(domain, np.array([[6]])), k=1)
    same = [code for code in range(40) if fidelity.error(np.array([[code]])) == 0]
    assert same == [6, 7]
    every = bf.Fidelity(bf.Records.of_codes(domain, np.array([[6]])), k=1, bins=40)
    assert [code for code in range(40) if every.error(np.array([[code]])) == 0] == [6]


def test_few_valued_numbers_and_labels_are_not_binned():
    domain = bf.Domain([bf.Numeric("n", 0, 19), bf.Categorical("c", [f"v{i}" for i in range(30)])])
    fidelity = bf.Fidelity(bf.Records.of_codes(domain, np.array([[4, 4]])), k=1)
    assert fidelity.error(np.array([[5, 4]])) == 0.5
    assert fidelity.error(np.array([[4, 5]])) == 0.5


def test_marginals_too_large_to_lay_out_are_compared_all_the_same():
    """Three labels of 200 values: 8 million cells, more than are laid out."""
    domain = bf.Domain([bf.Categorical(f"c{i}", range(200)) for i in range(3)])
    draw = np.random.default_rng(0)
    data, synthetic = draw.integers(0, 3, (500, 3)), draw.integers(0, 3, (100, 3))
    frames = [pd.DataFrame(rows) for rows in (data, synthetic)]
    fidelity = bf.Fidelity(bf.Records.of_codes(domain, data), k=3)
    assert fidelity.error(synthetic) == pytest.approx(total_variation(*frames, 3), abs=1e-12)


def test_marginal_is_a_share_by_value():
    domain = bf.Domain([bf.Categorical("c", ["x", "y", "z"])])
    fidelity = bf.Fidelity(bf.Records.of_codes(domain, np.array([[0], [0], [0], [1]])), k=1)
    frame = fidelity.marginal("c", np.array([[2], [0]]))
    assert frame["value"].tolist() == ["x", "y", "z"]
    assert frame["data"].tolist() == [0.75, 0.25, 0]
    assert frame["synthetic"].tolist() == [0.5, 0, 0.5]


@given(st.lists(st.integers(0, 40), min_size=1, max_size=30), st.lists(st.integers(0, 40), min_size=1, max_size=30))
def test_wasserstein_in_the_attributes_own_units(data, synthetic):
    domain = bf.Domain([bf.Numeric("balance", -10_000, 10_000, 500)])
    data, synthetic = np.array(data)[:, None], np.array(synthetic)[:, None]
    fidelity = bf.Fidelity(bf.Records.of_codes(domain, data), k=1)
    expected = wasserstein_distance(-10_000 + 500.0 * data[:, 0], -10_000 + 500.0 * synthetic[:, 0])
    assert fidelity.wasserstein("balance", synthetic) == pytest.approx(expected, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda records: bf.Fidelity(records, k=3), "k must be a whole number from 1 to 2"),
        (lambda records: bf.Fidelity(records, k=0), "k must be a whole number from 1 to 2"),
        (lambda records: bf.Fidelity(records, k=True), "k must be a whole number from 1 to 2"),
        (lambda records: bf.Fidelity(records, bins=0), "bins must be at least 1"),
        (lambda records: bf.Fidelity(records).error(np.empty((0, 2), dtype=int)), "no records to compare"),
        (lambda records: bf.Fidelity(records).wasserstein("c", np.array([[0, 0]])), "'c' is categorical"),
        (lambda records: bf.Fidelity(records).wasserstein("n", np.empty((0, 2), dtype=int)), "no records to compare"),
    ],
)
def test_impossible_comparisons(ask, says):
    domain = bf.Domain([bf.Numeric("n", 0, 9), bf.Categorical("c", ["x", "y"])])
    with pytest.raises(DataError, match=says):
        ask(bf.Records.of_codes(domain, np.array([[0, 0]])))


def test_an_empty_reference():
    domain = bf.Domain([bf.Numeric("n", 0, 9)])
    with pytest.raises(DataError, match="no records to compare with"):
        bf.Fidelity(bf.Records.of_codes(domain, np.empty((0, 1), dtype=int)), k=1)
