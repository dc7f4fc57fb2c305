"""A page as a notebook: code that rebuilds exactly the present scenario with the library, and draws the page's charts.

A notebook holds the scenario, never a record: a sample is loaded by name, and a table of one's own is named as missing,
with random records of the domain in its place until the reader puts it there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import bfsoft as bf
from bfsoft import Scenario

_Cell = tuple[str, str]
Recipe = Callable[[Scenario, Mapping[str, Any]], list[_Cell]]


def notebook(page: str, scenario: Scenario, view: Mapping[str, Any] | None = None) -> str:
    """The text of an .ipynb file for a page ("policy", "synthesis", …); other names get the policy's.

    ``view`` is what the page shows of the scenario, such as the chosen attribute; what is missing takes its default.
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


def _data(scenario: Scenario) -> list[_Cell]:
    if scenario.data in bf.samples():
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
        *_data(scenario),
        ("code", "records.frame().head()"),
    ]


def _synthesis(scenario: Scenario, view: Mapping[str, Any]) -> list[_Cell]:
    name = _chosen(scenario, view)
    orders = min(2, len(scenario.domain.names))
    return [
        ("text", "## Hard and BF-Soft, same data, same seed\n\nA simulation with repeatable noise: no protection."),
        *_data(scenario),
        (
            "code",
            "runs = {\n"
            "    method.name: bf.synthesize(\n"
            "        records, policy, method.vote, budget, size=scenario.size, rounds=scenario.rounds,\n"
            "        seed=scenario.seed, shares=scenario.shares, threshold=scenario.threshold,\n"
            "        resampling=scenario.resampling, mutation=scenario.mutation, calibration=method.calibration,\n"
            "    )\n"
            "    for method in (bf.hard(), bf.bf_soft(tau))\n"
            "}\n"
            'runs["BF-Soft"].records.head()',
        ),
        (
            "code",
            "import pandas as pd\nfrom bfsoft_explorer.charts import synthesis as charts\n\n"
            "fidelity = bf.Fidelity(records)\n"
            "errors = pd.DataFrame(\n"
            "    [\n"
            f"        (method, each.number, fidelity.error(each.selected, {orders}))\n"
            "        for method, run in runs.items()\n"
            "        for each in run.rounds\n"
            "    ],\n"
            '    columns=["method", "round", "error"],\n'
            ")\n"
            "charts.error_curves(errors, scenario.rounds)",
        ),
        (
            "code",
            "last = {method: run.rounds[-1] for method, run in runs.items()}\n"
            "shares = charts.marginal_frame(\n"
            f"    fidelity, {name!r}, {{method: each.selected for method, each in last.items()}}\n"
            ")\n"
            f"charts.marginal_chart(shares, {name!r}, numeric={scenario.domain[name].kind == 'numeric'})",
        ),
        ("code", 'charts.vote_chart("Hard", last["Hard"]) | charts.vote_chart("BF-Soft", last["BF-Soft"])'),
    ]


def _temperature(scenario: Scenario, view: Mapping[str, Any]) -> list[_Cell]:
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
        *_data(scenario),
        (
            "code",
            "from bfsoft.synthesis import random_candidates\n"
            "from bfsoft.temperature import temperatures, vote_profile\n\n"
            "candidates = random_candidates(policy.domain, scenario.size, scenario.seed)\n"
            "profile = vote_profile(records, candidates, temperatures(25))\n"
            "charts.sharpness_chart(profile, tau)",
        ),
    ]


def _boundaries(scenario: Scenario, view: Mapping[str, Any]) -> list[_Cell]:
    names = scenario.domain.names
    along = _chosen(scenario, view, "along")
    across = _chosen(scenario, view, "across")
    down = view["down"] if view.get("down") in names else next((name for name in names if name != across), across)
    record = view.get("record")
    if record is None or len(record) != len(names):
        record = [len(attribute.values) // 2 for attribute in scenario.domain.attributes]
    drawn = view.get("drawn") if view.get("source") == "drawn" else None
    candidates = (
        f"np.array({[[int(code) for code in row] for row in drawn]})"
        if drawn is not None
        else f"random_candidates(policy.domain, {view.get('many', 100)}, seed={view.get('seed', scenario.seed)})"
    )
    cells = [
        ("text", "## Where does the vote jump?"),
        (
            "code",
            "import numpy as np\n"
            "from bfsoft.crossings import plane, walk\n"
            "from bfsoft.synthesis import random_candidates\n"
            "from bfsoft_explorer.charts import boundaries as charts\n\n"
            f"record = np.array({[int(code) for code in record]})\n"
            f"candidates = {candidates}\n"
            f"walked = walk(policy, record, {along!r}, candidates, tau)\n"
            f"charts.walk_chart(walked, {len(scenario.domain[along].values) - 1}, bound.l2)",
        ),
    ]
    if across != down:
        plot = f"charts.plane_figure(policy, plane(policy.domain, {across!r}, {down!r}, record), candidates)"
        cells.append(("code", plot))
    return cells


RECIPES: dict[str, Recipe] = {
    "policy": _policy,
    "domain": _domain,
    "boundaries": _boundaries,
    "temperature": _temperature,
    "synthesis": _synthesis,
}
