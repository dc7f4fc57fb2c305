"""Reproduction: the paper's experiments, run here, beside what the paper reports, with a verdict on each.

Two protocols. "tab-pe" is what this package's own loop gives: Tab-PE's operators, systematic resampling, errors against
the training table. "paper" follows the paper's published code (see ``variants.PAPER``): its selection and mutation, the
bins of its error, and for Bank its domain. Nothing is tuned to the paper's figures; where they disagree it says so.

The text of the paper that this package was made from does not state the error measure. Its published code
(``code/metrics.py``) has one: for Adult and Bank the mean L1 distance (twice the total variation) over all pairs of
columns in a few fixed bins, against held-out rows; for XOR-3 the L1 distance over the 16 cells of the thresholded
inputs and the label. It is reported as "paper", beside the mean total variation of 1-, 2- and 3-way marginals.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from . import experiments as ex
from .domain import Categorical, Codes, Domain, Hierarchical, Numeric
from .errors import ExperimentError
from .experiments.trials import Loop, Measure, Progress, final_codes
from .policy import Blocks, Complete, Policy, Rule, Threshold
from .privacy import Budget
from .records import Records
from .sensitivity import sensitivity_bound
from .synthesis import bf_soft, hard
from .variants import DPSDA, PAPER, TAB_PE, Variant

PROTOCOLS = ("tab-pe", "paper")
TAUS = (0.015, 0.03, 0.06)
SIZES = {"adult": 26_048, "bank": 27_126, "xor3": 12_000}
SWEEP_BUDGETS = (1e-4, 6e-4, 3e-3)
MIXED_TAUS = {"adult": 0.045, "bank": 0.065, "xor3": 0.02}  # of the paper's decomposition (its published protocol)
_AGE_BINS = (25, 35, 45, 55, 65)
_BINS: dict[str, dict[str, Sequence[float]]] = {  # the edges of the paper's bins, from its published code
    "adult": {"age": _AGE_BINS, "hours.per.week": (20, 30, 40, 50, 60), "education.num": (5, 8, 10, 12, 14)},
    "bank": {"age": _AGE_BINS, "balance": (0, 100, 500, 1500, 5000, 20_000)},
    "xor3": {"x1": (4,), "x2": (4,), "x3": (4,)},
}
_F9_BUDGETS = (1e-4, 3e-3, 0.18, 1.0)
_CLOSE = 0.10  # the share of the paper's figure by which ours may miss it and still agree

AGREES, DIRECTION, UNDECIDED, DISAGREES = "agrees", "same direction", "undecided", "disagrees"
APART = "not comparable"
_CLAIM = ["figure", "data", "claim", "measure", "paper", "ours", "low", "high", "verdict"]


@dataclass(frozen=True)
class BinnedError:
    """The paper's error: the mean L1 distance (0 to 2) over marginals in fixed bins, against a reference table.

    ``edges`` cut each numeric attribute named; a value belongs to the bin after the last edge not above it. ``ways``
    is how many columns each marginal has.
    """

    reference: Records
    edges: Mapping[str, Sequence[float]]
    ways: int = 2
    _tables: list[np.ndarray] = field(default_factory=list, init=False, repr=False, compare=False)
    _truth: list[np.ndarray] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for attribute in self.reference.domain.attributes:
            cuts = self.edges.get(attribute.name)
            bins = np.arange(len(attribute.values)) if cuts is None else np.digitize(attribute.values, cuts)
            self._tables.append(bins)
        self._truth.extend(self._shares(self.reference.codes, self.reference.counts))

    def _shares(self, codes: Codes, counts: np.ndarray) -> list[np.ndarray]:
        cells = [table[codes[:, position]] for position, table in enumerate(self._tables)]
        sizes = [int(table.max()) + 1 for table in self._tables]
        shares = []
        for columns in combinations(range(len(cells)), self.ways):
            shape = [sizes[j] for j in columns]
            index = np.ravel_multi_index([cells[j] for j in columns], shape)
            shares.append(np.bincount(index, weights=counts, minlength=math.prod(shape)) / counts.sum())
        return shares

    def __call__(self, codes: Codes) -> float:
        """The error of synthetic codes (m, d)."""
        own = self._shares(codes, np.ones(len(codes)))
        return float(np.mean([np.abs(a - b).sum() for a, b in zip(own, self._truth, strict=True)]))


@dataclass(frozen=True)
class Data:
    """A table of the paper: what is synthesised, the rows held out as public, and its narrow policy."""

    name: str
    train: Records
    public: Records
    protected: str
    theta: float

    @property
    def domain(self) -> Domain:
        return self.train.domain

    def policy(self, theta: float | None = None) -> Policy:
        """The narrow policy: one numeric attribute within θ."""
        return Policy(self.domain, {self.protected: Threshold(self.theta if theta is None else theta)})

    def measures(self) -> dict[str, Measure]:
        """The paper's error, on held-out rows (XOR-3: the 16-cell joint)."""
        ways = 4 if self.name == "xor3" else 2
        return {"paper": BinnedError(self.public, _BINS[self.name], ways)}


