"""The results file of an experiment: what has been run, safe against a crash at any moment.

A CSV whose first line holds the settings as JSON after ``#``, so that a reader of tables skips it and a later run
can tell whether it may continue. It knows nothing of what its columns mean.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from ..errors import ExperimentError

_MARK = "# bfsoft results "
Row = tuple[tuple[str, ...], list[float]]


class ResultsFile:
    """Open for appending under a lock; ``rows`` are those already there, key columns to errors.

    Raises ExperimentError for a file that is no results file, was made with other settings or columns, or is
    being written by another run.
    """

    def __init__(
        self, path: str | os.PathLike[str], settings: Mapping[str, Any], columns: Sequence[str], measures: Sequence[str]
    ) -> None:
        self.path = Path(path)
        self.settings = json.loads(json.dumps(settings, default=str))
        self.columns, self.measures = [*columns], [*measures]
        self.rows: dict[tuple[str, ...], list[float]] = {}
        self._file: IO[bytes] | None = None

    def __enter__(self) -> ResultsFile:
        try:
            self._file = open(self.path, "a+b")
        except OSError as error:
            raise ExperimentError(f"{self.path}: cannot be opened for results: {error.strerror}") from None
        try:
            _lock(self._file, self.path)
            self._file.seek(0)
            self._read(self._file.read())
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._file is not None
        self._file.close()

    def append(self, rows: Sequence[Row]) -> None:
        """Add rows and see them to the disk; a crash can tear only the last line, which the next run drops."""
        assert self._file is not None
        self._write("".join(_line([*key, *map(repr, errors)]) for key, errors in rows))
        self.rows.update(rows)

    def _write(self, text: str) -> None:
        assert self._file is not None
        self._file.write(text.encode("utf-8"))
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self, raw: bytes) -> None:
        assert self._file is not None
        whole = raw[: raw.rfind(b"\n") + 1]
        header = [*self.columns, *self.measures]
        if not whole.startswith(_MARK.encode()):
            if raw and not _MARK.encode().startswith(raw[: len(_MARK)]) and not raw.startswith(_MARK.encode()):
                raise ExperimentError(f"{self.path}: is not a results file of an experiment; name another file")
            whole = b""
        try:
            first, _, rest = whole.decode("utf-8").partition("\n")
            found = json.loads(first[len(_MARK) :]) if first else None
            table = list(csv.reader(io.StringIO(rest, newline="")))  # a label may hold any line end of its own
        except ValueError:
            raise ExperimentError(f"{self.path}: the results file is damaged; name another file") from None
        if found is not None:
            self._compare(found)
        if table and table[0] != header:
            raise ExperimentError(
                f"{self.path}: has the columns {', '.join(table[0])}, and this experiment {', '.join(header)}; "
                "name another file"
            )
        self._file.truncate(len(whole))
        if found is None or not table:
            self._file.truncate(0)
            self._write(_MARK + json.dumps(self.settings, ensure_ascii=False) + "\n" + _line(header))
        for number, cells in enumerate(table[1:], start=3):
            try:
                key, errors = tuple(cells[: len(self.columns)]), [float(cell) for cell in cells[len(self.columns) :]]
            except ValueError:
                errors = []
            if len(errors) != len(self.measures):
                raise ExperimentError(f"{self.path}: line {number} is no result; remove the line, or name another file")
            self.rows[key] = errors

    def _compare(self, found: Mapping[str, Any]) -> None:
        for name in [*self.settings, *found]:
            before, now = found.get(name), self.settings.get(name)
            if before != now:
                raise ExperimentError(
                    f"{self.path}: was made with {name} {_shown(before)}, and this run asks for {_shown(now)}; "
                    "results of two settings cannot be mixed, so name another file or use the same settings"
                )


def _shown(value: Any) -> str:
    return "not set" if value is None else str(value)


def _line(cells: Sequence[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()


def _lock(file: IO[bytes], path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows has no advisory locks: there two runs on one file are the user's to avoid
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise ExperimentError(f"{path}: another run is writing to it; wait for it, or name another file") from None
