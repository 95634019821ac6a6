"""What steps do to the table of processes, done to real ones."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

from pytest_runcoord.real.actors import Company, RealProcess
from pytest_runcoord.world_errors import CannotBeReal

EFFECT_SECONDS = 5.0
"""Real time in which a signal has its effect on the state of a process."""


class RealTable:
    """The names of :class:`~pytest_runcoord.processes.SimTable` that steps use."""

    def __init__(self, world: Company) -> None:
        self._world = world
        self._scan_fault = ""

    @property
    def scan_fault(self) -> str:
        """What every scan of an owner meets."""
        return self._scan_fault

    @scan_fault.setter
    def scan_fault(self, fault: str) -> None:
        if fault and any(each.alive for each in self._world.real_shims.values()):
            raise CannotBeReal("a shim sees its own tree")
        self._scan_fault = fault

    @property
    def everyone(self) -> list[RealProcess]:
        self._world.refresh()
        found: list[RealProcess] = self._world.casting.everyone
        return found

    @property
    def labelled(self) -> dict[str, RealProcess]:
        found: dict[str, RealProcess] = self._world.casting.labelled
        return found

    def living(self) -> Iterator[RealProcess]:
        return (each for each in self.everyone if not each.seen["ended"])

    def exit(self, process: RealProcess, status: int = 0) -> None:
        """End a process: by its own doing, or with a negative status by that signal."""
        if process.ended:
            return
        if status < 0 or process.is_shim or not process.seen["ready"]:
            process.signal(-status or signal.SIGKILL, ended=True)
            process.killed_by = "the scenario"
        elif process.seen["state"] == "T":
            raise CannotBeReal("a process that is stopped ends by nothing of its own")
        else:
            process.tell("exit", status=status)

    def reap(self, process: RealProcess) -> None:
        """Wait until its parent has asked how it ended."""
        self._wait(process, lambda: process.seen["ended"] and not process.seen["state"], "is not reaped")

    def send_quietly(self, process: RealProcess, number: int) -> None:
        """A signal by somebody who is not part of this."""
        process.signal(number)
        if number == signal.SIGSTOP:
            self._wait(process, lambda: process.seen["state"] == "T", "does not stop")
        elif number == signal.SIGCONT:
            self._wait(process, lambda: process.seen["state"] != "T", "does not go on")

    def _wait(self, process: RealProcess, so: object, problem: str) -> None:
        assert callable(so)
        end = time.monotonic() + EFFECT_SECONDS
        while True:
            self._world.changed()
            self._world.settle()
            if so():
                return
            if time.monotonic() > end:
                raise CannotBeReal(f"{process.label} {problem}")
            time.sleep(0.002)  # states change without an event

    def release(self, process: RealProcess) -> None:
        """A process that nothing could end can be ended from now on."""
        process.unkillable = False

    def new_session(self, process: RealProcess) -> None:
        process.tell("setsid")

    def orphan(self, process: RealProcess) -> None:
        raise CannotBeReal("no process can leave its parent; let one in between end")

    def set_init_reaping(self, seconds: float | None) -> None:
        for stage in self._world.stages.values():
            stage.ask("reaping", on=seconds == 0.0)
            if seconds:
                self._world.later(seconds, lambda stage=stage: stage.ask("reaping", on=True))  # type: ignore[misc]

    def ticks(self) -> int:
        """Nobody chooses when a real process begins."""
        return 0
