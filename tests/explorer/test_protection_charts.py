"""The protection map and its comparison show the library's numbers, and never a better one."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest

import bfsoft as bf
from bfsoft.privacy import attacker_success
from bfsoft_explorer.charts import protection as charts

BUDGET = bf.Budget(rho=1e-3)
VOTE = bf.SoftVote(0.03)


def map_of(policy: bf.Policy, attribute: str, vote=VOTE, budget=BUDGET, **chosen: str) -> pd.DataFrame:
    return charts.map_frame(policy.protection(attribute, vote, budget), policy.domain[attribute], **chosen)


@pytest.fixture(scope="module")
def adult() -> bf.Policy:
    return bf.load_scenario("adult-age-hours-workclass").policy


def test_each_pair_of_ages_is_one_cell_with_the_librarys_number(adult):
    protection = adult.protection("age", VOTE, BUDGET)
    frame = charts.map_frame(protection, adult.domain["age"])
    assert len(frame) == 74 * 73 // 2
    for row in frame.sample(50, random_state=0).itertuples():
        a, b = (protection.values.index(int(name)) for name in (row.a, row.b))
        assert row.level == protection.success[a, b]
        assert row.shown == f"{100 * protection.success[a, b]:.1f} %"
        assert row.hops == f"{math.ceil((b - a) / 7)}"


def test_numbers_of_theory_by_hand(adult):
    """Two ages 7 apart get ρ by path; 17 and 90, at distance 0.2, get ρ (tanh(0.2/2τ)/q)², q for reach 0.2."""
    frame = map_of(adult, "age", measure="zcdp").set_index(["a", "b"])
    narrow = adult.with_rule("workclass", None)
    alone = map_of(narrow, "age", measure="zcdp").set_index(["a", "b"])
    assert frame.loc[("17", "90"), "level"] == pytest.approx(1e-3, rel=1e-12)
    q = math.tanh(0.2 * 7 / 73 / 0.06)
    assert alone.loc[("17", "24"), "level"] == pytest.approx(1e-3, rel=1e-12)
    assert alone.loc[("17", "90"), "level"] == pytest.approx(1e-3 * (math.tanh(0.2 / 0.06) / q) ** 2, rel=1e-12)


@pytest.mark.parametrize("measure", [*charts.MEASURES])
def test_measures_agree_with_the_library(adult, measure):
    protection = adult.protection("hours.per.week", VOTE, BUDGET)
    level = map_of(adult, "hours.per.week", measure=measure)["level"].to_numpy()
    expected = {"success": protection.success, "zcdp": protection.zcdp, "epsilon": protection.epsilon}[measure]
    assert level == pytest.approx(expected[np.triu_indices(len(expected), 1)], rel=1e-12)


@pytest.mark.parametrize("count", [99, 100, 1000, 1001, 2000])
def test_bins_are_few_and_each_says_its_worst_pair(count):
    policy = bf.Policy(bf.Domain([bf.Numeric("x", 0, count - 1)]), {"x": bf.Threshold(5)})
    protection = policy.protection("x", VOTE, BUDGET)
    width = charts.bin_width(count)
    frame = charts.map_frame(protection, policy.domain["x"], measure="zcdp")
    assert len(frame) <= 5000
    assert (width == 1) == (count <= 99)
    for row in frame.sample(30, random_state=1).itertuples():
        block = protection.zcdp[
            row.first * width : (row.first + 1) * width, row.second * width : (row.second + 1) * width
        ]
        assert row.level == block.max()
    assert frame["level"].max() == protection.zcdp.max()


def test_a_pair_without_a_path_has_no_promise_by_path_and_one_by_distance(adult):
    by_path = map_of(adult, "workclass", by="path").set_index(["a", "b"])
    apart, joined = ("Private", "State-gov"), ("Federal-gov", "State-gov")
    assert by_path.loc[apart, "shown"] == "no promise"
    assert by_path.loc[apart, "hops"] == "no path"
    assert by_path.loc[joined, "shown"] != "no promise"
    assert math.isfinite(map_of(adult, "workclass").set_index(["a", "b"]).loc[apart, "zcdp"])
    text = charts.protection_text(adult, "workclass", VOTE, BUDGET, by="path")
    assert "no path joins Private and" in text


def test_titles_name_the_finding(adult):
    narrow = adult.with_rule("workclass", None)
    text = charts.protection_text(narrow, "age", VOTE, BUDGET)
    q = math.tanh(0.2 * 7 / 73 / 0.06)
    worst = 100 * float(attacker_success(1e-3 * (math.tanh(0.2 / 0.06) / q) ** 2))
    assert text == f"age: at most 50.9 % across an edge; 17 and 90 are told apart best: {worst:.1f} %"
    assert charts.protection_text(narrow, "income", VOTE, BUDGET).startswith("income has no edges; ")
    assert charts.comparison_text(narrow, "age", VOTE, BUDGET).startswith("Up to 7 apart as good as plain DP")


def test_the_alternatives_are_plain_dp_at_the_same_budget_and_at_the_same_noise(adult):
    narrow = adult.with_rule("workclass", None)
    frame = charts.comparison_frame(narrow, "age", VOTE, BUDGET, "zcdp")
    q = bf.sensitivity_bound(narrow, VOTE).ratio
    assert set(frame.loc[frame.source == charts.SAME_RHO, "level"]) == {1e-3}
    assert frame.loc[frame.source == charts.SAME_NOISE, "level"].to_numpy() == pytest.approx(1e-3 / q**2, rel=1e-12)
    soft = frame[frame.source == charts.SOFT].set_index("steps")["level"]
    assert soft.index.tolist() == [*range(1, 74)]
    assert soft[7] == pytest.approx(1e-3, rel=1e-12)
    assert soft[8] > 1e-3


def test_a_policy_without_edges_adds_no_noise_and_says_so(adult):
    bare = bf.Policy(adult.domain, {})
    assert charts.comparison_text(bare, "age", VOTE, BUDGET) == "Without noise nothing is hidden"
    assert "no noise" in charts.protection_text(bare, "age", VOTE, BUDGET)


def test_many_distances_are_taken_together_under_the_largest():
    policy = bf.Policy(bf.Domain([bf.Numeric("x", 0, 1999)]), {"x": bf.Threshold(10)})
    frame = charts.comparison_frame(policy, "x", VOTE, BUDGET, "zcdp")
    soft = frame[frame.source == charts.SOFT]
    assert len(frame) <= 5000
    assert soft["distance"].iloc[-1] == "1,999"
    assert soft["level"].max() == policy.protection("x", VOTE, BUDGET).zcdp.max()
    assert soft["steps"].is_monotonic_increasing


def specification(chart) -> dict:
    return json.loads(chart.to_json())


@pytest.mark.parametrize("measure", [*charts.MEASURES])
@pytest.mark.parametrize(
    "rules",
    [{}, {"x": bf.Threshold(2), "c": bf.Complete()}, {"c": bf.Blocks([["a", "b"]]), "h": bf.Threshold(2)}],
    ids=["bare", "number and all labels", "labels"],
)
@pytest.mark.parametrize("participation", [False, True])
def test_every_kind_of_attribute_draws_under_every_policy(rules, measure, participation):
    domain = bf.Domain(
        [
            bf.Numeric("x", 0, 1, 0.1),
            bf.Categorical("c", ["a", "b", "c"]),
            bf.Hierarchical("h", {"up": ["p", "q"], "down": ["r"]}),
            bf.Categorical("one", ["only"]),
        ]
    )
    policy = bf.Policy(domain, rules, participation)
    for name in ("x", "c", "h"):
        case = (policy, name, VOTE, BUDGET, measure)
        for by in charts.ARGUMENTS:
            spec = specification(charts.protection_map(*case, by))
            drawn = next(iter(spec["datasets"].values()))
            assert len(drawn) == math.comb(len(domain[name].values), 2)
            shown = spec["title"]["text"]
            assert (" ".join(shown) if isinstance(shown, list) else shown) == charts.protection_text(*case, by)
        assert specification(charts.comparison_chart(*case))["title"]["text"]
    assert "one value only" in charts.protection_text(policy, "one", VOTE, BUDGET, measure)
    assert "one value only" in charts.comparison_text(policy, "one", VOTE, BUDGET, measure)


def test_the_frame_holds_text_where_hovering_shows_text(adult):
    frame = map_of(adult, "workclass")
    assert isinstance(frame, pd.DataFrame)
    assert all(isinstance(text, str) for column in ("a", "b", "hops", "shown", "path") for text in frame[column])


def colour_of(chart) -> dict:
    """The channel of a map's colours."""
    spec = chart.to_dict()
    return spec.get("encoding", spec.get("layer", [{}])[0].get("encoding"))["color"]


