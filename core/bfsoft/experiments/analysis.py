"""Analysis of tidy frames: intervals over seeds, paired gains, their significance, and where a gain reverses.

It knows columns, not syntheses. Everything is paired by seed: two methods at one seed start from the same candidates
and draw the same normal noise, so their difference is steadier than either error. Intervals are pointwise 95 % t
intervals (paper §6.1, F.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from ..errors import ExperimentError

CONFIDENCE = 0.95
# The columns that hold results; every other column but the seed is a label.
_VALUES = {"error", "gain", "relative", "hard", "middle", "soft", "benefit", "cost"}
# The labels that a method brings with it; a baseline has others than those it is compared with.
_OF_METHOD = {"method", "tau", "ratio"}


def t_interval(values: np.ndarray, confidence: float = CONFIDENCE) -> tuple[float, float, float]:
    """Mean, low and high of a t interval for the mean of independent values; low and high are NaN for fewer than two.

    >>> t_interval(np.array([1.0, 2.0, 3.0]))
    (2.0, -0.484..., 4.484...)
    """
    from scipy import stats

    values = np.asarray(values, dtype=float)
    mean = float(values.mean()) if len(values) else float("nan")
    if len(values) < 2:
        return mean, float("nan"), float("nan")
    spread = float(stats.sem(values))
    if spread == 0:
        return mean, mean, mean
    low, high = stats.t.interval(confidence, len(values) - 1, loc=mean, scale=spread)
    return mean, float(low), float(high)


def holm(p: Sequence[float] | np.ndarray) -> np.ndarray:
    """Holm's step-down adjusted p-values, in the order given; they control the family-wise error without assumptions.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p, dtype=float)
    if p.ndim != 1 or ((p < 0) | (p > 1) | np.isnan(p)).any():
        raise ExperimentError(f"p-values must be a list of numbers from 0 to 1, got {p!r}")
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _labels(frame: pd.DataFrame) -> list[str]:
    return [name for name in frame.columns if name != "seed" and name not in _VALUES]


def _grouped(frame: pd.DataFrame, by: Sequence[str]) -> Iterable[tuple[tuple, pd.DataFrame]]:
    """Groups in order of first appearance; a missing label (the τ of a hard vote) is a label too."""
    if not by:
        return [((), frame)]
    return ((key if isinstance(key, tuple) else (key,), group) for key, group in frame.groupby(
        list(by), sort=False, dropna=False))  # fmt: skip


def _need(frame: pd.DataFrame, *columns: str) -> None:
    for name in columns:
        if name not in frame.columns:
            raise ExperimentError(f"the frame has no column {name!r}; it has {', '.join(map(str, frame.columns))}")


def summarise(frame: pd.DataFrame, value: str = "error", by: Sequence[str] | None = None) -> pd.DataFrame:
    """The mean of a column over seeds with its pointwise 95 % t interval: ``mean, low, high, seeds`` a group.

    ``by`` are the columns that tell groups apart; all labels by default. With one seed low and high are NaN.
    Raises ExperimentError for a column that the frame lacks.
    """
    by = _labels(frame) if by is None else list(by)
    _need(frame, value, *by)
    rows = []
    for key, group in _grouped(frame, by):
        mean, low, high = t_interval(group[value].to_numpy())
        rows.append({**dict(zip(by, key, strict=True)), "mean": mean, "low": low, "high": high, "seeds": len(group)})
    return pd.DataFrame(rows, columns=[*by, "mean", "low", "high", "seeds"])


def gains(frame: pd.DataFrame, baseline: str = "Hard") -> pd.DataFrame:
    """What each other method gains over a baseline at the same seed and labels: ``gain`` = baseline error − error.

    ``relative`` is the gain over the baseline's error. Positive is better than the baseline. The baseline may lack a
    label that others have, such as τ or the policy: it is then the partner of all of them.
    Raises ExperimentError where a run has no partner.
    """
    _need(frame, "method", "seed", "error")
    own = frame[frame["method"] == baseline]
    others = frame[frame["method"] != baseline]
    if own.empty:
        raise ExperimentError(f"no run of the method {baseline!r} to compare with; add it, or name another baseline")
    on = [name for name in _labels(frame) if name not in _OF_METHOD and own[name].notna().all()] + ["seed"]
    if own.duplicated(on).any():
        raise ExperimentError(f"the method {baseline!r} has several runs for one of {', '.join(on)}; keep one")
    paired = others.merge(own[[*on, "error"]].rename(columns={"error": "baseline"}), on=on, how="left")
    if paired["baseline"].isna().any():
        lone = paired[paired["baseline"].isna()].iloc[0]
        raise ExperimentError(
            f"{lone['method']!r} was run at {', '.join(f'{name} {lone[name]}' for name in on)} and {baseline!r} was not"
        )
    gain = paired["baseline"] - paired["error"]
    return paired.assign(gain=gain, relative=gain / paired["baseline"]).drop(columns=["error", "baseline"])


