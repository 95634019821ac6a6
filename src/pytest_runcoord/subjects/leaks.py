"""What a scenario left behind: threads that keep the interpreter alive, and child processes.

Only what came about since the scenario began is looked at, and only direct children of this process are
ended: each is held by a handle of the kernel before it is looked at again, so nobody else can be met.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pytest_runcoord.subjects.answers import Nonsense
from pytest_runcoord.subjects.bounded import RealTime

THREAD_SECONDS = 1.0
"""Real time that threads of a scenario get to notice its end."""
CHILD_SECONDS = 5.0
"""Real time in which a child that was killed must be gone."""
MAX_NAMED = 5
"""Threads or processes that a message names; the others are counted."""
COMMAND_CHARACTERS = 60
"""Of a command line, in a message."""
OF_THE_INTERPRETER = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")
"""Of command lines: helpers that Python starts once and keeps."""
TASKS = Path("/proc/self/task")


@dataclass(frozen=True)
class Surroundings:
    """Threads and children that were there before a scenario."""

    threads: frozenset[threading.Thread]
    children: frozenset[int]

    @classmethod
    def now(cls) -> Surroundings:
        return cls(frozenset(threading.enumerate()), frozenset(_children()))

    def end(self) -> None:
        """Raises :class:`Nonsense` for what was not there before; processes of that kind are ended."""
        processes = self._end_children()
        threads = self._left_threads()
        left = [f"the thread {each.name!r}" for each in threads] + processes
        if left:
            more = f" and {len(left) - MAX_NAMED} more" if len(left) > MAX_NAMED else ""
            raise Nonsense(
                f"left {', '.join(left[:MAX_NAMED])}{more} running",
                "that close and abandon end what a session began",
                "Threads that may live on are daemons." if threads else "",
            )

    def _left_threads(self) -> list[threading.Thread]:
        end = RealTime.now() + THREAD_SECONDS
        new = [
            each
            for each in threading.enumerate()
            if each not in self.threads and not each.daemon and each is not threading.current_thread()
        ]
        for each in new:
            each.join(max(0.0, end - RealTime.now()))
        return [each for each in new if each.is_alive()]

    def _end_children(self) -> list[str]:
        return [said for pid in sorted(_children()) if pid not in self.children if (said := _end(pid))]


def _children() -> list[int]:
    """Direct children of this process, also those that ended and were not waited for. None where the system
    does not say."""
    found: list[int] = []
    with suppress(OSError):
        for task in TASKS.iterdir():
            with suppress(OSError, ValueError):
                found += map(int, (task / "children").read_text("ascii").split())
    return found


def _end(pid: int) -> str:
    """End one child that still runs, and say what it was; empty for one that has ended, or is no child."""
    try:
        handle = os.pidfd_open(pid)
    except (OSError, AttributeError):
        return ""
    try:
        state, parent = _state(pid)  # whoever has the pid now is whom the handle holds
        if state in ("", "Z", "X") or parent != os.getpid():
            return ""
        command = _command(pid)
        if any(each in command for each in OF_THE_INTERPRETER):
            return ""
        said = f"the process {pid} ({_short(command)})"
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        select.select([handle], [], [], CHILD_SECONDS)
        with suppress(ChildProcessError):
            os.waitid(os.P_PIDFD, handle, os.WEXITED | os.WNOHANG)
        return said
    finally:
        os.close(handle)


def _state(pid: int) -> tuple[str, int]:
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        return after_name[0], int(after_name[1])
    except (OSError, ValueError, IndexError):
        return "", 0


def _command(pid: int) -> str:
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return "?"
    return raw.replace(b"\0", b" ").decode("utf-8", "replace").strip() or "?"


def _short(text: str) -> str:
    return text if len(text) <= COMMAND_CHARACTERS else text[: COMMAND_CHARACTERS - 1] + "…"
