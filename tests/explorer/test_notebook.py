"""Notebooks: each page's rebuilds the very scenario, runs from top to bottom, and draws the page's charts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

import bfsoft as bf
from bfsoft_explorer.notebook import RECIPES, notebook

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 300


def executed(text: str) -> nbformat.NotebookNode:
    """The notebook after running every cell; an error in a cell fails the test."""
    made = nbformat.reads(text, as_version=4)
    nbclient.NotebookClient(made, timeout=SECONDS, kernel_name="python3").execute()
    return made


def outputs(made: nbformat.NotebookNode) -> list[dict[str, Any]]:
    return [out for cell in made.cells if cell.cell_type == "code" for out in cell.outputs]


def shown(made: nbformat.NotebookNode, kind: str) -> int:
    """How many outputs have a MIME type that begins so."""
    return sum(any(name.startswith(kind) for name in out.get("data", {})) for out in outputs(made))


def charts_in(made: nbformat.NotebookNode) -> int:
    """How many outputs are Altair charts."""
    return sum("vegaEmbed" in str(out.get("data", {}).get("text/html", "")) for out in outputs(made))


def small(name: str = "staff", **changes: Any) -> bf.Scenario:
    return bf.load_scenario(name).replace(size=16, rounds=2, **changes)


def held(text: str) -> bf.Scenario:
    """The scenario that a notebook's code holds, read without running anything else of it."""
    code = next(cell.source for cell in nbformat.reads(text, 4).cells if cell.cell_type == "code")
    names: dict[str, Any] = {}
    exec(code, names)  # the first cell is ours: import, scenario, policy
    return names["scenario"]


@pytest.mark.parametrize(
    ("page", "charts"), [("policy", 3), ("domain", 0), ("boundaries", 1), ("temperature", 5), ("synthesis", 3)]
)
def test_every_pages_notebook_runs_and_draws(page: str, charts: int) -> None:
    scenario = small()
    text = notebook(page, scenario)
    assert held(text) == scenario
    made = executed(text)
    assert charts_in(made) == charts
    assert shown(made, "application/vnd.plotly") == (page == "boundaries")
    assert shown(made, "application/vnd.jupyter.widget-view+json") == (page == "policy")
    assert "<caption>Policy with reach" in outputs(made)[0]["data"]["text/html"]


def test_every_page_with_a_recipe_is_a_page_and_is_tested() -> None:
    pages = {path.stem for path in (ROOT / "pages").glob("*.py")}
    assert set(RECIPES) <= pages
    assert set(RECIPES) == {"policy", "domain", "boundaries", "temperature", "synthesis"}


def test_a_page_without_a_recipe_gets_the_policys() -> None:
    assert notebook("learn", small()) == notebook("policy", small())


def test_what_the_page_shows_is_what_the_notebook_shows() -> None:
    view = {"attribute": "job", "measure": "epsilon", "by": "distance"}
    text = notebook("policy", small(), view)
    assert "attribute='job'" in text
    code = "\n".join(cell.source for cell in nbformat.reads(text, 4).cells)
    assert "protection_map(policy, 'job', vote, budget, measure='epsilon', by='distance')" in code


def test_an_attribute_that_is_gone_falls_back_to_a_protected_one() -> None:
    assert "attribute='age'" in notebook("policy", small(), {"attribute": "gone"})


def test_a_table_of_ones_own_is_not_in_the_notebook() -> None:
    text = notebook("synthesis", small(data=None))
    assert "bf.read_table(" in text
    assert charts_in(executed(text)) == 3


@pytest.mark.parametrize("title", ['Quote """ in it', "back\\slash", 'ends with "', "line\rreturn", "τ ≤ ½"])
def test_any_title_comes_back(title: str) -> None:
    scenario = small(title=title)
    assert held(notebook("policy", scenario)) == scenario


def test_the_same_state_is_the_same_file() -> None:
    assert notebook("temperature", small()) == notebook("temperature", small())
    json.loads(notebook("temperature", small()))


@pytest.mark.parametrize("path", sorted((ROOT / "explorer").glob("*.ipynb")), ids=lambda path: path.name)
def test_the_notebooks_that_come_along_run(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not any(cell.get("outputs") for cell in nbformat.reads(text, 4).cells), "commit notebooks without output"
    made = executed(text)
    assert shown(made, "application/vnd.jupyter.widget-view+json") >= 1
    assert not re.search(r"/home/|/work/|/Users/", text)
