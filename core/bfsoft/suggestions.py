"""Suggestions: changes to a policy that would lower its reach, or protect more at no cost; each computed, not canned.

It knows a policy and a vote, nothing of data: what a change does to the quality of a synthesis is for a pilot to tell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from .domain import Categorical, Domain, Hierarchical, rational
from .policy import Blocks, Complete, Edges, Policy, Rule, Threshold
from .sensitivity import equal_noise, sensitivity_bound
from .votes import Vote
from .wording import listed, number

# A change that saves less of the noise than this is not worth a reader's time.
_WORTH = 0.02
_LONGEST_NAME = 40
_ALREADY = "a BF-Soft release hides these as well already; the policy would then promise it"


@dataclass(frozen=True)
class Suggestion:
    """One change: what to do, what it means for people, and the policy after it with its numbers.

    ``kind`` is "remove", "narrow", "drop", "split", "group", "weight" or "participation" for changes that lower the
    noise, "protect" or "widen" for protection that costs nothing, "start" for a first edge. ``reach`` is the new
    policy's, ``ratio`` its noise ratio, ``attributes`` those it touches.
    """

    kind: str
    attributes: tuple[str, ...]
    action: str
    consequence: str
    policy: Policy
    reach: float
    ratio: float

    @property
    def budget_factor(self) -> float:
        """How many times the budget the hard vote would need for the same noise, 1/q²; inf without noise."""
        return equal_noise(self.ratio)

    @property
    def free(self) -> bool:
        """Whether it protects more without any more noise."""
        return self.kind in ("protect", "widen")


def suggestions(policy: Policy, vote: Vote, most: int = 6) -> list[Suggestion]:
    """At most so many changes to a policy, those that save most noise first, then what protects more for free.

    A change is listed when it lowers the noise by 2 % or more and leaves an edge; where several attributes share the
    reach, it changes all of them. A policy without edges gets first edges to start from.

    Protection is free where values lie no further apart than the reach: the soft vote's bound then holds for them
    whether or not the policy lists them (THEORY, "Privacy"), and listing them makes a promise of it.

    >>> from bfsoft import Categorical, Domain, Numeric, SoftVote
    >>> domain = Domain([Numeric("age", 17, 90), Categorical("income", ["<=50K", ">50K"])])
    >>> policy = Policy(domain, {"age": Threshold(7), "income": Complete()})
    >>> best = suggestions(policy, SoftVote(0.03))[0]
    >>> best.action, round(policy.reach, 3), round(best.reach, 3)
    ('Take income out of the policy', 0.5, 0.048)
    """
    found: list[Suggestion] = []
    seen = {_fingerprint(policy)}

    def offer(kind: str, names: Sequence[str], action: str, consequence: str, changed: Policy) -> None:
        if _fingerprint(changed) not in seen:
            seen.add(_fingerprint(changed))
            ratio = sensitivity_bound(changed, vote).ratio
            found.append(Suggestion(kind, tuple(names), action, consequence, changed, changed.reach, ratio))

    now = sensitivity_bound(policy, vote).ratio
    if policy.widest_edge is None:
        for name in policy.domain.names:
            for step in _first_edges(policy, name):
                offer("start", [name], *step)
        return sorted(found, key=lambda each: each.ratio)[:most]
    for kind, names, action, consequence, changed in _cheaper(policy):
        offer(kind, names, action, consequence, changed)
    worth = [each for each in found if each.ratio <= now * (1 - _WORTH) and each.policy.widest_edge is not None]
    savings = sorted(worth, key=lambda each: each.ratio)
    found.clear()
    free: list[Suggestion] = []
    for kind, name, action, consequence, changed in _free(policy):
        offer(kind, [name], action, consequence, changed)
        free = [each for each in found if each.ratio <= now]
        if len(free) == most:
            break  # all of them are free, so the first will do, and a domain may have thousands of attributes
    # Both sorts matter: neither may push the other off the list.
    kept = min(len(savings), max(most - len(free), (most + 1) // 2))
    return [*savings[:kept], *free[: most - kept]]


def _fingerprint(policy: Policy) -> Any:
    return policy.domain, tuple(sorted((name, repr(rule)) for name, rule in policy.rules.items())), policy.participation


# ------------------------------------------------------------------ less noise

_Move = tuple[str, str, Policy]


def _cheaper(policy: Policy) -> Iterator[tuple[str, list[str], str, str, Policy]]:
    setters = [name for name, reach in policy.reaches.items() if reach == policy.reach]
    if len(setters) == 1:
        name = setters[0]
        for kind, moves in (
            ("remove", _remove), ("narrow", _narrow), ("split", _split), ("drop", _drop), ("group", _group),
            ("weight", _lighter),
        ):  # fmt: skip
            for action, consequence, changed in moves(policy, name):
                yield kind, [name], action, consequence, changed
    else:
        together = policy
        for name in setters:
            together = together.with_rule(name, None)
        said = listed(setters)
        yield "remove", setters, f"Take {said} out of the policy", f"{said} are then not protected at all", together
    if policy.participation:
        yield (
            "participation", [], "Protect values only, not taking part",
            "who is in the table at all may then show", Policy(policy.domain, policy.rules),
        )  # fmt: skip


def _remove(policy: Policy, name: str) -> Iterator[_Move]:
    yield f"Take {name} out of the policy", f"{name} is then not protected at all", policy.with_rule(name, None)


def _narrow(policy: Policy, name: str) -> Iterator[_Move]:
    """A smaller θ: down to the next attribute's reach, and to half."""
    attribute, rule = policy.domain[name], policy.rules[name]
    if attribute.kind == "categorical" or not isinstance(rule, Threshold | Complete):
        return
    now = _widest_steps(policy, name)
    others = max((_exact_reach(policy, other) for other in policy.domain.names if other != name), default=Fraction(0))
    for target in (_steps_within(policy, name, others), now // 2):
        within = _attained(attribute, min(target, now - 1))
        if within:
            theta = _theta(attribute, within)
            said = number(theta, 6)
            yield (
                f"θ = {said} for {name}", f"values of {name} further apart than {said} are no longer joined directly",
                policy.with_rule(name, Threshold(theta)),
            )  # fmt: skip


def _split(policy: Policy, name: str) -> Iterator[_Move]:
    """The widest blocks of a numeric attribute, each cut in the middle."""
    attribute, rule = policy.domain[name], policy.rules[name]
    if attribute.kind != "numeric" or not isinstance(rule, Blocks):
        return
    now, blocks, cuts = _widest_steps(policy, name), [], []
    for block in rule.blocks:
        codes = sorted(attribute.code(value) for value in block)
        if codes and codes[-1] - codes[0] == now:
            middle = (codes[0] + codes[-1] + 1) / 2
            parts = [code for code in codes if code < middle], [code for code in codes if code >= middle]
            blocks += [[attribute.values[code] for code in part] for part in parts]
            cuts.append(attribute.values[parts[1][0]])
        else:
            blocks.append([*block])
    said = listed([str(cut) for cut in cuts])
    yield (
        f"Cut the widest block of {name} at {said}", f"the policy then shows on which side of {said} a person is",
        policy.with_rule(name, Blocks(blocks)),
    )  # fmt: skip


def _drop(policy: Policy, name: str) -> Iterator[_Move]:
    """The longest drawn edges, where they are few."""
    if not isinstance(policy.rules[name], Edges):
        return
    attribute, pairs = policy.domain[name], policy.edges(name)
    steps = attribute.steps(pairs[:, 0], pairs[:, 1])
    longest = steps == steps.max()
    if longest.all() or longest.sum() > max(1, len(pairs) // 5):
        return
    named = [(attribute.values[a], attribute.values[b]) for a, b in pairs[~longest].tolist()]
    a, b = (attribute.values[code] for code in pairs[longest][0])
    more = int(longest.sum()) - 1
    what = f"the edge {a} ↔ {b}" + (f" and {more} as long" if more else "")
    yield (
        f"Drop {what} of {name}", f"{a} and {b} are then told apart more easily", policy.with_rule(name, Edges(named))
    )  # fmt: skip


def _group(policy: Policy, name: str) -> Iterator[_Move]:
    """A two-level hierarchy for a flat categorical attribute: siblings are then half as far apart as strangers."""
    attribute = policy.domain[name]
    if attribute.kind != "categorical":
        return
    groups = policy.components(name)
    if groups.max() > 0:
        tree = _tree(attribute, groups)
        yield (
            f"A two-level hierarchy for {name}", "every pair stays joined as it is, but lies half as far apart",
            _on(policy, Hierarchical(name, tree), policy.rules[name]),
        )  # fmt: skip
    elif len(attribute.values) >= 4:
        count = round(math.sqrt(len(attribute.values)))
        tree = _tree(attribute, np.arange(len(attribute.values)) * count // len(attribute.values))
        yield (
            f"A two-level hierarchy of {count} groups for {name}",
            "only values of one group stay joined; put them into groups that mean something on Data and domain",
            _on(policy, Hierarchical(name, tree), Threshold(2)),
        )  # fmt: skip


def _tree(attribute: Categorical, groups: np.ndarray) -> dict[str, list[Any]]:
    tree: dict[str, list[Any]] = {}
    for group in range(int(groups.max()) + 1):
        members = [attribute.values[code] for code in np.flatnonzero(groups == group)]
        name = ", ".join(map(str, members))
        if len(name) > _LONGEST_NAME:
            name = f"{members[0]} and {len(members) - 1} more"
        while name in tree:
            name += "′"
        tree[name] = members
    return tree


def _on(policy: Policy, attribute: Any, rule: Rule) -> Policy:
    """The policy over a domain in which an attribute takes the place of the one of its name."""
    domain = policy.domain
    attributes = [attribute if each.name == attribute.name else each for each in domain.attributes]
    weights = _whole({name: domain.exact_weights[domain.position(name)] for name in domain.names})
    return Policy(Domain(attributes, weights), {**policy.rules, attribute.name: rule}, policy.participation)


def _lighter(policy: Policy, name: str) -> Iterator[_Move]:
    """Half the weight for the attribute that sets the reach; the others share what it gives up."""
    domain = policy.domain
    if len(domain.names) < 2 or domain.exact_weights[domain.position(name)] == 1:
        return
    weights = dict(zip(domain.names, domain.exact_weights, strict=True))
    weights[name] /= 2
    yield (
        f"Give {name} half its weight", f"distances then mind {name} less, and a synthesis may follow it less closely",
        Policy(Domain(domain.attributes, _whole(weights)), policy.rules, policy.participation),
    )  # fmt: skip


def _whole(weights: dict[str, Fraction]) -> dict[str, float]:
    """The same weights as whole numbers, which a domain keeps exactly."""
    common = math.lcm(*(weight.denominator for weight in weights.values()))
    return {name: int(weight * common) for name, weight in weights.items()}


# ------------------------------------------------------------------ more protection for the same noise


def _free(policy: Policy) -> Iterator[tuple[str, str, str, str, Policy]]:
    """What the present reach leaves room for, unprotected attributes first."""
    room = max(_exact_reach(policy, name) for name in policy.domain.names)
    for name in policy.unprotected:
        attribute = policy.domain[name]
        within = _attained(attribute, _steps_within(policy, name, room))
        if within >= attribute.span > 0:
            yield (
                "protect",
                name,
                f"Join all values of {name}",
                _ALREADY,
                policy.with_rule(name, Complete()),
            )
        elif within:
            theta = _theta(attribute, within)
            said = number(theta, 6)
            yield (
                "protect", name, f"Protect {name} with θ = {said}", _ALREADY, policy.with_rule(name, Threshold(theta))
            )  # fmt: skip
    for name, rule in policy.rules.items():
        attribute = policy.domain[name]
        if not isinstance(rule, Threshold) or attribute.kind == "categorical" or not policy.edge_count(name):
            continue
        within = _attained(attribute, _steps_within(policy, name, room))
        if within > _widest_steps(policy, name):
            theta = _theta(attribute, within)
            said = number(theta, 6)
            yield (
                "widen", name, f"θ = {said} for {name}", _ALREADY, policy.with_rule(name, Threshold(theta))
            )  # fmt: skip


def _first_edges(policy: Policy, name: str) -> Iterator[_Move]:
    """A tenth of the range, siblings, or all values: where most people would begin."""
    attribute = policy.domain[name]
    if not attribute.span:
        return
    if attribute.kind == "categorical":
        yield f"Join all values of {name}", f"all of {name} then hides", policy.with_rule(name, Complete())
        return
    steps = max(1, attribute.span // 10) if attribute.kind == "numeric" else _attained(attribute, 2)
    if steps:
        theta = _theta(attribute, steps)
        said = number(theta, 6)
        yield (
            f"θ = {said} for {name}",
            f"values of {name} up to {said} apart then hide",
            policy.with_rule(name, Threshold(theta)),
        )


# ------------------------------------------------------------------ reach in exact numbers


def _widest_steps(policy: Policy, name: str) -> int:
    attribute, rule = policy.domain[name], policy.rules.get(name)
    pair = rule.widest(attribute) if rule else None
    return int(attribute.steps(np.array(pair[0]), np.array(pair[1]))) if pair else 0


def _per_step(policy: Policy, name: str) -> Fraction:
    domain = policy.domain
    return domain.exact_weights[domain.position(name)] / max(1, domain[name].span)


def _exact_reach(policy: Policy, name: str) -> Fraction:
    return _per_step(policy, name) * _widest_steps(policy, name)


def _steps_within(policy: Policy, name: str, reach: Fraction) -> int:
    """The most steps of an attribute that stay within a reach; its whole span where it has no weight."""
    attribute, per_step = policy.domain[name], _per_step(policy, name)
    return attribute.span if per_step == 0 else min(attribute.span, int(reach / per_step))


def _attained(attribute: Any, steps: int) -> int:
    """The largest distance between two values that is at most so many steps; 0 when there is none."""
    if attribute.kind == "numeric":
        return max(0, steps)
    codes = np.arange(len(attribute.values))
    apart = np.unique(attribute.steps(codes[:, None], codes[None, :]))
    return int(apart[apart <= max(0, steps)].max())


def _theta(attribute: Any, steps: int) -> float:
    """So many steps in the attribute's own units."""
    unit = rational(attribute.step) if attribute.kind == "numeric" else Fraction(1)
    theta = unit * steps
    return int(theta) if theta.denominator == 1 else float(theta)
