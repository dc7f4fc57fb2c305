"""The app's entry: pages, the scenario strip above each of them, and the URL that holds the scenario."""

import streamlit as st
from altair.utils import schemapi

from bfsoft.errors import BFSoftError
from bfsoft_explorer import state
from bfsoft_explorer.resources import ICON, pages
from bfsoft_explorer.strip import show_strip

# The tests hold every chart to Vega-Lite's schema; checking each part again on every run is a third of a page's time.
schemapi.disable_debug_mode()
st.set_page_config(page_title="BF-Soft Explorer", page_icon=str(ICON), layout="wide")

page = st.navigation(
    [
        st.Page(pages() / "policy.py", title="Policy", icon=":material/share:", default=True),
        st.Page(pages() / "domain.py", title="Data and domain", icon=":material/dataset:"),
        st.Page(pages() / "boundaries.py", title="Boundaries", icon=":material/border_inner:"),
        st.Page(pages() / "temperature.py", title="Temperature", icon=":material/device_thermostat:"),
        st.Page(pages() / "synthesis.py", title="Synthesis", icon=":material/table_chart:"),
        st.Page(pages() / "pilot.py", title="Pilot", icon=":material/query_stats:"),
        st.Page(pages() / "paper.py", title="Paper", icon=":material/menu_book:"),
    ],
    position="top",
)
state.follow_url()
show_strip(page.url_path or "policy")
try:
    page.run()
except BFSoftError as error:  # what a page did not foresee is still said in words, and nothing that was set is lost
    st.error(str(error), icon=":material/error:")
