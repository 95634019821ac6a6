"""The simulated shim of a run: it holds the run's tree, and ends it when its coordinator is gone.

It tears down by the library's own engine, over the table as the shim sees it, on the world's clocks.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

from pytest_runcoord.probed_ports import Crashed
from pytest_runcoord.processes.fiber import Fiber, FiberEnded
from pytest_runcoord.processes.pinned import SimPinned
from pytest_runcoord.processes.plans import Plan, become, plant
from pytest_runcoord.processes.port import SimProcesses
from pytest_runcoord.processes.process import SimProcess
from pytest_runcoord.processes.table import SimTable
from runcoord import tear_down
from runcoord.errors import RuncoordError
from runcoord.ports import LastWords, LaunchOrder, Membership, Message, TeardownReport

SHIM = "runcoord-shim"
"""What the system calls it."""


class _ShimProbe:
    """A shim that was killed does nothing any more, wherever it was."""

    def __init__(self, process: SimProcess) -> None:
        self._process = process

    def reach(self, moment: str, **data: object) -> None:
        if self._process.ended:
            raise FiberEnded

    def fault(self, verb: str) -> str | None:
        return None

    def hang(self) -> None:
        """It waits for ever, and is of no further use; its process is still there."""
        raise FiberEnded

    def send(self, message: Message) -> None:
        raise Crashed("a shim delivers nothing")


class _TableClock:
    """The clocks as of what happens now in the table."""

    def __init__(self, table: SimTable) -> None:
        self._table = table

    def monotonic(self) -> float:
        return self._table.now()

    def wall(self) -> float:
        return self._table.clock.wall()

    def boottime(self) -> float:
        return self._table.clock.boottime()

    def boot_id(self) -> str:
        return self._table.clock.boot_id()


class SimShim:
    """One run: its shim process, behind the gate its leader, and what is to become of them."""

    def __init__(
        self, table: SimTable, owner: SimProcess, order: LaunchOrder, labels: tuple[str, str], run: str
    ) -> None:
        self.table, self.order = table, order
        label, shim_label = labels
        # It was forked twice: nobody but init waits for it.
        self.process = table.start(
            shim_label,
            place=owner.place,
            name=SHIM,
            subreaper=True,
            run=run,
            user=owner.user,
            environment=dict(owner.environment),
        )
        # The leader is reaped last, orphans at once: see `_reap`.
        self.process.reaps_after = None
        self.leader = table.start(label, parent=self.process, name=SHIM, gate=True)
        table.new_group(self.leader)
        table.change_watchers.append(self._changed)
        self.report: TeardownReport | None = None
        self.status: int | None = None
        self.by_itself = self.executed = self.recorded = self.hurried = False
        self._abandoned = False
        self._fiber: Fiber | None = None
        self._on_report: list[Callable[[], None]] = []

    @property
    def alive(self) -> bool:
        self.table.settle()
        return not self.process.ended

    def open_gate(self, plan: Plan) -> None:
        """The command begins."""
        self.executed, self.leader.gate = True, False
        self.table.execute(self.leader, name=plan.program or plan.name, environment=self.order.environment)
        self.leader.argv = self.order.argv
        become(self.table, self.leader, plan, leads=True)
        for child in plan.children:
            plant(self.table, child, self.leader)

    # --- its life ---

    def coordinator_is_gone(self) -> None:
        """The lifeline has ended: everything is torn down, and the last words are written."""
        if not self._abandoned and self.alive:
            self._abandoned = True
            self.begin_teardown(self.order.grace)

    def begin_teardown(self, grace: float) -> None:
        """Once; what is under way goes on."""
        if self._fiber is None and self.alive:
            self._fiber = Fiber(lambda fiber: self._tear_down(fiber, grace), self._later)
            self._fiber.start()
        elif self._abandoned and self.report is not None:
            self._leave()

    def _later(self, seconds: float, resume: Callable[[], None]) -> None:
        self.table.later(seconds, resume, is_fiber=True)

    def let_go(self, recorded: bool) -> None:
        """The coordinator has closed the tree."""
        self.recorded = recorded
        if self.report is None:
            self.coordinator_is_gone()
        elif self.alive:
            self._leave()

    def end(self) -> None:
        """The world is over."""
        if self._changed in self.table.change_watchers:
            self.table.change_watchers.remove(self._changed)
        if self._fiber is not None:
            self._fiber.end()

    def _tear_down(self, fiber: Fiber, grace: float) -> None:
        processes = SimProcesses(
            self.table, self.process, _ShimProbe(self.process), fiber, by=self.process.label
        )
        cookie = self.order.cookie
        members = Membership(
            cookie=cookie,
            group=self.leader.pid,
            session=0 if self.order.terminal else self.process.pid,
            ancestor=self.process.pid,
            scope=self.order.scope,
            spared=cookie,
        )
        leader = SimPinned(processes, self.leader, cookie)  # a child of its own: nothing has to be looked at
        try:
            self.report = tear_down(
                processes,
                members,
                grace=grace,
                clock=_TableClock(self.table),
                sleeper=fiber,
                hurried=lambda: self.hurried,
                leader=leader,
            )
        except RuncoordError as error:
            self.report = TeardownReport(emptied=False, problems=(str(error),))
        if self.leader.ended:
            self.table.reap(self.leader)
        if self._abandoned:
            self._leave()

    def _leave(self) -> None:
        """Write how it ended unless that was recorded, and go."""
        if self.order.last_words and not self.recorded:
            words = LastWords(
                cookie=self.order.cookie,
                executed=self.executed,
                status=self.status if self.executed else None,
                by_itself=self.by_itself and self.executed,
                interruptions=0,
                teardown=self.report,
            )
            with contextlib.suppress(OSError):  # its folder is gone: recovery does without
                Path(self.order.last_words).write_text(json.dumps(words.document()), "utf-8")
        self.table.exit(self.process)

    def _changed(self, process: SimProcess) -> None:
        """Its children end: the leader is looked at and kept, adopted orphans are reaped."""
        if not process.ended or self.process.ended:
            return
        if process is self.leader:
            if self.status is None:
                self.status, self.by_itself = process.status, self._fiber is None
        elif process.parent is self.process:
            self.table.reap(process)
