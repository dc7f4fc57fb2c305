"""Drafts: text comes back as the domain it was, mistakes are told where they are, and policies follow if they fit."""

import dataclasses

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import bfsoft as bf
from bfsoft.drafts import AttributeDraft, carried, check, drafts_of

labels = st.one_of(st.text(min_size=0, max_size=6), st.integers(-5, 5), st.booleans())


def distinct(values: list) -> list:
    """Without values whose texts or numbers coincide: a domain tells those apart only by type, a line does not."""
    kept: list = []
    for value in values:
        if all(str(value).strip() != str(other).strip() and value != other for other in kept):
            kept.append(value)
    return kept


@st.composite
def domains(draw) -> bf.Domain:
    attributes: list = []
    for at in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["numeric", "categorical", "hierarchical"]))
        if kind == "numeric":
            step = draw(st.sampled_from([1, 2, 0.5, 0.1, 1 / 3, 1e-6]))
            low = draw(st.sampled_from([0, -3, 10]))
            high = float(bf.domain.rational(low) + bf.domain.rational(step) * draw(st.integers(0, 30)))
            attributes.append(bf.Numeric(f"x{at}", low, high, step))
        else:
            values = distinct(draw(st.lists(labels, min_size=1, max_size=6)))
            cut = draw(st.integers(0, len(values)))
            tree = {"one": {value: None for value in values[:cut]}, "two": values[cut:]}
            tree = {name: children for name, children in tree.items() if children}
            attributes.append(
                bf.Categorical(f"x{at}", values) if kind == "categorical" else bf.Hierarchical(f"x{at}", tree)
            )
    weights = {a.name: draw(st.sampled_from([0, 1, 2, 0.3, 1 / 7])) for a in attributes}
    return bf.Domain(attributes, weights if any(weights.values()) else None)


@given(domains())
@example(bf.Domain([bf.Categorical("x", ["a\u2028b", "\x85", '"'])]))
@example(bf.Domain([bf.Numeric("x", 0, 1e300, 1e299), bf.Numeric("y", 0, 2**70, 2**66)]))
def test_every_domain_comes_back_from_its_text(domain):
    again, problems = check(drafts_of(domain))
    assert problems == []
    assert again == domain
    assert [[type(v) for v in a.values] for a in again.attributes] == [
        [type(v) for v in a.values] for a in domain.attributes
    ]


@given(domains(), st.data())
def test_any_text_makes_a_domain_or_problems_and_never_an_error(domain, data):
    drafts = drafts_of(domain)
    at = data.draw(st.integers(0, len(drafts) - 1))
    name = data.draw(st.sampled_from(["name", "low", "high", "step", "categories", "tree", "weight"]))
    kind = data.draw(st.sampled_from(["numeric", "categorical", "hierarchical"]))
    text = data.draw(
        st.one_of(st.text(max_size=20), st.sampled_from(["1e999", "nan", "1/0", '"', "a\n b\n a", "0.1", "-"]))
    )
    drafts[at] = dataclasses.replace(drafts[at].recast(kind), **{name: text})
    made, problems = check(drafts)
    assert (made is None) == bool(problems)
    assert {problem.key for problem in problems} <= {draft.key for draft in drafts}
    assert drafts[at].summary()


def test_huge_numbers_are_written_short():
    assert AttributeDraft.of(0, bf.Numeric("x", 0, 1e300, 1e299)).summary() == "0 to 1e300 by 1e299"
    assert AttributeDraft.of(0, bf.Numeric("x", 0, 2**40, 2**38)).summary() == f"0 to {2**40} by {2**38}"


def test_an_outline_may_mix_leaves_and_groups_to_any_depth():
    draft = AttributeDraft(0, "job", "hierarchical", tree="boss\noffice\n\tclerk\n\tdesk\n\t\thelp\nfield\n  driver")
    domain, problems = check([draft])
    assert problems == []
    assert domain["job"].values == ("boss", "clerk", "help", "driver")
    assert domain["job"].paths == ((), ("office",), ("office", "desk"), ("field",))


