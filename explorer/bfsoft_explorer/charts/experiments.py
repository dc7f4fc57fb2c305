"""Charts of experiments: errors and paired gains over seeds, and a pilot's forecast over temperature and budget.

Findings are sentences with their 95 % interval, computed from the same frames as the pictures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from bfsoft.experiments import gains, summarise

from .. import words
from .style import COLOURS, QUIET, SIGNAL, by_source, title

# What a half-width chart holds of a title on a small laptop, in characters.
HALF = 50
_HEIGHT = 300
# Resamplings of fewer seeds than this are so few different ones that they always agree.
_SURE_FROM = 4
_INK = "#16212C"


def measured(frame: pd.DataFrame, k: int) -> pd.DataFrame:
    """The runs of a frame measured over k-way marginals."""
    return frame[frame["measure"] == f"{k}-way"].drop(columns="measure").reset_index(drop=True)


# ------------------------------------------------------------------ over seeds


def baseline_of(runs: pd.DataFrame) -> str:
    """What others are compared with: Hard, or where it was not run the first method."""
    methods = [*dict.fromkeys(runs["method"])]
    return "Hard" if "Hard" in methods else methods[0]


def plus_minus(mean: float, low: float, high: float) -> str:
    """A share in per cent with half its interval: ``11 % ± 4``; without an interval the number alone."""
    half = 100 * (high - low) / 2
    if math.isnan(half):
        return f"{100 * mean:.0f} %"
    digits = 0 if half >= 1 else 1
    return f"{100 * mean:.{digits}f} % ± {half:.{digits}f}"


def verdict(method: str, baseline: str, row: Any) -> str:
    """What paired relative gains say: lower, higher or no difference; ``row`` as ``summarise`` has it."""
    gain, low, high, seeds = row["mean"], row["low"], row["high"], int(row["seeds"])
    if seeds < 2:
        way = "lower" if gain > 0 else "higher"
        return f"At one seed {method}'s error is {abs(100 * gain):.0f} % {way} than {baseline}'s; others may differ"
    if low == high == 0:
        return f"{method} and {baseline} have the same error at each of {seeds} seeds"
    if low <= 0 <= high:
        return (
            f"No difference between {method} and {baseline} seen at {seeds} seeds (error {_signed(-gain)} % "
            f"± {_half(low, high)})"
        )
    if gain > 0:
        return f"{method} lowers error by {plus_minus(gain, low, high)} against {baseline}"
    return f"{method} raises error by {plus_minus(-gain, -high, -low)} against {baseline}"


def _signed(gain: float) -> str:
    return f"{100 * gain:+.1f}".replace("-", "−")


def _cell(gain: float) -> str:
    """A relative gain as a cell has room for it."""
    return f"{100 * gain:+.{0 if abs(gain) >= 0.0995 else 1}f} %".replace("-", "−")


def _half(low: float, high: float) -> str:
    half = 100 * (high - low) / 2
    return f"{half:.0f}" if half >= 1 else f"{half:.1f}"


def relative_gains(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean relative gain of each method over the baseline with its 95 % interval: method, mean, low, high, seeds."""
    paired = gains(runs, baseline_of(runs))
    return summarise(paired, "relative", ["method"])


def findings(runs: pd.DataFrame) -> list[str]:
    """What the seeds say of each method against the baseline, in sentences with their uncertainty and ε.

    ``runs`` is the frame of ``compare`` at one budget and measure.
    """
    epsilon = words.number(float(runs["epsilon"].iloc[0]))
    baseline = baseline_of(runs)
    if runs["method"].nunique() == 1:
        row = summarise(runs, "error", ["method"]).iloc[0]
        spread = "" if row["seeds"] < 2 else f" ± {words.number((row['high'] - row['low']) / 2, 2)}"
        seeds = int(row["seeds"])
        return [
            f"{baseline}'s error is {words.number(row['mean'])}{spread} at ε = {epsilon} "
            f"({words.counted(seeds, 'seed')})"
        ]
    said = []
    for _, row in relative_gains(runs).iterrows():
        text = verdict(str(row["method"]), baseline, row)
        said.append(f"{text} at ε = {epsilon}" + (f", {int(row['seeds'])} seeds" if "seed" not in text else ""))
    return said


