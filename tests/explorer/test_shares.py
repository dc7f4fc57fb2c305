"""Shares as people type them: what is read comes back as written, and what no budget can be split by is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bfsoft as bf
from bfsoft.errors import BudgetError
from bfsoft_explorer import shares


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=9).map(tuple))
def test_shares_are_read_back_as_they_were_written(given):
    assert shares.parse(shares.written(given)) == given


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("1e308 1e308 1e-308", "3 shares add up to more than a number can hold"),
        ("1e308, 1e308", "2 shares add up to more"),
        ("1e-320 1e300", "share 1, 1e-320, is nothing beside the others"),
        ("1; 1e-310; 1", "round 2 would get no budget; give it a larger one"),
        ("1 1e999", "got '1e999'"),
        ("1 -1", "got '-1'"),
        (" , ", "at least one share"),
    ],
)
def test_shares_that_no_budget_can_be_split_by_are_refused_as_they_are_typed(typed, says):
    with pytest.raises(BudgetError, match=says):
        shares.parse(typed)


@given(st.lists(st.floats(min_value=0, exclude_min=True, allow_infinity=False), min_size=1, max_size=6))
def test_what_is_read_splits_every_usual_budget(given):
    try:
        read = shares.parse(" ".join(map(repr, given)))
    except BudgetError:
        return
    spread = min(read) / max(read)
    if spread > 1e-290:
        assert all(rho > 0 for rho in bf.Budget(rho=1e-9).split(len(read), read))
