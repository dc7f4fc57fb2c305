"""Charts of syntheses and experiments: findings that agree with the data they stand over, and nothing off the axes."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

import bfsoft as bf
from bfsoft import experiments
from bfsoft_explorer import shares
from bfsoft_explorer.charts import experiments as charts
from bfsoft_explorer.charts import synthesis


@pytest.fixture(scope="module")
def staff() -> tuple[bf.Scenario, bf.Records]:
    frame, scenario = bf.load_sample("staff")
    return scenario, bf.Records.of_frame(scenario.domain, frame)


@pytest.fixture(scope="module")
def runs(staff: tuple[bf.Scenario, bf.Records]) -> dict[str, bf.Run]:
    scenario, records = staff
    return {
        method.name: bf.synthesize(records, scenario.policy, method, scenario.budget, size=40, rounds=3)
        for method in (bf.hard(), bf.bf_soft(scenario.tau))
    }


# ------------------------------------------------------------------ two attributes


@pytest.mark.parametrize(("across", "down"), [("age", "sick"), ("age", "job"), ("job", "remote"), ("age", "age")])
def test_maps_of_two_attributes_hold_every_record_once(staff, runs, across: str, down: str) -> None:  # type: ignore[no-untyped-def]
    _, records = staff
    frame = synthesis.pair_frame(records, across, down, {name: run.codes for name, run in runs.items()})
    assert frame.groupby("source")["share"].sum().to_numpy() == pytest.approx(np.ones(3))
    assert frame.groupby("source").size().nunique() == 1
    assert not frame.duplicated(["source", "x", "y"]).any()
    assert not frame.duplicated(["source", "across", "down"]).any()


def test_a_map_misplaces_what_the_error_measure_counts(staff, runs) -> None:  # type: ignore[no-untyped-def]
    """Cells are the bins of Fidelity, so the share misplaced is its total variation of that pair."""
    scenario, records = staff
    pair = bf.Domain([scenario.domain["age"], scenario.domain["sick"]])
    columns = [scenario.domain.position(name) for name in ("age", "sick")]
    alone = bf.Records.of_codes(pair, records.codes[:, columns], records.counts)
    frame = synthesis.pair_frame(records, "age", "sick", {name: run.codes for name, run in runs.items()})
    for name, gap in synthesis.misplaced(frame).items():
        assert gap == pytest.approx(bf.Fidelity(alone, 2).error(runs[name].codes[:, columns]))


def test_a_table_equal_to_the_data_misplaces_nothing(staff) -> None:  # type: ignore[no-untyped-def]
    _, records = staff
    frame = synthesis.pair_frame(records, "age", "job", {"Hard": records.expand()})
    assert synthesis.misplaced(frame) == {"Hard": pytest.approx(0.0)}


def test_many_labels_are_gathered_rarest_together() -> None:
    domain = bf.Domain([bf.Categorical("town", [f"t{k:02}" for k in range(60)]), bf.Numeric("x", 0, 3)])
    counts = np.arange(1, 61)
    codes = np.column_stack([np.arange(60), np.zeros(60, dtype=int)])
    records = bf.Records.of_codes(domain, codes, counts)
    frame = synthesis.pair_frame(records, "town", "x", {})
    names = [*dict.fromkeys(frame.sort_values("x")["across"])]
    assert names == [*(f"t{k:02}" for k in range(37, 60)), "37 others"]
    others = frame[frame["across"] == "37 others"]["share"].sum()
    assert others == pytest.approx(counts[:37].sum() / counts.sum())


# ------------------------------------------------------------------ votes and moves


def test_one_axis_holds_the_votes_of_all_methods(runs) -> None:  # type: ignore[no-untyped-def]
    rounds = [run.rounds[0] for run in runs.values()]
    low, high = synthesis.vote_span(rounds)
    for each in rounds:
        for votes in (each.votes, each.noisy_votes, [-2 * each.sigma, 2 * each.sigma]):
            assert low <= np.min(votes)
            assert np.max(votes) <= high
    domains = {json.dumps(synthesis.vote_chart(name, run.rounds[0], (low, high)).to_dict()["layer"][0]["encoding"]["y"]
                          ["scale"]) for name, run in runs.items()}  # fmt: skip
    assert domains == {json.dumps({"domain": [low, high]})}


def test_candidates_move_from_where_they_stood_to_where_they_were_chosen(runs) -> None:  # type: ignore[no-untyped-def]
    rounds = runs["Hard"].rounds
    steps = synthesis.moves(rounds)
    assert len(steps) == 2 * len(rounds)
    for number, each in enumerate(rounds):
        assert (steps[2 * number][1] == each.candidates).all()
        assert (steps[2 * number + 1][1] == each.selected).all()
    assert (steps[-1][1] == runs["Hard"].codes).all()


def test_a_figure_of_moves_shows_every_method_at_every_step(staff, runs) -> None:  # type: ignore[no-untyped-def]
    _, records = staff
    figure = synthesis.moves_figure(records, {name: run.rounds for name, run in runs.items()}, "age", "job")
    assert len(figure.data) == 2
    assert len(figure.frames) == 6
    assert [*(step["args"][0][0] for step in figure.layout.sliders[0].steps)] == [each.name for each in figure.frames]
    domain = records.domain
    for frame in figure.frames:
        for trace in frame.data:
            for values, attribute in ((trace.x, domain["age"]), (trace.y, domain["job"])):
                assert min(values) > -0.5
                assert max(values) < len(attribute.values) - 0.5
    still = synthesis.moves_figure(
        records, {name: run.rounds for name, run in runs.items()}, "age", "job", moving=False
    )
    assert not still.frames


def test_large_runs_are_thinned_to_what_a_browser_moves() -> None:
    domain = bf.Domain([bf.Numeric("a", 0, 9), bf.Numeric("b", 0, 9)])
    policy = bf.Policy(domain, {"a": bf.Threshold(1)})
    records = bf.Records.of_codes(domain, np.indices((10, 10)).reshape(2, -1).T)
    run = bf.synthesize(records, policy, bf.hard(), bf.Budget(rho=1.0), size=2_000, rounds=50)
    figure = synthesis.moves_figure(records, {"Hard": run.rounds}, "a", "b")
    assert len(figure.frames) == 60
    assert all(len(frame.data[0].x) == 400 for frame in figure.frames)
    assert figure.layout.sliders[0].steps[-1].label == "round 50: chosen"


# ------------------------------------------------------------------ findings over seeds


def made_runs(hard: list[float], soft: list[float]) -> pd.DataFrame:
    rows = [("Hard", math.nan, seed, error) for seed, error in enumerate(hard)]
    rows += [("BF-Soft", 0.03, seed, error) for seed, error in enumerate(soft)]
    frame = pd.DataFrame(rows, columns=["method", "tau", "seed", "error"])
    return frame.assign(rho=1e-4, epsilon=0.04)


def test_a_sure_gain_is_said_with_its_interval() -> None:
    """Relative gains 0.10, 0.20, 0.15: mean 0.15, t(2) interval ± 4.303 · 0.05 / √3 = ± 0.124."""
    runs = made_runs([1.0, 1.0, 1.0], [0.9, 0.8, 0.85])
    assert charts.findings(runs) == ["BF-Soft lowers error by 15 % ± 12 against Hard at ε = 0.04, 3 seeds"]


def test_a_sure_loss_is_said_as_one() -> None:
    runs = made_runs([1.0, 1.0, 1.0], [1.1, 1.2, 1.15])
    assert charts.findings(runs) == ["BF-Soft raises error by 15 % ± 12 against Hard at ε = 0.04, 3 seeds"]


def test_an_interval_that_holds_nothing_is_no_difference() -> None:
    [said] = charts.findings(made_runs([1.0, 1.0, 1.0], [0.9, 1.1, 1.0]))
    assert said.startswith("No difference between BF-Soft and Hard seen at 3 seeds")


def test_one_seed_claims_nothing_beyond_itself_and_equal_runs_are_equal() -> None:
    [said] = charts.findings(made_runs([1.0], [0.9]))
    assert "At one seed" in said
    assert "10 % lower" in said
    [said] = charts.findings(made_runs([1.0, 1.0], [1.0, 1.0]))
    assert "same error at each of 2 seeds" in said


@pytest.mark.parametrize("soft", [[0.9, 0.8], [0.9], [1.0, 1.0]])
def test_charts_over_seeds_draw_for_any_number_of_them(soft: list[float]) -> None:
    runs = made_runs([1.0] * len(soft), soft)
    for chart in (charts.seeds_chart(runs), charts.gains_chart(runs)):
        assert chart.to_dict()["layer"]


# ------------------------------------------------------------------ forecasts


def made_forecast(gains: dict[tuple[float, float], tuple[float, float]]) -> pd.DataFrame:
    """Forecast cells from {(τ, ρ): (gain, half an interval)}, Hard's error being 1."""
    rows = [
        {"scaling": "scaled", "tau": tau, "rho": rho, "epsilon": 40 * rho, "gain": gain, "low": gain - half,
         "high": gain + half, "seeds": 6, "relative": gain, "sign": "soft" if gain > 0 else "hard",
         "sure": abs(gain) > half}
        for (tau, rho), (gain, half) in gains.items()
    ]  # fmt: skip
    return pd.DataFrame(rows)


