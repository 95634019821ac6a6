"""A terminal of its own for a process, and somebody who types."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from running.real_runs import SECONDS

CTRL_C, CTRL_Z, CTRL_D = b"\x03", b"\x1a", b"\x04"


class Terminal:
    """A process that leads a session on a terminal, and what it has shown so far."""

    def __init__(self, process: subprocess.Popen[bytes], ours: int) -> None:
        self.process = process
        self._ours = ours
        self.shown = ""

    def types(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    def shows(self, text: str, after: int = 0) -> int:
        """Wait, for a bounded time, until the text stands there; gives where it ends."""
        deadline = time.monotonic() + SECONDS
        while text not in self.shown[after:]:
            more = time.monotonic() < deadline and self._read(0.2)
            assert more, f"{text!r} is not in {self.shown[after:]!r}"
        return self.shown.index(text, after) + len(text)

    def looks(self, seconds: float) -> None:
        """Read what comes within this time."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and self._read(left):
            pass

    def ends(self) -> int:
        """Read until its end; gives its exit status."""
        deadline = time.monotonic() + SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            self._read(0.05)
        while self._read(0.05, only_if_ready=True):
            pass
        return self.process.wait(timeout=1)

    def _read(self, seconds: float, *, only_if_ready: bool = False) -> bool:
        """False when nothing more can come."""
        if not select.select([self._ours], [], [], seconds)[0]:
            return not only_if_ready
        try:
            some = os.read(self._ours, 65_536)
        except OSError:
            return False
        self.shown += some.decode(errors="replace").replace("\r\n", "\n")
        return bool(some)


@contextlib.contextmanager
def on_a_terminal(argv: Sequence[str], environment: Mapping[str, str], directory: Path) -> Iterator[Terminal]:
    """Run a program as the leader of a session on a new terminal; it is ended with the block."""
    ours, theirs = pty.openpty()

    def take() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it

    process = subprocess.Popen(
        argv,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=dict(environment),
        cwd=directory,
        start_new_session=True,
        preexec_fn=take,
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(ours)
