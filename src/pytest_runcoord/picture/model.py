"""What a picture consists of. Rows are counted from 0, downwards in time; lanes from 0, left to right."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

NOWHERE = -1
"""In place of a lane or a row: there is none."""


class LaneKind(enum.StrEnum):
    """Who or what a lane stands for."""

    AROUND = "around"
    """Clocks, disks, other programs: whatever happens to the others."""
    OWNER = "owner"
    STORE = "store"
    DESTINATION = "destination"
    PROCESS = "process"


class Mark(enum.StrEnum):
    """How a row is drawn in its lane."""

    VERB = "verb"
    MOMENT = "moment"
    OPEN = "open"
    CLOSE = "close"
    CRASH = "crash"
    PAUSE = "pause"
    TIME = "time"
    FAULT = "fault"
    MESSAGE = "message"
    SIGNAL = "signal"
    BIRTH = "birth"
    """A process begins."""
    END = "end"
    """A process ends."""
    WORLD = "world"
    FOLD = "fold"
    """Stands for rows that were like those above it."""
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Lane:
    """One who acts, or is acted on."""

    name: str
    kind: LaneKind


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that happened, and what belongs to it."""

    mark: Mark
    lane: int
    to: int
    """The lane that it reaches; :data:`NOWHERE` if it stays in its own."""
    text: str
    status: str
    line: int
    """Line of the step in the file; 0 for the healing after the last one."""
    at: float
    """Seconds since the start, on the clock that also counts suspend."""
    ahead: float
    """How far the wall clock was set ahead of that (negative: behind), in seconds."""
    detail: str = ""
    moments: tuple[str, ...] = ()
    """Named effects that were reached in it."""
    writes: bool = False
    """The store took something durable."""
    stands_for: int = 1
    """Entries of the history in it."""


@dataclass(frozen=True, slots=True)
class LeaseSeen:
    """What the store said of one run's lease when it had changed.

    ``after`` is how many entries the history had by then. ``owner`` is empty when nobody held it.
    """

    after: int
    run: str
    epoch: int
    owner: str
    expires: float | None
    """On the boottime clock, counted as :attr:`Row.at`; ``None`` if it is of another boot."""
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class Lease:
    """A bar in the lane of its owner."""

    lane: int
    run: str
    epoch: int
    first: int
    last: int
    expired: int
    """First row at which it had run out; :data:`NOWHERE` if it never did."""
    ended: str
    """``outcome: NAME``, ``given back``, ``taken over``; empty if it was held at the end."""
    renewals: tuple[int, ...] = ()
    """Rows in which it was made longer."""


@dataclass(frozen=True, slots=True)
class Life:
    """A stretch of rows in which an owner ran or a process lived."""

    lane: int
    first: int
    last: int
    ended: str
    """``crash``, ``close``, ``exit``, ``killed``; empty if it was there at the end, or nobody said."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything that is drawn of one variant."""

    lanes: tuple[Lane, ...]
    rows: tuple[Row, ...]
    leases: tuple[Lease, ...] = ()
    lives: tuple[Life, ...] = ()
    entries: int = 0
    """Entries of the history, all of them."""
    left_out: int = 0
    """Rows in the middle that are not shown, because there are too many."""
    leases_left_out: int = 0
    failed: int = field(default=NOWHERE)
    """The row of the failing moment."""

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types, short: rows and bars are lists in the order of their fields."""
        return {
            "lanes": [[lane.name, lane.kind.value] for lane in self.lanes],
            "rows": [_short(row) for row in self.rows],
            "leases": [
                [
                    each.lane,
                    each.run,
                    each.epoch,
                    each.first,
                    each.last,
                    each.expired,
                    each.ended,
                    list(each.renewals),
                ]
                for each in self.leases
            ],
            "lives": [[each.lane, each.first, each.last, each.ended] for each in self.lives],
            "entries": self.entries,
            "leftOut": self.left_out,
            "leasesLeftOut": self.leases_left_out,
            "failed": self.failed,
        }


def _short(row: Row) -> list[Any]:
    values: list[Any] = [
        row.mark.value,
        row.lane,
        row.to,
        row.text,
        row.status,
        row.line,
        round(row.at, 3),
        round(row.ahead, 3),
        row.detail,
        " ".join(row.moments),
        int(row.writes),
        row.stands_for,
    ]
    # What is empty at the end says nothing; a reader takes the same values for what is not there.
    for default in (1, 0, "", "", 0.0):
        if values[-1] != default:
            break
        values.pop()
    return values
