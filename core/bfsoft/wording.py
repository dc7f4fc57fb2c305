"""Words for numbers in what the package tells: counts with their noun, and numbers too large to spell out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

# Whole numbers up to here fit 64 bits and are written out; beyond, digits by the hundred would say nothing.
_LARGEST_WRITTEN = 2**63


def counted(count: int, noun: str) -> str:
    """A count with its noun in the right number; ``noun`` takes an s for all but one.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count:,} {noun if count == 1 else noun + 's'}"


def listed(names: Sequence[str]) -> str:
    """Names in a row, at least one of them.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def number(value: float, digits: int = 3) -> str:
    """A number to a few significant digits, without an exponent where people read better without.

    >>> number(0.30917), number(12345.6), number(20_000_000), number(1e-5), number(1_000_000_001, 12)
    ('0.309', '12,346', '2e7', '1e-5', '1.000000001e9')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "∞"
    if 1e-4 <= abs(value) < 1e6:
        decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
        text = f"{value:,.{decimals}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{float(mantissa):.{digits}g}e{int(exponent)}"


def short(value: Any) -> str:
    """A value as text for an error: ``repr``, but 1e308 for a whole number of more than 64 bits.

    >>> short(0.5), short("a"), short(10**300), short(10**5000)
    ('0.5', "'a'", '1e300', 'a whole number of about 5001 digits')
    """
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, float | Fraction | int) or (isinstance(value, int) and abs(value) < _LARGEST_WRITTEN):
        return repr(value)
    try:
        return repr(float(value)).replace("e+", "e")
    except OverflowError:
        return f"a whole number of about {math.ceil(int(value).bit_length() * math.log10(2))} digits"


def written_out(number: Fraction | int) -> float:
    """A number as it is written: an int where it is whole and within 64 bits, else the float, whose text is short.

    Raises OverflowError past a float.

    >>> written_out(2**62), written_out(10**300), written_out(Fraction(1, 4))
    (4611686018427387904, 1e+300, 0.25)
    """
    return int(number) if number.denominator == 1 and -_LARGEST_WRITTEN < number < _LARGEST_WRITTEN else float(number)
