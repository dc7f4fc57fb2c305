"""A page as a notebook: code that rebuilds exactly the present scenario with the library, and draws the page's charts.

A notebook holds the scenario, never a record: a sample is loaded by name, and a table of one's own is named as missing,
with random records of the domain in its place until the reader puts it there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import bfsoft as bf
from bfsoft import Scenario
from bfsoft.errors import DataError

from .charts import paper
from .findings import CLAIMS, Findings, findings
from .jobs import FEW_SEEDS, order, small_grid

_Cell = tuple[str, str]
Recipe = Callable[[Scenario, Mapping[str, Any]], list[_Cell]]
_SETTINGS = (
    "    size=scenario.size, rounds=scenario.rounds, shares=scenario.shares, threshold=scenario.threshold,\n"
    "    resampling=scenario.resampling, mutation=scenario.mutation,\n"
)
_METHODS = {"Hard": "bf.hard()", "BF-Soft": "bf.bf_soft(tau)", "Tab-PE": "bf.tab_pe()"}
_FIRST = ["Hard", "BF-Soft"]


def notebook(page: str, scenario: Scenario, view: Mapping[str, Any] | None = None) -> str:
    """The text of an .ipynb file for a page ("policy", "synthesis", …); other names get the policy's.

    ``view`` is what the page shows of the scenario, such as the chosen attribute, and whether it runs on a table of
    one's ``own``; what is missing takes its default.
    """
    import nbformat
    from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

    kinds = {"text": new_markdown_cell, "code": new_code_cell}
    recipe = RECIPES.get(page, _policy)
    cells = [*_opening(scenario), *recipe(scenario, view or {})]
    made = new_notebook(cells=[kinds[kind](source) for kind, source in cells])
    for number, cell in enumerate(made.cells):
        cell["id"] = f"cell-{number}"  # the same state is the same file, byte for byte
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.validate(made)
    return nbformat.writes(made) + "\n"


def _opening(scenario: Scenario) -> list[_Cell]:
    title = scenario.title or "A BF-Soft scenario"
    return [
        (
            "text",
            f"# {title}\n\nMade by BF-Soft Explorer. Needs `pip install bfsoft`; everything else follows from here.",
        ),
        (
            "code",
            "import bfsoft as bf\n\n"
            f"scenario = bf.Scenario.loads({_literal(scenario.dumps())})\n"
            "policy, tau, budget = scenario.policy, scenario.tau, scenario.budget\n"
            "policy",
        ),
        (
            "code",
            "bound = bf.sensitivity_bound(policy, bf.SoftVote(tau))\n"
            'print(f"reach {policy.reach:.6g}, set by {policy.widest_edge}")\n'
            'print(f"L1 {bound.l1:.6g}, L2 {bound.l2:.6g}, noise ratio q {bound.ratio:.6g}")\n'
            'print(f"rho {budget.rho:.6g}: exact epsilon {budget.epsilon:.6g} at delta {budget.delta:g}")',
        ),
    ]


def _literal(text: str) -> str:
    """Text as a Python literal over several lines, or on one where it holds what that cannot."""
    awkward = '"""' in text or "\\" in text or "\r" in text or text.endswith('"')
    return repr(text) if awkward else f'"""\\\n{text}"""'


def _data(scenario: Scenario, view: Mapping[str, Any]) -> list[_Cell]:
    if scenario.data in bf.samples() and not view.get("own"):
        load = f"records = bf.Records.of_frame(policy.domain, bf.load_data({scenario.data!r}, policy.domain))"
        return [("code", f"{load}\nrecords.n")]
    return [
        (
            "text",
            "The table is not part of this notebook. Put its name into `bf.read_table` below; until then 1,000 random "
            "records of the domain stand in for it.",
        ),
        (
            "code",
            "from bfsoft.synthesis import random_candidates\n\n"
            '# records = bf.Records.of_frame(policy.domain, bf.read_table("my-table.csv", policy.domain))\n'
            "records = bf.Records.of_codes(policy.domain, random_candidates(policy.domain, 1000, seed=0))\n"
            "records.n",
        ),
    ]


