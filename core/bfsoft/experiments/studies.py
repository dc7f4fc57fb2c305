"""Studies: which trials answer a question about methods, temperatures, policies, data size or calibration.

Everything here runs on public data: errors are read off the table itself, which a private release must never do.
Every study returns a tidy frame, one row a run: ``method, tau, rho, epsilon, seed, error`` and what else it varies.
"""

from __future__ import annotations

import math
import numbers
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from ..domain import Codes
from ..errors import ExperimentError
from ..fidelity import Fidelity
from ..policy import Policy
from ..privacy import Budget
from ..records import Records, as_records
from ..sensitivity import Sensitivity, exact_sensitivity, sensitivity_bound
from ..synthesis import Method, bf_soft, calibrate_policy, hard, random_candidates
from ..votes import HardVote, SoftVote, Vote
from .trials import Arm, Bench, Labels, Loop, Measure, OnProgress, Trial, final_codes, policy_digest, run_trials

Table: TypeAlias = pd.DataFrame | Records
Seeds: TypeAlias = int | Iterable[int]
Budgets: TypeAlias = float | Budget | Iterable[float | Budget]

SETTINGS = ("size", "rounds", "shares", "threshold", "resampling", "mutation", "schedule")
DEFAULT_TAUS = (0.015, 0.03, 0.06)  # those of the paper's fixed-τ comparison


@dataclass(frozen=True)
class Borrowed:
    """A calibration that spends the policy's sensitivity of another vote than the one cast.

    Lending a hard vote a soft vote's noise is *not* private: it belongs to the analysis of public data, never to a
    release. ``evolve`` takes it as its ``calibration``.
    """

    vote: Vote

    def __call__(self, policy: Policy, vote: Vote, candidates: Codes) -> Sensitivity:
        return calibrate_policy(policy, self.vote, candidates)


