"""Policies: the graph that each rule draws, how far it reaches, and what it leaves open; all against plain loops."""

import itertools
import re

import brute
import numpy as np
import pytest
from cases import attributes, cases, rules
from hypothesis import given
from hypothesis import strategies as st

import bfsoft as bf
from bfsoft.errors import PolicyError

ruled = attributes("x", most=6).flatmap(lambda a: st.tuples(st.just(a), rules(a)))


def policy_on(attribute, rule):
    return bf.Policy(bf.Domain([attribute]), {} if rule is None else {attribute.name: rule})


# The graph


@given(ruled)
def test_edges_are_the_pairs_the_rule_means(given_attribute_and_rule):
    attribute, rule = given_attribute_and_rule
    policy, expected = policy_on(attribute, rule), sorted(brute.edges(attribute, rule))
    assert [tuple(pair) for pair in policy.edges("x").tolist()] == expected
    assert policy.edge_count("x") == len(expected)
    assert policy.unprotected == (() if expected else ("x",))


@given(ruled)
def test_the_widest_edge_is_an_edge_and_none_is_longer(given_attribute_and_rule):
    attribute, rule = given_attribute_and_rule
    policy, joined = policy_on(attribute, rule), brute.edges(attribute, rule)
    delta = brute.deltas(attribute)
    edge = policy.widest("x")
    if not joined:
        assert edge is None
        return
    longest = max(delta[a][b] for a, b in joined)
    ends = attribute.values.index(edge.a), attribute.values.index(edge.b)
    assert tuple(sorted(ends)) in joined
    assert delta[ends[0]][ends[1]] == longest
    assert edge.length == policy.reach == float(longest)


@given(ruled)
def test_hops_components_and_neighbours(given_attribute_and_rule):
    attribute, rule = given_attribute_and_rule
    policy, joined, values = policy_on(attribute, rule), brute.edges(attribute, rule), attribute.values
    hops = brute.hops(len(values), joined)
    assert np.array_equal(policy.hops("x"), hops)
    labels = policy.components("x")
    assert np.array_equal(labels[:, None] == labels[None, :], np.isfinite(hops))
    _, first = np.unique(labels, return_index=True)
    assert np.array_equal(np.sort(first), first), "components are numbered by first appearance"
    for code, value in enumerate(values):
        near = sorted({b for a, b in joined if a == code} | {a for a, b in joined if b == code})
        assert policy.neighbours("x", value) == [values[b] for b in near]
    apart = [(values[a], values[b]) for a, b in itertools.combinations(range(len(values)), 2) if hops[a, b] == np.inf]
    assert policy.unprotected_pairs("x") == apart


# Reach


@given(cases())
def test_record_level_reach_is_the_longest_edge_of_the_product_graph(case):
    """THEORY, "Reach": neighbours differ in one attribute, so the product graph's longest edge is max_j r_j."""
    longest = max((case.gower(x, y) for _, x, y in brute.neighbours(case.policy)), default=0)
    assert case.policy.reach == float(longest)


@given(cases())
def test_the_product_graph_has_as_many_edges_as_the_policy_says(case):
    assert case.policy.record_edge_count == len(brute.neighbours(case.policy))


@given(cases())
def test_reach_per_attribute(case):
    for position, attribute in enumerate(case.domain.attributes):
        delta, joined = brute.deltas(attribute), brute.edges(attribute, case.policy.rules.get(attribute.name))
        longest = max((delta[a][b] for a, b in joined), default=0)
        assert case.policy.reaches[attribute.name] == float(case.gower.weights[position] * longest)


def test_the_widest_edge_of_a_policy_is_named(adult):
    policy = bf.Policy(adult, {"age": bf.Threshold(7), "hours.per.week": bf.Threshold(8)})
    assert (policy.widest_edge.attribute, policy.widest_edge.a, policy.widest_edge.b) == ("age", 17, 24)
    assert bf.Policy(adult, {}).widest_edge is None
    assert bf.Policy(adult, {}).reach == 0


@pytest.mark.parametrize(("step", "theta", "last"), [(0.1, 0.3, 0.3), (0.1, 0.7, 0.7), (1, 7.0, 7), (0.5, 7.0, 7.0)])
def test_theta_on_a_float_grid_includes_its_own_distance(step, theta, last):
    """0.3 is three steps of 0.1 even though 3 · 0.1 > 0.3 in floats."""
    policy = policy_on(bf.Numeric("x", 0, 10, step), bf.Threshold(theta))
    assert policy.widest("x").b == last
    assert policy.neighbours("x", 0)[-1] == last


