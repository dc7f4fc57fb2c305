"""Domains: which records can exist, how far apart they are, and how a table becomes codes and back.

A domain is public. Nothing here reads bounds or categories off data.

Distances are kept exact: every attribute measures its pairs in whole *steps*, and the domain scales the
steps of all attributes by whole *multipliers* to one common *denominator*. Two distances that are equal
in exact arithmetic are then equal as integers, so ties are ties whatever the order of summation.
"""

from __future__ import annotations

import datetime
import math
import numbers
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
import pandas as pd

from .errors import DataError, DomainError
from .wording import counted, short, written_out

Codes = np.ndarray
_SHOWN = 6
# A fraction with a denominator up to this that rounds to the very float given is what its writer meant:
# 0.3333333333333333 means 1/3. The exactness of ties rests on it.
_SIMPLE_DENOMINATOR = 1_000_000
_TOO_MANY = 10_000_000  # values of one attribute


def rational(number: float) -> Fraction:
    """The fraction a written number means: the simplest that rounds to the same float, else its decimal digits.

    >>> rational(0.1), rational(1 / 3)
    (Fraction(1, 10), Fraction(1, 3))
    """
    if isinstance(number, numbers.Integral):
        return Fraction(int(number))
    written = Fraction(repr(float(number)))
    simple = written.limit_denominator(_SIMPLE_DENOMINATOR)
    return simple if float(simple) == float(number) else written


def _is_finite_number(given: Any) -> bool:
    try:
        return isinstance(given, numbers.Real) and not isinstance(given, bool) and math.isfinite(given)
    except OverflowError:  # a whole number beyond the largest float
        return False


def _shown(values: Sequence[Any]) -> str:
    head = ", ".join(short(value) for value in values[:_SHOWN])
    return head if len(values) <= _SHOWN else f"{head}, … ({len(values):,} values)"


class Attribute(Protocol):
    """What every kind of attribute offers: a name, its ordered values, and whole-step distances between them."""

    name: str
    kind: str

    @property
    def values(self) -> tuple[Any, ...]: ...

    @property
    def span(self) -> int:
        """The largest number of steps between two values; 0 for a one-value attribute."""
        ...

    def steps(self, codes_a: Codes, codes_b: Codes) -> np.ndarray:
        """Whole steps between codes, broadcast against each other; the distance δ is ``steps / span``."""
        ...

    def code(self, value: Any) -> int:
        """The position of a value among ``values``; raises DomainError for an unknown value."""
        ...

    def encode(self, column: pd.Series, unknown: Literal["error", "clip"]) -> Codes: ...


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name.strip():
        raise DomainError(f"an attribute needs a name that is non-empty text, got {name!r}")


def _refuse_missing(column: pd.Series, name: str) -> None:
    missing = np.flatnonzero(column.isna().to_numpy())
    if len(missing):
        row = column.index[missing[0]]
        raise DataError(
            f"row {row}, column {name!r}: the cell is empty (NaN), {counted(len(missing), 'such cell')} in all; "
            "drop these rows or declare a value for 'unknown'"
        )


def _refuse_unknown(column: pd.Series, name: str, bad: np.ndarray, allowed: str) -> None:
    where = np.flatnonzero(bad)
    if len(where):
        cell = column.iloc[where[0]]
        cell = cell.item() if isinstance(cell, np.generic) else cell
        more = f" ({counted(len(where), 'such cell')} in all)" if len(where) > 1 else ""
        raise DataError(f"row {column.index[where[0]]}, column {name!r}: {short(cell)} {allowed}{more}")


