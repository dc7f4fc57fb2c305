"""Guesses from public tables: each column's kind, why, and what to check; every guessed attribute holds every cell."""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bfsoft as bf
from bfsoft.errors import DataError
from bfsoft.schema import guess, guessed_domain


def of(cells: list, name: str = "x"):
    return guess(pd.DataFrame({name: pd.Series(cells)}))[0]


def test_adult_is_guessed_as_it_is_declared():
    """The sample's bounds and categories are those of its own table, so the guess must find them."""
    frame, scenario = bf.load_sample("adult")
    guesses = guess(frame)
    assert [each.column for each in guesses if not each.included] == ["count"]
    for each in guesses[:-1]:
        declared = scenario.domain[each.column]
        assert each.attribute.kind == declared.kind
        assert set(each.attribute.values) == set(declared.values)
    assert guessed_domain(guesses).names == scenario.domain.names


@pytest.mark.parametrize(
    ("cells", "values", "reason"),
    [
        ([3, 1, 2, 1], (1, 2, 3), "whole numbers"),
        ([10, 30, 20, 60], (10, 20, 30, 40, 50, 60), "whole numbers"),
        ([0.25, 0.75, 0.5, 0.25], (0.25, 0.5, 0.75), "numbers"),
        ([0, 1, 1], (0, 1), "2 different values"),
        ([True, False], (False, True), "2 different values"),
        (["b", "a", "b"], ("a", "b"), "2 different values"),
        (["10", "9", "x"], ("9", "10", "x"), "3 different values"),
    ],
)
def test_kinds(cells, values, reason):
    found = of(cells)
    assert found.attribute.values == values
    assert [type(value) for value in found.attribute.values] == [type(value) for value in values]
    assert found.reason == reason
    assert found.included


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ([None, None], "every cell is empty"),
        (["same"] * 3, "one value only"),
        (list(range(50)), "a different number in every row: an identifier?"),
        ([f"name {i}" for i in range(50)], "a different text in every row: a name?"),
        ([f"text {i % 500}" for i in range(1000)], "500 different values: too many for categories"),
        ([pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01")], "dates; turn them into numbers, such as the year"),
        ([1.0, np.inf], "some numbers are infinite"),
        ([[1], [2]], "cells that are neither numbers nor text"),
    ],
)
def test_what_is_left_out_and_why(cells, reason):
    found = of(cells)
    assert not found.included
    assert found.reason == reason


def test_many_numbers_get_a_round_step_and_bounds_on_it():
    found = of([0.123, 17.9, 983.4567, 500.0])
    assert (found.attribute.low, found.attribute.high, found.attribute.step) == (0, 985, 5)
    assert "rounded to steps of 5" in found.notes[0]


def test_mixed_cells_and_empty_ones_are_pointed_at():
    frame = bf.read_table(io.StringIO("a,b\n1,x\n?,y\n3,\n"))
    a, b = guess(frame)
    assert "mixed: 2 different numbers, but also '?'" in a.notes
    assert "1 empty cell: its row cannot be read" in b.notes


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        (["1", "inf", "-inf"], "mixed: 1 number, but also 'inf', '-inf'"),
        (["1", "2", "x"], "mixed: 2 different numbers, but also 'x'"),
        (["1,57", "1,86", "?"], "mixed: 2 different numbers, but also '?'"),
        ([None, "a", "b"], "1 empty cell: its row cannot be read"),
        ([None, None, "a", "b"], "2 empty cells: such rows cannot be read"),
    ],
)
def test_notes_count_one_as_one(cells, note):
    assert note in of(cells).notes


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ('a,b\n"1,3",x\n"2,4",y\n"1,4",x\n', "with decimal commas, such as '1,3', or like two codes in a cell"),
        ('a,b\n"1,234",x\n"2,500",y\n900,x\n', "but '1,234' can mean 1234 or 1.234: read as text"),
        ("a;b\n1.234;x\n2.500;y\n900;x\n", "but '1.234' can mean 1234 or 1.234: read as text"),
        ("a\tb\n1,5\tx\n2.5\ty\n1\tx\n", "some with a decimal comma ('1,5'), some with a point"),
        ("a,b\n01234,x\n99999,y\n10000,x\n", "but some begin with 0: read as labels"),
        ("a,b\n99999999999999999999,x\n2,y\n1,x\n", "but some have more than 15 digits: read as labels"),
    ],
)
def test_numbers_left_as_text_are_never_so_in_silence(file, says):
    found = guess(bf.read_table(io.StringIO(file)))[0]
    assert found.attribute.kind == "categorical"
    assert any(note.startswith("these look like numbers") and says in note for note in found.notes)


