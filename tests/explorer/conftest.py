"""The app without a browser: Streamlit's AppTest on the entry script, opened at any page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

APP = Path(__file__).resolve().parents[2] / "explorer" / "bfsoft_explorer" / "app.py"


@pytest.fixture
def open_page() -> Callable[..., AppTest]:
    """``open_page("synthesis")`` runs the app and switches there; keyword arguments are query parameters."""

    def opened(name: str, **query: str) -> AppTest:
        app = AppTest.from_file(str(APP), default_timeout=60)
        for key, value in query.items():
            app.query_params[key] = value
        app.run()
        app.switch_page(f"../../pages/{name}.py").run()
        assert not app.exception, [each.value for each in app.exception]
        return app

    return opened
