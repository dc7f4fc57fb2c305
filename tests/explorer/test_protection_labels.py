"""Labels beside charts: short, and never two alike for two things."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsoft_explorer.charts import labels


@given(st.lists(st.text(max_size=40), min_size=1, max_size=20, unique=True), st.integers(12, 30))
def test_short_names_are_apart_where_names_are(names, most):
    short = labels.told_apart(names, most)
    assert len(set(short)) == len(names)


def test_a_cut_leaves_both_ends():
    assert labels.cut("a very long category name 17", 18) == "a very lo…name 17"
    assert labels.cut("short", 5) == "short"


@given(st.fractions(-1000, 1000, max_denominator=50), st.fractions(0, 1000, max_denominator=50), st.integers(-300, 300))
def test_marks_are_few_within_and_told_apart(low, width, power):
    scale = Fraction(10) ** power
    low, high = low * scale, (low + width) * scale
    marks = labels.marks(low, high)
    assert len(marks) <= 9
    assert all(low <= mark <= high for mark in marks)
    said = [labels.number(mark, high - low or scale) for mark in marks]
    assert all(len(text) <= 22 for text in said)


@pytest.mark.parametrize(
    ("number", "grain", "text"),
    [
        (17, 1, "17"),
        (1234, 1, "1,234"),
        (Fraction(3, 10), Fraction(1, 10), "0.3"),
        (0, 1, "0"),
        (10**308, 10**306, "1e308"),
    ],
)
def test_numbers_are_written_as_everywhere_else(number, grain, text):
    assert labels.number(Fraction(number), Fraction(grain)) == text


def test_neighbours_on_a_grid_are_never_written_alike():
    for low, step in ((10**9, 1), (Fraction(123, 1000), 1), (-1, Fraction(1, 1000)), (10**15, 1)):
        said = [labels.number(low + Fraction(step) * at, Fraction(step)) for at in range(50)]
        assert len(set(said)) == 50