def test_theta_between_steps_rounds_down_and_zero_protects_nothing():
    attribute = bf.Numeric("x", 0, 100, 10)
    assert policy_on(attribute, bf.Threshold(29.9)).widest("x").b == 20
    assert policy_on(attribute, bf.Threshold(9.9)).edge_count("x") == 0
    assert policy_on(bf.Categorical("x", ["a", "b"]), bf.Threshold(0.99)).edge_count("x") == 0
    assert policy_on(bf.Categorical("x", ["a", "b"]), bf.Threshold(1)).edge_count("x") == 1


def test_huge_attributes_have_reach_and_counts_without_a_list():
    """A million values: 999,000 · 1000 + 999 · 1000 / 2 pairs at most 1,000 apart; blocks and all pairs likewise."""
    attribute = bf.Numeric("x", 1, 1_000_000)
    policy = policy_on(attribute, bf.Threshold(1000))
    assert policy.edge_count("x") == sum(min(1000, 1_000_000 - a) for a in range(1, 1_000_001))
    assert policy.reach == pytest.approx(1000 / 999_999, rel=1e-15)
    assert policy_on(attribute, bf.Complete()).edge_count("x") == 1_000_000 * 999_999 // 2
    assert policy_on(attribute, bf.Complete()).reach == 1.0
    halves = bf.Blocks([range(1, 5001), range(5001, 10_001)])
    assert policy_on(attribute, halves).reach == pytest.approx(4999 / 999_999, rel=1e-15)
    with pytest.raises(PolicyError, match="999,499,500 edges, too many to list"):
        policy.edges("x")


# Editing


def test_with_rule_and_without_edge():
    domain = bf.Domain([bf.Numeric("a", 0, 3), bf.Categorical("b", ["x", "y"])])
    policy = bf.Policy(domain, {"a": bf.Threshold(1)}, participation=True)
    more = policy.with_rule("b", bf.Complete())
    assert (more.reach, more.participation) == (0.5, True)
    assert more.with_rule("b", None) == policy
    less = policy.without_edge(bf.policy.Edge("a", 2, 1, 0.0))
    assert less.edges("a").tolist() == [[0, 1], [2, 3]]
    assert policy.edges("a").tolist() == [[0, 1], [1, 2], [2, 3]], "the old policy is left as it was"


def test_policies_are_values():
    domain = bf.Domain([bf.Numeric("a", 0, 3)])
    assert bf.Policy(domain, {"a": bf.Threshold(1)}) == bf.Policy(domain, {"a": bf.Threshold(1.0)})
    assert bf.Policy(domain, {"a": bf.Threshold(1)}) != bf.Policy(domain, {"a": bf.Threshold(1)}, participation=True)


def test_an_edge_drawn_twice_or_backwards_counts_once():
    drawn = bf.Edges([("a", "b"), ("b", "a"), ["a", "b"]])
    assert policy_on(bf.Categorical("x", ["a", "b", "c"]), drawn).edges("x").tolist() == [[0, 1]]


def test_rules_read_an_iterator_once():
    """A generator must not turn into a policy that protects nothing."""
    attribute = bf.Categorical("x", ["a", "b", "c"])
    assert policy_on(attribute, bf.Blocks(b for b in [["a", "b"]])).edge_count("x") == 1
    assert policy_on(attribute, bf.Blocks([iter(["a", "b"])])).edge_count("x") == 1
    assert policy_on(attribute, bf.Edges(e for e in [("a", "b")])).edge_count("x") == 1


# Errors


