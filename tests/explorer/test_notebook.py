"""Notebooks: each page's rebuilds the very scenario, runs from top to bottom, and draws the page's charts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import bfsoft as bf
from bfsoft.crossings import edge_changes, plane, regions, sensitivity_curve, walk
from bfsoft.synthesis import random_candidates
from bfsoft.temperature import drowning, signal, temperatures, vote_profile
from bfsoft_explorer import findings as findings_module
from bfsoft_explorer.charts import boundaries, experiments, paper, synthesis, temperature
from bfsoft_explorer.findings import findings
from bfsoft_explorer.jobs import Comparison, Forecast, PilotAsked, small_grid
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


def charts_of(out: dict[str, Any]) -> bool:
    return "vegaEmbed" in str(out.get("data", {}).get("text/html", ""))


def drawn(made: nbformat.NotebookNode) -> list[str]:
    """The titles of the charts, each as one line, in order."""
    specs = [
        re.search(r'"title": \{"text": (\[[^\]]*\]|"[^"]*")', str(out["data"]["text/html"]))
        for out in outputs(made)
        if charts_of(out)
    ]
    titles = [json.loads(spec[1]) for spec in specs if spec]
    return [title if isinstance(title, str) else " ".join(title) for title in titles]


def charts_in(made: nbformat.NotebookNode) -> int:
    """How many outputs are Altair charts."""
    return sum(map(charts_of, outputs(made)))


def small(name: str = "staff", **changes: Any) -> bf.Scenario:
    return bf.load_scenario(name).replace(size=16, rounds=2, **changes)


def held(text: str) -> bf.Scenario:
    """The scenario that a notebook's code holds, read without running anything else of it."""
    code = next(cell.source for cell in nbformat.reads(text, 4).cells if cell.cell_type == "code")
    names: dict[str, Any] = {}
    exec(code, names)  # the first cell is ours: import, scenario, policy
    return names["scenario"]


@pytest.mark.parametrize(
    ("page", "charts"),
    [("policy", 3), ("domain", 0), ("boundaries", 2), ("temperature", 8), ("synthesis", 3), ("paper", 1)],
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


def test_every_page_has_a_recipe() -> None:
    pages = {path.stem for path in (ROOT / "pages").glob("*.py")}
    assert set(RECIPES) == pages


def printed(made: nbformat.NotebookNode) -> str:
    return "".join(out.get("text", "") for out in outputs(made))


def named(made: nbformat.NotebookNode, text: str) -> int:
    """How many outputs' charts hold this text."""
    return sum(text in str(out.get("data", {}).get("text/html", "")) for out in outputs(made) if charts_of(out))


GRID = {"taus": (0.02, 0.2), "rhos": (0.001, 0.1), "seeds": 3, "k": 1}


@pytest.mark.parametrize(("private", "charts"), [(None, 2), (1_000, 3)])
def test_the_pilots_notebook_forecasts_on_the_pages_grid(private: int | None, charts: int) -> None:
    """It says what the page says of its own forecast, which ``Forecast`` computes in another way."""
    scenario = small(rho=0.001)
    view = {**GRID, "attributes": scenario.domain.attributes, "private": private}
    made = executed(notebook("pilot", scenario, view))
    records = bf.Records.of_frame(scenario.domain, bf.load_data("staff", scenario.domain))
    asked = PilotAsked.of(scenario, private or records.n, GRID["taus"], GRID["rhos"], GRID["seeds"], GRID["k"])
    job = Forecast(asked, records)
    assert job.wait(SECONDS)
    assert job.latest is not None
    forecast = experiments.scaling(job.latest.forecast, "scaled")
    row = experiments.recommended_at(job.latest.recommended, scenario.budget.rho)
    assert experiments.recommendation_text(row, forecast) in printed(made)
    assert charts_in(made) == charts
    assert drawn(made)[0].removeprefix("Noise scaled: ") == experiments.forecast_text(forecast)


def test_a_pilot_of_a_domain_that_was_left_starts_around_the_scenario() -> None:
    view = {**GRID, "attributes": bf.load_scenario("xor3").domain.attributes, "private": 7}
    assert notebook("pilot", small(), view) == notebook("pilot", small())
    assert f"taus={[*small_grid(small())[0]]}" in notebook("pilot", small())


@pytest.mark.parametrize(
    ("view", "finding", "charts"),
    [
        ({"experiment": "Crossover", "data": "bank", "measure": "1-way"}, "bank: the advantage reverses", 3),
        ({"experiment": "XOR-3", "protocol": "tab-pe"}, "At ρ = ", 2),
        ({"experiment": "What moves it", "tau": "0.06", "measure": "2-way"}, "moves it up", 1),
    ],
)
def test_the_papers_notebook_draws_the_chosen_experiment(view: dict[str, str], finding: str, charts: int) -> None:
    made = executed(notebook("paper", small(), view))
    assert charts_in(made) == charts
    found = findings()
    protocol = view.get("protocol", found.protocols[0])
    if view["experiment"] == "What moves it":
        expected = paper.moves_text(found.moves, 0.06, "2-way")
    else:
        each = next(each for each in paper.EXPERIMENTS if each.name == view["experiment"])
        at = (view["data"], view["measure"]) if "data" in view else ("xor3", "paper")
        expected = paper.heading(paper.PICTURES[each.figure](found.table(protocol, each.table), *at))
    assert finding in expected
    assert drawn(made)[0] == expected


def test_where_the_papers_tables_are_missing_the_notebook_says_how_to_make_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings_module, "sample_data", lambda: tmp_path)
    assert "bfsoft reproduce all" in notebook("paper", small())