def seeds_text(runs: pd.DataFrame) -> str:
    """The finding of ``seeds_chart``: every method's mean error with its interval."""
    table = summarise(runs, "error", ["method"])
    parts = []
    for _, row in table.iterrows():
        half = (row["high"] - row["low"]) / 2
        spread = "" if math.isnan(half) else f" ± {words.number(half, 2)}"
        parts.append(f"{row['method']} {words.number(row['mean'])}{spread}")
    return f"Mean error: {', '.join(parts)}"


def seeds_chart(runs: pd.DataFrame) -> alt.LayerChart:
    """Error of every method at every seed, with the mean and its 95 % t interval; ``runs`` has method, seed, error."""
    table = summarise(runs, "error", ["method"])
    methods = [*table["method"]]
    y = alt.Y("method:N", sort=methods, title=None, axis=alt.Axis(labelFontSize=13))
    colour = by_source("method", methods).legend(None)
    scale = alt.Scale(zero=False, nice=True)
    seen = [alt.Tooltip("method"), alt.Tooltip("seed:Q", format="d"), alt.Tooltip("error:Q", format=".5f")]
    dots = (
        alt.Chart(runs)
        .mark_circle(size=45, opacity=0.45)
        .encode(x=alt.X("error:Q", title="error (mean total variation)", scale=scale), y=y, color=colour, tooltip=seen)
    )
    heading = title(seeds_text(runs), "dot: one seed; bar: the mean's 95 % interval; lower is better", HALF)
    return _shown(_with_intervals(dots, table, y, colour, "mean error"), heading, _HEIGHT)


def _shown(chart: Any, heading: alt.TitleParams, height: int) -> alt.LayerChart:
    return chart.properties(title=heading, height=height)


def _with_intervals(dots: alt.Chart, table: pd.DataFrame, y: Any, colour: Any, name: str) -> alt.LayerChart:
    tooltip = [
        alt.Tooltip("method"),
        alt.Tooltip("mean:Q", title=name, format=".5f"),
        alt.Tooltip("low:Q", title="95 % low", format=".5f"),
        alt.Tooltip("high:Q", title="95 % high", format=".5f"),
    ]
    base = alt.Chart(table).encode(y=y, color=colour)
    bars = base.mark_rule(strokeWidth=3).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), tooltip=tooltip)
    means = base.mark_tick(thickness=3, size=34).encode(x=alt.X("mean:Q"), tooltip=tooltip)
    chart: Any = alt.layer(dots, bars, means)
    return chart


def gains_chart(runs: pd.DataFrame) -> alt.LayerChart:
    """How much lower each method's error is than the baseline's at the same seed, with the mean's 95 % interval.

    Needs runs of at least two methods.
    """
    baseline = baseline_of(runs)
    paired, table = gains(runs, baseline), relative_gains(runs)
    methods = [*table["method"]]
    y = alt.Y("method:N", sort=methods, title=None, axis=alt.Axis(labelFontSize=13))
    colour = by_source("method", methods).legend(None)
    x = alt.X("relative:Q", title=f"error below {baseline}'s at the same seed", axis=alt.Axis(format="+.0%"))
    seen = [alt.Tooltip("method"), alt.Tooltip("seed:Q", format="d"), alt.Tooltip("relative:Q", format="+.1%")]
    dots = alt.Chart(paired).mark_circle(size=45, opacity=0.45).encode(x=x, y=y, color=colour, tooltip=seen)
    zero = alt.Chart(pd.DataFrame({"x": [0.0]})).mark_rule(color=QUIET, strokeDash=[5, 4]).encode(x=alt.X("x:Q"))
    chart = alt.layer(zero, _with_intervals(dots, table, y, colour, "mean gain"))
    detail = "dot: one seed; bar: the mean's 95 % interval; right is better"
    return _shown(chart, title(findings(runs)[0], detail, HALF), _HEIGHT)


# ------------------------------------------------------------------ a pilot's forecast


