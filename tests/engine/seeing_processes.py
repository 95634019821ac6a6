"""A simulated table with one process of its own that looks at it, without a world around."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pytest_runcoord.processes import Place, SignalSent, SimProcess, SimProcesses, SimTable
from runcoord.ports import Message
from runcoord.testing import ManualClock, ManualSleeper

COOKIE = "ab" * 16
TERM, KILL, CONT, STOP = 15, 9, 18, 19


class QuietProbe:
    """A probe of nobody: nothing crashes, nothing fails."""

    def __init__(self) -> None:
        self.reached: list[str] = []

    def reach(self, moment: str, **data: object) -> None:
        if moment:
            self.reached.append(moment)

    def fault(self, verb: str) -> str | None:
        return None

    def hang(self) -> None:
        raise AssertionError("nothing hangs here")

    def send(self, message: Message) -> None:
        raise AssertionError("nothing is sent here")


@dataclass
class Seen:
    """A clock, a table on it, and what one process of it sees."""

    clock: ManualClock = field(default_factory=ManualClock)
    handles: bool = True
    place: Place = field(default_factory=Place)
    signals: list[SignalSent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.table = SimTable(self.clock, handles=self.handles)
        self.table.signal_watchers.append(self.signals.append)
        self.own = self.table.start("gw1", place=self.place)
        self.probe = QuietProbe()
        self.processes = SimProcesses(self.table, self.own, self.probe, ManualSleeper(self.clock))

    def child(self, label: str = "child", **more: Any) -> SimProcess:
        """A process of the run ``r1``, with its cookie, in a session of its own."""
        child = self.table.start(
            label, parent=self.own, run="r1", environment={"RUNCOORD_COOKIE": COOKIE}, **more
        )
        self.table.new_session(child)
        return child