GRID = made_forecast({
    (0.01, 1e-3): (0.2, 0.1), (0.01, 1e-2): (0.05, 0.1), (0.02, 1e-3): (0.3, 0.1), (0.02, 1e-2): (-0.2, 0.1),
})  # fmt: skip


def test_a_forecast_counts_what_is_sure_and_what_is_open() -> None:
    assert charts.forecast_text(GRID) == "BF-Soft better in 2 of 4 settings, Hard in 1, 1 too close to tell"


def test_the_boundary_runs_between_cells_of_different_sign() -> None:
    """Only the cell (τ = 0.02, ρ = 0.01), the upper right one, is negative: its left and lower sides part it."""
    assert {tuple(row) for row in charts.boundary(GRID).to_numpy()} == {(0.5, 0.5, 0.5, 1.5), (0.5, 0.5, 1.5, 0.5)}
    assert charts.boundary(GRID.assign(gain=1.0)).empty


def test_open_cells_carry_a_question_mark_and_the_marked_one_a_frame() -> None:
    spec = charts.forecast_chart(GRID, (0.02, 1e-3)).to_dict()
    rows = [row for data in spec["datasets"].values() for row in data if "shown" in row]
    assert {row["shown"] for row in rows} == {"+20 %", "+5.0 % ?", "+30 %", "−20 %"}
    assert len(spec["layer"]) == len(charts.forecast_chart(GRID).to_dict()["layer"]) + 1


