"""The policy canvas: one ES module of our own that draws and edits a policy graph, for the app and for notebooks."""

from pathlib import Path

SCRIPT = Path(__file__).with_name("policy_canvas.js")
STYLE = Path(__file__).with_name("policy_canvas.css")

__all__ = ["SCRIPT", "STYLE"]
