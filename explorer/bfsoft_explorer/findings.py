"""What was found when the paper's experiments were run: committed tables and text, read here and never made."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pandas as pd

from bfsoft.errors import DataError
from bfsoft.samples import sample_data

# The loops under which the experiments were run, in the order to show them, and what each is called.
PROTOCOLS = {"paper": "The loop of the paper's code", "tab-pe": "This package's own loop"}
CLAIMS, TEXT = "claims", "FINDINGS.md"


@dataclass(frozen=True)
class Findings:
    """A directory of findings: a folder a protocol with its tables and claims, and a text beside them."""

    place: Path

    @property
    def protocols(self) -> list[str]:
        """The protocols with claims, in the order of PROTOCOLS."""
        return [name for name in PROTOCOLS if (self.place / name / f"{CLAIMS}.csv").is_file()]

    @property
    def sections(self) -> list[tuple[str, str]]:
        """What is written about the findings, as headings with their Markdown; empty where nothing is.

        Links to files beside the text lead nowhere in an app, so their words alone stay.
        """
        file = self.place / TEXT
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        parts = re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]*\)", r"\1", text).split("\n## ")[1:]
        return [(part.partition("\n")[0].strip(), part.partition("\n")[2].strip()) for part in parts]

    @property
    def moves(self) -> pd.DataFrame:
        """What moves the crossover, of the first protocol that asked; empty where none did."""
        tables = (self.table(protocol, "moves") for protocol in self.protocols)
        return next((table for table in tables if len(table)), pd.DataFrame())

    def table(self, protocol: str, name: str) -> pd.DataFrame:
        """One table of a protocol, such as "fig3" or "claims"; empty where it was not run."""
        file = self.place / protocol / f"{name}.csv"
        return _read(file, file.stat().st_mtime_ns).copy() if file.is_file() else pd.DataFrame()


@lru_cache(maxsize=64)
def _read(file: Path, _changed: int) -> pd.DataFrame:
    return pd.read_csv(file)


def findings() -> Findings:
    """The findings that come with the package; raises DataError where there are none."""
    found = Findings(sample_data() / "reproduction")
    if not found.protocols:
        raise DataError("the tables of the reproduction are missing; make them with `bfsoft reproduce all`")
    return found
