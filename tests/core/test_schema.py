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
    assert "1 empty cell: such rows cannot be read" in b.notes


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
