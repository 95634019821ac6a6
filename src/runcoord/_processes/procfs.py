"""Reading ``/proc``, as :class:`runcoord._processes.rows.Rows` says."""

from __future__ import annotations

import os
import time

from runcoord._core.limits import EXEC_LOOK_SECONDS, EXEC_LOOKS, MAX_ENVIRONMENT_BYTES
from runcoord._processes.rows import CLOSED, GONE, Executing, Row

_KERNEL_THREAD = 0x00200000
"""``PF_KTHREAD`` of the flags in ``/proc/PID/stat``."""
_STAT_BYTES = 1024
"""More than any ``stat`` line has: 52 numbers and a name of at most 64 bytes."""
_ENVIRONMENT_CHUNK = 65_536


class Procfs:
    """One mounted ``/proc``, or files of a test that look like one."""

    def __init__(self, root: str = "/proc") -> None:
        self.root = root
        self.init = 1

    def marks(self) -> dict[int, int]:
        """All process numbers that are shown, in the order of the kernel. Raises ``OSError``.

        The mark is the number of the inode, which the kernel gives to a process when it is first listed, and
        takes away with it. Files that only look like ``/proc`` keep no such order: there it is 0.
        """
        real = self.root == "/proc"
        with os.scandir(self.root) as entries:
            return {
                int(entry.name): entry.inode() if real else 0 for entry in entries if entry.name.isdecimal()
            }

    def row(self, pid: int) -> Row:
        """What the process with this number is now. Raises ``OSError``, and ``ValueError`` for a line that
        cannot be understood."""
        line = self._first_bytes(f"{pid}/stat", _STAT_BYTES)
        # A name may contain anything, ") Z 1 1" too: it ends at the last parenthesis.
        end = line.rindex(b")")
        field = line[end + 2 :].split(None, 20)
        return Row(
            pid,
            field[0].decode("ascii"),
            int(field[1]),
            int(field[2]),
            int(field[3]),
            bool(int(field[6]) & _KERNEL_THREAD),
            int(field[17]),
            int(field[19]),
            line[line.index(b"(") + 1 : end],
        )

    def exit_code(self, pid: int) -> int | None:
        """The wait status of a zombie, which the kernel shows to those who might trace it."""
        line = self._first_bytes(f"{pid}/stat", _STAT_BYTES)
        field = line[line.rindex(b")") + 2 :].split()
        return int(field[49]) if field[0] == b"Z" and len(field) > 49 else None

    def environment(self, row: Row) -> bytes | None:
        """The block of the environment; ``None`` when it is closed to us. Raises
        :class:`~runcoord._processes.rows.Executing`, and ``OSError`` when the process is gone.

        All threads have the same memory. When the first one has ended it has none, and another is asked.
        """
        if row.state not in "ZXx":
            return self._settled_block(row.pid)
        for thread in os.listdir(f"{self.root}/{row.pid}/task"):
            try:
                block = self._block(f"{row.pid}/task/{thread}/environ")
            except OSError as error:
                if error.errno in GONE:
                    continue  # the first thread, or one that ended just now
                raise
            if block != b"":
                return block
        return b""

    def first_block(self, pid: int) -> bytes:
        """See :meth:`runcoord._processes.rows.Rows.first_block`."""
        try:
            return self._block(f"{pid}/environ") or b""
        except OSError:
            return b""

    def _settled_block(self, pid: int) -> bytes | None:
        """While a process executes another program it has no environment for a moment. That it has none is
        believed when the same memory was set aside for it before and after the read."""
        block = self._block(f"{pid}/environ")
        if block != b"":
            return block
        before = self._memory(pid)
        for _ in range(EXEC_LOOKS):
            block = self._block(f"{pid}/environ")
            after = self._memory(pid)
            if block != b"" or (before and before == after):
                return block
            before = after
            time.sleep(EXEC_LOOK_SECONDS)
        raise Executing(f"process {pid} executes another program")

    def _memory(self, pid: int) -> list[bytes]:
        """Where its environment begins and ends; empty while that is not set."""
        line = self._first_bytes(f"{pid}/stat", _STAT_BYTES)
        field = line[line.rindex(b")") + 2 :].split()
        return field[47:49] if len(field) > 48 and field[48] != b"0" else []

    def waiting_in(self, pid: int) -> str:
        """The place in the kernel where it waits; empty when the kernel does not tell."""
        try:
            where = self._first_bytes(f"{pid}/wchan", 128).decode("ascii", "replace")
        except OSError:
            return ""
        return "" if where == "0" else where

    def is_there(self, pid: int) -> bool:
        """Said by the kernel, not by ``/proc``, which may hide it."""
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True
        return True

    def send(self, pid: int, number: int) -> None:
        """Raises ``OSError``."""
        os.kill(pid, number)

    def text(self, name: str) -> str:
        """The first kilobyte of a file, stripped. Raises ``OSError``."""
        return self._first_bytes(name, 1024).decode("ascii", "replace").strip()

    def link(self, name: str) -> str:
        """What a link says. Raises ``OSError``."""
        return os.readlink(f"{self.root}/{name}")

    def _first_bytes(self, name: str, count: int) -> bytes:
        file = os.open(f"{self.root}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(file, count)
        finally:
            os.close(file)

    def _block(self, name: str) -> bytes | None:
        try:
            file = os.open(f"{self.root}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in CLOSED:
                return None
            raise
        try:
            block = chunk = os.read(file, _ENVIRONMENT_CHUNK)
            while len(chunk) == _ENVIRONMENT_CHUNK and len(block) < MAX_ENVIRONMENT_BYTES:
                chunk = os.read(file, _ENVIRONMENT_CHUNK)
                block += chunk
            return block
        finally:
            os.close(file)
