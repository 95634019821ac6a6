"""Who the process of an owner is, in a world that has no table of processes yet.

An owner writes down who it is with the first thing that it acquires, and asks where it lives before it looks
at others. Most scenarios want no more of processes. So the number, the start and the handle of its process
are only promised; when a table is made, the process is started in it as promised.
"""

from __future__ import annotations

from pytest_runcoord.incarnation import Incarnation
from pytest_runcoord.processes.numbers import FIRST_PID
from pytest_runcoord.processes.port import habitat_of, identity_of
from pytest_runcoord.processes.process import Place, SimProcess
from pytest_runcoord.processes.table import SimTable, ticks_of
from runcoord.ports import Clock, Habitat, ProcessIdentity
from runcoord.values import record


@record
class Promise:
    """The process that one incarnation gets when there is a table."""

    incarnation: Incarnation
    place: Place
    pid: int
    start: int
    serial: int
    habitat: Habitat
    status: int | None = None
    """How it has ended meanwhile."""
    process: SimProcess | None = None
    """What the promise was kept with."""


class Promises:
    """The promised processes of one boot, in the order of their start."""

    def __init__(self, clock: Clock, handles: bool) -> None:
        self._clock, self._handles = clock, handles
        self._made: dict[int, Promise] = {}
        self._next_pids: dict[tuple[str, str], int] = {}
        self._serial = 0

    def made_to(self, incarnation: Incarnation) -> Promise | None:
        """What was promised to an incarnation."""
        return self._made.get(id(incarnation))

    def make(self, incarnation: Incarnation, place: Place) -> Promise:
        """Promise what a table would give now to one who was promised nothing."""
        if place.table not in self._next_pids:
            self._next_pids[place.table] = FIRST_PID
            self._serial += 1  # of init
        pid = self._next_pids[place.table]
        self._next_pids[place.table] = pid + 1
        self._serial += 1
        habitat = habitat_of(place, self._clock.boot_id())
        start = ticks_of(self._clock.boottime())
        made = Promise(incarnation, place, pid, start, self._serial, habitat)
        self._made[id(incarnation)] = made
        return made

    def identity(self, promise: Promise) -> ProcessIdentity:
        """As the table will tell it."""
        serial = promise.serial if self._handles else 0
        return identity_of(promise.place, promise.habitat, promise.pid, promise.start, serial)

    def keep(self, table: SimTable) -> list[Promise]:
        """Start all of them in a new table; those that have ended meanwhile end there too."""
        kept = list(self._made.values())
        self._made.clear()
        for promise in kept:
            owner = promise.incarnation.owner
            process = table.start(
                owner, place=promise.place, environment={}, name="gateway", start=promise.start
            )
            assert (process.pid, process.serial) == (promise.pid, promise.serial)
            promise.process = process
            if promise.status is not None:
                table.exit(process, promise.status)
        return kept