def _chosen(scenario: Scenario, view: Mapping[str, Any], key: str = "attribute") -> str:
    """The attribute the page shows, or the first protected one."""
    names = scenario.domain.names
    protected = [name for name in names if scenario.policy.edge_count(name)]
    return view[key] if view.get(key) in names else (protected or names)[0]


def _policy(scenario: Scenario, view: Mapping[str, Any]) -> list[_Cell]:
    name = _chosen(scenario, view)
    cells = [
        ("text", "## What may be confused with what?\n\nDraw; `canvas.policy` and `canvas.tau` are what is drawn."),
        (
            "code",
            "from bfsoft_explorer import PolicyCanvas\n\n"
            f"canvas = PolicyCanvas(policy, attribute={name!r}, tau=tau, budget=budget)\ncanvas",
        ),
        (
            "code",
            "from bfsoft_explorer import words\nfrom bfsoft_explorer.charts import policy as charts\n\n"
            "vote = bf.SoftVote(tau)\n"
            "print(words.what_it_buys(policy, vote, bound))\n"
            "print(words.whole_release(policy, vote, budget))\n"
            "charts.reach_bars(policy)",
        ),
        (
            "code",
            "import pandas as pd\nfrom bfsoft.suggestions import suggestions\n\n"
            "pd.DataFrame(\n"
            "    [(each.action, each.reach, each.ratio, each.consequence) for each in suggestions(policy, vote)],\n"
            '    columns=["suggestion", "reach", "noise ratio", "what it means"],\n'
            ")",
        ),
    ]
    if 1 < len(scenario.domain[name].values) <= 2_000:
        measure, by = view.get("measure") or "success", view.get("by") or "best"
        given = f"policy, {name!r}, vote, budget, measure={measure!r}"
        cells += [
            ("text", "## Protection map\n\nFor each pair of values: how far an attacker can tell them apart."),
            (
                "code",
                f"from bfsoft_explorer.charts import protection\n\nprotection.protection_map({given}, by={by!r})",
            ),
            ("code", f"protection.comparison_chart({given})"),
        ]
    return cells


def _domain(scenario: Scenario, view: Mapping[str, Any]) -> list[_Cell]:
    return [
        ("text", "## Which attributes are there, and which values can they have?"),
        (
            "code",
            "import pandas as pd\n\n"
            "pd.DataFrame(\n"
            "    {\n"
            '        "kind": [attribute.kind for attribute in policy.domain.attributes],\n'
            '        "values": [len(attribute.values) for attribute in policy.domain.attributes],\n'
            '        "from": [attribute.values[0] for attribute in policy.domain.attributes],\n'
            '        "to": [attribute.values[-1] for attribute in policy.domain.attributes],\n'
            '        "weight": [*policy.domain.weights.values()],\n'
            "    },\n"
            "    index=policy.domain.names,\n"
            ")",
        ),
        ("code", 'print(f"{policy.domain.size:,} different records are possible")'),
        *_data(scenario, view),
        ("code", "records.frame().head()"),
    ]


