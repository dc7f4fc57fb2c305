"""Charts of the temperature: what τ saves in noise, what it does to votes, and the other ways to say a budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, cast

import altair as alt
import numpy as np
import pandas as pd

from bfsoft import Budget, HardVote, Policy, Records, SoftVote, sensitivity_bound
from bfsoft.domain import Codes
from bfsoft.privacy import epsilon_zcdp, exact_epsilon
from bfsoft.temperature import (
    COLDEST,
    FLOOR,
    HOTTEST,
    Drowning,
    drowning,
    matched_curves,
    matched_tau,
    noise_curves,
    reaches,
    round_noise,
)
from bfsoft.wording import listed

from .. import words
from .style import CALM, COLOURS, QUIET, SIGNAL, by_round, by_source, title

SOFT, HARD = COLOURS["BF-Soft"], COLOURS["Hard"]
_MARKS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]
# More ranks than this cannot be told apart on a screen and only slow the browser.
_MOST_RANKS = 300
# Characters of a title that a telephone has room for, and pixels with title and legend.
_WRAP, _TALL = 48, 420
# From this ratio on softness is said to buy nothing: less than 2 % of the noise, 4 % of the budget.
_ALL = 0.98
# Beyond this many times, a percentage more is no longer a number that says anything.
_FEW_TIMES = 10

# The line that matters is the widest: a width in pixels, a column of the data (a condition is far slower to build).
_WIDTH = alt.StrokeWidth("width:Q", scale=None, legend=None)

Shown = Literal["ratio", "sigma_most", "factor"]
_SHOWN = {
    "ratio": ("noise ratio q", alt.Scale(domain=[0, 1])),
    "sigma_most": ("noise σ a round (votes)", alt.Scale(type="log")),
    "factor": ("times the ρ a hard vote needs", alt.Scale(type="log")),
}


def _tau(taus: Sequence[float] | np.ndarray = (COLDEST, HOTTEST)) -> alt.X:
    scale = alt.Scale(type="log", domain=[float(min(taus)), float(max(taus))], nice=False)
    axis = alt.Axis(values=_MARKS, format="~g", labelOverlap="parity")
    return alt.X("tau:Q", title="temperature τ (units of distance)", scale=scale, axis=axis)


def _powers(title: str, values: Sequence[float] | pd.Series, name: str) -> alt.Y:
    """A log axis whose marks are powers of ten, as few as can be told apart."""
    positive = [float(value) for value in values if 0 < value < math.inf] or [1.0]
    low, high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    apart = max(1, math.ceil((high - low) / 7))
    marks = [10.0**power for power in range(low, high + 1, apart)]
    return alt.Y(
        name, title=f"{title} (log scale)", scale=alt.Scale(type="log"), axis=alt.Axis(values=marks, format="~g")
    )


def _here(tau: float, taus: Sequence[float] | np.ndarray = (COLDEST, HOTTEST)) -> list[alt.Chart]:
    """A rule at the current τ, where it lies on the axis."""
    if not min(taus) <= tau <= max(taus):
        return []
    rule = alt.Chart(pd.DataFrame({"tau": [tau]})).mark_rule(strokeWidth=1.5, color=QUIET)
    return [rule.encode(x=_tau(taus), tooltip=[alt.Tooltip("tau:Q", title="current τ")])]


def votes_of(count: float, digits: int = 3) -> str:
    """An amount of votes as people say it: ``1 vote``, ``63.6 votes``."""
    said = words.number(count, digits)
    return f"{said} vote" if said == "1" else f"{said} votes"


def without_noise(policy: Policy, tau: float) -> str:
    """Why a soft release under this policy adds no noise, as the start of a sentence; empty where it adds some."""
    if sensitivity_bound(policy, SoftVote(tau)).l2 > 0:
        return ""
    if policy.widest_edge is None:
        return "A policy without edges needs no noise"
    if policy.reach == 0:
        return "Votes ignore what is joined, of weight 0: its edges need no noise"
    return f"At τ = {words.number(tau)} votes are too flat to differ: they need no noise"


def _only_participation(policy: Policy) -> bool:
    """Whether no change of a value moves any vote, so that participation alone asks for noise, of either vote."""
    return policy.participation and sensitivity_bound(policy, HardVote()).l2 == 1


def _over(*layers: Any) -> alt.LayerChart:
    """Layers one over the other; ``alt.layer`` says it may return a facet, which it does not for plain charts."""
    return cast(alt.LayerChart, alt.layer(*layers))


# --- noise -------------------------------------------------------------------------------------------------------


def noise_text(policy: Policy, tau: float) -> str:
    """The finding of ``noise_chart``: what the soft vote needs at this τ."""
    none = without_noise(policy, tau)
    if none:
        return none
    if _only_participation(policy):
        return "Participation alone sets the noise: the soft and the hard vote need the same, at any τ"
    bound = sensitivity_bound(policy, SoftVote(tau))
    if bound.ratio > _ALL:
        return f"At τ = {words.number(tau)} the soft vote needs as much noise as the hard one: softness buys nothing"
    return (
        f"At τ = {words.number(tau)} the soft vote needs {words.number(bound.ratio)} of the hard vote's noise, "
        f"as with {words.number(bound.budget_factor)} times the budget"
    )


def noise_chart(
    policy: Policy,
    tau: float,
    budget: Budget,
    rounds: int = 8,
    shares: Sequence[float] | None = None,
    show: Shown = "ratio",
) -> alt.LayerChart:
    """q, σ or the equal-noise budget over τ: for the record, each protected attribute, the ceiling and the floor.

    ``show`` is "ratio", "sigma_most" (σ of the round with the least budget) or "factor". The app draws the same
    curves with a τ that can be dragged (``temperature_dial``).
    """
    frame = noise_curves(policy, budget, rounds, shares)
    names = {"record": "this policy", "ceiling": "any edge of {}", "floor": "participation floor"}
    frame["curve"] = [names.get(row.kind, "{} alone").format(row.name) for row in frame[["kind", "name"]].itertuples()]
    frame = frame[np.isfinite(frame[show]) & (frame[show] > 0)]
    frame = frame.assign(width=np.where(frame["kind"] == "record", 3.5, 1.8))
    label, scale = _SHOWN[show]
    order = [*dict.fromkeys(frame["curve"])]
    colours = {"this policy": SOFT, "participation floor": QUIET}
    colour = alt.Color(
        "curve:N",
        scale=alt.Scale(
            domain=order, range=[colours.get(c, SIGNAL if c.startswith("any edge") else CALM) for c in order]
        ),
        legend=alt.Legend(orient="top", title=None, columns=2, labelLimit=150),
    )
    dash = alt.StrokeDash("curve:N", scale=alt.Scale(domain=order))
    lines = (
        alt.Chart(frame)
        .mark_line()
        .encode(
            x=_tau(),
            y=alt.Y(f"{show}:Q", title=label, scale=scale),
            color=colour,
            strokeDash=dash,
            strokeWidth=_WIDTH,
            tooltip=[
                alt.Tooltip("curve:N"),
                alt.Tooltip("tau:Q", format=".3g"),
                alt.Tooltip(f"{show}:Q", title=label, format=".4g"),
            ],
        )
    )
    detail = "each curve: q = tanh(r/2τ) at its own reach r; grey: what participation holds q at"
    return _over(lines, *_here(tau)).properties(title=title(noise_text(policy, tau), detail, _WRAP), height=_TALL)


# --- the signal --------------------------------------------------------------------------------------------------


def _at(frame: pd.DataFrame, tau: float) -> Any:
    """The row of a frame over τ that is nearest to τ in its logarithm."""
    return frame.iloc[int(np.argmin(np.abs(np.log(frame["tau"].to_numpy() / tau))))]


def sharpness_text(profile: pd.DataFrame, tau: float) -> str:
    """The finding of ``sharpness_chart``: how much of a vote stays with one candidate at this τ."""
    row = _at(profile, tau)
    return (
        f"At τ = {words.number(tau)} a record gives {words.number(100 * row['top_share'])} % of its vote to one "
        f"candidate and spreads it as over {words.number(2 ** row['entropy'])}"
    )


def sharpness_chart(profile: pd.DataFrame, tau: float) -> alt.LayerChart:
    """How softness flattens votes over τ: the largest share of a vote, and its evenness (entropy over log₂ m)."""
    kinds = {"top_share": "largest share of a vote", "evenness": "evenness"}
    frame = profile.melt(["tau", "entropy"], [*kinds], "kind", "value").replace({"kind": kinds}).sort_values("tau")
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=[*kinds.values()], range=[SOFT, SIGNAL]),
        legend=alt.Legend(orient="top", title=None, labelLimit=260),
    )
    taus = profile["tau"].to_numpy()
    lines = (
        alt.Chart(frame)
        .mark_line(strokeWidth=2.5)
        .encode(
            x=_tau(taus),
            y=alt.Y(
                "value:Q",
                title="share, averaged over records",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="%"),
            ),
            color=colour,
            strokeDash=alt.StrokeDash("kind:N", scale=alt.Scale(domain=[*kinds.values()])),
            tooltip=[
                alt.Tooltip("kind:N"),
                alt.Tooltip("tau:Q", format=".3g"),
                alt.Tooltip("value:Q", format=".2%"),
                alt.Tooltip("entropy:Q", title="entropy (bits)", format=".3f"),
            ],
        )
    )
    error = float(profile["top_error"].max())
    exact = "over all records" if error == 0 else f"over sampled records, ± {100 * error:.1f} % (95 %)"
    m = int(profile["m"].iloc[0])
    even = f"100 % is the same to all {m:,} candidates" if m > 1 else "the one candidate gets every vote"
    detail = f"{exact}; evenness is entropy / log₂ m: {even}"
    return _over(lines, *_here(tau, taus)).properties(
        title=title(sharpness_text(profile, tau), detail, _WRAP), height=_TALL
    )


def histogram_frame(records: Records, candidates: Codes, tau: float) -> pd.DataFrame:
    """Votes without noise, each method's candidates in the order of the hard votes: columns rank, method, votes.

    At most a few hundred ranks, evenly spaced, where there are more.
    """
    hard = HardVote().histogram(records.domain, records, candidates)
    soft = SoftVote(tau).histogram(records.domain, records, candidates)
    order = np.argsort(-hard, kind="stable")
    kept = np.unique(np.linspace(0, len(order) - 1, min(len(order), _MOST_RANKS)).round().astype(int))
    parts = [
        pd.DataFrame({"rank": kept + 1, "method": name, "votes": votes[order][kept]})
        for name, votes in (("Hard", hard), ("BF-Soft", soft))
    ]
    return pd.concat(parts, ignore_index=True)


def histogram_text(profile: pd.DataFrame, tau: float) -> str:
    """The finding of ``histogram_chart``: how many of the votes softness hands to other candidates."""
    moved = _at(profile, tau)["moved"]
    return f"At τ = {words.number(tau)} softness hands {words.number(100 * moved)} % of all votes to other candidates"


def histogram_chart(frame: pd.DataFrame, signals: pd.DataFrame, tau: float) -> alt.LayerChart:
    """The soft and the hard histogram without noise (``histogram_frame``), with the σ that each would get."""
    row = _at(signals, tau)
    sigmas = pd.DataFrame(
        {"method": ["Hard", "BF-Soft"], "sigma": [float(row["sigma_hard"]), float(row["sigma_soft"])]}
    )
    last = max(2, int(frame["rank"].max()))
    x = alt.X("rank:Q", title="candidate, by its hard votes", scale=alt.Scale(domain=[1, last], nice=False))
    # Votes run over several powers of ten; symlog keeps 0 on the axis.
    scale = alt.Scale(type="symlog", constant=1)
    marks = [v for v in (0, 1, 10, 100, 1_000, 10_000, 100_000, 1_000_000) if v <= max(10, 2 * frame["votes"].max())]
    y = alt.Y("votes:Q", title="votes (log scale)", scale=scale, axis=alt.Axis(values=marks, format=",d"))
    tooltip: list[Any] = [alt.Tooltip("rank:Q"), alt.Tooltip("method:N"), alt.Tooltip("votes:Q", format=",.2f")]
    colour = by_source("method", ["Hard", "BF-Soft"])
    base = alt.Chart(frame).encode(x=x, y=y, color=colour, tooltip=tooltip)
    soft = base.transform_filter("datum.method != 'Hard'").mark_point(size=9, filled=True, opacity=0.8)
    hard = base.transform_filter("datum.method == 'Hard'").mark_line(strokeWidth=2.5, interpolate="step")
    levels = (
        alt.Chart(sigmas[sigmas["sigma"] > 0])
        .mark_rule(strokeDash=[5, 4], strokeWidth=1.5)
        .encode(
            y=alt.Y("sigma:Q"),
            color=colour,
            tooltip=[alt.Tooltip("method:N"), alt.Tooltip("sigma:Q", title="σ (votes)", format=".4g")],
        )
    )
    detail = (
        f"no noise; dashed: the σ each would get, hard {words.number(row['sigma_hard'])}, "
        f"soft {votes_of(row['sigma_soft'])}"
    )
    noisy = [levels] if (sigmas["sigma"] > 0).any() else []
    return _over(soft, hard, *noisy).properties(title=title(histogram_text(signals, tau), detail, _WRAP), height=_TALL)


def signal_text(signals: pd.DataFrame, tau: float, found: Drowning) -> str:
    """The finding of ``signal_chart``: which vote stands above its noise at this τ."""
    row = _at(signals, tau)
    if row["sigma_hard"] == 0:
        return "No noise is needed, so no vote drowns"
    soft = "stands above its noise" if row["snr_soft"] > 1 else "drowns too"
    if row["snr_soft"] > 1 and found.smoothed_from is not None and tau >= found.smoothed_from:
        return f"At τ = {words.number(tau)} the soft vote stands above its noise, but smoothing has flattened it"
    if found.hard_drowned:
        return f"Noise drowns the hard vote; at τ = {words.number(tau)} the soft one {soft}"
    if row["snr_soft"] > row["snr_hard"] * 1.01:
        times = words.number(row["snr_soft"] / row["snr_hard"])
        return f"Both votes stand above their noise; at τ = {words.number(tau)} the soft one {times} times as far"
    return "Both votes stand above their noise, and softness adds nothing"


def signal_chart(signals: pd.DataFrame, policy: Policy, tau: float) -> alt.LayerChart:
    """Signal to noise over τ: the votes of an average candidate over σ, for the soft and the hard vote."""
    found = drowning(signals, policy)
    names = {"snr_hard": "Hard", "snr_soft": "BF-Soft"}
    frame = signals.melt(["tau"], [*names], "method", "snr").replace({"method": names}).sort_values("tau")
    frame = frame[np.isfinite(frame["snr"])]
    taus = signals["tau"].to_numpy()
    y = _powers("votes a candidate over σ", [*frame["snr"], 1.0], "snr:Q")
    lines = (
        alt.Chart(frame)
        .mark_line(strokeWidth=2.5)
        .encode(
            x=_tau(taus),
            y=y,
            color=by_source("method", ["Hard", "BF-Soft"]),
            tooltip=[alt.Tooltip("method:N"), alt.Tooltip("tau:Q", format=".3g"), alt.Tooltip("snr:Q", format=".4g")],
        )
    )
    one = alt.Chart(pd.DataFrame({"snr": [1.0]})).mark_rule(strokeDash=[5, 4], color=SIGNAL).encode(y=alt.Y("snr:Q"))
    first = signals.iloc[0]
    n, m = int(first["n"]), int(first["m"])
    each = f"{votes_of(n / m)}{' each' if m > 1 else ''}"
    detail = (
        f"{words.counted(n, 'record')}, {words.counted(m, 'candidate')}: {each}; below the dashed line noise is larger"
    )
    layers = [*([] if frame.empty else [lines, one]), *_here(tau, taus)] or [one]
    return _over(*layers).properties(title=title(signal_text(signals, tau, found), detail, _WRAP), height=_TALL)


def error_text(signals: pd.DataFrame, tau: float, found: Drowning) -> str:
    """The finding of ``error_chart``: whether smoothing costs more than the noise it saves, at this τ."""
    row = _at(signals, tau)
    if row["sigma_hard"] == 0:
        return "Without noise the hard vote misses nothing; smoothing only costs"
    if found.best is None:
        return "In one round no τ pays: the noisy hard vote, or the same votes for all, come closer"
    soft, hard = votes_of(row["error_soft"]), words.number(row["error_hard"])
    if row["error_soft"] < row["error_hard"]:
        return f"At τ = {words.number(tau)} softness pays: off by {soft} a candidate against {hard}"
    why = "smoothing costs more than it saves" if row["smoothing"] > row["sigma_soft"] else "it saves too little noise"
    return f"At τ = {words.number(tau)} {why}: off by {soft} a candidate against {hard}"


def error_chart(signals: pd.DataFrame, policy: Policy, tau: float) -> alt.LayerChart:
    """How far one round's noisy histogram misses the hard one without noise, over τ, and what part each cause has."""
    found = drowning(signals, policy)
    taus = signals["tau"].to_numpy()
    kinds = {
        "error_hard": ("hard: noise", HARD),
        "error_soft": ("soft: both together", SOFT),
        "smoothing": ("soft: smoothing alone", SIGNAL),
        "sigma_soft": ("soft: noise alone", CALM),
    }
    frame = signals.melt(["tau"], [*kinds], "kind", "votes").sort_values("tau")
    frame["kind"] = frame["kind"].map({kind: name for kind, (name, _) in kinds.items()})
    # What is a thousand times smaller than the rest only stretches the axis.
    frame = frame[frame["votes"] > frame["votes"].max() / 1e3]
    frame = frame.assign(width=np.where(frame["kind"] == "soft: both together", 3.5, 2.0))
    names = [name for name, _ in kinds.values()]
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=names, range=[colour for _, colour in kinds.values()]),
        legend=alt.Legend(orient="top", title=None, columns=2, labelLimit=220),
    )
    y = _powers("votes a candidate, off by (RMS)", frame["votes"], "votes:Q")
    lines = (
        alt.Chart(frame)
        .mark_line()
        .encode(
            x=_tau(taus),
            y=y,
            color=colour,
            strokeDash=alt.StrokeDash("kind:N", scale=alt.Scale(domain=names, range=[[1, 0], [1, 0], [6, 3], [2, 3]])),
            strokeWidth=_WIDTH,
            tooltip=[alt.Tooltip("kind:N"), alt.Tooltip("tau:Q", format=".3g"), alt.Tooltip("votes:Q", format=".4g")],
        )
    )
    layers: list[Any] = [lines, *_here(tau, taus)]
    said = []
    if found.best is not None and found.soft_from is not None and found.soft_to is not None:
        band = pd.DataFrame({"tau": [found.soft_from], "to": [found.soft_to]})
        layers.insert(0, alt.Chart(band).mark_rect(opacity=0.12, color=SOFT).encode(x=_tau(taus), x2=alt.X2("to:Q")))
        low, high, best = (words.number(at, 2) for at in (found.soft_from, found.soft_to, found.best))
        said.append(f"softness pays in the band {low}–{high}, most at {best}")
    if found.smoothed_from is not None:
        said.append(f"half the signal gone above {words.number(found.smoothed_from, 2)}")
    return _over(*layers).properties(title=title(error_text(signals, tau, found), "; ".join(said), _WRAP), height=_TALL)


