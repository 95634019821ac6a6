"""Descriptors, each with one owner, and what is read and written through them."""

from __future__ import annotations

import contextlib
import os

from runcoord._home_ports import FileRead, FileSeen, FolderRefused, RefusalKind


class Held:
    """One descriptor. Closed once, whoever asks how often: its number may be another file's a moment later,
    opened by another thread."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def close(self) -> None:
        """Let go. A second time does nothing. What the system reports then says nothing of what was read, and
        must not take the place of why something failed before: it is not told."""
        with contextlib.suppress(OSError):
            self.finish()

    def finish(self) -> None:
        """Let go of a file that was written. Raises ``OSError``, where only closing tells that it was not.
        The number is given up in any case: it says nothing of whether the descriptor is still open."""
        number, self.number = self.number, -1
        if number >= 0:
            os.close(number)

    def __enter__(self) -> int:
        return self.number

    def __exit__(self, *raised: object) -> None:
        self.close()


def require_size(found: os.stat_result, limit: int, file: str) -> None:
    """Raises :class:`FolderRefused` for a file of more than ``limit`` bytes."""
    if found.st_size > limit:
        raise FolderRefused(RefusalKind.TOO_LARGE, f"{file} has {found.st_size} bytes, {limit} are read")


def beginning_of(number: int, seen: FileSeen, limit: int) -> FileRead:
    """At most ``limit`` bytes. A file that grows meanwhile is read as far as it was seen, and one byte."""
    most = min(seen.size, limit) + 1
    data = os.read(number, most)
    # A regular file gives all that there is, except on some networks. As many as were seen: no second look.
    while len(data) < min(seen.size, limit) and (further := os.read(number, most - len(data))):
        data += further
    return FileRead(data[:limit], seen, len(data) > limit or seen.size > limit)


def write_all(number: int, data: bytes) -> None:
    """Durably, so that a loss of power leaves no torn file behind that counts as written.

    Raises ``OSError``; then only a part of it may be written."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(number, rest) :]
    os.fsync(number)
