"""Where the app's files are; the pages lie beside the package in a checkout, inside it in a wheel."""

from pathlib import Path

_HERE = Path(__file__).resolve().parent
ICON = _HERE / "icon.svg"


def pages() -> Path:
    """The directory of page scripts."""
    inside = _HERE / "pages"
    return inside if inside.is_dir() else _HERE.parents[1] / "pages"
