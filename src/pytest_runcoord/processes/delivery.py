"""What a signal does to a simulated process, as the kernel has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pytest_runcoord.processes.process import (
    CONTINUE,
    HARMLESS,
    INIT,
    KILL,
    STOP,
    STOPPING,
    Handled,
    Ignored,
    Life,
    SimProcess,
)


class Kernel(Protocol):
    """What the effect of a signal needs of the table."""

    def exit(self, process: SimProcess, status: int) -> None: ...

    def later(self, seconds: float, action: Callable[[], None]) -> None: ...

    def settle(self) -> None: ...

    def changed(self, process: SimProcess) -> None: ...


def deliver(table: Kernel, process: SimProcess, number: int) -> None:
    """A permitted signal arrives at a process that has not ended; it may have to wait until it is heard."""
    if process.pid == INIT and process.parent is None:
        return  # the kernel protects it from what it does not handle
    if number == CONTINUE and process.life is Life.STOPPED:
        process.life = Life.RUNNING
        process.pending = [each for each in process.pending if each not in STOPPING]
        table.changed(process)
        go_on(table, process)
    waits = process.life is Life.STOPPED and number not in (KILL, CONTINUE)
    if process.unkillable or waits:
        if number not in process.pending:
            process.pending.append(number)
        return
    _act(table, process, number)


def go_on(table: Kernel, process: SimProcess) -> None:
    """What a process could not do or hear before happens now."""
    pending, process.pending = process.pending, []
    for number in sorted(pending, key=lambda each: each != KILL):
        if not process.ended:
            deliver(table, process, number)
    if process.overdue is not None:
        _end_of_handler(table, process, process.overdue)


def _act(table: Kernel, process: SimProcess, number: int) -> None:
    disposition = None if number in (KILL, STOP) else process.dispositions.get(number)
    if isinstance(disposition, Ignored) or (disposition is None and number in (*HARMLESS, CONTINUE)):
        return
    if isinstance(disposition, Handled):
        status = disposition.status
        if status is not None:
            table.later(disposition.seconds, lambda: _end_of_handler(table, process, status))
            table.settle()
    elif number in STOPPING:
        process.life = Life.STOPPED
        table.changed(process)
    else:
        table.exit(process, -number)


def _end_of_handler(table: Kernel, process: SimProcess, status: int) -> None:
    if process.life is Life.RUNNING and not process.unkillable:
        table.exit(process, status)
    elif not process.ended:
        process.overdue = status
