"""What a policy buys, costs and leaves open, in plain words computed from the policy; knows nothing of pages."""

from __future__ import annotations

import math

import numpy as np

from bfsoft import Budget, Edge, Policy, Scenario, Sensitivity, sensitivity_bound
from bfsoft.privacy import noise_scale
from bfsoft.suggestions import Suggestion
from bfsoft.votes import SoftVote
from bfsoft.wording import counted as counted
from bfsoft.wording import listed
from bfsoft.wording import number as number

_MOST_NAMED = 6
# Below this largest share of a vote a temperature is called blunt; from this ratio on, "all" of the hard vote's noise.
_BLUNT, _ALL = 0.1, 0.9995


def plain(text: str) -> str:
    """Text of the user's own making for a place that reads Markdown: shown as it is, never as markup."""
    return "".join(f"\\{letter}" if letter in "\\`*_{}[]()<>#+-.!|~$:" else letter for letter in text)


def of_file(name: str, error: Exception) -> str:
    """What is wrong with a file that a user brought; the error may name it itself."""
    return f"{name}: {str(error).removeprefix(f'{name}: ')}"


def edge(widest: Edge) -> str:
    """An edge as people say it: ``age 17 ↔ 24``."""
    return f"{widest.attribute} {widest.a} ↔ {widest.b}"


def rule(policy: Policy, attribute: str) -> str:
    """An attribute's rule in a few words."""
    given = policy.rules.get(attribute)
    if given is None or not policy.edge_count(attribute):
        return "unprotected"
    kind = type(given).__name__
    if kind == "Threshold":
        return f"θ = {number(given.theta, 6)}"  # type: ignore[attr-defined]
    if kind == "Blocks":
        count = sum(len(block) > 1 for block in given.blocks)  # type: ignore[attr-defined]
        return counted(count, "block")
    if kind == "Complete":
        return "complete"
    return counted(policy.edge_count(attribute), "edge")


def summary(policy: Policy) -> str:
    """The whole policy in a line: ``age θ = 7 · income complete``."""
    parts = [f"{name} {rule(policy, name)}" for name in policy.domain.names if policy.edge_count(name)]
    return " · ".join(parts) if parts else "nothing protected"


def what_it_buys(policy: Policy, vote: SoftVote, bound: Sensitivity) -> str:
    """The gain of softness under this policy, in one sentence."""
    if bound.l2 == 0:
        if policy.widest_edge is None:
            return "The policy has no edges, so it asks for no noise and protects nobody. Draw an edge to begin."
        return "Every joined attribute has weight 0: votes do not look at it, so its edges need no noise at all."
    if bound.ratio > 0.98:
        share = number(bound.ratio) if bound.ratio < _ALL else "all"
        return (
            f"The soft vote needs {share} of the hard vote's noise{': almost all of it' if share != 'all' else ''}. "
            f"The reach {number(policy.reach)} is wide against τ = {number(vote.tau)}."
        )
    return (
        f"The soft vote needs {number(bound.ratio)} of the hard vote's noise: as if you had "
        f"{number(bound.budget_factor)} times the budget."
    )


def blunt(vote: SoftVote, size: int) -> str:
    """A warning where no record can favour any candidate by much, whatever the table; else empty.

    No two records are further apart than 1, so a vote's largest entry is at most e^{1/τ} times each other one: its
    share is at most 1 / (1 + (m − 1) e^{−1/τ}).
    """
    most = 1.0 / (1.0 + (size - 1) * math.exp(-1.0 / vote.tau))
    if size < 2 or most > _BLUNT:
        return ""
    return (
        f"But at τ = {number(vote.tau)} votes are blunt: no record can give any of {size:,} candidates more than "
        f"{number(100 * most)} % of its vote ({number(100 / size)} % would be the same for all), so little is left to "
        "learn from. The page *Temperature* shows what is."
    )


def what_it_costs(scenario: Scenario) -> str:
    """The noise that a BF-Soft run pays for the policy, in votes, beside the hard vote's; empty without noise."""
    vote = SoftVote(scenario.tau)
    bound = sensitivity_bound(scenario.policy, vote)
    if bound.l2 == 0:
        return ""
    shares = scenario.budget.split(scenario.rounds, scenario.shares)
    least, most = (noise_scale(bound.l2, rho) for rho in (max(shares), min(shares)))
    rounds = "The one round adds" if scenario.rounds == 1 else f"Each of the {scenario.rounds} rounds adds"
    between = number(most) if least == most else f"{number(least)} to {number(most)}"
    hard = number(most / bound.ratio)
    said = f"{rounds} noise of σ = {between} votes to every candidate; the hard vote's would be {hard}."
    said = " ".join(filter(None, [said, blunt(vote, scenario.size)]))
    values_only = sensitivity_bound(Policy(scenario.domain, scenario.policy.rules), vote).l2
    if values_only < bound.l2:
        said += f" Participation sets it: without, the noise would be × {number(values_only / bound.l2, 2)}."
    return said


