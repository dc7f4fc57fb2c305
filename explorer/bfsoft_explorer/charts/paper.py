"""Charts of the paper's experiments as run here, beside what the paper reports; tables as ``bfsoft.reproduction`` has.

The paper's figures come from the claims' own column ``paper``, never from here, but for the band of crossover budgets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd

from .. import words
from .style import COLOURS, QUIET, REGIONS, SIGNAL, title

VERDICTS = {
    "agrees": "#009E73", "same direction": "#56B4E9", "undecided": "#B8A86A", "disagrees": SIGNAL,
    "not comparable": QUIET,
}  # fmt: skip
# THEORY, "Experiments": the advantage reverses at the paper's ε of about 0.16 to 0.46 on Adult and Bank.
PAPER_CROSSOVER = (0.16, 0.46)
_HALF, _HEIGHT = 50, 340


@dataclass(frozen=True)
class Experiment:
    """One experiment of the paper: its figure, a short name, what it asks, and the table that answers."""

    figure: str
    name: str
    where: str
    question: str
    table: str


EXPERIMENTS = [
    Experiment("table4", "Crossover", "Table 4", "Up to which budget does softness pay?", "table4"),
    Experiment("fig3", "Temperature", "Figure 3", "Which τ has the least error, and how much less?", "fig3"),
    Experiment("fig4", "Benefit and cost", "Figure 4", "What is less noise worth, what does smoothing cost?", "fig4"),
    Experiment("fig5", "Public pilot", "Figure 5", "Does public data forecast who is better?", "fig5"),
    Experiment("fig6", "Policies", "Figure 6", "What do wider policies leave of the gain?", "fig6"),
    Experiment("fig7", "Calibration", "Figure 7", "Does the bound hold, and what does certainty cost?", "fig7"),
    Experiment("f4", "Equal noise", "Appendix F.4", "Is the same noise ratio the same result?", "f4"),
    Experiment("f6", "XOR-3", "Appendix F.6", "Can softness pay where it saves almost no noise?", "f6"),
    Experiment("f9", "Table size", "Appendix F.9", "What does a larger table change at a fixed budget?", "f9-gains"),
]  # fmt: skip


# What else can be looked at: every experiment at once, and what moves the crossover.
ALL, MOVES = "All", "What moves it"
DATA = {"adult": "Adult", "bank": "Bank", "xor3": "XOR-3"}
MEASURES = {"paper": "the paper's", "1-way": "attributes", "2-way": "2-way", "3-way": "3-way"}


# ------------------------------------------------------------------ claims and verdicts


def offered(claims: pd.DataFrame) -> tuple[list[str], list[str]]:
    """The data sets and the error measures that claims are about, in the order to offer them; at least one of each."""
    measures = [name for name in MEASURES if name in set(claims["measure"].dropna())]
    return [name for name in DATA if name in set(claims["data"])], measures or ["2-way"]


def measured_by(claims: pd.DataFrame, measure: str) -> pd.DataFrame:
    """The claims by one error measure; those without any, such as noise ratios, hold for every one."""
    return claims[claims["measure"].isna() | (claims["measure"] == measure)]


def temperatures_of(moves: pd.DataFrame) -> list[str]:
    """The temperatures at which it was asked what moves the crossover, as they are offered."""
    return [f"{tau:g}" for tau in sorted(moves["tau"].dropna().unique())]


def claims_of(claims: pd.DataFrame, figure: str, data: str, measure: str) -> pd.DataFrame:
    """The claims about one experiment on one data set, with one measure or without any."""
    own = claims[(claims["figure"] == figure) & (claims["data"] == data)]
    return measured_by(own, measure).reset_index(drop=True)


def verdicts_text(claims: pd.DataFrame) -> str:
    """The finding of ``verdicts_chart``: how many claims agree, of how many that can."""
    counts = claims["verdict"].value_counts()
    judged = len(claims) - int(counts.get("not comparable", 0))
    verbs = {
        "same direction": ("goes the same way", "go the same way"), "undecided": ("is undecided", "are undecided"),
        "disagrees": ("disagrees", "disagree"),
    }  # fmt: skip
    parts = [f"{int(counts[name])} {verb[int(counts[name] > 1)]}" for name, verb in verbs.items() if counts.get(name)]
    rest = f"; of the others, {', '.join(parts)}" if parts else ""
    return f"{int(counts.get('agrees', 0))} of {judged} claims agree{rest}"


def verdicts_chart(claims: pd.DataFrame) -> alt.Chart:
    """How the claims of each experiment fared, as stacked bars."""
    names = {each.figure: f"{each.name} ({each.where})" for each in EXPERIMENTS}
    counted = claims.assign(experiment=claims["figure"].map(names)).groupby(["experiment", "verdict"]).size()
    frame = counted.rename("claims").reset_index()
    frame["order"] = frame["verdict"].map([*VERDICTS].index)
    shown = [name for name in VERDICTS if name in set(frame["verdict"])]
    colour = alt.Color(
        "verdict:N", scale=alt.Scale(domain=shown, range=[VERDICTS[name] for name in shown]),
        legend=alt.Legend(orient="top", title=None, columns=3),
    )  # fmt: skip
    return (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            y=alt.Y(
                "experiment:N", sort=[*names.values()], title=None, axis=alt.Axis(labelLimit=220, labelOverlap=False)
            ),
            x=alt.X("claims:Q", title="claims"),
            color=colour,
            order=alt.Order("order:Q"),
            tooltip=[alt.Tooltip("experiment"), alt.Tooltip("verdict"), alt.Tooltip("claims")],
        )
        .properties(title=title(verdicts_text(claims), width=_HALF), height=470)
    )  # fmt: skip


def beside_text(claims: pd.DataFrame) -> str:
    """The finding of ``beside_chart``."""
    numbers = _numbers(claims)
    agreeing = int((numbers["verdict"] == "agrees").sum())
    return f"{agreeing} of the paper's {len(numbers)} figures here agree with ours"


def _numbers(claims: pd.DataFrame) -> pd.DataFrame:
    return claims[claims["paper"].notna() & (claims["verdict"] != "not comparable")]


def beside_chart(claims: pd.DataFrame) -> alt.LayerChart | None:
    """The paper's figures beside ours with their 95 % intervals; None where the claims hold no such figure."""
    numbers = _numbers(claims).copy()
    if numbers.empty:
        return None
    # Claims are sentences: they stand above their marks, where an axis would have to cut them.
    y = alt.Y("claim:N", sort=None, title=None, axis=None)
    shown = [name for name in VERDICTS if name in set(numbers["verdict"])]
    colour = alt.Color(
        "verdict:N", scale=alt.Scale(domain=shown, range=[VERDICTS[name] for name in shown]),
        legend=alt.Legend(orient="top", title=None),
    )  # fmt: skip
    tooltip: list[Any] = [alt.Tooltip(f"{name}:Q", format=".4g") for name in ("paper", "ours", "low", "high")]
    base = alt.Chart(numbers).encode(y=y, tooltip=[alt.Tooltip("claim"), *tooltip, alt.Tooltip("verdict")])
    zero = alt.Chart(pd.DataFrame({"x": [0.0]})).mark_rule(color=QUIET, strokeDash=[4, 4]).encode(x=alt.X("x:Q"))
    layers: list[Any] = [
        zero,
        base.mark_text(align="left", dy=-14, color=QUIET, fontSize=12).encode(x=alt.value(0), text=alt.Text("claim:N")),
        base.mark_rule(strokeWidth=2.5).encode(x=alt.X("low:Q", title=None), x2=alt.X2("high:Q"), color=colour),
        base.mark_circle(size=70, opacity=1).encode(x=alt.X("ours:Q"), color=colour),
        base.mark_point(shape="diamond", size=110, strokeWidth=2, color=QUIET).encode(x=alt.X("paper:Q")),
    ]
    detail = "grey diamond: the paper; dot and bar: ours with its 95 % interval"
    return _shown(layers, title(beside_text(claims), detail, _HALF), 130 + 42 * numbers["claim"].nunique())


