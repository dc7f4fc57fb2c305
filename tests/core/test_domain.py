"""Domains: exact grids and distances, codes both ways, and an error of its own for each way a table can be wrong."""

import datetime
import re
from fractions import Fraction

import brute
import numpy as np
import pandas as pd
import pytest
from cases import TREES, cases, codes, domains
from hypothesis import given
from hypothesis import strategies as st

import bfsoft as bf
from bfsoft.domain import rational
from bfsoft.errors import BFSoftError, DataError, DomainError


def one(attribute):
    return bf.Domain([attribute])


def encode(attribute, cells, **options):
    return one(attribute).encode(pd.DataFrame({attribute.name: cells}), **options)[:, 0].tolist()


# Distance


@given(cases())
def test_distance_is_weighted_gower(case):
    """THEORY, "Records", from fractions and breadth-first walks; correctly rounded, not merely close."""
    some = brute.records(case.domain)[:40]
    distances = case.domain.distance(np.array(some), case.candidates)
    for row, record in zip(distances, some, strict=True):
        assert row.tolist() == [float(d) for d in case.distances(record)]


@given(cases())
def test_distances_equal_in_exact_arithmetic_are_equal_as_whole_numbers(case):
    some = brute.records(case.domain)[:40]
    whole = case.domain.exact_distance(np.array(some), case.candidates)
    for row, record in zip(whole.tolist(), some, strict=True):
        assert [Fraction(steps, case.domain.denominator) for steps in row] == case.distances(record)


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_tree_distance_is_the_path_length_whatever_the_leaves_depths(tree):
    attribute = bf.Hierarchical("job", tree)
    lengths, everyone = brute.tree_distances(tree), np.arange(len(attribute.values))
    steps = attribute.steps(everyone[:, None], everyone[None, :])
    assert steps.tolist() == [[lengths[a, b] for b in attribute.values] for a in attribute.values]
    assert attribute.span == max(lengths.values())


def test_leaves_at_different_depths():
    """By hand: v hangs from the root (1 link), z sits four links down: 5 between them, the longest path."""
    job = bf.Hierarchical("job", {"top": {"left": ["x", "y"], "right": {"deep": ["z"], "w": None}}, "v": None})
    assert job.values == ("x", "y", "z", "w", "v")
    assert job.steps(job.code("v"), job.code("z")) == 5 == job.span
    assert job.steps(job.code("x"), job.code("y")) == 2
    assert job.steps(job.code("z"), job.code("w")) == 3


def test_one_sixth_and_five_sixths_are_exact():
    """0.1666… and 0.8333… are floats that stand for sixths: five steps of one attribute weigh one of the other."""
    domain = bf.Domain([bf.Numeric("a", 0, 5), bf.Numeric("b", 0, 5)], {"a": 1 / 6, "b": 5 / 6})
    assert domain.exact_weights == (Fraction(1, 6), Fraction(5, 6))
    assert domain.denominator == 30
    whole = domain.exact_distance(np.array([[0, 0]]), np.array([[5, 0], [0, 1]]))
    assert whole.tolist() == [[5, 5]]


def test_wide_denominators_stay_exact():
    """Weights of sixteen digits overflow 64-bit integers; the distances must not."""
    weights = {"a": 0.12345678901234567, "b": 0.30000000000000004}
    domain = bf.Domain([bf.Numeric("a", 0, 96), bf.Numeric("b", 0, 88)], weights)
    assert domain.denominator >= 2**62
    gower = brute.Gower(domain, weights)
    some = np.array([[0, 0], [96, 88], [31, 7], [96, 0]])
    whole = domain.exact_distance(some, some)
    for a, row in zip(some.tolist(), whole, strict=True):
        assert [Fraction(int(x), domain.denominator) for x in row] == [gower(a, b) for b in some.tolist()]


def test_rational_reads_what_was_written():
    assert rational(0.1) == Fraction(1, 10)
    assert rational(1 / 3) == Fraction(1, 3)
    assert rational(0.1 + 0.2) == Fraction("0.30000000000000004")
    assert rational(np.int64(7)) == 7


# Grids


@pytest.mark.parametrize("step", [0.1, 0.25, 0.05, 0.3, 1 / 3, 1e-3])
def test_float_grids_are_exact(step):
    """Each value is the float nearest to low + k·step, so 0.3 is 0.3 and not 0.1 + 0.1 + 0.1."""
    exact = Fraction(str(step)) if step != 1 / 3 else Fraction(1, 3)
    attribute = bf.Numeric("x", 0, float(90 * exact), step)
    assert attribute.values == tuple(float(k * exact) for k in range(91))
    assert encode(attribute, list(attribute.values)) == list(range(91))


