"""Guesses: what attributes the columns of a *public* table look like, each with its reason, for a person to correct.

A domain must be public. These guesses read bounds and categories off the cells, so they are for tables that anyone
may see; guessing from a private table would publish its extremes and rare values before any noise is added.
"""

from __future__ import annotations

import datetime
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from .domain import Categorical, Domain, Numeric, rational
from .errors import DataError, DomainError
from .records import COUNT
from .tables import MOST_DIGITS, decimal_marks, is_number
from .wording import counted, short, written_out

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
        notes.append(f"{counted(empty, 'empty cell')}: {'its row' if empty == 1 else 'such rows'} cannot be read")
    if _dates(cells):
        return Guess(name, None, "dates; turn them into numbers, such as the year", tuple(notes), included=False)
    if pd.api.types.is_bool_dtype(cells) or not pd.api.types.is_numeric_dtype(cells):
        return _labels(name, cells, notes)
    values = cells.to_numpy(dtype=float)
    if not np.isfinite(values).all():
        return Guess(name, None, "some numbers are infinite", tuple(notes), included=False)
    distinct = np.unique(values)
    whole = bool((distinct == np.floor(distinct)).all())
    counts = name == COUNT and whole and distinct[0] >= 0
    if len(distinct) <= 2 and not counts:
        reason = "one value only" if len(distinct) == 1 else "2 different values"
        labels = Categorical(name, [written_out(rational(float(value))) for value in distinct])
        return Guess(name, labels, reason, tuple(notes), included=len(distinct) == 2)
    try:
        grid, found = _numbers(name, distinct)
    except DomainError as error:
        reason = str(error).removeprefix(f"attribute {name!r}: ")
        return Guess(name, None, f"no grid holds these numbers: {reason}", tuple(notes), included=False)
    notes += found
    if counts:
        return Guess(name, grid, "how often each row occurs", tuple(notes), included=False)
    if whole and len(distinct) == len(values) > _FEW_ROWS:
        return Guess(name, grid, "a different number in every row: an identifier?", tuple(notes), included=False)
    return Guess(name, grid, "whole numbers" if whole else "numbers", tuple(notes))


def _numbers(name: str, distinct: np.ndarray) -> tuple[Numeric, list[str]]:
    """A grid around the numbers, and what to check in it; raises DomainError where floats can hold none.

    Its step is the numbers' own where that is coarse enough, else a round one, and the bounds are rounder too.
    """
    notes = []
    low, high = rational(distinct[0]), rational(distinct[-1])
    step = _step(distinct)
    if high > low and (step is None or (high - low) / step > _MOST_GRID):
        step = _round_step((high - low) / _MOST_GRID)
        if not float(step):
            raise DomainError("they are closer together than floats can tell; use larger numbers")
        low, high = math.floor(low / step) * step, math.ceil(high / step) * step
        if max(abs(low), abs(high)) > sys.float_info.max:
            raise DomainError(
                "they reach the largest float (1.8e308); use smaller numbers, such as the same in millions"
            )
        notes.append(f"many different numbers: rounded to steps of {_text(step)}; numbers in between need rounding")
    notes.append(f"bounds {_text(low)} and {_text(high)} come from this table; widen them to what is possible at all")
    return Numeric(name, written_out(low), written_out(high), written_out(step or Fraction(1))), notes


def _step(distinct: np.ndarray) -> Fraction | None:
    """The greatest step that every number is a multiple of, counted from the first; None beyond six decimals."""
    scale = 10**_MOST_DECIMALS
    if rational(distinct[-1]) - rational(distinct[0]) >= Fraction(2**53, scale):
        return None
    scaled = (distinct - distinct[0]) * scale
    whole = np.rint(scaled)
    if (np.abs(scaled - whole) > 1e-3).any() or (np.diff(whole) == 0).any():
        return None
    return Fraction(int(np.gcd.reduce(whole.astype(np.int64))), scale)


def _round_step(width: Fraction) -> Fraction:
    """The least of 1, 2, 5 times a power of ten that is at least so wide."""
    # Each logarithm by itself: the fraction may be too small for a float.
    power = Fraction(10) ** math.floor(math.log10(width.numerator) - math.log10(width.denominator))
    return next(power * times for times in (1, 2, 5, 10, 20) if power * times >= width)


