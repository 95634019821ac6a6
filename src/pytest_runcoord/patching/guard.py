"""The guard: a signal to a process that the test does not own is not sent, and the test fails.

Whoever signals sees ``PermissionError``, as from a system that does not permit it, so that code which handles
that goes on and the test says afterwards what was tried. The guard stands in front of :func:`os.kill`,
:func:`os.killpg` and :func:`signal.pidfd_send_signal`, and behind it listens to what Python reports of real
calls, so that a name imported before does not go past it. It cannot see a signal that a child process sends,
or that is sent through ``ctypes``.
"""

from __future__ import annotations

import errno
import os
import sys
from dataclasses import dataclass, field
from pathlib import PurePath

from pytest_runcoord.patching import real_processes

MAX_VIOLATIONS = 100
"""Refused signals that are kept; a loop that signals a stranger need not fill the memory."""
BETWEEN = ("pytest_runcoord.", "psutil.", "subprocess.", "asyncio.")
"""Modules that pass a signal on for somebody: the one to look at is who called them."""


class SignalRefused(PermissionError):
    """The guard did not send a signal: its target is not the test's own."""

    def __init__(self, what: str) -> None:
        super().__init__(errno.EPERM, what)
        self.what = what

    def __str__(self) -> str:
        return self.what


class StrangerSignalled(AssertionError):
    """Code under test signalled processes that the test does not own. Nothing was sent."""


@dataclass(slots=True)
class KillGuard:
    """Decides whose a real process is: descendants of this one that were started while the guard stands are
    the test's own, and those that :meth:`allow` names."""

    violations: list[str] = field(default_factory=list)
    """What was refused, in words."""
    sent: list[tuple[int, int]] = field(default_factory=list)
    """Real signals that were let through: pid and number."""
    before: frozenset[int] = field(default_factory=real_processes.everybody, repr=False)
    """Real pids that were there when the guard began."""
    _allowed: set[int] = field(default_factory=set)

    def allow(self, pid: int) -> None:
        """The test owns this real process too: one that runs since before, or that left its parents.

        ``ValueError`` for 1, the own process, and what is no pid."""
        if isinstance(pid, bool) or not isinstance(pid, int) or pid <= 1 or pid == os.getpid():
            raise ValueError(f"{pid!r:.40} is no process that a test can own")
        self._allowed.add(pid)

    def check(self) -> None:
        """Raise :class:`StrangerSignalled` when anything was refused, and forget it."""
        __tracebackhide__ = True
        refused, self.violations = self.violations, []
        if refused:
            more = f" and {len(refused) - 10} more" if len(refused) > 10 else ""
            raise StrangerSignalled("; ".join(refused[:10]) + more)

    def note_on(self, failure: BaseException) -> None:
        """Say on another failure of the test what was refused, and forget it."""
        refused, self.violations = self.violations, []
        if isinstance(failure, SignalRefused) and len(refused) == 1:
            return  # the failure says it already
        if refused:
            failure.add_note(f"Signals that were refused: {'; '.join(refused[:10])}")

    def refuse(self, what: str) -> SignalRefused:
        """Note a violation, and whose line it was; gives the error to raise."""
        if len(self.violations) < MAX_VIOLATIONS:
            self.violations.append(what + _whose_line())
        return SignalRefused(f"{what}. Nothing was sent.")

    def owns(self, pid: int) -> bool:
        """Whether a real process is the test's own, now."""
        if pid in self._allowed:
            return True
        return pid > 1 and pid not in self.before and real_processes.descends_from_us(pid)

    def was_allowed(self, pid: int) -> bool:
        """Whether :meth:`allow` named it."""
        return pid in self._allowed


def _whose_line() -> str:
    """Where the code stands that signals: it may swallow the error, and then no traceback says so."""
    frame = sys._getframe(1)
    while frame.f_back is not None and f"{frame.f_globals.get('__name__', '')}.".startswith(BETWEEN):
        frame = frame.f_back
    code = frame.f_code
    return f" (by {PurePath(code.co_filename).name}:{frame.f_lineno}, in {code.co_name})"
