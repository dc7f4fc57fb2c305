"""Boundaries: where does the vote jump?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from bfsoft import SoftVote, sensitivity_bound
from bfsoft import crossings as count_crossings
from bfsoft.crossings import (
    Walk,
    attaining_candidates,
    copies,
    edge_changes,
    plane,
    regions,
    sensitivity_curve,
    walk,
    without_cell,
)
from bfsoft.errors import BFSoftError
from bfsoft.sensitivity import SQRT2, shift_ratio
from bfsoft.synthesis import random_candidates
from bfsoft_explorer import state, words
from bfsoft_explorer.background import Answer
from bfsoft_explorer.charts import boundaries as charts
from bfsoft_explorer.drawing import number_field, show_chart
from bfsoft_explorer.plane._contract import PlaneEdit
from bfsoft_explorer.plane.streamlit_plane import boundary_plane

VIEW, VIEWS, ANSWERS = "boundaries:view", "boundaries:views", "boundaries:answers"
# Sets of drawn candidates, and domains, that a session remembers; a user goes back to the last few.
MOST_REMEMBERED = 12
# The most options that a slider of listed values can bear; longer attributes take a typed number or a search box.
LISTED = 400
# The exact curve starts by itself where a search per τ is a matter of seconds.
QUICK_SEARCH = 2_000_000_000
TAUS = np.geomspace(1e-3, 1.0, 13)
SOURCES = {"random": "Random", "drawn": "Drawn", "synthesis": "Last run"}
SECTIONS = ["The walk", "Every edge", "Exact against the bound", "The candidates"]

scenario = state.scenario()
domain, policy, tau = scenario.domain, scenario.policy, scenario.tau
names = list(domain.names)


def fresh_view() -> dict[str, Any]:
    """Where the page starts on a domain: protected attributes on the axes, else fine ones, and middling values."""
    long = [name for name in names if len(domain[name].values) > 1]
    across = next((name for name in long if policy.edge_count(name)), names[0])
    others = [name for name in names if name != across]
    down = max(
        others, key=lambda name: (policy.edge_count(name) > 0, _legible(len(domain[name].values))), default=across
    )
    record = [len(a.values) // 2 if a.kind == "numeric" else 0 for a in domain.attributes]
    return {
        "attributes": domain.attributes, "across": across, "down": down, "record": np.array(record, dtype=np.int64),
        "source": "random", "many": 100, "seed": scenario.seed, "drawn": None, "drawn_before": [], "method": None,
        "round": 1, "vote": "hard", "moved": 0, "made": 0, "ends": 0, "section": SECTIONS[0], "along": across,
        "to": None, "to_from": None,
    }  # fmt: skip


def _legible(values: int) -> int:
    return values if values <= LISTED else 1


def view_of_domain() -> dict[str, Any]:
    """The page's view, another one for each domain; that of an earlier domain is as it was left."""
    present = st.session_state.get(VIEW)
    if present is not None and present["attributes"] == domain.attributes:
        return present
    left: dict[Any, dict[str, Any]] = st.session_state.setdefault(VIEWS, {})
    found = left.pop(domain.attributes, None) or fresh_view()
    if present is not None:
        left[present["attributes"]] = present
        while len(left) > MOST_REMEMBERED:
            del left[next(iter(left))]
        # Counted on, not from 0: a control of the domain before must not answer for one of this domain.
        found["moved"] = present["moved"] + 1
    st.session_state[VIEW] = found
    return found


view: dict[str, Any] = view_of_domain()
state.shown()["boundaries"] = view  # it is changed in place, also by parts of the page that are redrawn alone


def key_of(name: str) -> str:
    """A widget's key, a new one each time that the plane or a button changed the view.

    A browser that still shows the old value would send it back with the next gesture, and so undo the change.
    """
    view["made"] = view["moved"]
    return f"boundaries:{name}:{view['moved']}"


