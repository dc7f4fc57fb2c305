"""Scenarios: what goes in comes back, and what does not fit is named with its key and line."""

import dataclasses
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bfsoft as bf
from bfsoft.errors import ScenarioError

HEAD = """\
title: A test
domain:
  age: {numeric: [17, 90]}
  job:
    tree:
      office: [admin., management]
      manual: [blue-collar]
  y: {categories: [no, yes, on, "1"]}
policy:
  age:
    threshold: 7
  y:
    blocks:
      - [no, yes]
      - [on]
"""


@pytest.fixture
def policy():
    domain = bf.Domain([bf.Numeric("age", 17, 90), bf.Categorical("income", ["<=50K", ">50K"])])
    return bf.Policy(domain, {"age": bf.Threshold(7)})


# ------------------------------------------------------------------ what goes in comes back

# Words that one YAML reader or another takes for something else, and texts that break naive quoting.
ODD = """no y Yes on ~ null 1e-3 1_000 007 0x1F 1:30 2024-05-01 ? <=50K >50K # {x} [ ' " é 😀 !x &a *a % @ ` = << .inf
.nan True count - : | > --- ..."""
SPACED = [
    "",
    " ",
    " a ",
    "- a",
    "a: b",
    "a #b",
    "\n",
    "a\nb",
    "\t",
    "\r",
    "\x85",
    "\u2028",
    "\ufeff",
    "\x00",
    "a b " * 60,
    "a" * 200,
]
odd_text = st.sampled_from([*ODD.split(), *SPACED]) | st.text(max_size=8)
labels = st.lists(
    odd_text | st.integers() | st.floats(allow_nan=False) | st.booleans(), min_size=1, max_size=6, unique_by=str
).filter(lambda values: len(set(values)) == len(values))


@st.composite
def attributes(draw, name):
    kind = draw(st.sampled_from(["numeric", "categories", "tree"]))
    if kind == "numeric":
        step = draw(st.sampled_from([1, 2, 0.1, 0.5, 1 / 3]))
        low = draw(st.integers(-50, 50))
        return bf.Numeric(name, low, low + step * draw(st.integers(0, 1)), step)
    values = draw(labels)
    if kind == "categories":
        return bf.Categorical(name, values)
    cut = draw(st.integers(0, len(values) - 1))
    group, other = draw(odd_text), draw(odd_text)
    tree = {group: values[cut:]} | ({group + other + "x": {"deep": values[:cut]}} if cut else {})
    return bf.Hierarchical(name, tree)


@st.composite
def rules(draw, attribute):
    values = list(attribute.values)
    kind = draw(st.sampled_from(["threshold", "blocks", "complete", "edges"]))
    if kind == "threshold":
        return bf.Threshold(draw(st.sampled_from([0, 1, 2.5, 7, float("inf")])))
    if kind == "blocks":
        cut = draw(st.integers(0, len(values)))
        return bf.Blocks([values[:cut], values[cut:]])
    if kind == "edges":
        pairs = st.tuples(st.sampled_from(values), st.sampled_from(values)).filter(lambda pair: pair[0] != pair[1])
        return bf.Edges(draw(st.lists(pairs, max_size=3)) if len(values) > 1 else [])
    return bf.Complete()


@st.composite
def scenarios(draw):
    names = draw(st.lists(odd_text.filter(str.strip), min_size=1, max_size=3, unique=True))
    parts = [draw(attributes(name)) for name in names]
    weights = draw(
        st.none() | st.lists(st.floats(1e-6, 1e6), min_size=len(names), max_size=len(names)).map(
            lambda drawn: dict(zip(names, drawn, strict=True))
        )
    )  # fmt: skip
    domain = bf.Domain(parts, weights)
    protected = {part.name: draw(rules(part)) for part in parts if draw(st.booleans())}
    rounds = draw(st.integers(1, 9))
    budget = draw(st.sampled_from([{}, {"rho": 1e-5}, {"epsilon": 0.3}]))
    return bf.Scenario.of(
        bf.Policy(domain, protected, participation=draw(st.booleans())),
        title=draw(odd_text), data=draw(st.none() | odd_text), tau=draw(st.floats(1e-9, 1e9)), rounds=rounds,
        method=draw(st.sampled_from(["BF-Soft", "Hard", "Tab-PE"])), seed=draw(st.integers(0, 2**70)),
        shares=draw(st.none() | st.lists(st.floats(1e-6, 1), min_size=rounds, max_size=rounds).map(tuple)),
        threshold=draw(st.floats(0, 100)), size=draw(st.integers(1, 10**6)), delta=draw(st.floats(1e-300, 0.5)),
        resampling=draw(st.sampled_from(["systematic", "multinomial"])),
        mutation=draw(st.sampled_from(["uniform", "near"])), **budget,
    )  # fmt: skip