# --- budgets -----------------------------------------------------------------------------------------------------


def rounds_text(policy: Policy, tau: float, budget: Budget, rounds: int, shares: Sequence[float] | None) -> str:
    """The finding of ``rounds_chart``: the soft vote's σ, or its least and its most over the rounds."""
    none = without_noise(policy, tau)
    if none:
        return f"{none} in any round"
    sigma = round_noise(policy, tau, budget, rounds, shares)["sigma_soft"]
    least, most = float(sigma.min()), float(sigma.max())
    if most - least < 1e-9 * most:
        adds = "The one round adds" if rounds == 1 else f"Each of the {rounds:,} rounds adds"
        return f"{adds} noise of σ = {votes_of(least)} to every candidate"
    where = [_in_rounds(np.flatnonzero(np.abs(sigma - level) < 1e-9 * most) + 1) for level in (least, most)]
    return f"σ runs from {votes_of(least)} {where[0]} to {words.number(most)} {where[1]}"


def _in_rounds(numbers: np.ndarray) -> str:
    """``in round 2``, ``in rounds 1 and 3``, or how many where they are too many to name."""
    if len(numbers) > 3:
        return f"in {len(numbers):,} rounds"
    return f"in round{'s' if len(numbers) > 1 else ''} {listed([f'{number:,}' for number in numbers])}"


