"""The children of a shim: the command, seen without being reaped, and all that was left to it."""

from __future__ import annotations

import contextlib
import os

PR_SET_CHILD_SUBREAPER = 36
REAPED_AT_ONCE = 10_000
"""Children reaped in one go: a flood of them must not keep the shim from its coordinator."""


def become_subreaper() -> str:
    """Let orphans of the run become our children. Why that is not possible; empty when it is done."""
    try:
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0:
            return ""
        return f"no subreaper: {os.strerror(ctypes.get_errno())}"
    except (ImportError, OSError, AttributeError) as error:
        return f"no subreaper: {error}"


class Children:
    """All children of this process, the command's first process among them."""

    def __init__(self, leader: int) -> None:
        self.leader = leader
        self.status: int | None = None
        """How the command ended, as ``Popen.returncode``."""
        self.reaped = False
        """The command is reaped too, so that its numbers may be used anew."""

    def look(self) -> bool:
        """Reap all but the command; whether the command was stopped since the last look."""
        stopped = self._look_at_leader()
        if self.status is None:
            self._reap_while_leader_lives()
        else:
            self._reap_beside_leader()
        return stopped

    def reap_leader(self) -> None:
        """When it has ended; else it stays. Nothing may signal its numbers afterwards."""
        self._look_at_leader()
        if self.status is not None and not self.reaped:
            self._reap(self.leader)
            self.reaped = True

    def reap_all(self) -> bool:
        """Reap whoever has ended, the command too. True when there are no children any more."""
        for _ in range(REAPED_AT_ONCE):
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if pid == 0:
                return False
            if pid == self.leader:
                self.status, self.reaped = os.waitstatus_to_exitcode(status), True
        return False

    def _look_at_leader(self) -> bool:
        if self.status is not None:
            return False
        try:
            ended = os.waitid(os.P_PID, self.leader, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is not None:
                killed = ended.si_code in (os.CLD_KILLED, os.CLD_DUMPED)
                self.status = -ended.si_status if killed else ended.si_status
                return False
            return os.waitid(os.P_PID, self.leader, os.WSTOPPED | os.WNOHANG) is not None
        except ChildProcessError:
            return False

    def _reap_while_leader_lives(self) -> None:
        for _ in range(REAPED_AT_ONCE):
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None or ended.si_pid == self.leader:
                return
            self._reap(ended.si_pid)

    def _reap_beside_leader(self) -> None:
        """``waitid`` would name the unreaped leader again and again, so the children are listed."""
        try:
            with open(f"/proc/self/task/{os.getpid()}/children", "rb") as file:
                listed = file.read().split()
        except OSError:
            return  # a kernel without that list: init reaps them when this process ends
        for pid in listed[:REAPED_AT_ONCE]:
            if int(pid) != self.leader:
                self._reap(int(pid))

    def _reap(self, pid: int) -> None:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
