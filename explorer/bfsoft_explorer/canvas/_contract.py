"""What the policy canvas and Python tell each other: a plain data dictionary in, a committed edit out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bfsoft.domain import Domain
from bfsoft.errors import PolicyError
from bfsoft.policy import Blocks, Complete, Edges, Policy, Rule, Threshold

# Weights cross as floats; a difference below this is the crossing, not the user, and must not disturb exact weights.
_SAME_WEIGHT = 1e-9
# A longer grid of numbers is sent as its bounds and step alone; the canvas writes the labels.
_LISTED_VALUES = 5_000


def canvas_data(
    policy: Policy,
    attribute: str,
    *,
    tau: float,
    budget: Any = None,
    revision: int = 0,
    chooser: Sequence[str] | None = None,
) -> dict[str, Any]:
    """All that the canvas needs to draw one attribute and to compute its read-outs alone, as JSON-ready values.

    ``revision`` is the number of the last edit already taken up, so that the canvas can tell an old answer from a
    new wish; ``chooser`` lists attributes for the canvas's own chooser (none in the app, whose page has one).
    """
    values = policy.domain[attribute]
    return {
        "attribute": _described(values),
        "rule": rule_to_json(policy, attribute),
        "weights": policy.domain.weights,
        "reaches": {name: _widest_distance(policy, name) for name in policy.domain.names},
        "tau": float(tau),
        "participation": policy.participation,
        "rho": None if budget is None else float(budget.rho),
        "delta": None if budget is None else float(budget.delta),
        "revision": revision,
        "chooser": None if chooser is None else [*chooser],
    }


def _described(attribute: Any) -> dict[str, Any]:
    described: dict[str, Any] = {"name": attribute.name, "kind": attribute.kind}
    if attribute.kind != "numeric" or attribute.span < _LISTED_VALUES:
        described["values"] = [str(value) for value in attribute.values]
    if attribute.kind == "numeric":
        described |= {"low": attribute.low, "high": attribute.high, "step": attribute.step}
    if attribute.kind == "hierarchical":
        codes = np.arange(len(attribute.values))
        described["steps"] = attribute.steps(codes[:, None], codes[None, :]).tolist()
        described["tree"] = {"name": attribute.name, "children": [*_children(attribute.tree)]}
    return described


def _children(node: Any) -> Iterator[Any]:
    """The branches and leaves below a node, in the order of the attribute's values."""
    if isinstance(node, Mapping):
        for name, child in node.items():
            yield str(name) if child is None else {"name": str(name), "children": [*_children(child)]}
    else:
        for child in node:
            if isinstance(child, Mapping | tuple):
                yield from _children(child)
            else:
                yield str(child)


def _widest_distance(policy: Policy, name: str) -> float:
    """The largest δ over an attribute's edges, free of its weight, which the canvas may change."""
    attribute, rule = policy.domain[name], policy.rules.get(name)
    pair = rule.widest(attribute) if rule else None
    if pair is None:
        return 0.0
    return int(attribute.steps(np.array(pair[0]), np.array(pair[1]))) / attribute.span


def rule_to_json(policy: Policy, name: str) -> dict[str, Any] | None:
    """An attribute's rule in positions of its values; None for an unprotected attribute."""
    attribute, rule = policy.domain[name], policy.rules.get(name)
    if rule is None:
        return None
    if isinstance(rule, Threshold):
        whole = attribute.high - attribute.low if attribute.kind == "numeric" else attribute.span
        return {"threshold": whole if math.isinf(rule.theta) else rule.theta}
    if isinstance(rule, Blocks):
        return {"blocks": [[attribute.code(value) for value in block] for block in rule.blocks]}
    if isinstance(rule, Complete):
        return {"complete": True}
    return {"edges": policy.edges(name).tolist()}


def rule_from_json(domain: Domain, name: str, rule: Mapping[str, Any] | None) -> Rule | None:
    """The rule that the canvas committed; raises PolicyError when it names positions the attribute has not."""
    if rule is None:
        return None
    values = domain[name].values

    def value(position: Any) -> Any:
        if isinstance(position, bool) or not isinstance(position, int | float) or int(position) != position:
            raise PolicyError(f"{name!r}: the canvas named {position!r}, which is no position among its values")
        if not 0 <= position < len(values):
            raise PolicyError(f"{name!r}: the canvas named value {position}, but there are {len(values)} values")
        return values[int(position)]

    if "threshold" in rule:
        theta = rule["threshold"]
        return Threshold(int(theta) if isinstance(theta, float) and theta.is_integer() else theta)
    if "blocks" in rule:
        return Blocks([[value(position) for position in block] for block in rule["blocks"]])
    if rule.get("complete"):
        return Complete()
    if "edges" in rule:
        return Edges([(value(a), value(b)) for a, b in rule["edges"]])
    raise PolicyError(f"{name!r}: the canvas sent a rule of no known kind, {sorted(rule)}")


def committed_policy(policy: Policy, committed: Mapping[str, Any]) -> Policy:
    """The policy after an edit on the canvas: its attribute's rule, and the weights where they really changed."""
    name = committed["attribute"]
    domain, weights = policy.domain, committed.get("weights")
    if weights is not None and _differ(domain.weights, weights):
        domain = Domain(domain.attributes, weights)
    rule = rule_from_json(domain, name, committed.get("rule"))
    rules = {other: kept for other, kept in policy.rules.items() if other != name}
    changed = Policy(domain, rules if rule is None else {**rules, name: rule}, policy.participation)
    return policy if changed == policy else changed


def _differ(before: Mapping[str, float], after: Mapping[str, float]) -> bool:
    return before.keys() != after.keys() or any(abs(before[name] - after[name]) > _SAME_WEIGHT for name in before)
