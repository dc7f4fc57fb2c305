"""The explorer: the app, its charts and its canvases, all drawing what the core library ``bfsoft`` computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .canvas.widget import PolicyCanvas
    from .plane.widget import BoundaryPlane

__all__ = ["BoundaryPlane", "PolicyCanvas"]


def __getattr__(name: str) -> Any:
    # The widgets need anywidget, whose import the app does not.
    if name == "PolicyCanvas":
        from .canvas.widget import PolicyCanvas

        return PolicyCanvas
    if name == "BoundaryPlane":
        from .plane.widget import BoundaryPlane

        return BoundaryPlane
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