def significance(frame: pd.DataFrame, value: str = "gain", by: Sequence[str] | None = None) -> pd.DataFrame:
    """Whether each group's mean is other than 0: its t interval, two-sided paired t test ``p``, and ``p_holm``.

    Holm's adjustment is over all the groups of the frame, so give it the whole family that is compared and no more.
    A group that never varies has p 0, or 1 where it is always 0. Raises ExperimentError for groups of one seed.
    """
    from scipy import stats

    by = _labels(frame) if by is None else list(by)
    table = summarise(frame, value, by)
    ps = []
    for _, group in _grouped(frame, by):
        values = group[value].to_numpy(dtype=float)
        if len(values) < 2:
            raise ExperimentError("a test needs at least two seeds; run more")
        same = float(np.ptp(values)) == 0
        ps.append(float(values[0] == 0) if same else float(stats.ttest_1samp(values, 0.0).pvalue))
    return table.assign(p=ps, p_holm=holm(ps) if ps else [])


def crossover(
    frame: pd.DataFrame, baseline: str = "Hard", *, draws: int = 2000, confidence: float = CONFIDENCE, seed: int = 0
) -> pd.DataFrame:
    """The budget at which each method's mean gain over the baseline turns from positive to not, interpolated in log ρ.

    One row a method: ``rho``; ``epsilon``, interpolated alike; a percentile bootstrap interval ``low, high`` for ρ
    that resamples seeds, all budgets of a seed together because they share draws; ``crossed``, the share of draws
    that cross; ``turns``, how often the mean gain falls through 0; ``before`` and ``after``, whether it is positive
    at the smallest and the largest budget; and ``seeds``. ``rho`` and its interval are NaN where the mean never turns.
    It is an estimate between tested budgets, not an observation (paper F.2); its interval leaves out the draws that
    do not cross.
    Raises ExperimentError for a frame with one budget, or whose seeds lack some.
    """
    paired = gains(frame, baseline)
    by = [name for name in _labels(paired) if name not in ("rho", "epsilon")]
    rows = []
    for key, group in _grouped(paired, by):
        table = group.pivot(index="seed", columns="rho", values="gain").sort_index(axis=1)
        if table.shape[1] < 2:
            raise ExperimentError("a crossover needs at least two budgets")
        if table.isna().to_numpy().any():
            raise ExperimentError("every seed must have every budget; finish the experiment first")
        budgets, values = table.columns.to_numpy(dtype=float), table.to_numpy()
        mean = values.mean(axis=0)
        picks = np.random.default_rng(seed).integers(0, len(values), size=(draws, len(values)))
        roots = _first_fall(budgets, values[picks].mean(axis=1))
        found = roots[~np.isnan(roots)]
        tail = (1 - confidence) / 2
        rho = float(_first_fall(budgets, mean[None, :])[0])
        certain = len(found) > 0 and len(values) > 1 and not np.isnan(rho)
        low, high = np.quantile(found, [tail, 1 - tail]) if certain else (np.nan, np.nan)
        epsilons = group.drop_duplicates("rho").sort_values("rho")["epsilon"].to_numpy(dtype=float)
        rows.append({
            **dict(zip(by, key, strict=True)),
            "rho": rho, "epsilon": float(np.exp(np.interp(np.log(rho), np.log(budgets), np.log(epsilons)))),
            "low": float(low), "high": float(high), "crossed": len(found) / draws,
            "turns": int(((mean[:-1] > 0) & (mean[1:] <= 0)).sum()),
            "before": bool(mean[0] > 0), "after": bool(mean[-1] > 0), "seeds": len(values),
        })  # fmt: skip
    return pd.DataFrame(rows)


def _first_fall(budgets: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """For each row of gains (rows, budgets) the first budget at which it falls to 0, linear in log ρ; NaN for none."""
    falls = (gain[:, :-1] > 0) & (gain[:, 1:] <= 0)
    first = falls.argmax(axis=1)
    rows = np.arange(len(gain))
    above, below = gain[rows, first], gain[rows, first + 1]
    crosses = falls[rows, first]
    share = np.divide(above, above - below, out=np.zeros(len(gain)), where=crosses)
    logs = np.log(budgets)
    return np.where(crosses, np.exp(logs[first] + share * (logs[first + 1] - logs[first])), np.nan)