def test_a_sum_that_rounds_beside_the_grid_is_still_that_grid_value():
    assert encode(bf.Numeric("x", 0, 1, 0.1), [0.1 + 0.2, 0.7 + 0.1]) == [3, 8]


def test_values_keep_their_kind():
    assert bf.Numeric("age", 17, 20).values == (17, 18, 19, 20)
    assert all(isinstance(v, int) for v in bf.Numeric("balance", -10_000, 110_000, 500).values)
    assert len(bf.Numeric("balance", -10_000, 110_000, 500).values) == 241
    assert bf.Numeric("x", 0.5, 2.5).values == (0.5, 1.5, 2.5)
    assert bf.Numeric("x", 3, 3).values == (3,)


def test_huge_numeric_attributes_are_cheap_to_declare():
    attribute = bf.Numeric("fnlwgt", 0, 1_500_000)
    assert attribute.span == 1_500_000
    assert attribute.code(1_234_567) == 1_234_567


def test_a_large_hierarchy_is_measured_without_walking_pairs():
    """2,000 leaves, 4 million pairs: by the level of their lowest common node."""
    tree = {f"g{i}": {f"g{i}.{j}": [f"{i}.{j}.{k}" for k in range(10)] for j in range(10)} for i in range(20)}
    attribute = bf.Hierarchical("code", tree)
    assert attribute.span == 6
    a, b, c = (attribute.code(v) for v in ("0.0.0", "0.0.9", "0.9.0"))
    assert [int(attribute.steps(a, x)) for x in (a, b, c, attribute.code("19.0.0"))] == [0, 2, 4, 6]


# Codes both ways


@given(domains().flatmap(lambda d: st.tuples(st.just(d[0]), codes(d[0], 0, 12))))
def test_decode_then_encode_is_the_identity(given_domain_and_codes):
    domain, given_codes = given_domain_and_codes
    frame = domain.decode(given_codes)
    assert list(frame.columns) == list(domain.names)
    assert domain.encode(frame).tolist() == given_codes.tolist()
    assert domain.encode(frame).dtype == np.int64


@given(domains().flatmap(lambda d: st.tuples(st.just(d[0]), codes(d[0], 1, 12))))
def test_encode_reads_the_text_of_a_file_too(given_domain_and_codes):
    domain, given_codes = given_domain_and_codes
    assert domain.encode(domain.decode(given_codes).astype(str)).tolist() == given_codes.tolist()


MIXED = [
    pd.Series(["x", "y", "x"]),
    pd.Series(["x", "y", "x"], dtype=object),
    pd.Series(["x", "y", "x"], dtype="string"),
    pd.Series(["x", "y", "x"], dtype="category"),
    pd.Series(pd.Categorical(["x", "y", "x"], categories=["y", "unused", "x"])),
]


@pytest.mark.parametrize("column", MIXED, ids=lambda c: str(c.dtype))
def test_every_text_dtype_encodes(column):
    assert encode(bf.Categorical("c", ["x", "y"]), column) == [0, 1, 0]


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int64", "float32", "float64", "Int64", "Float64", "UInt16", "object"]
)
def test_every_number_dtype_encodes(dtype):
    column = pd.Series([3, 5, 4], dtype=dtype)
    assert encode(bf.Numeric("n", 3, 6), column) == [0, 2, 1]
    assert encode(bf.Categorical("n", [5, 4, 3]), column) == [2, 0, 1]


def test_numbers_as_text_and_as_categories():
    assert encode(bf.Numeric("n", 3, 6), ["3", " 5 ", "4.0"]) == [0, 2, 1]
    assert encode(bf.Numeric("n", 3, 6), pd.Categorical([3, 5, 4])) == [0, 2, 1]


def test_truth_values_are_labels_but_no_numbers():
    assert encode(bf.Categorical("b", [True, False]), [False, True]) == [1, 0]
    assert encode(bf.Categorical("b", ["True", "False"]), [False, True]) == [1, 0]


def test_rows_are_matched_by_place_not_by_index():
    frame = pd.DataFrame({"n": [1, 2, 3], "c": [2.0, 1.0, 2.0]}, index=[7, 7, 0])
    domain = bf.Domain([bf.Numeric("n", 1, 3), bf.Categorical("c", [1, 2])])
    assert domain.encode(frame).tolist() == [[0, 1], [1, 0], [2, 1]]


def test_an_empty_table_encodes_to_no_rows(adult):
    empty = adult.encode(pd.DataFrame(columns=[*adult.names]))
    assert empty.shape == (0, 5)
    assert adult.decode(empty).shape == (0, 5)