def exactly(scenario):
    """Everything that tells scenarios apart, types of labels and order of values included: 1, 1.0 and True differ."""
    domain = scenario.domain
    values = [(part.name, part.kind, [(type(value), value) for value in part.values]) for part in domain.attributes]
    codes = {name: scenario.policy.edges(name).tolist() for name in domain.names}
    fields = {name: getattr(scenario, name) for name in type(scenario).model_fields if name != "policy"}
    return values, domain.exact_weights, codes, scenario.participation, repr(sorted(fields.items()))


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(scenarios())
def test_yaml_gives_back_what_it_was_given(scenario):
    again = bf.Scenario.loads(scenario.dumps())
    assert again == scenario
    assert hash(again) == hash(scenario)
    assert exactly(again) == exactly(scenario)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(scenarios())
def test_other_yaml_readers_see_the_same_text(scenario):
    """What we write means the same to a YAML 1.1 reader, wherever labels are text."""
    plain = yaml.safe_load(scenario.dumps())
    for name, spec in scenario.plain()["domain"].items():
        if "categories" in spec:
            assert plain["domain"][name]["categories"] == spec["categories"]


def test_a_file_gives_back_what_it_was_given(policy, tmp_path):
    scenario = bf.Scenario.of(policy, title="é ✓", data=tmp_path / "x.csv")
    scenario.save(tmp_path / "s.yaml")
    assert bf.Scenario.load(tmp_path / "s.yaml") == scenario
    assert os.listdir(tmp_path) == ["s.yaml"]


def test_it_pickles(policy):
    scenario = bf.Scenario.of(policy)
    assert pickle.loads(pickle.dumps(scenario)) == scenario


def test_plain_is_json(policy):
    import json

    scenario = bf.Scenario.of(policy, epsilon=0.2, rounds=2, shares=[1, 3])
    assert bf.Scenario.of_plain(json.loads(json.dumps(scenario.plain()))) == scenario


# ------------------------------------------------------------------ reading as people mean it


def test_words_that_yaml_1_1_would_change_stay_text():
    scenario = bf.Scenario.loads(HEAD)
    assert scenario.domain["y"].values == ("no", "yes", "on", "1")
    assert scenario.policy.rules["y"] == bf.Blocks([["no", "yes"], ["on"]])


@pytest.mark.parametrize(("written", "number"), [("1e-3", 0.001), ("1.0e-3", 0.001), (".5", 0.5), ("2", 2.0)])
def test_numbers_are_numbers(written, number):
    assert bf.Scenario.loads(HEAD + f"tau: {written}\n").tau == number


def test_defaults():
    scenario = bf.Scenario.loads(HEAD)
    assert (scenario.tau, scenario.rho, scenario.delta, scenario.size, scenario.rounds, scenario.seed) == (
        0.03, 1e-3, 1e-5, 512, 8, 0,
    )  # fmt: skip
    assert scenario.method == "BF-Soft"
    assert scenario.domain.weights == dict.fromkeys(("age", "job", "y"), 1 / 3)


def test_weights_are_read_and_normalised():
    text = (
        HEAD.replace("[17, 90]}", "[17, 90], weight: 2}")
        .replace('"1"]}', '"1"], weight: 1}')
        .replace("  job:\n", "  job:\n    weight: 1\n")
    )
    assert bf.Scenario.loads(text).domain.weights == {"age": 0.5, "job": 0.25, "y": 0.25}