def rounds_chart(
    policy: Policy, tau: float, budget: Budget, rounds: int = 8, shares: Sequence[float] | None = None
) -> alt.Chart:
    """σ of each round, for the soft vote and for the hard one at full sensitivity."""
    names = {"sigma_hard": "Hard", "sigma_soft": "BF-Soft"}
    frame = round_noise(policy, tau, budget, rounds, shares).melt(
        ["round", "share", "rho"], [*names], "method", "sigma"
    )
    frame = frame.replace({"method": names})
    return (
        alt.Chart(frame)
        .mark_line(point=alt.OverlayMarkDef(size=45))
        .encode(
            x=by_round(rounds),
            y=alt.Y("sigma:Q", title="σ (votes)", scale=alt.Scale(zero=True)),
            color=by_source("method", ["Hard", "BF-Soft"]),
            tooltip=[
                alt.Tooltip("method:N"),
                alt.Tooltip("round:Q"),
                alt.Tooltip("sigma:Q", title="σ (votes)", format=".5g"),
                alt.Tooltip("rho:Q", title="ρ of the round", format=".4g"),
                alt.Tooltip("share:Q", title="share of ρ", format=".2%"),
            ],
        )
        .properties(
            title=title(rounds_text(policy, tau, budget, rounds, shares), "σ = Δ₂ / √(2 ρ of the round)", _WRAP),
            height=_TALL - 40,
        )
    )