@dataclass(frozen=True)
class Numeric:
    """Numbers on the grid low, low + step, …, high; δ = |a − b| / (high − low) (THEORY, "Records").

    Steps written in decimals are exact: ``Numeric("x", 0, 1, 0.1)`` holds 0.3, not 0.30000000000000004. Values are
    int where all are whole and within 64 bits, else float.

    Raises DomainError for a bound that is no finite number, bounds in the wrong order or no whole number of steps
    apart, ten million values or more, and a grid that floats cannot hold: bounds further apart than the largest
    float (1.8e308), or a step that is lost in rounding beside its bounds.

    >>> Numeric("age", 17, 20).values
    (17, 18, 19, 20)
    """

    name: str
    low: float
    high: float
    step: float = 1
    kind = "numeric"

    def __post_init__(self) -> None:
        _check_name(self.name)
        for label in ("low", "high", "step"):
            bound = getattr(self, label)
            if not _is_finite_number(bound):
                raise DomainError(f"attribute {self.name!r}: {label} must be a finite number, got {short(bound)}")
        low, high, step = rational(self.low), rational(self.high), rational(self.step)
        said = {label: short(getattr(self, label)) for label in ("low", "high", "step")}
        if step <= 0:
            raise DomainError(f"attribute {self.name!r}: step must be above 0, got {said['step']}")
        if high < low:
            raise DomainError(f"attribute {self.name!r}: low {said['low']} is above high {said['high']}; swap them")
        if not math.isfinite(float(self.high) - float(self.low)):
            raise DomainError(
                f"attribute {self.name!r}: low {said['low']} and high {said['high']} are further apart than a float "
                "can tell (1.8e308); use smaller numbers, such as the same in thousands or millions"
            )
        count = (high - low) / step
        if count.denominator != 1:
            raise DomainError(
                f"attribute {self.name!r}: high {said['high']} is not low {said['low']} plus whole steps of "
                f"{said['step']}; the last grid value below it is {short(written_out(low + int(count) * step))}"
            )
        if count >= _TOO_MANY:
            values = f"{int(count) + 1:,}" if count < 10**15 else f"about 1e{math.floor(math.log10(int(count)))}"
            raise DomainError(f"attribute {self.name!r}: {values} grid values are too many; use a wider step")
        if max(abs(low), abs(high)) >= 2**52 * step:
            raise DomainError(
                f"attribute {self.name!r}: steps of {said['step']} are lost in rounding at {said['high']}; "
                "use smaller numbers or a wider step"
            )

    @cached_property
    def values(self) -> tuple[float, ...]:
        low, step = rational(self.low), rational(self.step)
        if low.denominator == step.denominator == 1:
            whole = range(int(low), int(low) + int(step) * self.span + 1, int(step))
            if isinstance(written_out(whole[0]), int) and isinstance(written_out(whole[-1]), int):
                return tuple(whole)
        return tuple(float(low + index * step) for index in range(self.span + 1))

    @cached_property
    def _grid(self) -> np.ndarray:
        return np.array(self.values, dtype=float)

    @cached_property
    def _index(self) -> dict[float, int]:
        return {value: position for position, value in enumerate(self.values)}

    @cached_property
    def span(self) -> int:
        return int((rational(self.high) - rational(self.low)) / rational(self.step))

    def steps(self, codes_a: Codes, codes_b: Codes) -> np.ndarray:
        return np.abs(np.asarray(codes_a, dtype=np.int64) - np.asarray(codes_b, dtype=np.int64))

    def _nearest(self, numeric: np.ndarray) -> np.ndarray:
        inside = np.clip(numeric, float(self.low), float(self.high))
        return np.rint((inside - float(self.low)) / float(self.step)).astype(np.int64)

    def _off_grid(self, numeric: np.ndarray, codes: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):  # further away than a float can tell is off the grid
            return np.abs(numeric - self._grid[codes]) > 1e-9 * float(self.step)

    def code(self, value: Any) -> int:
        if _is_finite_number(value):
            if value in self._index:  # drawn policies name grid values by the ten thousand
                return self._index[value]
            number = np.array([float(value)])
            code = self._nearest(number)
            if not self._off_grid(number, code)[0]:
                return int(code[0])
        raise DomainError(f"attribute {self.name!r} has no value {short(value)}; its values are {_shown(self.values)}")

    def encode(self, column: pd.Series, unknown: Literal["error", "clip"]) -> Codes:
        _refuse_missing(column, self.name)
        numeric = _numbers(column)
        _refuse_unknown(column, self.name, ~np.isfinite(numeric), "is not a finite number")
        codes = self._nearest(numeric)
        if unknown == "error":
            low, high = short(self.low), short(self.high)
            grid = f"the grid {low}, {short(self.values[min(1, self.span)])}, …, {high}"
            outside = (numeric < float(self.low)) | (numeric > float(self.high))
            beyond = outside & self._off_grid(numeric, codes)
            _refuse_unknown(
                column, self.name, beyond, f"lies outside {low} to {high}; widen the domain or "
                "encode with unknown='clip'",
            )  # fmt: skip
            _refuse_unknown(
                column, self.name, self._off_grid(numeric, codes), f"is not on {grid}; change the step or encode "
                "with unknown='clip', which rounds to the nearest grid value",
            )  # fmt: skip
        return codes


