"""The boundary plane: an ES module of our own that draws regions, edges and candidates, for app and notebooks."""

from pathlib import Path

SCRIPT = Path(__file__).with_name("boundary_plane.js")
STYLE = Path(__file__).with_name("boundary_plane.css")

__all__ = ["SCRIPT", "STYLE"]