def test_problems_name_draft_and_field():
    drafts = [
        AttributeDraft(7, "a", low="x", high="", weight="1"),
        AttributeDraft(3, "a", "categorical", categories='p\n"q', weight="-2"),
        AttributeDraft(5, "b", "hierarchical", tree="  "),
    ]
    domain, problems = check(drafts)
    assert domain is None
    assert {(each.key, each.field) for each in problems} == {
        (7, "low"), (7, "high"), (7, "name"), (3, "name"), (3, "categories"), (3, "weight"), (5, "tree"),
    }  # fmt: skip
    assert next(each.message for each in problems if each.field == "categories").startswith("line 2")


def test_all_weights_zero_is_marked_at_every_weight():
    domain, problems = check([AttributeDraft(0, "a", weight="0"), AttributeDraft(1, "b", weight="0")])
    assert domain is None
    assert [(each.key, each.field) for each in problems] == [(0, "weight"), (1, "weight")]


def test_kinds_take_their_values_along():
    number = AttributeDraft(0, "a", low="1", high="3")
    labels = number.recast("categorical")
    assert labels.categories.splitlines() == ["1", "2", "3"]
    tree = labels.recast("hierarchical")
    assert tree.tree.splitlines() == ["1", "2", "3"]
    assert dataclasses.replace(tree, tree="g\n  1\n  2\n3").recast("categorical").categories.splitlines() == [
        "1",
        "2",
        "3",
    ]
    assert (labels.recast("numeric").low, labels.recast("numeric").high) == ("1", "3")


@given(domains())
def test_a_policy_follows_to_the_same_domain_unchanged(domain):
    policy = bf.Policy(domain, {name: bf.Complete() for name in domain.names[:2]}, participation=True)
    again, lost = carried(policy, domain, {name: name for name in domain.names})
    assert again == policy
    assert lost == []


def test_what_cannot_follow_is_said():
    domain = bf.Domain([bf.Categorical("c", [*"abcd"]), bf.Numeric("x", 0, 9), bf.Numeric("y", 0, 9)])
    rules = {"c": bf.Blocks([[*"ab"], [*"cd"]]), "x": bf.Threshold(2), "y": bf.Edges([(0, 1), (8, 9)])}
    policy = bf.Policy(domain, rules)
    new = bf.Domain([bf.Categorical("z", [*"acd"]), bf.Categorical("x", ["low", "high"]), bf.Numeric("y", 0, 5)])
    moved, lost = carried(policy, new, {"z": "c", "x": "x", "y": "y"})
    assert moved.rules == {"z": bf.Blocks([["a"], ["c", "d"]]), "y": bf.Edges([(0, 1)])}
    assert lost == [
        "z: 1 edge to values that are gone",
        "x: its rule does not fit its new values; draw it again",
        "y: 1 edge to values that are gone",
    ]
    _, lost = carried(policy, bf.Domain([bf.Numeric("y", 0, 9)]), {"y": "y"})
    assert lost == ["c is gone, and its rule with it", "x is gone, and its rule with it"]


@pytest.mark.parametrize("weight", ["1e400", "1e999999999", "-1e999999999", "1e-999999999"])
def test_weights_beyond_a_float_are_marked_or_nothing_and_never_spelt_out(weight):
    drafts = [AttributeDraft(0, "age", weight=weight), AttributeDraft(1, "hours", weight="1")]
    domain, problems = check(drafts)
    if weight.startswith("1e-"):
        assert domain is not None
        assert domain.weights == {"age": 0.0, "hours": 1.0}
    else:
        assert domain is None
        assert [(each.key, each.field) for each in problems] == [(0, "weight")]


def test_weights_far_apart_are_refused_at_the_larger_one():
    drafts = [AttributeDraft(0, "age", weight="1e200"), AttributeDraft(1, "hours", weight="1e-200")]
    domain, problems = check(drafts)
    assert domain is None
    assert problems[0].key == 0
    assert "proportions" in problems[0].message
