"""A bounded channel of lines to a child process: whole lines over its standard input and output.

Nothing in here waits without a bound, keeps more than its bound, or signals anything but the child that it
started: by its number only while it is not reaped, so that the number is nobody else's.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

MAX_LINE_BYTES = 1024 * 1024
"""Longest line that a program may write; the result of a run fits, many times over."""
MAX_SNAPSHOT_BYTES = 32 * 1024 * 1024
"""The same for an answer to ``snapshot``: as many rows as it may have, each with all of its fields."""
READ_BYTES = 64 * 1024
"""What is read at once: what a pipe holds."""
MAX_STDERR_BYTES = 8 * 1024
"""What is kept of a program's standard error, from its end."""
MAX_STDERR_LINES = 40
"""Lines of it that are kept: a stack trace fits."""
FLOOD_BYTES = 16 * 1024 * 1024
"""What a program may write to standard error while one line of it is waited for; more is a loop."""
EXIT_SECONDS = 2.0
"""Real time in which a program that closed its standard output may end, before it counts as living on."""
REAP_SECONDS = 10.0
"""Real time in which a killed program must be gone; only one in a system call that hangs needs more."""
STOP_SECONDS = 5.0
"""Real time in which a program must stand still after SIGSTOP; one in a system call that hangs needs more."""
STOP_LOOK_SECONDS = 0.001
"""Real time between two looks at whether it does: nothing tells of it."""
MAX_READS = 1_024
"""Reads of what a program has left in a pipe: more than its bounds let be kept."""

RUNNING = "it was running, and was killed"
"""How a program ended that did not end before it was given up."""

_now = time.monotonic
"""Bound at import: a frozen clock of the code under test never measures the harness."""


class LineFault(Exception):
    """No line came, or none that can be one. ``read`` is what was read of it."""

    def __init__(self, problem: str, read: bytes = b"", remedy: str = "") -> None:
        super().__init__(problem)
        self.problem, self.read, self.remedy = problem, read, remedy