def _synthesis(scenario: Scenario, view: Mapping[str, Any]) -> list[_Cell]:
    name = view["attribute"] if view.get("attribute") in scenario.domain.names else scenario.domain.names[0]
    numeric = scenario.domain[name].kind == "numeric"
    chosen = [each for each in _METHODS if each in (view.get("methods") or _FIRST)]
    k, at = order(scenario.policy, view.get("k")), view.get("at")
    if at is None or not 1 <= at <= scenario.rounds:
        at = scenario.rounds
    return [
        (
            "text",
            f"## {' and '.join(chosen)}, same data, same seed\n\nA simulation with repeatable noise: no protection.",
        ),
        *_data(scenario, view),
        (
            "code",
            f"methods = [{', '.join(_METHODS[each] for each in chosen)}]\n"
            "settings = dict(\n"
            f"{_SETTINGS}"
            ")\n"
            "runs = {\n"
            "    method.name: bf.synthesize(\n"
            "        records, policy, method.vote, budget, seed=scenario.seed, calibration=method.calibration, "
            "**settings\n"
            "    )\n"
            "    for method in methods\n"
            "}\n"
            f"runs[{chosen[-1]!r}].records.head()",
        ),
        (
            "code",
            "import pandas as pd\nfrom bfsoft_explorer.charts import synthesis as charts\n\n"
            "fidelity = bf.Fidelity(records)\n"
            "errors = pd.DataFrame(\n"
            "    [\n"
            f"        (method, each.number, fidelity.error(each.selected, {k}))\n"
            "        for method, run in runs.items()\n"
            "        for each in run.rounds\n"
            "    ],\n"
            '    columns=["method", "round", "error"],\n'
            ")\n"
            "charts.error_curves(errors, scenario.rounds)",
        ),
        (
            "code",
            f"after = {{method: run.rounds[{at - 1}] for method, run in runs.items()}}  # round {at}\n"
            "tables = {method: each.selected for method, each in after.items()}\n"
            f"shares = charts.marginal_frame(fidelity, {name!r}, tables)\n"
            f"charts.marginal_chart(shares, {name!r}, numeric={numeric})",
        ),
        (
            "code",
            "import altair as alt\n\n"
            "span = charts.vote_span([*after.values()])\n"
            "alt.hconcat(*(charts.vote_chart(method, each, span) for method, each in after.items()))",
        ),
        *_looked_at(scenario, view, k, len(chosen)),
    ]


def _looked_at(scenario: Scenario, view: Mapping[str, Any], k: int, methods: int) -> list[_Cell]:
    """What only some sections of the Synthesis page draw, for the section that is open."""
    names, section = scenario.domain.names, view.get("section")
    across = view["across"] if view.get("across") in names else names[0]
    others = [name for name in names if name != across] or [across]
    down = view["down"] if view.get("down") in others else others[0]
    pair = f"{across!r}, {down!r}"
    if section == "Two attributes":
        return [
            (
                "code",
                f"pairs = charts.pair_frame(records, {pair}, tables)\n"
                f'alt.hconcat(*(charts.pair_chart(pairs, source, {pair}) for source in pairs["source"].unique()))',
            )
        ]
    if section == "Candidates moving":
        rounds = "{method: run.rounds for method, run in runs.items()}"
        return [("code", f"charts.moves_figure(records, {rounds}, {pair})")]
    if section == "Over seeds":
        many = int(view.get("seeds") or 8)
        cells = [
            (
                "code",
                "from bfsoft_explorer.charts import experiments\n\n"
                f"seeds = range(scenario.seed, scenario.seed + {many})\n"
                f"repeated = bf.compare(records, policy, methods, budget, seeds=seeds, k={k}, **settings)\n"
                "experiments.seeds_chart(repeated)",
            )
        ]
        return [*cells, ("code", "experiments.gains_chart(repeated)")] if methods > 1 else cells
    return []


