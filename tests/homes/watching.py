"""Every descriptor that is opened and closed, where it leads, and calls of the system that fail."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CALLS = ("open", "close", "read", "write", "fsync", "stat", "lstat", "fstat", "scandir", "unlink", "rmdir")


class Watch:
    """What the code under test did with descriptors, in the thread that made the watch."""

    def __init__(self) -> None:
        self.open: dict[int, str] = {}
        self.paths: list[str] = []
        """Where each descriptor led that was opened, resolved by the system itself."""
        self.written: list[str] = []
        self.wrong: list[str] = []
        """Closed though it was not open, or not ours."""
        self.counts: Counter[str] = Counter()
        self.fails_at: int | None = None
        self.error: BaseException = OSError(errno.EIO, os.strerror(errno.EIO))
        self.failed_in = ""

    @property
    def calls(self) -> int:
        return self.counts.total()


@contextmanager
def watched() -> Iterator[Watch]:
    """Watch the calls of :mod:`os` below."""
    watch = Watch()
    real: dict[str, Callable[..., Any]] = {name: getattr(os, name) for name in CALLS}

    def calling(name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            fails = watch.calls == watch.fails_at
            watch.counts[name] += 1
            if name == "close":
                if watch.open.pop(args[0], None) is None:
                    watch.wrong.append(f"closed {args[0]}, which was not open")
                real["close"](*args)
            if fails:
                watch.failed_in = name
                raise watch.error
            if name == "close":
                return None
            given = real[name](*args, **kwargs)
            if name == "open":
                path = os.readlink(f"/proc/self/fd/{given}")
                watch.open[given] = path
                watch.paths.append(path)
                if args[1] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC):
                    watch.written.append(path)
            return given

        call.__name__ = name
        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, calling(name))
        yield watch
    assert watch.wrong == []


def descriptors() -> frozenset[tuple[int, str]]:
    """Those of this process, and where they lead."""
    found = set()
    for each in Path("/proc/self/fd").iterdir():
        try:
            found.add((int(each.name), str(each.readlink())))
        except OSError:  # that of the list itself
            continue
    return frozenset(found)
