"""What all tests share: hypothesis without deadlines, since the kernels compile on their first call."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "bfsoft", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
settings.load_profile("bfsoft")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The tables that may not be committed, beside the checkout; a test that needs them is skipped without them."""
    place = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not place.is_dir():
        pytest.skip("the tables that cannot be committed are not beside this checkout (../shared/data)")
    return place
