"""The canvas's own arithmetic against bfsoft's: same edges, same reach, same bounds, same ε, to 1e-12."""

from __future__ import annotations

import math
import random

import pytest

import bfsoft as bf
from bfsoft.privacy import exact_epsilon
from bfsoft_explorer.canvas._contract import canvas_data

TIGHT = {"rel": 1e-12, "abs": 1e-12}


def adult(**rules):
    domain = bf.Domain(
        [
            bf.Numeric("age", 17, 90),
            bf.Categorical("workclass", ["Private", "Self-emp", "Local-gov", "State-gov", "Never-worked"]),
            bf.Numeric("hours", 1, 99),
            bf.Hierarchical(
                "job", {"office": ["admin.", "management"], "manual": ["blue-collar", {"care": ["nurse", "housemaid"]}]}
            ),
            bf.Categorical("income", ["<=50K", ">50K"]),
        ]
    )
    return bf.Policy(domain, rules)


def raw(page, name: str) -> float:
    return float(page.locator(f"[data-readout={name}]").get_attribute("data-raw"))


# THEORY, "Numbers to reproduce"
@pytest.mark.parametrize(
    ("rules", "tau", "expected"),
    [
        ({"age": bf.Threshold(7)}, 0.03, {"reach": 0.019178, "ratio": 0.3092, "l1": 0.61835, "l2": 0.43724}),
        ({"age": bf.Threshold(7)}, 0.015, {"reach": 0.019178, "ratio": 0.5644}),
        ({"age": bf.Threshold(7)}, 0.06, {"reach": 0.019178, "ratio": 0.1585}),
        ({"age": bf.Threshold(7)}, 0.03, {"budget-factor": 10.461, "attribute-reach": 0.019178}),
        ({"age": bf.Threshold(7), "hours": bf.Threshold(8)}, 0.03, {"reach": 0.019178}),
        ({"age": bf.Threshold(7), "income": bf.Complete()}, 0.03, {"reach": 0.2, "attribute-reach": 0.019178}),
    ],
)
def test_the_read_outs_show_the_numbers_of_the_theory(mount, rules, tau, expected):
    page = mount(canvas_data(adult(**rules), "age", tau=tau))
    for name, number in expected.items():
        assert raw(page, name) == pytest.approx(number, rel=2e-4), name


def random_case(chance: random.Random):
    """A domain of all kinds, weights, a policy with any rule on each attribute, and one attribute to look at."""
    domain = bf.Domain(
        [
            bf.Numeric("n", 0, chance.choice([1, 7, 40])),
            bf.Numeric("x", -1, 1, 0.1),
            bf.Categorical("c", [f"c{i}" for i in range(chance.randint(1, 6))]),
            bf.Hierarchical("h", {"a": ["p", "q", {"deep": ["r", "s"]}], "b": ["t"], "u": None}),
        ],
        weights={name: chance.choice([0, 0.1, 1, 3]) + (name == "n") * 0.5 for name in "nxch"},
    )

    def rule(attribute):
        values = list(attribute.values)
        kind = chance.choice(["none", "threshold", "blocks", "complete", "edges"])
        if kind == "threshold":
            return bf.Threshold(chance.choice([0, 0.3, 1, 2, 3.5, 5]))
        if kind == "blocks":
            chance.shuffle(values)
            cut = chance.randint(0, len(values))
            return bf.Blocks([values[:cut], values[cut:]])
        if kind == "complete":
            return bf.Complete()
        if kind == "edges" and len(values) > 1:
            return bf.Edges([chance.sample(values, 2) for _ in range(chance.randint(1, 5))])
        return None

    rules = {attribute.name: rule(attribute) for attribute in domain.attributes}
    policy = bf.Policy(domain, {n: r for n, r in rules.items() if r is not None}, participation=chance.random() < 0.3)
    return policy, chance.choice("nxch"), 10 ** chance.uniform(-3, 0.5)


