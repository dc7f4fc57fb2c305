"""The canvas in its two homes: a Streamlit page, and a notebook model; what is drawn is what Python has."""

from __future__ import annotations

import pytest
import traitlets
from playwright.sync_api import Page, expect

import bfsoft as bf
from bfsoft_explorer import PolicyCanvas
from bfsoft_explorer.canvas import SCRIPT
from bfsoft_explorer.canvas._contract import canvas_data, committed_policy

PAGE = """
import streamlit as st
import bfsoft as bf
from bfsoft_explorer.canvas.streamlit_canvas import policy_canvas

st.set_page_config(layout="wide")
domain = bf.Domain([bf.Numeric("age", 17, 90), bf.Categorical("income", ["<=50K", ">50K"])])
state = st.session_state
state.setdefault("policy", bf.Policy(domain, {"age": bf.Threshold(7)}))
state.setdefault("tau", 0.03)
state["runs"] = state.get("runs", 0) + 1

def take(result):
    state.policy, state.tau = result.policy, result.tau

if st.button("Load another"):
    state.policy = bf.Policy(domain, {"age": bf.Blocks([[30, 31, 32]])})
attribute = st.radio("Attribute", domain.names)
by_callback = st.toggle("By callback")
on_change = take if by_callback else None
result = policy_canvas(
    state.policy, attribute, tau=state.tau, budget=bf.Budget(rho=1e-3), key="canvas", on_change=on_change
)
if result.changed:
    take(result)
st.text(f"reach={state.policy.reach!r} tau={state.tau!r} rules={state.policy.rules!r}")
st.text(f"run {state['runs']}")
"""


@pytest.fixture(scope="module")
def canvas_app(tmp_path_factory: pytest.TempPathFactory, serve):
    folder = tmp_path_factory.mktemp("canvas_app")
    script = folder / "app.py"
    script.write_text(PAGE, encoding="utf-8")
    with serve(script, folder) as url:
        yield url


def python_says(page: Page, text: str) -> None:
    expect(page.get_by_text("reach=")).to_contain_text(text)


def drag(page: Page, a: object, b: object) -> None:
    ends = [page.locator(f'[data-value="{label}"]').bounding_box() for label in (a, b)]
    start, end = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in ends]
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=8)


def reach(page: Page) -> float:
    return float(page.locator("[data-readout=reach]").get_attribute("data-raw"))


@pytest.mark.parametrize("by_callback", [False, True], ids=["by result", "by callback"])
def test_an_edit_reaches_python_on_release_in_one_rerun(page, canvas_app, by_callback):
    page.goto(canvas_app)
    python_says(page, "rules={'age': Threshold(theta=7)}")
    if by_callback:
        page.get_by_text("By callback").click()
        expect(page.get_by_text("run 2")).to_be_visible()
    expect(page.locator('[data-value="60"]')).to_be_visible()
    drag(page, 30, 60)
    assert reach(page) == pytest.approx(0.5 * 30 / 73, abs=1e-12)
    python_says(page, "Threshold(theta=7)")
    page.mouse.up()
    python_says(page, f"reach={0.5 * 30 / 73!r}"[:18])
    python_says(page, "rules={'age': Edges(")
    expect(page.get_by_text("run 3" if by_callback else "run 2")).to_be_visible()
    assert reach(page) == pytest.approx(0.5 * 30 / 73, abs=1e-12)


def test_a_policy_loaded_from_elsewhere_is_not_undone_by_an_old_edit(page, canvas_app):
    page.goto(canvas_app)
    page.locator("input[name=theta]").fill("12")
    python_says(page, "Threshold(theta=12)")
    page.get_by_role("button", name="Load another").click()
    python_says(page, "Blocks(")
    expect(page.locator("[data-mode=blocks]")).to_have_attribute("aria-pressed", "true")
    page.locator("input[name=tau]").fill("0.06")
    python_says(page, "tau=0.06 rules={'age': Blocks(")


def test_another_attribute_keeps_the_first_ones_rule(page, canvas_app):
    page.goto(canvas_app)
    page.locator("input[name=theta]").fill("9")
    python_says(page, "Threshold(theta=9)")
    page.get_by_text("income", exact=True).click()
    expect(page.locator('[data-value=">50K"]')).to_be_visible()
    page.locator("[data-mode=complete]").click()
    python_says(page, "rules={'age': Threshold(theta=9), 'income': Complete()}")


def test_steps_can_be_undone_after_a_look_at_another_attribute(page, canvas_app):
    page.goto(canvas_app)
    page.locator("input[name=theta]").fill("9")
    python_says(page, "Threshold(theta=9)")
    page.locator("input[name=theta]").fill("12")
    python_says(page, "Threshold(theta=12)")
    page.get_by_text("income", exact=True).click()
    expect(page.locator('[data-value=">50K"]')).to_be_visible()
    expect(page.locator("[data-action=undo]")).to_be_disabled()
    page.get_by_text("age", exact=True).first.click()
    expect(page.locator('[data-value="17"]')).to_be_visible()
    page.locator("[data-action=undo]").click()
    python_says(page, "Threshold(theta=9)")


def test_a_change_from_elsewhere_is_a_step_that_can_be_undone(page, canvas_app):
    page.goto(canvas_app)
    page.locator("input[name=theta]").fill("12")
    python_says(page, "Threshold(theta=12)")
    page.get_by_role("button", name="Load another").click()
    python_says(page, "Blocks(")
    page.locator("[data-action=undo]").click()
    python_says(page, "Threshold(theta=12)")


# --- notebooks ---------------------------------------------------------------------------------------------------