def test_columns_beyond_the_domain_are_ignored():
    assert one(bf.Numeric("n", 0, 3)).encode(pd.DataFrame({"other": ["?"], "n": [2]})).tolist() == [[2]]


def test_clip_moves_to_the_bounds_and_to_the_nearest_grid_value():
    balance = bf.Numeric("balance", -1000, 1000, 500)
    assert encode(balance, [-9e9, -1300, -751, -749, 249, 251, 5000], unknown="clip") == [0, 0, 0, 1, 2, 3, 4]


def test_a_float_column_at_theta_sized_steps():
    assert encode(bf.Numeric("x", 0, 7.0, 0.5), [7.0, 0.0, 3.5]) == [14, 0, 7]


# Errors, each its own


NUMBER = bf.Numeric("age", 17, 90)
LABEL = bf.Categorical("work", ["Private", "State-gov"])


@pytest.mark.parametrize(
    ("attribute", "cells", "says"),
    [
        (LABEL, ["Private", "Martian"], r"row 1, column 'work': 'Martian' is not one of 'Private', 'State-gov'"),
        (LABEL, ["private", "Private"], r"row 0, column 'work': 'private' is not one of"),
        (LABEL, ["Private", None], r"row 1, column 'work': the cell is empty"),
        (LABEL, ["Private", 3], r"row 1, column 'work': 3 is not one of"),
        (LABEL, ["Private", ["a list"]], r"row 1, column 'work': \['a list'\] is not one of"),
        (LABEL, pd.Categorical(["Private", "Martian"]), r"row 1, column 'work': 'Martian' is not one of"),
        (NUMBER, [20, np.nan, np.nan], r"row 1, column 'age': the cell is empty \(NaN\), 2 such cells"),
        (NUMBER, pd.array([20, None], dtype="Int64"), r"row 1, column 'age': the cell is empty"),
        (NUMBER, [20, 91], r"row 1, column 'age': 91 lies outside 17 to 90; .*unknown='clip'"),
        (NUMBER, [16, 20], r"row 0, column 'age': 16 lies outside 17 to 90"),
        (NUMBER, [20, 20.5], r"row 1, column 'age': (np\.float64\()?20\.5\)? is not on the grid 17, 18, …, 90"),
        (NUMBER, ["20", "old"], r"row 1, column 'age': 'old' is not a finite number"),
        (NUMBER, [20, np.inf], r"row 1, column 'age': inf is not a finite number"),
        (NUMBER, [-np.inf, 20], r"row 0, column 'age': -inf is not a finite number"),
        (NUMBER, [True, False], r"row 0, column 'age': True is not a finite number"),
        (NUMBER, pd.Series([20, True], dtype=object), r"row 1, column 'age': True is not a finite number"),
        (NUMBER, pd.array([True, False], dtype="boolean"), r"row 0, column 'age': True is not a finite number"),
        (NUMBER, pd.to_datetime(["2020-01-01"]), r"row 0, column 'age': Timestamp.* is not a finite number"),
        (NUMBER, pd.Series([datetime.date(2020, 1, 1)], dtype=object), r"column 'age': datetime.* is not a finite"),
    ],
)
def test_a_bad_cell_names_row_column_and_value(attribute, cells, says):
    with pytest.raises(DataError, match=says):
        encode(attribute, cells)


@pytest.mark.parametrize("cells", [[20, np.nan], ["20", "old"], [20.0, np.inf], [True, True]])
def test_clip_mends_range_and_grid_only(cells):
    with pytest.raises(DataError):
        encode(NUMBER, cells, unknown="clip")


def test_a_bad_row_is_named_by_the_tables_own_index():
    frame = pd.DataFrame({"age": [20, 91]}, index=["ann", "bob"])
    with pytest.raises(DataError, match="row bob, column 'age': 91"):
        one(NUMBER).encode(frame)


def test_an_error_shows_one_cell_and_no_other():
    """The table may be private: only the first offending cell is named."""
    with pytest.raises(DataError) as caught:
        encode(NUMBER, [33, 101, 44, 202])
    assert "101" in str(caught.value)
    assert not re.search("33|44|202", str(caught.value))


def test_missing_and_repeated_columns():
    domain = bf.Domain([NUMBER, LABEL])
    with pytest.raises(DataError, match="column 'work' is missing; the table has 'age'"):
        domain.encode(pd.DataFrame({"age": [20]}))
    twice = pd.DataFrame([[20, "Private", 30]], columns=["age", "work", "age"])
    with pytest.raises(DataError, match="column 'age' appears more than once"):
        domain.encode(twice)