def test_edges_reach_and_bounds_equal_those_of_bfsoft_on_random_policies(mount):
    chance = random.Random(20)
    cases = [random_case(chance) for _ in range(150)]
    page = mount(canvas_data(adult(), "age", tau=0.03))
    answers = page.evaluate(
        """cases => cases.map((data) => {
            const edges = canvas.edgesOf(data.attribute, data.rule);
            const pairs = [];
            edges.each((i, j) => pairs.push([i, j]));
            return { pairs, count: edges.count, widest: edges.widest, ...canvas.readouts(data, { most: edges.most }) };
        })""",
        [canvas_data(policy, name, tau=tau) for policy, name, tau in cases],
    )
    seen_edges = seen_floors = 0
    for (policy, name, tau), answer in zip(cases, answers, strict=True):
        attribute = policy.domain[name]
        assert sorted(answer["pairs"]) == policy.edges(name).tolist()
        assert answer["count"] == policy.edge_count(name)
        widest = policy.widest(name)
        found = answer["widest"] and tuple(attribute.values[code] for code in answer["widest"])
        assert found == (widest and (widest.a, widest.b))
        assert answer["own"] == pytest.approx(policy.reaches[name], **TIGHT)
        assert answer["reach"] == pytest.approx(policy.reach, **TIGHT)
        assert answer["setBy"] == (policy.widest_edge.attribute if policy.reach else None)
        bound = bf.sensitivity_bound(policy, bf.SoftVote(tau))
        for part in ("l1", "l2", "ratio"):
            assert answer[part] == pytest.approx(getattr(bound, part), **TIGHT)
        if bound.ratio > 0:
            assert answer["factor"] == pytest.approx(1 / bound.ratio**2, rel=1e-12)
        seen_edges += len(answer["pairs"])
        seen_floors += policy.participation and bound.l2 == 1
    assert seen_edges > 1000
    assert seen_floors > 5


def test_exact_epsilon_equals_that_of_bfsoft(mount):
    page = mount(canvas_data(adult(), "age", tau=0.03))
    budgets = [(rho, delta) for rho in (1e-8, 1e-4, 5.5e-4, 4.4e-3, 0.05, 1, 30) for delta in (1e-9, 1e-5, 0.01)]
    found = page.evaluate("budgets => budgets.map(([rho, delta]) => canvas.exactEpsilon(rho, delta))", budgets)
    for (rho, delta), epsilon in zip(budgets, found, strict=True):
        assert epsilon == pytest.approx(exact_epsilon(rho, delta), abs=1e-12, rel=1e-11), (rho, delta)


def test_the_scaled_error_function_keeps_its_digits_far_out(mount):
    page = mount(canvas_data(adult(), "age", tau=0.03))
    scipy_special = pytest.importorskip("scipy.special")
    points = [0, 1e-9, 0.3, 0.999, 1, 1.001, 2.5, 7, 30, 1e3, 1e8]
    found = page.evaluate("points => points.map(canvas.erfcx)", points)
    assert found == pytest.approx([float(scipy_special.erfcx(x)) for x in points], rel=3e-15)
    cdf = page.evaluate("points => points.map(canvas.normalCdf)", [-9.5, -2, 0, 0.1, 4])
    assert cdf == pytest.approx([float(scipy_special.ndtr(x)) for x in (-9.5, -2, 0, 0.1, 4)], rel=1e-13)


def test_the_budget_shows_as_the_exact_epsilon(mount):
    budget = bf.Budget(rho=5.5e-4, delta=1e-5)
    page = mount(canvas_data(adult(age=bf.Threshold(7)), "age", tau=0.03, budget=budget))
    assert raw(page, "epsilon") == pytest.approx(budget.epsilon, rel=1e-11)


def test_without_edges_the_read_outs_say_so(mount):
    page = mount(canvas_data(adult(), "hours", tau=0.03))
    assert raw(page, "reach") == 0
    assert raw(page, "ratio") == 0
    assert math.isinf(raw(page, "budget-factor"))
    assert "nothing about it is protected" in page.locator(".bf-summary").inner_text()
