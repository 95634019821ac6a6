"""Ending all processes of a run, the values: who belongs to it, what a scan saw, what is reported.

What is done in which order is decided in :mod:`runcoord._core.teardown_plan`.
"""

from __future__ import annotations

import enum
from collections.abc import Collection

from runcoord._core.identity import ProcessIdentity
from runcoord._core.scope import Scope as Scope
from runcoord._core.values import value

TYPE_CHECKING = False  # that of typing, which is not loaded for the process that a run hangs on
if TYPE_CHECKING:
    from typing import Any


class Found(enum.StrEnum):
    """How a member was found. Several may hold; each is a proof while the process is pinned."""

    RECORDED = "recorded"
    """It is the recorded process."""
    GROUP = "group"
    SESSION = "session"
    DESCENDANT = "descendant"
    """Its line of parents leads to the run's subreaper or to a member."""
    COOKIE = "cookie"
    """The run's cookie is in the environment of one of its threads."""


@value
class Membership:
    """What makes a process one of a run's. A clue that is empty is not used."""

    cookie: str = ""
    """The run's own cookie; the cookies of runs nested in it stand in a line behind it."""
    group: int = 0
    """The group number of the run's first process. Only given while something keeps the number from being
    used anew: the first process not reaped yet, or pinned members in it."""
    session: int = 0
    """The same for its session."""
    ancestor: int = 0
    """The pid of the run's living subreaper: every descendant of it is a member, itself not."""
    recorded: tuple[ProcessIdentity, ...] = ()
    scope: Scope = Scope.TREE
    former_group: int = 0
    """The number that this group had, where nothing keeps it from being used anew: with the scope of a group
    those in it are members who carry the cookie too."""
    spared: str = ""
    """The marker under which this run's processes may be handed over: they and their descendants are listed,
    not signalled."""


@value
class Sighting:
    """A living member as one scan saw it."""

    identity: ProcessIdentity
    found: frozenset[Found]
    state: str = ""
    """The system's letter for what it does: ``S``, ``R``, ``T`` (stopped), ``D`` (uninterruptible)..."""
    name: str = ""
    """What the system calls it, for people; never compared."""
    parent: int = 0
    waiting_in: str = ""
    """Where in the kernel it waits, when the system tells."""


@value
class Scan:
    """What one pass over the process table saw of a run."""

    members: tuple[Sighting, ...] = ()
    spared: tuple[Sighting, ...] = ()
    unreadable: int = 0
    """Processes of which neither membership nor its absence could be seen (their environment is closed)."""
    complete: bool = True
    """False when time ran out, or the table could not be read: an empty scan of this kind proves nothing."""
    problem: str = ""


class Fate(enum.StrEnum):
    """What became of one process."""

    ENDED = "ended"
    """By itself, before it was signalled."""
    ASKED = "asked"
    """It ended after TERM, within the grace."""
    KILLED = "killed"
    SURVIVED = "survived"
    """It was signalled and lives."""
    SPARED = "spared"
    """It was handed over: not signalled."""
    STRANGER = "stranger"
    """The recorded pid belongs to somebody else now: the recorded process is gone, this one untouched."""
    UNKNOWN = "unknown"
    """It could not be told whether this is the recorded process, or it could not be held to be signalled; so
    it was not touched."""
    DENIED = "denied"
    """It lives, and the system refused the signal."""


@value
class ProcessReport:
    """One process in the report of a teardown."""

    pid: int
    """0 for those who may live and whom nobody has seen."""
    fate: Fate
    found: tuple[str, ...] = ()
    """How it was found: the proof that it belongs to the run."""
    signals: tuple[str, ...] = ()
    name: str = ""
    state: str = ""
    start: int = 0
    why: str = ""
    """Why it survived or was not signalled."""

    def document(self) -> dict[str, Any]:
        return {
            "pid": self.pid,
            "fate": self.fate.value,
            "found": list(self.found),
            "signals": list(self.signals),
            "name": self.name,
            "state": self.state,
            "start": self.start,
            "why": self.why,
        }


WITHOUT_SHIM = (
    "the process that the run hung on was gone, so not everybody could be seen: the rest was found by cookie"
)
"""A problem of a teardown. Who left the command's group and cleared its environment is found only as a
descendant of the run's subreaper."""

LEFT = frozenset({Fate.SURVIVED, Fate.UNKNOWN, Fate.DENIED})
"""Fates that mean: it may still be running."""


@value
class TeardownReport:
    """What a teardown did and what it found in the end."""

    emptied: bool
    """Two complete scans in a row found nobody."""
    processes: tuple[ProcessReport, ...] = ()
    counted: int = 0
    """Processes seen in all; ``processes`` names at most the first few hundred, those that are left first."""
    rounds: int = 0
    unreadable: int = 0
    asking_seconds: float = 0.0
    killing_seconds: float = 0.0
    problems: tuple[str, ...] = ()

    @property
    def left(self) -> tuple[ProcessReport, ...]:
        """Those that may still be running."""
        return tuple(each for each in self.processes if each.fate in LEFT)

    def document(self) -> dict[str, Any]:
        """The stored form, of JSON types."""
        return {
            "emptied": self.emptied,
            "counted": self.counted,
            "rounds": self.rounds,
            "unreadable": self.unreadable,
            "asking_seconds": round(self.asking_seconds, 6),
            "killing_seconds": round(self.killing_seconds, 6),
            "problems": list(self.problems),
            "processes": [each.document() for each in self.processes],
        }


def report_from(document: dict[str, Any]) -> TeardownReport:
    """The report in a stored form. Raises ``KeyError``, ``TypeError`` or ``ValueError`` for anything else."""
    return TeardownReport(
        emptied=bool(document["emptied"]),
        processes=tuple(_process_from(each) for each in document["processes"]),
        counted=int(document["counted"]),
        rounds=int(document["rounds"]),
        unreadable=int(document["unreadable"]),
        asking_seconds=float(document["asking_seconds"]),
        killing_seconds=float(document["killing_seconds"]),
        problems=_texts(document["problems"]),
    )


def _process_from(document: dict[str, Any]) -> ProcessReport:
    return ProcessReport(
        pid=int(document["pid"]),
        fate=Fate(document["fate"]),
        found=_texts(document["found"]),
        signals=_texts(document["signals"]),
        name=str(document["name"]),
        state=str(document["state"]),
        start=int(document["start"]),
        why=str(document["why"]),
    )


def _texts(values: Collection[object]) -> tuple[str, ...]:
    return tuple(str(each) for each in values)
