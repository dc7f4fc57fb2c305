"""Hop distances by formula are those of walking the graph, and many exact ε at once are those one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import shortest_path

import bfsoft as bf
from bfsoft.privacy import exact_epsilon, exact_epsilons


def walked(policy: bf.Policy, name: str) -> np.ndarray:
    count = len(policy.domain[name].values)
    joined = np.zeros((count, count))
    for a, b in policy.edges(name):
        joined[a, b] = joined[b, a] = 1
    return shortest_path(joined, unweighted=True)


@given(st.integers(1, 40), st.floats(0, 50), st.sampled_from([1, 0.5, 0.1]))
def test_thresholds_on_numbers(count, theta, step):
    attribute = bf.Numeric("x", 0, round((count - 1) * step, 6), step)
    policy = bf.Policy(bf.Domain([attribute]), {"x": bf.Threshold(theta)})
    assert np.array_equal(policy.hops("x"), walked(policy, "x"))


@pytest.mark.parametrize(
    "attribute", [bf.Numeric("x", 0, 6), bf.Categorical("x", ["a"]), bf.Categorical("x", [*"abcd"])]
)
def test_complete_graphs(attribute):
    policy = bf.Policy(bf.Domain([attribute]), {"x": bf.Complete()})
    assert np.array_equal(policy.hops("x"), walked(policy, "x"))


@pytest.mark.parametrize("delta", [0.4, 1e-2, 1e-5, 1e-10])
def test_many_epsilons_are_those_of_dp_accounting(delta):
    rho = np.geomspace(1e-8, 1e2, 40).reshape(8, 5)
    one_by_one = np.vectorize(lambda r: exact_epsilon(r, delta))(rho)
    assert exact_epsilons(rho, delta) == pytest.approx(one_by_one, rel=1e-7, abs=1e-11)


def test_the_ends_of_epsilon():
    assert exact_epsilons(np.array([0.0, np.inf, 1e-30]), 1e-5).tolist()[:2] == [0.0, np.inf]
    assert exact_epsilons(np.array([1e-30]), 1e-5)[0] < 1e-12
    assert exact_epsilons(np.float64(0.1), 1e-5) == exact_epsilons(np.array([0.1]), 1e-5)[0]
