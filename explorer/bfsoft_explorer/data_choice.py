"""Choosing the public table that pages run on: a sample, or a file held in memory for the session only."""

from __future__ import annotations

import streamlit as st

import bfsoft as bf
from bfsoft.errors import BFSoftError

from . import state, words

# The uploader's file leaves with the page; a new number makes an empty uploader where its file is no longer used.
_FRESH = "data:fresh"
_OWN = " your own"  # no sample's name starts with a blank


def choose_data(page: str) -> None:
    """Draw the choice of data; ``page`` tells the widgets of one page from another's."""
    scenario, own, samples = state.scenario(), state.own_table(), bf.samples()
    now = _OWN if own is not None else scenario.data
    options = [*samples]
    if now not in options:
        options.insert(0, now or "")
    key = f"{page}:data"
    st.session_state[key] = now or ""
    names = {_OWN: f"your table ({words.counted(own.n, 'record')})" if own is not None else "", "": "none yet"}
    st.selectbox(
        "Data", options, key=key, format_func=lambda name: names.get(name, name), on_change=_take_sample, args=(key,),
        help="A sample brings its own domain, policy and settings; the browser's back button returns to those before.",
    )  # fmt: skip
    missing = own is None and scenario.data not in samples
    with st.expander("Your own public table", expanded=missing):
        upload_key, clip_key = f"{page}:table:{st.session_state.get(_FRESH, 0)}", f"{page}:clip"
        st.file_uploader(
            "A *public* table that fits the domain (CSV or Parquet)", type=["csv", "gz", "tsv", "txt", "parquet"],
            key=upload_key, on_change=_bring, args=(upload_key, clip_key, True),
            help="It stays in memory for this session only: never on disk, never in the link. Errors are read off it "
            "exactly, so it must be public.",
        )  # fmt: skip
        if own is not None:
            st.caption("Held in memory alone: a reload of this page in the browser forgets it.")
        st.toggle(
            "Move numbers outside the grid to the nearest value", key=clip_key, persist_state="session",
            on_change=_bring, args=(upload_key, clip_key, False),
        )  # fmt: skip


def _take_sample(key: str) -> None:
    name = st.session_state[key]
    if name not in bf.samples():
        return
    sample, now = bf.load_scenario(name), state.scenario()
    state.keep_table(None)
    st.session_state[_FRESH] = st.session_state.get(_FRESH, 0) + 1
    if sample.domain.attributes == now.domain.attributes:
        state.replace(data=name)  # the policy that was drawn stays
    else:
        state.adopt(sample)


def _bring(upload_key: str, clip_key: str, by_file: bool) -> None:
    upload = st.session_state.get(upload_key)
    if upload is None:
        if by_file:  # taken away; a toggle alone takes nothing
            state.keep_table(None)
        return
    domain = state.scenario().domain
    try:
        frame = bf.read_table(upload, domain)
        state.keep_table(bf.Records.of_frame(domain, frame, "clip" if st.session_state.get(clip_key) else "error"))
    except BFSoftError as error:
        state.notify(words.of_file(upload.name, error))
