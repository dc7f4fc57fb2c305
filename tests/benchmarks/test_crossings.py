"""How fast the Boundaries page's numbers come: every crossing of Adult's domain, and a change of the page."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest

import bfsoft as bf
from bfsoft.crossings import edge_changes, plane, regions, without_cell
from bfsoft.synthesis import random_candidates
from bfsoft_explorer.plane._contract import plane_data


def numpy_crossings(policy: bf.Policy, candidates: np.ndarray, share: float) -> tuple[int, int]:
    """Crossings by brute force over a share of the lines along age: one NumPy distance table a line.

    Returns the crossing edges and the lines looked at.
    """
    domain = policy.domain
    edges, values = policy.edges("age"), domain.shape[0]
    others = np.stack(np.unravel_index(np.arange(np.prod(domain.shape[1:])), domain.shape[1:]), axis=1)
    chosen = others[np.linspace(0, len(others) - 1, round(share * len(others))).astype(int)]
    crossing = 0
    for line in chosen:
        records = np.column_stack([np.arange(values), np.tile(line, (values, 1))])
        nearest = np.argmin(domain.exact_distance(records, candidates), axis=1)
        crossing += int((nearest[edges[:, 0]] != nearest[edges[:, 1]]).sum())
    return crossing, len(chosen)


def test_every_crossing_of_adult_at_least_20_times_as_fast_as_numpy(
    benchmark: Any, policy: bf.Policy, candidates: np.ndarray
) -> None:
    found = benchmark.pedantic(bf.crossings, (policy, candidates), rounds=5, warmup_rounds=1)
    assert found.total == 13_970_880
    if not benchmark.enabled:
        return
    start = perf_counter()
    crossing, lines = numpy_crossings(policy, candidates, share=0.02)
    whole = (perf_counter() - start) * 28_512 / lines
    ratio = whole / benchmark.stats["mean"]
    benchmark.extra_info["times as fast as NumPy"] = round(ratio)
    assert crossing / lines == pytest.approx(found.crossing / 28_512, rel=0.1)
    assert ratio >= 20


def test_the_change_along_every_edge_of_adult(benchmark: Any, policy: bf.Policy, candidates: np.ndarray) -> None:
    changes = benchmark.pedantic(edge_changes, (policy, candidates, 0.03), rounds=3, warmup_rounds=1)
    assert changes.exact
    assert changes.looked_at == 13_970_880


def test_a_change_of_the_plane_is_answered_at_once(benchmark: Any, policy: bf.Policy) -> None:
    """What the page computes before it draws: the plane's data, its regions, and who owns none; 512 candidates."""
    candidates = random_candidates(policy.domain, 512, 0)

    def answer() -> int:
        shown = plane(policy.domain, "age", "hours.per.week", candidates[3])
        plane_data(policy, shown, candidates, tau=0.03, vote="hard")
        return len(without_cell(regions(shown, candidates), len(candidates)))

    idle = benchmark.pedantic(answer, rounds=10, warmup_rounds=1)
    assert 0 < idle < 512


def test_a_change_of_the_record_runs_the_page_again(benchmark: Any) -> None:
    """The whole page as Streamlit runs it, strip, plane, counts and walk; DESIGN asks for 150 ms."""
    from streamlit.testing.v1 import AppTest

    app = AppTest.from_file(str(Path(__file__).parents[2] / "explorer" / "bfsoft_explorer" / "app.py"))
    app.run(timeout=120)
    app.switch_page("../../pages/boundaries.py").run(timeout=120)
    assert not app.exception
    ages = iter(range(10, 70))

    def change() -> None:
        view = app.session_state["boundaries:view"]
        record = view["record"].copy()
        record[0] = next(ages)
        view["record"] = record
        app.run(timeout=120)

    benchmark.pedantic(change, rounds=10, warmup_rounds=2)
    assert not app.exception
    if benchmark.enabled:
        benchmark.extra_info["milliseconds a change"] = round(1000 * benchmark.stats["median"])