def epsilon_text(budget: Budget) -> str:
    """The finding of ``epsilon_chart``: how much the paper's conversion overstates ε."""
    if budget.epsilon == 0:
        loose = words.number(budget.epsilon_zcdp)
        return f"ρ = {words.number(budget.rho)} is exactly ε = 0 at this δ; the paper's formula says {loose}"
    said = f"ρ = {words.number(budget.rho)} is ε = {words.number(budget.epsilon)}; the paper's formula says"
    times, formula = budget.epsilon_zcdp / budget.epsilon, words.number(budget.epsilon_zcdp)
    if times - 1 < 1e-4:
        return f"{said} the same"
    if times > _FEW_TIMES:
        return f"{said} {formula}, {words.number(times)} times as much"
    return f"{said} {formula}, {words.number(100 * (times - 1))} % more"


def epsilon_chart(budget: Budget) -> alt.LayerChart:
    """ε over ρ at the budget's δ, exactly and by the paper's formula, with the present budget marked."""
    centre = 10.0 ** round(math.log10(budget.rho))
    rhos = np.geomspace(centre / 1e3, centre * 1e3, 37)
    rows = []
    for rho in rhos.tolist():
        rows.append({"rho": rho, "by": "exact", "epsilon": exact_epsilon(rho, budget.delta)})
        rows.append({"rho": rho, "by": "paper's formula", "epsilon": epsilon_zcdp(rho, budget.delta)})
    frame = pd.DataFrame(rows)
    # Far below, an exact ε of 0 has no place on a log axis, and one of 1e-9 would only stretch it.
    frame = frame[frame["epsilon"] > frame["epsilon"].max() * 1e-7]
    order = ["paper's formula", "exact"]
    marks = [10.0**power for power in range(round(math.log10(rhos[0])), round(math.log10(rhos[-1])) + 1)]
    scale = alt.Scale(type="log", nice=False)
    x = alt.X("rho:Q", title="ρ (zCDP, log scale)", scale=scale, axis=alt.Axis(values=marks, format="~g"))
    y = _powers(f"ε at δ = {words.number(budget.delta)}", frame["epsilon"], "epsilon:Q")
    colour = alt.Color(
        "by:N",
        scale=alt.Scale(domain=order, range=[QUIET, SOFT]),
        legend=alt.Legend(orient="top", title=None, symbolType="stroke"),
    )
    tooltip = [
        alt.Tooltip("by:N"),
        alt.Tooltip("rho:Q", title="ρ", format=".4g"),
        alt.Tooltip("epsilon:Q", title="ε", format=".5g"),
    ]
    lines = (
        alt.Chart(frame)
        .mark_line(strokeWidth=2.5)
        .encode(
            x=x,
            y=y,
            color=colour,
            tooltip=tooltip,
            strokeDash=alt.StrokeDash("by:N", scale=alt.Scale(domain=order, range=[[6, 3], [1, 0]])),
        )
    )
    here = pd.DataFrame(
        {
            "rho": [budget.rho] * 2,
            "by": ["exact", "paper's formula"],
            "epsilon": [budget.epsilon, budget.epsilon_zcdp],
        }
    )
    points = alt.Chart(here[here["epsilon"] > 0]).mark_point(size=90, filled=True, opacity=1)
    rule = alt.Chart(here.head(1)).mark_rule(color=QUIET).encode(x=alt.X("rho:Q"))
    detail = "exact for Gaussian noise; the formula ρ + 2√(ρ ln 1/δ) holds for any mechanism, so looser"
    layers = _over(lines, rule, points.encode(x=x, y=y, color=colour, tooltip=tooltip))
    return layers.properties(title=title(epsilon_text(budget), detail, _WRAP), height=_TALL - 40)


