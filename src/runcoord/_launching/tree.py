"""A run's tree of processes, seen from its coordinator."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import time
from collections.abc import Callable

from runcoord._core.grace import require_grace
from runcoord._core.identity import ProcessIdentity
from runcoord._core.limits import (
    KILL_SECONDS,
    LAUNCH_SECONDS,
    REPORT_SECONDS,
    SCAN_SECONDS,
    SHIM_END_SECONDS,
)
from runcoord._core.teardown import TeardownReport, report_from
from runcoord._launching.channel import Channel
from runcoord.errors import LaunchFailed, ProcessError, ProcessGone
from runcoord.ports import Ending, LaunchOrder, PinnedProcess, Processes

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:  # loaded for a run on a terminal, or whose shim is gone
    from typing import Any

    from runcoord._launching.orphans import Orphans
    from runcoord._launching.terminal import Terminal

REMEDIES = {
    errno.ENOENT: "The file was there: check the interpreter that its first line names.",
    errno.ENOEXEC: "It is no program of this system; a script needs a first line like #!/bin/sh.",
}
"""What to do about a command that was found, and that the system did not execute."""
STOP_LOOK_SECONDS = 0.5
"""How often it is looked whether the shim was stopped, on a terminal only: what no event tells."""
CONTINUE_SECONDS = 1.0
"""How often a shim that tears down is continued: somebody may have stopped it, and no event tells that. So
each stop costs a teardown this at most."""


class ShimTree:
    """A launched run: :class:`runcoord.ports.Tree`.

    One thread waits and tears down; :meth:`wake` and :meth:`hurry` may come from anywhere, also from a signal
    handler.
    """

    def __init__(
        self,
        order: LaunchOrder,
        processes: Processes,
        channel: Channel,
        process: subprocess.Popen[bytes],
        terminal: Terminal | None,
    ) -> None:
        self._order = order
        self._processes = processes
        self._channel = channel
        self._process = process
        """With a terminal the shim itself; else the process that forked it, and ended at once."""
        self._terminal = terminal
        self._pids: tuple[int, int] | None = None
        self._identities: dict[int, ProcessIdentity] = {}
        self._pins: dict[int, PinnedProcess] = {}
        self._heard: list[dict[str, Any]] = []
        """Messages that are not noted yet: what was heard is not lost when an exception leaves a wait."""
        self._failure: dict[str, Any] | None = None
        self._opened = False
        self._status: int | None = None
        self._stopped = self._woken = self._hurry = self._closed = False
        self._interruptions = self._seen_interruptions = 0
        self._continued = 0
        """How often the command was continued after a stop."""
        self._report: TeardownReport | None = None
        self._asked_until: float | None = None
        self._orphans: Orphans | None = None

    # --- starting ---

    @property
    def shim(self) -> ProcessIdentity:
        """See :meth:`runcoord.ports.Tree.shim`."""
        return self._identity(self._started()[0])

    @property
    def leader(self) -> ProcessIdentity:
        """See :meth:`runcoord.ports.Tree.leader`."""
        return self._identity(self._started()[1])

    def _identity(self, pid: int) -> ProcessIdentity:
        """As it was read when both existed."""
        known = self._identities.get(pid)
        if known is not None:
            return known
        try:
            return self._processes.identify(pid, self._order.cookie)
        except ProcessGone as gone:  # it was killed, behind its gate
            self.close()
            raise LaunchFailed(f"{gone.problem} before the command began; somebody killed it") from gone

    def _started(self) -> tuple[int, int]:
        """Pids of the shim and the command, as soon as both exist."""
        self._hear_until(lambda: self._pids is not None or self._failure is not None, LAUNCH_SECONDS)
        if self._pids is None:
            self.close()
            raise self._launch_failed("the process that the run was to hang on did not start")
        return self._pids

    def open_gate(self) -> None:
        """See :meth:`runcoord.ports.Tree.open_gate`."""
        _, leader = self._started()
        if self._terminal is not None:
            self._terminal.offer(leader)
        order = self._order
        self._channel.say(
            {
                "do": "open",
                "executable": order.executable,
                "argv": order.argv,
                "directory": order.directory,
                "environment": dict(order.environment),
                "cookie": order.cookie,
                "scope": order.scope.value,
                "grace": order.grace,
                "last_words": order.last_words,
            }
        )
        self._hear_until(lambda: self._opened or self._failure is not None or self._gone, LAUNCH_SECONDS)
        if not self._opened:
            self.close()
            raise self._launch_failed("the command could not be executed")

    def _launch_failed(self, problem: str) -> LaunchFailed:
        failure = self._failure or {}
        number = int(failure.get("errno", 0))
        reason = os.strerror(number) if number else str(failure.get("problem", "its process is gone"))
        stage = str(failure.get("stage", ""))
        what = {
            "executable": f"{self._order.executable} cannot be executed",
            "directory": f"the directory {self._order.directory} cannot be entered",
        }.get(stage, problem)
        remedy = REMEDIES.get(number, "") if stage == "executable" else ""
        return LaunchFailed(f"{what}: {reason}", remedy=remedy, errno=number, stage=stage)

    # --- waiting ---

    def wait(self, seconds: float) -> Ending | None:
        """See :meth:`runcoord.ports.Tree.wait`.

        Raises :class:`~runcoord.errors.ProcessGone` when the shim is gone, and nobody can tell any more how
        the command ends; :meth:`tear_down` does without it.
        """
        until, heard = time.monotonic() + seconds, False
        while True:
            if self._status is not None:
                self._take_terminal_back()
                return Ending(self._status, interrupted=self._interruptions > 0)
            if self._closed:
                raise ProcessGone("the tree was closed before its command was heard to end")
            if self._was_stopped():
                self._follow_the_stop()
            if self._gone:
                return self._ending_without_shim()
            interrupted = self._interruptions > self._seen_interruptions
            self._seen_interruptions = self._interruptions
            left = until - time.monotonic()
            if self._woken or interrupted or (heard and left <= 0):
                self._woken = False
                return None
            heard = True
            self._hear(max(0.0, self._looking_for_stops(left)))

    def interruptions(self) -> int:
        """See :meth:`runcoord.ports.Tree.interruptions`."""
        return self._interruptions

    def wake(self) -> None:
        """See :meth:`runcoord.ports.Tree.wake`."""
        self._woken = True
        self._channel.wake()

    def _was_stopped(self) -> bool:
        """Whether the command was stopped, or the shim with it, since it was last continued."""
        return self._pids is not None and (self._stopped or self._shim_was_stopped())

    def _follow_the_stop(self) -> None:
        """The command was stopped from the terminal: this process stops as well, so that the shell sees it,
        and when it is continued the command is too."""
        self._stopped = False
        if self._terminal is None:
            return
        had_it = self._terminal.handed
        self._terminal.take_back()
        if had_it or not self._terminal.in_foreground():
            from runcoord._launching.terminal import stop_this_job

            stop_this_job()
        self._terminal.hand_to(self._started()[1])
        self._continued += 1
        self._channel.say({"do": "continue", "count": self._continued})
        self._continue_the_shim()

    def _looking_for_stops(self, seconds: float) -> float:
        """The longest that may be listened at once."""
        return seconds if self._terminal is None else min(seconds, STOP_LOOK_SECONDS)

    def _shim_was_stopped(self) -> bool:
        """It is in the group of a command that has the terminal, and so stops with a shell that suspends
        itself with its group; then it cannot say that the command was stopped."""
        if self._terminal is None:
            return False
        try:
            return os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOHANG) is not None
        except ChildProcessError:
            return False

    def _continue_the_shim(self) -> None:
        if self._terminal is not None:
            self._process.send_signal(signal.SIGCONT)  # our child; nothing is sent when it was reaped
        elif self._pids is not None and (shim := self._pins.get(self._pids[0])) is not None:
            with contextlib.suppress(ProcessError):
                shim.signal(signal.SIGCONT)

    def _ending_without_shim(self) -> Ending:
        leader = self._pins.get(self._pids[1]) if self._pids else None
        status = leader.exit_status() if leader is not None and leader.ended() else None
        if status is None:
            raise ProcessGone(
                "the process that the run hangs on is gone", remedy="Tear the run down; it works without."
            )
        self._status = status
        return Ending(status, interrupted=self._interruptions > 0)

    # --- ending ---

    def tear_down(self, grace: float) -> TeardownReport:
        """See :meth:`runcoord.ports.Tree.tear_down`. Raises :class:`~runcoord.errors.InvalidRequest` for a
        grace below 0 or above 300 seconds, and :class:`~runcoord.errors.ProcessGone` for a tree that was
        closed before; then nothing is signalled from here."""
        if self._report is not None:
            return self._report
        require_grace(grace)
        if self._closed:
            raise ProcessGone("the tree was closed, so its shim tears it down and nobody is told how")
        self._take_terminal_back()
        if self._asked_until is None:
            self._asked_until = time.monotonic() + grace + KILL_SECONDS + 2 * SCAN_SECONDS + REPORT_SECONDS
        # Each time: an exception may have lost the answer. Asked twice, the shim tears down once.
        self._channel.say({"do": "tear_down", "grace": grace})
        hurried = False
        while self._report is None and not self._channel.ended:
            left = self._asked_until - time.monotonic()
            if left <= 0:
                break
            if self._hurry and not hurried:
                hurried = True
                self._channel.say({"do": "hurry"})
            self._continue_the_shim()  # one that was stopped answers nobody, and ends nobody
            self._hear(min(left, CONTINUE_SECONDS))
        if self._report is None:
            self._report = self._torn_down_without_shim(grace)
        return self._report

    def _torn_down_without_shim(self, grace: float) -> TeardownReport:
        if self._pids is None:
            return TeardownReport(emptied=True)  # no command was forked, or its gate closed with the shim
        if self._orphans is None:
            from runcoord._bounded import ThreadBounded
            from runcoord._launching.orphans import Orphans

            shim, leader = (self._pins.get(pid) for pid in self._pids)
            self._orphans = Orphans(
                self._processes,
                self._order,
                shim=shim,
                leader=leader,
                clock=time,
                sleeper=time,
                bounded=ThreadBounded(),
                hurried=lambda: self._hurry,
            )
        return self._orphans.tear_down(grace)

    def hurry(self) -> None:
        """See :meth:`runcoord.ports.Tree.hurry`."""
        self._hurry = True
        self._channel.wake()

    def close(self, recorded: bool = True) -> None:
        """See :meth:`runcoord.ports.Tree.close`. Waits for the shim to be gone, at most two seconds; not at
        all while it has a tree to tear down. Closing twice changes nothing."""
        if self._closed:
            return
        self._closed = True
        self._take_terminal_back()
        if not self._channel.ended:
            self._channel.say({"do": "close", "recorded": recorded})
        self._channel.close()
        soon = self._report is not None or not self._opened
        shim = self._pins.get(self._pids[0]) if self._pids else None
        if shim is not None and soon:
            with contextlib.suppress(ProcessError):
                self._processes.wait([shim], SHIM_END_SECONDS)
                if shim.ended() and self._report is None:
                    self._report = TeardownReport(emptied=True)  # its gate was never opened
        for pin in self._pins.values():
            pin.close()
        if soon or self._terminal is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(SHIM_END_SECONDS)
        if self._terminal is not None:
            self._terminal.close()

    def _take_terminal_back(self) -> None:
        if self._terminal is not None:
            self._terminal.take_back()

    # --- listening ---

    @property
    def _gone(self) -> bool:
        return self._channel.ended

    def _hear_until(self, done: Callable[[], bool], seconds: float) -> None:
        until = time.monotonic() + seconds
        while not done() and not self._channel.ended and (left := until - time.monotonic()) > 0:
            self._hear(self._looking_for_stops(left))
            if self._was_stopped():  # by a key that was pressed at once
                self._follow_the_stop()
                until = time.monotonic() + seconds

    def _hear(self, seconds: float) -> None:
        if not self._heard:
            self._heard += self._channel.messages(seconds)
        while self._heard:
            self._note(self._heard[0])
            del self._heard[0]

    def _note(self, message: dict[str, Any]) -> None:
        match message.get("is"):
            case "ready":
                self._begin(int(message["shim"]), int(message["leader"]))
            case "opened":
                self._opened = True
            case "failed" | "broken":
                self._failure = message
            case "ended":
                self._status = int(message["status"])
            case "stopped":
                # One of before the last continuing, which the shim had not heard of yet, is over.
                self._stopped = self._stopped or int(message["continued"]) == self._continued
            case "interrupted":
                self._interruptions = int(message["count"])
            case "torn_down" if self._report is None:
                self._report = report_from(message["report"])

    def _begin(self, shim: int, leader: int) -> None:
        """Both exist. They are held from now on; where that is not possible the run goes on without."""
        self._pids = shim, leader
        if self._terminal is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(SHIM_END_SECONDS)
        for pid in self._pids:
            with contextlib.suppress(ProcessError):
                self._identities[pid] = self._processes.identify(pid, self._order.cookie)
                self._pins[pid] = self._processes.open(self._identities[pid])