def test_scaling_says_the_factor_and_how_many_signs_it_changed() -> None:
    unscaled = GRID.assign(scaling="unscaled", gain=-GRID["gain"].abs())
    both = pd.concat([GRID, unscaled])
    said = charts.scaling_text(both, 3_000, 12_000)
    assert "multiplies its noise by 0.25" in said
    assert "changed the sign of 3 of 4 settings" in said
    assert "needs no scaling" in charts.scaling_text(GRID, 50, 50)


def test_a_recommendation_says_the_gain_and_how_often_it_would_be_chosen() -> None:
    row = pd.Series({
        "rho": 1e-3, "epsilon": 0.04, "method": "BF-Soft", "tau": 0.02, "gain": 0.3, "low": 0.2, "high": 0.4,
        "share": 0.93, "tau_low": 0.01, "tau_high": 0.02,
    })  # fmt: skip
    said = charts.recommendation_text(row, GRID)
    assert "τ = 0.02 has the least error at ε = 0.04: 30 % ± 10 below Hard's" in said
    assert "93 % of resamplings" in said
    assert "from τ = 0.01 to τ = 0.02" in said
    assert charts.temperature_chart(GRID, row).to_dict()["layer"]
    for few in (1, 2, 3):
        said_of_few = charts.recommendation_text(row, GRID.assign(seeds=few))
        assert "too few to say how sure" in said_of_few
        assert "resamplings" not in said_of_few
    said = charts.recommendation_text(row.replace("BF-Soft", "Hard"), GRID)
    assert said.startswith("Hard is best at ε = 0.04")


def test_intervals_of_a_forecast_are_relative_to_the_same_error() -> None:
    frame = charts.temperature_frame(GRID.assign(relative=GRID["gain"] / 2), 1e-3)
    assert frame["tau"].tolist() == [0.01, 0.02]
    assert frame["mean"].tolist() == pytest.approx([0.1, 0.15])
    assert (frame["high"] - frame["low"]).tolist() == pytest.approx([0.1, 0.1])


def test_a_real_pilot_can_be_drawn_after_one_seed(staff) -> None:  # type: ignore[no-untyped-def]
    scenario, records = staff
    found = experiments.pilot(records, scenario.policy, 900, (0.05,), (1e-2,), seeds=1, size=16, rounds=2, jobs=1)
    forecast = charts.scaling(found.forecast, "scaled")
    assert charts.forecast_chart(forecast).to_dict()["layer"]
    for _, row in found.recommended.iterrows():
        assert charts.temperature_chart(forecast, row).to_dict()["layer"]
        assert charts.recommendation_text(row, forecast)


# ------------------------------------------------------------------ shares


@pytest.mark.parametrize(
    ("given", "rounds", "expected"),
    [
        (None, 4, None),
        ((1.0, 2.0, 3.0), 2, (1.0, 2.0)),
        ((1.0, 2.0, 3.0), 4, (1.0, 2.0, 3.0, 4.0)),
        ((3.0, 2.0, 1.0), 4, (4.0, 3.0, 2.0, 1.0)),
        ((2.0, 2.0, 2.0), 5, None),
        ((5.0, 1.0, 2.0), 2, (5.0, 1.0)),
        ((5.0, 1.0, 2.0), 5, (5.0, 1.0, 2.0, 2.0, 2.0)),
    ],
)
def test_shares_keep_their_pattern_over_other_rounds(given, rounds: int, expected) -> None:  # type: ignore[no-untyped-def]
    assert shares.for_rounds(given, rounds) == expected


def test_shares_are_read_as_they_are_written() -> None:
    for given in ((1.0, 2.0, 3.0), (0.1, 1 / 3, 1e-7, 1e17)):
        assert shares.parse(shares.written(given)) == given