def test_encode_wants_a_table_and_a_known_way():
    with pytest.raises(DataError, match="must be a pandas DataFrame, got list"):
        one(NUMBER).encode([[20]])
    with pytest.raises(DataError, match="unknown must be 'error' or 'clip', got 'drop'"):
        one(NUMBER).encode(pd.DataFrame({"age": [20]}), unknown="drop")


@pytest.mark.parametrize(
    ("declare", "says"),
    [
        (lambda: bf.Domain([]), "at least one attribute"),
        (lambda: bf.Domain([NUMBER, NUMBER]), "two attributes are named 'age'"),
        (lambda: bf.Domain(["age"]), "attribute 1 is 'age'; use Numeric"),
        (lambda: bf.Domain([NUMBER], {"age": -0.1}), "weight of 'age' is negative"),
        (lambda: bf.Domain([NUMBER], {"age": 0}), "all weights are 0"),
        (lambda: bf.Domain([NUMBER], {"age": float("nan")}), "weight of 'age' must be a finite number"),
        (lambda: bf.Domain([NUMBER], {"age": True}), "weight of 'age' must be a finite number, got True"),
        (lambda: bf.Domain([NUMBER, LABEL], {"age": 1}), "no weight for 'work'"),
        (lambda: bf.Domain([NUMBER], {"age": 1, "job": 1}), "there is no attribute 'job'"),
        (lambda: bf.Domain([NUMBER], [1.0]), "weights must map"),
        (lambda: bf.Categorical("c", []), "'c' has no categories"),
        (lambda: bf.Categorical("c", "xy"), "categories must be a list"),
        (lambda: bf.Categorical("c", ["x", "y", "x"]), "the value 'x' is listed twice"),
        (lambda: bf.Categorical("c", [1, "1"]), "read the same in a file"),
        (lambda: bf.Categorical("c", ["x", None]), "value 2 is empty"),
        (lambda: bf.Categorical("c", ["x", float("nan")]), "value 2 is empty"),
        (lambda: bf.Categorical("c", ["x", pd.NA]), "value 2 is empty"),
        (lambda: bf.Categorical("c", [["x"]]), "cannot be a value"),
        (lambda: bf.Categorical("", ["x"]), "non-empty text"),
        (lambda: bf.Categorical(3, ["x"]), "non-empty text"),
        (lambda: bf.Hierarchical("h", {}), "no leaves"),
        (lambda: bf.Hierarchical("h", "abc"), "must be a mapping or a list"),
        (lambda: bf.Hierarchical("h", {"a": []}), "node 'a' must hold a list of leaves"),
        (lambda: bf.Hierarchical("h", {"a": ["x"], "b": ["x"]}), "the value 'x' is listed twice"),
        (lambda: bf.Hierarchical("h", {"a": "x"}), "node 'a' must hold a list of leaves"),
        (lambda: bf.Numeric("n", 5, 1), "low 5 is above high 1; swap them"),
        (lambda: bf.Numeric("n", 0, 1, 0), "step must be above 0"),
        (lambda: bf.Numeric("n", 0, 1, -1), "step must be above 0"),
        (lambda: bf.Numeric("n", 0, float("inf")), "high must be a finite number"),
        (lambda: bf.Numeric("n", 0, 10**400), "high must be a finite number"),
        (lambda: bf.Numeric("n", "0", 1), "low must be a finite number, got '0'"),
        (lambda: bf.Numeric("n", True, 2), "low must be a finite number, got True"),
        (lambda: bf.Numeric("n", 0, 10, 3), "not low 0 plus whole steps of 3; the last grid value below it is 9"),
        (lambda: bf.Numeric("n", 0, 1e9), "too many; use a wider step"),
        (lambda: bf.Numeric("id", 10**17, 10**17 + 10), "lost in rounding"),
        (
            lambda: bf.Numeric("x", -1e308, 1e308, 1e307),
            "'x': low -1e308 and high 1e308 are further apart than a float",
        ),
        (lambda: bf.Numeric("x", -(10**308), 10**308, 10**307), "low -1e308 and high 1e308 are further apart"),
        (lambda: bf.Numeric("x", 0, 1e308), "'x': about 1e308 grid values are too many; use a wider step"),
        (lambda: bf.Numeric("x", 0, 1, 5e-324), "about 1e323 grid values are too many"),
        (lambda: bf.Numeric("x", 0, 1, Fraction(1, 10**400)), "step must be above 0"),
        (lambda: bf.Numeric("x", 10**300, 10**300 + 10), "steps of 1 are lost in rounding at 1e300"),
        (lambda: bf.Numeric("x", 0, 10**300, 7 * 10**298), "the last grid value below it is 9.8e299"),
        (lambda: bf.Numeric("x", 10**300, 0), "low 1e300 is above high 0; swap them"),
        (lambda: bf.Numeric("x", 0, 10**5000), "high must be a finite number, got a whole number of about 5001 digits"),
        (lambda: bf.Categorical("c", [10**300, 10**300]), "the value 1e300 is listed twice"),
        (lambda: bf.Categorical("c", [10**5000]), "a whole number of about 5001 digits cannot be a value"),
        (lambda: bf.Domain([NUMBER], {"age": 10**5000}), "finite number, got a whole number of about 5001 digits"),
        (lambda: bf.Domain([NUMBER], {"age": -(10**300)}), "negative (-1e300)"),
        (lambda: NUMBER.code(10**300), "has no value 1e300"),
    ],
)
def test_a_wrong_declaration_says_what_is_wrong_and_in_short(declare, says):
    with pytest.raises(DomainError, match=re.escape(says)) as caught:
        declare()
    assert len(str(caught.value)) < 400


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("attribute", [bf.Numeric("x", 0, 10**300, 10**299), bf.Numeric("x", 5e307, 1.5e308, 1e307)])
def test_the_largest_grids_keep_their_values_apart_and_short(attribute):
    assert encode(attribute, list(attribute.values)) == list(range(11))
    assert len(set(attribute.values)) == len(attribute.values) == 11
    assert max(len(str(value)) for value in attribute.values) < 10
    decoded = one(attribute).decode(np.arange(11)[:, None])
    assert decoded.x.dtype == float
    assert one(attribute).distance(np.array([[0]]), np.array([[3]])).tolist() == [[0.3]]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("cell", [-1.7e308, 10**400, "1e400"])
