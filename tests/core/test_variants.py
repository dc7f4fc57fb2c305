"""Variants: ours is the library's loop to the bit; the others differ in the parts they say, and in no other."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import bfsoft as bf
from bfsoft import experiments as ex
from bfsoft import variants
from bfsoft.errors import ExperimentError
from bfsoft.synthesis import random_candidates

SMALL = {"size": 40, "rounds": 4}


@pytest.fixture(scope="module")
def policy() -> bf.Policy:
    return bf.load_sample("xor3")[1].policy


@pytest.fixture(scope="module")
def table(policy: bf.Policy) -> bf.Records:
    return bf.Records.of_frame(policy.domain, bf.xor3(500))


class Listening:
    """A hard vote that remembers the candidates it was shown."""

    def __init__(self) -> None:
        self.seen: list[np.ndarray] = []

    def responses(self, domain: bf.Domain, records: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        return bf.HardVote().responses(domain, records, candidates)

    def histogram(self, domain, records, candidates, counts=None):  # type: ignore[no-untyped-def]
        self.seen.append(candidates)
        return bf.HardVote().histogram(domain, records, candidates, counts)


def run(variant: variants.Variant, table: bf.Records, policy: bf.Policy) -> tuple[list[np.ndarray], np.ndarray]:
    vote = Listening()
    arm = ex.Arm((), policy, vote, lambda policy, vote, candidates: bf.sensitivity_bound(policy, bf.HardVote()), 1e-2)
    return vote.seen, variant(table, arm, 7, SMALL)


def test_our_own_variant_is_the_library_s_loop(table: bf.Records, policy: bf.Policy) -> None:
    methods = [bf.hard(), bf.tab_pe(), bf.bf_soft(0.02), bf.bf_soft(0.2)]
    plain, same = (
        ex.compare(table, policy, methods, [1e-3, 1e-1], seeds=3, threshold=1.5, **SMALL, **loop)
        for loop in ({}, {"loop": variants.TAB_PE})
    )
    assert plain.equals(same)


def test_the_rates_are_those_published() -> None:
    """DPSDA asks for the rate at iteration t − 1 of T; the paper's code at (t − 1)/(T − 1), from 0.25."""
    ours, dpsda, paper = (
        [variant.rate(t, 8) for t in range(1, 9)] for variant in (variants.TAB_PE, variants.DPSDA, variants.PAPER)
    )
    schedule = bf.Schedule()
    assert ours == [schedule.rate(t, 8) for t in range(1, 9)]
    assert dpsda[0] == 0.5
    assert dpsda[1:] == ours[:-1], "DPSDA is one mutation behind"
    assert paper[0] == 0.25
    assert paper[7] == pytest.approx(0.01)
    assert paper[6] == pytest.approx(0.25 - 0.24 * (6 / 7) ** 0.2)


def test_the_paper_ranks_and_keeps_parents_after_two_rounds(table: bf.Records, policy: bf.Policy) -> None:
    seen, final = run(variants.PAPER, table, policy)
    assert [len(pool) for pool in seen] == [40, 40, 40, 80]
    assert len(final) == 40
    # The last round chose among the candidates it voted on, each at most once.
    shown = sorted(map(tuple, seen[-1].tolist()))
    for row in map(tuple, final.tolist()):
        shown.remove(row)
    # A round that ranks 40 of 40 keeps them all as parents.
    assert sorted(map(tuple, seen[3][:40].tolist())) == sorted(map(tuple, seen[2].tolist()))


def test_dpsda_hands_out_mutants(table: bf.Records, policy: bf.Policy) -> None:
    seen, final = run(dataclasses.replace(variants.DPSDA, last=0.5), table, policy)
    assert [len(pool) for pool in seen] == [40] * 4
    rows = set(map(tuple, seen[-1].tolist()))
    assert any(tuple(row) not in rows for row in final.tolist())
    _, kept = run(variants.TAB_PE, table, policy)
    ours, _ = run(variants.TAB_PE, table, policy)
    assert all(tuple(row) in set(map(tuple, ours[-1].tolist())) for row in kept.tolist())


def test_a_fixed_population_is_the_same_for_every_seed(table: bf.Records, policy: bf.Policy) -> None:
    seen, _ = run(variants.Variant("fixed", population=3), table, policy)
    assert np.array_equal(seen[0], random_candidates(policy.domain, 40, 3))


def test_the_paper_s_hard_vote_spends_its_full_noise_unseen() -> None:
    """One edge on a long axis crosses no boundary of a few candidates: Hard's sensitivity is 0, and its noise too."""
    domain = bf.Domain([bf.Numeric("x", 0, 99_999)])
    policy = bf.Policy(domain, {"x": bf.Edges([(0, 1)])})
    table = bf.Records.of_codes(domain, np.arange(0, 100_000, 1_000)[:, None])
    results = {
        (variant.name, rho): variant(table, ex.Arm((), policy, bf.HardVote(), "policy", rho), 0, SMALL)
        for variant in (variants.PAPER, variants.TAB_PE)
        for rho in (1e-6, 1e6)
    }
    for variant, same in ((variants.TAB_PE, True), (variants.PAPER, False)):
        assert np.array_equal(results[variant.name, 1e-6], results[variant.name, 1e6]) == same


def test_what_a_variant_decides_cannot_be_set(table: bf.Records, policy: bf.Policy) -> None:
    with pytest.raises(ExperimentError, match="decides mutation, resampling itself"):
        ex.compare(table, policy, [bf.hard()], [1e-2], seeds=1, loop=variants.PAPER, resampling="multinomial",
                   mutation="near")  # fmt: skip
