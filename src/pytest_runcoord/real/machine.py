"""The real table of processes as if owners lived on machines of their own.

All processes of the real tier are on one machine; a scenario says which owners share one. Records of another
machine then are what they would be: nothing can be said of them from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from pytest_runcoord.real.asked import SCAN
from runcoord.errors import ProbeFailed, ProcessGone, SignalDenied
from runcoord.ports import (
    Guarantees,
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


def _nowhere(moment: str, **data: object) -> Mapping[str, Any]:
    """Nobody wants to know."""
    return {}


def _never(*_: object) -> NoReturn:
    raise ProbeFailed("the look never returned")


class NamedMachine:
    """A table whose host has another name, and that tells ``reach`` of the moments that the simulated one
    has. Everything else is the given table's.

    What ``reach`` answers is met here as the system would meet a caller with it: ``sight`` is what comes of a
    look, ``denied`` that a signal is not permitted. ``hang`` is called for a look that never returns, and
    ``wait`` for every wait. Without ``handles`` it is a kernel that gives no durable handle.
    """

    def __init__(
        self,
        table: Processes,
        name: str,
        reach: Callable[..., Mapping[str, Any] | None] = _nowhere,
        *,
        handles: bool = True,
        hang: Callable[[], object] = _never,
        wait: Callable[[list[int], float], object] | None = None,
    ) -> None:
        self._table, self._suffix, self._reach = table, f"{BETWEEN}{name}", reach
        self._handles, self._hang, self._wait = handles, hang, wait
        self.own = table.own

    def guarantees(self) -> Guarantees:
        found = self._table.guarantees()
        return found if self._handles else replace(found, durable_handle=False)

    def habitat(self) -> Habitat:
        found = self._table.habitat()
        return replace(found, host=found.host + self._suffix)

    def itself(self) -> ProcessIdentity:
        return self.named(self._table.itself())

    def identify(self, pid: int, cookie: str = "") -> ProcessIdentity:
        self.see("before-identify", pid)
        return self.named(self._table.identify(pid, cookie))

    def open(self, identity: ProcessIdentity) -> PinnedProcess:
        answer = self._reach("before-probe", pid=identity.pid) or {}
        found = self._table.open(self.plain(identity))
        self._judge(identity.pid, answer)
        return _Pinned(found, self)

    def scan(self, members: Membership, seconds: float) -> Scan:
        self._reach("before-scan")
        scan = self._table.scan(self._plain_members(members), seconds)
        answer = self._reach(SCAN) or {}
        if answer.get("fault"):
            return Scan(complete=False, problem=f"the process table cannot be read: {answer['fault']}")
        hidden = set(answer.get("hidden", ()))
        return replace(
            scan,
            members=self._named_all(scan.members, hidden),
            spared=self._named_all(scan.spared, hidden),
            unreadable=scan.unreadable + len(hidden),
        )

    def pin(self, members: Membership, pid: int) -> PinnedProcess | None:
        self._reach("before-pin", pid=pid)
        found = self._table.pin(self._plain_members(members), pid)
        return None if found is None else _Pinned(found, self)

    def signal_group(self, leader: PinnedProcess, number: int) -> None:
        inner = _inner(leader)
        self.send("group", inner.identity, number, lambda: self._table.signal_group(inner, number))

    def wait(self, pinned: Sequence[PinnedProcess], seconds: float) -> None:
        if self._wait is None:
            self._table.wait([_inner(each) for each in pinned], seconds)
        elif not all(each.ended() for each in pinned):
            self._wait([each.identity.pid for each in pinned if not each.ended()], seconds)

    # --- what the scenario says ---

    def see(self, moment: str, pid: int) -> None:
        """A process is about to be looked at. Raises ``ProbeFailed`` when nothing comes of that."""
        self._judge(pid, self._reach(moment, pid=pid) or {})

    def _judge(self, pid: int, answer: Mapping[str, Any]) -> None:
        sight = answer.get("sight", "")
        if sight == "hangs":
            self._hang()
        if sight:
            raise ProbeFailed(f"process {pid} could not be looked at: {sight}", pid=pid)

    def send(self, way: str, identity: ProcessIdentity, number: int, act: Callable[[], None]) -> None:
        """Send a signal, with the moments around it."""
        data: dict[str, Any] = {
            "pid": identity.pid,
            "signal": number,
            "way": way,
            "claimed": identity.cookie,
        }
        answer = self._reach("before-signal", **data) or {}
        result = "sent"
        try:
            if answer.get("denied"):
                raise SignalDenied(f"process {identity.pid} may not be signalled", pid=identity.pid)
            act()
        except SignalDenied:
            result = "denied"
            raise
        except ProcessGone:
            result = "gone"
            raise
        finally:
            self._reach("after-signal", **data, result=result)

    # --- names ---

    def named(self, identity: ProcessIdentity) -> ProcessIdentity:
        """The same, on the machine of this name."""
        habitat = identity.habitat
        handle = identity.handle if self._handles else ""
        return replace(identity, habitat=replace(habitat, host=habitat.host + self._suffix), handle=handle)

    def plain(self, identity: ProcessIdentity) -> ProcessIdentity:
        """A record of this machine as the table knows it; one of another machine as it is, which is nowhere
        here."""
        habitat = identity.habitat
        if not habitat.host.endswith(self._suffix):
            return identity
        return replace(identity, habitat=replace(habitat, host=habitat.host.removesuffix(self._suffix)))

    def _plain_members(self, members: Membership) -> Membership:
        return replace(members, recorded=tuple(self.plain(each) for each in members.recorded))

    def _named_all(self, found: tuple[Sighting, ...], hidden: set[int]) -> tuple[Sighting, ...]:
        return tuple(
            replace(each, identity=self.named(each.identity))
            for each in found
            if each.identity.pid not in hidden
        )


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
        self._machine.send("pin", self.inner.identity, number, lambda: self.inner.signal(number))

    def look(self, recorded: ProcessIdentity) -> Look:
        self._machine.see("before-look", recorded.pid)
        return self.inner.look(self._machine.plain(recorded))


def _inner(pinned: PinnedProcess) -> PinnedProcess:
    return pinned.inner if isinstance(pinned, _Pinned) else pinned