def _temperature(scenario: Scenario, view: Mapping[str, Any]) -> list[_Cell]:
    noisy = ["signal", "error"] if scenario.policy.reach else []  # without noise nothing drowns
    method = view.get("method")
    number = min(int(view.get("round", 1)), scenario.rounds) if method else 1
    run: list[_Cell] = [("code", _one_run(method))] if method else []
    random = "random_candidates(policy.domain, scenario.size, scenario.seed)"
    candidates = f"run.rounds[{number - 1}].candidates" if method else random
    return [
        ("text", "## What does τ buy, and what does it cost?"),
        (
            "code",
            "from bfsoft_explorer.charts import temperature as charts\n\n"
            "charts.noise_chart(policy, tau, budget, scenario.rounds, scenario.shares)",
        ),
        ("code", "charts.matched_chart(policy, tau)"),
        ("code", "charts.rounds_chart(policy, tau, budget, scenario.rounds, scenario.shares)"),
        ("code", "charts.epsilon_chart(budget)"),
        *_data(scenario, view),
        *run,
        (
            "code",
            "from bfsoft.synthesis import random_candidates\n"
            "from bfsoft.temperature import drowning, signal, temperatures, vote_profile\n\n"
            f"candidates = {candidates}\n"
            "profile = vote_profile(records, candidates, sorted({*temperatures(25), tau}))\n"
            "charts.sharpness_chart(profile, tau)",
        ),
        (
            "code",
            f"signals = signal(profile, policy, budget.split(scenario.rounds, scenario.shares)[{number - 1}])\n"
            "print(charts.signal_text(signals, tau, drowning(signals, policy)))\n"
            "charts.histogram_chart(charts.histogram_frame(records, candidates, tau), signals, tau)",
        ),
        *[("code", f"charts.{each}_chart(signals, policy, tau)") for each in noisy],
    ]