# --- matched noise -----------------------------------------------------------------------------------------------


def _matched(policy: Policy, tau: float) -> tuple[float, bool]:
    """This policy's q at τ, and whether participation's floor sets it: then all hotter pairs share it too."""
    ratio = math.tanh(policy.reach / (2 * tau))
    held = policy.participation and ratio <= FLOOR
    return (FLOOR if held else ratio), held


def matched_text(policy: Policy, tau: float) -> str:
    """The finding of ``matched_chart``: which line of equal noise the policy is on, or above which all are alike."""
    none = without_noise(policy, tau)
    if none:
        return f"{none}, so there is none to match"
    if _only_participation(policy):
        return f"Participation alone sets the noise, q = {words.number(FLOOR)}, at any τ"
    ratio, held = _matched(policy, tau)
    if held:
        return (
            f"Participation sets the noise: all pairs with τ ≥ {words.number(matched_tau(1.0, FLOOR))} × reach need "
            f"the same, q = {words.number(FLOOR)}"
        )
    if not 0 < ratio < 1:
        return f"At τ = {words.number(tau)} the noise is the hard vote's; no other pair is matched"
    return (
        f"All pairs on the line τ = {words.number(tau / policy.reach)} × reach need the same noise, "
        f"q = {words.number(ratio)}"
    )


