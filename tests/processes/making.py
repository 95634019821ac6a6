"""Real processes for the contract: puppets, each at the end of a socket, so that none outlives the test."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from processes import puppet
from runcoord.ports import Processes
from runcoord.testing import Can, Start

PATIENCE_SECONDS = 20.0
PRIVATE = "RUNCOORD_TEST_PRIVATE_PIDS"
"""Set inside a pid namespace that is ours alone."""
LAST_PID = Path("/proc/sys/kernel/ns_last_pid")
NOBODY = 65_534


class Puppet:
    """One process, held by a pidfd from its first word on."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE_SECONDS)
        self.connection = connection
        self.lines = connection.makefile("rb")
        self.pid = int(self.lines.readline())
        self.pidfd = os.pidfd_open(self.pid)

    def tell(self, **order: object) -> None:
        self.connection.sendall(json.dumps(order).encode() + b"\n")

    def ask(self, **order: object) -> dict[str, Any]:
        self.tell(**order)
        answer: dict[str, Any] = json.loads(self.lines.readline())
        return answer

    def await_end(self) -> None:
        poll = select.poll()
        poll.register(self.pidfd, select.POLLIN)
        assert poll.poll(PATIENCE_SECONDS * 1000), f"process {self.pid} did not end"

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        self.lines.close()
        self.connection.close()
        os.close(self.pidfd)


class RealMaker:
    """See :class:`runcoord.testing.ProcessMaker`."""

    def __init__(self, table: Processes) -> None:
        self._table = table
        self._folder = tempfile.TemporaryDirectory(prefix="puppets-")
        self._path = f"{self._folder.name}/s"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self._path)
        self._listener.listen(64)
        self._listener.settimeout(PATIENCE_SECONDS)
        self._puppets: dict[int, Puppet] = {}
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._parents: dict[int, int] = {}

    @property
    def lacks(self) -> Mapping[Can, str]:
        lacks = {}
        if not can_choose_pids():
            lacks[Can.RECYCLE] = "a pid can be chosen only in a pid namespace of our own"
        if os.getresuid() != (0, 0, 0) or PRIVATE in os.environ:
            lacks[Can.FORBID] = "only root can give up the right to signal, and take it back"
        return lacks

    def table(self) -> Processes:
        return self._table

    def start(self, how: Start, parent: int = 0) -> int:
        flags = flags_of(how)
        if parent:
            order = {"do": "start", "environment": dict(how.environment), "flags": flags}
            child = self._puppets[parent].ask(**order)["pid"]
        else:
            child = self._spawn(how, flags)
        pid = self._accept().pid
        assert how.orphan or pid == child, f"process {child} was started, {pid} spoke"
        self._parents[pid] = -1 if how.orphan else parent
        return pid

    def _spawn(self, how: Start, flags: list[str]) -> int:
        process = subprocess.Popen([*puppet.command(self._path), *flags], env=dict(how.environment))
        if how.orphan:
            assert process.wait(PATIENCE_SECONDS) == 0
        else:
            self._children[process.pid] = process
        return process.pid

    def _accept(self) -> Puppet:
        connection, _ = self._listener.accept()
        speaker = Puppet(connection)
        before = self._puppets.pop(speaker.pid, None)
        if before is not None:
            os.close(before.pidfd)
            before.lines.close()
            before.connection.close()
        self._puppets[speaker.pid] = speaker
        return speaker

    def end(self, pid: int, status: int = 0) -> None:
        self._puppets[pid].tell(do="end", status=status)
        self._puppets[pid].await_end()

    def reap(self, pid: int) -> int:
        ended = self._puppets[pid]
        ended.await_end()
        parent = self._parents.pop(pid)
        if parent:
            status = int(self._puppets[parent].ask(do="reap", pid=pid)["status"])
        else:
            status = self._children.pop(pid).wait(PATIENCE_SECONDS)
        self._puppets.pop(pid).close()
        return status

    def end_first_thread(self, pid: int) -> None:
        self._puppets[pid].tell(do="thread")
        self._await_state(pid, "Z")

    def execute(self, pid: int, environment: Mapping[str, str]) -> None:
        self._puppets[pid].tell(do="execute", environment=dict(environment))
        speaker = self._accept()
        assert speaker.pid == pid, f"process {pid} was to execute, {speaker.pid} spoke"

    def stop(self, pid: int) -> None:
        signal.pidfd_send_signal(self._puppets[pid].pidfd, signal.SIGSTOP)
        self._await_state(pid, "T")

    def _await_state(self, pid: int, letter: str) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while state_of(pid)[0] != letter:
            assert time.monotonic() < until, f"process {pid} is {state_of(pid)}, and was to be {letter}"
            select.select([], [], [], 0.001)

    def alive(self, pid: int) -> bool:
        state, threads = state_of(pid)
        return bool(state) and (state not in "ZX" or threads > 1)

    def recycle(self, pid: int, how: Start) -> None:
        for _ in range(50):
            LAST_PID.write_text(str(pid - 1))
            child = self.start(how)
            if child == pid:
                return
            self.end(child)
            self.reap(child)
        raise AssertionError(f"the number {pid} could not be had")

    @contextlib.contextmanager
    def forbidden(self) -> Iterator[None]:
        self._table.habitat()  # of oneself, too, somebody else reads less
        os.setresuid(NOBODY, NOBODY, 0)
        try:
            yield
        finally:
            os.setresuid(0, 0, 0)

    def close(self) -> None:
        for each in self._puppets.values():
            each.close()
        for child in self._children.values():
            child.wait(PATIENCE_SECONDS)
        self._listener.close()
        self._folder.cleanup()


def flags_of(how: Start) -> list[str]:
    asked = {"group": how.new_group, "session": how.new_session, "orphan": how.orphan}
    return [flag for flag, wanted in asked.items() if wanted]


def can_choose_pids() -> bool:
    return PRIVATE in os.environ and os.access(LAST_PID, os.W_OK)


def state_of(pid: int) -> tuple[str, int]:
    """The letter of its state and the number of its threads; an empty letter when it is not there."""
    try:
        line = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return "", 0
    words = line.rpartition(")")[2].split()
    return words[0], int(words[17])
