"""How fast the Temperature page answers on Adult: the whole page after one change of τ, and its curves made anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

import bfsoft as bf
from bfsoft.temperature import temperatures, vote_profile

APP = Path(__file__).resolve().parents[2] / "explorer" / "bfsoft_explorer" / "app.py"


def test_one_change_of_tau_redraws_the_page(benchmark: Any, adult: bf.Scenario) -> None:
    app = AppTest.from_file(str(APP), default_timeout=60).run()
    app.switch_page("../../pages/temperature.py").run()
    taus = iter(np.geomspace(0.011, 0.29, 200).tolist())

    def turned() -> None:
        app.session_state["scenario"] = adult.replace(tau=next(taus))
        app.run()

    benchmark.pedantic(turned, rounds=12, warmup_rounds=2)
    assert not app.exception
    charts = app.get("vega_lite_chart") + app.get("arrow_vega_lite_chart")
    assert len(charts) == 4
    print(f"\nthe page after a change of τ: {1e3 * benchmark.stats.stats.median:.0f} ms (median)")


def test_the_curves_of_new_candidates(benchmark: Any, records: bf.Records, candidates: np.ndarray) -> None:
    profile = benchmark.pedantic(vote_profile, (records, candidates, temperatures(25)), rounds=3, warmup_rounds=1)
    assert len(profile) == 25
    print(f"\nvotes at 25 temperatures: {1e3 * benchmark.stats.stats.min:.0f} ms")
