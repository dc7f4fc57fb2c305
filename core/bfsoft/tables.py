"""Table files: CSV and Parquet in, whole files out.

Text stays text: ``?``, ``NA`` and ``no`` are values, only an empty cell is missing. It knows how files look,
and of a domain only which of its columns hold numbers and which hold labels.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import math
import os
import re
import secrets
import shutil
import zlib
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import dropwhile
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from .domain import Domain
from .errors import DataError
from .records import COUNT

_SEPARATORS = (",", ";", "\t", "|")
# Excel's first line for its own use: it says the separator and is no header.
_SAYS_SEPARATOR = re.compile(r'"?sep=([^\w"\r\n])"?[ \t]*(?=[\r\n]|\Z)', re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?[0-9]+")
_EXPONENT = r"(?:[eE][+-]?[0-9]+)?"
# A number with a decimal point, maybe with commas between thousands; and the other way round.
_POINT = re.compile(rf"[+-]?(?:(?:[0-9]+|[1-9][0-9]{{0,2}}(?:,[0-9]{{3}})+)(?:\.[0-9]*)?|\.[0-9]+){_EXPONENT}")
_COMMA = re.compile(rf"[+-]?(?:(?:[0-9]+|[1-9][0-9]{{0,2}}(?:\.[0-9]{{3}})+)(?:,[0-9]+)?|,[0-9]+){_EXPONENT}")
# What can also be two codes in one cell, such as the answers 1 and 3.
_TWO_CODES = re.compile(r"(0|[1-9][0-9]*),([1-9][0-9]*)")
# 007 is a label: read as a number it would come back as 7.
_LEADING_ZERO = re.compile(r"[+-]?0[0-9].*")
MOST_DIGITS = 15  # beyond this a float no longer holds every whole number, and an identifier would change


def read_table(source: str | os.PathLike[str] | IO[Any], domain: Domain | None = None) -> pd.DataFrame:
    """A table from a CSV (also ``.csv.gz``) or Parquet file, or from an open file; one row a record.

    The separator (comma, semicolon, tab or bar) is read off the header, or taken from a first line ``sep=;``.
    Empty cells are NaN. With a ``domain`` its numeric columns become numbers and its labelled columns the domain's
    own values, blanks around a cell aside, wherever a cell fits; what does not fit is left for ``Domain.encode`` to
    report. Without one, a column of a text file is numbers when all its cells are, and else text as it stands but
    for the blanks around it, in quotes or not: nobody could tell two labels apart by them.

    The numbers of a column are written one way: with decimal points (and ``1,200.50``), or with decimal commas (and
    ``1.200,50``). Where its cells fit both ways and mean different numbers, the other columns decide if they agree;
    else ``1,234`` stays text, and between semicolons ``1.234`` does, which is a decimal point between other
    separators. What may be two codes in a cell (``1,3``) stays text too, but is a number between semicolons.

    Raises DataError for a file that cannot be read, is not UTF-8 (or UTF-16 with its mark), has no header, names
    a column twice, or has a row longer than its header.

    >>> read_table(io.StringIO("age;answer\\n41;NA\\n37;no\\n"))["answer"].tolist()
    ['NA', 'no']
    >>> read_table(io.StringIO('height\\tjob\\n1,57\\t nurse\\n1,60\\tnurse\\n')).to_dict("list")
    {'height': [1.57, 1.6], 'job': ['nurse', 'nurse']}
    """
    name, raw = _contents(source)
    if raw[:4] == b"PAR1":
        frame, separator = _parquet(name, raw), ""
    else:
        text, separator = _without_separator_line(name, _text(name, raw))
        separator = separator or _separator(text, domain)
        frame = _csv(name, text, separator)
    return _read(frame, separator) if domain is None else _fitted(frame, domain, separator)


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
    # The csv module leaves a bare carriage return unquoted, and every reader takes it for a line end; and blanks
    # around a cell, which many readers drop outside of quotes.
    labels = [*frame.columns, *(cell for name in frame for cell in frame[name].unique() if isinstance(cell, str))]
    fragile = any("\r" in str(label) or str(label) != str(label).strip() for label in labels)
    return frame.to_csv(
        index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC if fragile else csv.QUOTE_MINIMAL
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
    return text


def _without_separator_line(name: str, text: str) -> tuple[str, str]:
    """The text without Excel's line ``sep=;``, and the separator that it says; "" where there is none.

    The line's end stays, so that errors count the lines as the file does.
    """
    says = _SAYS_SEPARATOR.match(text)
    if says:
        text = text[says.end() :]
    if not text.strip():
        raise DataError(f"{name}: the file is empty; a table needs a header line and rows")
    return text, says[1] if says else ""


def _separator(text: str, domain: Domain | None) -> str:
    """The separator that finds most of the domain's columns in the header, else the one that splits it most."""
    expected = set(domain.names) if domain else set()

    def found(separator: str) -> tuple[int, int]:
        # The header is the first record, not the first line: a name in quotes may hold a line break.
        try:
            cells = next(csv.reader(dropwhile(str.isspace, _lines(text)), delimiter=separator))
        except csv.Error:  # a quotation mark that is never closed, of which the parser will complain
            return 0, 0
        return len(expected & {cell.strip() for cell in cells}), len(cells)

    return max(_SEPARATORS, key=found)