class Tail:
    """The end of what a program says on its standard error."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def add(self, data: bytes) -> None:
        self._kept += data
        del self._kept[:-MAX_STDERR_BYTES]

    def lines(self) -> list[str]:
        """The last whole and begun lines, oldest first, as text that any terminal can show."""
        text = self._kept.decode("utf-8", "replace")
        shown = "".join(each if each.isprintable() or each == "\n" else "�" for each in text.expandtabs())
        return [each.rstrip() for each in shown.splitlines() if each.strip()][-MAX_STDERR_LINES:]


class Child:
    """A program that was started for its lines. It leads a session and a group of processes of its own.

    ``OSError`` when it cannot be executed.
    """

    def __init__(
        self, command: Sequence[str], directory: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        if not hasattr(os, "pidfd_open"):
            raise OSError("this system has no pidfd_open, by which a program is held; Linux has")
        self._process = subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self._in, self._out, self._err = _there(
            self._process.stdin, self._process.stdout, self._process.stderr
        )
        for each in (self._in, self._out, self._err):
            os.set_blocking(each.fileno(), False)
        self._flood, self._most = 0, MAX_LINE_BYTES
        self.tail = Tail()
        self._read, self._unsent = bytearray(), bytearray()
        self._looked = 0
        """How much of what was read has no line end in it."""
        self._open: set[int] = set()
        self._taken = False
        """Somebody else reaped it: its number may be another's by now."""
        self._life = -1
        try:
            self._life = os.pidfd_open(self._process.pid)
        except OSError:
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(REAP_SECONDS)
            self.let_go()
            raise
        self._open = {self._out.fileno(), self._err.fileno(), self._life}

    @property
    def pid(self) -> int:
        return self._process.pid

    # --- lines ---

    def write(self, line: bytes) -> None:
        """Give it one line; what its pipe does not take now goes with the next wait for a line."""
        self._unsent += line + b"\n"
        self._send()

    def unread(self) -> bytes:
        """The first line, or the beginning of one, that it has written and nobody asked for."""
        self._take(self._out.fileno())
        return bytes(self._read.partition(b"\n")[0])[:READ_BYTES]

    def read_line(self, seconds: float, most: int = MAX_LINE_BYTES, *, allowed: float | None = None) -> bytes:
        """Its next line, without the line end, within so many seconds of real time: what is left of those
        ``allowed``, if that is said. :class:`LineFault` if none comes, or if it has more than ``most``
        bytes."""
        end = _now() + seconds
        self._flood, self._most = 0, most
        while (line := self._first_line()) is None:
            if len(self._read) > most:
                raise LineFault(
                    f"wrote a line of more than {most:,} bytes",
                    bytes(self._read[:READ_BYTES]),
                    "Write less in one line.",
                )
            if self._out.fileno() not in self._open:
                raise self._no_more_lines(end)
            left = end - _now()
            if left <= 0:
                raise LineFault(
                    f"gave no answer within {seconds if allowed is None else allowed:.3g} s of real time",
                    bytes(self._read[:READ_BYTES]),
                    "See what it waits for, and that it flushes its standard output after every line.",
                )
            self._pump(left)
            if self._flood > FLOOD_BYTES:
                raise LineFault(
                    f"wrote more than {FLOOD_BYTES:,} bytes to its standard error without answering",
                    remedy="Look for a loop.",
                )
        return line

    def _first_line(self) -> bytes | None:
        at = self._read.find(b"\n", self._looked)
        if at < 0 or at > self._most:
            self._looked = len(self._read)
            return None
        line = bytes(self._read[:at])
        del self._read[: at + 1]
        self._looked = 0
        return line

    def _no_more_lines(self, end: float) -> LineFault:
        """What to say of a program whose standard output has ended."""
        read = bytes(self._read[:READ_BYTES])
        half = " in the middle of a line" if read else ""
        if self.wait(min(EXIT_SECONDS, max(0.0, end - _now()))):
            self.drain()
            return LineFault(f"ended by itself{half}", read, "See what it says last, and why it ended.")
        return LineFault(
            f"closed its standard output{half} and lives on",
            read,
            "Keep standard output for the lines of the protocol, and open as long as the program runs.",
        )

    # --- waiting ---

    def _pump(self, seconds: float) -> None:
        """Wait until something can be read or written, and do it."""
        poll = select.poll()
        for each in self._open:
            poll.register(each, select.POLLIN)
        if self._unsent:
            poll.register(self._in.fileno(), select.POLLOUT)
        for ready, _ in poll.poll(seconds * 1000):
            if ready == self._life:
                # Whatever it wrote is there by now. A process that it left behind may keep the pipe open.
                self._open.discard(self._life)
                self.drain()
                self._open.discard(self._out.fileno())
            elif ready == self._in.fileno():
                self._send()
            else:
                self._take(ready)

    def _take(self, source: int) -> bool:
        """Read once, if anything is there; whether more may be."""
        if source not in self._open:
            return False
        try:
            data = os.read(source, READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self._open.discard(source)
            return False
        if source == self._out.fileno():
            self._read += data
            return len(self._read) <= self._most
        self.tail.add(data)
        self._flood += len(data)
        return True

    def drain(self) -> None:
        """Read what it has written until now, within the bounds."""
        for source in (self._out.fileno(), self._err.fileno()):
            for _ in range(MAX_READS):
                if not self._take(source):
                    break

    def _send(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: os.write(self._in.fileno(), self._unsent[:READ_BYTES])]
        except BlockingIOError:
            return
        except (BrokenPipeError, ValueError):
            self._unsent.clear()  # it will be seen to be gone when its answer is waited for

    # --- its end ---

    def ended(self) -> bool:
        """Whether it has ended. It stays unreaped, and its number its own."""
        return self.wait(0.0)

    def wait(self, seconds: float) -> bool:
        """Whether it ends within so many seconds of real time. Its output is read meanwhile, so that it does
        not wait for a reader."""
        end = _now() + seconds
        while self._process.returncode is None:
            if self._look() is not None or self._taken:
                return True
            left = end - _now()
            if left <= 0:
                return False
            poll = select.poll()
            for each in self._open | {self._life}:
                poll.register(each, select.POLLIN)
            for ready, _ in poll.poll(left * 1000):
                if ready != self._life and not self._take(ready) and len(self._read) > self._most:
                    self._open.discard(ready)  # more than can be kept: it may wait, and be killed
        return True

    def _look(self) -> os.waitid_result | None:
        """How it ended, without reaping it; ``None`` while it runs."""
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        except ChildProcessError:  # somebody in this process waits for all children, or ignores SIGCHLD
            self._taken = True
            return None

    def how_it_ended(self) -> str:
        """Its exit status or the signal that ended it, in words."""
        if self._process.returncode is None:
            found = self._look()
            if found is None:
                return "ended, and somebody else was told how" if self._taken else RUNNING
            status = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
        else:
            status = self._process.returncode
        if status >= 0:
            return f"exit status {status}"
        with contextlib.suppress(ValueError):
            return f"ended by {signal.Signals(-status).name}"
        return f"ended by signal {-status}"

    @property
    def status(self) -> int | None:
        """Its exit status (a signal as its negative number) once it was let go of, else None."""
        return self._process.returncode

    def end_of_input(self) -> None:
        """Close its standard input: there will be no more requests."""
        with contextlib.suppress(OSError):
            self._in.close()

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, and nobody else. Nothing happens if it has ended."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._life, number)

    def stop(self) -> None:
        """SIGSTOP; when this returns it stands still, or has ended. Raises :class:`LineFault` if it does
        neither within :data:`STOP_SECONDS`."""
        self.send_signal(signal.SIGSTOP)
        end = _now() + STOP_SECONDS
        asked = os.WSTOPPED | os.WEXITED | os.WNOWAIT | os.WNOHANG
        with contextlib.suppress(ChildProcessError):
            while self._process.returncode is None and os.waitid(os.P_PID, self.pid, asked) is None:
                if _now() >= end:
                    problem = f"did not stand still within {STOP_SECONDS:g} s of real time"
                    raise LineFault(problem, remedy="See which call of the system it is in.")
                select.select([self._life], [], [], STOP_LOOK_SECONDS)

    def left_behind(self) -> list[int]:
        """The processes of its group that live though it has ended."""
        if self._process.returncode is not None or self._taken:
            return []
        return [each for each in _members(self.pid) if each != self.pid]

    def let_go(self) -> None:
        """End what is left of its group, and it; reap it. Doing so again changes nothing."""
        if self._process.returncode is None:
            self._look()
            if not self._taken:  # so the number is its own, and that of its group
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.pid, signal.SIGKILL)
            if self.wait(REAP_SECONDS):
                self._process.wait()
        for each in (self._in, self._out, self._err):
            with contextlib.suppress(OSError):
                each.close()
        if self._life >= 0:
            os.close(self._life)
            self._life = -1
        self._open.clear()


def _there(*pipes: IO[bytes] | None) -> Iterator[IO[bytes]]:
    for each in pipes:
        assert each is not None  # all three were asked for
        yield each


def _members(group: int) -> list[int]:
    """The living processes of a group, by number; none where there is no ``/proc``."""
    try:
        names = os.listdir("/proc")  # noqa: PTH208  thousands of names, and nothing but names
    except OSError:
        return []
    return [int(name) for name in names if name.isdigit() and _group_of(name) == group]


def _group_of(pid: str) -> int | None:
    """The group of a process that lives, None for a zombie and for one that is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, _, group = file.read().rpartition(b")")[2].split()[:3]
    except (OSError, ValueError):
        return None
    return None if state in (b"Z", b"X") else int(group)