@dataclass
class Reproduction:
    """What ``reproduce`` found: summary ``tables`` by name, ``claims`` with verdicts, and ``notes`` in words.

    ``claims`` has the columns figure, data, claim, measure, paper, ours, low, high (95 %) and verdict: "agrees" when
    the paper's figure lies within our interval, or ours within a tenth of it; "undecided" when the interval holds
    it but 0 too, so that it would agree with almost anything; "same direction" when only the sign is the same;
    "disagrees"; or "not comparable". ``stopped`` says that not all was run.
    """

    protocol: str
    quick: bool
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    claims: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=_CLAIM))
    notes: list[str] = field(default_factory=list)
    stopped: bool = False

    def write(self, directory: str | os.PathLike[str]) -> list[Path]:
        """Write each table as ``<name>.csv`` and the claims as ``claims.csv``; returns their paths."""
        from .tables import write_table

        place = Path(directory)
        place.mkdir(parents=True, exist_ok=True)
        paths = []
        for name, table in [*self.tables.items(), ("claims", self.claims)]:
            rounded = table.copy()
            for column in rounded.select_dtypes("float"):
                rounded[column] = [float(f"{value:.5g}") for value in rounded[column]]
            write_table(rounded, place / f"{name}.csv")
            paths.append(place / f"{name}.csv")
        return paths


class _Stopped(Exception):
    """The caller's progress function said to stop."""


def reproduce(
    name: str,
    *,
    quick: bool = False,
    protocol: str = "tab-pe",
    bank: str | os.PathLike[str] | None = None,
    runs: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    progress: Callable[[str, Progress], bool | None] | None = None,
) -> Reproduction:
    """Run one of the paper's experiments, or ``"all"``, and set the outcome beside the paper's figures.

    ``name``: fig3 (temperature sweep), fig4 (noise benefit and smoothing cost), fig5 (public pilot), fig6 (policies),
    fig7 (calibration), table4 (crossover budgets), f4 (matched noise ratios), f6 (XOR-3, temperature by reach),
    f9 (training size); and moves, which is not in "all": one part of the loop or one setting changed at a time, to see
    what moves the crossover. ``bank`` is UCI Bank Marketing as a file; without it Bank is left out and a note says so.
    ``quick`` takes fewer seeds, budgets and temperatures: a check that all works, not evidence. ``runs`` is a
    directory for results files, from which an interrupted reproduction continues. ``progress`` sees what is
    running and how far it is, and stops the work by returning False.
    Raises ExperimentError for an unknown name or protocol, and DataError where the file does not fit.
    """
    known = {**FIGURES, **EXTRAS}
    if name not in (*known, "all"):
        raise ExperimentError(f"there is no experiment {name!r}; there are {', '.join(known)} and all")
    if protocol not in PROTOCOLS:
        raise ExperimentError(f"there is no protocol {protocol!r}; there are {', '.join(PROTOCOLS)}")
    lab = _Lab(Reproduction(protocol, quick), bank, None if runs is None else Path(runs), jobs, progress)
    try:
        for figure in FIGURES if name == "all" else [name]:
            known[figure](lab)
    except _Stopped:
        lab.found.stopped = True
        lab.found.notes.append("stopped before the end: tables and claims cover what was run")
    lab.found.claims = pd.DataFrame(lab.claims, columns=_CLAIM)
    return lab.found


class _Lab:
    """The protocol at work: prepares data once, runs experiments with its loop and measures, gathers claims."""

    def __init__(self, found: Reproduction, bank: Any, runs: Path | None, jobs: int | None, progress: Any) -> None:
        self.found, self.quick, self.bank, self.runs, self.jobs = found, found.quick, bank, runs, jobs
        self.loop: Loop = PAPER if found.protocol == "paper" else final_codes
        self.seeds = 2 if self.quick else 12
        self.claims: list[dict[str, Any]] = []
        self._progress, self._data = progress, dict[str, Data]()

    def data(self, *names: str) -> list[Data]:
        chosen = []
        for name in names:
            if name == "bank" and self.bank is None:
                note = (
                    "Bank is left out: give its file (UCI Bank Marketing, bank-full) as bank=…, or `bfsoft fetch bank`"
                )
                if note not in self.found.notes:
                    self.found.notes.append(note)
                continue
            if name not in self._data:
                self._data[name] = _load(name, self.bank, self.found.protocol)
            chosen.append(self._data[name])
        return chosen

    def options(self, label: str, data: Data | None = None, seeds: int = 12) -> dict[str, Any]:
        """What every study of this reproduction is given; ``label`` names it in progress and its results file."""

        def progress(state: Progress) -> bool:
            self._whole = state.done == state.total
            return self._progress is None or self._progress(label, state) is not False

        options: dict[str, Any] = {"loop": self.loop, "jobs": self.jobs, "progress": progress}
        options["seeds"] = min(seeds, self.seeds)
        if self.runs is not None:
            self.runs.mkdir(parents=True, exist_ok=True)
            options["resume"] = self.runs / f"{self.found.protocol}-{label}.csv"
        if data is not None:
            options |= {"k": (1, 2, 3), "measures": data.measures()}
        return options

    def done(self, frame: Any) -> Any:
        """The result of a study, or an end to the reproduction where it was stopped."""
        if not self._whole:
            raise _Stopped
        return frame

    def table(self, name: str, *frames: pd.DataFrame) -> None:
        if frames:
            self.found.tables[name] = pd.concat(frames, ignore_index=True)

    def figure(
        self, figure: str, data: str, claim: str, paper: float, ours: tuple[float, float, float], measure: str = ""
    ) -> None:
        """A number of the paper beside ours with its interval."""
        value, low, high = ours
        if math.isnan(value):
            verdict = DISAGREES
        elif abs(value - paper) <= _CLOSE * abs(paper) or (low <= paper <= high and not low <= 0 <= high):
            verdict = AGREES
        elif low <= paper <= high:
            verdict = UNDECIDED
        else:
            verdict = DIRECTION if value * paper > 0 else DISAGREES
        self._add(figure, data, claim, measure, paper, value, low, high, verdict)

    def holds(self, figure: str, data: str, claim: str, holds: bool, ours: float = math.nan, measure: str = "") -> None:
        """A statement of the paper and whether it holds here; ``ours`` is the number it rests on."""
        self._add(figure, data, claim, measure, math.nan, ours, math.nan, math.nan, AGREES if holds else DISAGREES)

    def cost(self, figure: str, data: str, claim: str, paper: float, ours: float) -> None:
        """A duration: another machine's cannot agree or disagree."""
        self._add(figure, data, claim, "", paper, ours, math.nan, math.nan, APART)

    def _add(self, *cells: Any) -> None:
        self.claims.append(dict(zip(_CLAIM, cells, strict=True)))


