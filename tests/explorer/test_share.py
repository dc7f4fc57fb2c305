"""Links: any scenario comes back from its link, and a damaged or hostile one is refused in words."""

import base64
import contextlib
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bfsoft as bf
from bfsoft.errors import ScenarioError
from bfsoft_explorer import share

READY = [*map(bf.load_scenario, bf.samples()), *bf.policies().values()]


@pytest.mark.parametrize("scenario", READY, ids=lambda scenario: scenario.title[:30])
def test_every_ready_scenario_fits_a_link_and_comes_back(scenario):
    link = share.to_link(scenario)
    assert len(link) <= share.LONGEST
    assert share.from_link(link) == scenario


@given(st.text(max_size=30), st.floats(1e-6, 10), st.integers(0, 2**40))
def test_settings_of_any_kind_come_back(title, tau, seed):
    scenario = READY[0].replace(title=title, tau=tau, seed=seed)
    assert share.from_link(share.to_link(scenario)) == scenario


def test_a_link_is_safe_in_a_url():
    assert all(set(share.to_link(scenario)) <= set("-_") | set(map(chr, range(48, 123))) for scenario in READY)
    assert not any(set(share.to_link(scenario)) & set(":;<=>?@[\\]^`") for scenario in READY)


@given(st.data())
def test_a_link_cut_or_altered_is_refused_or_another_scenario_but_never_a_crash(data):
    link = share.to_link(READY[0])
    at = data.draw(st.integers(0, len(link) - 1))
    letter = data.draw(st.sampled_from(list("abcXYZ019-_ %é")))
    for damaged in (link[:at], link[:at] + letter + link[at + 1 :]):
        with contextlib.suppress(ScenarioError):
            assert isinstance(share.from_link(damaged), bf.Scenario)


def test_a_link_that_unpacks_without_end_is_refused():
    bomb = base64.urlsafe_b64encode(zlib.compress(b" " * 50_000_000)).decode().rstrip("=")
    with pytest.raises(ScenarioError, match="more than any scenario holds"):
        share.from_link(bomb)


@pytest.mark.parametrize("link", ["", "nonsense", "é", "====", "AAAA"])
def test_what_is_no_link_says_what_to_do(link):
    with pytest.raises(ScenarioError, match="ask for"):
        share.from_link(link)
