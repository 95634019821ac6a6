"""Functions of ``os``, ``signal``, ``time`` and ``select`` over a simulated table, for unmodified code."""

from __future__ import annotations

import errno
import os
import select
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pytest_runcoord.patching import real_processes
from pytest_runcoord.patching.guard import KillGuard
from pytest_runcoord.patching.real_signals import RealSignals
from pytest_runcoord.processes import Life, SimProcess, SimTable, signal_name
from runcoord.testing import ManualClock

BY = "the test"
"""What the table's watchers call code under test."""
GROUP_FLAG = 4
"""``PIDFD_SIGNAL_PROCESS_GROUP``."""

_real_waitpid, _real_getpgid, _real_getsid = os.waitpid, os.getpgid, os.getsid
_real_pidfd_open = getattr(os, "pidfd_open", None)
_real_pidfd_send = getattr(signal, "pidfd_send_signal", None)
_real_poll = getattr(select, "poll", None)


class WouldWaitForEver(Exception):
    """Code under test waits, without a bound, for what will not happen in this simulation."""


@dataclass(slots=True)
class _Descriptor:
    """A descriptor that stands for a simulated process: one end of a pipe, readable once it has ended."""

    process: SimProcess
    write_end: int
    inode: int
    told: bool = False


class SimulatedOs:
    """One process of a table as the process that runs the tests."""

    def __init__(self, table: SimTable, clock: ManualClock, guard: KillGuard) -> None:
        self.table, self.clock, self.guard = table, clock, guard
        self.real = RealSignals(guard)
        self.descriptors: dict[int, _Descriptor] = {}
        self.own = self._enter()
        table.change_watchers.append(self._changed)

    def _enter(self) -> SimProcess:
        group, session = os.getpgrp(), os.getsid(0)
        return self.table.start(
            BY, pid=os.getpid(), group=group, session=session, reaps_after=None, user=os.getuid()
        )

    def after_reboot(self) -> None:
        """This process is there again, as the one that was started after the boot."""
        self.own = self._enter()

    def close(self) -> None:
        self.table.change_watchers.remove(self._changed)
        for descriptor in self.descriptors.values():
            os.close(descriptor.write_end)
        self.descriptors.clear()

    # --- who is meant ---

    def find(self, pid: int) -> SimProcess | None:
        return self.table.at(self.own.place, pid)

    def _require_owned(self, process: SimProcess, number: int) -> None:
        __tracebackhide__ = True
        if number and not process.run:
            raise self.guard.refuse(
                f"{signal_name(number)} to {process.label} (pid {process.pid}), a stranger"
            )

    def _send(self, process: SimProcess, number: int, way: str) -> bool:
        """Whether the system permitted it. A zombie takes every signal, and nothing happens."""
        if process.ended:
            return True
        return self.table.send(process, number, by=BY, way=way) != "denied"

    # --- signals ---

    def kill(self, pid: int, number: int, /) -> None:
        __tracebackhide__ = True
        number = int(number)
        if pid < -1:
            self.killpg(-pid, number)
            return
        process = self.find(pid) if pid > 1 else None
        if process is None or process is self.own:
            self._kill_real(pid, number)
            return
        self._require_owned(process, number)
        if not self._send(process, number, "number"):
            raise _error(errno.EPERM)

    def _kill_real(self, pid: int, number: int) -> None:
        """Nobody in the table: a real child of the test, the test itself, or a pid that nobody has."""
        __tracebackhide__ = True
        if pid > 1 and pid != os.getpid() and not real_processes.descends_from_us(pid):
            if number and pid in real_processes.everybody():
                raise self.guard.refuse(f"{signal_name(number)} to the real process {pid}")
            raise _error(errno.ESRCH)
        self.real.kill(pid, number)

    def killpg(self, group: int, number: int, /) -> None:
        __tracebackhide__ = True
        number = int(number)
        members = [each for each in self.table.here(self.own.place) if each.group == group]
        if self.own in members or group <= 1 or not members:
            if group > 1 and not members and not real_processes.members_of_group(group):
                raise _error(errno.ESRCH)
            self.real.killpg(group, number)
            return
        for process in members:
            self._require_owned(process, number)
        permitted = [self._send(process, number, "group") for process in members]
        if not any(permitted):
            raise _error(errno.EPERM)

    def pidfd_open(self, pid: int, flags: int = 0) -> int:
        process = self.find(pid)
        if process is None or process is self.own:
            if process is None and not real_processes.descends_from_us(pid):
                raise _error(errno.ESRCH)
            assert _real_pidfd_open is not None
            real: int = _real_pidfd_open(pid, flags)
            return real
        read_end, write_end = os.pipe()
        descriptor = _Descriptor(process, write_end, os.fstat(read_end).st_ino)
        self.descriptors[read_end] = descriptor
        self._tell(descriptor)
        return read_end

    def pidfd_send_signal(self, pidfd: int, number: int, siginfo: None = None, flags: int = 0, /) -> None:
        __tracebackhide__ = True
        number, process = int(number), self.behind(pidfd)
        if process is None:
            self._send_real(pidfd, number, flags)
            return
        if process.life is Life.REAPED:
            raise _error(errno.ESRCH)
        if flags & GROUP_FLAG:
            self.killpg(process.pid, number)
            return
        self._require_owned(process, number)
        if not self._send(process, number, "pin"):
            raise _error(errno.EPERM)

    def behind(self, pidfd: int) -> SimProcess | None:
        """The simulated process that a descriptor stands for; ``None`` for any other descriptor."""
        found = self.descriptors.get(pidfd)
        if found is None:
            return None
        try:
            same = os.fstat(pidfd).st_ino == found.inode
        except OSError:
            same = False
        if not same:  # it was closed, and the number may be another file's by now
            os.close(self.descriptors.pop(pidfd).write_end)
            return None
        return found.process

    def _send_real(self, pidfd: int, number: int, flags: int) -> None:
        self.real.through_descriptor(pidfd, number)
        assert _real_pidfd_send is not None
        _real_pidfd_send(pidfd, number, None, flags)

    def _changed(self, process: SimProcess) -> None:
        if process.ended:
            for descriptor in self.descriptors.values():
                if descriptor.process is process:
                    self._tell(descriptor)

    def _tell(self, descriptor: _Descriptor) -> None:
        if descriptor.process.ended and not descriptor.told:
            descriptor.told = True
            with suppress(BrokenPipeError):  # who opened it has closed it, and waits no more
                os.write(descriptor.write_end, b"\0")

    # --- families ---

    def getpgid(self, pid: int, /) -> int:
        process = self.own if pid == 0 else self.find(pid)
        if process is not None:
            return process.group
        return self._of_real(pid, _real_getpgid)

    def getsid(self, pid: int, /) -> int:
        process = self.own if pid == 0 else self.find(pid)
        if process is not None:
            return process.session
        return self._of_real(pid, _real_getsid)

    def _of_real(self, pid: int, ask: Callable[[int], int]) -> int:
        if not real_processes.descends_from_us(pid):
            raise _error(errno.ESRCH)
        return ask(pid)

    def waitpid(self, pid: int, options: int, /) -> tuple[int, int]:
        """A real child is waited for only by its own pid: ``-1`` means the simulated ones."""
        if pid > 0 and self.find(pid) is None and real_processes.parent_of(pid) == os.getpid():
            return _real_waitpid(pid, options)
        while True:
            children = [each for each in self._children() if _is_meant(each, pid, self.own.group)]
            if not children:
                raise _error(errno.ECHILD)
            for child in children:
                if child.ended:
                    self.table.reap(child)
                    return child.pid, _wait_status(child)
            if options & os.WNOHANG:
                return 0, 0
            self.pass_until(None, "waitpid")

    def _children(self) -> list[SimProcess]:
        self.table.settle()
        return list(self.own.children)

    # --- time ---

    def sleep(self, seconds: float, /) -> None:
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        self.clock.advance(seconds)

    def pass_until(self, end: float | None, what: str) -> None:
        """Let time pass until something happens in the table, or the monotonic clock has come to ``end``."""
        following = self.table.until_next()
        left = None if end is None else max(0.0, end - self.clock.monotonic())
        if following is None and left is None:
            raise WouldWaitForEver(
                f"{what} waits without a bound for a process that does not end by itself in this simulation; "
                "signal it, describe it with 'ends_after', or wait with a timeout"
            )
        ways = [each for each in (following, left) if each is not None]
        self.clock.advance(max(0.0, min(ways)))

    def poll(self) -> Any:
        """:func:`select.poll`; a wait for simulated processes costs only time of the simulation."""
        return SimulatedPoll(self)


