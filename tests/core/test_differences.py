"""Differences of scenarios: none for equal ones, one for each changed key, and never silent about a change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bfsoft as bf
from bfsoft.differences import differences

ADULT = bf.load_scenario("adult")


def keys(here: bf.Scenario, there: bf.Scenario) -> list[str]:
    return [each.key for each in differences(here, there)]


@pytest.mark.parametrize("name", [*bf.samples(), *bf.policies()])
def test_a_scenario_does_not_differ_from_itself_saved_and_read(name):
    scenario = bf.load_scenario(name)
    assert differences(scenario, bf.Scenario.loads(scenario.dumps())) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tau": 0.05}, "tau: 0.03 → 0.05"),
        ({"seed": 4}, "seed: 0 → 4"),
        ({"participation": True}, "participation: no → yes"),
        ({"epsilon": 0.5}, "budget: rho 0.001 → epsilon 0.5"),
        ({"data": None}, "data: adult → —"),
        ({"shares": (1.0,) * 8}, "shares: — → 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0"),
        ({"policy": ADULT.policy.with_rule("age", None)}, "policy.age: threshold 7 → —"),
        ({"policy": ADULT.policy.with_rule("income", bf.Complete())}, "policy.income: — → complete"),
        (
            {"policy": ADULT.policy.with_rule("workclass", bf.Blocks([["Private", "?"]]))},
            "policy.workclass: — → 1 block",
        ),
    ],
)
def test_each_change_is_said(changes, said):
    assert [str(each) for each in differences(ADULT, ADULT.replace(**changes))] == [said]


def test_a_changed_domain_is_said_by_attribute():
    domain = bf.Domain([bf.Numeric("age", 18, 90), *ADULT.domain.attributes[1:4]])
    assert keys(ADULT, ADULT.replace(domain=domain)) == ["domain.age", "domain.income"]


def test_an_order_is_a_difference_of_its_own():
    domain = bf.Domain([*ADULT.domain.attributes[::-1]])
    assert keys(ADULT, ADULT.replace(domain=domain)) == ["domain (order)"]


def test_blocks_of_equal_number_are_told_apart():
    policy = ADULT.policy.with_rule("workclass", bf.Blocks([["Private", "?"]]))
    other = ADULT.policy.with_rule("workclass", bf.Blocks([["Private", "State-gov"]]))
    (only,) = differences(ADULT.replace(policy=policy), ADULT.replace(policy=other))
    assert (only.here, only.there) == ("blocks (Private, ?)", "blocks (Private, State-gov)")


def test_the_order_of_leaves_is_a_difference():
    def scenario(tree: dict) -> bf.Scenario:
        return bf.Scenario.of(bf.Policy(bf.Domain([bf.Hierarchical("h", tree)]), {}))

    assert keys(scenario({"p": ["a"], "q": ["b"]}), scenario({"q": ["b"], "p": ["a"]})) == ["domain.h"]


ready = [
    *map(bf.load_scenario, bf.samples()),
    *bf.policies().values(),
    ADULT.replace(tau=0.2),
    ADULT.replace(epsilon=1.0),
]


@given(st.sampled_from(ready), st.sampled_from(ready))
def test_scenarios_differ_in_something_exactly_when_they_are_not_equal(here, there):
    found = differences(here, there)
    assert (found == []) == (here == there)
    assert all(each.here != each.there for each in found)
    back = {(each.key, each.there, each.here) for each in differences(there, here)}
    assert back == {(each.key, each.here, each.there) for each in found}