def unless_gone(then: Callable[..., None]) -> Callable[..., None]:
    """A callback of a widget made now, which does nothing once others stand in its place.

    A browser tells of the widgets that it still has, also where the plane has changed the view since they were made.
    """
    own, made = view, view["moved"]

    def told(*given: Any) -> None:
        if own["made"] == made:
            then(*given)

    return told


def kept(widget: Callable[..., Any], label: str, name: str, steady: bool = False, **options: Any) -> Any:
    """A widget for one thing of this page's view, which outlives a visit to another page.

    A ``steady`` one is changed by nothing but itself, and so keeps its key: a new one could come between two quick
    clicks, and bring back what it was made with.
    """
    key = f"boundaries:{name}" if steady else key_of(name)
    st.session_state[key] = view[name]

    def changed() -> None:
        if st.session_state[key] is not None:
            view[name] = st.session_state[key]

    return widget(label, key=key, on_change=changed if steady else unless_gone(changed), **options)


# --- candidates ------------------------------------------------------------------------------------------------------


def rounds_of_synthesis() -> dict[str, list[Any]]:
    """The rounds of the last synthesis by method, where it ran on these attributes; none otherwise."""
    job = st.session_state.get("synthesis:job")
    if job is None or job.scenario.domain.attributes != domain.attributes:
        return {}
    return {name: [*rounds] for name, rounds in job.rounds.items() if rounds}


def candidates_now() -> np.ndarray:
    if view["source"] == "drawn" and view["drawn"] is not None:
        return view["drawn"]
    found = rounds_of_synthesis()
    if view["source"] == "synthesis" and found:
        rounds = found.get(view["method"]) or next(iter(found.values()))
        return rounds[min(view["round"], len(rounds)) - 1].candidates
    return random_candidates(domain, view["many"], view["seed"])


def draw(candidates: np.ndarray) -> None:
    """Put other candidates in the place of the drawn ones, which can be brought back."""
    if view["drawn"] is not None and not np.array_equal(view["drawn"], candidates):
        view["drawn_before"] = [*view["drawn_before"], view["drawn"]][-MOST_REMEMBERED:]
    view["drawn"], view["source"] = candidates, "drawn"


def bring_back() -> None:
    """Take the candidates drawn before; the present ones wait as the last of those to come back."""
    *others, before = view["drawn_before"]
    view["drawn_before"], view["drawn"] = [view["drawn"], *others], before
    view["moved"] += 1


def choose_source(key: str) -> None:
    # Under the key it was made with: a gesture told in the same breath has given the control a new one.
    chosen = st.session_state[key]
    if chosen == "drawn" and view["drawn"] is None:
        view["drawn"] = candidates_now().copy()
    view["source"] = chosen


def draw_anew() -> None:
    view["seed"] += 1
    view["moved"] += 1


def start_with_one() -> None:
    draw(view["record"][None, :].copy())


def attain() -> None:
    """Two candidates at the ends of the widest edge, seen where they stand."""
    try:
        pair = attaining_candidates(policy, view["record"])
    except BFSoftError as error:
        state.notify(str(error))
        return
    widest = policy.widest_edge
    assert widest is not None
    draw(pair)
    view.update({"record": pair[0].copy(), "along": widest.attribute})
    if widest.attribute not in (view["across"], view["down"]):
        view["across"] = widest.attribute
    view["moved"] += 1


def take(edit: PlaneEdit) -> None:
    if (edit.record != view["record"]).any() or edit.candidates is not None:
        view["moved"] += 1
    view["record"], view["vote"] = edit.record, edit.vote
    if edit.candidates is not None:
        if view["source"] == "drawn":
            view["drawn"] = edit.candidates  # one more step of the same drawing
        else:
            draw(edit.candidates)
    changes: dict[str, Any] = {"tau": edit.tau} if edit.tau != state.scenario().tau else {}
    if edit.policy != state.scenario().policy:
        changes["policy"] = edit.policy
    if changes:
        state.replace(**changes)