def _boundaries(scenario: Scenario, view: Mapping[str, Any]) -> list[_Cell]:
    names = scenario.domain.names
    across = _chosen(scenario, view, "across")
    down = view["down"] if view.get("down") in names else next((name for name in names if name != across), across)
    record = view.get("record")
    if record is None or len(record) != len(names):
        record = [len(attribute.values) // 2 for attribute in scenario.domain.attributes]
    source, drawn = view.get("source"), view.get("drawn")
    candidates = f"random_candidates(policy.domain, {view.get('many', 100)}, seed={view.get('seed', scenario.seed)})"
    run: list[_Cell] = []
    if source == "drawn" and drawn is not None:
        candidates = f"np.array({[[int(code) for code in row] for row in drawn]})"
    elif source == "synthesis":
        run = [*_data(scenario, view), ("code", _one_run(view.get("method")))]
        candidates = f"run.rounds[{min(int(view.get('round', 1)), scenario.rounds) - 1}].candidates"
    cells = [
        ("text", "## Where does the vote jump?"),
        *run,
        (
            "code",
            "import numpy as np\n"
            "import pandas as pd\n"
            "from bfsoft.crossings import edge_changes, plane, regions, sensitivity_curve, walk\n"
            "from bfsoft.errors import DomainTooLargeError\n"
            "from bfsoft.sensitivity import SQRT2, shift_ratio\n"
            "from bfsoft.synthesis import random_candidates\n"
            "from bfsoft_explorer.charts import boundaries as charts\n\n"
            f"record = np.array({[int(code) for code in record]})\n"
            f"candidates = {candidates}\n"
            "# Of the policy's own edges; participation's floor belongs to records that come and go.\n"
            "edge_bound = SQRT2 * shift_ratio(policy.reach, tau)",
        ),
    ]
    cells += _CLOSER.get(view.get("section") or "", _the_walk)(scenario, view)
    if across != down:
        shown = f"shown = plane(policy.domain, {across!r}, {down!r}, record)\n"
        cells.append(("code", f"{shown}charts.plane_figure(policy, shown, candidates)"))
    if view.get("section") == "The candidates":
        cells.append(_the_candidates(sliced=across != down))
    return cells


def _the_walk(scenario: Scenario, view: Mapping[str, Any]) -> list[_Cell]:
    along = _chosen(scenario, view, "along")
    last = len(scenario.domain[along].values) - 1
    to = view["to"] if view.get("to") is not None and view["to"] <= last else last
    return [
        (
            "code",
            f"walked = walk(policy, record, {along!r}, candidates, tau)\n"
            f"charts.walk_chart(walked, {to}, SQRT2 * shift_ratio(policy.reaches[{along!r}], tau))",
        ),
        ("code", f"charts.walk_votes_chart(walked, {to})"),
    ]


def _every_edge(scenario: Scenario, view: Mapping[str, Any]) -> list[_Cell]:
    if not scenario.policy.record_edge_count:
        return [("text", "The policy has no edges, so no protected substitution changes anything.")]
    return [
        (
            "code",
            "try:\n"
            "    changed = charts.changes_chart(edge_changes(policy, candidates, tau), edge_bound)\n"
            "except DomainTooLargeError as error:\n"
            "    changed = str(error)\n"
            "changed",
        )
    ]


def _exact_curve(scenario: Scenario, view: Mapping[str, Any]) -> list[_Cell]:
    if not scenario.policy.reach:
        return [("text", "The policy has no edge of any length: bound and exact sensitivity are 0 at every τ.")]
    search = (
        "try:\n"
        "    rows = [*sensitivity_curve(policy, candidates, np.geomspace(1e-3, 1.0, 13))]\n"
        "except DomainTooLargeError as error:\n"
        "    rows = []\n"
        "    print(error)\n"
    )
    if not view.get("searched", True):  # a search that the page did not begin may take hours here too
        search = "rows = []  # put sensitivity_curve(policy, candidates, [tau]) here: it walks the whole domain\n"
    return [
        (
            "code",
            f"{search}"
            'curve = pd.DataFrame(rows, columns=["tau", "bound", "exact", "hard", "values"])\n'
            "taus = np.geomspace(1e-3, 1.0, 121)\n"
            "limits = [bf.sensitivity_bound(policy, bf.SoftVote(each)).l2 for each in taus]\n"
            'charts.curve_chart(curve, pd.DataFrame({"tau": taus, "bound": limits}), tau)',
        )
    ]


def _the_candidates(sliced: bool) -> _Cell:
    cells = "np.bincount(regions(shown, candidates).ravel(), minlength=len(candidates))"
    return (
        "code",
        "table = policy.domain.decode(candidates)\n"
        'table.insert(0, "candidate", [f"#{k + 1}" for k in range(len(candidates))])\n'
        + (f'table.insert(1, "cells on this slice", {cells})\n' if sliced else "")
        + "table",
    )


# By section of the page, the cells before the plane; the candidates come after it, as they count its regions' cells.
_CLOSER: dict[str, Recipe] = {
    "The walk": _the_walk,
    "Every edge": _every_edge,
    "Exact against the bound": _exact_curve,
    "The candidates": lambda scenario, view: [],
}


def _one_run(method: str | None) -> str:
    """Code for one method's run of the scenario; the Synthesis page's first where none was chosen."""
    return (
        f"method = {_METHODS.get(method or '', _METHODS[_FIRST[0]])}\n"
        "run = bf.synthesize(\n"
        "    records, policy, method.vote, budget, seed=scenario.seed, calibration=method.calibration,\n"
        f"{_SETTINGS})"
    )


def _pilot(scenario: Scenario, view: Mapping[str, Any]) -> list[_Cell]:
    current = view.get("attributes") == scenario.domain.attributes  # else the grid is one of another domain
    grid = small_grid(scenario)
    taus, rhos = (view["taus"], view["rhos"]) if current else grid
    private, seeds, k = (view["private"], view["seeds"], view["k"]) if current else (None, FEW_SEEDS, None)
    return [
        (
            "text",
            "## Will softness help on the private table?\n\nA forecast from a public table that must resemble the "
            "private one, of which only the number of records is used.",
        ),
        *_data(scenario, view),
        (
            "code",
            f"private_size = {'records.n' if private is None else int(private)}\n"
            "found = bf.pilot(\n"
            "    records, policy, private_size,\n"
            f"    taus={[float(tau) for tau in taus]},\n"
            f"    budgets=[bf.Budget(rho=rho, delta=scenario.delta) for rho in {[float(rho) for rho in rhos]}],\n"
            '    scalings=["scaled"] if records.n == private_size else ["scaled", "unscaled"],\n'
            f"    seeds={int(seeds)}, k={order(scenario.policy, k)},\n"
            f"{_SETTINGS}"
            ")\n"
            "found.recommended",
        ),
        (
            "code",
            "from bfsoft_explorer.charts import experiments as charts\n\n"
            'forecast = charts.scaling(found.forecast, "scaled")\n'
            'unscaled = charts.scaling(found.forecast, "unscaled")\n'
            "row = charts.recommended_at(found.recommended, budget.rho)\n"
            "print(charts.recommendation_text(row, forecast))\n"
            "print(charts.scaling_text(found.forecast, records.n, private_size))\n"
            'charts.forecast_chart(forecast, charts.marked(row), "Noise scaled" if len(unscaled) else "")',
        ),
        ("code", "charts.temperature_chart(forecast, row)"),
        ("code", 'charts.forecast_chart(unscaled, None, "Noise unscaled") if len(unscaled) else None'),
    ]


def _paper(scenario: Scenario, view: Mapping[str, Any]) -> list[_Cell]:
    head = "## What the paper found, and what was found here\n\nThe tables come with the package; nothing is run anew."
    try:
        found = findings()
    except DataError as error:
        return [("text", f"{head}\n\n{error}.")]
    protocol = _one_of(found.protocols, view.get("protocol"))
    claims = found.table(protocol, CLAIMS)
    read = (
        "from bfsoft_explorer.charts import paper as charts\nfrom bfsoft_explorer.findings import findings\n\n"
        f"found = findings()\nclaims = found.table({protocol!r}, {CLAIMS!r})\n"
    )
    names = [paper.ALL, *(each.name for each in paper.EXPERIMENTS), paper.MOVES]
    name = _one_of(names, view.get("experiment"))
    if name == paper.ALL:
        measure = _one_of(paper.offered(claims)[1], view.get("measure"))
        drawn = f"charts.verdicts_chart(charts.measured_by(claims, {measure!r}))"
        return [("text", head), ("code", read + drawn)]
    if name == paper.MOVES:
        return [("text", head), *_moves(found, view, read)]
    experiment = next(each for each in paper.EXPERIMENTS if each.name == name)
    asked = f"### {experiment.where}: {experiment.question}"
    own = claims[claims["figure"] == experiment.figure]
    if own.empty or found.table(protocol, experiment.table).empty:
        return [("text", f"{head}\n\n{asked}\n\nNot run with this loop.")]
    sets, measures = paper.offered(own)
    at = f"{_one_of(sets, view.get('data'))!r}, {_one_of(measures, view.get('measure'))!r}"
    table = f"found.table({protocol!r}, {experiment.table!r})"
    cells = [
        ("text", f"{head}\n\n{asked}"),
        ("code", f"{read}charts.PICTURES[{experiment.figure!r}]({table}, {at})"),
    ]
    if experiment.figure == "table4":
        cells.append(("code", f"charts.curves_chart(found.table({protocol!r}, 'table4-curves'), {at})"))
    said = f"said = charts.claims_of(claims, {experiment.figure!r}, {at})\n"
    return [*cells, ("code", f"{said}charts.beside_chart(said)"), ("code", "said")]


def _moves(found: Findings, view: Mapping[str, Any], read: str) -> list[_Cell]:
    cells: list[_Cell] = []
    if len(found.moves):
        tau = _one_of(paper.temperatures_of(found.moves), view.get("tau"))
        measure = _one_of([name for name in paper.MEASURES if name in set(found.moves["measure"])], view.get("measure"))
        cells.append(("code", f"{read}charts.moves_chart(found.moves, {float(tau)!r}, {measure!r})"))
    return [*cells, *(("text", f"### {heading}\n\n{body}") for heading, body in found.sections)]


def _one_of(options: Sequence[str], asked: object) -> str:
    """What was asked for where it is offered, else the first, as on the page."""
    return asked if isinstance(asked, str) and asked in options else options[0]


RECIPES: dict[str, Recipe] = {
    "policy": _policy,
    "domain": _domain,
    "boundaries": _boundaries,
    "temperature": _temperature,
    "synthesis": _synthesis,
    "pilot": _pilot,
    "paper": _paper,
}