def compare(
    data: Table,
    policy: Policy,
    methods: Sequence[Method] | None = None,
    budgets: Budgets = (1e-4, 1e-3, 1e-2),
    *,
    seeds: Seeds = 12,
    k: int | Sequence[int] = 2,
    reference: Table | None = None,
    measures: Mapping[str, Measure] | None = None,
    loop: Loop = final_codes,
    jobs: int | None = None,
    progress: OnProgress | None = None,
    resume: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> pd.DataFrame:
    """Run methods over budgets and seeds (paper §6.2.1); a frame ``method, tau, rho, epsilon, seed, error``.

    ``methods`` are Hard and BF-Soft at τ = 0.015, 0.03 and 0.06 by default; ``budgets`` are ρ or Budgets (whose δ
    must agree); ``seeds`` a number, counted from 0, or the seeds themselves. The error is the mean total variation
    over all ``k``-way marginals against ``reference``, the data itself by default; several k add a column
    ``measure``, as do ``measures`` of your own: named functions of synthetic codes (m, d), which a results file knows
    by their names alone. ``settings`` are those of ``bfsoft.evolve``: size, rounds, shares, threshold, resampling,
    mutation, schedule. ``jobs``, ``progress`` and ``resume`` are explained at ``bfsoft.experiments.run_trials``.
    Raises ExperimentError for an impossible or repeated setting, and DataError where a table does not fit.
    """
    methods = [hard(), *map(bf_soft, DEFAULT_TAUS)] if methods is None else list(methods)
    budgets, delta = budgets_of(budgets)
    bench = bench_of([as_records(policy.domain, data)], k, reference, measures, loop, settings)
    arms = [arm_of(method, policy, rho) for rho in budgets for method in methods]
    return _run(bench, arms, seeds, delta, jobs, progress, resume, {"policy": policy_digest(policy)})


def sweep(
    data: Table,
    policy: Policy,
    taus: Sequence[float] | None = None,
    budgets: Budgets = (1e-4, 6e-4, 3e-3),
    **options: Any,
) -> pd.DataFrame:
    """Hard and BF-Soft at many temperatures (paper §6.2.2, Figure 3); the frame of ``compare``, same options.

    ``taus`` are 15 from 0.0005 to 0.3 by default, evenly spaced in log τ. The best of a
    sweep is optimistic: it was chosen by the errors it reports.
    """
    taus = np.geomspace(5e-4, 0.3, 15).tolist() if taus is None else taus
    return compare(data, policy, [hard(), *map(bf_soft, taus)], budgets, **options)


def decompose(
    data: Table,
    policy: Policy,
    taus: float | Sequence[float] = 0.03,
    budgets: Budgets = (1e-4, 1e-3, 1e-2),
    *,
    order: str = "noise first",
    **options: Any,
) -> pd.DataFrame:
    """Split BF-Soft's gain over Hard into noise benefit − smoothing cost, seed by seed (paper §6.2.3, Figure 4).

    "noise first" (THEORY): benefit = err(hard, σ_hard) − err(hard, σ_soft) and
    cost = err(soft, σ_soft) − err(hard, σ_soft). Its middle run casts a hard vote with a soft vote's noise, to which
    it is not entitled: analysis of public data only, never a release.
    "smoothing first": cost = err(soft, σ_hard) − err(hard, σ_hard) and benefit = err(soft, σ_hard) − err(soft, σ_soft);
    its middle run is a soft vote with more noise than it needs.

    The frame has ``tau, rho, epsilon, seed, hard, middle, soft, benefit, cost, gain``; gain = hard − soft =
    benefit − cost holds exactly in floating point, because errors are rounded to 2^-45 and their differences then
    need no rounding. Options as for ``compare``; raises ExperimentError for another order.
    """
    chosen = [float(taus)] if isinstance(taus, int | float) else [float(tau) for tau in taus]
    if order not in ("noise first", "smoothing first"):
        raise ExperimentError(f"order must be 'noise first' or 'smoothing first', got {order!r}")
    noise_first = order == "noise first"
    methods: list[Any] = [hard()]
    for tau in chosen:
        vote, lender = (HardVote(), SoftVote(tau)) if noise_first else (SoftVote(tau), HardVote())
        methods += [bf_soft(tau), _Middle(tau, vote, Borrowed(lender))]
    runs = compare(data, policy, methods, budgets, **options)
    on = [name for name in runs.columns if name not in ("method", "tau", "error")]
    runs["error"] = np.ldexp(np.rint(np.ldexp(runs["error"], 45)), -45)
    own = runs[runs["method"] == "Hard"].rename(columns={"error": "hard"})[[*on, "hard"]]
    middle = runs[runs["method"] == "middle"].rename(columns={"error": "middle"})[[*on, "tau", "middle"]]
    soft = runs[runs["method"] == "BF-Soft"].rename(columns={"error": "soft"})[["tau", *on, "soft"]]
    frame = soft.merge(middle, on=[*on, "tau"]).merge(own, on=on)
    if noise_first:
        frame = frame.assign(benefit=frame["hard"] - frame["middle"], cost=frame["soft"] - frame["middle"])
    else:
        frame = frame.assign(benefit=frame["middle"] - frame["soft"], cost=frame["middle"] - frame["hard"])
    return frame.assign(gain=frame["hard"] - frame["soft"])[
        ["tau", *on, "hard", "middle", "soft", "benefit", "cost", "gain"]
    ]


@dataclass(frozen=True)
class _Middle:
    """A decomposition's middle run; like a Method, but with τ and a calibration that no method may have."""

    tau: float
    vote: Vote
    calibration: Borrowed
    name: str = "middle"


def compare_policies(
    data: Table,
    policies: Mapping[str, Policy],
    methods: Sequence[Method] | Callable[[Policy], Sequence[Method]] | None = None,
    budgets: Budgets = (1e-4, 3e-3),
    *,
    seeds: Seeds = 12,
    k: int | Sequence[int] = 2,
    reference: Table | None = None,
    measures: Mapping[str, Measure] | None = None,
    loop: Loop = final_codes,
    jobs: int | None = None,
    progress: OnProgress | None = None,
    resume: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> pd.DataFrame:
    """The same methods under several policies of one domain (paper §6.2.5, Figure 6); adds ``policy`` and ``ratio``.

    ``ratio`` is the noise ratio q. ``methods`` may be a function of the policy; Hard and BF-Soft at τ = 0.03 by
    default. Options as for ``compare``. For the paper's test give
    ``significance(gains(frame))``: paired t tests with Holm's adjustment over all policies and budgets.
    """
    if not policies:
        raise ExperimentError("there are no policies to compare; give a mapping of names to policies")
    chosen = methods if callable(methods) else lambda _: [hard(), bf_soft(0.03)] if methods is None else methods
    arms, (spent, delta) = [], budgets_of(budgets)
    first = next(iter(policies.values()))
    for name, policy in policies.items():
        same_domain(name, policy, first)
        for rho in spent:
            for method in chosen(policy):
                ratio = sensitivity_bound(policy, method.vote).ratio
                arms.append(arm_of(method, policy, rho, before=(("policy", name), ("ratio", ratio))))
    bench = bench_of([as_records(first.domain, data)], k, reference, measures, loop, settings)
    return _run(bench, arms, seeds, delta, jobs, progress, resume, {})


def temperature_for(policy: Policy, ratio: float) -> float:
    """The τ at which a policy's noise ratio tanh(r/2τ) is ``ratio``; raises ExperimentError unless 0 < ratio < 1."""
    if not 0 < ratio < 1:
        raise ExperimentError(f"a noise ratio must lie between 0 and 1, got {ratio!r}; 1 is the hard vote")
    if policy.reach == 0:
        raise ExperimentError("the policy has no edges, so its noise is 0 at every temperature")
    return policy.reach / (2.0 * math.atanh(ratio))


def matched_noise(
    data: Table,
    policies: Mapping[str, Policy],
    ratio: float = 0.2,
    budgets: Budgets = (1e-4, 1e-3, 1e-2),
    **options: Any,
) -> pd.DataFrame:
    """The same noise ratio q from different reaches and temperatures (paper F.4); the frame of ``compare_policies``.

    Each policy runs at the τ that gives it ``ratio``. Equal noise is not equal protection: the policies differ.
    """
    return compare_policies(
        data, policies, lambda policy: [hard(), bf_soft(temperature_for(policy, ratio))], budgets, **options
    )


def training_size(
    data: Table | Callable[[int], pd.DataFrame],
    policy: Policy,
    sizes: Sequence[int],
    methods: Sequence[Method] | None = None,
    budgets: Budgets = (1e-3,),
    *,
    seeds: Seeds = 12,
    k: int | Sequence[int] = 2,
    sample_seed: int = 0,
    measures: Callable[[Records], Mapping[str, Measure]] | None = None,
    loop: Loop = final_codes,
    jobs: int | None = None,
    progress: OnProgress | None = None,
    resume: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> pd.DataFrame:
    """Methods on tables of several sizes at a fixed budget (paper F.9); adds the column ``n``.

    ``data`` is a table, of which nested random samples are taken, or a function of n that makes one (``bfsoft.xor3``).
    Errors are against each table itself. Options as for ``compare``, but ``measures`` is a function of the table.
    Raises ExperimentError for a size that the table does not have.
    """
    methods = [hard(), bf_soft(0.03)] if methods is None else list(methods)
    spent, delta = budgets_of(budgets)
    tables = [sample(as_records(policy.domain, data(n)) if callable(data) else as_records(policy.domain, data), n,
                     sample_seed) for n in sizes]  # fmt: skip
    made = bench_of(tables, k, None, None, loop, settings)
    if measures is not None:
        made = Bench(made.tables, [measures(table) for table in tables], made.references, made.settings, loop)
    arms = [
        arm_of(method, policy, rho, before=(("n", n),), table=number)
        for number, n in enumerate(sizes)
        for rho in spent
        for method in methods
    ]
    return _run(made, arms, seeds, delta, jobs, progress, resume, {"policy": policy_digest(policy)})


def sample(records: Records, n: int, seed: int = 0) -> Records:
    """A random sample of n records without replacement; samples of one seed are nested, the smaller in the larger."""
    if isinstance(n, bool) or not isinstance(n, numbers.Integral) or not 1 <= n <= records.n:
        raise ExperimentError(f"a sample must have from 1 to {records.n} records, the table's size; got {n!r}")
    if n == records.n:
        return records
    order = np.random.default_rng(seed).permutation(records.n)[:n]
    return Records.of_codes(records.domain, records.expand()[order])


def split(records: Records, n: int, seed: int = 0) -> tuple[Records, Records]:
    """A random split into n records and the rest; raises ExperimentError unless both parts have some."""
    if not 1 <= n < records.n:
        raise ExperimentError(f"a split must leave records on both sides: from 1 to {records.n - 1}, got {n!r}")
    order, rows = np.random.default_rng(seed).permutation(records.n), records.expand()
    return Records.of_codes(records.domain, rows[order[:n]]), Records.of_codes(records.domain, rows[order[n:]])


def calibration(
    policy: Policy,
    taus: Sequence[float] = DEFAULT_TAUS,
    *,
    populations: Seeds = 3,
    size: int = 512,
    candidates: Mapping[int, Codes] | None = None,
    repeats: int = 3,
) -> pd.DataFrame:
    """The bound beside the exact sensitivity, and what each costs (paper §6.2.6, Figure 7).

    One row a temperature and population: ``method, tau, population, bound, exact`` (L2), ``tightness`` = exact / bound,
    ``bound_ms`` and ``exact_ms``, the fastest of ``repeats`` in milliseconds; the Hard row has τ NaN. Populations
    are random ones of ``size`` candidates by seed, or given as ``candidates``. Costs are this machine's.
    Raises DomainTooLargeError where the exact search is impossible.
    """
    pools = candidates or {seed: random_candidates(policy.domain, size, seed) for seed in seeds_of(populations)}
    votes: list[tuple[str, float, Vote]] = [("Hard", math.nan, HardVote())]
    votes += [("BF-Soft", tau, SoftVote(tau)) for tau in taus]
    rows = []
    for population, codes in pools.items():
        for name, tau, vote in votes:
            bound, bound_ms = _timed(partial(sensitivity_bound, policy, vote), repeats)
            exact, exact_ms = _timed(partial(exact_sensitivity, policy, vote, codes), repeats)
            tightness = exact.l2 / bound.l2 if bound.l2 else math.nan
            rows.append({
                "method": name, "tau": tau, "population": population, "bound": bound.l2, "exact": exact.l2,
                "tightness": tightness, "bound_ms": bound_ms, "exact_ms": exact_ms,
            })  # fmt: skip
    return pd.DataFrame(rows)


def _timed(work: Callable[[], Sensitivity], repeats: int) -> tuple[Sensitivity, float]:
    best, found = math.inf, work()
    for _ in range(max(1, repeats)):
        start = time.perf_counter()
        found = work()
        best = min(best, time.perf_counter() - start)
    return found, 1e3 * best


# ------------------------------------------------------------------ what the studies share


def bench_of(
    tables: Sequence[Records],
    k: int | Sequence[int],
    reference: Table | None,
    measures: Mapping[str, Measure] | None,
    loop: Loop,
    settings: Mapping[str, Any],
) -> Bench:
    """The bench for tables with their k-way errors, against ``reference`` or each itself, and the user's measures."""
    for name in settings:
        if name not in SETTINGS:
            raise ExperimentError(f"there is no setting {name!r}; there are {', '.join(SETTINGS)}")
    ks = [int(k)] if isinstance(k, int | np.integer) else [*k]
    if not ks and not measures:
        raise ExperimentError("there is nothing to measure; give k or measures")
    references = [table if reference is None else as_records(table.domain, reference) for table in tables]
    each: list[dict[str, Measure]] = []
    for table in references:
        own: dict[str, Measure] = {}
        for order in ks:
            own[f"{order}-way"] = Fidelity(table, order).error
        each.append({**own, **(measures or {})})
    return Bench(tables, each, references, dict(settings), loop)


def arm_of(method: Any, policy: Policy, rho: float, *, before: Labels = (), table: int = 0, spend: float = 1.0) -> Arm:
    """The arm of a method at a budget, its columns ``before``, then ``method``, ``tau`` and ``rho``."""
    tau = method.vote.tau if isinstance(method.vote, SoftVote) else getattr(method, "tau", math.nan)
    labels = (*before, ("method", method.name), ("tau", float(tau)), ("rho", rho))
    return Arm(labels, policy, method.vote, method.calibration, rho, table, spend)


def _run(
    bench: Bench, arms: Sequence[Arm], seeds: Seeds, delta: float, jobs: Any, progress: Any, resume: Any, about: Any
) -> pd.DataFrame:
    trials = [Trial(arm, seed) for arm in arms for seed in seeds_of(seeds)]
    return run_trials(bench, trials, delta=delta, jobs=jobs, progress=progress, resume=resume, about=about)


def seeds_of(seeds: Seeds) -> list[int]:
    if isinstance(seeds, numbers.Integral) and not isinstance(seeds, bool):
        if seeds < 1:
            raise ExperimentError(f"there must be at least one seed, got {seeds!r}")
        return list(range(int(seeds)))
    if isinstance(seeds, bool) or not isinstance(seeds, Iterable):
        raise ExperimentError(f"seeds must be a number of seeds or a list of them, got {seeds!r}")
    chosen = list(seeds)
    for seed in chosen:
        if isinstance(seed, bool) or not isinstance(seed, numbers.Integral) or seed < 0:
            raise ExperimentError(f"a seed must be a whole number of at least 0, got {seed!r}")
    if not chosen:
        raise ExperimentError("there must be at least one seed, got none")
    return [int(seed) for seed in chosen]


def budgets_of(budgets: Budgets) -> tuple[list[float], float]:
    """The ρ of each budget, and the one δ at which ε is reported."""
    given = [budgets] if isinstance(budgets, Budget | int | float) else [*budgets]
    made = [each if isinstance(each, Budget) else Budget(rho=each) for each in given]
    if not made:
        raise ExperimentError("there are no budgets to run; give at least one ρ")
    deltas = {budget.delta for budget in made}
    if len(deltas) > 1:
        raise ExperimentError(f"the budgets have different δ ({', '.join(map(str, sorted(deltas)))}); use one")
    return [budget.rho for budget in made], made[0].delta


def same_domain(name: str, policy: Policy, first: Policy) -> None:
    if policy.domain != first.domain:
        raise ExperimentError(f"the policy {name!r} is over another domain than the first; all must share the table's")