def candidate_controls() -> None:
    st.session_state[key_of("source")] = view["source"]
    st.segmented_control(
        "Candidates", [*SOURCES], format_func=SOURCES.__getitem__, key=key_of("source"), required=True,
        on_change=unless_gone(choose_source), args=(key_of("source"),), width="stretch", wrap=True,
        help="The records that can be voted for. Drawn: place, drag and remove them on the plane.",
    )  # fmt: skip
    if view["source"] == "random":
        row = st.columns(2, gap="small", vertical_alignment="bottom")
        with row[0]:
            kept(number_field, "How many", "many", min_value=1, max_value=5_000, step=1)
        with row[1]:
            kept(number_field, "Seed", "seed", min_value=0, max_value=2**31 - 1, step=1)
        st.button("Draw others", icon=":material/casino:", on_click=draw_anew, width="stretch")
    elif view["source"] == "drawn":
        if len(names) > 1:
            st.caption(
                "On the plane choose *Add candidates*, then click. Drag one to move it; double-click removes it. "
                "*Move the record* leaves them where they are."
            )
        st.button("Start with one", icon=":material/ink_eraser:", on_click=start_with_one, width="stretch",
            help="Clears all candidates but one at the record: add more where you like.",
        )  # fmt: skip
        if view["drawn_before"]:
            number = words.counted(len(view["drawn_before"][-1]), "candidate")
            st.button(f"Bring back the {number} drawn before", icon=":material/undo:", on_click=bring_back,
                width="stretch", help="The present ones are kept, and can be brought back in the same way.",
            )  # fmt: skip
    else:
        found = rounds_of_synthesis()
        if not found:
            st.caption(
                "No synthesis has run on these attributes yet: run one on the Synthesis page. Random ones till then."
            )
        else:
            if view["method"] not in found:
                view["method"] = [*found][-1]
            kept(st.segmented_control, "Method", "method", options=[*found], required=True, wrap=True)
            last = len(found[view["method"]])
            view["round"] = min(view["round"], last)
            if last > 1:
                kept(st.slider, "Round", "round", min_value=1, max_value=last)


# --- the plane's attributes and the record ---------------------------------------------------------------------------


def choose_axis(axis: str, other: str, key: str) -> None:
    chosen = st.session_state[key]
    if chosen == view[other]:  # swapping is what someone means who picks the other axis's attribute
        view[other] = view[axis]
    view[axis] = chosen


def axis_controls() -> None:
    for label, axis, other in (("Across", "across", "down"), ("Down", "down", "across")):
        st.session_state[key_of(axis)] = view[axis]
        told = (axis, other, key_of(axis))
        st.selectbox(label, names, key=key_of(axis), on_change=unless_gone(choose_axis), args=told)


def value_control(label: str, name: str, key: str, code: int, then: Callable[[int], None]) -> None:
    """Shows a value of an attribute, in its own units, and tells ``then`` the code of another that is chosen."""
    attribute, values = domain[name], domain[name].values

    def chosen() -> None:
        if st.session_state[key] is not None:
            then(st.session_state[key])

    def typed() -> None:
        given = st.session_state[key]
        if given is None:
            return
        nearest = int(attribute.encode(pd.Series([given]), "clip")[0])
        if abs(values[nearest] - given) > 1e-9 * attribute.step:
            apart = f"{name} has no value {given}: its values lie {attribute.step} apart"
            state.notify(f"{apart}. The nearest, {values[nearest]}, is taken.")
        then(nearest)

    if attribute.kind == "numeric" and len(values) > LISTED:
        whole = all(isinstance(bound, int) for bound in (attribute.low, attribute.high, attribute.step))
        number: Callable[[Any], Any] = int if whole else float
        st.session_state[key] = number(values[code])
        number_field(
            words.plain(label), name=label, key=key, on_change=unless_gone(typed), min_value=number(attribute.low),
            max_value=number(attribute.high), step=number(attribute.step),
        )  # fmt: skip
    else:
        st.session_state[key] = code
        # A slider's values are read as Markdown, a list's are not; numbers are the same in both.
        options: dict[str, Any] = {"key": key, "on_change": unless_gone(chosen), "options": range(len(values))}
        widget: Any = st.select_slider if attribute.kind == "numeric" else st.selectbox
        widget(words.plain(label), format_func=lambda each: str(values[each]), **options)


