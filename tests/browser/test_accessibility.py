"""axe-core finds no serious fault on any page, in both themes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

VERSION = "4.10.3"


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The script of axe-core, which is for tests only and so comes from npm when they run."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed; it fetches axe-core for this test")
    place = tmp_path_factory.mktemp("axe")
    fetched = subprocess.run(
        [npm, "install", "--no-save", "--silent", "--prefix", str(place), f"axe-core@{VERSION}"], capture_output=True
    )
    if fetched.returncode:
        pytest.skip("axe-core cannot be fetched from npm; is there a network?")
    return place / "node_modules" / "axe-core" / "axe.min.js"


def faults(page: Page, axe: Path, address: str) -> list[str]:
    """The serious and critical faults of a page that has come to rest."""
    page.goto(address)
    expect(page.locator(".bfsoft-strip")).to_be_visible()
    expect(page.locator("[data-testid=stApp]")).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.locator("[data-testid=stSkeleton]").locator("visible=true")).to_have_count(0)
    page.add_script_tag(path=str(axe))
    found = page.evaluate("() => axe.run({resultTypes: ['violations']})")["violations"]
    return [
        f"{each['id']}: {each['help']}: {each['nodes'][0]['html']}"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", ["", "domain", "boundaries", "temperature", "synthesis", "pilot", "paper"])
def test_no_serious_fault(new_page: Callable[..., Page], app_url: str, axe: Path, path: str, theme: str) -> None:
    assert faults(new_page(color_scheme=theme), axe, f"{app_url}/{path}?s=staff") == []
