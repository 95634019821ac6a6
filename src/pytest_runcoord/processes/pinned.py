"""One process of a simulated table, held: its pid cannot come to mean another one through this."""

from __future__ import annotations

from typing import Protocol

from pytest_runcoord.processes.membership import belongs
from pytest_runcoord.processes.process import Life, Sight, SimProcess
from runcoord.errors import ProcessGone, SignalDenied
from runcoord.ports import Habitat, Likeness, Look, ProcessIdentity, compare, same_place

UNSEEN = {
    Sight.NOTHING: "its identity cannot be read",
    Sight.DENIED: "the system does not permit to look at it",
    Sight.HANGS: "looking at it does not return",
}


class SeenBy(Protocol):
    """What a pinned process asks of the port through which it was opened."""

    def reach(self, moment: str = "", **data: object) -> None: ...

    def habitat(self) -> Habitat: ...

    def identity_of(self, process: SimProcess, cookie: str = "") -> ProcessIdentity: ...

    def send(self, process: SimProcess, number: int, way: str, claimed: str) -> str: ...

    def settle(self) -> None: ...

    def look_at(self, process: SimProcess) -> None: ...

    @property
    def tells_status(self) -> bool: ...


class SimPinned:
    """See :class:`runcoord.ports.PinnedProcess`. ``claimed`` is the cookie of the run that it was opened for,
    where that is known: the history says of each signal for whom it was meant."""

    def __init__(self, seen_by: SeenBy, process: SimProcess, claimed: str) -> None:
        self._seen_by, self.process, self.claimed = seen_by, process, claimed
        self.identity = seen_by.identity_of(process)

    def look(self, recorded: ProcessIdentity) -> Look:
        self._seen_by.reach("before-look", pid=self.process.pid)
        self._seen_by.settle()
        return compared(self._seen_by, self.process, recorded)

    def ended(self) -> bool:
        self._seen_by.settle()
        return self.process.ended

    def exit_status(self) -> int | None:
        self._seen_by.reach()
        return self.process.status if self.ended() and self._seen_by.tells_status else None

    def signal(self, number: int) -> None:
        self._seen_by.settle()
        result = self._seen_by.send(self.process, number, "pin", self.claimed)
        if result == "gone" and self.process.life is Life.REAPED:
            raise ProcessGone(f"process {self.process.pid} has ended", pid=self.process.pid)
        if result == "denied":
            raise SignalDenied(f"process {self.process.pid} may not be signalled", pid=self.process.pid)

    def close(self) -> None:
        """Nothing is held that costs anything."""


def compared(seen_by: SeenBy, process: SimProcess, recorded: ProcessIdentity) -> Look:
    """What a process is, against a record. Raises ProbeFailed when it cannot be looked at."""
    place = same_place(recorded.habitat, seen_by.habitat())
    if place is not Likeness.SAME:
        ended = place is Likeness.DIFFERENT
        return Look(
            place, ended, why="the machine was started anew" if ended else "it was recorded elsewhere"
        )
    by_handle = bool(recorded.handle and seen_by.identity_of(process).handle)
    if process.life is Life.REAPED and not by_handle:
        return Look(Likeness.DIFFERENT, ended=True)
    seen_by.look_at(process)
    proved = belongs(process, recorded.cookie)
    seen = seen_by.identity_of(process, recorded.cookie if proved else "")
    if by_handle:
        return Look(compare(recorded, seen, cookie_read=False), process.ended, process.state, process.name)
    likeness = compare(recorded, seen, cookie_read=not process.environment_closed)
    why = "nothing that was read proves which process it is" if likeness is Likeness.UNKNOWN else ""
    return Look(likeness, process.ended, process.state, process.name, why)
