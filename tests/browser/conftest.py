"""A Chromium, a page in it, the app served on a free port, and the bare canvas served without any app."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from bfsoft_explorer.canvas import SCRIPT, STYLE

ROOT = Path(__file__).parents[2]
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HEALTH_SECONDS = 60
# What is waited for is there at once on a quiet machine; a busy one may take long over it.
PATIENCE = 60_000  # milliseconds
expect.set_options(timeout=PATIENCE)

HARNESS = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Policy canvas</title>
<link rel="stylesheet" href="/policy_canvas.css">
<style>
  html { background: #fff; color-scheme: light; --st-background-color: #fff; --st-text-color: #31333f; }
  html.dark { background: #0e1117; color-scheme: dark; --st-background-color: #0e1117; --st-text-color: #fafafa; }
  body { margin: 24px; }
</style>
<main><div id="home"></div></main>
<script type="module">
  import * as canvas from "/policy_canvas.js";
  const home = document.getElementById("home");
  window.canvas = canvas;
  window.commits = [];
  window.mount = (data) => canvas.default({
    data, parentElement: home, key: "test", name: "test",
    setStateValue: (name, value) => window.commits.push({ name, value }),
    setTriggerValue: () => {},
  });
  window.ready = true;
</script></html>"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, or the one that the environment variable CHROMIUM names."""
    if not Path(CHROMIUM).exists():
        pytest.skip(f"no Chromium at {CHROMIUM}; install it or set the environment variable CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open a page in a browsing context of its own, with options such as ``color_scheme``; further tabs come from its
    ``context``. An uncaught error in their scripts fails the test."""
    faults: list[str] = []
    with ExitStack() as contexts:

        def opened(**options: Any) -> Page:
            context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
            contexts.callback(context.close)
            context.set_default_timeout(PATIENCE)
            context.on("weberror", lambda error: faults.append(str(error.error)))
            return context.new_page()

        yield opened
    assert not faults, faults


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    return new_page()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the whole app, served for as long as the tests run."""
    with serve_streamlit(ROOT / "explorer" / "bfsoft_explorer" / "app.py", tmp_path_factory.mktemp("app")) as url:
        yield url


@contextmanager
def running(command: list[str], health: str, log: Path, **how: Any) -> Iterator[None]:
    """Run a server until the block ends; raises with its log if the address ``health`` does not answer in time.

    ``how`` goes to ``subprocess.Popen``, such as the folder and the environment to run in.
    """
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, **how)
    try:
        last = time.monotonic() + HEALTH_SECONDS
        while not _healthy(health):
            if process.poll() is not None or time.monotonic() > last:
                raise RuntimeError(f"{command[2]} did not come up:\n{log.read_text()}")
            threading.Event().wait(0.1)
        yield
    finally:
        process.terminate()  # a server of kernels ends them first, which takes it a while
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _healthy(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


@contextmanager
def serve_streamlit(script: Path, log_folder: Path) -> Iterator[str]:
    """Run a Streamlit script on a free port until the block ends; its address."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.headless=true"]
    command += [f"--server.port={port}", "--server.address=localhost", "--browser.gatherUsageStats=false"]
    command += ["--server.fileWatcherType=none"]
    url = f"http://localhost:{port}"
    with running(command, f"{url}/_stcore/health", log_folder / "streamlit.log", cwd=ROOT):
        yield url


@pytest.fixture(scope="session")
def another_port() -> int:
    """A port of this machine that nothing listens on, for a server that is neither the app's nor Streamlit's."""
    return free_port()


@pytest.fixture(scope="session")
def serve() -> Callable[[Path, Path], AbstractContextManager[str]]:
    """A context manager that serves any Streamlit script: ``with serve(script, folder_for_its_log) as url``."""
    return serve_streamlit


@pytest.fixture(scope="session")
def run_server() -> Callable[..., AbstractContextManager[None]]:
    """A context manager that runs any server: ``with run_server(command, address_that_answers, log, cwd=folder)``."""
    return running


@pytest.fixture(scope="session")
def harness_url() -> Iterator[str]:
    """A page that holds nothing but the canvas module; ``mount(data)`` puts a canvas on it."""
    served = {
        "/": ("text/html; charset=utf-8", HARNESS.encode()),
        "/policy_canvas.js": ("text/javascript; charset=utf-8", SCRIPT.read_bytes()),
        "/policy_canvas.css": ("text/css; charset=utf-8", STYLE.read_bytes()),
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, body = served.get(self.path, ("text/plain", b""))
            self.send_response(200 if self.path in served else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("localhost", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://localhost:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def mount_on(harness_url: str) -> Callable[[Page], Callable[[dict[str, Any]], Page]]:
    """Open the harness on a page; what comes back mounts a canvas with some data there."""

    def opened(page: Page) -> Callable[[dict[str, Any]], Page]:
        page.goto(harness_url)
        page.wait_for_function("window.ready")

        def put(data: dict[str, Any]) -> Page:
            page.evaluate("data => { mount(data) }", data)
            return page

        return put

    return opened


@pytest.fixture
def mount(page: Page, mount_on: Callable[[Page], Callable[[dict[str, Any]], Page]]) -> Callable[[dict[str, Any]], Page]:
    """Mount a canvas with this data on the page."""
    return mount_on(page)


@pytest.fixture
def touch_page(new_page: Callable[..., Page]) -> Callable[..., tuple[Page, Callable[..., None]]]:
    """Open a page of a size that is driven by fingers alone: the page, and a drag by one finger along points of it."""

    def opened(width: int, height: int) -> tuple[Page, Callable[..., None]]:
        page = new_page(viewport={"width": width, "height": height}, has_touch=True)
        fingers = page.context.new_cdp_session(page)

        def drag(*through: tuple[float, float]) -> None:
            """Touch the first point, slide along the others in small steps, and lift; the browser may pan instead."""
            points = [through[0]]
            for (x0, y0), (x1, y1) in pairwise(through):
                points += [(x0 + (x1 - x0) * k / 8, y0 + (y1 - y0) * k / 8) for k in range(1, 9)]
            for at, (x, y) in enumerate(points):
                kind = "touchMove" if at else "touchStart"
                fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
            fingers.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

        return page, drag

    return opened
