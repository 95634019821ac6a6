"""Rows as psutil gives them."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from runcoord._processes.rows import Row

LETTERS = {
    "running": "R",
    "sleeping": "S",
    "disk-sleep": "D",
    "stopped": "T",
    "tracing-stop": "t",
    "zombie": "Z",
    "dead": "X",
    "idle": "I",
}
"""psutil's words for what a process does. What is not here is taken for alive."""

_MICROSECONDS = 1_000_000


class PsutilRows:
    """See :class:`runcoord._processes.rows.Rows`. psutil is loaded when a row is asked for."""

    root = "the table of processes"

    def __init__(self) -> None:
        self.init = 0 if sys.platform == "win32" else 1

    def marks(self) -> dict[int, int]:
        """Raises ``OSError``."""
        import psutil

        with _as_os_errors():
            return dict.fromkeys(psutil.pids(), 0)

    def row(self, pid: int) -> Row:
        """Raises ``OSError``."""
        import psutil

        with _as_os_errors():
            process = psutil.Process(pid)
            start = start_of(process)
            try:
                with process.oneshot():
                    state = LETTERS.get(process.status(), "?")
                    parent, name = process.ppid(), process.name()
            except psutil.ZombieProcess:
                state, parent, name = "Z", 0, ""
        return Row(
            pid=pid,
            state=state,
            parent=parent,
            group=_number(pid, "getpgid"),
            session=_number(pid, "getsid"),
            kernel=False,
            threads=1 if state in "ZX" else 0,
            start=start,
            comm=os.fsencode(name),
        )

    def first_block(self, pid: int) -> bytes:
        """Always empty: nobody has a mark here, so nobody is noted."""
        return b""

    def environment(self, row: Row) -> bytes | None:
        """Raises ``OSError``."""
        import psutil

        try:
            with _as_os_errors():
                found = psutil.Process(row.pid).environ()
        except PermissionError:
            return None
        return b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in found.items())

    def exit_code(self, pid: int) -> int | None:
        """Told to its parent alone."""
        return None

    def waiting_in(self, pid: int) -> str:
        """Not told."""
        return ""

    def is_there(self, pid: int) -> bool:
        """See :class:`runcoord._processes.rows.Rows`."""
        import psutil

        return psutil.pid_exists(pid)

    def send(self, pid: int, number: int) -> None:
        """Raises ``OSError``. Windows ends a process for TERM and KILL alike, and knows no others."""
        if sys.platform == "win32":
            if number not in {int(signal.SIGTERM), 9}:
                raise OSError(errno.EINVAL, "Windows has no such signal")
            number = signal.SIGTERM
        os.kill(pid, number)


def start_of(process: Any) -> int:
    """When the process was made, in microseconds, as the kernel noted it then. Raises psutil's errors.

    ``create_time()`` will not do: on macOS psutil 7.1 corrects it by the steps that the clock made since
    psutil was loaded, so that two observers see two values. Inside of psutil the value is kept as it was;
    older versions, and that for Windows, have nothing else.
    """
    inner = getattr(process, "_proc", None)
    read: Callable[..., float] | None = getattr(inner, "create_time", None)
    if read is None:
        return 0  # an unknown psutil: unknown, so that nothing is proved
    try:
        seconds = read(monotonic=True)
    except TypeError:
        seconds = read()
    return round(seconds * _MICROSECONDS)


def _number(pid: int, name: str) -> int:
    """The group or the session; 0 where there is none, or it is not told."""
    read: Callable[[int], int] | None = getattr(os, name, None)
    if read is None:
        return 0
    try:
        return read(pid)
    except ProcessLookupError:
        raise
    except OSError:
        return 0


@contextmanager
def _as_os_errors() -> Iterator[None]:
    import psutil

    try:
        yield
    except psutil.NoSuchProcess as error:  # a zombie of which nothing more is told, too
        raise ProcessLookupError(errno.ESRCH, str(error)) from None
    except psutil.AccessDenied as error:
        raise PermissionError(errno.EPERM, str(error)) from None
