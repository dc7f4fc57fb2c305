"""Charts: core objects in, an Altair chart out; the same picture in the app and in a notebook, no Streamlit here.

Every chart's title states what it shows in this very case, and each has a text alternative beside it.
"""