def matched_chart(policy: Policy, tau: float) -> alt.LayerChart:
    """Reach against temperature: lines of equal noise ratio, this policy's line, and where each attribute meets it.

    With participation the lines end at its floor, q = 1/√2; in the area above it every pair needs that same noise.
    """
    ratio, held = _matched(policy, tau)
    levels = [0.8, 0.95] if policy.participation else [0.05, 0.1, 0.2, 0.5, 0.8, 0.95]
    frame = pd.concat([_line(each) for each in levels], ignore_index=True)

    # The axes end a little beyond 1, where each line is named.
    def axis(label: str, last: float) -> dict[str, Any]:
        scale = alt.Scale(type="log", domain=[COLDEST, last], nice=False)
        return {"title": f"{label} (distance, log scale)", "scale": scale, "axis": alt.Axis(values=_MARKS, format="~g")}

    x = alt.X("reach:Q", **axis("reach r", 1.9))
    y = alt.Y("tau:Q", **axis("temperature τ", 1.5))
    tooltip = [
        alt.Tooltip("label:N", title="line"),
        alt.Tooltip("reach:Q", format=".4g"),
        alt.Tooltip("tau:Q", format=".4g"),
    ]
    base = alt.Chart(frame).encode(x=x, y=y, detail=alt.Detail("label:N"), tooltip=tooltip)
    layers: list[Any] = [base.mark_line(color=CALM, strokeWidth=1.5)]
    if policy.participation:
        layers.insert(0, _floor_area(x, y))
    ends = frame.groupby("label", sort=False).tail(1)
    at_top = ends["reach"] < 1 - 1e-9
    above = alt.Chart(ends[at_top]).mark_text(color=QUIET, fontSize=12, align="center", dy=-8)
    beside = alt.Chart(ends[~at_top]).mark_text(color=QUIET, fontSize=12, align="left", dx=5)
    layers += [named.encode(x=x, y=y, text=alt.Text("label:N")) for named in (above, beside)]
    if policy.reach > 0 and 0 < ratio < 1:
        own = _line(ratio).assign(label=f"this policy, q = {words.number(ratio, 4)}")
        if len(own) > 1 and not held:
            layers.append(alt.Chart(own).mark_line(color=SOFT, strokeWidth=3.5).encode(x=x, y=y, tooltip=tooltip))
        points = matched_points(policy, tau)
        inside = points[points["reach"].between(COLDEST, 1) & points["tau"].between(COLDEST, HOTTEST)]
        kinds = alt.Scale(domain=["record", "attribute", "ceiling"], range=["circle", "diamond", "triangle-up"])
        matching = alt.Tooltip("tau:Q", title="matching τ", format=".4g")
        for mine, colour, size in ((False, SIGNAL, 110), (True, SOFT, 150)):
            dots = alt.Chart(inside[(inside["kind"] == "record") == mine]).mark_point(
                size=size, filled=True, opacity=1, color=colour
            )
            shape = alt.Shape("kind:N", scale=kinds, legend=None)
            layers.append(
                dots.encode(
                    x=x,
                    y=y,
                    shape=shape,
                    tooltip=[alt.Tooltip("name:N"), alt.Tooltip("reach:Q", format=".4g"), matching],
                )
            )
    detail = "each line: one noise ratio q; marks: the τ at which another reach needs this policy's noise"
    if policy.participation:
        detail = "each line: one noise ratio q; grey: participation holds q at 0.707, for every pair"
        detail += "; marks: the least τ at which another reach gets there" if held else ""
    return _over(*layers).properties(title=title(matched_text(policy, tau), detail, _WRAP), height=440)