def _numbers(column: pd.Series) -> np.ndarray:
    """The cells as floats, text read as numbers; NaN for what is no number: other text, a truth value, a date."""
    if column.dtype.kind in "bmMc" or pd.api.types.is_bool_dtype(column):
        return np.full(len(column), np.nan)
    read = as_floats(column)
    if column.dtype.kind == "O":
        no_number = column.map(lambda cell: isinstance(cell, bool | np.bool_ | datetime.date | datetime.timedelta))
        return np.where(no_number.to_numpy(dtype=bool), np.nan, read)
    return read


def as_floats(column: pd.Series) -> np.ndarray:
    """The cells as (n,) floats, text read as numbers: NaN for what is none, infinite for what is beyond a float."""
    try:
        return pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    except OverflowError:  # whole numbers of Python's own, which have no largest one
        largest = sys.float_info.max
        return as_floats(column.map(lambda cell: math.inf if isinstance(cell, int) and abs(cell) > largest else cell))


def _looked_up(exact: Mapping[Any, int], cell: Any) -> int:
    try:
        return exact.get(cell, -1)
    except TypeError:  # a list or the like, which no value can be
        return -1


class _Labelled:
    """What the two kinds with listed values share: look-up by value, or by its text when a file changed its type."""

    name: str

    @property
    def values(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def _positions(self) -> tuple[dict[Any, int], dict[str, int]]:
        exact: dict[Any, int] = {}
        for position, value in enumerate(self.values):
            if value is None or value is pd.NA or value != value:
                raise DomainError(f"attribute {self.name!r}: value {position + 1} is empty ({value!r}); name it")
            try:
                if value in exact:
                    raise DomainError(
                        f"attribute {self.name!r}: the value {short(value)} is listed twice; list it once"
                    )
            except TypeError:
                raise DomainError(
                    f"attribute {self.name!r}: {value!r} cannot be a value; use text or a number"
                ) from None
            exact[value] = position
        text: dict[str, int] = {}
        for value, position in exact.items():
            try:
                written = str(value)
            except ValueError:  # Python writes no whole number of thousands of digits
                raise DomainError(f"attribute {self.name!r}: {short(value)} cannot be a value; use text") from None
            if written in text:
                raise DomainError(
                    f"attribute {self.name!r}: {short(self.values[text[written]])} and {short(value)} read the same in "
                    "a file; keep one"
                )
            text[written] = position
        return exact, text

    @cached_property
    def _lookup(self) -> tuple[dict[Any, int], dict[str, int]]:
        return self._positions()

    def code(self, value: Any) -> int:
        exact, text = self._lookup
        try:
            found = exact.get(value, text.get(str(value)))
        except TypeError:
            found = None
        if found is None:
            raise DomainError(
                f"attribute {self.name!r} has no value {short(value)}; its values are {_shown(self.values)}"
            )
        return found

    def encode(self, column: pd.Series, unknown: Literal["error", "clip"]) -> Codes:
        _refuse_missing(column, self.name)
        exact, text = self._lookup
        labels, inverse = np.unique(column.astype(str).to_numpy(dtype=object), return_inverse=True)
        codes = np.array([text.get(label, -1) for label in labels], dtype=np.int64)[inverse]
        if (codes < 0).any():  # a float column of whole numbers reads "1.0" where the domain says 1
            rows = np.flatnonzero(codes < 0)
            codes[rows] = [_looked_up(exact, cell) for cell in column.iloc[rows].tolist()]
        _refuse_unknown(
            column, self.name, codes < 0, f"is not one of {_shown(self.values)}; add it to the domain or mend the cell"
        )
        return codes


@dataclass(frozen=True)
class Categorical(_Labelled):
    """Values without order: δ = 0 if equal, else 1 (THEORY, "Records").

    >>> Categorical("income", ["<=50K", ">50K"]).code(">50K")
    1
    """

    name: str
    categories: Sequence[Any]
    kind = "categorical"

    def __post_init__(self) -> None:
        _check_name(self.name)
        if isinstance(self.categories, str) or not isinstance(self.categories, Iterable):
            raise DomainError(f"attribute {self.name!r}: categories must be a list, got {self.categories!r}")
        object.__setattr__(self, "categories", tuple(self.categories))
        if not self.categories:
            raise DomainError(f"attribute {self.name!r} has no categories; list at least one")
        self._positions()

    @property
    def values(self) -> tuple[Any, ...]:
        return tuple(self.categories)

    @property
    def span(self) -> int:
        return 1 if len(self.categories) > 1 else 0

    def steps(self, codes_a: Codes, codes_b: Codes) -> np.ndarray:
        return (np.asarray(codes_a) != np.asarray(codes_b)).astype(np.int64)


@dataclass(frozen=True)
class Hierarchical(_Labelled):
    """Leaves of a tree: δ = path length between two leaves / the longest such length (THEORY, "Records").

    ``tree`` maps the name of a node to its children: a list of leaves, or another mapping; lists and
    mappings nest to any depth, leaves may sit at different depths, and a node mapped to None is a leaf.

    >>> Hierarchical("job", {"office": ["admin.", "management"], "manual": ["blue-collar"]}).values
    ('admin.', 'management', 'blue-collar')
    """

    name: str
    tree: Any
    kind = "hierarchical"

    def __post_init__(self) -> None:
        _check_name(self.name)
        if not isinstance(self.tree, Mapping | list | tuple):
            raise DomainError(f"attribute {self.name!r}: the tree must be a mapping or a list, got {self.tree!r}")
        object.__setattr__(self, "tree", _freeze_tree(self.tree))
        if not self._leaves:
            raise DomainError(f"attribute {self.name!r}: the tree has no leaves; give at least one")
        self._positions()

    def __eq__(self, other: object) -> bool:
        # Mappings are equal whatever their order, but the order of the leaves is the order of the codes.
        return isinstance(other, Hierarchical) and (self.name, self.paths, self.values) == (
            other.name,
            other.paths,
            other.values,
        )

    def __hash__(self) -> int:
        return hash((self.name, self.paths))

    @cached_property
    def _leaves(self) -> list[tuple[tuple[str, ...], Any]]:
        leaves: list[tuple[tuple[str, ...], Any]] = []
        _walk(self.name, self.tree, (), leaves)
        return leaves

    @cached_property
    def values(self) -> tuple[Any, ...]:
        return tuple(leaf for _, leaf in self._leaves)

    @cached_property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        """For each value the names of the nodes above it, from just below the root down."""
        return tuple(path for path, _ in self._leaves)

    @cached_property
    def _steps(self) -> np.ndarray:
        count = len(self.paths)
        depth = np.array([len(path) + 1 for path in self.paths])
        shared = np.zeros((count, count), dtype=np.int64)
        for level in range(max(map(len, self.paths))):
            prefix = [path[: level + 1] if len(path) > level else None for path in self.paths]
            numbered = {node: number for number, node in enumerate(dict.fromkeys(p for p in prefix if p is not None))}
            node = np.array([-1 if p is None else numbered[p] for p in prefix])
            shared += (node[:, None] == node[None, :]) & (node[:, None] >= 0)
        steps = depth[:, None] + depth[None, :] - 2 * shared
        np.fill_diagonal(steps, 0)
        return steps

    @property
    def span(self) -> int:
        return int(self._steps.max())

    def steps(self, codes_a: Codes, codes_b: Codes) -> np.ndarray:
        return self._steps[np.asarray(codes_a), np.asarray(codes_b)]


def _freeze_tree(node: Any) -> Any:
    """A deep copy in plain dicts and tuples, so that the caller's later edits do not reach the attribute."""
    if isinstance(node, Mapping):
        return {key: _freeze_tree(child) for key, child in node.items()}
    if isinstance(node, list | tuple):
        return tuple(_freeze_tree(child) for child in node)
    return node


def _walk(name: str, node: Any, path: tuple[str, ...], leaves: list[tuple[tuple[str, ...], Any]]) -> None:
    if isinstance(node, Mapping):
        for key, child in node.items():
            if child is None:
                leaves.append((path, key))
            elif not isinstance(child, Mapping | tuple) or not child:
                raise DomainError(
                    f"attribute {name!r}: node {key!r} must hold a list of leaves or another mapping, got {child!r}; "
                    "write null (None) to make it a leaf"
                )
            else:
                below = (*path, str(key))
                if any(existing[: len(below)] == below for existing, _ in leaves):
                    raise DomainError(f"attribute {name!r}: node {key!r} appears twice under one parent; merge them")
                _walk(name, child, below, leaves)
    else:
        for child in node:
            if isinstance(child, Mapping | tuple):
                _walk(name, child, path, leaves)
            else:
                leaves.append((path, child))


class Domain:
    """An ordered list of attributes with non-negative weights; the weights are normalised to sum to 1.

    Raises DomainError for an empty list, duplicate names, or weights that are unknown, negative or all zero.

    >>> domain = Domain([Numeric("age", 17, 90), Categorical("income", ["<=50K", ">50K"])])
    >>> domain.weights
    {'age': 0.5, 'income': 0.5}
    >>> domain.size
    148
    """

    def __init__(self, attributes: Sequence[Any], weights: Mapping[str, float] | None = None) -> None:
        self.attributes: tuple[Any, ...] = tuple(attributes)
        if not self.attributes:
            raise DomainError("a domain needs at least one attribute")
        for position, attribute in enumerate(self.attributes):
            if not isinstance(attribute, Numeric | Categorical | Hierarchical):
                raise DomainError(
                    f"attribute {position + 1} is {attribute!r}; use Numeric, Categorical or Hierarchical"
                )
        self.names: tuple[str, ...] = tuple(attribute.name for attribute in self.attributes)
        self._position = {name: position for position, name in enumerate(self.names)}
        for position, name in enumerate(self.names):
            if self._position[name] != position:
                raise DomainError(f"two attributes are named {name!r}; rename one")
        self.exact_weights: tuple[Fraction, ...] = self._normalise(weights)

    def _normalise(self, weights: Mapping[str, float] | None) -> tuple[Fraction, ...]:
        if weights is None:
            return (Fraction(1, len(self.names)),) * len(self.names)
        if not isinstance(weights, Mapping):
            raise DomainError(f"weights must map attribute names to numbers, got {weights!r}")
        for name, weight in weights.items():
            self.position(name)
            if not _is_finite_number(weight):
                raise DomainError(f"weight of {name!r} must be a finite number, got {short(weight)}")
            if weight < 0:
                raise DomainError(f"weight of {name!r} is negative ({short(weight)}); use 0 or more")
        missing = [name for name in self.names if name not in weights]
        if missing:
            raise DomainError(
                f"no weight for {_shown(missing)}; give every attribute one (0 leaves it out of distance)"
            )
        exact = [rational(weights[name]) for name in self.names]
        total = sum(exact)
        if total == 0:
            raise DomainError("all weights are 0, so every record would be at distance 0; give one attribute weight")
        return tuple(weight / total for weight in exact)

    def __repr__(self) -> str:
        return f"Domain({', '.join(f'{a.name}: {len(a.values)} {a.kind}' for a in self.attributes)})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Domain)
            and self.attributes == other.attributes
            and self.exact_weights == other.exact_weights
        )

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.names, self.exact_weights, self.shape))

    def __getitem__(self, name: str) -> Any:
        """The attribute of that name; raises DomainError when there is none."""
        return self.attributes[self.position(name)]

    def position(self, name: str) -> int:
        """The place of an attribute in the list, from 0; raises DomainError for an unknown name."""
        if name not in self._position:
            raise DomainError(f"there is no attribute {name!r}; the domain has {_shown(self.names)}")
        return self._position[name]

    @property
    def weights(self) -> dict[str, float]:
        """Weight by attribute name; they sum to 1."""
        return {name: float(weight) for name, weight in zip(self.names, self.exact_weights, strict=True)}

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each attribute."""
        return tuple(len(attribute.values) for attribute in self.attributes)

    @property
    def size(self) -> int:
        """The number of records in the product domain, exact however large."""
        return math.prod(self.shape)

    @cached_property
    def denominator(self) -> int:
        """The common denominator of all distances: d(x, y) = whole steps × multipliers / denominator."""
        return math.lcm(*(scaled.denominator for scaled in self._per_step))

    @cached_property
    def multipliers(self) -> tuple[int, ...]:
        """For each attribute the whole number that one of its steps adds to ``denominator × distance``."""
        return tuple(int(scaled * self.denominator) for scaled in self._per_step)

    @cached_property
    def _per_step(self) -> tuple[Fraction, ...]:
        return tuple(
            weight / attribute.span if attribute.span else Fraction(0)
            for weight, attribute in zip(self.exact_weights, self.attributes, strict=True)
        )

    def length(self, name: str, code_a: int, code_b: int) -> float:
        """The weighted distance w_j δ_j between two values of one attribute, correctly rounded; in [0, 1]."""
        position = self.position(name)
        steps = int(self.attributes[position].steps(np.array(code_a), np.array(code_b)))
        return float(self._per_step[position] * steps)

    def check_codes(self, codes: Any, what: str = "codes") -> Codes:
        """The codes as an (n, d) int64 array; raises DataError when the shape or a code does not fit."""
        array = np.asarray(codes)
        if array.ndim != 2 or array.shape[1] != len(self.names):
            raise DataError(f"{what} must have shape (n, {len(self.names)}), got {array.shape}")
        if array.dtype.kind not in "iu":
            raise DataError(f"{what} must be whole numbers, got {array.dtype}; encode the table first")
        outside = (array < 0) | (array >= np.array(self.shape))
        if outside.any():
            row, column = np.argwhere(outside)[0]
            raise DataError(
                f"{what}: row {row}, column {self.names[column]!r}: code {array[row, column]} lies outside "
                f"0 to {self.shape[column] - 1}"
            )
        return np.ascontiguousarray(array, dtype=np.int64)

    def encode(self, frame: pd.DataFrame, unknown: Literal["error", "clip"] = "error") -> Codes:
        """The (n, d) int64 codes of a table; columns beyond the domain's are ignored.

        ``unknown="clip"`` moves numbers out of range to the nearest bound and numbers between grid values to
        the nearest one. Raises DataError naming row, column and cell for a missing column, an empty cell, an
        unknown value, and (without clip) a number outside the grid.
        """
        if unknown not in ("error", "clip"):
            raise DataError(f"unknown must be 'error' or 'clip', got {unknown!r}")
        if not isinstance(frame, pd.DataFrame):
            raise DataError(f"a table must be a pandas DataFrame, got {type(frame).__name__}")
        for name in self.names:
            if name not in frame.columns:
                raise DataError(f"column {name!r} is missing; the table has {_shown([*frame.columns])}")
            if isinstance(frame[name], pd.DataFrame):
                raise DataError(f"column {name!r} appears more than once; keep one")
        columns = [attribute.encode(frame[attribute.name], unknown) for attribute in self.attributes]
        return np.column_stack(columns).astype(np.int64) if len(frame) else np.empty((0, len(columns)), dtype=np.int64)

    def decode(self, codes: Codes) -> pd.DataFrame:
        """The table that an (n, d) array of codes stands for; the inverse of ``encode`` on values of the domain."""
        codes = self.check_codes(codes)
        columns = {}
        for position, attribute in enumerate(self.attributes):
            table = np.array(attribute.values) if attribute.kind == "numeric" else pd.Index(attribute.values)
            columns[attribute.name] = table[codes[:, position]]
        return pd.DataFrame(columns, columns=[*self.names])

    def exact_distance(self, codes_a: Codes, codes_b: Codes) -> np.ndarray:
        """``denominator`` × distance as whole numbers, (n_a, n_b); Python integers where int64 would overflow."""
        codes_a, codes_b = self.check_codes(codes_a), self.check_codes(codes_b)
        wide = self.denominator >= 2**62
        total = np.zeros((len(codes_a), len(codes_b)), dtype=object if wide else np.int64)
        for position, (attribute, multiplier) in enumerate(zip(self.attributes, self.multipliers, strict=True)):
            steps = attribute.steps(codes_a[:, position, None], codes_b[None, :, position])
            total += steps.astype(object) * multiplier if wide else steps * multiplier
        return total

    def distance(self, codes_a: Codes, codes_b: Codes) -> np.ndarray:
        """Weighted Gower distance between two lists of codes, (n_a, n_b) floats in [0, 1] (THEORY, "Records")."""
        return (self.exact_distance(codes_a, codes_b) / self.denominator).astype(float)