# ------------------------------------------------------------------ every error names its key and line


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "says"),
    [
        ("threshold: 7", "threshold: -7", 11, "policy.age.threshold", "negative"),
        ("threshold: 7", "threshold: true", 11, "policy.age.threshold", "must be a number"),
        ("threshold: 7", "thresh: 7", 11, "policy.age.thresh", "no rule"),
        ("    threshold: 7", "    7", 10, "policy.age", "must be one rule"),
        ("- [on]", "- [off]", 15, "policy.y.blocks[1][0]", "no value 'off'"),
        ("- [on]", "- on", 15, "policy.y.blocks[1]", "list of values"),
        ("- [on]", "- [on, no]", 13, "policy.y.blocks", "must not overlap"),
        ("    blocks:\n      - [no, yes]", "    edges:\n      - [no, no]", 15, "policy.y.edges[1]", "pair [a, b]"),
        ("policy:\n  age:", "policy:\n  aeg:", 10, "policy.aeg", "did you mean 'age'"),
        ("[17, 90]", "[90, 17]", 3, "domain.age.numeric", "swap"),
        ("[17, 90]", "[17]", 3, "domain.age.numeric", "[low, high]"),
        ("[17, 90]", "[17, 90], step: 0", 3, "domain.age.step", "above 0"),
        ("[17, 90]", "[17, 90], step: 2", 3, "domain.age.numeric", "whole steps"),
        ("[17, 90]", "[17, 90], weight: -1", 3, "domain.age.weight", "0 or more"),
        ("[17, 90]", "[17, 90], weight: 1", 2, "domain", "no weight for"),
        ("[17, 90]", "[17, 90], stepp: 1", 3, "domain.age.stepp", "not understood"),
        ("[17, 90]", "[17, 90], categories: [a]", 3, "domain.age", "two kinds"),
        ("{numeric: [17, 90]}", "17", 3, "domain.age", "needs its values"),
        ("on, \"1\"]", "no]", 8, "domain.y.categories", "twice"),
        ("categories: [no", "categories: [null", 8, "domain.y.categories", "empty"),
        ("manual: [blue-collar]", "manual: blue-collar", 5, "domain.job.tree", "list of leaves"),
        ("  y: {", "  true: {", 8, "domain.True", "quotes"),
        ("title: A test", "title: 5", 1, "title", "text"),
        ("title: A test", "titel: A test", 1, "titel", "did you mean 'title'"),
        ("title: A test", "domain: {}", 2, "'domain'", "line 1"),
        ("title: A test", "tau: 0", 1, "tau", "greater than 0"),
        ("title: A test", "tau: .nan", 1, "tau", "finite"),
        ("title: A test", "rho: -1", 1, "rho", "greater than 0"),
        ("title: A test", "delta: 1", 1, "delta", "less than 1"),
        ("title: A test", "size: 10.5", 1, "size", "whole number"),
        ("title: A test", "size: true", 1, "size", "whole number"),
        ("title: A test", "rounds: 0", 1, "rounds", "greater than or equal to 1"),
        ("title: A test", "method: Soft", 1, "method", "'BF-Soft', 'Hard' or 'Tab-PE'"),
        ("title: A test", "shares: [1, 2]", 1, "shares", "8 rounds"),
        ("title: A test", "shares: [1, 1, 1, 1, 1, 1, 1, 0]", 1, "shares[7]", "above 0"),
        ("title: A test", "rounds: 2\nshares: [1.0e+308, 1.0e+308]", 2, "shares", "shares"),
        ("title: A test", "rounds: 2\nshares: [1.0e-320, 1.0e+300]", 2, "shares", "round"),
        ("title: A test", "rho: 1.0e+300", 1, "rho", "too large"),
        ("title: A test", "epsilon: 1.0e-300", 1, "epsilon", "too small"),
        ("title: A test", "delta: 1.0e-310", 1, "delta", "at least"),
        ("title: A test", "participation: yes", 1, "participation", "true or false"),
        ("title: A test", "rho: 1\nepsilon: 1", 2, "epsilon", "keep one"),
        ("title: A test", "title: &a x", 1, "", "anchors"),
        ("title: A test", "title: !!python/object/apply:os.getcwd []", 1, "", "tag"),
        ("title: A test", "title: [", 3, "", "not valid YAML"),
        ("title: A test", "title: \x01", 1, "", "U+0001"),
    ],
)  # fmt: skip
def test_an_error_names_key_and_line(old, new, line, key, says):
    assert old in HEAD
    with pytest.raises(ScenarioError) as caught:
        bf.Scenario.loads(HEAD.replace(old, new, 1))
    text = str(caught.value)
    assert text.startswith(f"line {line}")
    assert key in text
    assert says in text
    assert "\n" not in text


