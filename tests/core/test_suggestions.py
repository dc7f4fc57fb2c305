"""Suggestions: each one's numbers are its policy's, it saves noise or costs none, and it protects what it claims."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bfsoft as bf
from bfsoft.suggestions import Suggestion, suggestions

VOTE = bf.SoftVote(0.03)


def by_kind(policy: bf.Policy, vote: bf.SoftVote = VOTE) -> dict[str, list[Suggestion]]:
    found: dict[str, list[Suggestion]] = {}
    for each in suggestions(policy, vote, most=50):
        found.setdefault(each.kind, []).append(each)
    return found


def joined(policy: bf.Policy, name: str) -> set[frozenset]:
    values = policy.domain[name].values
    return {frozenset((values[a], values[b])) for a, b in policy.edges(name).tolist()}


def test_income_out_of_adult_as_the_issue_has_it():
    """0.2 → 0.0192: the flat binary attribute sets the reach alone."""
    policy = bf.load_scenario("adult").policy.with_rule("income", bf.Complete())
    best = suggestions(policy, VOTE)[0]
    assert (best.kind, best.attributes) == ("remove", ("income",))
    assert policy.reach == pytest.approx(0.2)
    assert best.reach == pytest.approx(0.2 * 7 / 73, rel=1e-12)
    assert best.ratio == pytest.approx(math.tanh(0.2 * 7 / 73 / 0.06), rel=1e-12)
    assert best.budget_factor == pytest.approx(10.461, abs=5e-4)
    assert not best.policy.edge_count("income")


def test_a_hierarchy_halves_the_reach_and_keeps_every_pair_of_the_blocks():
    policy = bf.load_scenario("adult-age-hours-workclass").policy
    (grouped,) = by_kind(policy)["group"]
    assert grouped.reach == pytest.approx(policy.reach / 2, rel=1e-12)
    assert joined(grouped.policy, "workclass") == joined(policy, "workclass")
    assert set(grouped.policy.domain["workclass"].values) == set(policy.domain["workclass"].values)
    assert grouped.policy.domain.exact_weights == policy.domain.exact_weights


def test_a_complete_flat_attribute_falls_into_groups_and_says_what_that_loses():
    domain = bf.Domain([bf.Categorical("c", [*"abcdefghi"])])
    (grouped,) = by_kind(bf.Policy(domain, {"c": bf.Complete()}), bf.SoftVote(0.5))["group"]
    assert grouped.reach == pytest.approx(0.5)
    assert "only values of one group stay joined" in grouped.consequence
    assert len(joined(grouped.policy, "c")) == 3 * 3


def test_a_narrower_threshold_goes_down_to_the_next_attribute_and_to_half():
    domain = bf.Domain([bf.Numeric("a", 0, 100), bf.Numeric("b", 0, 50)])
    policy = bf.Policy(domain, {"a": bf.Threshold(40), "b": bf.Threshold(5)})
    rules = [each.policy.rules["a"] for each in by_kind(policy)["narrow"]]
    assert rules == [bf.Threshold(10), bf.Threshold(20)]  # 10/100 is what b reaches, 20 is half


def test_the_longest_drawn_edge_goes_and_only_it():
    domain = bf.Domain([bf.Numeric("a", 0, 20)])
    policy = bf.Policy(domain, {"a": bf.Edges([(0, 1), (3, 4), (7, 9), (2, 18), (5, 6), (10, 12)])})
    (dropped,) = by_kind(policy)["drop"]
    assert joined(policy, "a") - joined(dropped.policy, "a") == {frozenset((2, 18))}
    assert dropped.reach == pytest.approx(0.1)


def test_the_widest_block_of_numbers_is_cut_in_the_middle():
    domain = bf.Domain([bf.Numeric("a", 0, 20)])
    policy = bf.Policy(domain, {"a": bf.Blocks([[0, 1, 9, 10], [15, 16]])})
    (cut,) = by_kind(policy)["split"]
    assert [*cut.policy.rules["a"].blocks] == [(0, 1), (9, 10), (15, 16)]
    assert "Cut the widest block of a at 9" in cut.action


def test_attributes_that_share_the_reach_go_together():
    policy = bf.load_scenario("adult-all").policy
    removed = suggestions(policy, VOTE)[0]
    assert removed.attributes == ("workclass", "income")
    assert removed.reach < policy.reach


def test_participation_is_named_as_the_price_it_is():
    policy = bf.Policy(bf.load_scenario("adult").domain, {"age": bf.Threshold(7)}, participation=True)
    (plain,) = by_kind(policy)["participation"]
    assert not plain.policy.participation
    assert plain.ratio == pytest.approx(math.tanh(0.2 * 7 / 73 / 0.06), rel=1e-12)


def test_free_protection_is_already_kept_by_the_release():
    """The claim made in the text: the pairs it joins get no more than ρ before they are listed."""
    policy = bf.load_scenario("adult").policy
    budget = bf.Budget(rho=1e-3)
    free = [each for each in suggestions(policy, VOTE) if each.free]
    assert {each.attributes[0] for each in free} == {"education.num", "hours.per.week"}
    for each in free:
        (name,) = each.attributes
        pairs = each.policy.edges(name)
        before = policy.protection(name, VOTE, budget).zcdp[pairs[:, 0], pairs[:, 1]]
        assert (before <= budget.rho * (1 + 1e-12)).all()
        assert each.policy.reach == policy.reach


def test_no_policy_is_offered_that_protects_nothing():
    policy = bf.Policy(bf.Domain([bf.Numeric("a", 0, 1)]), {"a": bf.Complete()})
    assert suggestions(policy, VOTE) == []


def test_a_bare_policy_gets_first_edges():
    policy = bf.Policy(bf.load_scenario("adult").domain, {})
    found = suggestions(policy, VOTE)
    assert {each.kind for each in found} == {"start"}
    assert all(each.policy.widest_edge is not None for each in found)
    assert [each.ratio for each in found] == sorted(each.ratio for each in found)


attributes = st.sampled_from(
    [
        lambda name: bf.Numeric(name, 0, 12),
        lambda name: bf.Numeric(name, -1, 1, 0.1),
        lambda name: bf.Numeric(name, 5, 5),
        lambda name: bf.Categorical(name, [*"uvwxyz"]),
        lambda name: bf.Categorical(name, ["no", "yes"]),
        lambda name: bf.Hierarchical(name, {"l": ["a", "b"], "r": {"s": ["c"], "t": ["d", "e"]}}),
    ]
)


@st.composite
def policies(draw) -> bf.Policy:
    made = [make(f"x{at}") for at, make in enumerate(draw(st.lists(attributes, min_size=1, max_size=4)))]
    weights = {a.name: draw(st.sampled_from([0, 1, 2, 3])) for a in made}
    domain = bf.Domain(made, weights if any(weights.values()) else None)
    rules: dict[str, bf.policy.Rule] = {}
    for attribute in made:
        values = [*attribute.values]
        kind = draw(st.sampled_from(["none", "threshold", "blocks", "complete", "edges"]))
        if kind == "threshold":
            rules[attribute.name] = bf.Threshold(draw(st.sampled_from([0, 0.3, 1, 2, 4, 100])))
        elif kind == "complete":
            rules[attribute.name] = bf.Complete()
        elif kind == "blocks":
            cut = draw(st.integers(0, len(values)))
            rules[attribute.name] = bf.Blocks([values[:cut], values[cut:]])
        elif kind == "edges" and len(values) > 2:
            ends = draw(st.lists(st.lists(st.sampled_from(values), min_size=2, max_size=2, unique=True), max_size=6))
            rules[attribute.name] = bf.Edges([(a, b) for a, b in ends])
    return bf.Policy(domain, rules, draw(st.booleans()))


@given(policies(), st.sampled_from([0.01, 0.1, 1.0]), st.integers(1, 8))
def test_whatever_the_policy_every_suggestion_keeps_its_word(policy, tau, most):
    vote = bf.SoftVote(tau)
    now = bf.sensitivity_bound(policy, vote).ratio
    found = suggestions(policy, vote, most)
    assert len(found) <= most
    assert len({each.action for each in found}) == len(found)
    for each in found:
        assert each.reach == each.policy.reach
        assert each.ratio == bf.sensitivity_bound(each.policy, vote).ratio
        assert each.policy.widest_edge is not None
        assert each.policy.domain.names == policy.domain.names
        bf.Scenario.of(each.policy)  # a click must be able to take it up
        if each.free:
            assert each.reach == policy.reach
            assert each.ratio <= now
            for name in each.attributes:
                assert joined(policy, name) < joined(each.policy, name)
        elif each.kind != "start":
            assert each.ratio < now
        if each.kind == "narrow":
            for name in each.attributes:
                assert joined(each.policy, name) < joined(policy, name)


def test_weights_stay_exact_fractions():
    domain = bf.Domain([bf.Numeric("a", 0, 3), bf.Categorical("c", [*"xyz"])], {"a": 1, "c": 2})
    policy = bf.Policy(domain, {"c": bf.Complete(), "a": bf.Threshold(1)})
    (lighter,) = by_kind(policy, bf.SoftVote(0.5))["weight"]
    assert [float(weight) for weight in lighter.policy.domain.exact_weights] == [0.5, 0.5]
    assert np.isclose(lighter.reach, 0.5)
