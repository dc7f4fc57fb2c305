"""A wheel, built and installed into an empty environment, starts the app from any directory with all it needs."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

ROOT = Path(__file__).resolve().parents[2]
# Pip may have to download the dependencies once.
INSTALL_SECONDS, START_SECONDS = 600, 120


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that holds the wheel and its dependencies, nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT], check=True, capture_output=True
    )
    (wheel,) = folder.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", wheel], check=True, timeout=INSTALL_SECONDS, capture_output=True
    )
    return python


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


def test_the_library_finds_its_samples(installed: Path, tmp_path: Path) -> None:
    script = "import bfsoft as bf; frame, scenario = bf.load_sample('adult'); print(scenario.policy.reach, len(frame))"
    said = subprocess.run(
        [installed, "-c", script], cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, check=True
    ).stdout.split()
    assert float(said[0]) == pytest.approx(0.2 * 7 / 73, rel=1e-12)
    assert int(said[1]) == 13_839


def test_the_app_starts_with_its_pages(installed: Path, tmp_path: Path, page: Page, another_port: int) -> None:
    port = another_port
    command = [installed.with_name("bfsoft"), "explore", "--port", str(port), "--no-browser"]
    log = tmp_path / "log"
    with log.open("w") as file:
        app = subprocess.Popen(command, cwd=tmp_path, env=clean_environment(), stdout=file, stderr=subprocess.STDOUT)
    try:
        wait_until_healthy(f"http://localhost:{port}/_stcore/health", app, log)
        page.goto(f"http://localhost:{port}")
        expect(page.locator('[data-readout="reach"]')).to_be_visible()
        page.get_by_role("link", name="Synthesis").click()
        expect(page.get_by_role("button", name="Run", exact=True)).to_be_visible()
    finally:
        app.terminate()
        app.wait(timeout=30)


def wait_until_healthy(url: str, app: subprocess.Popen[bytes], log: Path) -> None:
    last = time.monotonic() + START_SECONDS
    while time.monotonic() < last and app.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                if answer.status == 200:
                    return
        except OSError:
            threading.Event().wait(0.2)
    raise AssertionError(f"the app did not come up:\n{log.read_text()}")
