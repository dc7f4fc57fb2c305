"""The canvas and the plane in a live JupyterLab: what is drawn is what the kernel has, and the other way round."""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Locator, Page, expect

import bfsoft as bf

pytest.importorskip("jupyterlab")

DOMAIN = bf.Domain([bf.Numeric("age", 20, 32), bf.Categorical("income", ["<=50K", ">50K"])])
THRESHOLD = bf.Policy(DOMAIN, {"age": bf.Threshold(2)})
CANVAS, SEEN, PRINTED, SET = range(4)
CELLS = [
    """\
import bfsoft as bf
from bfsoft_explorer import PolicyCanvas

domain = bf.Domain([bf.Numeric("age", 20, 32), bf.Categorical("income", ["<=50K", ">50K"])])
canvas = PolicyCanvas(bf.Policy(domain, {"age": bf.Threshold(2)}), tau=0.03)
canvas""",
    """\
from ipywidgets import Label

seen = Label()

def tell(change=None):
    seen.value = f"tau={canvas.tau!r} edges={canvas.policy.edge_count('age')}"

canvas.observe(tell, ["policy", "tau"])
tell()
seen""",
    """\
bound = bf.sensitivity_bound(canvas.policy, bf.SoftVote(canvas.tau))
print(canvas.policy.edges("age").tolist(), canvas.policy.reach, canvas.policy.widest_edge, canvas.tau, bound.l2)""",
    """\
canvas.tau = 0.08
canvas.policy = canvas.policy.with_rule("age", bf.Threshold(5))""",
]

PLANE_CELLS = [
    """\
import numpy as np
import bfsoft as bf
from bfsoft_explorer import BoundaryPlane

domain = bf.Domain([bf.Numeric("age", 20, 32), bf.Categorical("income", ["<=50K", ">50K"])])
policy = bf.Policy(domain, {"age": bf.Threshold(2)})
shown = BoundaryPlane(policy, np.array([[2, 0], [9, 1]]), record=np.array([4, 0]), tau=0.03)
shown""",
    """\
from ipywidgets import Label

seen = Label()

def tell(change=None):
    seen.value = f"tau={shown.tau:.3g} record={shown.record.tolist()} candidates={shown.candidates.tolist()}"

shown.observe(tell, ["tau", "record", "candidates"])
tell()
seen""",
]


@pytest.fixture(scope="module")
def jupyter(
    tmp_path_factory: pytest.TempPathFactory, another_port: int, run_server: Callable[..., Any]
) -> Iterator[Callable[[str], str]]:
    """A JupyterLab with no settings but its own, until the tests are over; called with a name and cells, it gives the
    address of a new notebook, whose kernel is the Python that runs the tests."""
    folder = tmp_path_factory.mktemp("jupyter")
    own = {name: folder / name for name in ("config", "data", "runtime", "ipython", "notebooks")}
    own["notebooks"].mkdir()
    launch = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    kernel = {"argv": launch, "display_name": "Tests", "language": "python"}
    put(own["data"] / "kernels" / "tests" / "kernel.json", kernel)
    # news would ask a server on the internet, and open a dialogue
    no_news = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
    put(own["config"] / "labconfig" / "page_config.json", no_news)
    token, log = secrets.token_hex(), folder / "jupyter.log"
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("JUPYTER")},
        "JUPYTER_CONFIG_DIR": str(own["config"]),
        "JUPYTER_DATA_DIR": str(own["data"]),
        "JUPYTER_RUNTIME_DIR": str(own["runtime"]),
        "IPYTHONDIR": str(own["ipython"]),
        "JUPYTER_TOKEN": token,
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=localhost"]
    command += [f"--port={another_port}", "--ServerApp.port_retries=0", f"--ServerApp.root_dir={own['notebooks']}"]
    command += ["--LabApp.extension_manager=readonly", "--LanguageServerManager.autodetect=False"]
    url = f"http://localhost:{another_port}"

    def written(name: str, cells: list[str] = CELLS) -> str:
        notebook = new_notebook(cells=[new_code_cell(source) for source in cells])
        notebook.metadata["kernelspec"] = {"name": "tests", "display_name": "Tests", "language": "python"}
        nbformat.write(notebook, own["notebooks"] / f"{name}.ipynb")
        return f"{url}/doc/tree/{name}.ipynb?token={token}"

    with run_server(command, f"{url}/api", log, cwd=folder, env=environment):
        yield written


