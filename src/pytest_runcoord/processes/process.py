"""One simulated process: what the kernel keeps of it, and what is true of it though no kernel says so."""

from __future__ import annotations

import enum
import signal
from collections.abc import Mapping

from runcoord.values import field, record, value

TICKS_PER_SECOND = 100
"""Start values count ticks of 10 ms, as on Linux."""
INIT = 1
"""The pid of the process that orphans come to when nobody else adopts them."""

CONTINUE = int(signal.SIGCONT)
KILL = int(signal.SIGKILL)
STOP = int(signal.SIGSTOP)
STOPPING = frozenset(map(int, (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)))
HARMLESS = frozenset(map(int, (signal.SIGCHLD, signal.SIGWINCH, signal.SIGURG)))
"""Signals that by default do nothing."""


class Life(enum.StrEnum):
    """Where a process is between its start and the moment at which nothing of it is left."""

    RUNNING = "running"
    STOPPED = "stopped"
    ZOMBIE = "zombie"
    """Ended, and kept until its parent has asked how."""
    REAPED = "reaped"


class Sight(enum.StrEnum):
    """What comes of looking at a process."""

    PLAIN = "plain"
    NOTHING = "nothing"
    """Its identity cannot be read."""
    DENIED = "denied"
    """The system does not permit it."""
    HANGS = "hangs"
    """The look never returns, as with a process whose memory is locked."""


@value
class Place:
    """Where a process lives: pids, and start values, mean something only within it."""

    host: str = "host-1"
    pid_namespace: str = "pid-1"
    time_namespace: str = "time-1"
    time_offset: float = 0.0
    """Seconds by which the time namespace shifts start values for those who look from inside it."""

    @property
    def table(self) -> tuple[str, str]:
        """Processes with the same of these have pids of one set of numbers."""
        return self.host, self.pid_namespace


@value
class Handled:
    """A signal is caught; after ``seconds`` the process ends with ``status``, or goes on if that is None."""

    seconds: float = 0.0
    status: int | None = 0


@value
class Ignored:
    """A signal does nothing."""


Disposition = Handled | Ignored


@record
class SimProcess:
    """A process of a :class:`~pytest_runcoord.processes.table.SimTable`; changed only through it."""

    pid: int
    group: int
    session: int
    start: int
    """Ticks since boot."""
    serial: int
    """Of all processes of one boot, never used twice: the durable handle."""
    place: Place
    parent: SimProcess | None
    label: str
    """What a scenario calls it."""
    name: str
    """What the system calls it."""
    argv: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    run: str = ""
    """The run that it truly belongs to, whatever its environment says; empty for a bystander."""
    user: int = 1000
    children: list[SimProcess] = field(default_factory=list)
    life: Life = Life.RUNNING
    status: int | None = None
    """How it ended, as ``Popen.returncode``."""
    threads: int = 1
    first_thread_ended: bool = False
    """Its first thread has ended and others run: state ``Z``, and alive."""
    subreaper: bool = False
    dispositions: dict[int, Disposition] = field(default_factory=dict)
    pending: list[int] = field(default_factory=list)
    overdue: int | None = None
    """The status with which it ends as soon as it can do anything."""
    unkillable: bool = False
    """In an uninterruptible wait: no signal has any effect before it ends."""
    reaps_after: float | None = 0.0
    """Seconds after which it reaps a child that ended; None: only when told to."""
    environment_closed: bool = False
    """Its environment cannot be read."""
    sight: Sight = Sight.PLAIN
    denies: frozenset[int] | None = frozenset()
    """Signals that the system does not permit to send it; None: all of them."""
    forks_on_scan: int = 0
    """Children that it has, one behind the back of each scan."""
    ends_on_scan: bool = False
    """With each of them it ends itself, so that the scan sees neither."""
    gate: bool = False
    """It waits behind a gate and has executed nothing."""

    # No two processes are the same, whatever they have in common.
    __eq__, __hash__ = object.__eq__, object.__hash__

    @property
    def ended(self) -> bool:
        return self.life in (Life.ZOMBIE, Life.REAPED)

    @property
    def state(self) -> str:
        """The system's letter."""
        if self.life is Life.REAPED:
            return "X"
        if self.life is Life.ZOMBIE or self.first_thread_ended:
            return "Z"
        if self.unkillable:
            return "D"
        return "T" if self.life is Life.STOPPED else "S"

    @property
    def cookies(self) -> tuple[str, ...]:
        """The line in its environment."""
        line = self.environment.get("RUNCOORD_COOKIE", "")
        return tuple(line.split(":")) if line else ()

    @property
    def unreadable(self) -> bool:
        """Whether nobody sees its environment; a pass over the table leaves out what it cannot read."""
        return self.environment_closed or self.sight is not Sight.PLAIN

    def permits(self, number: int) -> bool:
        return self.denies is not None and number not in self.denies

    def line(self) -> list[SimProcess]:
        """Its parents, the nearest first."""
        found = []
        at = self.parent
        while at is not None:
            found.append(at)
            at = at.parent
        return found

    def __repr__(self) -> str:
        return f"{self.label} (pid {self.pid}, {self.life.value})"


@value
class SignalSent:
    """One signal that somebody sent, or tried to send."""

    by: str
    process: SimProcess
    number: int
    result: str
    """``sent``, ``gone`` or ``denied``."""
    way: str
    """``pin``, ``group`` or ``number``: what the sender meant it by."""
    claimed: str = ""
    """The cookie of the run that the sender took it for, where it said so."""

    @property
    def signal(self) -> str:
        return signal_name(self.number)


def signal_name(number: int) -> str:
    """``SIGTERM``; the number as text for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def signal_number(name: str) -> int:
    """The number of ``TERM`` or ``SIGTERM``. ``ValueError`` for what is no signal."""
    known: Mapping[str, signal.Signals] = signal.Signals.__members__
    found = known.get(name if name.startswith("SIG") else f"SIG{name}")
    if found is None:
        raise ValueError(f"{name!r} is no signal, such as TERM")
    return int(found)