def record_control(name: str) -> None:
    values, position = domain[name].values, domain.position(name)

    def put(code: int) -> None:
        record = view["record"].copy()
        record[position] = code
        view["record"] = record

    if len(values) == 1:
        st.caption(words.plain(f"{name}: always {values[0]}"))
        return
    label = f"{name} · on the plane" if name in (view["across"], view["down"]) and len(names) > 1 else name
    value_control(label, name, key_of(f"record:{name}"), int(view["record"][position]), put)


def record_controls() -> None:
    st.markdown("**The record**", help="One person's values. Those on the plane can be dragged there too.")
    # The plane's own two last: a teacher looks for what the plane does not show.
    shown = [name for name in (view["across"], view["down"]) if len(names) > 1]
    for name in [*(name for name in names if name not in shown), *dict.fromkeys(shown)]:
        record_control(name)


# --- answers from the whole domain -----------------------------------------------------------------------------------


def ask(name: str, question: Any, work: Callable[[Any, list[Any]], Any], start: bool = True) -> Answer | None:
    """The background answer to a question; another question stops the old answer. None where none was begun."""
    answers: dict[str, Answer] = st.session_state.setdefault(ANSWERS, {})
    answer = answers.get(name)
    if answer is not None and answer.question == question:
        return answer
    if answer is not None:
        answer.stop()
        del answers[name]
    if not start:
        return None
    # A short wait spares quick answers a flicker of progress.
    answers[name] = Answer(question, work).wait(0.05)
    return answers[name]


def hush(*others: str) -> None:
    """Stop what is computed for sections that are not shown."""
    answers: dict[str, Answer] = st.session_state.setdefault(ANSWERS, {})
    for name in others:
        if name in answers and answers[name].running:
            answers.pop(name).stop()


def show_progress(name: str, answer: Answer, what: str) -> None:
    row = st.container(horizontal=True, vertical_alignment="center")
    row.progress(min(answer.progress, 1.0), text=f"{what} … {answer.progress:.0%}")
    row.button("Stop", key=f"boundaries:stop:{name}", icon=":material/stop:", on_click=answer.stop)


def unfinished(name: str, answer: Answer, what: str) -> bool:
    """Say why there is no result yet, if so."""
    if answer.running:
        show_progress(name, answer, what)
    elif answer.failure:
        st.info(words.plain(answer.failure), icon=":material/info:")
    elif answer.stopped:
        st.caption(f"{what}: stopped.")
        if st.button("Start again", key=f"boundaries:again:{name}"):
            st.session_state[ANSWERS].pop(name, None)
            st.rerun()
    return answer.result is None


def asked() -> tuple[Any, ...]:
    return (policy, candidates.shape, candidates.tobytes())


def live(show: Callable[[Answer | None], None], answer: Answer | None) -> None:
    """Show an answer as a part of the page that renews itself until the answer is whole."""
    running = answer is not None and answer.running

    def part() -> None:
        show(answer)
        if running and answer is not None and not answer.running:
            st.rerun()

    st.fragment(part, run_every=0.3 if running else None)()


def count(watch: Any, _: list[Any]) -> Any:
    return count_crossings(policy, candidates, watch)


def whole_domain(answer: Answer | None) -> None:
    if answer is not None and not unfinished("crossings", answer, "Counting crossings in the whole domain"):
        found = answer.result
        said = charts.crossings_text(found)
        st.markdown(f"**In the whole domain** {words.plain(said[0].lower() + said[1:])}")
        split = [f"{name} {share.crossing:,} of {share.total:,}" for name, share in found.by_attribute.items()]
        if len(split) > 1:
            st.caption(words.plain("By attribute: " + " · ".join(split)))


# --- sections --------------------------------------------------------------------------------------------------------