def test_the_boundaries_notebook_votes_on_the_candidates_of_the_synthesis() -> None:
    scenario = small()
    view = {"source": "synthesis", "method": "BF-Soft", "round": 2, "along": "age", "to": 1}
    made = executed(notebook("boundaries", scenario, view))
    records = bf.Records.of_frame(scenario.domain, bf.load_data("staff", scenario.domain))
    done = Comparison(scenario, records, [bf.bf_soft(scenario.tau)]).start()
    assert done.wait(SECONDS)
    middle = np.array([len(attribute.values) // 2 for attribute in scenario.domain.attributes])
    walked = walk(scenario.policy, middle, "age", done.rounds["BF-Soft"][1].candidates, scenario.tau)
    limit = bf.sensitivity_bound(scenario.policy, bf.SoftVote(scenario.tau)).l2
    expected = [boundaries.walk_chart(walked, 1, limit), boundaries.walk_votes_chart(walked, 1)]
    assert drawn(made) == [paper.heading(chart) for chart in expected]


def last_table(made: nbformat.NotebookNode) -> list[list[str]]:
    """The rows of the last table that the notebook shows, its header first, without pandas' row numbers."""
    pages = [str(out.get("data", {}).get("text/html", "")) for out in outputs(made)]
    page = next(page for page in reversed(pages) if 'class="dataframe"' in page)
    return [re.findall(r"<t[hd]>(.*?)</t[hd]>", row)[1:] for row in re.findall(r"<tr.*?</tr>", page, re.DOTALL)]


@pytest.mark.parametrize("section", ["Every edge", "Exact against the bound", "The candidates"])
def test_the_boundaries_notebook_draws_the_open_section(section: str) -> None:
    scenario = bf.load_scenario("xor3").replace(size=16, rounds=2, tau=0.2)  # small enough to be searched at once
    policy, tau, names = scenario.policy, scenario.tau, scenario.domain.names
    record = np.zeros(len(names), dtype=np.int64)
    view = {"section": section, "across": names[0], "down": names[1], "record": record, "many": 5, "seed": 3}
    made = executed(notebook("boundaries", scenario, view))
    candidates = random_candidates(scenario.domain, 5, 3)
    assert shown(made, "application/vnd.plotly") == 1
    if section == "The candidates":
        nearest = regions(plane(scenario.domain, names[0], names[1], record), candidates)
        values = scenario.domain.decode(candidates).astype(str).to_numpy().tolist()
        rows = [[f"#{k + 1}", str((nearest == k).sum()), *values[k]] for k in range(5)]
        assert last_table(made) == [["candidate", "cells on this slice", *names], *rows]
        assert charts_in(made) == 0
    elif section == "Every edge":
        assert drawn(made)[0].startswith(boundaries.changes_text(edge_changes(policy, candidates, tau)))
        assert charts_in(made) == 1
    else:
        curve = pd.DataFrame([*sensitivity_curve(policy, candidates, np.geomspace(1e-3, 1.0, 13))])
        assert drawn(made) == [boundaries.curve_text(curve, tau)]


def test_a_search_that_the_page_did_not_begin_is_not_begun_by_the_notebook() -> None:
    view = {"section": "Exact against the bound", "searched": False}
    made = executed(notebook("boundaries", small(), view))
    assert drawn(made) == [boundaries.curve_text(pd.DataFrame(), small().tau)]


@pytest.mark.parametrize(("name", "searched"), [("xor3", True), ("staff", False)])
def test_the_boundaries_page_tells_the_notebook_whether_it_searches(name: str, searched: bool) -> None:
    app = AppTest.from_file(str(ROOT / "pages" / "boundaries.py"), default_timeout=60)
    app.session_state["scenario"] = bf.load_scenario(name)
    app.run()
    app.session_state["boundaries:view"]["section"] = "Exact against the bound"
    app.run()
    assert not app.exception
    for answer in app.session_state["boundaries:answers"].values():
        answer.stop()
    assert app.session_state["shown"]["boundaries"]["searched"] is searched


def test_the_temperature_notebook_votes_on_the_round_that_the_page_shows() -> None:
    scenario = small(shares=(1.0, 3.0))  # unequal, so that the second round's noise is not the first's
    made = executed(notebook("temperature", scenario, {"method": "BF-Soft", "round": 2}))
    records = bf.Records.of_frame(scenario.domain, bf.load_data("staff", scenario.domain))
    done = Comparison(scenario, records, [bf.bf_soft(scenario.tau)]).start()
    assert done.wait(SECONDS)
    policy, tau = scenario.policy, scenario.tau
    candidates = done.rounds["BF-Soft"][1].candidates
    profile = vote_profile(records, candidates, sorted({*temperatures(25), tau}))
    signals = signal(profile, policy, scenario.budget.split(2, scenario.shares)[1])
    frame = temperature.histogram_frame(records, candidates, tau)
    expected = [
        temperature.sharpness_chart(profile, tau),
        temperature.histogram_chart(frame, signals, tau),
        temperature.signal_chart(signals, policy, tau),
        temperature.error_chart(signals, policy, tau),
    ]
    assert drawn(made)[-4:] == [paper.heading(chart) for chart in expected]
    assert temperature.signal_text(signals, tau, drowning(signals, policy)) in printed(made)


def test_the_temperature_page_tells_the_notebook_which_round_it_votes_on() -> None:
    scenario = small()
    records = bf.Records.of_frame(scenario.domain, bf.load_data("staff", scenario.domain))
    job = Comparison(scenario, records, [bf.bf_soft(scenario.tau)]).start()
    assert job.wait(SECONDS)
    app = AppTest.from_file(str(ROOT / "pages" / "temperature.py"), default_timeout=60)
    app.session_state["scenario"] = scenario
    app.session_state["synthesis:job"] = job
    app.session_state["temperature:source"] = "BF-Soft"
    app.session_state["temperature:round"] = 2
    app.run()
    assert not app.exception
    assert app.session_state["shown"]["temperature"] == {"method": "BF-Soft", "round": 2}


def test_the_synthesis_notebook_runs_the_chosen_methods() -> None:
    view = {"methods": ["BF-Soft", "Tab-PE"], "k": 1, "at": 1, "attribute": "job"}
    made = executed(notebook("synthesis", small(), view))
    scenario = small()
    records = bf.Records.of_frame(scenario.domain, bf.load_data("staff", scenario.domain))
    done = Comparison(scenario, records, [bf.bf_soft(scenario.tau), bf.tab_pe()]).start()
    assert done.wait(SECONDS)
    assert drawn(made)[0] == synthesis.error_text(done.error_frame(1))
    assert named(made, "Tab-PE") == 3
    assert named(made, "Hard") == 0


@pytest.mark.parametrize(
    ("section", "charts", "figures"), [("Two attributes", 4, 0), ("Candidates moving", 3, 1), ("Over seeds", 5, 0)]
)
def test_the_synthesis_notebook_draws_the_open_section_too(section: str, charts: int, figures: int) -> None:
    view = {"section": section, "across": "job", "down": "age", "seeds": 2}
    made = executed(notebook("synthesis", small(), view))
    assert charts_in(made) == charts
    assert shown(made, "application/vnd.plotly") == figures


def test_the_synthesis_notebook_knows_every_method_of_the_page() -> None:
    app = AppTest.from_file(str(ROOT / "pages" / "synthesis.py"), default_timeout=60).run()
    offered = next(group for group in app.get("button_group") if group.label == "Methods").options
    code = notebook("synthesis", small(), {"methods": offered})
    assert "methods = [bf.hard(), bf.bf_soft(tau), bf.tab_pe()]" in code
    assert [make.name for make in (bf.hard(), bf.bf_soft(0.03), bf.tab_pe())] == offered


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
    assert "bf.read_table(" in notebook("synthesis", small(), {"own": True}), "the sample is not what the page ran on"


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