# ------------------------------------------------------------------ tables as pictures


def _shown(layers: Sequence[Any], heading: alt.TitleParams, height: int = _HEIGHT) -> alt.LayerChart:
    chart: Any = alt.layer(*layers)
    return chart.properties(title=heading, height=height)


def _colours(names: Sequence[str]) -> alt.Scale:
    """Hard keeps its colour everywhere; the others take those of regions, without the one that looks like it."""
    others = [colour for colour in REGIONS if colour != "#E6B800"]
    free = iter(others * (1 + len(names) // len(others)))
    fixed = {
        "Hard": COLOURS["Hard"],
        "noise benefit": COLOURS["BF-Soft"],
        "smoothing cost": COLOURS["Hard"],
        "gain": QUIET,
    }
    return alt.Scale(domain=[*names], range=[fixed.get(name) or next(free) for name in names])


def _lines(
    frame: pd.DataFrame, x: str, x_title: str, y_title: str, heading: str, detail: str, *, percent: bool = False,
    zero: bool = False, log: bool = True,
) -> alt.LayerChart:  # fmt: skip
    """Means over x, a line a ``series``, with their 95 % bands; frame has x, mean, low, high, series."""
    names = [*dict.fromkeys(frame["series"])]
    values = sorted(frame[x].unique())
    shown = values if len(values) <= 7 else None
    axis = alt.Axis(
        format="," if x == "n" else ".3~g",
        grid=False,
        labelOverlap=True,
        **({"values": shown} if shown else {"tickCount": 6}),
    )
    across = alt.X(f"{x}:Q", title=x_title, scale=alt.Scale(type="log" if log else "linear", nice=False), axis=axis)
    y = alt.Axis(format="+.0%") if percent else alt.Axis()
    # A relative loss has no floor; below −100 % only that it is lost matters, and the rest stays legible.
    floor = max(-1.0, float(frame["low"].min())) if percent else None
    scale = alt.Scale(zero=False) if floor is None else alt.Scale(domain=[floor, float(frame["high"].max())])
    colour = alt.Color("series:N", scale=_colours(names), legend=alt.Legend(orient="top", title=None, columns=4))
    base = alt.Chart(frame)
    tooltip: list[Any] = [alt.Tooltip("series"), *(alt.Tooltip(f"{name}:Q", format=".4g") for name in (x, *_ENDS))]
    layers: list[Any] = [
        base.mark_area(opacity=0.18, clip=True).encode(
            x=across, y=alt.Y("low:Q", title=y_title, axis=y, scale=scale), y2=alt.Y2("high:Q"), color=colour
        ),
        base.mark_line(point=alt.OverlayMarkDef(size=28, clip=True), strokeWidth=2, clip=True).encode(
            x=across, y=alt.Y("mean:Q", scale=scale), color=colour, tooltip=tooltip
        ),
    ]
    if zero:
        rule = alt.Chart(pd.DataFrame({"y": [0.0]})).mark_rule(color=QUIET, strokeDash=[5, 4]).encode(y=alt.Y("y:Q"))
        layers.insert(0, rule)
    return _shown(layers, title(heading, detail, _HALF))


_ENDS = ("mean", "low", "high")


def _at(table: pd.DataFrame, data: str, measure: str) -> pd.DataFrame:
    own = table[table["data"] == data] if "data" in table else table
    return own[own["measure"] == measure] if "measure" in own else own


def _tau(tau: float) -> str:
    return "Hard" if math.isnan(tau) else f"τ = {words.number(tau)}"


def crossover_text(table: pd.DataFrame, data: str, measure: str) -> str:
    """The finding of ``crossover_chart``."""
    own = _at(table, data, measure)
    found = own["epsilon_zcdp"].dropna()
    if found.empty:
        return f"{data}: softness never stops or never starts to pay at the tested budgets"
    span = f"{words.number(found.min(), 2)} to {words.number(found.max(), 2)}"
    if data == "xor3":
        return f"{data}: the advantage reverses at ε {span}"
    low, high = PAPER_CROSSOVER
    inside = int(found.between(low, high).sum())
    return (
        f"{data}: the advantage reverses at ε {span}; the paper has {low} to {high}, where {inside} of {len(own)} lie"
    )


def crossover_chart(table: pd.DataFrame, data: str, measure: str) -> alt.LayerChart:
    """The budget at which BF-Soft stops to pay, for each τ with its bootstrap interval; the band is the paper's."""
    own = _at(table, data, measure)
    frame = own.assign(name=own["tau"].map(_tau))
    y = alt.Y("name:N", sort=[*frame["name"]], title=None, axis=alt.Axis(labelFontSize=13))
    x = alt.X("epsilon_zcdp:Q", title="ε by the paper's formula", scale=alt.Scale(type="log", nice=True),
              axis=alt.Axis(tickCount=6, format="~g"))  # fmt: skip
    tooltip: list[Any] = [
        alt.Tooltip("name"),
        *(alt.Tooltip(f"{n}:Q", format=".3g") for n in ("epsilon_zcdp", "rho", "rho_low", "rho_high")),
    ]
    base = alt.Chart(frame.dropna(subset=["epsilon_zcdp"])).encode(y=y, tooltip=tooltip)
    layers: list[Any] = []
    if data != "xor3":
        band = pd.DataFrame([{"low": PAPER_CROSSOVER[0], "high": PAPER_CROSSOVER[1]}])
        layers.append(
            alt.Chart(band).mark_rect(opacity=0.18, color=QUIET).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
        )
    layers += [
        base.mark_rule(strokeWidth=3, color=COLOURS["BF-Soft"]).encode(
            x=alt.X("epsilon_zcdp_low:Q"), x2=alt.X2("epsilon_zcdp_high:Q")
        ),
        base.mark_circle(size=110, opacity=1, color=COLOURS["BF-Soft"]).encode(x=x),
    ]
    detail = "bar: 95 % bootstrap interval over seeds" + ("" if data == "xor3" else "; grey band: the paper")
    return _shown(layers, title(crossover_text(table, data, measure), detail, _HALF), 240)


def curves_chart(table: pd.DataFrame, data: str, measure: str) -> alt.LayerChart:
    """Error over ε of Hard and each τ."""
    own = _at(table, data, measure)
    frame = own.assign(series=own["tau"].map(_tau))
    last, first = frame["epsilon"].max(), frame["epsilon"].min()
    ends = [frame[frame["epsilon"] == end].sort_values("mean")["series"].iloc[0] for end in (first, last)]
    return _lines(
        frame, "epsilon", "ε, exact", "error", f"Least error at small ε: {ends[0]}; at large ε: {ends[1]}",
        "mean over seeds; band: 95 % interval",
    )  # fmt: skip


def sweep_text(table: pd.DataFrame, data: str, measure: str) -> str:
    """The finding of ``sweep_chart``: the best τ at every budget."""
    own = _at(table, data, measure)
    parts = []
    for rho, group in own.groupby("rho", sort=True):
        soft, hard = group[group["tau"].notna()], group[group["tau"].isna()]
        best = soft.loc[soft["mean"].idxmin()]
        less = 1 - best["mean"] / hard["mean"].iloc[0]
        way = f"{100 * less:.0f} % less" if less > 0 else f"{-100 * less:.0f} % more"
        parts.append(f"{words.number(best['tau'])} at ρ = {rho:g} ({way})")
    return f"Best τ: {', '.join(parts)}"


def sweep_chart(table: pd.DataFrame, data: str, measure: str) -> alt.LayerChart:
    """Error over τ at every budget; the dashed lines are Hard's."""
    own = _at(table, data, measure)
    frame = own.assign(series=own["rho"].map(lambda rho: f"ρ = {rho:g}"))
    chart = _lines(
        frame[frame["tau"].notna()], "tau", "temperature τ", "error", sweep_text(table, data, measure),
        "in brackets: error against Hard's; dashed: Hard",
    )  # fmt: skip
    names = [*dict.fromkeys(frame["series"])]
    hard = alt.Chart(frame[frame["tau"].isna()]).mark_rule(strokeDash=[6, 4], strokeWidth=1.5)
    rules = hard.encode(y=alt.Y("mean:Q"), color=alt.Color("series:N", scale=_colours(names)))
    combined: Any = chart + rules
    return combined


def parts_chart(table: pd.DataFrame, data: str, measure: str) -> alt.LayerChart:
    """Noise benefit, smoothing cost and gain over ε, the split that takes noise first."""
    own = _at(table, data, measure)
    own = own[own["order"] == "noise first"] if "order" in own else own
    names = {"benefit": "noise benefit", "cost": "smoothing cost", "gain": "gain"}
    own = own[own["part"].isin(names)]
    frame = own.assign(series=own["part"].map(names))
    gain = frame[frame["series"] == "gain"].sort_values("epsilon")
    wins = gain[gain["mean"] > 0]["epsilon"]
    said = "no tested ε" if wins.empty else f"ε up to {words.number(wins.max(), 2)}"
    tau = words.number(float(frame["tau"].iloc[0]))
    return _lines(
        frame, "epsilon", "ε, exact", "error", f"At τ = {tau} less noise outweighs smoothing at {said}",
        "gain = benefit − cost; band: 95 % interval", zero=True,
    )  # fmt: skip


def pilot_chart(table: pd.DataFrame, data: str, measure: str) -> alt.Chart:
    """Of all settings, how often the pilot's sign was the target's, by what was done to its noise."""
    wide = table.pivot_table(index=["theta", "tau", "rho"], columns="scaling", values="gain")
    rows = []
    for name in ("scaled", "unscaled"):
        right = int(((wide[name] > 0) == (wide["target"] > 0)).sum())
        rows.append({"noise": name, "right": right, "share": right / len(wide), "of": len(wide)})
    frame = pd.DataFrame(rows)
    heading = f"Scaled pilots get {rows[0]['right']} of {len(wide)} signs right, unscaled ones {rows[1]['right']}"
    return (
        alt.Chart(frame)
        .mark_bar(color=COLOURS["BF-Soft"], height=38)
        .encode(
            y=alt.Y("noise:N", title="pilot's noise"),
            x=alt.X("share:Q", title="signs right", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%")),
            tooltip=[alt.Tooltip("noise"), alt.Tooltip("right"), alt.Tooltip("of")],
        )
        .properties(title=title(heading, "settings: policies θ × τ × ρ on Adult, 2-way error", _HALF), height=220)
    )


def policies_chart(table: pd.DataFrame, data: str, measure: str) -> alt.LayerChart:
    """Relative gain of BF-Soft over Hard for every policy and budget, with 95 % intervals."""
    own = _at(table, data, measure)
    frame = own.assign(series=own["rho"].map(lambda rho: f"ρ = {rho:g}"))
    policies, names = [*dict.fromkeys(frame["policy"])], [*dict.fromkeys(frame["series"])]
    sure = frame[frame["low"] > 0]
    y = alt.Y("policy:N", sort=policies, title=None, axis=alt.Axis(labelLimit=230))
    colour = alt.Color("series:N", scale=_colours(names), legend=alt.Legend(orient="top", title=None))
    offset = alt.YOffset("series:N", sort=names)
    tooltip: list[Any] = [
        alt.Tooltip("policy"),
        alt.Tooltip("series"),
        *(alt.Tooltip(f"{n}:Q", format="+.1%") for n in _ENDS),
        alt.Tooltip("p_holm"),
    ]
    base = alt.Chart(frame).encode(y=y, yOffset=offset, color=colour, tooltip=tooltip)
    zero = alt.Chart(pd.DataFrame({"x": [0.0]})).mark_rule(color=QUIET, strokeDash=[5, 4]).encode(x=alt.X("x:Q"))
    percent = alt.Axis(format="+.0%")
    layers = [
        zero,
        base.mark_rule(strokeWidth=2.5).encode(
            x=alt.X("low:Q", title="error below Hard's", axis=percent), x2=alt.X2("high:Q")
        ),
        base.mark_circle(size=60, opacity=1).encode(x=alt.X("mean:Q")),
    ]
    heading = f"A sure gain in {len(sure)} of {len(frame)} cases of policy and budget"
    return _shown(layers, title(heading, "right of the dashes: BF-Soft better; bar: 95 % interval", _HALF))


def calibration_chart(table: pd.DataFrame, data: str, measure: str) -> alt.LayerChart:
    """Bound and exact sensitivity over τ."""
    soft = table[table["method"] == "BF-Soft"]
    tight = soft.groupby("tau")["tightness"].max()
    parts = []
    for name, column in (("bound", "bound"), ("exact, by population", "exact")):
        grouped = soft.groupby("tau")[column].agg(["mean", "min", "max"]).reset_index()
        parts.append(grouped.rename(columns={"min": "low", "max": "high"}).assign(series=name))
    heading = f"The bound is never exceeded; exact sensitivity reaches {100 * tight.max():.1f} % of it"
    return _lines(
        pd.concat(parts), "tau", "temperature τ", "L2 sensitivity (votes)", heading,
        "band: lowest to highest of the populations",
    )  # fmt: skip


def equal_noise_chart(table: pd.DataFrame, data: str, measure: str) -> alt.LayerChart:
    """Error over ε of policies whose τ gives them the same noise ratio."""
    own = _at(table, data, measure)
    own = own[own["method"] == "BF-Soft"]
    frame = own.assign(series=[f"{p}, τ = {words.number(t)}" for p, t in zip(own["policy"], own["tau"], strict=True)])
    at = frame.groupby("epsilon")["mean"].agg(["min", "max"])
    widest = float((at["max"] / at["min"]).max())
    ratio = words.number(float(own["ratio"].iloc[0]))
    finding = f"At the same q = {ratio} errors differ by up to {100 * (widest - 1):.0f} %"
    return _lines(frame, "epsilon", "ε, exact", "error", finding, "band: 95 % interval")


def xor_chart(table: pd.DataFrame, data: str, measure: str) -> alt.LayerChart:
    """Relative gain over τ for every θ at the middle budget."""
    own = _at(table, data, measure)
    rho = sorted(own["rho"].unique())[own["rho"].nunique() // 2]
    frame = own[own["rho"] == rho].assign(series=lambda f: f["policy"])
    best = frame.loc[frame["mean"].idxmax()]
    heading = (
        f"At ρ = {rho:g} the largest gain, {100 * best['mean']:.0f} %, comes at τ = {words.number(best['tau'])}, "
        f"where q = {words.number(best['ratio'])}"
    )
    return _lines(
        frame, "tau", "temperature τ", "error below Hard's", heading.replace("-", "−"), "band: 95 % interval",
        percent=True, zero=True,
    )  # fmt: skip


def sizes_chart(table: pd.DataFrame, data: str, measure: str) -> alt.LayerChart:
    """Relative gain over the number of records at every budget."""
    own = _at(table, data, measure)
    frame = own.assign(series=own["rho"].map(lambda rho: f"ρ = {rho:g}"))
    most = frame.loc[frame["mean"].idxmax()]
    heading = f"The gain is largest at n = {int(most['n']):,}, ρ = {most['rho']:g}: {100 * most['mean']:+.0f} %"
    return _lines(
        frame, "n", "records", "error below Hard's", heading.replace("-", "−"), "band: 95 % interval", percent=True,
        zero=True,
    )  # fmt: skip


PICTURES: dict[str, Callable[[pd.DataFrame, str, str], Any]] = {
    "table4": crossover_chart, "fig3": sweep_chart, "fig4": parts_chart, "fig5": pilot_chart, "fig6": policies_chart,
    "fig7": calibration_chart, "f4": equal_noise_chart, "f6": xor_chart, "f9": sizes_chart,
}  # fmt: skip


def heading(chart: Any) -> str:
    """A chart's finding as one line, for its text alternative."""
    text = chart.title.text
    return text if isinstance(text, str) else " ".join(text)


# ------------------------------------------------------------------ what moves the crossover


def moves_text(moves: pd.DataFrame, tau: float, measure: str) -> str:
    """The finding of ``moves_chart``: what moves the crossover furthest up and down."""
    own = _moved(moves, tau, measure)
    base, rest = own.iloc[0], own.iloc[1:].dropna(subset=["epsilon_zcdp"])
    if rest.empty or math.isnan(base["epsilon_zcdp"]):
        return "No change of a part or a setting has a crossover to compare"
    up, down = rest.loc[rest["epsilon_zcdp"].idxmax()], rest.loc[rest["epsilon_zcdp"].idxmin()]
    return (
        f"From ε = {words.number(base['epsilon_zcdp'], 2)}, “{up['changed']}” moves it up to "
        f"{words.number(up['epsilon_zcdp'], 2)}, “{down['changed']}” down to {words.number(down['epsilon_zcdp'], 2)}"
    )


def _moved(moves: pd.DataFrame, tau: float, measure: str) -> pd.DataFrame:
    own = moves[(moves["tau"] == tau) & (moves["measure"] == measure)].reset_index(drop=True)
    from bfsoft import Budget

    def converted(rho: float) -> float:
        return math.nan if math.isnan(rho) else Budget(rho=rho).epsilon_zcdp

    return own.assign(epsilon_low=own["low"].map(converted), epsilon_high=own["high"].map(converted))


def moves_chart(moves: pd.DataFrame, tau: float, measure: str) -> alt.LayerChart:
    """Where the crossover goes when one part of the loop or one setting is changed, with bootstrap intervals."""
    frame = _moved(moves, tau, measure)
    y = alt.Y("changed:N", sort=[*frame["changed"]], title=None, axis=alt.Axis(labelLimit=360))
    x = alt.X(
        "epsilon_zcdp:Q",
        title="ε of the crossover, by the paper's formula",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format="~g", tickCount=6),
    )
    tooltip: list[Any] = [
        alt.Tooltip("changed"),
        *(alt.Tooltip(f"{n}:Q", format=".3g") for n in ("epsilon_zcdp", "epsilon_low", "epsilon_high")),
    ]
    base = alt.Chart(frame.dropna(subset=["epsilon_zcdp"])).encode(y=y, tooltip=tooltip)
    band = pd.DataFrame([{"low": PAPER_CROSSOVER[0], "high": PAPER_CROSSOVER[1]}])
    start = frame.iloc[:1]
    layers: list[Any] = [
        alt.Chart(band).mark_rect(opacity=0.16, color=QUIET).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q")),
        alt.Chart(start).mark_rule(color=COLOURS["BF-Soft"], strokeDash=[5, 4]).encode(x=alt.X("epsilon_zcdp:Q")),
        base.mark_rule(strokeWidth=2.5, color=COLOURS["BF-Soft"]).encode(
            x=alt.X("epsilon_low:Q"), x2=alt.X2("epsilon_high:Q")
        ),
        base.mark_circle(size=70, opacity=1, color=COLOURS["BF-Soft"]).encode(x=x),
    ]
    detail = "grey band: the paper's crossovers; dashes: nothing changed; bar: 95 % bootstrap interval"
    return _shown(layers, title(moves_text(moves, tau, measure), detail, 110), 60 + 24 * len(frame))