def forecast_text(forecast: pd.DataFrame) -> str:
    """The finding of ``forecast_chart``: where softness helps, where it hurts, and where nobody can tell yet."""
    soft = int(((forecast["gain"] > 0) & forecast["sure"]).sum())
    hard = int(((forecast["gain"] <= 0) & forecast["sure"]).sum())
    open_ones = len(forecast) - soft - hard
    parts = [f"BF-Soft better in {soft} of {len(forecast)} settings", f"Hard in {hard}"]
    if open_ones:
        parts.append(f"{open_ones} too close to tell")
    return ", ".join(parts)


def boundary(forecast: pd.DataFrame) -> pd.DataFrame:
    """Where the forecast's sign changes between neighbouring cells of the grid, as segments x, y, x2, y2.

    Cells are squares of side 1 about whole numbers: x counts budgets and y temperatures, both from 0 upwards.
    """
    taus, rhos = sorted(forecast["tau"].unique()), sorted(forecast["rho"].unique())
    table = forecast.pivot(index="tau", columns="rho", values="gain").reindex(index=taus, columns=rhos).to_numpy() > 0
    segments = []
    for row in range(len(taus)):
        for column in range(len(rhos)):
            if column + 1 < len(rhos) and table[row, column] != table[row, column + 1]:
                segments.append((column + 0.5, row - 0.5, column + 0.5, row + 0.5))
            if row + 1 < len(taus) and table[row, column] != table[row + 1, column]:
                segments.append((column - 0.5, row + 0.5, column + 0.5, row + 0.5))
    return pd.DataFrame(segments, columns=["x", "y", "x2", "y2"])


