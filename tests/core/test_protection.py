"""Protection of pairs: THEORY's ρ · min(k², (tanh(d/2τ)/q)²), from its own terms."""

from math import inf, sqrt, tanh

import brute
import numpy as np
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import bfsoft as bf

BUDGET = bf.Budget(rho=0.01)


def matrix_by_definition(case, name: str, tau: float) -> np.ndarray:
    position = case.domain.position(name)
    attribute = case.domain.attributes[position]
    delta, weight = brute.deltas(attribute), case.gower.weights[position]
    count = len(attribute.values)
    hops = brute.hops(count, brute.edges(attribute, case.policy.rules.get(name)))
    reach = float(max((case.gower(x, y) for _, x, y in brute.neighbours(case.policy)), default=0))
    q = tanh(min(reach / 2 / tau, 1e3))
    table = np.zeros((count, count))
    for a in range(count):
        for b in range(count):
            if a != b:
                distance = float(weight * delta[a][b])
                # Without noise (q = 0) whatever moves at all is told apart; of a weightless attribute nothing moves.
                by_distance = tanh(min(distance / 2 / tau, 1e3)) / q if q else inf if distance else 0
                table[a, b] = 0.01 * min(hops[a, b], by_distance) ** 2
    return table


@given(cases(), st.sampled_from([0.01, 0.03, 0.1, 1.0]))
def test_soft_protection_is_theorys_formula(case, tau):
    for name in case.domain.names:
        found = case.policy.protection(name, bf.SoftVote(tau), BUDGET)
        assert np.allclose(found.zcdp, matrix_by_definition(case, name, tau), rtol=1e-9)


@given(cases(participation=None), st.sampled_from([0.01, 0.1, 1.0]))
def test_protection_is_a_symmetric_matrix_of_numbers(case, tau):
    for name in case.domain.names:
        for vote in (bf.SoftVote(tau), bf.HardVote()):
            found = case.policy.protection(name, vote, BUDGET)
            for matrix in (found.zcdp, found.success, found.epsilon):
                assert not np.isnan(matrix).any()
                assert np.array_equal(matrix, matrix.T)
            assert (np.diag(found.zcdp) == 0).all()
            assert (np.diag(found.success) == 0.5).all()
            assert (found.zcdp <= found.worst * (1 + 1e-9)).all(), "worst bounds every pair"
            assert ((found.success >= 0.5) & (found.success <= 1)).all()


def test_every_policy_edge_gets_rho_or_better(adult):
    policy = bf.Policy(adult, {"age": bf.Threshold(7), "income": bf.Complete()})
    for vote in (bf.SoftVote(0.03), bf.HardVote()):
        for name in ("age", "income"):
            zcdp = policy.protection(name, vote, BUDGET).zcdp
            a, b = policy.edges(name).T
            assert (zcdp[a, b] <= 0.01 * (1 + 1e-12)).all()


def test_worst_case_by_hand(adult):
    """BF-Soft on Adult age at τ = 0.03 is plain zCDP at ρ (tanh(1/0.06)/q)² = 10.461 ρ; hard at full noise gives ρ."""
    policy = bf.Policy(adult, {"age": bf.Threshold(7)})
    assert policy.protection("age", bf.SoftVote(0.03), BUDGET).worst == pytest.approx(0.10461, abs=5e-6)
    hard = policy.protection("age", bf.HardVote(), BUDGET)
    assert hard.worst == pytest.approx(0.01)
    assert np.allclose(hard.zcdp[~np.eye(74, dtype=bool)], 0.01)


def test_far_values_are_protected_by_the_path_or_by_the_distance(adult):
    """17 and 31 are two hops apart: 4ρ by the path, (tanh(14/73/5/0.06)/q)² ρ by distance, which is less."""
    found = bf.Policy(adult, {"age": bf.Threshold(7)}).protection("age", bf.SoftVote(0.03), BUDGET)
    assert found.hops[0, 14] == 2
    assert found.by_path[0, 14] == pytest.approx(0.04)
    q = tanh(0.2 * 7 / 73 / 0.06)
    assert found.by_distance[0, 14] == pytest.approx(0.01 * (tanh(0.2 * 14 / 73 / 0.06) / q) ** 2)
    assert found.zcdp[0, 14] == found.by_distance[0, 14] < found.by_path[0, 14]


def test_participation_adds_noise_and_so_protects_every_pair_more(adult):
    rules = {"age": bf.Threshold(7)}
    alone = bf.Policy(adult, rules).protection("age", bf.SoftVote(0.03), BUDGET)
    both = bf.Policy(adult, rules, participation=True).protection("age", bf.SoftVote(0.03), BUDGET)
    q = tanh(0.2 * 7 / 73 / 0.06)
    assert np.allclose(both.zcdp, alone.zcdp * 2 * q**2, rtol=1e-9), "σ grows from √2 q to 1"


def test_no_noise_protects_nobody_but_participation_alone_still_does():
    domain = bf.Domain([bf.Numeric("a", 0, 2)])
    bare = bf.Policy(domain, {}).protection("a", bf.SoftVote(0.1), BUDGET)
    assert bare.zcdp.tolist() == [[0, inf, inf], [inf, 0, inf], [inf, inf, 0]]
    assert bare.success[0, 1] == 1.0
    assert bare.worst == inf
    floor = bf.Policy(domain, {}, participation=True).protection("a", bf.SoftVote(0.1), BUDGET)
    assert floor.zcdp[0, 1] == pytest.approx(0.01 * 2 * tanh(0.5 / 0.2) ** 2)


def test_unjoined_values_have_no_path():
    domain = bf.Domain([bf.Categorical("a", ["x", "y", "z"])])
    found = bf.Policy(domain, {"a": bf.Edges([("x", "y")])}).protection("a", bf.SoftVote(1.0), BUDGET)
    assert found.hops[0, 2] == found.by_path[0, 2] == inf
    assert found.zcdp[0, 2] == found.by_distance[0, 2] == pytest.approx(0.01)


def test_the_frame_lists_each_pair_once():
    domain = bf.Domain([bf.Categorical("a", ["x", "y", "z"])])
    found = bf.Policy(domain, {"a": bf.Complete()}).protection("a", bf.HardVote(), BUDGET)
    frame = found.frame()
    assert [*zip(frame.a, frame.b, strict=True)] == [("x", "y"), ("x", "z"), ("y", "z")]
    assert frame.zcdp.tolist() == pytest.approx([0.01] * 3)
    assert frame.success.tolist() == pytest.approx([norm.cdf(sqrt(2 * 0.01) / 2)] * 3)
    assert found.epsilon[0, 1] == pytest.approx(BUDGET.epsilon)