def _floor_area(x: alt.X, y: alt.Y) -> alt.LayerChart:
    """Where participation's floor holds q, whatever the pair: above its line, which is named in it."""
    edge = _line(FLOOR)
    last = edge.iloc[[-1]].assign(reach=1.9, tau=1.9 * edge["tau"].iloc[-1] / edge["reach"].iloc[-1])
    frame = pd.concat([edge, last], ignore_index=True).assign(top=1.5, label="participation's floor, q = 0.707")
    base = alt.Chart(frame).encode(x=x, y=y, tooltip=[alt.Tooltip("label:N", title="area")])
    whole = pd.concat([frame.head(1).assign(reach=COLDEST), frame], ignore_index=True)
    area = alt.Chart(whole).mark_area(color=QUIET, opacity=0.16, clip=True)
    area = area.encode(x=x, y=y, y2=alt.Y2("top:Q"), tooltip=[alt.Tooltip("label:N", title="area")])
    line = base.mark_line(color=QUIET, strokeWidth=1.5, strokeDash=[6, 4], clip=True)
    # A corner that the floor fills whatever the policy.
    named = pd.DataFrame({"reach": [1.25 * COLDEST], "tau": [1.0], "label": ["participation: q = 0.707 for all"]})
    text = alt.Chart(named).mark_text(color=QUIET, fontSize=12, align="left", baseline="top")
    return _over(area, line, text.encode(x=x, y=y, text=alt.Text("label:N")))