def _interval(row: Any) -> tuple[float, float, float]:
    return float(row["mean"]), float(row["low"]), float(row["high"])


def budgets17() -> list[float]:
    """17 budgets evenly spaced in log ρ from 1e-5 to 1, to three digits; the paper's own 17 span the same range."""
    return [float(f"{rho:.3g}") for rho in np.geomspace(1e-5, 1.0, 17)]


# ------------------------------------------------------------------ the data


def _load(name: str, bank: str | os.PathLike[str] | None, protocol: str) -> Data:
    from .samples import load_sample, load_scenario
    from .tables import read_table

    if name == "xor3":
        from .samples import xor3

        domain = load_sample("xor3")[1].domain
        train, public = (Records.of_frame(domain, xor3(n, seed)) for n, seed in ((SIZES["xor3"], 0), (10_000, 1)))
        return Data(name, train, public, "x1", 1)
    if name == "adult":
        frame, scenario = load_sample("adult")
        train, public = ex.split(Records.of_frame(scenario.domain, frame), SIZES["adult"])
        return Data(name, train, public, "age", 7)
    assert bank is not None
    domain = _paper_bank() if protocol == "paper" else load_scenario("bank-age").domain
    train, rest = ex.split(Records.of_frame(domain, read_table(bank, domain), unknown="clip"), SIZES["bank"])
    return Data(name, train, ex.split(rest, rest.n // 2)[0], "age", 7)


def _paper_bank() -> Domain:
    """Bank as the paper's code declares it, but for two things: education, whose graded distance is no tree, is flat,
    and balance has steps of 100, not 1, for the sake of time; the bins of the error have no finer edges."""
    return Domain(
        [
            Numeric("age", 18, 100),
            Numeric("balance", -10_000, 110_000, 100),
            Categorical("education", ["primary", "secondary", "tertiary", "unknown"]),
            Hierarchical(
                "job",
                {
                    "office": ["management", "technician", "admin."],
                    "manual": ["blue-collar", "services", "housemaid"],
                    "own": ["self-employed", "entrepreneur"],
                    "none": ["retired", "student", "unemployed", "unknown"],
                },
            ),
            Categorical("y", ["no", "yes"]),
        ]
    )


def _policies(data: Data) -> dict[str, Policy]:
    """The paper's policies (F.1), from the narrow one to all five columns."""
    rules: dict[str, dict[str, Rule]]
    if data.name == "adult":
        age, hours, education = Threshold(7), Threshold(8), Threshold(2)
        workclass = Blocks(
            [
                ["Private"],
                ["Federal-gov", "Local-gov", "State-gov"],
                ["Self-emp-inc", "Self-emp-not-inc"],
                ["Without-pay", "Never-worked", "?"],
            ]
        )
        rules = {
            "age": {"age": age},
            "hours": {"hours.per.week": hours},
            "age, hours": {"age": age, "hours.per.week": hours},
            "age, hours, workclass": {"age": age, "hours.per.week": hours, "workclass": workclass},
            "age, hours, workclass, income": {
                "age": age, "hours.per.week": hours, "workclass": workclass, "income": Complete(),
            },
            "all five": {
                "age": age, "hours.per.week": hours, "education.num": education, "workclass": workclass,
                "income": Complete(),
            },
        }  # fmt: skip
    else:
        age, balance = Threshold(7), Threshold(500)
        rules = {
            "age": {"age": age},
            "balance": {"balance": balance},
            "age, balance": {"age": age, "balance": balance},
            "job, within groups": {"job": Threshold(2)},
            "job, all pairs": {"job": Threshold(4)},
            "all five": {
                "age": age, "balance": balance, "education": Complete(), "job": Threshold(2), "y": Complete(),
            },
        }  # fmt: skip
    return {name: Policy(data.domain, chosen) for name, chosen in rules.items()}


# ------------------------------------------------------------------ the experiments


def _fig3(lab: _Lab) -> None:
    """Temperature sweep: the best temperature is inside, and how much it lowers the error."""
    paper = {("adult", 1e-4): 1 - 0.427 / 0.696, ("bank", 1e-4): 1 - 0.730 / 0.976,
             ("adult", 3e-3): 0.099, ("bank", 3e-3): 0.072}  # fmt: skip
    absolute = {("adult", 1e-4): (0.696, 0.427), ("bank", 1e-4): (0.976, 0.730)}
    taus = [0.003, 0.015, 0.03, 0.06, 0.12] if lab.quick else np.geomspace(5e-4, 0.3, 20).round(6).tolist()
    summaries = []
    for data in lab.data("adult", "bank", "xor3"):
        frame = lab.done(
            ex.sweep(
                data.train, data.policy(), taus, SWEEP_BUDGETS, **lab.options(f"fig3-{data.name}", data=data, seeds=6)
            )
        )
        summaries.append(ex.summarise(frame).assign(data=data.name))
        gains = ex.gains(frame)
        for (measure, rho), group in gains.groupby(["measure", "rho"], sort=False):
            best = group.groupby("tau")["gain"].mean().idxmax()
            chosen = group[group["tau"] == best]
            relative, gain = ex.t_interval(chosen["relative"].to_numpy()), ex.t_interval(chosen["gain"].to_numpy())
            where = f"ρ = {rho:g}"
            lab.holds(
                "fig3",
                data.name,
                f"{where}: the best tested τ lies in [0.002, 0.05] and beats Hard",
                0.002 <= best <= 0.05 and gain[0] > 0,
                float(best),
                str(measure),
            )
            if (data.name, rho) in paper:
                lab.figure(
                    "fig3",
                    data.name,
                    f"{where}: relative error reduction at the best τ",
                    paper[data.name, rho],
                    relative,
                    str(measure),
                )
            if measure == "paper" and (data.name, rho) in absolute:
                at = frame[(frame["measure"] == measure) & (frame["rho"] == rho)]
                errors = [at[at["method"] == "Hard"], at[at["tau"] == best]]
                for label, theirs, part in zip(("Hard", "BF-Soft at its best τ"), absolute[data.name, rho], errors,
                                               strict=True):  # fmt: skip
                    lab.figure(
                        "fig3",
                        data.name,
                        f"{where}: mean error of {label}",
                        theirs,
                        ex.t_interval(part["error"].to_numpy()),
                        "paper",
                    )
            if data.name == "xor3" and rho == 1e-4 and measure == "paper":
                lab.figure("fig3", "xor3", "ρ = 0.0001: absolute improvement at the best τ", 0.0022, gain, "paper")
            if data.name == "xor3" and rho == 3e-3 and measure == "paper":
                lab.figure("fig3", "xor3", "ρ = 0.003: the best tested τ", 0.023, (float(best),) * 3, "paper")
    lab.table("fig3", *summaries)


def _fig4(lab: _Lab) -> None:
    """Noise benefit and smoothing cost across budgets, split both ways."""
    budgets = [1e-5, 1e-4, 1e-3, 1e-2, 1.0] if lab.quick else [
        1e-5, 1e-4, 3e-4, 6e-4, 1e-3, 1.8e-3, 3e-3, 1e-2, 0.1, 0.178, 0.316, 0.562, 1.0,
    ]  # fmt: skip
    published = {  # the paper's archived results, smoothing first: results/mechanism/paired_contrasts.csv
        ("adult", 1e-4): {"gain": 0.2739, "cost": 0.0950, "benefit": 0.3689},
        ("adult", 1e-3): {"gain": -0.0352, "cost": 0.1043, "benefit": 0.0691},
        ("adult", 1e-2): {"gain": -0.2357, "cost": 0.1297, "benefit": -0.1060},
        ("bank", 1e-4): {"gain": 0.2138, "cost": 0.1402, "benefit": 0.3540},
    }
    summaries = []
    for order in ("noise first", "smoothing first"):
        for data in lab.data("adult", "bank", "xor3"):
            options = lab.options(f"fig4-{data.name}", data=data)  # one file: only the middle runs differ
            frame = lab.done(
                ex.decompose(data.train, data.policy(), MIXED_TAUS[data.name], budgets, order=order, **options)
            )
            parts = []
            for part in ("benefit", "cost", "gain"):
                parts.append(ex.summarise(frame, part, ["tau", "measure", "rho", "epsilon"]).assign(part=part))
            table = pd.concat(parts).assign(data=data.name, order=order)
            summaries.append(table)
            for measure, group in table.groupby("measure", sort=False):
                cost, benefit = (group[group["part"] == part].sort_values("rho") for part in ("cost", "benefit"))
                if data.name != "xor3":
                    lab.holds(
                        "fig4",
                        data.name,
                        f"{order}: smoothing cost is positive at every budget",
                        bool((cost["mean"] > 0).all()),
                        float(cost["mean"].min()),
                        str(measure),
                    )
                    lab.holds(
                        "fig4",
                        data.name,
                        f"{order}: the noise benefit is less at the largest budget",
                        bool(benefit["mean"].iloc[0] > benefit["mean"].iloc[-1]),
                        measure=str(measure),
                    )
                elif order == "smoothing first":
                    top = int(benefit["mean"].to_numpy().argmax())
                    lab.holds(
                        "fig4",
                        "xor3",
                        f"{order}: the noise benefit first rises and then falls",
                        0 < top < len(benefit) - 1,
                        measure=str(measure),
                    )
            for (name, rho), parts_there in published.items():
                if name == data.name and order == "smoothing first":
                    at = table[(table["measure"] == "paper") & (table["rho"] == rho)].set_index("part")
                    for part, theirs in parts_there.items():
                        ours = at.loc[part]
                        lab.figure(
                            "fig4", name, f"ρ = {rho:g}: {part} (archived results)", theirs, _interval(ours), "paper"
                        )
    lab.table("fig4", *summaries)


def _fig5(lab: _Lab) -> None:
    """Public pilot on Adult: 210 settings of τ × θ × ρ, scaled and unscaled."""
    [data] = lab.data("adult")
    taus = [0.015, 0.06] if lab.quick else np.geomspace(0.006, 0.12, 10).round(4).tolist()
    thetas = [4, 16] if lab.quick else [1, 2, 4, 8, 12, 16, 28]
    own, reference = ex.split(data.public, 3000)
    tables, agreed = [], []
    for theta in thetas:
        options = lab.options(f"fig5-theta{theta}", seeds=6)
        if lab.found.protocol == "paper":
            # As the paper does: the pilot is measured on public rows that it did not synthesise from.
            options |= {"k": (), "measures": None}
        pilots = {}
        for measure in ("2-way",) if lab.found.protocol == "tab-pe" else ("paper",):
            if measure == "paper":
                options["measures"] = {"paper": BinnedError(reference, _BINS["adult"])}
            found = lab.done(ex.pilot(own, data.policy(theta), None, taus, SWEEP_BUDGETS, target=data.train, **options))
            pilots[measure] = found
            assert found.target is not None
            tables.append(
                pd.concat([found.forecast, found.target.assign(scaling="target")]).assign(theta=theta, measure=measure)
            )
    table = pd.concat(tables, ignore_index=True)
    lab.table("fig5", table)
    for measure, group in table.groupby("measure", sort=False):
        both = group[group["scaling"] != "target"].merge(
            group[group["scaling"] == "target"], on=["theta", "tau", "rho"], suffixes=("", "_target")
        )
        for scaling, theirs in (("scaled", 190 / 210), ("unscaled", 134 / 210)):
            part = both[both["scaling"] == scaling]
            right = ((part["gain"] > 0) == (part["gain_target"] > 0)).to_numpy()
            share, n = float(right.mean()), len(right)
            half = 1.96 * math.sqrt(max(share * (1 - share), 1e-12) / n)
            lab.figure(
                "fig5",
                "adult",
                f"{scaling} pilot: share of signs right ({int(right.sum())} of {n})",
                theirs,
                (share, share - half, share + half),
                str(measure),
            )
            agreed.append(share)
        lab.holds(
            "fig5",
            "adult",
            "scaling the noise makes more signs right",
            agreed[-2] > agreed[-1],
            agreed[-2] - agreed[-1],
            str(measure),
        )


def _fig6(lab: _Lab) -> None:
    """Policies: which keep the gain, with Holm's adjustment."""
    budgets = (1e-4,) if lab.quick else (1e-4, 3e-3, 0.18, 1.0)
    tables = []
    for data in lab.data("adult", "bank"):
        policies = _policies(data)
        frame = lab.done(
            ex.compare_policies(
                data.train, policies, [hard(), bf_soft(0.03)], budgets, **lab.options(f"fig6-{data.name}", data=data)
            )
        )
        gains = ex.gains(frame)
        for measure, group in gains.groupby("measure", sort=False):
            by = ["policy", "ratio", "rho", "epsilon", "measure"]
            table = ex.significance(group, "relative", by)
            tables.append(table.assign(data=data.name))
            at = table[table["rho"] == 1e-4].set_index("policy")
            for name in at.index:
                row = at.loc[name]
                ours = _interval(row)
                if (data.name, name) == ("adult", "age"):
                    lab.figure(
                        "fig6", "adult", "ρ = 0.0001, age only: paired error reduction", 0.336, ours, str(measure)
                    )
                elif (data.name, name) == ("adult", "all five"):
                    lab.figure(
                        "fig6", "adult", "ρ = 0.0001, all five: paired error reduction", -0.12, ours, str(measure)
                    )
                if name == "all five":
                    lab.holds(
                        "fig6",
                        data.name,
                        "ρ = 0.0001, all five: not significant after Holm's adjustment",
                        bool(row["p_holm"] >= 0.05),
                        float(row["p_holm"]),
                        str(measure),
                    )
                elif "workclass" in name or "income" in name:
                    lab.holds(
                        "fig6",
                        data.name,
                        f"ρ = 0.0001, {name}: no reduction",
                        bool(row["low"] <= 0),
                        ours[0],
                        str(measure),
                    )
                elif not name.startswith("job"):
                    lab.holds(
                        "fig6",
                        data.name,
                        f"ρ = 0.0001, {name}: a reduction",
                        bool(row["low"] > 0),
                        ours[0],
                        str(measure),
                    )
    lab.table("fig6", *tables)


def _fig7(lab: _Lab) -> None:
    """Calibration: the bound holds, and what it costs."""
    [data] = lab.data("adult")
    taus = (
        [0.015, 0.06, 20.0] if lab.quick else [0.001, 0.003, 0.005, 0.01, 0.015, 0.03, 0.06, 0.12, 0.3, 1.0, 3.0, 20.0]
    )
    table = ex.calibration(data.policy(), taus, populations=1 if lab.quick else 3, repeats=1 if lab.quick else 3)
    lab.table("fig7", table)
    soft, own = table[table["method"] == "BF-Soft"], table[table["method"] == "Hard"]
    lab.holds(
        "fig7",
        "adult",
        "no exact sensitivity lies above the bound",
        bool((soft["exact"] <= soft["bound"] * (1 + 1e-12)).all()),
        float(soft["tightness"].max()),
    )
    tail = soft[soft["tau"] >= 20]
    lab.holds(
        "fig7",
        "adult",
        "at τ ≥ 20 exact and bound fall below 1 % of the hard vote's",
        bool((tail[["exact", "bound"]] < 0.01 * math.sqrt(2)).all().all()),
    )
    lab.holds(
        "fig7",
        "adult",
        "every random population has a policy edge that a hard vote crosses",
        bool((own["exact"] > 0).all()),
    )
    lab.cost("fig7", "adult", "bound, milliseconds", 2e-4, float(soft["bound_ms"].median()))
    lab.cost("fig7", "adult", "Hard exact, milliseconds", 211.0, float(own["exact_ms"].median()))
    lab.cost(
        "fig7",
        "adult",
        "BF-Soft exact at τ = 0.03 or nearest, milliseconds",
        1480.0,
        float(soft.loc[(soft["tau"] - 0.03).abs().idxmin(), "exact_ms"]),
    )


def _table4(lab: _Lab) -> None:
    """Crossover budgets of the fixed temperatures."""
    budgets = [1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 0.1] if lab.quick else budgets17()
    curves, tables = [], []
    for data in lab.data("adult", "bank", "xor3"):
        frame = lab.done(
            ex.compare(
                data.train,
                data.policy(),
                [hard(), *map(bf_soft, TAUS)],
                budgets,
                **lab.options(f"table4-{data.name}", data=data),
            )
        )
        curves.append(ex.summarise(frame).assign(data=data.name))
        table = ex.crossover(frame).rename(columns={"low": "rho_low", "high": "rho_high"})
        for column, rho in (
            ("epsilon_zcdp", "rho"),
            ("epsilon_zcdp_low", "rho_low"),
            ("epsilon_zcdp_high", "rho_high"),
        ):
            table[column] = [math.nan if math.isnan(each) else Budget(rho=each).epsilon_zcdp for each in table[rho]]
        tables.append(table.assign(data=data.name))
        for _, row in table.iterrows():
            if data.name == "xor3":
                continue
            lab.holds(
                "table4",
                data.name,
                f"τ = {row['tau']:g}: soft wins at small budgets and hard at large",
                bool(row["before"] and not row["after"]),
                measure=row["measure"],
            )
            lab.holds(
                "table4",
                data.name,
                f"τ = {row['tau']:g}: the crossover lies at ε 0.16 to 0.46 (paper's ε)",
                0.16 <= row["epsilon_zcdp"] <= 0.46,
                float(row["epsilon_zcdp"]),
                row["measure"],
            )
        for tau in TAUS:
            ratio = sensitivity_bound(data.policy(), bf_soft(tau).vote).ratio
            theirs = {"adult": (0.56, 0.31, 0.16), "bank": (0.51, 0.28, 0.14), "xor3": (0.83, 0.53, 0.29)}[data.name]
            lab.figure("table4", data.name, f"τ = {tau:g}: noise ratio q", theirs[TAUS.index(tau)], (ratio,) * 3)
    lab.table("table4-curves", *curves)
    lab.table("table4", *tables)


def _f4(lab: _Lab) -> None:
    """The same noise ratio from three reaches and temperatures gives different errors."""
    iso = {"adult": ((0.015, 2), (0.03, 4), (0.06, 8)), "bank": ((0.015, 2), (0.03, 4), (0.06, 8)),
           "xor3": ((0.01, 1), (0.02, 2), (0.04, 4))}  # fmt: skip
    tables = []
    for data in lab.data("adult", "bank", "xor3"):
        budgets = (
            ([1e-4, 1e-2] if lab.quick else [1e-5, 1e-4, 1e-3, 1e-2, 0.1])
            if data.name != "xor3"
            else ([3e-2, 1.0] if lab.quick else [1e-3, 1e-2, 3e-2, 0.18, 1.0])
        )
        policies = {f"θ = {theta}": data.policy(theta) for _, theta in iso[data.name]}
        ratio = sensitivity_bound(data.policy(iso[data.name][0][1]), bf_soft(iso[data.name][0][0]).vote).ratio
        frame = lab.done(
            ex.matched_noise(data.train, policies, ratio, budgets, **lab.options(f"f4-{data.name}", data=data))
        )
        tables.append(ex.summarise(frame).assign(data=data.name))
        soft = frame[frame["method"] == "BF-Soft"]
        for measure, group in soft.groupby("measure", sort=False):
            wide = group.pivot(index=["rho", "seed"], columns="policy", values="error").reset_index()
            pairs = []
            for a, b in combinations(policies, 2):
                pairs.append(
                    pd.DataFrame(
                        {
                            "pair": f"{a} against {b}",
                            "rho": wide["rho"],
                            "seed": wide["seed"],
                            "gain": wide[a] - wide[b],
                        }
                    )
                )
            tested = ex.significance(pd.concat(pairs), "gain", ["pair", "rho"])
            lab.holds(
                "f4",
                data.name,
                "curves of one noise ratio differ: some pair differs after Holm's adjustment",
                bool((tested["p_holm"] < 0.05).any()),
                float(tested["p_holm"].min()),
                str(measure),
            )
    lab.table("f4", *tables)


def _f6(lab: _Lab) -> None:
    """XOR-3, temperature by reach: gains where almost no noise is saved."""
    [data] = lab.data("xor3")
    taus = [0.002, 0.01, 0.04] if lab.quick else [
        0.00025, 0.0005, 0.001, 0.0015, 0.002, 0.003, 0.004, 0.005, 0.01, 0.02, 0.04, 0.08,
    ]  # fmt: skip
    policies = {f"θ = {theta}": data.policy(theta) for theta in ([1] if lab.quick else [1, 2, 3, 4])}
    frame = lab.done(
        ex.compare_policies(
            data.train, policies, [hard(), *map(bf_soft, taus)], (0.03, 0.18, 1.0), **lab.options("f6-xor3", data=data)
        )
    )
    gains = ex.gains(frame)
    table = ex.summarise(gains, "relative", ["policy", "ratio", "tau", "rho", "epsilon", "measure"])
    lab.table("f6", table)
    for measure, group in table.groupby("measure", sort=False):
        for rho, theirs in ((0.03, 0.398), (0.18, 0.404), (1.0, 0.199)):
            best = group[group["rho"] == rho].sort_values("mean").iloc[-1]
            where = f"ρ = {rho:g}"
            lab.figure(
                "f6",
                "xor3",
                f"{where}: largest mean relative gain (at {best['policy']}, τ = {best['tau']:g})",
                theirs,
                _interval(best),
                str(measure),
            )
            lab.holds(
                "f6",
                "xor3",
                f"{where}: the best setting saves almost no noise (q > 0.95)",
                best["ratio"] > 0.95,
                float(best["ratio"]),
                str(measure),
            )


def _f9(lab: _Lab) -> None:
    """Training size on XOR-3 at a fixed budget."""
    from .samples import xor3

    [data] = lab.data("xor3")
    sizes = [3000, 12_000] if lab.quick else [3000, 12_000, 48_000, 100_000]
    options = lab.options("f9-xor3") | {
        "k": (1, 2, 3), "measures": lambda table: _f9_measures(table, data.public),
    }  # fmt: skip
    frame = lab.done(
        ex.training_size(lambda n: xor3(n, 0), data.policy(), sizes, [hard(), bf_soft(0.03)], _F9_BUDGETS, **options)
    )
    lab.table("f9", ex.summarise(frame))
    gains = ex.summarise(ex.gains(frame), "relative", ["n", "rho", "measure"])
    lab.table("f9-gains", gains)
    if lab.quick:
        return
    # The sources give no budget for these figures: it is taken to be the tested one at which Hard comes nearest 0.389.
    errors = ex.summarise(frame).set_index(["measure", "method", "rho", "n"])["mean"].sort_index()
    own = errors["paper", "Hard"]
    rho = min(_F9_BUDGETS, key=lambda each: abs(own[each, 12_000] - 0.389))
    at = gains[gains["rho"] == rho].set_index(["measure", "n"])
    for measure in at.index.unique("measure"):
        for n, theirs in ((12_000, 0.2283), (48_000, 0.3737), (100_000, -0.8918)):
            row = at.loc[(measure, n)]
            lab.figure(
                "f9",
                "xor3",
                f"n = {n:,}, ρ = {rho:g} (by Hard's error): relative reduction",
                theirs,
                _interval(row),
                str(measure),
            )
    for method, n, theirs in (("Hard", 12_000, 0.389), ("Hard", 100_000, 0.118), ("BF-Soft", 12_000, 0.297),
                              ("BF-Soft", 100_000, 0.214)):  # fmt: skip
        part = frame[
            (frame["measure"] == "paper") & (frame["method"] == method) & (frame["n"] == n) & (frame["rho"] == rho)
        ]
        lab.figure(
            "f9",
            "xor3",
            f"n = {n:,}, ρ = {rho:g}: mean error of {method}",
            theirs,
            ex.t_interval(part["error"].to_numpy()),
            "paper",
        )


def _f9_measures(table: Records, reference: Records) -> dict[str, Measure]:
    from .fidelity import Fidelity

    own: dict[str, Measure] = {f"{k}-way": Fidelity(table, k).error for k in (1, 2, 3)}
    return {**own, "paper": BinnedError(reference, _BINS["xor3"], 4)}


def _moves(lab: _Lab) -> None:
    """What moves the crossover on Adult: one part of the loop or one setting at a time, from this package's loop."""
    [data] = lab.data("adult")
    taus, budgets = [0.015, 0.03, 0.06], [1e-5, 5e-5, 1e-4, 2e-4, 4e-4, 8e-4, 1.6e-3, 3.2e-3, 1e-2, 3e-2]
    if lab.quick:
        taus, budgets = [0.03], [1e-4, 1e-2]
    fourfold = Records.of_codes(data.domain, data.train.codes, 4 * data.train.counts)
    steps: list[tuple[str, Variant, dict[str, Any], Records]] = [
        ("nothing: this package's loop", TAB_PE, {}, data.train),
        *((name, replace(TAB_PE, name=name, **part), {}, data.train) for name, part in _PARTS.items()),
        ("DPSDA's loop", DPSDA, {}, data.train),
        ("the paper's loop", PAPER, {}, data.train),
        *((f"the paper's loop, but {name}", replace(PAPER, **part), {}, data.train) for name, part in _BACK.items()),
        *((name, TAB_PE, setting, data.train) for name, setting in _SETTINGS.items()),
        ("n = 6,512, a quarter", TAB_PE, {}, ex.sample(data.train, 6512)),
        ("n = 13,024, a half", TAB_PE, {}, ex.sample(data.train, 13_024)),
        ("n = 104,192, each record four times", TAB_PE, {}, fourfold),
    ]
    rows = []
    for name, loop, settings, table in steps:
        slug = "".join(each if each.isalnum() else "-" for each in name)
        options = lab.options(f"moves-{slug}", seeds=8) | {"loop": loop, "measures": data.measures(), **settings}
        methods = [hard(), *map(bf_soft, taus)]
        frame = lab.done(ex.compare(table, data.policy(), methods, budgets, **options))
        means = ex.summarise(frame).set_index(["measure", "method", "rho"])["mean"]
        for _, row in ex.crossover(frame).iterrows():
            own = (
                frame[(frame["tau"] == row["tau"]) & (frame["measure"] == row["measure"])]
                .groupby("rho")["error"]
                .mean()
            )
            zcdp = math.nan if math.isnan(row["rho"]) else Budget(rho=row["rho"]).epsilon_zcdp
            errors = {f"hard at {rho:g}": means[row["measure"], "Hard", rho] for rho in (1e-4, 1e-2)}
            errors |= {f"soft at {rho:g}": own[rho] for rho in (1e-4, 1e-2)}
            rows.append({"changed": name, **row.drop(["method", "epsilon"]), "epsilon_zcdp": zcdp, **errors})
    lab.table("moves", pd.DataFrame(rows))


_PARTS: dict[str, dict[str, Any]] = {
    "multinomial resampling": {"resampling": "multinomial"},
    "schedule counted (t − 1)/T": {"counted": "before"},
    "schedule counted (t − 1)/(T − 1)": {"counted": "span"},
    "first mutation rate 0.25": {"first": 0.25},
    "first mutation rate 0.1": {"first": 0.1},
    "schedule linear (power 1)": {"power": 1.0},
    "normal steps": {"step": "normal"},
    "last round mutated": {"mutate_last": True},
    "best ranked after 2 rounds": {"sampled_rounds": 2},
    "best ranked after 2 rounds, parents kept (2m candidates)": {"sampled_rounds": 2, "keep_parents": True},
    "one first population for all seeds": {"population": 0},
}
_BACK: dict[str, dict[str, Any]] = {
    "uniform steps": {"step": "uniform"},
    "first mutation rate 0.5": {"first": 0.5},
    "all rounds drawn": {"sampled_rounds": None, "keep_parents": False},
}
_SETTINGS: dict[str, dict[str, Any]] = {
    "threshold H = 10": {"threshold": 10.0},
    "threshold H = 50": {"threshold": 50.0},
    "m = 128": {"size": 128},
    "m = 256": {"size": 256},
    "m = 1024": {"size": 1024},
    "T = 4 rounds": {"rounds": 4},
    "T = 16 rounds": {"rounds": 16},
    "budget shares rising 1 to 8": {"shares": tuple(range(1, 9))},
    "budget shares falling 8 to 1": {"shares": tuple(range(8, 0, -1))},
}

FIGURES: dict[str, Callable[[_Lab], None]] = {
    "fig3": _fig3, "fig4": _fig4, "fig5": _fig5, "fig6": _fig6, "fig7": _fig7, "table4": _table4,
    "f4": _f4, "f6": _f6, "f9": _f9,
}  # fmt: skip
# Long, and not the paper's: run by name, not with "all".
EXTRAS: dict[str, Callable[[_Lab], None]] = {"moves": _moves}
