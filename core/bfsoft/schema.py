"""Guesses: what attributes the columns of a *public* table look like, each with its reason, for a person to correct.

A domain must be public. These guesses read bounds and categories off the cells, so they are for tables that anyone
may see; guessing from a private table would publish its extremes and rare values before any noise is added.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from .domain import Categorical, Domain, Numeric, rational
from .errors import DataError
from .records import COUNT

# Beyond so many grid values a policy is hard to draw and to read; a coarser step is guessed instead.
_MOST_GRID = 200
_MOST_CATEGORIES = 200
_MOST_DECIMALS = 6
# A column of fewer rows may well have a different value in each without being an identifier.
_FEW_ROWS = 20
_SHOWN = 3


@dataclass(frozen=True)
class Guess:
    """One column: the attribute it looks like, or None where none fits, and why; ``notes`` are what to check.

    ``included`` is whether it would be of use: an identifier, free text, or a single value is not.
    """

    column: str
    attribute: Numeric | Categorical | None
    reason: str
    notes: tuple[str, ...] = ()
    included: bool = True


def guess(frame: pd.DataFrame) -> list[Guess]:
    """A guess for each column of a PUBLIC table, in order. Raises DataError for a table without rows or columns.

    >>> table = pd.DataFrame({"age": [23, 41, 36], "smokes": ["no", "yes", "no"]})
    >>> [(each.column, each.attribute.values[-1], each.reason) for each in guess(table)]
    [('age', 41, 'whole numbers'), ('smokes', 'yes', '2 different values')]
    """
    if not isinstance(frame, pd.DataFrame):
        raise DataError(f"a table must be a pandas DataFrame, got {type(frame).__name__}")
    if not len(frame.columns):
        raise DataError("the table has no columns; it needs a header line that names them")
    if not len(frame):
        raise DataError("the table has a header but no rows, so there is nothing to guess from")
    names = [str(column).strip() for column in frame.columns]
    for position, name in enumerate(names):
        if name and name in names[:position]:
            raise DataError(
                f"two columns are named {name!r} (columns {names.index(name) + 1} and {position + 1}); rename one"
            )
    return [
        _column(name or f"column {position + 1}", frame.iloc[:, position], named=bool(name))
        for position, name in enumerate(names)
    ]


def guessed_domain(guesses: list[Guess]) -> Domain:
    """The domain of the guesses that are included, equal weights. Raises DataError when there is none."""
    attributes = [each.attribute for each in guesses if each.included and each.attribute is not None]
    if not attributes:
        raise DataError("no column looks like an attribute; declare the attributes by hand")
    return Domain(attributes)


def _column(name: str, column: pd.Series, named: bool) -> Guess:
    notes = [] if named else ["the header leaves this column's name blank"]
    cells = column.dropna()
    empty = len(column) - len(cells)
    if not len(cells):
        return Guess(name, None, "every cell is empty", tuple(notes), included=False)
    if empty:
        notes.append(f"{empty:,} empty {'cell' if empty == 1 else 'cells'}: such rows cannot be read")
    if _dates(cells):
        return Guess(name, None, "dates; turn them into numbers, such as the year", tuple(notes), included=False)
    if pd.api.types.is_bool_dtype(cells) or not pd.api.types.is_numeric_dtype(cells):
        return _labels(name, cells, notes)
    values = cells.to_numpy(dtype=float)
    if not np.isfinite(values).all():
        return Guess(name, None, "some numbers are infinite", tuple(notes), included=False)
    distinct = np.unique(values)
    if name == COUNT and (values >= 0).all() and (values == np.floor(values)).all():
        return Guess(name, _numbers(name, distinct, notes), "how often each row occurs", tuple(notes), included=False)
    if len(distinct) == 1:
        return Guess(name, Categorical(name, [_plain(distinct[0])]), "one value only", tuple(notes), included=False)
    if len(distinct) == 2:
        return Guess(name, Categorical(name, [_plain(value) for value in distinct]), "2 different values", tuple(notes))
    whole = bool((distinct == np.floor(distinct)).all())
    if whole and len(distinct) == len(values) > _FEW_ROWS:
        attribute = _numbers(name, distinct, notes)
        return Guess(name, attribute, "a different number in every row: an identifier?", tuple(notes), included=False)
    attribute = _numbers(name, distinct, notes)
    reason = ("whole numbers" if whole else "numbers") if attribute else "numbers too large or too fine for a grid"
    return Guess(name, attribute, reason, tuple(notes), included=attribute is not None)


def _numbers(name: str, distinct: np.ndarray, notes: list[str]) -> Numeric | None:
    """A grid around the numbers: their own step where that is coarse enough, else a round one and rounder bounds."""
    low, high = rational(distinct[0]), rational(distinct[-1])
    step = _step(distinct)
    if step is None or (high - low) / step > _MOST_GRID:
        step = _round_step((high - low) / _MOST_GRID)
        low, high = math.floor(low / step) * step, math.ceil(high / step) * step
        notes.append(f"many different numbers: rounded to steps of {_plain(step)}; numbers in between need rounding")
    notes.append(f"bounds {_plain(low)} and {_plain(high)} come from this table; widen them to what is possible at all")
    try:
        return Numeric(name, _plain(low), _plain(high), _plain(step))
    except ValueError:
        return None


def _step(distinct: np.ndarray) -> Fraction | None:
    """The greatest step that every number is a multiple of, counted from the first; None beyond six decimals."""
    scale = 10**_MOST_DECIMALS
    scaled = (distinct - distinct[0]) * scale
    if scaled[-1] >= 2**53:
        return None
    whole = np.rint(scaled)
    if (np.abs(scaled - whole) > 1e-3).any():
        return None
    return Fraction(int(np.gcd.reduce(whole.astype(np.int64))), scale)


def _round_step(width: Fraction) -> Fraction:
    """The least of 1, 2, 5 times a power of ten that is at least so wide."""
    power = Fraction(10) ** math.floor(math.log10(width))
    return next(power * times for times in (1, 2, 5, 10, 20) if power * times >= width)


def _labels(name: str, cells: pd.Series, notes: list[str]) -> Guess:
    """A categorical attribute of the values in order; numbers before text."""
    try:
        distinct = [*dict.fromkeys(cells.tolist())]
    except TypeError:  # a list or the like in a cell
        return Guess(name, None, "cells that are neither numbers nor text", tuple(notes), included=False)
    numbers = {value for value in distinct if _reads_as_number(value)}
    if 0 < len(numbers) < len(distinct):
        others = [value for value in distinct if value not in numbers]
        shown = ", ".join(repr(value) for value in others[:_SHOWN]) + (", …" if len(others) > _SHOWN else "")
        notes.append(f"mixed: {len(numbers):,} different numbers, but also {shown}")
    count = len(distinct)
    if count > _MOST_CATEGORIES:
        reason = "a different text in every row" if count == len(cells) else f"{count:,} different values"
        return Guess(name, None, f"{reason}: too many for categories", tuple(notes), included=False)
    values = sorted(distinct, key=lambda value: (value not in numbers, _sort_key(value)))
    attribute = Categorical(name, values)
    if count == 1:
        return Guess(name, attribute, "one value only", tuple(notes), included=False)
    if count == len(cells) > _FEW_ROWS:
        return Guess(name, attribute, "a different text in every row: a name?", tuple(notes), included=False)
    if count > _FEW_ROWS:
        notes.append("many categories: a hierarchy would let near ones be close")
    return Guess(name, attribute, f"{count:,} different values", tuple(notes))


def _reads_as_number(value: Any) -> bool:
    if isinstance(value, bool | np.bool_):
        return False
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def _sort_key(value: Any) -> tuple[float, str]:
    return (float(value) if _reads_as_number(value) else 0.0), str(value)


def _dates(cells: pd.Series) -> bool:
    if cells.dtype.kind in "mM":
        return True
    kinds = (datetime.date, datetime.time, datetime.timedelta)
    return cells.dtype == object and isinstance(cells.iloc[0], kinds)


def _plain(number: Any) -> Any:
    """A Python int where the number is whole, else a float."""
    exact = rational(float(number)) if not isinstance(number, Fraction) else number
    return int(exact) if exact.denominator == 1 else float(exact)