def telling_end(walked: Walk) -> int:
    """Where a walk is worth ending: the nearest value at which the hard vote has jumped, else the last joined one."""
    codes = np.arange(len(walked.values))
    for marked in (walked.joined & (walked.hard_change > 0), walked.hard_change > 0):
        if marked.any():
            return int(min(codes[marked], key=lambda code: abs(code - walked.start)))
    if walked.joined.any():
        return int(codes[walked.joined].max())
    return walked.start + 1 if walked.start + 1 < len(codes) else walked.start - 1


def end_at(code: int) -> None:
    view["to"] = code


def the_walk(_: Answer | None) -> None:
    row = st.columns([1, 2.2], gap="large")
    if view["along"] not in names:
        view["along"] = names[0]
    with row[0]:
        kept(
            st.selectbox, "Walk along", "along", options=names, help="Everything else about the record stays as it is."
        )
    attribute = domain[view["along"]]
    start, last = int(view["record"][domain.position(view["along"])]), len(attribute.values) - 1
    if last == 0:
        only = f"{view['along']} has one value, {attribute.values[0]}"
        st.info(words.plain(f"{only}: there is nowhere to walk to."))
        return
    try:
        walked = walk(policy, view["record"], view["along"], candidates, tau)
    except BFSoftError as error:
        st.info(words.plain(str(error)), icon=":material/info:")
        return
    # An end that was chosen belongs to this start; another start gets the end that tells most.
    begun = (view["along"], view["record"].tobytes(), candidates.tobytes())
    if view["to"] is None or view["to"] > last or view["to_from"] != begun:
        view["to"], view["to_from"] = telling_end(walked), begun
        view["ends"] += 1
    with row[1]:
        start_value = attribute.values[start]
        value_control(f"from {start_value} to", attribute.name, f"{key_of('to')}:{view['ends']}", view["to"], end_at)
        # This part of the page is redrawn alone, so what its own control told would wait for the next whole run.
        notice = state.take_notice()
        if notice:
            st.caption(f":material/info: {words.plain(notice)}")
    change, bars = st.columns([1.25, 1], gap="large")
    own_bound = SQRT2 * shift_ratio(policy.reaches[view["along"]], tau)
    show_chart(change, charts.walk_chart(walked, view["to"], own_bound), charts.walk_text(walked, view["to"]))
    show_chart(bars, charts.walk_votes_chart(walked, view["to"]), charts.walk_votes_text(walked, view["to"]))


def every_edge(answer: Answer | None) -> None:
    if answer is None:
        st.info("The policy has no edges, so no protected substitution changes anything. Draw one on the Policy page.")
    elif not unfinished("changes", answer, "Changing the vote along every policy edge"):
        changes = answer.result
        show_chart(st, charts.changes_chart(changes, edge_bound), charts.changes_text(changes, edge_bound))


def ask_every_edge() -> Answer | None:
    def change(watch: Any, _: list[Any]) -> Any:
        return edge_changes(policy, candidates, tau, watch=watch)

    return ask("changes", (*asked(), tau), change) if policy.record_edge_count else None


def ask_exact_curve() -> Answer | None:
    nearest_first = sorted(TAUS, key=lambda each: abs(np.log(each / tau)))

    def search(watch: Any, found: list[Any]) -> bool:
        for row in sensitivity_curve(policy, candidates, nearest_first, watch):
            found.append(row)
        return True

    if policy.reach == 0:
        return None
    quick = domain.size * len(candidates) <= QUICK_SEARCH
    begun = st.session_state.get("boundaries:begun") == asked()
    return ask("curve", asked(), search, start=quick or begun)


