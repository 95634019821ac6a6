"""The simulated table passes the contract that the real ones pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from engine.seeing_processes import Seen
from pytest_runcoord.processes import SimProcess
from runcoord.ports import Processes
from runcoord.testing import Can, ProcessesContract, ProcessMaker, Start

STOP = 19


class SimMaker:
    """See :class:`runcoord.testing.ProcessMaker`."""

    def __init__(self, *, handles: bool) -> None:
        self._seen = Seen(handles=handles)
        self._seen.own.reaps_after = None
        self._made: dict[int, SimProcess] = {}

    @property
    def lacks(self) -> Mapping[Can, str]:
        return {}

    def table(self) -> Processes:
        return self._seen.processes

    def start(self, how: Start, parent: int = 0) -> int:
        return self._enter(how, self._made[parent] if parent else self._seen.own, 0)

    def _enter(self, how: Start, parent: SimProcess, pid: int) -> int:
        table = self._seen.table
        between = table.start("between", parent=parent) if how.orphan else None
        process = table.start(
            "made", parent=between or parent, pid=pid, environment=dict(how.environment), reaps_after=None
        )
        if how.new_session:
            table.new_session(process)
        elif how.new_group:
            table.new_group(process)
        if between is not None:
            table.exit(between)
            table.reap(between)
        self._made[process.pid] = process
        return process.pid

    def end(self, pid: int, status: int = 0) -> None:
        self._seen.table.exit(self._made[pid], status)

    def reap(self, pid: int) -> int:
        status = self._seen.table.reap(self._made[pid])
        assert status is not None
        return status

    def end_first_thread(self, pid: int) -> None:
        process = self._made[pid]
        process.first_thread_ended, process.threads = True, 2
        self._seen.table.changed(process)

    def execute(self, pid: int, environment: Mapping[str, str]) -> None:
        self._seen.table.execute(self._made[pid], environment=environment)

    def stop(self, pid: int) -> None:
        self._seen.table.send(self._made[pid], STOP, by="somebody")

    def alive(self, pid: int) -> bool:
        return not self._made[pid].ended

    def recycle(self, pid: int, how: Start) -> None:
        self._enter(how, self._seen.own, pid)

    @contextmanager
    def forbidden(self) -> Iterator[None]:
        for process in self._made.values():
            process.denies, process.environment_closed = None, True
        yield
        for process in self._made.values():
            process.denies, process.environment_closed = frozenset(), False

    def close(self) -> None:
        """Nothing of it exists."""


class TestTheSimulatedTable(ProcessesContract):
    def make_processes(self) -> ProcessMaker:
        return SimMaker(handles=True)


class TestTheSimulatedTableWithoutDurableHandles(ProcessesContract):
    def make_processes(self) -> ProcessMaker:
        return SimMaker(handles=False)