class SimulatedPoll:
    """A real poll object; a wait that involves simulated processes costs virtual time only."""

    def __init__(self, over: SimulatedOs) -> None:
        assert _real_poll is not None
        self._over, self._real = over, _real_poll()
        self._registered: set[int] = set()

    def register(self, fd: Any, eventmask: int = select.POLLIN | select.POLLPRI | select.POLLOUT) -> None:
        self._real.register(fd, eventmask)
        self._registered.add(fd if isinstance(fd, int) else fd.fileno())

    def modify(self, fd: Any, eventmask: int) -> None:
        self._real.modify(fd, eventmask)

    def unregister(self, fd: Any) -> None:
        self._real.unregister(fd)
        self._registered.discard(fd if isinstance(fd, int) else fd.fileno())

    def poll(self, timeout: float | None = None, /) -> list[tuple[int, int]]:
        simulated = [fd for fd in self._registered if self._over.behind(fd) is not None]
        if not simulated:
            really: list[tuple[int, int]] = self._real.poll(timeout)
            return really
        forever = timeout is None or timeout < 0
        clock = self._over.clock
        end = None if forever else clock.monotonic() + (timeout or 0.0) / 1000
        while True:
            self._over.table.settle()
            found: list[tuple[int, int]] = self._real.poll(0)
            if found or (end is not None and clock.monotonic() >= end):
                return found
            self._over.pass_until(end, "poll")


def _is_meant(child: SimProcess, pid: int, own_group: int) -> bool:
    """Whether ``waitpid`` with this first argument is about a child."""
    if pid > 0:
        return child.pid == pid
    if pid == -1:
        return True
    return child.group == (own_group if pid == 0 else -pid)


def _wait_status(process: SimProcess) -> int:
    status = process.status or 0
    return -status if status < 0 else status << 8


def _error(number: int) -> OSError:
    """``ProcessLookupError`` for ESRCH, and so on."""
    return OSError(number, os.strerror(number))


def clock_functions(clock: ManualClock, sleep: Callable[[float], None]) -> dict[str, Callable[..., Any]]:
    """What of :mod:`time` reads and moves the table's clock."""
    return {
        "sleep": sleep,
        "time": clock.wall,
        "time_ns": lambda: int(clock.wall() * 1e9),
        "monotonic": clock.monotonic,
        "monotonic_ns": lambda: int(clock.monotonic() * 1e9),
    }