def test_cells_beyond_the_largest_grid_are_refused_and_not_warned_about(cell):
    with pytest.raises(DataError, match="row 0, column 'x'"):
        encode(bf.Numeric("x", 5e307, 1.5e308, 1e307), pd.Series([cell], dtype=object))


def test_every_error_is_one_family_and_a_value_error():
    assert issubclass(BFSoftError, ValueError)
    assert issubclass(DomainError, BFSoftError)
    assert issubclass(DataError, BFSoftError)


@pytest.mark.parametrize("value", [91, 16, 17.5, "20", True, float("nan"), float("inf"), 10**400, None])
def test_code_of_an_unknown_number(value):
    with pytest.raises(DomainError, match="'age' has no value"):
        NUMBER.code(value)


@pytest.mark.parametrize("value", ["Martian", None, ["Private"], 0])
def test_code_of_an_unknown_label(value):
    with pytest.raises(DomainError, match="'work' has no value"):
        LABEL.code(value)


@pytest.mark.parametrize(
    ("given_codes", "says"),
    [
        ([[0, 0], [74, 1]], "row 1, column 'age': code 74 lies outside 0 to 73"),
        ([[0, -1]], "row 0, column 'work': code -1 lies outside 0 to 1"),
        ([[0.0, 1.0]], "must be whole numbers"),
        ([0, 1], "must have shape (n, 2), got (2,)"),
        ([[0, 1, 1]], "must have shape (n, 2), got (1, 3)"),
    ],
)
def test_codes_outside_the_domain(given_codes, says):
    with pytest.raises(DataError, match=re.escape(says)):
        bf.Domain([NUMBER, LABEL]).decode(np.array(given_codes))


# Equality


def test_domains_are_values():
    same = [bf.Domain([bf.Numeric("a", 0, 3), bf.Categorical("b", ["x"])], {"a": 1, "b": w}) for w in (1, 1)]
    assert same[0] == same[1]
    assert hash(same[0]) == hash(same[1])
    assert same[0] != bf.Domain([bf.Numeric("a", 0, 3), bf.Categorical("b", ["x"])], {"a": 1, "b": 2})
    assert bf.Domain([bf.Numeric("a", 0, 3)], {"a": 5}) == bf.Domain([bf.Numeric("a", 0, 3)])


def test_the_order_of_a_tree_is_part_of_its_value():
    """Codes go by the order of the leaves: two orders must never pass for one domain."""
    first = bf.Hierarchical("j", {"a": ["1"], "b": ["2"]})
    assert first != bf.Hierarchical("j", {"b": ["2"], "a": ["1"]})
    assert first == bf.Hierarchical("j", {"a": ("1",), "b": {"2": None}})


def test_a_tree_is_copied():
    tree = {"a": ["1"]}
    attribute = bf.Hierarchical("j", tree)
    tree["a"].append("2")
    assert attribute.values == ("1",)
