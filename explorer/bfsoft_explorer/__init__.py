"""The explorer: the app, its charts and the policy canvas, all drawing what the core library ``bfsoft`` computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .canvas.widget import PolicyCanvas

__all__ = ["PolicyCanvas"]


def __getattr__(name: str) -> Any:
    # The widget needs anywidget, whose import the app does not.
    if name == "PolicyCanvas":
        from .canvas.widget import PolicyCanvas

        return PolicyCanvas
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
