"""What the boundary plane and Python tell each other: a plain data dictionary in, a committed edit out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bfsoft.crossings import Plane
from bfsoft.domain import Codes, Domain
from bfsoft.policy import Complete, Policy, Threshold

from .. import words
from ..charts.style import REGIONS

# More pairs than this are megabytes to send with every change of the page, and more than a picture can show.
_MOST_PAIRS = 200_000


@dataclass(frozen=True)
class PlaneEdit:
    """What one gesture on the plane left behind; ``candidates`` is None where the gesture did not touch them."""

    record: Codes
    tau: float
    vote: str
    policy: Policy
    candidates: Codes | None


def plane_data(
    policy: Policy, plane: Plane, candidates: Codes, *, tau: float, vote: str, revision: int = 0, epoch: str = ""
) -> dict[str, Any]:
    """All that the plane needs to draw itself and to follow a gesture alone, as JSON-ready values.

    Whole numbers that a double cannot hold travel as text. ``revision`` is the number of the last edit taken up, and
    ``epoch`` names what the numbers count within: a plane mounted anew starts counting again.
    """
    domain = policy.domain
    shown = (plane.across, plane.down)
    return {
        "attributes": [
            _described(attribute, multiplier)
            for attribute, multiplier in zip(domain.attributes, domain.multipliers, strict=True)
        ],
        "denominator": str(domain.denominator),
        "across": domain.position(plane.across),
        "down": domain.position(plane.down),
        "record": plane.record.tolist(),
        "candidates": candidates.tolist(),
        "rules": {"across": _rule(policy, plane.across), "down": _rule(policy, plane.down)},
        "elsewhere": [name for name in domain.names if name not in shown and policy.edge_count(name)],
        "tau": float(tau),
        "vote": vote,
        "hues": [*REGIONS],
        "revision": revision,
        "epoch": epoch,
    }


def _described(attribute: Any, multiplier: int) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": attribute.name,
        "kind": attribute.kind,
        "values": [str(value) for value in attribute.values],
        "multiplier": str(multiplier),
    }
    if attribute.kind == "numeric":
        described["step"] = attribute.step
    if attribute.kind == "hierarchical":
        codes = np.arange(len(attribute.values))
        described["steps"] = attribute.steps(codes[:, None], codes[None, :]).tolist()
    return described


def _rule(policy: Policy, name: str) -> dict[str, Any]:
    """A rule with a θ as its θ, in the attribute's units; any other by the pairs it joins and a word for it."""
    attribute, rule = policy.domain[name], policy.rules.get(name)
    numeric = attribute.kind == "numeric"
    limit = (attribute.high - attribute.low) if numeric else attribute.span
    plain: dict[str, Any] = {"limit": limit, "unit": attribute.step if numeric else 1, "theta": None, "pairs": None}
    if isinstance(rule, Threshold):
        plain["theta"] = limit if math.isinf(rule.theta) else min(rule.theta, limit)
    elif isinstance(rule, Complete):
        plain |= {"theta": limit, "drawn": words.rule(policy, name)}
    elif rule is not None and policy.edge_count(name):
        listed = policy.edges(name).tolist() if policy.edge_count(name) <= _MOST_PAIRS else None
        plain |= {"pairs": listed, "uncounted": listed is None, "drawn": words.rule(policy, name)}
    return plain


def committed_edit(policy: Policy, plane: Plane, committed: Mapping[str, Any]) -> PlaneEdit:
    """The edit that the plane committed, checked; raises BFSoftError for codes or thresholds that do not fit."""
    domain = policy.domain
    for axis, theta in committed["theta"].items():
        policy = policy.with_rule({"across": plane.across, "down": plane.down}[axis], _threshold(theta))
    candidates = committed["candidates"]
    return PlaneEdit(
        _codes(domain, [committed["record"]], "the record")[0],
        float(committed["tau"]),
        "soft" if committed["vote"] == "soft" else "hard",
        policy,
        None if candidates is None else _codes(domain, candidates, "candidates"),
    )


def _threshold(theta: float) -> Threshold | None:
    """A slider at 0 protects nothing; steps of a decimal grid come back as they are written."""
    rounded = round(float(theta), 9)
    return Threshold(int(rounded) if rounded.is_integer() else rounded) if rounded > 0 else None


def _codes(domain: Domain, rows: Any, what: str) -> Codes:
    # A browser writes 3 and 3.0 alike.
    return domain.check_codes(np.array(rows, dtype=np.int64).reshape(-1, len(domain.names)), what)
