"""Every number of THEORY's table, "Numbers to reproduce", from the library; tolerances are the digits printed."""

from math import sqrt, tanh

import numpy as np
import pytest

import bfsoft as bf


@pytest.fixture(scope="module")
def bank() -> bf.Domain:
    """Bank's five columns; the job hierarchy has two levels, as in the paper."""
    return bf.Domain(
        [
            bf.Numeric("age", 18, 100),
            bf.Hierarchical(
                "job",
                {
                    "office": ["admin.", "management", "technician"],
                    "manual": ["blue-collar", "housemaid", "services"],
                    "own": ["entrepreneur", "self-employed"],
                    "none": ["retired", "student", "unemployed", "unknown"],
                },
            ),
            bf.Categorical("education", ["primary", "secondary", "tertiary", "unknown"]),
            bf.Numeric("balance", -10_000, 110_000, 500),
            bf.Categorical("y", ["no", "yes"]),
        ]
    )


@pytest.fixture(scope="module")
def xor3() -> bf.Domain:
    return bf.Domain([*(bf.Numeric(f"x{i}", 0, 7) for i in (1, 2, 3)), bf.Categorical("label", [0, 1])])


def test_weights_are_equal_by_default(adult, bank, xor3):
    assert set(adult.weights.values()) == {0.2}
    assert set(bank.weights.values()) == {0.2}
    assert set(xor3.weights.values()) == {0.25}


@pytest.mark.parametrize(
    ("rules", "reach"),
    [
        ({"age": bf.Threshold(7)}, 0.019178),
        ({"hours.per.week": bf.Threshold(8)}, 0.016327),
        ({"hours.per.week": bf.Threshold(8), "age": bf.Threshold(7)}, 0.019178),
        ({"hours.per.week": bf.Threshold(8), "age": bf.Threshold(7), "income": bf.Complete()}, 0.2),
    ],
)
def test_adult_reach(adult, rules, reach):
    assert bf.Policy(adult, rules).reach == pytest.approx(reach, abs=5e-7)


def test_adult_age_reach_is_the_fraction_to_the_last_digit(adult):
    assert bf.Policy(adult, {"age": bf.Threshold(7)}).reach == 0.2 * 7 / 73


@pytest.mark.parametrize(("tau", "ratio"), [(0.015, 0.5644), (0.03, 0.3092), (0.06, 0.1585)])
def test_adult_noise_ratio(adult, tau, ratio):
    policy = bf.Policy(adult, {"age": bf.Threshold(7)})
    assert bf.sensitivity_bound(policy, bf.SoftVote(tau)).ratio == pytest.approx(ratio, abs=5e-5)


def test_adult_bound_and_equal_noise_budget(adult):
    bound = bf.sensitivity_bound(bf.Policy(adult, {"age": bf.Threshold(7)}), bf.SoftVote(0.03))
    assert bound.l1 == pytest.approx(0.61835, abs=5e-6)
    assert bound.l2 == pytest.approx(0.43724, abs=5e-6)
    assert 1 / bound.ratio**2 == pytest.approx(10.461, abs=5e-4)


def test_bank_age(bank):
    policy = bf.Policy(bank, {"age": bf.Threshold(7)})
    assert policy.reach == pytest.approx(0.017073, abs=5e-7)
    ratios = [bf.sensitivity_bound(policy, bf.SoftVote(tau)).ratio for tau in (0.015, 0.03, 0.06)]
    assert ratios == pytest.approx([0.5147, 0.2771, 0.1413], abs=5e-5)


def test_bank_job_hierarchy(bank):
    siblings = bf.Policy(bank, {"job": bf.Threshold(2)})
    assert siblings.reach == pytest.approx(0.1, abs=1e-15)
    assert siblings.edge_count("job") == 3 + 3 + 1 + 6  # pairs within the four groups
    everyone = bf.Policy(bank, {"job": bf.Threshold(4)})
    assert everyone.reach == pytest.approx(0.2, abs=1e-15)
    assert everyone.edge_count("job") == 12 * 11 // 2


def test_xor3(xor3):
    policy = bf.Policy(xor3, {"x1": bf.Threshold(1)})
    assert policy.reach == pytest.approx(0.035714, abs=5e-7)
    ratios = [bf.sensitivity_bound(policy, bf.SoftVote(tau)).ratio for tau in (0.015, 0.03, 0.06)]
    assert ratios == pytest.approx([0.8307, 0.5337, 0.2891], abs=5e-5)


def test_hard_sensitivity_is_two_and_root_two(adult):
    bound = bf.sensitivity_bound(bf.Policy(adult, {"age": bf.Threshold(7)}), bf.HardVote())
    assert (bound.l1, bound.l2, bound.ratio) == pytest.approx((2.0, sqrt(2), 1.0))


@pytest.mark.parametrize(("rho", "paper", "exact"), [(5.5e-4, 0.16, 0.102), (4.4e-3, 0.45, 0.318)])
def test_epsilon(rho, paper, exact):
    budget = bf.Budget(rho=rho, delta=1e-5)
    assert budget.epsilon_zcdp == pytest.approx(paper, abs=5e-3)
    assert budget.epsilon == pytest.approx(exact, abs=5e-4)


def test_one_policy_edge_on_given_candidates(adult, adult_records):
    """Figure 1's figures: hard 0 or √2; soft 0.06–0.09 where hard is 0, and far above that where hard crosses.

    Candidates spread over the data at τ = 0.03 (the figure's own candidates are not published): every age edge of
    seven years moves the hard vote by 0 or √2, and none moves the soft vote beyond √2 tanh(r/2τ).
    """
    draw = np.random.default_rng(1)
    candidates = adult_records.codes[draw.choice(len(adult_records.codes), 512, replace=False)]
    ends = adult_records.codes[draw.choice(len(adult_records.codes), 300)]
    ends = ends[ends[:, 0] + 7 < 74]
    others = ends + np.array([7, 0, 0, 0, 0])
    hard = bf.HardVote().responses(adult, ends, candidates) - bf.HardVote().responses(adult, others, candidates)
    moved = np.linalg.norm(hard, axis=1)
    assert set(np.round(moved, 9)) == {0.0, round(sqrt(2), 9)}
    soft = bf.SoftVote(0.03).responses(adult, ends, candidates) - bf.SoftVote(0.03).responses(adult, others, candidates)
    shift = np.linalg.norm(soft, axis=1)
    assert shift.max() <= sqrt(2) * tanh(0.2 * 7 / 73 / 0.06)
    assert np.median(shift[moved == 0]) < np.median(shift[moved > 0])
