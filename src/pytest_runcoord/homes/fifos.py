"""FIFOs among run folders: who opens one like a file waits for ever, and the test too. They are let go."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

WAITING_SECONDS = 10.0
"""Real time after which whoever still reads a FIFO counts as one who would wait for ever: who does not wait
is done with it in a moment."""
LOOK_SECONDS = 0.5


class FifoWatch:
    """Looks at FIFOs from a thread of its own, and lets go who waits at one: they read an end of file."""

    def __init__(self, after: float | None = None, every: float = LOOK_SECONDS) -> None:
        self._after, self._every = WAITING_SECONDS if after is None else after, every
        self._fifos: list[Path] = []
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self.waited: list[Path] = []
        """FIFOs at which somebody waited."""

    def add(self, fifo: Path) -> None:
        """Watch one more."""
        self._fifos.append(fifo)
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="runcoord-fifos", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """No longer. A second time does nothing."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        pause = self._after
        while not self._ended.wait(pause):
            for fifo in tuple(self._fifos):
                if _let_go(fifo) and fifo not in self.waited:
                    self.waited.append(fifo)
            pause = self._every


def _let_go(fifo: Path) -> bool:
    """Whether somebody read it. Opening it to write fails while nobody does."""
    try:
        number = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return stat.S_ISFIFO(os.fstat(number).st_mode)
    finally:
        os.close(number)
