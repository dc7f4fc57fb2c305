"""Table files: CSV and Parquet in, whole files out.

Text stays text: ``?``, ``NA`` and ``no`` are values, only an empty cell is missing. It knows how files look,
and of a domain only which of its columns hold numbers and which hold labels.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import os
import re
import secrets
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from .domain import Domain
from .errors import DataError
from .records import COUNT

_SEPARATORS = (",", ";", "\t", "|")
_NUMBER = r"\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*"
_DECIMAL_COMMA = r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*"
# 007 is a label: read as a number it would come back as 7.
_LEADING_ZERO = r"\s*[+-]?0\d.*"
_MOST_DIGITS = 15  # beyond this a float no longer holds every whole number, and an identifier would change


def read_table(source: str | os.PathLike[str] | IO[Any], domain: Domain | None = None) -> pd.DataFrame:
    """A table from a CSV (also ``.csv.gz``) or Parquet file, or from an open file; one row a record.

    The separator (comma, semicolon, tab or bar) is read off the header; with semicolons ``1,5`` is a number.
    Empty cells are NaN, every other text stays as it is. With a ``domain`` its numeric columns become numbers
    and its labelled columns the domain's own values, wherever a cell fits; what does not fit is left for
    ``Domain.encode`` to report. Without one, a column is numbers when all its cells are.

    Raises DataError for a file that cannot be read, is not UTF-8 (or UTF-16 with its mark), has no header, names
    a column twice, or has a row longer than its header.

    >>> read_table(io.StringIO("age;answer\\n41;NA\\n37;no\\n"))["answer"].tolist()
    ['NA', 'no']
    """
    name, raw = _contents(source)
    if raw[:4] == b"PAR1":
        frame = _parquet(name, raw)
        decimal_comma = False
    else:
        text = _text(name, raw)
        separator = _separator(text, domain)
        frame = _csv(name, text, separator)
        decimal_comma = separator == ";"
    if domain is None:
        return frame.apply(lambda column: _as_numbers(column, decimal_comma, all_or_none=True))
    return _fitted(frame, domain, decimal_comma)


def write_table(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table whole or not at all; the name decides: ``.parquet``, ``.csv.gz``, and CSV for the rest.

    Raises DataError when the file cannot be written, or its name promises a spreadsheet.
    """
    suffix = os.fspath(path).lower()
    if suffix.endswith((".xlsx", ".xls", ".ods")):
        raise DataError(f"{os.fspath(path)}: spreadsheets are not written; end the name in .csv, .csv.gz or .parquet")
    with atomic(path) as file:
        if suffix.endswith(".parquet"):
            frame.to_parquet(file, index=False)
        elif suffix.endswith(".gz"):
            # mtime=0: the same table is the same file, byte for byte
            with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
                packed.write(csv_text(frame).encode("utf-8"))
        else:
            file.write(csv_text(frame).encode("utf-8"))


def csv_text(frame: pd.DataFrame) -> str:
    """The table as CSV text with a header and ``\\n`` line ends."""
    # The csv module leaves a bare carriage return unquoted, and every reader takes it for a line end.
    labels = [*frame.columns, *(cell for name in frame for cell in frame[name].unique() if isinstance(cell, str))]
    returns = any("\r" in str(label) for label in labels)
    return frame.to_csv(
        index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
    )