def _labels(name: str, cells: pd.Series, notes: list[str]) -> Guess:
    """A categorical attribute of the values in order; numbers before text."""
    try:
        distinct = [*dict.fromkeys(cells.tolist())]
    except TypeError:  # a list or the like in a cell
        return Guess(name, None, "cells that are neither numbers nor text", tuple(notes), included=False)
    numbers = {value for value in distinct if _reads_as_number(value)}
    others = [value for value in distinct if value not in numbers]
    if numbers and others:
        different = "number" if len(numbers) == 1 else "different number"
        notes.append(f"mixed: {counted(len(numbers), different)}, but also {_some(others)}")
    texts = [value.strip() for value in numbers if isinstance(value, str)]
    if texts and not others:
        notes.append(f"these look like numbers{_why_labels(texts)}")
    notes += _differing_by_blanks(distinct)
    count = len(distinct)
    if count > _MOST_CATEGORIES:
        reason = "a different text in every row" if count == len(cells) else f"{count:,} different values"
        return Guess(name, None, f"{reason}: too many for categories", tuple(notes), included=False)
    try:
        attribute = Categorical(name, sorted(distinct, key=lambda value: (value not in numbers, _sort_key(value))))
    except DomainError as error:  # values that read the same in a file, or whole numbers of thousands of digits
        reason = str(error).removeprefix(f"attribute {name!r}: ")
        return Guess(name, None, f"no categories: {reason}", tuple(notes), included=False)
    if count == 1:
        return Guess(name, attribute, "one value only", tuple(notes), included=False)
    if count == len(cells) > _FEW_ROWS:
        return Guess(name, attribute, "a different text in every row: a name?", tuple(notes), included=False)
    if count > _FEW_ROWS:
        notes.append("many categories: a hierarchy would let near ones be close")
    return Guess(name, attribute, f"{count:,} different values", tuple(notes))


def _some(values: Sequence[Any]) -> str:
    return ", ".join(short(value) for value in values[:_SHOWN]) + (", …" if len(values) > _SHOWN else "")


def _why_labels(texts: list[str]) -> str:
    """What keeps texts that all read as numbers from being taken for numbers, and what to do about it."""
    marks = decimal_marks(texts)
    with_comma, with_mark = ([text for text in sorted(texts) if set(text) & set(signs)] for signs in (",", ",."))
    if with_mark and marks == ".,":
        either = with_mark[0].replace(",", "").replace(".", ""), with_mark[0].replace(",", ".")
        return f", but {with_mark[0]!r} can mean {either[0]} or {either[1]}: read as text; write it as one of these"
    if with_comma and not marks:
        return f", some with a decimal comma ({with_comma[0]!r}), some with a point: read as text; write points in all"
    if with_comma and marks == ",":
        return (
            f" with decimal commas, such as {with_comma[0]!r}, or like two codes in a cell: read as text; "
            "write decimal points if they are numbers"
        )
    if with_comma:
        return f" with commas between thousands, such as {with_comma[0]!r}: read as text; leave the commas out"
    digits = [text.lstrip("+-") for text in texts]
    if any(len(text) > 1 and text[0] == "0" and text.isdigit() for text in digits):
        return ", but some begin with 0: read as labels"
    if any(len(text) > MOST_DIGITS for text in digits):
        return f", but some have more than {MOST_DIGITS} digits: read as labels"
    return ", but the table holds them as text: read as labels"


def _differing_by_blanks(distinct: list[Any]) -> list[str]:
    """A note where two labels are the same but for blanks around them, as a file in quotes or Parquet can hold."""
    seen: dict[str, str] = {}
    twins = []
    for value in distinct:
        if isinstance(value, str) and seen.setdefault(value.strip(), value) != value:
            twins.append(f"{seen[value.strip()]!r} and {value!r}")
    if not twins:
        return []
    shown = ", ".join(twins[:_SHOWN]) + (", …" if len(twins) > _SHOWN else "")
    return [f"values that differ only by blanks around them: {shown}; write them alike in the table if they are one"]


def _reads_as_number(value: Any) -> bool:
    """Whether a cell is a finite number, or a text that is one in some notation, maybe with a decimal comma."""
    if isinstance(value, bool | np.bool_):
        return False
    if isinstance(value, str) and (not is_number(value.strip()) or "," in value):
        return is_number(value.strip())
    return math.isfinite(_rough(value))


def _rough(value: Any) -> float:
    """A float to sort by, a comma read as the decimal one; NaN for what is no number."""
    try:
        return float(value.replace(",", ".") if isinstance(value, str) else value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _sort_key(value: Any) -> tuple[float, str]:
    number = _rough(value) if _reads_as_number(value) else 0.0
    return (number if math.isfinite(number) else 0.0), value if isinstance(value, str) else short(value)


def _dates(cells: pd.Series) -> bool:
    if cells.dtype.kind in "mM":
        return True
    kinds = (datetime.date, datetime.time, datetime.timedelta)
    return cells.dtype == object and isinstance(cells.iloc[0], kinds)


def _text(number: Fraction) -> str:
    return short(written_out(number))
