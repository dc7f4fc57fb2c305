"""Records: a table gathered into distinct rows and counts, losing and inventing nothing."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from cases import codes, domains
from hypothesis import given
from hypothesis import strategies as st

import bfsoft as bf
from bfsoft.errors import DataError

DOMAIN = bf.Domain([bf.Numeric("n", 0, 4), bf.Categorical("c", ["x", "y"])])


@given(domains().flatmap(lambda d: st.tuples(st.just(d[0]), codes(d[0], 0, 30))))
def test_gathering_counts_each_distinct_row(given_domain_and_codes):
    domain, rows = given_domain_and_codes
    records = bf.Records.of_codes(domain, rows)
    expected = Counter(map(tuple, rows.tolist()))
    assert [tuple(row) for row in records.codes.tolist()] == sorted(expected)
    assert dict(zip(map(tuple, records.codes.tolist()), records.counts.tolist(), strict=True)) == expected
    assert records.n == len(rows)
    assert sorted(map(tuple, records.expand().tolist())) == sorted(map(tuple, rows.tolist()))


@given(
    domains().flatmap(lambda d: st.tuples(st.just(d[0]), codes(d[0], 1, 12))),
    st.lists(st.integers(0, 9), min_size=12, max_size=12),
)
def test_counts_stand_for_repeated_rows(given_domain_and_codes, counts):
    domain, rows = given_domain_and_codes
    counts = np.array(counts[: len(rows)])
    weighted = bf.Records.of_codes(domain, rows, counts)
    repeated = bf.Records.of_codes(domain, np.repeat(rows, counts, axis=0))
    assert weighted.codes.tolist() == repeated.codes.tolist()
    assert weighted.counts.tolist() == repeated.counts.tolist()


def test_domains_beyond_64_bits_gather_too():
    domain = bf.Domain([bf.Numeric(f"n{i}", 0, 9999) for i in range(6)])
    assert domain.size == 10**24
    rows = np.random.default_rng(0).integers(0, 2, (50, 6)) * 9999
    records = bf.Records.of_codes(domain, rows)
    assert dict(zip(map(tuple, records.codes.tolist()), records.counts.tolist(), strict=True)) == Counter(
        map(tuple, rows.tolist())
    )


def test_a_hundred_attributes_gather_and_vote():
    domain = bf.Domain([bf.Categorical(f"c{i}", ["only"]) for i in range(99)] + [bf.Categorical("z", ["p", "q"])])
    rows = np.zeros((3, 100), dtype=np.int64)
    rows[2, 99] = 1
    candidates = rows[[0, 2]]
    assert bf.Records.of_codes(domain, rows).counts.tolist() == [2, 1]
    assert bf.HardVote().histogram(domain, rows, candidates).tolist() == [2, 1]


def test_a_count_column_says_how_often_a_row_occurs():
    frame = pd.DataFrame({"n": [1, 1, 2], "c": ["x", "x", "y"], "count": [3, 4, 0]})
    records = bf.Records.of_frame(DOMAIN, frame)
    assert records.codes.tolist() == [[1, 0]]
    assert records.counts.tolist() == [7]
    assert records.frame()["count"].tolist() == [7]
    assert bf.Records.of_frame(DOMAIN, records.frame()).counts.tolist() == [7]


def test_a_count_column_that_is_an_attribute_is_data():
    domain = bf.Domain([bf.Numeric("count", 0, 9)])
    assert bf.Records.of_frame(domain, pd.DataFrame({"count": [3, 3, 5]})).n == 3


@pytest.mark.parametrize("cell", [1.5, -1, None, "many", np.inf, 2.0**60, 10**400])
def test_a_bad_count_names_its_row(cell):
    frame = pd.DataFrame({"n": [1, 1], "c": ["x", "x"], "count": pd.Series([2, cell], dtype=object)})
    with pytest.raises(DataError, match=r"row 1, column 'count': .* is not a whole number"):
        bf.Records.of_frame(DOMAIN, frame)


def test_nullable_counts():
    frame = pd.DataFrame({"n": [1], "c": ["x"], "count": pd.array([4], dtype="Int64")})
    assert bf.Records.of_frame(DOMAIN, frame).n == 4
    frame["count"] = pd.array([None], dtype="Int64")
    with pytest.raises(DataError, match="row 0, column 'count'"):
        bf.Records.of_frame(DOMAIN, frame)


def test_counts_too_large_to_add_up_exactly():
    frame = pd.DataFrame({"n": [1, 2], "c": ["x", "x"], "count": [2**52, 2**52]})
    with pytest.raises(DataError, match="more records than can be counted"):
        bf.Records.of_frame(DOMAIN, frame)


def test_bare_counts_too_large_to_add_up_exactly():
    """4,096 times 2**52 is 2**64, which 64 bits would hold as 0."""
    with pytest.raises(DataError, match="more records than can be counted"):
        bf.Records.of_codes(DOMAIN, np.zeros((4096, 2), dtype=np.int64), np.full(4096, 2**52))


def test_a_huge_count_is_written_short():
    frame = pd.DataFrame({"n": [1], "c": ["x"], "count": pd.Series([10**300], dtype=object)})
    with pytest.raises(DataError, match="row 0, column 'count': 1e300 is not"):
        bf.Records.of_frame(DOMAIN, frame)


def test_two_count_columns():
    frame = pd.DataFrame([[1, "x", 2, 3]], columns=["n", "c", "count", "count"])
    with pytest.raises(DataError, match="'count' appears more than once"):
        bf.Records.of_frame(DOMAIN, frame)


@pytest.mark.parametrize("counts", [[1.5, 1], [-1, 2], [np.nan, 1], [1], [1, 1, 1], 2, ["1", "2"], [[1, 1]]])
def test_counts_that_are_no_counts(counts):
    with pytest.raises(DataError, match="counts must be"):
        bf.Records.of_codes(DOMAIN, np.array([[0, 0], [1, 1]]), counts)


def test_records_of_another_domain_are_refused():
    records = bf.Records.of_codes(DOMAIN, np.array([[0, 0]]))
    other = bf.Domain([bf.Numeric("n", 0, 5), bf.Categorical("c", ["x", "y"])])
    with pytest.raises(DataError, match="gather them again"):
        bf.synthesize(records, bf.Policy(other, {}), bf.HardVote(), bf.Budget(rho=1.0), size=2, rounds=1)


def test_reweighted_records_vote_by_the_new_weights():
    """Codes do not depend on weights; distances do."""
    records = bf.Records.of_codes(DOMAIN, np.array([[0, 0]]))
    heavy = bf.Domain(DOMAIN.attributes, {"n": 9, "c": 1})
    candidates = np.array([[1, 0], [0, 1]])
    assert bf.HardVote().histogram(DOMAIN, records, candidates).tolist() == [1, 0]
    assert bf.HardVote().histogram(heavy, records, candidates).tolist() == [0, 1]
