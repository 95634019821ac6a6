"""What a scenario left behind: threads that keep the interpreter alive, child processes, another current
directory, other handlers of signals, other environment variables, other standard streams. All but the threads
are as they were before when this has looked.

Of threads and processes only what came about since the scenario began is looked at, and only direct children
of this process are ended: each is held by a handle of the kernel before it is looked at again, so nobody else
can be met.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_runcoord.subjects.answers import Nonsense
from pytest_runcoord.subjects.bounded import RealTime

THREAD_SECONDS = 1.0
"""Real time that threads of a scenario get to notice its end."""
CHILD_SECONDS = 5.0
"""Real time in which a child that was killed must be gone."""
EXECUTE_SECONDS = 0.5
"""Real time that a child that was just started gets to have a command line."""
LOOK_SECONDS = 0.01
"""Real time between two looks at it."""
MAX_NAMED = 5
"""Threads, processes or variables that a message names; the others are counted."""
COMMAND_CHARACTERS = 60
"""Of a command line, in a message."""
OF_THE_INTERPRETER = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")
"""Of command lines: helpers that Python starts once and keeps."""
TASKS = Path("/proc/self/task")
OF_THE_HARNESS = frozenset(
    {signal.SIGALRM, signal.SIGKILL, signal.SIGSTOP} if hasattr(signal, "SIGALRM") else ()
)
"""Signals whose handlers are looked after elsewhere, or cannot be had."""


@dataclass(frozen=True)
class Surroundings:
    """What was there before a scenario. ``directory`` is empty where the current one is gone already."""

    threads: frozenset[threading.Thread]
    children: frozenset[int]
    directory: str
    handlers: dict[signal.Signals, Any]
    environment: dict[str, str]
    streams: dict[str, Any]

    @classmethod
    def now(cls) -> Surroundings:
        return cls(
            frozenset(threading.enumerate()),
            frozenset(_children()),
            _directory(),
            _handlers(),
            dict(os.environ),
            _streams(),
        )

    def end(self) -> None:
        """Raises :class:`Nonsense` for what was not there before; processes of that kind are ended."""
        moved, handled = self._go_back(), self._handle_as_before()
        varied, redirected = self._vary_as_before(), self._stream_as_before()
        processes = self._end_children()
        threads = self._left_threads()
        left = [f"the thread {each.name!r}" for each in threads] + processes
        if left:
            raise Nonsense(
                f"left {_some(left)} running",
                "that close and abandon end what a session began",
                "Threads that may live on are daemons." if threads else "",
            )
        if moved:
            raise Nonsense(
                f"left the current directory at {moved!r}",
                "that it works by whole paths: all owners of a scenario share one process",
            )
        if handled:
            raise Nonsense(
                f"left handlers of its own for {', '.join(handled)}",
                "that handlers of signals are those of pytest again",
                "Let only the program that runs the coordinator handle signals, not the coordinator itself.",
            )
        if varied:
            raise Nonsense(
                f"left other environment variables: {_some(varied)}",
                "that they are as before: all owners of a scenario share one process",
                "Give children an environment of their own, and a coordinator its settings as arguments.",
            )
        if redirected:
            raise Nonsense(
                f"left sys.{' and sys.'.join(redirected)} replaced",
                "that the standard streams are those of pytest again",
                "Let it write through logging, or to a file of its own.",
            )

    def _go_back(self) -> str:
        """Back to where the scenario began; says where it was else, empty if it was there."""
        now = _directory()
        if not self.directory or now == self.directory:
            return ""
        with suppress(OSError):
            os.chdir(self.directory)
        return now or "a directory that is gone"

    def _handle_as_before(self) -> list[str]:
        """Every signal is handled as before; gives the names of those that were not."""
        changed = [number for number, now in _handlers().items() if self.handlers.get(number, now) is not now]
        for number in changed:
            signal.signal(number, self.handlers[number])
        return [number.name for number in changed]

    def _vary_as_before(self) -> list[str]:
        """Every environment variable is as before; gives the names of those that were not."""
        now = dict(os.environ)
        if now == self.environment:
            return []
        changed = sorted({name for name, _ in now.items() ^ self.environment.items()})
        for name in changed:
            os.environ.pop(name, None)
            if name in self.environment:
                os.environ[name] = self.environment[name]
        if "TZ" in changed and hasattr(time, "tzset"):
            time.tzset()  # local time is what was said when this was called last
        return changed

    def _stream_as_before(self) -> list[str]:
        """The standard streams of Python are as before; gives the names of those that were not."""
        changed = [name for name, stream in _streams().items() if stream is not self.streams[name]]
        for name in changed:
            setattr(sys, name, self.streams[name])
        return changed

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


def _some(names: list[str]) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return f"{', '.join(names[:MAX_NAMED])}{more}"


def _streams() -> dict[str, Any]:
    return {name: getattr(sys, name) for name in ("stdin", "stdout", "stderr")}


def _directory() -> str:
    try:
        return str(Path.cwd())
    except OSError:
        return ""


def _handlers() -> dict[signal.Signals, Any]:
    """How signals are handled, where that can be changed: in the main thread, and set from Python."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    known = {
        each: signal.getsignal(each) for each in signal.valid_signals() if isinstance(each, signal.Signals)
    }
    return {each: how for each, how in known.items() if how is not None and each not in OF_THE_HARNESS}


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
    """Its command line. A process that is about to execute has none for a moment."""
    end = RealTime.now() + EXECUTE_SECONDS
    while True:
        try:
            raw = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return "?"
        said = raw.replace(b"\0", b" ").decode("utf-8", "replace").strip()
        if said or RealTime.now() >= end:
            return said or "?"
        select.select([], [], [], LOOK_SECONDS)


def _short(text: str) -> str:
    return text if len(text) <= COMMAND_CHARACTERS else text[: COMMAND_CHARACTERS - 1] + "…"
