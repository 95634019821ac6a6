"""The real table of processes as if owners lived on machines of their own.

All processes of the real tier are on one machine; a scenario says which owners share one. Records of another
machine then are what they would be: nothing can be said of them from here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from runcoord.ports import (
    Habitat,
    Look,
    Membership,
    PinnedProcess,
    Processes,
    ProcessIdentity,
    Scan,
    Sighting,
)

BETWEEN = "/"
"""Between the host's own id and the name of the scenario's machine."""


def _nowhere(moment: str, **data: object) -> None:
    """Nobody wants to know."""


class NamedMachine:
    """A table whose host has another name, and that tells ``reach`` of the moments that the simulated one
    has. Everything else is the given table's."""

    def __init__(self, table: Processes, name: str, reach: Callable[..., None] = _nowhere) -> None:
        self._table, self._suffix, self.reach = table, f"{BETWEEN}{name}", reach
        self.guarantees = table.guarantees
        self.own = table.own

    def habitat(self) -> Habitat:
        found = self._table.habitat()
        return replace(found, host=found.host + self._suffix)

    def itself(self) -> ProcessIdentity:
        return self.named(self._table.itself())

    def identify(self, pid: int, cookie: str = "") -> ProcessIdentity:
        self.reach("before-identify", pid=pid)
        return self.named(self._table.identify(pid, cookie))

    def open(self, identity: ProcessIdentity) -> PinnedProcess:
        self.reach("before-probe", pid=identity.pid)
        return _Pinned(self._table.open(self.plain(identity)), self)

    def scan(self, members: Membership, seconds: float) -> Scan:
        self.reach("before-scan")
        scan = self._table.scan(self._plain_members(members), seconds)
        return replace(scan, members=self._named_all(scan.members), spared=self._named_all(scan.spared))

    def pin(self, members: Membership, pid: int) -> PinnedProcess | None:
        self.reach("before-pin", pid=pid)
        found = self._table.pin(self._plain_members(members), pid)
        return None if found is None else _Pinned(found, self)

    def signal_group(self, leader: PinnedProcess, number: int) -> None:
        self.reach("before-signal", pid=leader.identity.pid, signal=number)
        self._table.signal_group(_inner(leader), number)
        self.reach("after-signal", pid=leader.identity.pid, signal=number)

    def wait(self, pinned: Sequence[PinnedProcess], seconds: float) -> None:
        self._table.wait([_inner(each) for each in pinned], seconds)

    # --- names ---

    def named(self, identity: ProcessIdentity) -> ProcessIdentity:
        """The same, on the machine of this name."""
        habitat = identity.habitat
        return replace(identity, habitat=replace(habitat, host=habitat.host + self._suffix))

    def plain(self, identity: ProcessIdentity) -> ProcessIdentity:
        """A record of this machine as the table knows it; one of another machine as it is, which is nowhere
        here."""
        habitat = identity.habitat
        if not habitat.host.endswith(self._suffix):
            return identity
        return replace(identity, habitat=replace(habitat, host=habitat.host.removesuffix(self._suffix)))

    def _plain_members(self, members: Membership) -> Membership:
        return replace(members, recorded=tuple(self.plain(each) for each in members.recorded))

    def _named_all(self, found: tuple[Sighting, ...]) -> tuple[Sighting, ...]:
        return tuple(replace(each, identity=self.named(each.identity)) for each in found)


class _Pinned:
    """A held process, whose record may be of a named machine."""

    def __init__(self, inner: PinnedProcess, machine: NamedMachine) -> None:
        self.inner, self._machine = inner, machine
        self.ended, self.exit_status = inner.ended, inner.exit_status
        self.close = inner.close

    @property
    def identity(self) -> ProcessIdentity:
        return self._machine.named(self.inner.identity)

    def signal(self, number: int) -> None:
        pid = self.inner.identity.pid
        self._machine.reach("before-signal", pid=pid, signal=number)
        self.inner.signal(number)
        self._machine.reach("after-signal", pid=pid, signal=number)

    def look(self, recorded: ProcessIdentity) -> Look:
        self._machine.reach("before-look", pid=recorded.pid)
        return self.inner.look(self._machine.plain(recorded))


def _inner(pinned: PinnedProcess) -> PinnedProcess:
    return pinned.inner if isinstance(pinned, _Pinned) else pinned
