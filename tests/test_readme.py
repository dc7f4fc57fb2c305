"""The README keeps its word: its Python runs, its shell commands exist, its picture and folders are there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_python_example_runs(tmp_path: Path) -> None:
    (example,) = blocks("python")
    assert len([line for line in example.splitlines() if line.strip()]) <= 10
    said = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "0.01917808219178082" in said.stdout
    assert "0.4372" in said.stdout


@pytest.mark.parametrize("line", [line for block in blocks("sh") for line in block.splitlines() if "bfsoft" in line])
def test_the_shell_commands_exist(line: str, tmp_path: Path) -> None:
    words = line.split("#")[0].split()[1:]
    if "table.csv" in words:
        import bfsoft as bf

        bf.load_sample("adult")[0].head(40).to_csv(tmp_path / "table.csv", index=False)
    done = subprocess.run([sys.executable, "-m", "bfsoft.cli", *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if "--out" in words:
        assert (tmp_path / words[words.index("--out") + 1]).stat().st_size > 0


def test_the_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:^|`)make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_picture_and_the_folders_are_there() -> None:
    for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", README):
        assert (ROOT / picture).is_file(), picture
    for folder in re.findall(r"^\| `([\w/]+/)`", README, re.MULTILINE):
        assert (ROOT / folder).is_dir(), folder
