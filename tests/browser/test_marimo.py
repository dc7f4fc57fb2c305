"""The canvas in a marimo notebook, served as marimo serves it: what is drawn is what the cells below compute with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import bfsoft as bf

pytest.importorskip("marimo")

NOTEBOOK = """
import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo

    import bfsoft as bf
    from bfsoft_explorer import PolicyCanvas

    domain = bf.Domain([bf.Numeric("age", 17, 90), bf.Categorical("income", ["<=50K", ">50K"])])
    canvas = mo.ui.anywidget(PolicyCanvas(bf.Policy(domain, {"age": bf.Threshold(7)}), tau=0.03))
    canvas
    return canvas, mo


@app.cell
def _(canvas, mo):
    canvas.value  # the cell runs again at every edit
    policy = canvas.policy
    widest = f"{policy.widest_edge.a} to {policy.widest_edge.b}"
    mo.md(f"reach={policy.reach!r} tau={canvas.tau!r} edges={policy.edge_count('age')} widest={widest}")
    return


if __name__ == "__main__":
    app.run()
"""


@pytest.fixture(scope="module")
def notebook_url(
    tmp_path_factory: pytest.TempPathFactory, another_port: int, run_server: Callable[..., Any]
) -> Iterator[str]:
    """The address of the notebook, run by marimo on a free port until the tests are over."""
    folder = tmp_path_factory.mktemp("marimo")
    script, log = folder / "notebook.py", folder / "marimo.log"
    script.write_text(NOTEBOOK, encoding="utf-8")
    command = [sys.executable, "-m", "marimo", "run", "--headless", "--no-token", "--host=localhost"]
    url = f"http://localhost:{another_port}"
    with run_server([*command, f"--port={another_port}", str(script)], f"{url}/health", log, cwd=folder):
        yield url


def cell(page: Page, text: str) -> None:
    """Wait until the reactive cell says this."""
    expect(page.get_by_text("reach=")).to_contain_text(text)


def centre(page: Page, label: object) -> tuple[float, float]:
    box = page.locator(f'[data-value="{label}"]').bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_an_edge_drawn_and_a_new_tau_reach_the_cells_below(page: Page, notebook_url: str) -> None:
    policy = bf.Policy(
        bf.Domain([bf.Numeric("age", 17, 90), bf.Categorical("income", ["<=50K", ">50K"])]), {"age": bf.Threshold(7)}
    )
    before = policy.edge_count("age")
    page.goto(notebook_url)
    cell(page, f"reach={policy.reach!r} tau=0.03 edges={before}")
    expect(page.locator('[data-value="60"]')).to_be_visible()
    page.mouse.move(*centre(page, 30))
    page.mouse.down()
    page.mouse.move(*centre(page, 60), steps=8)
    page.mouse.up()
    cell(page, f"reach={0.5 * 30 / 73!r} tau=0.03 edges={before + 1} widest=30 to 60")
    page.locator("input[name=tau]").fill("0.06")
    cell(page, f"reach={0.5 * 30 / 73!r} tau=0.06 edges={before + 1}")