NUMBER, LABEL = bf.Numeric("age", 17, 90), bf.Categorical("work", ["Private", "State-gov", "Never"])
TREE = bf.Hierarchical("job", {"office": ["admin", "management"], "manual": ["driver"]})
DOMAIN = bf.Domain([NUMBER, LABEL, TREE])


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda: {"ages": bf.Threshold(7)}, "names the attribute 'ages'; the domain has 'age', 'work', 'job'"),
        (lambda: {"age": 7}, "'age': 7 is no rule"),
        (lambda: {"age": bf.Threshold(-1)}, "'age': the threshold θ is negative (-1)"),
        (lambda: {"age": bf.Threshold(float("nan"))}, "'age': the threshold θ must be a number"),
        (lambda: {"age": bf.Threshold("7")}, "'age': the threshold θ must be a number, got '7'"),
        (lambda: {"age": bf.Threshold(True)}, "'age': the threshold θ must be a number, got True"),
        (lambda: {"age": bf.Edges([(17, 91)])}, "unknown value: attribute 'age' has no value 91"),
        (
            lambda: {"work": bf.Edges([("Private", "Martian")])},
            "unknown value: attribute 'work' has no value 'Martian'",
        ),
        (lambda: {"work": bf.Edges([("Private", "Private")])}, "('Private', 'Private') joins a value to itself"),
        (lambda: {"age": bf.Edges([(20, 20.0)])}, "(20, 20.0) joins a value to itself"),
        (lambda: {"job": bf.Edges([("admin", "office")])}, "has no value 'office'"),
        (lambda: {"work": bf.Blocks([["Private"], ["Private", "Never"]])}, "'Private' is in block 1 already"),
        (lambda: {"work": bf.Blocks([["Never", "Never"]])}, "'Never' is in block 1 twice"),
        (lambda: {"work": bf.Blocks([["Martian"]])}, "has no value 'Martian'"),
        (lambda: {"work": bf.Blocks("Private")}, "blocks must be a list of lists"),
        (lambda: {"work": bf.Blocks(["Private"])}, "a block must be a list of values, got 'Private'"),
        (lambda: {"work": bf.Edges("ab")}, "edges must be a list of pairs"),
        (lambda: {"work": bf.Edges(["ab"])}, "an edge must be a pair of values, got 'ab'"),
        (lambda: {"work": bf.Edges([("Private",)])}, "an edge must be a pair of values"),
        (lambda: {"work": bf.Edges([("a", "b", "c")])}, "an edge must be a pair of values"),
        (lambda: [("age", bf.Threshold(7))], "rules must map attribute names"),
    ],
)
def test_a_wrong_rule_says_what_is_wrong(draw, says):
    with pytest.raises(PolicyError, match=re.escape(says)):
        bf.Policy(DOMAIN, draw())


def test_questions_about_unknown_values_and_attributes():
    policy = bf.Policy(DOMAIN, {"age": bf.Threshold(7)})
    with pytest.raises(PolicyError, match="no value 91"):
        policy.neighbours("age", 91)
    for ask in (policy.edges, policy.hops, policy.components, policy.edge_count, policy.widest):
        with pytest.raises(bf.BFSoftError, match="no attribute 'ages'"):
            ask("ages")
    with pytest.raises(PolicyError, match="needs a Domain, got list"):
        bf.Policy([NUMBER], {})


@pytest.mark.parametrize(
    "rule", [bf.Complete(), bf.Threshold(1), bf.Blocks([range(60_000)])], ids=["complete", "threshold", "blocks"]
)
def test_sixty_thousand_categories_need_no_list_of_edges(rule):
    domain = bf.Domain([bf.Categorical("code", range(60_000)), bf.Numeric("x", 0, 1)])
    policy = bf.Policy(domain, {"code": rule})
    assert policy.edge_count("code") == 60_000 * 59_999 // 2
    assert policy.reach == 0.5
    assert (policy.widest_edge.a, policy.widest_edge.b) == (0, 1)
    assert not policy.components("code").any()
    with pytest.raises(PolicyError, match="too many to list"):
        policy.edges("code")


@pytest.mark.parametrize("kind", ["numeric", "categorical", "hierarchical"])
def test_components_without_edges_listed_are_those_of_the_graph(kind):
    attribute = {
        "numeric": bf.Numeric("a", 0, 6),
        "categorical": bf.Categorical("a", range(7)),
        "hierarchical": bf.Hierarchical("a", {"p": [0, 1, {"q": [2, 3]}], "r": [4, 5], "s": [6]}),
    }[kind]
    domain = bf.Domain([attribute])
    rules = [bf.Threshold(theta) for theta in range(7)] + [bf.Complete(), bf.Blocks([[5, 1], [0, 6, 3], [2]])]
    for rule in rules:
        policy = bf.Policy(domain, {"a": rule})
        drawn = bf.Policy(
            domain, {"a": bf.Edges([(domain["a"].values[i], domain["a"].values[j]) for i, j in policy.edges("a")])}
        )
        assert policy.components("a").tolist() == drawn.components("a").tolist(), rule
        assert policy.widest_edge == drawn.widest_edge, rule
        assert policy.edge_count("a") == drawn.edge_count("a"), rule


@pytest.mark.parametrize("rule", [bf.Threshold(0), bf.Threshold(1), bf.Threshold(4), bf.Complete()])
@pytest.mark.parametrize(
    "attribute",
    [
        bf.Numeric("n", 0, 9),
        bf.Categorical("c", ["a", "b", "c"]),
        bf.Hierarchical("h", {"a": ["x", "y"], "b": ["z", "w", "v"]}),
    ],
)
def test_joined_without_listing_edges_is_joined_by_listing_them(attribute, rule):
    for code in range(len(attribute.values)):
        assert rule.joined(attribute, code).tolist() == bf.policy.Rule.joined(rule, attribute, code).tolist()