def _lines(text: str) -> Iterator[str]:
    """The lines with their ends, one at a time: a header needs few of them."""
    return (line[0] for line in re.finditer(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+", text))


def _csv(name: str, text: str, separator: str) -> pd.DataFrame:
    # A quotation mark after a blank opens a quoted cell only for a parser that skips the blank.
    blank_then_quote = ' "' in text and re.search(rf'(?:^|{re.escape(separator)}) +"', text, re.MULTILINE) is not None
    try:
        # The header is read as a row: as a header pandas would rename a repeated column without a word.
        cells = pd.read_csv(
            io.StringIO(text), sep=separator, header=None, index_col=False, dtype=object, keep_default_na=False,
            na_values=[], skip_blank_lines=True, na_filter=False, skipinitialspace=blank_then_quote,
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


def decimal_marks(texts: Iterable[str]) -> str:
    """The decimal marks that the numbers among the texts can all have been written with: ".", ",", ".,", or "".

    ".," is both: no number tells, or there is none; "" is neither: one has a point and another a comma.

    >>> [decimal_marks(texts) for texts in (["1.5", "2"], ["1,57"], ["1,234"], ["1.5", "1,57"])]
    ['.', ',', '.,', '']
    """
    point = comma = True
    for text in texts:
        if not _WHOLE.fullmatch(text):
            with_point, with_comma = _POINT.fullmatch(text) is not None, _COMMA.fullmatch(text) is not None
            if with_point or with_comma:
                point, comma = point and with_point, comma and with_comma
    return "." * point + "," * comma


def is_number(text: str) -> bool:
    """Whether the text is a number in either notation, with a decimal point or with a decimal comma."""
    return bool(_POINT.fullmatch(text) or _COMMA.fullmatch(text))


class _Cells:
    """The cells of a column by their distinct values, so that none is looked at twice."""

    def __init__(self, column: pd.Series) -> None:
        self.index = column.index
        self.codes, distinct = pd.factorize(column)  # -1 where a cell is empty
        self.distinct: list[Any] = [*distinct]

    @cached_property
    def texts(self) -> list[str]:
        return [str(cell).strip() for cell in self.distinct]

    @cached_property
    def marks(self) -> str:
        return decimal_marks(self.texts)

    @cached_property
    def all_numbers(self) -> bool:
        filled = [text for text in self.texts if text]
        return bool(filled) and all(map(is_number, filled))

    def spread(self, values: Any, dtype: Any) -> pd.Series:
        """A column that holds at each cell what ``values`` has for its distinct value; NaN where it is empty."""
        held = np.empty(len(values) + 1, dtype=dtype)
        held[:-1] = values
        if (self.codes < 0).any():
            held[-1] = np.nan
        return pd.Series(held[self.codes], index=self.index)


class _Notation:
    """How the numbers of a file are written, column by column, as far as that leaves no doubt."""

    def __init__(self, frame: pd.DataFrame, separator: str) -> None:
        self.semicolons = separator == ";"
        self.cells = [_distinct(frame.iloc[:, position]) for position in range(len(frame.columns))]

    @cached_property
    def _elsewhere(self) -> str:
        """The one mark that columns which leave no doubt have; "" where there is no such column, or they differ."""
        sure = {
            cells.marks
            for cells in self.cells
            if cells is not None and len(cells.marks) == 1 and cells.all_numbers and not self._codes(cells)
        }
        return sure.pop() if len(sure) == 1 else ""

    def _codes(self, cells: _Cells) -> bool:
        return not self.semicolons and cells.marks == "," and _may_be_codes(cells.texts)

    def mark(self, cells: _Cells, number_wanted: bool) -> str:
        """The decimal mark of a column: ".", ",", ".," where each cell has its own, or "" where there is doubt.

        ``number_wanted`` says that a domain wants numbers there, so that two codes in a cell are out of the question.
        """
        marked = [text for text in cells.texts if ("," in text or "." in text) and is_number(text)]
        if not marked:
            return "."
        if cells.marks == ".,":
            # Programs that group thousands by points separate cells by semicolons, for the comma is their decimal mark.
            usual = "" if self.semicolons or any("," in text for text in marked) else "."
            return self._elsewhere or usual
        if not cells.marks:  # typed by hand, 1,5 beside 2.5: clear unless a cell by itself is not
            clear = all(sum(map(text.count, ",.")) == len(decimal_marks([text])) == 1 for text in marked)
            return ".," if self.semicolons and clear else ""
        return "" if not number_wanted and self._codes(cells) else cells.marks


def _distinct(column: pd.Series) -> _Cells | None:
    """The distinct cells of a column of text; None for one that a file stores as numbers, dates or lists."""
    if column.dtype != object:
        return None
    try:
        return _Cells(column)
    except TypeError:  # lists, which nothing can be looked up by
        return None


def _may_be_codes(texts: list[str]) -> bool:
    """Whether each cell with a comma may list two codes in order, as an answer "1 and 3" would.

    Decimals betray themselves by a fraction that is no code (1,0 or 1,05), by falling (12,5), or by a fixed length
    that the number before the comma does not have (1,57 and 1,60).
    """
    pairs = [_TWO_CODES.fullmatch(text) for text in texts if "," in text and is_number(text)]
    if not all(pair is not None and (len(pair[1]), pair[1]) < (len(pair[2]), pair[2]) for pair in pairs):
        return False
    lengths = {len(pair[2]) for pair in pairs if pair is not None}
    fixed = len(lengths) == 1 and not lengths & {1, *(len(pair[1]) for pair in pairs if pair is not None)}
    return not fixed


def _plain(text: str, mark: str) -> str | None:
    """A number as Python writes it, or None for what is no number with that decimal mark."""
    if _WHOLE.fullmatch(text):
        return text
    if mark == ".":
        return text.replace(",", "") if _POINT.fullmatch(text) else None
    if mark == ",":
        return text.replace(".", "").replace(",", ".") if _COMMA.fullmatch(text) else None
    return text.replace(",", ".") if mark and is_number(text) else None


def _numbers(texts: list[str]) -> np.ndarray:
    """Numbers of texts as Python writes them: whole ones int64 where all are and fit, else floats."""
    read = pd.to_numeric(pd.Series(texts, dtype=object)).to_numpy() if texts else np.empty(0)
    return read if read.dtype.kind == "i" else read.astype(float)


def _read(frame: pd.DataFrame, separator: str) -> pd.DataFrame:
    """Each column as numbers where all its cells are, else as its text without the blanks around it."""
    notation = _Notation(frame, separator)
    columns = []
    for position, cells in enumerate(notation.cells):
        column = frame.iloc[:, position]
        numbers = None if cells is None else _all_numbers(cells, notation)
        if numbers is not None:
            column = numbers
        elif cells is not None and separator:
            column = _stripped(column, cells)
        columns.append(column)
    read = pd.concat(columns, axis=1) if columns else frame.copy()
    read.columns = frame.columns
    return read


def _all_numbers(cells: _Cells, notation: _Notation) -> pd.Series | None:
    """The column as numbers, or None where a cell is none, is beyond a float, or would change as a number."""
    if not cells.all_numbers:
        return None
    mark = notation.mark(cells, number_wanted=False)
    filled = [position for position, text in enumerate(cells.texts) if text]
    plain = [number for position in filled if (number := _plain(cells.texts[position], mark)) is not None]
    if len(plain) < len(filled) or any(map(_is_identifier, plain)):
        return None
    numbers = _numbers(plain)
    if not np.isfinite(numbers).all():
        return None
    if len(filled) == len(cells.texts):
        return cells.spread(numbers, float if (cells.codes < 0).any() else numbers.dtype)
    values = np.full(len(cells.texts), np.nan)
    values[filled] = numbers
    return cells.spread(values, float)


def _is_identifier(plain: str) -> bool:
    if not _WHOLE.fullmatch(plain):
        return False
    return _LEADING_ZERO.fullmatch(plain) is not None or len(plain.lstrip("+-")) > MOST_DIGITS


def _stripped(column: pd.Series, cells: _Cells) -> pd.Series:
    if cells.texts == cells.distinct:
        return column
    return cells.spread([text if text else np.nan for text in cells.texts], object)


def _fitted(frame: pd.DataFrame, domain: Domain, separator: str) -> pd.DataFrame:
    columns = {column.strip(): column for column in reversed([*frame.columns])}
    renamed = {columns[name]: name for name in domain.names if name not in frame.columns and name in columns}
    frame = frame.rename(columns=renamed)
    notation = _Notation(frame, separator)
    for name in [*domain.names, COUNT]:
        if name not in frame.columns:
            continue
        attribute = domain[name] if name in domain.names else None
        cells = notation.cells[frame.columns.get_loc(name)]
        if attribute is not None and attribute.kind != "numeric":
            frame[name] = _as_labels(frame[name], attribute, notation)
        elif cells is not None:
            frame[name] = _numbers_where_fit(cells, notation)
    return frame


def _numbers_where_fit(cells: _Cells, notation: _Notation) -> pd.Series:
    """Numbers where a cell is one, other cells as they are."""
    mark = notation.mark(cells, number_wanted=True)
    plain = [_plain(text, mark) for text in cells.texts]
    numbers = _numbers([number for number in plain if number is not None])
    if len(numbers) == len(plain) and np.isfinite(numbers).all():
        return cells.spread(numbers, float if (cells.codes < 0).any() else numbers.dtype)
    values: list[Any] = [*cells.distinct]
    fit = [position for position, number in enumerate(plain) if number is not None]
    for position, number in zip(fit, numbers.tolist(), strict=True):
        values[position] = number if math.isfinite(number) else values[position]
    return cells.spread(values, object)


def _as_labels(column: pd.Series, attribute: Any, notation: _Notation) -> pd.Series:
    """The domain's own values where the text of a cell is one of theirs; other cells as they are."""
    if column.dtype != object and not isinstance(column.dtype, pd.StringDtype):
        return column
    by_text = {str(value): value for value in attribute.values}
    by_lower = {str(value).lower(): value for value in attribute.values if isinstance(value, bool)}
    by_number = {float(value): value for value in attribute.values if isinstance(value, int | float)}
    bare = [text.strip() for text in by_text]
    by_bare = {text.strip(): value for text, value in by_text.items() if bare.count(text.strip()) == 1}
    try:
        cells = _Cells(column)
    except TypeError:  # lists, which are no labels
        return column
    mark = notation.mark(cells, number_wanted=True) if by_number else ""

    def label(cell: Any) -> Any:
        if not isinstance(cell, str):
            return by_text.get("", cell) if pd.isna(cell) else cell
        text = cell.strip()
        for known, written in ((by_text, cell), (by_text, text), (by_lower, text.lower()), (by_bare, text)):
            if written in known:
                return known[written]
        plain = _plain(text, mark) if by_number else None
        return cell if plain is None else by_number.get(float(plain), cell)

    labels = np.empty(len(cells.distinct) + 1, dtype=object)
    labels[:] = [*map(label, cells.distinct), label(np.nan)]
    return pd.Series(labels[cells.codes], index=column.index, dtype=object)