def put(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def cell(page: Page, number: int) -> Locator:
    return page.locator(".jp-CodeCell").nth(number)


def run(page: Page, number: int) -> None:
    """Run a cell as a reader does, and wait until it is done: its prompt shows a number again, a higher one."""
    prompt = cell(page, number).locator(".jp-InputPrompt")
    before = prompt.text_content()
    cell(page, number).locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    expect(prompt).not_to_have_text(before or "")
    expect(prompt).to_have_text(re.compile(r"\[\d+\]:"))


def opened(page: Page, address: str) -> None:
    """Open a notebook, show what it draws, and below it what the kernel has of it at any moment."""
    page.goto(address)
    # a cell run before JupyterLab has its kernel is dropped; its status bar says when
    expect(page.get_by_text("Tests | Idle", exact=True)).to_be_visible()
    run(page, CANVAS)
    run(page, SEEN)


def has(page: Page, expected: str) -> None:
    """Wait until the kernel has this; only then is the next cell sure to run after the edit."""
    expect(cell(page, SEEN).locator(".jp-OutputArea-output")).to_have_text(expected)


def kernel_has(page: Page, policy: bf.Policy, tau: float) -> None:
    has(page, f"tau={tau!r} edges={policy.edge_count('age')}")


def prints(page: Page, policy: bf.Policy, tau: float) -> None:
    """Run the later cell; it must print what core says of this policy and τ."""
    run(page, PRINTED)
    bound = bf.sensitivity_bound(policy, bf.SoftVote(tau))
    expected = f"{policy.edges('age').tolist()} {policy.reach} {policy.widest_edge} {tau} {bound.l2}"
    expect(cell(page, PRINTED).locator(".jp-OutputArea-output")).to_have_text(expected)


def shows(page: Page, policy: bf.Policy, tau: float) -> None:
    """Wait until the canvas shows this threshold, this τ and core's numbers for them."""
    theta = policy.rules["age"].theta
    expect(page.locator("input[name=theta]")).to_have_value(str(theta))
    expect(page.locator(".bf-summary")).to_contain_text(f"{policy.edge_count('age')} edges")
    expect(page.get_by_label("Temperature τ", exact=True).last).to_have_value(str(tau))
    l2 = bf.sensitivity_bound(policy, bf.SoftVote(tau)).l2
    raw = {name: float(page.locator(f"[data-readout={name}]").get_attribute("data-raw")) for name in ("reach", "l2")}
    assert raw == pytest.approx({"reach": policy.reach, "l2": l2}, abs=1e-12)


def centre(page: Page, label: object) -> tuple[float, float]:
    box = page.locator(f'[data-value="{label}"]').bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_what_is_drawn_is_what_the_next_cell_computes_with(page: Page, jupyter: Callable[[str], str]) -> None:
    opened(page, jupyter("drawn"))
    kernel_has(page, THRESHOLD, 0.03)
    prints(page, THRESHOLD, 0.03)
    page.locator('[data-value="29"]').scroll_into_view_if_needed()
    page.mouse.move(*centre(page, 22))
    page.mouse.down()
    page.mouse.move(*centre(page, 29), steps=8)
    page.mouse.up()
    near = [(a, b) for a in range(20, 33) for b in range(a + 1, min(a + 2, 32) + 1)]
    drawn = bf.Policy(DOMAIN, {"age": bf.Edges([*near, (22, 29)])})
    kernel_has(page, drawn, 0.03)
    page.locator("input[name=tau]").fill("0.06")
    kernel_has(page, drawn, 0.06)
    prints(page, drawn, 0.06)
    # the keys of a focused value are the canvas's own, not commands to the notebook
    page.locator('[data-value="20"]').focus()
    for key in ("Enter", "ArrowRight", "Delete"):
        page.keyboard.press(key)
    near.remove((20, 21))
    erased = bf.Policy(DOMAIN, {"age": bf.Edges([*near, (22, 29)])})
    kernel_has(page, erased, 0.06)
    prints(page, erased, 0.06)
    # nor are those of its buttons and sliders; x would cut the cell, a, b and dd add and delete some
    page.get_by_role("button", name="Undo").focus()
    page.keyboard.press("Enter")
    kernel_has(page, drawn, 0.06)
    for place in ('[data-value="20"]', "input[name=tau]", "button:has-text('Clear')"):
        type_letters(page, place)
    kernel_has(page, drawn, 0.06)
    expect(page.locator(".jp-CodeCell")).to_have_count(len(CELLS))


def type_letters(page: Page, place: str) -> None:
    page.locator(place).focus()
    for key in "abddx":
        page.keyboard.press(key)


def test_the_plane_walks_its_record_and_keeps_its_keys(page: Page, jupyter: Callable[[str, list[str]], str]) -> None:
    opened(page, jupyter("plane", PLANE_CELLS))
    has(page, "tau=0.03 record=[4, 0] candidates=[[2, 0], [9, 1]]")
    page.locator(".bp-stage").focus()
    page.keyboard.press("ArrowRight")
    has(page, "tau=0.03 record=[5, 0] candidates=[[2, 0], [9, 1]]")
    page.keyboard.press("Enter")
    has(page, "tau=0.03 record=[5, 0] candidates=[[2, 0], [9, 1], [5, 0]]")
    page.locator(".bp input[name=tau]").focus()
    page.keyboard.press("End")
    has(page, "tau=1 record=[5, 0] candidates=[[2, 0], [9, 1], [5, 0]]")
    for place in (".bp-stage", ".bp input[name=tau]", ".bp-choice button >> nth=0"):
        type_letters(page, place)
    has(page, "tau=1 record=[5, 0] candidates=[[2, 0], [9, 1], [5, 0]]")
    expect(page.locator(".jp-CodeCell")).to_have_count(len(PLANE_CELLS))
    larger = "boxes => boxes.filter(box => box.scrollWidth > box.clientWidth + 1).length"
    assert page.locator(".bp, .bp-side, .bp-side dd, .bp-counts").evaluate_all(larger) == 0


def test_what_python_sets_is_what_is_drawn(page: Page, jupyter: Callable[[str], str]) -> None:
    opened(page, jupyter("set"))
    shows(page, THRESHOLD, 0.03)
    run(page, SET)
    shows(page, bf.Policy(DOMAIN, {"age": bf.Threshold(5)}), 0.08)


def test_the_canvas_keeps_its_looks_in_both_themes(page: Page, jupyter: Callable[[str], str]) -> None:
    opened(page, jupyter("looks"))
    expect(page.locator(".bf")).to_have_attribute("data-theme", "light")
    assert spilt(page) == 0
    page.get_by_role("menuitem", name="Settings", exact=True).click()
    page.locator(".lm-Menu-item", has_text=re.compile("^Theme$")).hover()
    page.get_by_role("menuitem", name="JupyterLab Dark", exact=True).click()
    expect(page.locator(".bf")).to_have_attribute("data-theme", "dark")
    assert spilt(page) == 0


def spilt(page: Page) -> int:
    """How many read-outs are larger than their boxes."""
    larger = "box => box.scrollHeight > box.clientHeight || box.scrollWidth > box.clientWidth"
    return page.locator(".bf-readout").evaluate_all(f"boxes => boxes.filter({larger}).length")
