"""One long answer in a thread: its progress, what it has so far, and a way to stop it; knows nothing of pages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any

from bfsoft.errors import BFSoftError


class _Stopped(Exception):
    """Raised inside the work when someone asked it to stop."""


class Answer:
    """The result of ``work(watch, found)``, computed in the background.

    ``work`` calls ``watch(share)`` now and then, which is also where a stop takes hold, and may append partial results
    to the list ``found``; what it returns becomes ``result``. ``question`` says what was asked, so that an answer to
    another question is told apart.
    """

    def __init__(self, question: Hashable, work: Callable[[Callable[[float], None], list[Any]], Any]) -> None:
        self.question = question
        self.progress = 0.0
        self.found: list[Any] = []
        self.result: Any = None
        self.failure: str | None = None
        self.stopped = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(work,), name="answer", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether it is still being computed."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Give up at the next report of progress; what was found so far stays."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> Answer:
        """Wait for the end, or so many seconds; returns itself."""
        self._thread.join(seconds)
        return self

    def _watch(self, share: float) -> None:
        self.progress = share
        if self._stop.is_set():
            raise _Stopped

    def _run(self, work: Callable[[Callable[[float], None], list[Any]], Any]) -> None:
        try:
            self.result = work(self._watch, self.found)
        except _Stopped:
            self.stopped = True
        except BFSoftError as error:
            self.failure = str(error)
        except Exception as error:  # the thread has no one above it: what it cannot handle must still be seen
            self.failure = f"the computation failed unexpectedly ({type(error).__name__})"