def warnings(policy: Policy, vote: SoftVote) -> list[str]:
    """What an owner should know before relying on the policy; most serious first."""
    said = []
    exposed = [name for name in policy.unprotected if len(policy.domain[name].values) > 1]
    if exposed:
        them = "it" if len(exposed) == 1 else "them"
        said.append(
            f"**{_together(exposed)}**: no edge protects any value, so the policy would let {them} be learnt exactly. "
            f"What this release does for {them} in fact, the protection map shows."
        )
    flat = [
        name for name in policy.domain.names if policy.domain[name].kind == "categorical" and _sets_reach(policy, name)
    ]
    if flat:
        said.append(_flat_at_full_weight(policy, vote, flat))
    for name in policy.domain.names:
        if not policy.edge_count(name):
            continue
        sizes = np.bincount(policy.components(name))
        alone = int((sizes == 1).sum())
        if len(sizes) > 1:
            isolated = (
                f"; {alone} of them {'is a single value' if alone == 1 else 'are single values'}" if alone else ""
            )
            said.append(
                f"**{plain(name)}** falls into {len(sizes)} unconnected groups{isolated}. "
                "The policy does not hide which group a person is in."
            )
        given, values = policy.rules[name], policy.domain[name]
        theta = getattr(given, "theta", None)
        widest = values.high - values.low if values.kind == "numeric" else values.span
        if theta is not None and theta > widest:
            said.append(f"**{plain(name)}**: θ = {number(theta, 6)} goes beyond the whole range, {number(widest, 6)}.")
    return said


def _sets_reach(policy: Policy, name: str) -> bool:
    """Whether no edge of another attribute is longer than this one's widest; several attributes may be."""
    return 0 < policy.reach <= policy.reaches[name]


def _flat_at_full_weight(policy: Policy, vote: SoftVote, flat: list[str]) -> str:
    """What flat attributes that set the reach cost, and what would be without them."""
    calmer = policy
    for name in flat:
        calmer = calmer.with_rule(name, None)
    kind = "binary" if all(len(policy.domain[name].values) == 2 for name in flat) else "flat categorical"
    them, whose = ("it", "its") if len(flat) == 1 else ("them", "their attribute's")
    said = (
        f"**{_together(flat)}** {'is' if len(flat) == 1 else 'are'} {kind}: any edge costs {whose} whole weight, "
        f"{number(policy.reach)}."
    )
    if calmer.widest_edge is None:
        return f"{said} Nothing else is protected."
    if calmer.reach == policy.reach:
        return f"{said} Without {them} the reach would stay, set by {plain(calmer.widest_edge.attribute)}."
    noise = [number(sensitivity_bound(each, vote).ratio) for each in (calmer, policy)]
    said += f" Without {them} the reach would be {number(calmer.reach)} and the noise ratio "
    return said + (f"{noise[0]} instead of {noise[1]}." if noise[0] != noise[1] else f"still {noise[1]}.")


def _together(names: list[str]) -> str:
    """Names in a row, the first few of many: ``a, b and c``."""
    shown = [plain(name) for name in names[:_MOST_NAMED]]
    if len(shown) < len(names):
        shown.append(f"{len(names) - len(shown)} more")
    return listed(shown)


def suggestion(given: Suggestion, policy: Policy, vote: SoftVote) -> str:
    """What a suggested change does to reach and noise, in one line: ``reach 0.2 → 0.0192 · noise × 0.31``."""
    if given.kind == "start":
        return f"reach {number(given.reach)} · {number(given.ratio)} of the hard vote's noise"
    if given.free:
        return f"reach stays {number(given.reach)} · no more noise"
    noise = given.ratio / sensitivity_bound(policy, vote).ratio
    return (
        f"reach {number(policy.reach)} → {number(given.reach)} · noise × {number(noise, 2)} · "
        f"as if {number(given.budget_factor)} times the budget"
    )


def across_an_edge(policy: Policy, vote: SoftVote, budget: Budget) -> str:
    """What a release promises for two values that the policy joins."""
    if policy.widest_edge is None:
        return "Nothing is joined, so nothing is promised."
    if sensitivity_bound(policy, vote).l2 == 0:
        return "Votes ignore what is joined: a release says nothing about it."
    return (
        f"For values that the policy joins, ε = {number(budget.epsilon)} at δ = {_unbroken(budget.delta)}: an attacker "
        f"who knows all else guesses which of the two it was at best {number(100 * budget.success)} % of the time "
        "(50 % is guessing). The budget alone sets this; the policy sets how much noise it takes."
    )


def whole_release(policy: Policy, vote: SoftVote, budget: Budget) -> str:
    """What the release promises for any two records at all, listed by the policy or not."""
    from bfsoft.privacy import attacker_success, exact_epsilon
    from bfsoft.sensitivity import equal_noise, full_sensitivity

    noise = sensitivity_bound(policy, vote).l2
    if noise == 0:
        return "Without noise there is no promise for any pair that the policy does not join."
    worst = budget.rho * equal_noise(noise / full_sensitivity(vote).l2)
    if not math.isfinite(worst):
        return "So little noise hides no pair that the policy does not join."
    return (
        f"Even for pairs that the policy does not list, the release is {number(worst)}-zCDP: "
        f"ε at most {number(exact_epsilon(worst, budget.delta))}, and that attacker tells two values apart at most "
        f"{number(100 * float(attacker_success(worst)))} % of the time."
    )


def _unbroken(value: float) -> str:
    """A number that stays on one line: 1e-5 is one word."""
    return number(value).replace("-", "\N{NON-BREAKING HYPHEN}")
