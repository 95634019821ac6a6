"""What an incarnation of the real tier lives in: a process on its scenario's stage, or a plain child."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Protocol

from pytest_runcoord.incarnation import Incarnation
from pytest_runcoord.real.actors import RealProcess
from pytest_runcoord.real.stage import StageFailed
from pytest_runcoord.world import World

END_SECONDS = 60.0
"""Real time for a process that was told to close, or killed."""
KILL = 9


class Body(Protocol):
    """A process, and the ends of the conversation with it."""

    read: int
    write: int
    staged: bool

    def ended(self) -> bool: ...

    def kill(self) -> None: ...

    def wait(self) -> None: ...

    def let_go(self) -> None: ...


def body_of(world: World, incarnation: Incarnation, complaints: Path) -> Body:
    """Start a process. It writes what it complains about into a file."""
    staged: Any = getattr(world.processes, "stage_for", None)
    with complaints.open("wb") as file:
        if staged is not None and staged(incarnation.owner) is not None:
            return StagedBody(world, incarnation, file.fileno())
        return ChildBody(file.fileno())


class ChildBody:
    """A plain child of this process; signals go only to it, unreaped."""

    staged = False

    def __init__(self, complaints: int) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "pytest_runcoord.real.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            bufsize=0,
        )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self.read, self.write = self._child.stdout.fileno(), self._child.stdin.fileno()

    def ended(self) -> bool:
        return self._child.poll() is not None

    def kill(self) -> None:
        self._child.kill()

    def wait(self) -> None:
        self._child.wait(END_SECONDS)

    def let_go(self) -> None:
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None and not pipe.closed:
                pipe.close()


class StagedBody:
    """A process in the namespace of its scenario; its init kills and reaps it."""

    staged = True

    def __init__(self, world: World, incarnation: Incarnation, complaints: int) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            processes: Any = world.processes
            self._process: RealProcess = processes.incarnated(
                incarnation, theirs.fileno(), complaints, os.environ
            )
        self._end = ours
        self.read = self.write = ours.fileno()
        self._gone = False

    def ended(self) -> bool:
        return self._gone

    def kill(self) -> None:
        with contextlib.suppress(StageFailed):  # without its init nothing of a namespace lives
            self._process.signal(KILL, ended=True)
        self._gone = True

    def wait(self) -> None:
        if not self._gone:
            self._process.stage.ask("end", member=self._process.number)
            self._gone = True

    def let_go(self) -> None:
        self._end.close()
