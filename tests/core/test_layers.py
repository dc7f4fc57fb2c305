"""The arrows point down: core draws nothing, imports are light, and every example in the documentation runs."""

import ast
import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import bfsoft

CORE = Path(bfsoft.__file__).parent
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
MODULES = sorted(info.name for info in pkgutil.walk_packages([str(CORE)], "bfsoft."))
# design: domain → policy → votes → sensitivity → privacy → synthesis; what each may not know of.
ABOVE = {
    "domain": {
        "records",
        "policy",
        "votes",
        "sensitivity",
        "privacy",
        "protection",
        "synthesis",
        "fidelity",
        "scenario",
    },
    "records": {"policy", "votes", "sensitivity", "privacy", "protection", "synthesis", "fidelity", "scenario"},
    "policy": {"records", "sensitivity", "synthesis", "fidelity", "scenario"},
    "votes": {"policy", "sensitivity", "privacy", "protection", "synthesis", "fidelity", "scenario"},
    "sensitivity": {"privacy", "protection", "synthesis", "fidelity", "scenario"},
    "privacy": {"policy", "votes", "sensitivity", "protection", "synthesis", "fidelity", "scenario"},
    "fidelity": {"policy", "votes", "sensitivity", "privacy", "protection", "synthesis", "scenario"},
    "synthesis": {"fidelity", "scenario", "samples", "cli"},
}


def imported(path: Path, typing_too: bool = False) -> set[str]:
    """The modules a file imports, wherever in it; those under ``if TYPE_CHECKING`` only on request."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if not typing_too:
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                node.body = []
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            prefix = "." * node.level + (node.module or "")
            found |= {prefix} if node.module else {prefix + alias.name for alias in node.names}
    return found


def test_core_draws_nothing():
    for path in CORE.rglob("*.py"):
        roots = {name.split(".")[0] for name in imported(path, typing_too=True)}
        assert not roots & {"streamlit", "plotly", "altair", "anywidget", "bfsoft_explorer"}, path.name


@pytest.mark.parametrize("module", ABOVE)
def test_modules_know_nothing_of_what_stands_above_them(module):
    # A policy's protection reads votes and budgets, by a late import of the module above it, as its docstring says.
    assert not {f".{name}" for name in ABOVE[module]} & imported(CORE / f"{module}.py")


def test_importing_the_library_is_light():
    """A notebook or a shell command pays for numba, SciPy and pydantic when it uses them, not at the import."""
    heavy = (
        "numba",
        "scipy",
        "pydantic",
        "dp_accounting",
        "opendp",
        "yaml",
        "streamlit",
        "plotly",
        "altair",
        "joblib",
        "duckdb",
    )
    script = f"import sys, bfsoft; print(*[name for name in {heavy} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert loaded == []


def test_what_the_package_offers_is_there():
    for name in ("Domain", "Policy", "SoftVote", "Budget", "synthesize", "exact_sensitivity", "Scenario"):
        assert getattr(bfsoft, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Scenarios'"):
        _ = bfsoft.Scenarios


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    if name.endswith("__main__"):
        pytest.skip("running it is running the command")
    result = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert result.failed == 0


def test_there_are_examples_to_run():
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = [importlib.import_module(name) for name in MODULES if not name.endswith("__main__")]
    examples = [test for module in modules for test in finder.find(module) if test.examples]
    assert len(examples) >= 8