def forecast_chart(
    forecast: pd.DataFrame, marked: tuple[float, float] | None = None, heading: str = ""
) -> alt.LayerChart:
    """The forecast gain over τ × ε as a map: colour says who is better, strength by how much, "?" where it is open.

    ``forecast`` is one scaling's part of ``Pilot.forecast``. A line parts cells of different sign. ``marked`` is a
    (τ, ρ) to frame, such as the recommended one. ``heading`` goes before the finding in the title.
    """
    taus, rhos = sorted(forecast["tau"].unique()), sorted(forecast["rho"].unique())
    epsilons = forecast.drop_duplicates("rho").set_index("rho")["epsilon"]
    cells = forecast.assign(
        x=[rhos.index(rho) for rho in forecast["rho"]],
        y=[taus.index(tau) for tau in forecast["tau"]],
        shown=[
            f"{_cell(relative)}{'' if sure else ' ?'}"
            for relative, sure in zip(forecast["relative"], forecast["sure"], strict=True)
        ],
        seen=np.where(forecast["sure"], "the interval excludes 0", "too close to tell"),
    ).assign(left=lambda f: f["x"] - 0.5, right=lambda f: f["x"] + 0.5, low_y=lambda f: f["y"] - 0.5,
             high_y=lambda f: f["y"] + 0.5)  # fmt: skip
    top = max(float(cells["relative"].abs().max()), 1e-9)
    x = _grid_axis("left:Q", [words.number(float(epsilons[rho]), 2) for rho in rhos], "ε of the private release")
    y = _grid_axis("low_y:Q", [words.number(tau) for tau in taus], "temperature τ")
    tooltip = [
        alt.Tooltip("tau:Q", title="τ", format=".4g"),
        alt.Tooltip("epsilon:Q", title="ε", format=".4g"),
        alt.Tooltip("rho:Q", title="ρ", format=".4g"),
        alt.Tooltip("relative:Q", title="error below Hard's", format="+.1%"),
        alt.Tooltip("low:Q", title="gain, 95 % low", format="+.4f"),
        alt.Tooltip("high:Q", title="gain, 95 % high", format="+.4f"),
        alt.Tooltip("seen", title="certainty"),
        alt.Tooltip("seeds:Q", title="seeds", format="d"),
    ]
    base = alt.Chart(cells)
    tiles = base.mark_rect(stroke=QUIET, strokeWidth=0.4).encode(
        x=x, x2=alt.X2("right:Q"), y=y, y2=alt.Y2("high_y:Q"), color=_better(top),
        tooltip=tooltip,
    )  # fmt: skip
    text = base.mark_text(fontSize=13, color=_INK).encode(
        x=alt.X("x:Q"), y=alt.Y("y:Q"), text=alt.Text("shown"), tooltip=tooltip,
    )  # fmt: skip
    layers: list[Any] = [tiles, text]
    parts = boundary(forecast)
    if len(parts):
        layers.append(
            alt.Chart(parts)
            .mark_rule(strokeWidth=3.5, color=SIGNAL)
            .encode(x=alt.X("x:Q"), y=alt.Y("y:Q"), x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q"))
        )
    if marked is not None and marked[0] in taus and marked[1] in rhos:
        column, row = rhos.index(marked[1]), taus.index(marked[0])
        frame = pd.DataFrame([{"left": column - 0.44, "right": column + 0.44, "low": row - 0.42, "high": row + 0.42}])
        layers.append(
            alt.Chart(frame).mark_rect(fillOpacity=0, strokeWidth=2.5, strokeDash=[4, 3], stroke=_INK)
            .encode(x=alt.X("left:Q"), x2=alt.X2("right:Q"), y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
        )  # fmt: skip
    finding = forecast_text(forecast)
    detail = "blue: BF-Soft better, orange: Hard; “?”: unsure; red: boundary"
    text_above = title(f"{heading}: {finding}" if heading else finding, detail, HALF)
    # Title and axis take their part whatever the number of rows.
    return _shown(alt.layer(*layers), text_above, 170 + 52 * len(taus))


def _better(top: float) -> alt.Color:
    """From Hard's colour over a pale middle to BF-Soft's: opaque, so that dark figures read on it in either theme."""
    scale = alt.Scale(domain=[-top, 0, top], range=[COLOURS["Hard"], "#EEF1F4", "#5AA5E0"], interpolate="rgb")
    return alt.Color("relative:Q", scale=scale, legend=None)


def _grid_axis(field: str, names: Sequence[str], name: str) -> Any:
    """An axis of equally wide cells about whole numbers, each with its own name."""
    labels = "[" + ", ".join(f"'{each}'" for each in names) + "][datum.value]"
    axis = alt.Axis(
        values=[*range(len(names))], labelExpr=labels, grid=False, ticks=False, domain=False, labelOverlap=False
    )
    scale = alt.Scale(domain=[-0.5, len(names) - 0.5], nice=False, zero=False)
    return (alt.X if field.startswith("left") else alt.Y)(field, title=name, axis=axis, scale=scale)


def recommendation_text(row: Any, forecast: pd.DataFrame) -> str:
    """What a pilot recommends at one budget, with how sure it is; ``row`` is of ``Pilot.recommended``."""
    seeds = int(forecast.loc[forecast["rho"] == row["rho"], "seeds"].max())
    if seeds < _SURE_FROM:
        agree = f"This rests on {words.counted(seeds, 'seed')}: too few to say how sure it is"
    else:
        agree = _how_sure(row)
    if row["method"] == "Hard":
        return f"Hard is best at ε = {words.number(row['epsilon'])}: no tested temperature lowers its error. {agree}."
    at = temperature_frame(forecast, row["rho"]).set_index("tau").loc[row["tau"]]
    return (
        f"τ = {words.number(row['tau'])} has the least error at ε = {words.number(row['epsilon'])}: "
        f"{plus_minus(at['mean'], at['low'], at['high'])} below Hard's. {agree}."
    )


def _how_sure(row: Any) -> str:
    often = f"{100 * row['share']:.0f} % of resamplings of the seeds choose the same"
    if row["tau_low"] == row["tau_high"]:
        return often
    return f"{often}; 95 % of them lie from {_span(row['tau_low'])} to {_span(row['tau_high'])}"


def _span(tau: float) -> str:
    return f"τ = {words.number(tau)}" if tau else "Hard"


def recommended_at(rows: pd.DataFrame, rho: float) -> Any:
    """The row of ``Pilot.recommended`` at a budget, or at the tested one nearest to it; None where none is done."""
    if rows.empty:
        return None
    ratio = (rows["rho"] / rho).map(lambda each: max(each, 1 / each))
    return rows.loc[ratio.idxmin()]


def marked(row: Any) -> tuple[float, float] | None:
    """The (τ, ρ) that a recommendation frames on the map; None for Hard, which has no τ."""
    return None if row["method"] == "Hard" else (float(row["tau"]), float(row["rho"]))


def temperature_frame(forecast: pd.DataFrame, rho: float) -> pd.DataFrame:
    """One budget's row of a forecast, sorted by τ, its gain and interval relative to Hard's mean error."""
    own = forecast[forecast["rho"] == rho].sort_values("tau")
    base = own["gain"] / own["relative"].where(own["relative"] != 0)
    return own.assign(mean=own["relative"], low=own["low"] / base, high=own["high"] / base)[
        ["tau", "mean", "low", "high", "sure"]
    ].reset_index(drop=True)


def temperature_text(forecast: pd.DataFrame, recommended: Any) -> str:
    """The finding of ``temperature_chart``."""
    if recommended["method"] == "Hard":
        return f"At ε = {words.number(recommended['epsilon'])} no tested τ beats Hard"
    return f"At ε = {words.number(recommended['epsilon'])} the least error is at τ = {words.number(recommended['tau'])}"


def temperature_chart(forecast: pd.DataFrame, recommended: Any) -> alt.LayerChart:
    """Forecast gain over τ at one budget with its 95 % band; the shaded range is what resampled seeds recommend."""
    frame = temperature_frame(forecast, recommended["rho"])
    x = alt.X("tau:Q", title="temperature τ", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(
        values=[*frame["tau"]], format="~g", grid=False, labelOverlap=True))  # fmt: skip
    percent = alt.Axis(format="+.0%")
    base = alt.Chart(frame)
    band = base.mark_area(opacity=0.25, color=COLOURS["BF-Soft"]).encode(
        x=x, y=alt.Y("low:Q", title="error below Hard's", axis=percent), y2=alt.Y2("high:Q")
    )
    line = base.mark_line(point=True, strokeWidth=2.5, color=COLOURS["BF-Soft"]).encode(
        x=x, y=alt.Y("mean:Q"), tooltip=[alt.Tooltip("tau:Q", format=".4g"), alt.Tooltip("mean:Q", format="+.1%")]
    )
    zero = alt.Chart(pd.DataFrame({"y": [0.0]})).mark_rule(color=QUIET, strokeDash=[5, 4]).encode(y=alt.Y("y:Q"))
    layers: list[Any] = [zero, band, line]
    if recommended["method"] != "Hard":
        low = max(recommended["tau_low"], float(frame["tau"].min()))
        span = pd.DataFrame([{"low": low, "high": recommended["tau_high"], "tau": recommended["tau"]}])
        if low < recommended["tau_high"]:
            layers.insert(
                0, alt.Chart(span).mark_rect(opacity=0.12, color=SIGNAL).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
            )
        layers.append(alt.Chart(span).mark_rule(strokeWidth=2, color=SIGNAL).encode(x=alt.X("tau:Q")))
    detail = "band: 95 % interval"
    if recommended["method"] != "Hard":
        detail += "; red: recommended τ and its range"
    return _shown(alt.layer(*layers), title(temperature_text(forecast, recommended), detail, HALF), _HEIGHT)


def scaling_text(forecast: pd.DataFrame, n_public: int, n_private: int) -> str:
    """What scaling the noise did to a forecast, in a sentence; ``forecast`` is ``Pilot.forecast`` with all scalings."""
    factor = n_public / n_private
    if factor == 1:
        return "Both tables have the same size, so the pilot's noise needs no scaling."
    how = (
        f"The public table has {n_public:,} records and the private one {n_private:,}, so the pilot multiplies its "
        f"noise by {words.number(factor)}: noise relative to votes is then what the private run will see."
    )
    scaled, unscaled = (scaling(forecast, which) for which in ("scaled", "unscaled"))
    both = scaled.merge(unscaled, on=["tau", "rho"], suffixes=("", "_unscaled"))
    if both.empty:
        return how
    turned = int(((both["gain"] > 0) != (both["gain_unscaled"] > 0)).sum())
    if not turned:
        return f"{how} Here that changed the sign of none of {len(both)} settings."
    return f"{how} That changed the sign of {turned} of {len(both)} settings."


def scaling(forecast: pd.DataFrame, which: str) -> pd.DataFrame:
    """The part of a pilot's forecast with its noise "scaled" or "unscaled"."""
    return forecast[forecast["scaling"] == which].reset_index(drop=True)
