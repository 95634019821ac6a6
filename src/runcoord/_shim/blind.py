"""Ending a run where nothing can be seen of processes: no ``/proc``, or that of another pid namespace.

The command's group can be signalled all the same, through the command itself, which nobody but this process
can reap. And a subreaper without children is proof that nothing of the run is left. What left the group
cannot be signalled, because nothing tells its number; if it lives, the report says that somebody does.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from runcoord._core.limits import DENIED_SECONDS, KILL_SECONDS, TEARDOWN_MAX_PAUSE_SECONDS
from runcoord._core.teardown import Fate, ProcessReport, TeardownReport
from runcoord._shim.attention import Attention
from runcoord._shim.children import Children

GROUP_FLAG = 4
"""``PIDFD_SIGNAL_PROCESS_GROUP`` (Linux 6.9): the group that a pinned process leads, also after its reaping,
and never one that got its number."""


class BlindTeardown:
    """One teardown without a table of processes."""

    def __init__(
        self,
        children: Children,
        attention: Attention,
        listen: Callable[[], None],
        hurried: Callable[[], bool],
        problem: str,
    ) -> None:
        self._children = children
        self._attention = attention
        self._listen, self._hurried = listen, hurried
        self._problem = problem
        self._signals: list[str] = []
        self._pidfd = -1

    def run(self, grace: float) -> TeardownReport:
        """Like :func:`runcoord.tear_down`, with what little is known."""
        began = time.monotonic()
        try:
            self._pidfd = os.pidfd_open(self._children.leader)
        except (OSError, AttributeError):
            self._pidfd = -1
        try:
            if grace > 0:
                self._signal(signal.SIGTERM)
                self._signal(signal.SIGCONT)
            empty = self._wait(began + grace, self._hurried)
            asked = time.monotonic()
            until = asked + KILL_SECONDS
            while not empty and time.monotonic() < until:
                if not self._signal(signal.SIGKILL):
                    until = min(until, time.monotonic() + DENIED_SECONDS)
                empty = self._wait(time.monotonic() + TEARDOWN_MAX_PAUSE_SECONDS, lambda: False)
        finally:
            if self._pidfd >= 0:
                os.close(self._pidfd)
        return self._report(empty, asked - began, time.monotonic() - asked)

    def _signal(self, number: signal.Signals) -> bool:
        """False when nobody is left in the group."""
        try:
            self._send(number)
        except OSError:
            return False
        if number.name not in self._signals:
            self._signals.append(number.name)
        return True

    def _send(self, number: signal.Signals) -> None:
        if self._pidfd >= 0 and self._sends_to_groups():
            signal.pidfd_send_signal(self._pidfd, number, None, GROUP_FLAG)
        elif self._children.reaped:
            raise ProcessLookupError
        else:
            os.killpg(self._children.leader, number)

    def _sends_to_groups(self) -> bool:
        try:
            signal.pidfd_send_signal(self._pidfd, 0, None, GROUP_FLAG)
        except ProcessLookupError:
            return True
        except OSError:
            return False
        return True

    def _wait(self, until: float, given_up: Callable[[], bool]) -> bool:
        """Until nobody is left, which is true, or time is over."""
        while not self._empty():
            left = until - time.monotonic()
            if left <= 0 or given_up():
                return False
            self._attention.wait(left)
            self._listen()
        return True

    def _empty(self) -> bool:
        """Whether this process has no children any more. To know it the command is reaped too, as soon as its
        group can be signalled without it, or was killed."""
        if self._pidfd >= 0 and self._sends_to_groups():
            return self._children.reap_all()
        if signal.SIGKILL.name in self._signals:
            return self._children.reap_all()
        self._children.look()
        return False

    def _report(self, empty: bool, asking: float, killing: float) -> TeardownReport:
        leader = self._children
        if leader.status is None:
            fate, why = Fate.SURVIVED, "it was alive after the last signal"
        elif signal.SIGKILL.name in self._signals:
            fate, why = Fate.KILLED, ""
        else:
            fate, why = Fate.ASKED if self._signals else Fate.ENDED, ""
        problems = [self._problem]
        if not empty:
            problems.append("somebody of the run lives that cannot be named: no process can be seen here")
        group = ProcessReport(leader.leader, fate, ("group",), tuple(self._signals), why=why)
        return TeardownReport(
            emptied=empty,
            processes=(group,),
            counted=1,
            asking_seconds=asking,
            killing_seconds=killing,
            problems=tuple(problems),
        )