def legend_of(chart) -> dict:
    """The legend of a map's colours."""
    return colour_of(chart).get("legend") or {}


def detail_of(chart) -> str:
    """The lines below a chart's finding."""
    return " ".join(chart.to_dict()["title"]["subtitle"])


def test_a_legend_names_the_colour_of_no_promise_and_writes_no_label_over_another(adult):
    scattered = adult.with_rule("age", bf.Blocks([[17, 18], [40, 41]]))
    assert "dark red: no promise at all" in detail_of(
        charts.protection_map(scattered, "age", VOTE, BUDGET, "epsilon", "path")
    )
    chart = charts.protection_map(adult, "age", VOTE, BUDGET, "epsilon", "path")
    assert "dark red" not in detail_of(chart)
    values = legend_of(chart)["values"]
    assert all((b - a) / (values[-1] - values[0]) > 0.12 for a, b in itertools.pairwise(values))


# ------------------------------------------------------------------ colours and findings tell what can be read


PLACES = {"EU": {"DE": ["Berlin", "Munich"], "FR": ["Paris", "Lyon"]}, "US": {"CA": ["LA", "SF"], "NY": ["NYC"]}}


def places() -> bf.Policy:
    """A tree whose siblings are joined, so far apart for τ = 0.03 that a vote tells all pairs apart alike."""
    return bf.Policy(bf.Domain([bf.Hierarchical("place", PLACES)]), {"place": bf.Threshold(2)})


