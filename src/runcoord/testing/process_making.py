"""What a table's maker says to :class:`runcoord.testing.ProcessesContract` about making processes."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from runcoord.ports import Processes


class Can(enum.StrEnum):
    """What a maker may lack; it says why in :attr:`ProcessMaker.lacks`."""

    SESSIONS = "groups and sessions"
    ORPHANS = "processes whose parent is gone"
    THREADS = "a process whose first thread has ended"
    RECYCLE = "another process with a pid that was used"
    FORBID = "processes that must not be signalled"
    ENVIRONMENT = "reading the environment of a process"
    ZOMBIES = "ended processes whose parent has not asked for their end"


@dataclass(frozen=True, slots=True)
class Start:
    """A process that sleeps until it is told, or signalled, otherwise."""

    environment: Mapping[str, str] = field(default_factory=dict)
    """The whole of it."""
    new_group: bool = False
    new_session: bool = False
    orphan: bool = False
    """It was started by a process between it and ``parent``, which has ended and was reaped."""


class ProcessMaker(Protocol):
    """Makes processes for one test. When a call returns, what it says has happened.

    Processes are named by pid. Each is a child of the process that holds the table, unless another parent is
    named; a parent does not ask for the end of its children until :meth:`reap`.
    """

    @property
    def lacks(self) -> Mapping[Can, str]:
        """What cannot be made here, and why: tests that need it are skipped with this reason."""

    def table(self) -> Processes:
        """The table that is tried; each call within one test gives the same."""

    def start(self, how: Start, parent: int = 0) -> int:
        """Start a process; ``parent`` is one that was started before, or 0 for the holder of the table."""

    def end(self, pid: int, status: int = 0) -> None:
        """It ends by itself, with this exit status; it is a zombie."""

    def reap(self, pid: int) -> int:
        """Its parent waits for its end, and asks for it: its number is free. How it ended, as
        ``Popen.returncode``."""

    def end_first_thread(self, pid: int) -> None:
        """Its first thread ends, another one lives."""

    def execute(self, pid: int, environment: Mapping[str, str]) -> None:
        """It executes another program, with this environment."""

    def stop(self, pid: int) -> None:
        """Somebody stops it (SIGSTOP)."""

    def alive(self, pid: int) -> bool:
        """Whether it has not ended; known to the maker, not asked of the table."""

    def recycle(self, pid: int, how: Start) -> None:
        """Start a process which has the number of one that was reaped."""

    def forbidden(self) -> AbstractContextManager[None]:
        """Inside of it, the holder of the table may not signal, and not look into, the maker's processes."""

    def close(self) -> None:
        """End all of them."""