@pytest.mark.parametrize("text", ["", "- a", "5", "a: b: c", "domain: {}\npolicy: {}", "a: x\n---\nb: y", "[" * 9_999])
def test_what_is_no_scenario_is_refused(text):
    with pytest.raises(ScenarioError):
        bf.Scenario.loads(text)


def test_a_file_error_names_the_file(tmp_path):
    with pytest.raises(ScenarioError, match=r"nowhere\.yaml: cannot be read"):
        bf.Scenario.load(tmp_path / "nowhere.yaml")
    (tmp_path / "bad.yaml").write_text(HEAD + "tau: -1\n")
    with pytest.raises(ScenarioError, match=r"bad\.yaml: line 16, tau: "):
        bf.Scenario.load(tmp_path / "bad.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioError, match="UTF-8"):
        bf.Scenario.load(tmp_path / "binary.yaml")


def test_a_value_that_no_file_can_hold_is_refused_at_once():
    domain = bf.Domain([bf.Categorical("pair", [(1, 2), (3, 4)])])
    with pytest.raises(ScenarioError, match=r"domain\.pair.*\(1, 2\)"):
        bf.Scenario.of(bf.Policy(domain, {}))


# ------------------------------------------------------------------ replacing


def test_it_is_frozen(policy):
    scenario = bf.Scenario.of(policy)
    with pytest.raises(ValueError, match="frozen"):
        scenario.tau = 1.0
    assert dataclasses.is_dataclass(scenario.policy.rules["age"])


def test_replace_checks_and_leaves_the_first_alone(policy):
    scenario = bf.Scenario.of(policy)
    assert scenario.replace(tau=np.float64(0.1)).tau == 0.1
    assert scenario.replace(size=np.int64(9)).size == 9
    assert scenario.tau == 0.03
    with pytest.raises(ScenarioError, match="tau: must be greater than 0, got -1"):
        scenario.replace(tau=-1)
    with pytest.raises(ScenarioError, match="did you mean 'tau'"):
        scenario.replace(tua=1)


def test_replace_swaps_rho_and_epsilon(policy):
    scenario = bf.Scenario.of(policy, rho=0.01).replace(epsilon=0.5)
    assert (scenario.rho, scenario.epsilon) == (None, 0.5)
    back = scenario.replace(rho=0.02)
    assert (back.rho, back.epsilon) == (0.02, None)


def test_replace_takes_policies_and_domains(policy):
    scenario = bf.Scenario.of(policy)
    wider = scenario.replace(policy=policy.with_rule("income", bf.Complete()))
    assert wider.policy.reach == 0.5
    assert scenario.replace(participation=True).policy.participation
    assert scenario.replace(participation=True).replace(policy={"income": "complete"}).participation
    fewer = wider.replace(domain=bf.Domain([bf.Numeric("age", 0, 100), bf.Numeric("hours", 1, 99)]))
    assert fewer.policy.rules == {"age": bf.Threshold(7)}
    assert fewer.domain["age"].high == 100
    other = bf.Policy(fewer.domain, {"hours": bf.Threshold(8)}, participation=True)
    both = scenario.replace(policy=other)
    assert both.domain == fewer.domain
    assert both.participation


def test_a_new_domain_that_the_rules_do_not_fit_is_refused(policy):
    blocked = bf.Scenario.of(policy.with_rule("income", bf.Blocks([["<=50K", ">50K"]])))
    with pytest.raises(ScenarioError, match=r"policy\.income"):
        blocked.replace(domain=bf.Domain([bf.Categorical("income", ["low", "high"])]))


def test_importing_bfsoft_is_light():
    heavy = "pydantic", "yaml", "numba", "streamlit", "ucimlrepo"
    code = f"import sys, bfsoft; print([name for name in {heavy!r} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