@pytest.mark.parametrize("cells", [["1.5", "2.5"], ["1,57", "1,60"], ["1,200.50", "3"], ["1,200", "3"]])
def test_numbers_that_a_table_holds_as_text_are_pointed_at(cells):
    assert of(cells).notes[0].startswith("these look like numbers")


def test_labels_that_differ_only_by_blanks_are_pointed_at():
    """A file of text has none, once read; a Parquet file or a frame may."""
    assert of(["a", " a", "b"]).notes[0].startswith("values that differ only by blanks around them: 'a' and ' a'")
    assert not of(["a", "b", "a b"]).notes


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ([1e308, -1e308, 1e300], "low -1e308 and high 1e308 are further apart than a float can tell"),
        ([0, 3, 1.797e308], "they reach the largest float"),
        ([0, 5e-324, 1e-323], "they are closer together than floats can tell"),
        ([1, "1", 2], "1 and '1' read the same in a file"),
        ([10**5000, 1, 2], "a whole number of about 5001 digits cannot be a value"),
    ],
)
def test_a_column_that_nothing_holds_is_left_out_and_the_others_stay(cells, reason):
    frame = pd.DataFrame({"x": pd.Series(cells), "y": ["a", "b", "a"]})
    x, y = guess(frame)
    assert x.attribute is None
    assert not x.included
    assert reason in x.reason
    assert y.included
    assert guessed_domain([x, y]).names == ("y",)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("cells", [[0, 1e300, 1e299], [0, 1e-10, 2e-10], [1e308, -1e308], [1, 1e20, 3e20]])
def test_huge_and_tiny_numbers_are_guessed_and_written_short(cells):
    found = of(cells)
    assert (bf.Domain([found.attribute]).encode(pd.DataFrame({"x": cells}), unknown="clip") >= 0).all()
    shown = [*found.notes, *map(str, found.attribute.values)]
    assert not any(digits.isdigit() and len(digits) > 16 for text in shown for digits in text.split())


@pytest.mark.parametrize("cells", [[1], [4, 4, 4], [1, 2]])
def test_a_column_of_counts_is_one_however_few_they_differ(cells):
    assert of(cells, "count").reason == "how often each row occurs"


def test_a_blank_header_gets_a_name_and_a_note():
    found = guess(bf.read_table(io.StringIO("a,,b\n1,5,3\n2,6,4\n2,7,9\n")))
    assert [each.column for each in found] == ["a", "column 2", "b"]
    assert found[1].notes[0] == "the header leaves this column's name blank"


@pytest.mark.parametrize(
    "frame", [pd.DataFrame(), pd.DataFrame({"a": []}), pd.DataFrame([[1, 2]], columns=["a", "a "])]
)
def test_no_rows_no_columns_and_twins_are_refused(frame):
    with pytest.raises(DataError):
        guess(frame)


def test_nothing_usable_is_refused():
    with pytest.raises(DataError, match="by hand"):
        guessed_domain(guess(pd.DataFrame({"a": ["k", "k"]})))


cells = st.one_of(
    st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=40),
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40),
    st.lists(st.text(max_size=4), min_size=1, max_size=40),
    st.lists(st.booleans(), min_size=1, max_size=10),
)


@given(cells)
def test_a_guessed_attribute_holds_the_table_it_was_guessed_from(column):
    frame = pd.DataFrame({"x": pd.Series(column)})
    (found,) = guess(frame)
    if found.attribute is not None:
        codes = bf.Domain([found.attribute]).encode(frame, unknown="clip")
        if found.attribute.kind == "numeric":
            held = np.array(found.attribute.values)[codes[:, 0]]
            assert (np.abs(held - np.array(column, dtype=float)) <= found.attribute.step / 2 * (1 + 1e-9)).all()