def shades(chart) -> tuple[pd.DataFrame, list[float], list[str]]:
    """The drawn cells of a map, and the bounds and colours of its scale."""
    spec = chart.to_dict()
    scale = colour_of(chart)["scale"]
    return pd.DataFrame(next(iter(spec["datasets"].values()))), scale["domain"], scale["range"]


@pytest.mark.parametrize("measure", [*charts.MEASURES])
@pytest.mark.parametrize("rho", [1e-12, 1e-9, 1e-6, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("tau", [1e-3, 0.03, 10.0])
def test_cells_of_the_same_number_have_the_same_colour(measure, rho, tau):
    age = bf.Policy(bf.Domain([bf.Numeric("age", 17, 90)]), {"age": bf.Threshold(7)})
    for policy, name in ((places(), "place"), (age, "age")):
        cells, bounds, colours = shades(
            charts.protection_map(policy, name, bf.SoftVote(tau), bf.Budget(rho=rho), measure)
        )
        assert (cells.groupby("shown")["level"].nunique() == 1).all()
        assert len(bounds) == len(colours)
        assert all(math.isfinite(a) and a < b for a, b in itertools.pairwise(bounds))
        assert cells["level"].between(bounds[0], bounds[-1]).all()


def test_a_difference_of_a_printed_digit_is_no_difference_of_hue():
    """ρ = 1e-5 lets 50.1 % be guessed right: beside 50.0 %, at most a fifth of the way to blue, or to orange."""
    age = bf.Policy(bf.Domain([bf.Numeric("age", 17, 90)]), {"age": bf.Threshold(7)})
    _, bounds, colours = shades(charts.protection_map(age, "age", bf.SoftVote(0.1), bf.Budget(rho=1e-5)))
    assert bounds == pytest.approx([0.5, 0.501, 0.506])
    assert int(colours[0][1:3], 16) > 0xA0, "pale: full blue is #2384D6"


def test_no_pair_is_named_that_is_told_apart_no_better_than_an_edge():
    case = (places(), "place", VOTE, BUDGET)
    assert charts.protection_text(*case) == "place: at most 50.9 % for any two values, joined or not"
    cells, bounds, _ = shades(charts.protection_map(*case))
    assert set(cells["shown"]) == {"50.9 %"}
    assert set(cells["level"]) == {bounds[-1]}, "all grey, and no orange on the scale"
    assert charts.comparison_text(*case) == "Every pair hidden as well as by plain DP, with all of its noise"
    whole = bf.Policy(places().domain, {"place": bf.Complete()})
    assert charts.protection_text(whole, *case[1:]) == "place: at most 50.9 % for any two values"


def test_of_pairs_told_apart_alike_none_is_best():
    domain = bf.Domain([bf.Categorical("c", ["a", "b", "d"]), bf.Numeric("x", 0, 9)])
    open_c = bf.Policy(domain, {"x": bf.Threshold(1)})
    text = charts.protection_text(open_c, "c", VOTE, BUDGET, "zcdp")
    assert text.startswith("c has no edges; any two values are told apart at most ")
    far = bf.Policy(bf.Domain([bf.Hierarchical("h", {"A": ["p", "q"], "B": ["r", "s"]})]), {"h": bf.Threshold(2)})
    assert "p and r are among those told apart best" in charts.protection_text(far, "h", bf.SoftVote(0.5), BUDGET)


# ------------------------------------------------------------------ weight 0, and no noise


def test_an_attribute_of_weight_0_is_not_looked_at_whatever_the_noise():
    """THEORY, "Records": weight 0 leaves every distance as it is: no vote, hard or soft, depends on the value."""
    domain = bf.Domain([bf.Numeric("age", 17, 90), bf.Numeric("x", 0, 9)], weights={"age": 0, "x": 1})
    for rules in ({"age": bf.Threshold(7)}, {"x": bf.Threshold(1)}, {"age": bf.Threshold(7), "x": bf.Threshold(1)}):
        case = (bf.Policy(domain, rules), "age", VOTE, BUDGET)
        assert "votes do not look at it, so nothing is learnt" in charts.protection_text(*case)
        assert "with or without noise" in charts.comparison_text(*case)
        frame = charts.comparison_frame(*case).set_index("source")
        assert set(frame.loc[charts.SOFT, "shown"]) == {"50.0 %"}
        assert set(frame.loc[charts.SAME_RHO, "shown"]) == {"50.9 %"}, "plain DP promises ρ, whatever the weight"


def test_where_paths_promise_nothing_weight_0_is_no_excuse():
    domain = bf.Domain([bf.Categorical("c", ["a", "b"]), bf.Numeric("x", 0, 9)], weights={"c": 0, "x": 1})
    policy = bf.Policy(domain, {"x": bf.Threshold(1)})
    assert "no path joins a and b" in charts.protection_text(policy, "c", VOTE, BUDGET, by="path")


def texts_of(chart) -> list[str]:
    """Everything that a chart's text marks say."""
    spec = chart.to_dict()
    said = [layer["mark"].get("text", []) for layer in spec.get("layer", [spec])]
    return [line for lines in said for line in lines]


def test_without_noise_the_charts_say_so_where_lines_would_be():
    bare = bf.Policy(bf.Domain([bf.Numeric("x", 0, 9), bf.Categorical("c", ["a", "b"])]), {})
    chart = charts.comparison_chart(bare, "x", VOTE, BUDGET)
    assert "BF-Soft promises nothing" in texts_of(chart)
    assert chart.to_dict()["layer"][0]["encoding"]["color"]["scale"]["domain"] == [charts.SAME_RHO]
    frame = charts.comparison_frame(bare, "c", VOTE, BUDGET).set_index("source")["shown"]
    assert (frame[charts.SOFT], frame[charts.SAME_NOISE], frame[charts.SAME_RHO]) == (
        "no promise",
        "no promise",
        "50.9 %",
    )
    assert not legend_of(charts.protection_map(bare, "x", VOTE, BUDGET))
    assert "any two values can be told apart" in charts.protection_text(bare, "x", VOTE, BUDGET)


def test_a_single_value_gets_words_instead_of_axes():
    one = bf.Policy(bf.Domain([bf.Categorical("one", ["only"])]), {})
    for draw in (charts.protection_map, charts.comparison_chart):
        assert texts_of(draw(one, "one", VOTE, BUDGET))[0].startswith("one value")


# ------------------------------------------------------------------ what stands on the axes


def axis_of(chart, channel: str) -> dict:
    spec = chart.to_dict()
    return spec.get("encoding", spec.get("layer", [{}])[0].get("encoding"))[channel]["axis"]


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [(-8e307, 8e307, 1e306), (-1e-5, 1e-5, 1e-6), (10**9, 14 * 10**8, 10**7), (10**9, 10**9 + 300, 1), (0, 3, 1)],
)
def test_numbers_of_any_size_are_short_on_the_axes_and_in_words(low, high, step):
    numeric = bf.Numeric("x", low, high, step)
    policy = bf.Policy(bf.Domain([numeric]), {"x": bf.Threshold(3 * step)})
    case = (policy, "x", VOTE, BUDGET)
    for chart in (charts.protection_map(*case), charts.comparison_chart(*case)):
        for channel in ("x", "y"):
            axis = axis_of(chart, channel)
            assert all(math.isfinite(place) for place in axis["values"])
            said = [text for text in axis["labelExpr"].split('"')[1::2]]
            assert len(said) == len(set(said)) == len(axis["values"]) >= 3
            assert all(len(text) <= 13 for text in said), said
            assert not {"0.0", "NaN"} & set(said)
        cells = pd.DataFrame(next(iter(chart.to_dict()["datasets"].values())))
        assert np.isfinite(cells.select_dtypes("number").drop(columns="level").to_numpy()).all()
    assert len(charts.protection_text(*case)) < 120
    assert len(charts.comparison_text(*case)) < 100


def test_names_too_long_for_an_axis_stay_apart():
    names = [f"a very long category name number {at} which goes on and on and on" for at in range(30)]
    policy = bf.Policy(bf.Domain([bf.Categorical("a very long name of an attribute indeed so", names)]), {})
    name = policy.domain.names[0]
    chart = charts.protection_map(policy, name, VOTE, BUDGET)
    for channel in ("x", "y"):
        axis = axis_of(chart, channel)
        said = json.loads(axis["labelExpr"].removesuffix("[datum.value]"))
        assert len(set(said)) == 30
        assert max(map(len, said)) <= 20
        assert axis["labelOverlap"] is True
    assert len(charts.protection_text(policy, name, VOTE, BUDGET)) < 150


def test_a_chart_on_a_phone_holds_its_words(adult):
    """320 pixels: about 44 letters of a title, and a legend that is not within the plot."""
    for name in ("age", "workclass"):
        case = (adult, name, VOTE, BUDGET)
        charts_drawn = charts.protection_map(*case), charts.comparison_chart(*case)
        for chart in charts_drawn:
            heading = chart.to_dict()["title"]
            lines = heading["text"] if isinstance(heading["text"], list) else [heading["text"]]
            assert max(map(len, lines)) <= 44
            assert max(map(len, heading["subtitle"])) <= 52
        legend = legend_of(charts_drawn[0])
        assert legend["orient"] in ("top", "bottom")
        assert legend["gradientLength"] <= 250


def test_more_lines_of_title_do_not_shrink_the_matrix():
    long = bf.Policy(bf.Domain([bf.Numeric("x" * 28, 0, 40), bf.Numeric("x", 0, 40)]), {})
    tall, plain = (charts.protection_map(long, name, VOTE, BUDGET).to_dict() for name in long.domain.names)
    assert len(tall["title"]["text"]) > len(plain["title"]["text"])
    assert tall["height"] > plain["height"]
    labelled = bf.Policy(bf.Domain([bf.Categorical("c", ["<=50K", ">50K"])]), {"c": bf.Complete()})
    chart = charts.protection_map(labelled, "c", VOTE, BUDGET)
    assert "step" in chart.to_dict()["height"], "rows keep their height"
    assert axis_of(chart, "x")["labelAngle"] == 0


def test_a_last_bin_of_one_value_is_no_pair():
    policy = bf.Policy(bf.Domain([bf.Numeric("x", 0, 160)]), {"x": bf.Threshold(5)})
    frame = map_of(policy, "x")
    last = frame["second"].max()
    assert last == 80
    assert not ((frame["first"] == last) & (frame["second"] == last)).any()
    assert (frame["first"] == frame["second"]).sum() == 80