@contextlib.contextmanager
def atomic(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file to write that takes the place of ``path`` on success, and leaves no trace on any failure.

    Ctrl-C counts as a failure. Raises DataError when the place cannot be written to.
    """
    check_writable(path)
    target = Path(os.path.realpath(path))  # through a link, so that the link stays one
    if target.exists() and not target.is_file():  # a pipe or device has nothing to take the place of
        with open(target, "wb") as file:
            yield file
        return
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        try:
            with open(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                shutil.copymode(target, part)
            os.replace(part, target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DataError(f"{os.fspath(path)}: cannot be written: {error.strerror}") from None


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise DataError now for a place that could not be written to later."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise DataError(f"{os.fspath(path)}: is a directory; give the name of a file")
    if not target.parent.is_dir():
        raise DataError(f"{os.fspath(path)}: there is no directory {os.path.dirname(path)!r}; make it first")
    if not os.access(target if target.exists() and not target.is_file() else target.parent, os.W_OK):
        raise DataError(f"{os.fspath(path)}: cannot be written: permission denied")


# ------------------------------------------------------------------ from file to text


def _contents(source: Any) -> tuple[str, bytes]:
    """A name for errors and the bytes of a file, unpacked when it is gzip."""
    if hasattr(source, "read"):
        name, raw = str(getattr(source, "name", "the table")), source.read()
        raw = raw.encode("utf-8") if isinstance(raw, str) else bytes(raw)
    else:
        name = os.fspath(source)
        try:
            raw = Path(source).read_bytes()
        except OSError as error:
            raise DataError(f"{name}: cannot be read: {error.strerror}") from None
    if raw[:2] == b"\x1f\x8b":
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error):
            raise DataError(f"{name}: the gzip file is damaged or cut short; get it again") from None
    return name, raw


def _text(name: str, raw: bytes) -> str:
    if raw[:4] == b"PK\x03\x04" or raw[:4] == b"\xd0\xcf\x11\xe0":
        raise DataError(f"{name}: a spreadsheet or zip file, not a table of text; save it as CSV (UTF-8)")
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DataError(f"{name}: line {line} is not UTF-8 text; save the table as CSV (UTF-8)") from None
    if "\x00" in text:
        raise DataError(f"{name}: holds NUL characters, so it is not a table of text; save it as CSV (UTF-8)")
    if not text.strip():
        raise DataError(f"{name}: the file is empty; a table needs a header line and rows")
    return text


def _separator(text: str, domain: Domain | None) -> str:
    """The separator that finds most of the domain's columns in the header, else the one that splits it most."""
    header = next(line for line in text.splitlines() if line.strip())
    expected = set(domain.names) if domain else set()

    def found(separator: str) -> tuple[int, int]:
        cells = next(csv.reader([header], delimiter=separator))
        return len(expected & {cell.strip() for cell in cells}), len(cells)

    return max(_SEPARATORS, key=found)


def _csv(name: str, text: str, separator: str) -> pd.DataFrame:
    try:
        # The header is read as a row: as a header pandas would rename a repeated column without a word.
        cells = pd.read_csv(
            io.StringIO(text), sep=separator, header=None, index_col=False, dtype=object, keep_default_na=False,
            na_values=[], skip_blank_lines=True, na_filter=False,
        )  # fmt: skip
    except pd.errors.ParserError as error:
        raise DataError(f"{name}: {_parse_complaint(str(error))}") from None
    header = [str(cell) for cell in cells.iloc[0]]
    _check_header(name, header)
    frame = cells.iloc[1:].reset_index(drop=True)
    frame.columns = pd.Index(header)
    return frame.where(frame != "", np.nan).astype(object)


def _parse_complaint(message: str) -> str:
    """What the parser found, in words of ours: its own could quote a row."""
    long_row = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", message)
    if long_row:
        expected, line, seen = long_row.groups()
        return f"line {line} has {seen} cells, the header {expected}; put a cell that holds a separator in quotes"
    if "EOF inside string" in message:
        return "a quotation mark is opened and never closed; close it, or double it inside a cell"
    return "not a readable table; save it as CSV (UTF-8)"


def _check_header(name: str, header: list[str]) -> None:
    for position, column in enumerate(header):
        if column in header[:position] and column.strip():
            raise DataError(
                f"{name}: the header names the column {column!r} twice (columns {header.index(column) + 1} and "
                f"{position + 1}), so it is unclear which is meant; rename one"
            )


def _parquet(name: str, raw: bytes) -> pd.DataFrame:
    try:
        frame = pd.read_parquet(io.BytesIO(raw))
    except Exception:  # pyarrow raises many kinds, some of which quote the file
        raise DataError(f"{name}: the Parquet file is damaged or of an unknown version") from None
    frame.columns = pd.Index([str(column) for column in frame.columns])
    _check_header(name, [*frame.columns])
    return frame


# ------------------------------------------------------------------ from text to values


def _as_numbers(column: pd.Series, decimal_comma: bool, all_or_none: bool) -> pd.Series:
    """Numbers where the text of a cell is one; ``all_or_none`` keeps a column with any other text as it is."""
    if column.dtype != object:
        return column
    filled = column.notna()
    text = _without_thousands(column[filled].astype(str), decimal_comma)
    if decimal_comma:
        text = text.where(~text.str.fullmatch(_DECIMAL_COMMA), text.str.replace(",", ".", regex=False))
    numeric = text.str.fullmatch(_NUMBER).astype(bool)
    if all_or_none:
        identifier = text.str.fullmatch(_LEADING_ZERO) | (text.str.count(r"\d") > _MOST_DIGITS)
        if not numeric.all() or not len(text) or (identifier & ~text.str.contains(r"[.eE]")).any():
            return column
    numbers = pd.to_numeric(text[numeric])
    if numeric.all():
        return numbers.reindex(column.index)
    mixed = column.copy()
    mixed[numbers.index] = numbers.astype(object)
    return mixed


def _without_thousands(text: pd.Series, decimal_comma: bool) -> pd.Series:
    """The cells without thousands separators, where one leaves no doubt that they are such (1.200,50 or 1.200.000)."""
    group, point = (r"\.", ",") if decimal_comma else (",", r"\.")
    sure = rf"\s*[+-]?\d{{1,3}}(?:(?:{group}\d{{3}})+{point}\d+|(?:{group}\d{{3}}){{2,}})\s*"
    either = rf"\s*[+-]?(?:\d{{1,3}}(?:{group}\d{{3}})+|\d+)(?:{point}\d+)?\s*"
    if not text.str.fullmatch(sure).any() or not text.str.fullmatch(either).all():
        return text
    return text.str.replace(group, "", regex=True)


def _fitted(frame: pd.DataFrame, domain: Domain, decimal_comma: bool) -> pd.DataFrame:
    columns = {column.strip(): column for column in reversed([*frame.columns])}
    renamed = {columns[name]: name for name in domain.names if name not in frame.columns and name in columns}
    frame = frame.rename(columns=renamed)
    for name in [*domain.names, COUNT]:
        if name not in frame.columns:
            continue
        attribute = domain[name] if name in domain.names else None
        if attribute is None or attribute.kind == "numeric":
            frame[name] = _as_numbers(frame[name], decimal_comma, all_or_none=False)
        else:
            frame[name] = _as_labels(frame[name], attribute, decimal_comma)
    return frame


def _as_labels(column: pd.Series, attribute: Any, decimal_comma: bool) -> pd.Series:
    """The domain's own values where the text of a cell is one of theirs; other cells as they are."""
    if column.dtype != object and not isinstance(column.dtype, pd.StringDtype):
        return column
    by_text = {str(value): value for value in attribute.values}
    by_lower = {str(value).lower(): value for value in attribute.values if isinstance(value, bool)}
    by_number = {float(value): value for value in attribute.values if isinstance(value, int | float)}

    def label(cell: Any) -> Any:
        if not isinstance(cell, str):
            return by_text.get("", cell) if pd.isna(cell) else cell
        for text in (cell, cell.strip()):
            if text in by_text:
                return by_text[text]
        plain = cell.strip()
        if plain.lower() in by_lower:
            return by_lower[plain.lower()]
        if decimal_comma and re.fullmatch(_DECIMAL_COMMA, plain):
            plain = plain.replace(",", ".")
        return by_number.get(float(plain), cell) if by_number and re.fullmatch(_NUMBER, plain) else cell

    distinct = {cell: label(cell) for cell in column.dropna().unique()}
    missing = label(np.nan)
    return pd.Series(
        [missing if empty else distinct[cell] for cell, empty in zip(column, column.isna(), strict=True)],
        index=column.index, dtype=object,
    )  # fmt: skip
