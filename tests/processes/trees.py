"""Real trees on real shims, and what their members say about themselves.

Members report through a FIFO, a line each: a word and a pid. Each is held by a pidfd as soon as it has
spoken, so its end is seen whoever reaps it, and whatever outlives a failing test is killed through that.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runcoord import tear_down
from runcoord._core.lineage import COOKIE_VARIABLE
from runcoord._launching import ShimLauncher
from runcoord._processes import open_processes
from runcoord.ports import Fate, LaunchOrder, Membership, Tree

PATIENCE_SECONDS = 30.0
LIFE_SECONDS = 60
"""No process of a test lives longer, whatever happens."""

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="shims are for Linux")


class Ears:
    """The reading end of the FIFO."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "ears"
        os.mkfifo(self.path)
        self._fd = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)
        self._heard = b""
        self.lines: list[tuple[str, int]] = []
        self.pidfds: dict[int, int] = {}

    def hear(self, *words: str, seconds: float = PATIENCE_SECONDS) -> list[int]:
        """Wait until each of these words was said; gives the pids in their order."""
        until = time.monotonic() + seconds
        while missing := [word for word in words if word not in dict(self.lines)]:
            left = until - time.monotonic()
            assert left > 0, f"{missing} was not said; heard {self.lines}"
            self._listen(left)
        return [dict(self.lines)[word] for word in words]

    def _listen(self, seconds: float) -> None:
        select.select([self._fd], [], [], seconds)
        with contextlib.suppress(BlockingIOError):
            self._heard += os.read(self._fd, 65536)
        *lines, self._heard = self._heard.split(b"\n")
        for line in lines:
            word, pid = line.decode().split()
            self.lines.append((word, int(pid)))
            if int(pid) and int(pid) not in self.pidfds:
                with contextlib.suppress(ProcessLookupError):
                    self.pidfds[int(pid)] = os.pidfd_open(int(pid))

    def said(self, word: str) -> int:
        """How often a word was said by now."""
        self._listen(0)
        return [each for each, _ in self.lines].count(word)

    def lives(self, pid: int) -> bool:
        """Whether it has not ended; a zombie has."""
        if pid not in self.pidfds:
            return False
        poll = select.poll()
        poll.register(self.pidfds[pid], select.POLLIN)
        return not poll.poll(0)

    def living(self) -> list[tuple[str, int]]:
        self._listen(0)
        return [(word, pid) for word, pid in self.lines if self.lives(pid)]

    def await_ends(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until all who spoke have ended."""
        until = time.monotonic() + seconds
        for pid, fd in self.pidfds.items():
            poll = select.poll()
            poll.register(fd, select.POLLIN)
            assert poll.poll(max(0.0, until - time.monotonic()) * 1000), f"{pid} lives: {self.living()}"

    def close(self) -> None:
        for fd in self.pidfds.values():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(fd, signal.SIGKILL)
            os.close(fd)
        os.close(self._fd)


class Grove:
    """Launches trees for one test, and leaves none of them behind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ears = Ears(folder)
        self.trees: list[Tree] = []
        self.cookies: list[str] = []

    def order(self, *argv: str, **changes: Any) -> LaunchOrder:
        cookie = os.urandom(16).hex()
        self.cookies.append(cookie)
        environment = {
            **os.environ,
            COOKIE_VARIABLE: cookie,
            "EARS": str(self.ears.path),
            "COOKIE": cookie,
            "PYTHON": sys.executable,
            **changes.pop("environment", {}),
        }
        values = {
            "executable": shutil.which(argv[0]) or argv[0],
            "directory": str(self.folder),
            "last_words": str(self.folder / f"{cookie}.json"),
            **changes,
        }
        return LaunchOrder(argv=argv, environment=environment, cookie=cookie, **values)

    def launch(self, *argv: str, **changes: Any) -> Tree:
        """Started, gate open."""
        tree = ShimLauncher().launch(self.order(*argv, **changes))
        self.trees.append(tree)
        tree.open_gate()
        return tree

    def shell(self, script: str, *words: str, **changes: Any) -> Tree:
        """A tree whose command is this shell script; waits for its words."""
        tree = self.launch("sh", "-c", script, **changes)
        self.ears.hear(*words)
        return tree

    def close(self) -> None:
        for tree in self.trees:
            with contextlib.suppress(Exception):
                tree.tear_down(0)
            tree.close()
        for cookie in self.cookies:
            tear_down(open_processes(), Membership(cookie=cookie), grace=0, clock=time, sleeper=time)
        self.ears.close()


@pytest.fixture
def grove(tmp_path: Path) -> Iterator[Grove]:
    made = Grove(tmp_path)
    try:
        yield made
    finally:
        made.close()


def fates(tree: Tree, grace: float) -> dict[int, Fate]:
    """Torn down, emptied; the fate of each."""
    report = tree.tear_down(grace)
    assert report.emptied, report
    assert report.left == ()
    return {each.pid: each.fate for each in report.processes}
