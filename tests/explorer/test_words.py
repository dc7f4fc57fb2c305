"""Plain words: numbers as people read them, sentences with the library's numbers, warnings for what is left open."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bfsoft as bf
from bfsoft.privacy import attacker_success, exact_epsilon
from bfsoft.suggestions import suggestions
from bfsoft_explorer import words
from bfsoft_explorer.strip import facts

ADULT = bf.load_scenario("adult")
VOTE = bf.SoftVote(0.03)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (0.019178, "0.0192"), (0.2, "0.2"), (10.461, "10.5"), (1234.5, "1,234"), (1e-7, "1e-7"),
        (math.inf, "∞"), (3.0, "3"), (-0.5, "-0.5"), (123456.7, "123,457"),
    ],
)  # fmt: skip
def test_numbers(value, text):
    assert words.number(value) == text


@given(st.floats(1e-12, 1e12))
def test_a_number_in_words_is_within_half_its_last_digit(value):
    assert float(words.number(value).replace(",", "")) == pytest.approx(value, rel=5.1e-3)


@given(st.text(max_size=20))
def test_plain_text_holds_no_markup_and_every_letter(text):
    shown = words.plain(text)
    assert len(shown) - len(text) == sum(letter in "\\`*_{}[]()<>#+-.!|~$:" for letter in text)
    assert re.sub(r"\\(.)", r"\1", shown, flags=re.DOTALL) == text


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 edges"), (1, "1 edge"), (2, "2 edges"), (13970880, "13,970,880 edges")]
)
def test_things_are_counted_as_people_say_it(count, said):
    assert words.counted(count, "edge") == said


def test_rules_and_summary():
    policy = bf.Policy(
        ADULT.domain,
        {
            "age": bf.Threshold(7), "workclass": bf.Blocks([["Private", "?"]]), "income": bf.Complete(),
            "hours.per.week": bf.Edges([(1, 2), (3, 4)]), "education.num": bf.Threshold(0),
        },
    )  # fmt: skip
    assert words.summary(policy) == "age θ = 7 · workclass 1 block · hours.per.week 2 edges · income complete"
    assert words.rule(policy, "education.num") == "unprotected"
    assert words.summary(bf.Policy(ADULT.domain, {})) == "nothing protected"


def test_what_it_buys_in_every_case():
    bought = words.what_it_buys(ADULT.policy, VOTE, bf.sensitivity_bound(ADULT.policy, VOTE))
    assert bought == "The soft vote needs 0.309 of the hard vote's noise: as if you had 10.5 times the budget."
    bare = bf.Policy(ADULT.domain, {})
    assert "Draw an edge to begin" in words.what_it_buys(bare, VOTE, bf.sensitivity_bound(bare, VOTE))
    wide = bf.load_scenario("adult-all").policy
    assert "almost all of it" in words.what_it_buys(wide, VOTE, bf.sensitivity_bound(wide, VOTE))


def test_edges_of_weight_0_need_no_noise_and_are_not_called_none():
    domain = bf.Domain([bf.Numeric("age", 17, 90), bf.Numeric("hours", 1, 99)], {"age": 0, "hours": 1})
    policy, vote = bf.Policy(domain, {"age": bf.Threshold(7)}), bf.SoftVote(0.03)
    said = words.what_it_buys(policy, vote, bf.sensitivity_bound(policy, vote))
    assert said.startswith("Every joined attribute has weight 0")
    assert words.across_an_edge(policy, vote, bf.Budget(rho=1e-3)).startswith("Votes ignore what is joined")
    assert "does not join" in words.whole_release(policy, vote, bf.Budget(rho=1e-3))
    strip_says = {label: value for label, value, _ in facts(bf.Scenario.of(policy), "adult")}
    assert strip_says["ε"] == "0 across edges"


@pytest.mark.parametrize("tau", [1e-300, 1e100, 1e160, 1e300])
def test_absurd_temperatures_are_put_in_words_too(tau):
    policy, vote, budget = bf.Policy(ADULT.domain, {"age": bf.Threshold(7)}), bf.SoftVote(tau), bf.Budget(rho=1e-3)
    assert words.what_it_buys(policy, vote, bf.sensitivity_bound(policy, vote))
    assert words.whole_release(policy, vote, budget)
    assert words.what_it_costs(bf.Scenario.of(policy, tau=tau))


def test_a_blunt_temperature_is_called_so_by_a_share_that_no_vote_exceeds():
    tau, size = 1.0, 64
    said = words.blunt(bf.SoftVote(tau), size)
    most = 1 / (1 + (size - 1) * math.exp(-1 / tau))
    assert f"more than {words.number(100 * most)} %" in said
    # one candidate where the record is, all others as far away as can be
    domain = ADULT.domain
    record = np.zeros((1, len(domain.names)), dtype=np.int64)
    candidates = np.vstack([record, np.tile(np.array(domain.shape) - 1, (size - 1, 1))])
    assert bf.SoftVote(tau).histogram(domain, record, candidates).max() == pytest.approx(most)
    assert words.blunt(bf.SoftVote(0.03), 512) == ""


def test_the_promise_across_an_edge_is_the_budgets():
    policy, budget = bf.Policy(ADULT.domain, {"age": bf.Threshold(7)}), bf.Budget(rho=1e-3)
    said = words.across_an_edge(policy, bf.SoftVote(0.03), budget)
    assert f"ε = {words.number(budget.epsilon)}" in said
    assert f"at best {words.number(100 * budget.success)} %" in said
    assert "nothing is promised" in words.across_an_edge(bf.Policy(ADULT.domain, {}), bf.SoftVote(0.03), budget)


def test_the_promise_for_any_pair_is_rho_over_q_squared():
    worst = ADULT.budget.rho * (math.tanh(1 / 0.06) / math.tanh(0.2 * 7 / 73 / 0.06)) ** 2
    said = words.whole_release(ADULT.policy, VOTE, ADULT.budget)
    assert f"{words.number(worst)}-zCDP" in said
    assert f"ε at most {words.number(exact_epsilon(worst, 1e-5))}" in said
    assert f"at most {words.number(100 * float(attacker_success(worst)))} % of the time" in said
    assert "no promise" in words.whole_release(bf.Policy(ADULT.domain, {}), VOTE, ADULT.budget)


def warned(policy: bf.Policy) -> str:
    return "\n".join(words.warnings(policy, VOTE))


def test_unprotected_attributes_are_warned_of():
    assert r"**workclass, education\.num, hours\.per\.week and income**: no edge protects" in warned(ADULT.policy)
    every = bf.Policy(ADULT.domain, {name: bf.Complete() for name in ADULT.domain.names})
    assert "no edge protects" not in warned(every)


@pytest.mark.parametrize(("name", "kind"), [("income", "binary"), ("workclass", "flat categorical")])
def test_a_flat_attribute_at_full_weight_is_warned_of_with_the_numbers_without_it(name, kind):
    policy = ADULT.policy.with_rule(name, bf.Complete())
    assert (
        f"**{name}** is {kind}: any edge costs its whole weight, 0.2. Without it the reach would be 0.0192"
        in warned(policy)
    )


def test_flat_attributes_that_reach_equally_far_are_warned_of_together():
    policy = ADULT.policy.with_rule("income", bf.Complete()).with_rule("workclass", bf.Complete())
    said = "**workclass and income** are flat categorical: any edge costs their attribute's whole weight, 0.2."
    assert f"{said} Without them the reach would be 0.0192 and the noise ratio 0.309 instead of 0.997." in warned(
        policy
    )
    full = policy.with_rule("age", bf.Threshold(73))
    assert f"{said} Without them the reach would stay, set by age." in warned(full)
    alone = bf.Policy(ADULT.domain, {"income": bf.Complete()})
    assert "**income** is binary: any edge costs its whole weight, 0.2. Nothing else is protected." in warned(alone)


def test_a_value_that_everybody_has_is_not_said_to_be_learnt():
    domain = bf.Domain([bf.Categorical("land", ["here"]), bf.Categorical("sex", ["f", "m"])])
    assert "**sex**: no edge" in warned(bf.Policy(domain, {}))
    assert "no edge protects" not in warned(bf.Policy(domain, {"sex": bf.Complete()}))


def test_components_and_single_values_are_warned_of():
    policy = ADULT.policy.with_rule("workclass", bf.Blocks([["Private", "?"], ["State-gov", "Local-gov"]]))
    assert "**workclass** falls into 7 unconnected groups; 5 of them are single values" in warned(policy)
    assert "age** falls into" not in warned(policy)


def test_a_threshold_beyond_the_range_is_warned_of():
    assert "**age**: θ = 100 goes beyond the whole range, 73" in warned(
        ADULT.policy.with_rule("age", bf.Threshold(100))
    )


def test_suggestions_in_a_line():
    policy = ADULT.policy.with_rule("income", bf.Complete())
    said = {each.kind: words.suggestion(each, policy, VOTE) for each in suggestions(policy, VOTE)}
    assert said["remove"] == "reach 0.2 → 0.0192 · noise × 0.31 · as if 10.5 times the budget"
    assert said["protect"] == "reach stays 0.2 · no more noise"
    first = suggestions(bf.Policy(ADULT.domain, {}), VOTE)[0]
    assert words.suggestion(first, bf.Policy(ADULT.domain, {}), VOTE).startswith("reach 0.0133 · 0.219 of the hard")


def test_what_it_costs_is_the_sigma_of_theory():
    """σ_t = Δ₂ / √(2ρ_t), here √2 q / √(2 · 1e-3 / 8) votes; the hard vote's is 1/q times that."""
    q = math.tanh(0.2 * 7 / 73 / 0.06)
    sigma = math.sqrt(2) * q / math.sqrt(2 * 1e-3 / 8)
    said = words.what_it_costs(ADULT)
    assert f"Each of the 8 rounds adds noise of σ = {words.number(sigma)} votes" in said
    assert said.endswith(f"the hard vote's would be {words.number(sigma / q)}.")
    uneven = words.what_it_costs(ADULT.replace(rounds=2, shares=(1.0, 3.0)))
    low, high = (math.sqrt(2) * q / math.sqrt(2 * 1e-3 * share) for share in (0.75, 0.25))
    assert f"σ = {words.number(low)} to {words.number(high)} votes" in uneven
    assert "The one round adds" in words.what_it_costs(ADULT.replace(rounds=1))
    assert words.what_it_costs(ADULT.replace(policy=bf.Policy(ADULT.domain, {}))) == ""
    part = words.what_it_costs(ADULT.replace(participation=True))
    assert f"Participation sets it: without, the noise would be × {words.number(math.sqrt(2) * q, 2)}." in part
