"""A table of a few processes on a clock of its own, for tests of the teardown's order of things.

Each process says how it takes signals. The table keeps what was sent to whom, and when.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from runcoord.errors import ProbeFailed, ProcessGone, SignalDenied
from runcoord.ports import (
    Found,
    Guarantees,
    Habitat,
    Likeness,
    Look,
    Membership,
    PinnedProcess,
    ProcessIdentity,
    Scan,
    Sighting,
)
from runcoord.testing import ManualClock

HERE = Habitat("host", "boot", "pid:[1]", "time:[1]", "small-table")
GROUP, LEADER, OWN = 100, 100, 50
TERM, CONT, KILL = 15, 18, 9
RUN = Membership(cookie="c" * 32, group=GROUP)


@dataclass
class Small:
    """One process."""

    pid: int
    found: frozenset[Found] = frozenset({Found.GROUP, Found.COOKIE})
    takes: float | None = 0.0
    """Seconds from TERM to its end; ``None``: it ignores TERM."""
    dies: bool = True
    """Whether KILL ends it."""
    permitted: bool = True
    stopped: bool = False
    spared: bool = False
    parent: int = 0
    forks: int = 0
    """Children that it still has when it is signalled the first time; each ignores TERM."""
    start: int = 1
    ends_at: float | None = None
    waiting: bool = False
    """It was asked while it was stopped."""
    received: list[tuple[int, float]] = field(default_factory=list)

    @property
    def identity(self) -> ProcessIdentity:
        return ProcessIdentity(self.pid, self.start, HERE)


class SmallTable:
    """Answers as the port of processes; waiting moves the clock."""

    def __init__(self, *processes: Small) -> None:
        self.clock = ManualClock()
        self.everyone = list(processes)
        self.pins_left = 10_000
        self.pins_open = 0
        self.scans = 0
        self.faulty_scan: Callable[[int], Exception | Scan | None] = lambda number: None
        """Given the number of the scan (1, 2, …), what is answered instead."""
        self.scan_takes = 0.0
        self.born_in_scan: dict[int, Small] = {}
        """By the number of the scan: one that is born just after it."""
        self.likeness: dict[int, Likeness] = {}
        self.needs_parent: set[int] = set()
        """Members (by pid) only as long as their parents live."""
        self.leaving: list[Small] = []
        """Members that leave their group between a scan and the signal to it."""
        self.slept = 0.0
        self.group_signals = True

    # --- what happened ---

    def sent(self, process: Small) -> list[int]:
        return [number for number, _ in process.received]

    def lives(self, process: Small) -> bool:
        return process.ends_at is None or process.ends_at > self.clock.monotonic()

    def parent(self, process: Small) -> int:
        """0 when it has lost it."""
        alive = {each.pid for each in self.living()}
        return process.parent if process.parent in alive else 0

    def belongs(self, process: Small) -> bool:
        return process.pid not in self.needs_parent or bool(self.parent(process))

    def living(self) -> list[Small]:
        return [each for each in self.everyone if self.lives(each)]

    def send(self, process: Small, number: int) -> None:
        now = self.clock.monotonic()
        if not self.lives(process):
            raise ProcessGone("gone")
        if not process.permitted:
            raise SignalDenied("denied")
        process.received.append((number, now))
        for _ in range(process.forks):
            pid = 1 + max(each.pid for each in self.everyone)
            self.everyone.append(Small(pid, frozenset({Found.COOKIE}), takes=None))
        process.forks = 0
        if number == KILL and process.dies:
            process.ends_at = now
        elif number == TERM and process.stopped:
            process.waiting = True
        elif (number == TERM or (number == CONT and process.waiting)) and process.takes is not None:
            process.ends_at = now + process.takes
        if number == CONT:
            process.stopped = process.waiting = False

    # --- the port ---

    def habitat(self) -> Habitat:
        return HERE

    def guarantees(self) -> Guarantees:
        return Guarantees("none", True, True, self.group_signals, True)

    def itself(self) -> ProcessIdentity:
        return ProcessIdentity(OWN, 1, HERE)

    def own(self) -> frozenset[int]:
        return frozenset({0, 1, OWN})

    def identify(self, pid: int, cookie: str = "") -> ProcessIdentity:
        raise ProbeFailed("not needed here")

    def scan(self, members: Membership, seconds: float) -> Scan:
        self.scans += 1
        self.clock.advance(min(self.scan_takes, seconds))
        fault = self.faulty_scan(self.scans)
        if isinstance(fault, Exception):
            raise fault
        seen = [
            (each, Sighting(each.identity, each.found, "S" if each.dies else "D", "small", self.parent(each)))
            for each in self.living()
            if each.found and self.belongs(each)
        ]
        if self.scans in self.born_in_scan:
            self.everyone.append(self.born_in_scan[self.scans])
        if fault is not None:
            return fault
        return Scan(
            tuple(sighting for each, sighting in seen if not each.spared),
            tuple(sighting for each, sighting in seen if each.spared),
        )

    def open(self, identity: ProcessIdentity) -> PinnedProcess:
        return self._pinned(identity.pid)

    def pin(self, members: Membership, pid: int) -> PinnedProcess | None:
        try:
            pin = self._pinned(pid)
        except ProcessGone:
            return None
        if self.belongs(pin.process):
            return pin
        pin.close()
        return None

    def _pinned(self, pid: int) -> Pin:
        for each in self.living():
            if each.pid == pid:
                if self.pins_open >= self.pins_left:
                    raise ProbeFailed("no more handles")
                self.pins_open += 1
                return Pin(self, each)
        raise ProcessGone("gone")

    def signal_group(self, leader: PinnedProcess, number: int) -> None:
        if not self.group_signals:
            raise ProbeFailed("this system cannot")
        for each in self.leaving:
            each.found -= {Found.GROUP}
        reached = 0
        for each in [each for each in self.living() if Found.GROUP in each.found]:
            try:
                self.send(each, number)
            except SignalDenied:
                continue
            reached += 1
        if not reached:
            raise ProcessGone("nobody")

    def wait(self, pinned: Sequence[PinnedProcess], seconds: float) -> None:
        now = self.clock.monotonic()
        ends = []
        for pin in pinned:
            assert isinstance(pin, Pin)
            ends.append(pin.process.ends_at)
        if not ends:
            return
        last = max(now + seconds if end is None else end for end in ends)
        self.clock.advance(max(0.0, min(seconds, last - now)))

    # --- waiting ---

    def sleep(self, seconds: float) -> None:
        self.slept += seconds
        self.clock.advance(seconds)


class Pin:
    """Holds one process of the table."""

    def __init__(self, table: SmallTable, process: Small) -> None:
        self.table, self.process, self.open = table, process, True

    @property
    def identity(self) -> ProcessIdentity:
        return self.process.identity

    def look(self, recorded: ProcessIdentity) -> Look:
        likeness = self.table.likeness.get(self.process.pid, Likeness.SAME)
        return Look(likeness, ended=self.ended(), state="S", name="small")

    def ended(self) -> bool:
        return not self.table.lives(self.process)

    def exit_status(self) -> int | None:
        return None

    def signal(self, number: int) -> None:
        assert self.open
        self.table.send(self.process, number)

    def close(self) -> None:
        if self.open:
            self.open = False
            self.table.pins_open -= 1
