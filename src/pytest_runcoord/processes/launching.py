"""Launching of simulated trees, by the ports :class:`runcoord.ports.Launcher` and ``Tree``."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Protocol

from pytest_runcoord.processes.plans import Plan
from pytest_runcoord.processes.port import SimProcesses
from pytest_runcoord.processes.process import SimProcess
from pytest_runcoord.processes.shim import SimShim
from pytest_runcoord.processes.table import SimTable
from runcoord import Orphans
from runcoord.errors import LaunchFailed, ProcessGone
from runcoord.ports import (
    Bounded,
    Ending,
    LaunchOrder,
    PinnedProcess,
    ProcessIdentity,
    Sleeper,
    TeardownReport,
)


class Launching(Protocol):
    """What a launcher needs of the world around it."""

    @property
    def table(self) -> SimTable: ...

    @property
    def programs(self) -> Mapping[str, Plan]:
        """Commands that can be executed, by name."""

    def label_for(self, order: LaunchOrder) -> str:
        """What the first process of this order is called in the scenario."""

    def shim_label_for(self, order: LaunchOrder) -> str:
        """What its shim is called."""

    def run_of(self, cookie: str) -> str:
        """The run with this cookie."""


class SimLauncher:
    """Launches for one process, through whose port the tree is seen."""

    def __init__(
        self, around: Launching, processes: SimProcesses, sleeper: Sleeper, bounded: Bounded
    ) -> None:
        self._around, self._processes, self._sleeper = around, processes, sleeper
        self._bounded = bounded
        self.shims: list[SimShim] = []

    def launch(self, order: LaunchOrder) -> SimTree:
        """See :meth:`runcoord.ports.Launcher.launch`."""
        around = self._around
        self._processes.reach("before-launch")
        plan = around.programs.get(order.argv[0]) or around.programs.get(PurePath(order.executable).name)
        owner: SimProcess = self._processes.process
        labels = around.label_for(order), around.shim_label_for(order)
        shim = SimShim(around.table, owner, order, labels, around.run_of(order.cookie))
        self.shims.append(shim)
        self._processes.reach("after-launch")
        return SimTree(shim, plan, self._processes, self._sleeper, self._bounded)

    def owner_is_gone(self) -> None:
        """The process that launched is dead: every lifeline of it has ended."""
        for shim in self.shims:
            shim.coordinator_is_gone()

    def end(self) -> None:
        for shim in self.shims:
            shim.end()


class SimTree:
    """See :class:`runcoord.ports.Tree`."""

    def __init__(
        self, shim: SimShim, plan: Plan | None, processes: SimProcesses, sleeper: Sleeper, bounded: Bounded
    ) -> None:
        self._shim, self._plan, self._processes, self._sleeper = shim, plan, processes, sleeper
        self._bounded = bounded
        self._woken = self._closed = False
        self._report: TeardownReport | None = None
        self._pins: list[PinnedProcess] = []

    @property
    def shim(self) -> ProcessIdentity:
        return self._identity(self._shim.process)

    @property
    def leader(self) -> ProcessIdentity:
        return self._identity(self._shim.leader)

    def _identity(self, process: SimProcess) -> ProcessIdentity:
        try:
            identity = self._processes.identify(process.pid, self._shim.order.cookie)
        except ProcessGone:
            raise LaunchFailed("the process that the run was to hang on did not start") from None
        return identity

    def open_gate(self) -> None:
        self._processes.reach("before-gate")
        order, shim = self._shim.order, self._shim
        if not shim.alive or shim.leader.ended:
            self.close()
            raise LaunchFailed("the command could not be executed: its process is gone")
        if self._plan is None:
            self.close()
            problem = f"{order.executable} cannot be executed: no such program in this world"
            raise LaunchFailed(problem, errno=errno.ENOENT, stage="executable")
        for process in (shim.process, shim.leader):
            self._pins.append(self._processes.open(self._processes.identify(process.pid, order.cookie)))
        shim.open_gate(self._plan)
        self._processes.reach("after-gate")

    def wait(self, seconds: float) -> Ending | None:
        end = self._processes.table.now() + seconds
        while True:
            self._processes.reach()
            self._processes.table.settle()
            if self._shim.status is not None:
                return Ending(self._shim.status)
            if not self._shim.alive:
                raise ProcessGone("the process that the run hangs on is gone")
            left = end - self._processes.table.now()
            if self._woken or left <= 0:
                self._woken = False
                return None
            self._pass(left)

    def interruptions(self) -> int:
        return 0

    def wake(self) -> None:
        self._woken = True

    def tear_down(self, grace: float) -> TeardownReport:
        shim = self._shim
        if self._report is None:
            self._processes.reach("before-teardown")
            shim.begin_teardown(grace)
            while shim.report is None and shim.alive:
                self._processes.reach()
                self._pass(None)
            self._report = shim.report or self._without_shim(grace)
        return self._report

    def hurry(self) -> None:
        self._processes.reach()
        self._shim.hurried = True

    def close(self, recorded: bool = True) -> None:
        if not self._closed:
            self._processes.reach()  # who has crashed closes nothing: its end says that it is gone
            self._closed = True
            self._shim.let_go(recorded)

    def _pass(self, seconds: float | None) -> None:
        """Let time pass until something happens in the table."""
        following = self._processes.table.until_next()
        ways = [each for each in (seconds, following) if each is not None]
        self._sleeper.sleep(max(0.0, min(ways, default=0.01)))

    def _without_shim(self, grace: float) -> TeardownReport:
        """The shim was killed: what can be found by the command and the cookie is ended from here."""
        orphans = Orphans(
            self._processes,
            self._shim.order,
            shim=None,
            leader=self._pins[1] if self._pins else None,
            clock=self._processes.table.clock,
            sleeper=self._sleeper,
            bounded=self._bounded,
            hurried=self._hurried(),
        )
        return orphans.tear_down(grace)

    def _hurried(self) -> Callable[[], bool]:
        return lambda: self._shim.hurried
