"""Pilot: forecast from public data whether softness will help on private data, and at which temperature (paper §6.2.4).

A pilot spends no private budget: it reads the public table and the private table's size, which is taken as public.
It holds only for private data like the public table; nothing here can tell whether it is.
"""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..errors import ExperimentError
from ..policy import Policy
from ..records import as_records
from ..synthesis import bf_soft, hard
from .analysis import gains, summarise, t_interval
from .studies import Budgets, Seeds, Table, arm_of, bench_of, budgets_of, seeds_of
from .trials import Loop, Measure, OnProgress, Trial, final_codes, policy_digest, run_trials

SCALINGS = ("scaled", "unscaled")
_DRAWS = 2000


@dataclass(frozen=True)
class Pilot:
    """What a pilot found.

    ``runs`` is the tidy frame of its runs with the column ``scaling``. ``forecast`` has a row a scaling, τ and ρ: the
    mean gain of BF-Soft over Hard with its 95 % t interval, ``relative`` (to Hard's mean error), and ``sign``: "soft"
    or "hard" for the better mean, with ``sure`` telling whether the interval excludes 0. ``recommended`` has a row a
    budget, from the scaled runs: the method and τ of least mean error, its gain, ``share``, the share of bootstrap
    draws over seeds that choose the same, and ``tau_low, tau_high``, the range of τ that 95 % of draws choose
    (0 stands for Hard). With a target, ``target`` is its own table of gains and ``agreement`` says for each scaling
    how many forecast signs are right, of how many, and of those where the target's interval excludes 0.
    """

    runs: pd.DataFrame
    forecast: pd.DataFrame
    recommended: pd.DataFrame
    target: pd.DataFrame | None = None
    agreement: pd.DataFrame | None = None