def exact_curve(answer: Answer | None) -> None:
    if policy.reach == 0:
        st.info("The policy has no edge of any length: bound and exact sensitivity are 0 at every τ.")
        return
    state.show("boundaries", searched=answer is not None)
    attained = st.button(
        "Place two candidates that attain the bound", icon=":material/height:", on_click=attain,
        help="Places two candidates at the ends of the policy's widest edge: there the soft vote changes by exactly "
        "√2 tanh(r/2τ), "
        + (
            "the most that a changed value can do. With participation the bound is that or 1, whichever is larger."
            if policy.participation
            else "so the bound cannot be lowered."
        ),
    )  # fmt: skip
    if attained:
        st.rerun()  # the plane too, not this part alone
    fine = np.geomspace(TAUS[0], TAUS[-1], 121)
    bounds = pd.DataFrame({"tau": fine, "bound": [sensitivity_bound(policy, SoftVote(each)).l2 for each in fine]})
    found = pd.DataFrame([*answer.found] if answer else [], columns=["tau", "bound", "exact", "hard", "values"])
    if answer is None:
        wanted = st.button(
            "Search the exact sensitivity", icon=":material/search:", key="boundaries:begin",
            help=f"Walks {words.counted(domain.size, 'record')} for each of {len(TAUS)} temperatures; it can be "
            "stopped at any time.",
        )  # fmt: skip
        if wanted:
            st.session_state["boundaries:begun"] = asked()
            st.rerun()
    else:
        unfinished("curve", answer, f"Searching the whole domain at {len(TAUS)} temperatures")
    show_chart(st, charts.curve_chart(found, bounds, tau), charts.curve_text(found, tau))


def cells_owned() -> tuple[np.ndarray, str] | None:
    """The nearest candidate of every cell looked at, and where that is; None where there are too many cells."""
    if shown is not None:
        return nearest, "on this slice"
    if len(names) > 1:
        return None
    try:
        return walk(policy, view["record"], names[0], candidates, tau).hard.argmax(axis=1), "of the domain"
    except BFSoftError:
        return None


def the_candidates() -> None:
    table = domain.decode(candidates)
    table.insert(0, "candidate", [f"#{k + 1}" for k in range(len(candidates))])
    looked_at = cells_owned()
    if looked_at is not None:
        owner, where = looked_at
        table.insert(1, f"cells {where}", np.bincount(owner.ravel(), minlength=len(candidates)))
        idle = without_cell(owner, len(candidates))
        st.markdown(charts.owners_text(idle, copies(domain, candidates), len(candidates), where))
    st.dataframe(table, hide_index=True, height=300)


def closer_look() -> None:
    chosen = view["section"]
    names_of = {SECTIONS[1]: "changes", SECTIONS[2]: "curve"}
    hush(*(name for title, name in names_of.items() if title != chosen))
    if chosen == SECTIONS[0]:
        live(the_walk, None)
    elif chosen == SECTIONS[1]:
        live(every_edge, ask_every_edge())
    elif chosen == SECTIONS[2]:
        live(exact_curve, ask_exact_curve())
    else:
        the_candidates()


left, right = st.columns([1, 3.7], gap="medium")
with left:
    if len(names) > 1:
        axis_controls()
    candidate_controls()
    record_controls()

candidates = candidates_now()
# Of the policy's own edges; participation's floor belongs to records that come and go.
edge_bound = SQRT2 * shift_ratio(policy.reach, tau)
shown = None
with right:
    if len(names) < 2:
        st.info(
            f"A plane needs two attributes, and this domain has only {words.plain(names[0])}. The walk and the counts "
            "below need just one.", icon=":material/info:",
        )  # fmt: skip
    else:
        try:
            shown = plane(domain, view["across"], view["down"], view["record"])
            nearest = regions(shown, candidates)
        except BFSoftError as error:
            st.info(words.plain(str(error)), icon=":material/info:")
    if shown is not None:
        boundary_plane(
            policy, shown, candidates, tau=tau, vote=view["vote"], key="boundaries:plane", on_change=take,
            on_error=state.notify,
        )  # fmt: skip
    live(whole_domain, ask("crossings", asked(), count))
    kept(
        st.segmented_control, "Look closer", "section", steady=True, options=SECTIONS, required=True,
        label_visibility="collapsed",
    )  # fmt: skip
    closer_look()
