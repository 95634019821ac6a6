"""Signals to real processes, as far as the guard lets them through."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable

from pytest_runcoord.patching import real_processes
from pytest_runcoord.patching.guard import KillGuard
from pytest_runcoord.processes import signal_name

_real_killpg = os.killpg


class RealSignals:
    """:func:`os.kill`, :func:`os.killpg` and what goes past them, with a guard in front."""

    def __init__(self, guard: KillGuard) -> None:
        self._guard = guard
        self._passing = False

    def kill(self, pid: int, number: int) -> None:
        """:func:`os.kill` for a real target."""
        __tracebackhide__ = True
        number = int(number)
        if pid == os.getpid() and self._harmless_to_us(number):
            self._pass(lambda: real_processes._kill(pid, number), pid, number)
            return
        if pid <= 1 or pid == os.getpid():
            raise self._guard.refuse(f"{signal_name(number)} to {_meaning(pid)}")
        if number == 0:
            self._pass(lambda: real_processes._kill(pid, 0))
            return
        if self._guard.was_allowed(pid):
            self._pass(lambda: real_processes._kill(pid, number), pid, number)
            return
        if pid in self._guard.before or not self._pass_descendant(pid, number):
            raise self._guard.refuse(
                f"{signal_name(number)} to process {pid}, which is no descendant that the test started "
                "(if it is the test's own: guard.allow(pid))"
            )

    def killpg(self, group: int, number: int) -> None:
        """:func:`os.killpg` for a real group: each member must be the test's own."""
        __tracebackhide__ = True
        number = int(number)
        if group <= 1 or group == os.getpgrp():
            raise self._guard.refuse(f"{signal_name(number)} to {_group_meaning(group)}")
        members = real_processes.members_of_group(group)
        if not members:
            raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
        for pid in members:
            if number and not self._guard.owns(pid):
                raise self._guard.refuse(
                    f"{signal_name(number)} to group {group}, in which is process {pid}, which is no "
                    "descendant that the test started (if it is the test's own: guard.allow(pid))"
                )
        self._pass(lambda: _real_killpg(group, number), -group, number)

    def through_descriptor(self, pidfd: int, number: int) -> None:
        """Refuse a signal through a real pidfd to what is not the test's own."""
        __tracebackhide__ = True
        pid = real_processes.pid_behind(pidfd)
        if number and pid is not None and not self._guard.owns(pid):
            raise self._guard.refuse(f"{signal_name(number)} to {_meaning(pid)} through a descriptor")

    def _harmless_to_us(self, number: int) -> bool:
        """A signal to the test's own process that Python itself handles, as tests of handlers send it."""
        return number == 0 or callable(signal.getsignal(number))

    def _pass_descendant(self, pid: int, number: int) -> bool:
        self._passing = True
        try:
            sent = real_processes.signal_descendant(pid, number)
        finally:
            self._passing = False
        if sent:
            self._guard.sent.append((pid, number))
        return sent

    def _pass(self, send: Callable[[], None], pid: int = 0, number: int = 0) -> None:
        self._passing = True
        try:
            send()
        finally:
            self._passing = False
        if number:
            self._guard.sent.append((pid, number))

    # --- the second line ---

    def audit(self, event: str, args: tuple[object, ...]) -> None:
        """Python reports a real ``os.kill`` or ``os.killpg``: one that did not come through this guard went
        past it, by a name that was bound before."""
        if self._passing:
            return
        target, number = args[0], args[1]
        if isinstance(target, int) and isinstance(number, int):
            if event == "os.killpg":
                self.killpg_seen(target, number)
            else:
                self.kill_seen(target, number)

    def kill_seen(self, pid: int, number: int) -> None:
        """A real ``os.kill`` is about to happen; refuse what is not the test's own."""
        if number and not self._guard.owns(pid) and not (pid == os.getpid() and self._harmless_to_us(number)):
            raise self._guard.refuse(f"{signal_name(number)} to {_meaning(pid)}, past the patched os.kill")

    def killpg_seen(self, group: int, number: int) -> None:
        """A real ``os.killpg`` is about to happen."""
        if number:
            raise self._guard.refuse(
                f"{signal_name(number)} to {_group_meaning(group)}, past the patched os.killpg"
            )


def _meaning(pid: int) -> str:
    if pid == os.getpid():
        return "the process that runs the tests"
    if pid == 1:
        return "process 1, init"
    if pid == 0:
        return "pid 0, which means the own process group"
    if pid == -1:
        return "pid -1, which means every process there is"
    return f"process {pid}" if pid > 0 else _group_meaning(-pid)


def _group_meaning(group: int) -> str:
    if group == 1:
        return "group 1, which means every process there is"
    if group in (0, os.getpgrp()):
        return f"group {group}, the own process group"
    return f"group {group}"


# --- what Python reports of real calls: a hook that is installed once, and cannot be removed ---

_listening: list[RealSignals] = []
_installed = False


def listen(signals: RealSignals) -> None:
    """Hear of real signals until :func:`unlisten`."""
    global _installed
    _listening.append(signals)
    if not _installed:
        _installed = True
        sys.addaudithook(_heard)


def unlisten(signals: RealSignals) -> None:
    _listening.remove(signals)


def _heard(event: str, args: tuple[object, ...]) -> None:
    if event in ("os.kill", "os.killpg") and _listening:
        _listening[-1].audit(event, args)