def pilot(
    public: Table,
    policy: Policy,
    private_size: int | None = None,
    taus: Sequence[float] = (0.015, 0.03, 0.045, 0.06, 0.09),
    budgets: Budgets = (1e-4, 6e-4, 3e-3),
    *,
    target: Table | None = None,
    scalings: Sequence[str] = SCALINGS,
    seeds: Seeds = 6,
    k: int = 2,
    reference: Table | None = None,
    target_reference: Table | None = None,
    measures: Mapping[str, Measure] | None = None,
    loop: Loop = final_codes,
    jobs: int | None = None,
    progress: OnProgress | None = None,
    resume: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Pilot:
    """Forecast the sign of BF-Soft's gain over τ × ρ from a public table (paper §6.2.4, Figure 5, F.7).

    ``budgets`` are those of the private run. "scaled" multiplies the noise by n_public / ``private_size``, so that
    noise relative to votes is what the private run will see; "unscaled" leaves it, and a smaller table feels it more.
    ``target``, for checking a pilot on data that is public too, is run at the same settings with its own noise, and
    its size stands in for ``private_size``. Errors are against each table itself, or ``reference`` and
    ``target_reference``. Other options as for ``compare``; one measure only.
    Raises ExperimentError when neither ``private_size`` nor ``target`` is given, or a setting is impossible.
    """
    domain = policy.domain
    tables = {"public": as_records(domain, public)}
    if target is not None:
        tables["target"] = as_records(domain, target)
        private_size = tables["target"].n if private_size is None else private_size
    if isinstance(private_size, bool) or not isinstance(private_size, numbers.Integral) or private_size < 1:
        raise ExperimentError(
            f"private_size must be how many records the private table has, got {private_size!r}; it scales the noise"
        )
    for scaling in scalings:
        if scaling not in SCALINGS:
            raise ExperimentError(f"there is no scaling {scaling!r}; there are {', '.join(SCALINGS)}")
    factor = tables["public"].n / private_size
    kinds = {scaling: ("public", 1.0 / factor**2 if scaling == "scaled" else 1.0) for scaling in scalings}
    if target is not None:
        kinds["target"] = ("target", 1.0)
    spent, delta = budgets_of(budgets)
    places = list(tables)
    arms = [
        arm_of(method, policy, rho, before=(("scaling", kind),), table=places.index(place), spend=spend)
        for kind, (place, spend) in kinds.items()
        for rho in spent
        for method in (hard(), *map(bf_soft, taus))
    ]
    benches = [
        bench_of([tables[place]], k, reference if place == "public" else target_reference, measures, loop, settings)
        for place in places
    ]
    bench = type(benches[0])(
        list(tables.values()), [each.measures[0] for each in benches], [each.references[0] for each in benches],
        dict(settings), loop,
    )  # fmt: skip
    if len(bench.measured) != 1:
        raise ExperimentError(f"a pilot forecasts one error, and there are {', '.join(bench.measured)}; choose one")
    runs = run_trials(
        bench, [Trial(arm, seed) for arm in arms for seed in seeds_of(seeds)], delta=delta, jobs=jobs,
        progress=progress, resume=resume, about={"policy": policy_digest(policy), "private size": int(private_size)},
    )  # fmt: skip
    table = _gain_table(runs)
    forecast = table[table["scaling"] != "target"].reset_index(drop=True)
    best = "scaled" if "scaled" in scalings else next(iter(scalings), None)
    found = Pilot(runs, forecast, _recommended(runs[runs["scaling"] == best]))
    if target is None:
        return found
    real = table[table["scaling"] == "target"].drop(columns="scaling").reset_index(drop=True)
    return Pilot(runs, forecast, found.recommended, real, agreement(forecast, real))


def _gain_table(runs: pd.DataFrame) -> pd.DataFrame:
    runs = _whole(runs)
    if runs.empty:
        columns = ["scaling", "tau", "rho", "epsilon", "gain", "low", "high", "seeds", "relative", "sign", "sure"]
        return pd.DataFrame(columns=columns)
    by = ["scaling", "tau", "rho", "epsilon"]
    table = summarise(gains(runs), "gain", by).rename(columns={"mean": "gain"})
    own = runs[runs["method"] == "Hard"].groupby(["scaling", "rho"])["error"].mean()
    base = own.reindex(pd.MultiIndex.from_frame(table[["scaling", "rho"]])).to_numpy()
    sign = np.where(table["gain"] > 0, "soft", "hard")
    return table.assign(relative=table["gain"] / base, sign=sign, sure=(table["low"] > 0) | (table["high"] < 0))


def _whole(runs: pd.DataFrame) -> pd.DataFrame:
    """Without the seeds whose Hard partner a stopped pilot did not reach."""
    own = runs.loc[runs["method"] == "Hard", ["scaling", "rho", "seed"]]
    return runs.merge(own, on=["scaling", "rho", "seed"])


def agreement(forecast: pd.DataFrame, target: pd.DataFrame) -> pd.DataFrame:
    """How often a forecast's sign is the target's: ``right`` of ``settings``, and ``right_sure`` of ``settings_sure``.

    ``forecast`` and ``target`` are tables as ``Pilot`` has them. A row a scaling; ``share`` = right / settings, and
    "sure" settings are those where the target's own interval excludes 0.
    """
    both = forecast.merge(target, on=["tau", "rho"], suffixes=("", "_target"))
    rows = []
    for scaling, group in both.groupby("scaling", sort=False):
        right = (group["gain"] > 0) == (group["gain_target"] > 0)
        sure = group["sure_target"].to_numpy(dtype=bool)
        rows.append({
            "scaling": scaling, "right": int(right.sum()), "settings": len(group), "share": float(right.mean()),
            "right_sure": int(right[sure].sum()), "settings_sure": int(sure.sum()),
        })  # fmt: skip
    return pd.DataFrame(rows, columns=["scaling", "right", "settings", "share", "right_sure", "settings_sure"])


def _recommended(runs: pd.DataFrame) -> pd.DataFrame:
    columns = ["rho", "epsilon", "method", "tau", "gain", "low", "high", "share", "tau_low", "tau_high"]
    rows: list[dict[str, Any]] = []
    for (rho, epsilon), group in runs.groupby(["rho", "epsilon"], sort=False):
        # τ = 0 stands for Hard, which the soft vote tends to as τ falls.
        errors = group.assign(tau=group["tau"].fillna(0.0)).pivot(index="seed", columns="tau", values="error").dropna()
        if errors.empty or 0.0 not in errors.columns:
            continue  # a stopped pilot: nothing to recommend at this budget
        taus, values = errors.columns.to_numpy(dtype=float), errors.to_numpy()
        best = int(values.mean(axis=0).argmin())
        picks = np.random.default_rng(0).integers(0, len(values), size=(_DRAWS, len(values)))
        chosen = taus[values[picks].mean(axis=1).argmin(axis=1)]
        low, high = np.quantile(chosen, [0.025, 0.975], method="closest_observation")
        gain = t_interval(errors[0.0].to_numpy() - values[:, best])
        rows.append(dict(zip(columns, (
            rho, epsilon, "BF-Soft" if taus[best] else "Hard", taus[best] or math.nan, *gain,
            float((chosen == taus[best]).mean()), float(low), float(high),
        ), strict=True)))  # fmt: skip
    return pd.DataFrame(rows, columns=columns)