def _line(ratio: float) -> pd.DataFrame:
    """The part of one line of equal noise that the picture shows: straight, so its two ends are all of it."""
    per_tau = 2.0 * math.atanh(ratio)
    first, last = max(1e-3, per_tau * COLDEST), min(1.0, per_tau * HOTTEST)
    ends = [first, last] if first < last else []
    return matched_curves([ratio], ends).assign(label=f"q = {words.number(ratio)}")


def matched_points(policy: Policy, tau: float) -> pd.DataFrame:
    """The τ at which each reach (the record's, each attribute's, the ceiling's) has this policy's q.

    Where participation's floor holds q, that is the least such τ for the others: any hotter one has the same q.
    The ceiling is left out where a protected attribute has that reach already.

    Columns kind, name, reach, tau, ratio; no rows where no edge moves a vote or q is, to machine precision, 1.
    """
    ratio, _ = _matched(policy, tau)
    listed = reaches(policy) if policy.reach > 0 and 0 < ratio < 1 else []
    taken = {reach for kind, _, reach in listed if kind == "attribute"}
    rows = [
        (kind, name, reach, tau if kind == "record" else matched_tau(reach, ratio), ratio)
        for kind, name, reach in listed
        if reach > 0 and not (kind == "ceiling" and reach in taken)
    ]
    return pd.DataFrame(rows, columns=["kind", "name", "reach", "tau", "ratio"])