DOMAIN = bf.Domain(
    [
        bf.Numeric("age", 17, 90),
        bf.Numeric("share", 0, 1, 0.1),
        bf.Hierarchical("job", {"office": ["admin.", "management"], "manual": [{"care": ["nurse"]}], "none": None}),
    ]
)
MODEL = """(data) => {
    const state = { data };
    const listeners = {};
    window.model = {
        get: (name) => state[name],
        set: (name, value) => { state[name] = value; },
        save_changes: () => { window.saved = { ...state }; },
        on: (event, run) => { listeners[event] = run; },
        off: (event) => { delete listeners[event]; },
    };
    window.tell = (data) => { state.data = data; listeners['change:data'](); };
    window.listening = () => Object.keys(listeners).length;
    window.unmount = canvas.default().render({ model, el: document.getElementById('home') });
}"""


def test_the_module_works_as_an_anywidget(mount, page):
    page.evaluate(MODEL, canvas_data(bf.Policy(DOMAIN, {}), "age", tau=0.03, chooser=DOMAIN.names))
    page.locator("input[name=theta]").fill("5")
    committed = page.evaluate("saved.committed")
    assert committed["rule"] == {"threshold": 5}
    policy = committed_policy(bf.Policy(DOMAIN, {}), committed)
    assert policy.rules == {"age": bf.Threshold(5)}
    page.locator("select[name=attribute]").select_option("job")
    assert page.evaluate("saved.attribute") == "job"
    page.evaluate("data => { tell(data) }", canvas_data(policy, "job", tau=0.03, revision=1, chooser=DOMAIN.names))
    expect(page.locator('[data-value="nurse"]')).to_be_visible()
    page.evaluate("unmount()")
    assert page.locator(".bf").count() == 0
    assert page.evaluate("listening()") == 0


def committed(attribute: str, rule: dict | None, tau: float = 0.03, revision: int = 1, weights: dict | None = None):
    return {
        "attribute": attribute,
        "rule": rule,
        "tau": tau,
        "weights": weights or DOMAIN.weights,
        "revision": revision,
    }


@pytest.mark.parametrize(
    ("attribute", "rule"),
    [
        ("age", bf.Threshold(7)),
        ("age", bf.Threshold(2.5)),
        ("share", bf.Threshold(0.3)),
        ("job", bf.Complete()),
        ("job", bf.Blocks([["admin.", "nurse"], ["none"]])),
        ("share", bf.Edges([(0.1, 0.3), (0.9, 0)])),
    ],
)
def test_a_rule_survives_the_way_to_the_canvas_and_back(attribute, rule):
    policy = bf.Policy(DOMAIN, {attribute: rule, "age": bf.Threshold(7)} if attribute != "age" else {attribute: rule})
    sent = canvas_data(policy, attribute, tau=0.03)
    back = committed_policy(policy, committed(attribute, sent["rule"]))
    assert back.edges(attribute).tolist() == policy.edges(attribute).tolist()
    assert type(back.rules[attribute]) is type(rule)
    assert back.domain == policy.domain


def test_an_infinite_threshold_is_drawn_as_the_whole_range():
    policy = bf.Policy(DOMAIN, {"age": bf.Threshold(float("inf"))})
    assert canvas_data(policy, "age", tau=0.03)["rule"] == {"threshold": 73}


def test_weights_that_did_not_change_stay_exact():
    policy = bf.Policy(DOMAIN, {"age": bf.Threshold(7)})
    same = committed_policy(policy, committed("age", {"threshold": 7}, weights={n: 1 / 3 for n in DOMAIN.names}))
    assert same is policy
    moved = committed_policy(
        policy, committed("age", {"threshold": 7}, weights={"age": 0.5, "share": 0.25, "job": 0.25})
    )
    assert moved.domain.weights == {"age": 0.5, "share": 0.25, "job": 0.25}


@pytest.mark.parametrize(
    "rule", [{"edges": [[0, 74]]}, {"edges": [[-1, 3]]}, {"blocks": [[0, 1.5]]}, {"blocks": [[0, True]]}, {"weird": 1}]
)
def test_nonsense_from_the_browser_is_refused(rule):
    with pytest.raises(bf.BFSoftError, match="age"):
        committed_policy(bf.Policy(DOMAIN, {}), committed("age", rule))


def test_the_widget_has_what_was_drawn():
    canvas = PolicyCanvas(bf.Policy(DOMAIN, {"age": bf.Threshold(7)}), tau=0.05, budget=bf.Budget(rho=1e-3))
    assert (canvas.attribute, canvas.tau, canvas.data["rule"]) == ("age", 0.05, {"threshold": 7})
    pictures = []
    canvas.observe(lambda change: pictures.append(change["new"]), "data")
    canvas.committed = committed("age", {"edges": [[0, 10]]}, tau=0.06)
    assert canvas.policy.rules == {"age": bf.Edges([(17, 27)])}
    assert canvas.tau == 0.06
    assert [(picture["rule"], picture["tau"], picture["revision"]) for picture in pictures] == [
        ({"edges": [[0, 10]]}, 0.06, 1)
    ]
    canvas.attribute = "job"
    assert canvas.data["attribute"]["tree"]["children"][0] == {"name": "office", "children": ["admin.", "management"]}
    canvas.policy = canvas.policy.with_rule("job", bf.Threshold(2))
    assert canvas.data["rule"] == {"threshold": 2}


def test_the_widget_refuses_what_cannot_be():
    policy = bf.Policy(DOMAIN, {})
    with pytest.raises(bf.BFSoftError, match="'wage'"):
        PolicyCanvas(policy, attribute="wage")
    with pytest.raises(traitlets.TraitError, match="above 0"):
        PolicyCanvas(policy, tau=0)


def test_the_module_needs_no_other_script():
    lines = SCRIPT.read_text(encoding="utf-8").splitlines()
    assert len(lines) > 100
    assert [line for line in lines if line.startswith("import ") or "import(" in line] == []
