"""Another system than this one, for the length of one call: flags and abilities that are missing, errors, and
descriptors that somebody else gets as soon as they are free.

Functions of the module ``os`` are replaced, and only while the call is under way. What is missing is not only
absent: it is refused when it is used all the same, as by code that asked when it was imported.
"""

from __future__ import annotations

import errno
import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pytest_runcoord.homes.words import ABILITIES, ERRORS, FLAGS, WINDOWS
from pytest_runcoord.scenario import Step

_FUNCTIONS = {
    "open": ("open",),
    "read": ("read", "readv", "pread"),
    "fstat": ("fstat",),
    "stat": ("stat", "lstat"),
    "list": ("listdir", "scandir"),
    "write": ("write",),
    "fsync": ("fsync",),
    "unlink": ("unlink", "remove"),
}
_RELATIVE = (
    "open",
    "stat",
    "lstat",
    "unlink",
    "rmdir",
    "mkdir",
    "rename",
    "link",
    "readlink",
    "mkfifo",
    "access",
)


@dataclass(slots=True)
class SystemFault:
    """An error that calls of one kind meet. ``path``: only when the last part of their path is this."""

    call: str
    error: str
    times: int
    path: str = ""
    step: Step | None = None
    """The step that arranged it."""
    met: bool = False

    @property
    def verb(self) -> str:
        """What a report calls the call that did not meet it."""
        return f"{self.call} of the system"


@dataclass(slots=True)
class System:
    """What is different from this system; nothing at first."""

    missing: set[str] = field(default_factory=set)
    faults: list[SystemFault] = field(default_factory=list)
    busy: bool = False
    """Other threads open files all the time: a descriptor that was closed is at once somebody else's."""
    closed_twice: list[str] = field(default_factory=list)
    """Descriptors that were closed by somebody whose they were no longer, in words."""
    met: int = 0
    """How many errors were met."""
    _paths: dict[int, str] = field(default_factory=dict)
    _strangers: dict[int, str] = field(default_factory=dict)
    _inside: int = 0

    @property
    def different(self) -> bool:
        """Whether anything is."""
        return bool(self.missing or self.faults or self.busy)

    def lack(self, names: tuple[str, ...]) -> None:
        """From now on these are missing."""
        for name in names:
            self.missing |= {*FLAGS, *ABILITIES} if name == WINDOWS else {name}

    def mend(self) -> None:
        """Errors are over. What a system cannot do at all it cannot do still."""
        self.faults.clear()

    def end(self) -> None:
        """Close what was opened to keep numbers taken."""
        for number in self._strangers:
            os.close(number)
        self._strangers.clear()

    @contextmanager
    def active(self) -> Iterator[None]:
        """This process is on that system until the block ends. May be nested."""
        if self._inside or not self.different:
            yield
            return
        self._inside += 1
        kept: dict[str, Any] = {}
        try:
            self._replace(kept)
            yield
        finally:
            for name, value in kept.items():
                setattr(os, name, value)
            self._inside -= 1

    # --- replacing ---

    def _replace(self, kept: dict[str, Any]) -> None:
        masks = [getattr(os, name) for name in FLAGS if name in self.missing and hasattr(os, name)]
        relative = {getattr(os, name) for name in _RELATIVE if hasattr(os, name)} & os.supports_dir_fd
        by_descriptor = set(os.supports_fd)
        for name in FLAGS:
            if name in self.missing and hasattr(os, name):
                kept[name] = getattr(os, name)
                delattr(os, name)
        calls = {function: call for call, functions in _FUNCTIONS.items() for function in functions}
        for name in sorted({*calls, *_RELATIVE, "close"}):
            if not hasattr(os, name):
                continue
            right = kept[name] = getattr(os, name)
            made = self._replacement(name, right, calls.get(name, ""), masks)
            setattr(os, name, made)
            if right in relative:
                relative = relative - {right} | {made}
            if right in by_descriptor:
                by_descriptor = by_descriptor - {right} | {made}
        kept["supports_dir_fd"], kept["supports_fd"] = os.supports_dir_fd, os.supports_fd
        kept["supports_follow_symlinks"] = os.supports_follow_symlinks
        os.supports_dir_fd = set() if "dir_fd" in self.missing else relative | os.supports_dir_fd
        os.supports_fd = by_descriptor if "list_fd" not in self.missing else set()
        os.supports_follow_symlinks = os.supports_follow_symlinks | {os.stat}

    def _replacement(
        self, name: str, right: Callable[..., Any], call: str, masks: list[int]
    ) -> Callable[..., Any]:
        if name == "close":
            return self._closing(right)

        @functools.wraps(right)
        def replaced(*args: Any, **more: Any) -> Any:
            first = args[0] if args else more.get("path")
            self._require(name, first, more)
            if name == "open":
                self._require_flags(args, masks)
            self._meet(call, first)
            if name == "open":
                return self._opened(right(*args, **more), first)
            return right(*args, **more)

        return replaced

    def _require(self, name: str, first: Any, more: dict[str, Any]) -> None:
        if "dir_fd" in self.missing and any(
            more.get(each) is not None for each in ("dir_fd", "src_dir_fd", "dst_dir_fd")
        ):
            raise NotImplementedError("dir_fd unavailable on this platform")
        if "list_fd" in self.missing and name in ("listdir", "scandir") and isinstance(first, int):
            raise TypeError(f"{name}: path should be string, bytes, os.PathLike or None, not int")
        if "open_directory" in self.missing and name == "open" and os.path.isdir(first):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), first)

    def _require_flags(self, args: tuple[Any, ...], masks: list[int]) -> None:
        flags = args[1] if len(args) > 1 else 0
        if any(flags & each for each in masks):
            raise OSError(errno.EINVAL, "this system has no such flag", args[0])

    def _meet(self, call: str, first: Any) -> None:
        path = self._paths.get(first, "") if isinstance(first, int) else os.fsdecode(first or b"")
        for fault in self.faults:
            if fault.call == call and fault.times and fault.path in ("", path.rpartition("/")[2]):
                fault.times -= 1
                fault.met = True
                self.met += 1
                number = ERRORS[fault.error]
                raise OSError(number, os.strerror(number))

    def _opened(self, number: int, path: Any) -> int:
        if self.busy:
            # What is open again belongs to whoever opened it.
            self._strangers.pop(number, None)
        self._paths[number] = path if isinstance(path, str) else os.fsdecode(path)
        return number

    def _closing(self, right: Callable[[int], None]) -> Callable[[int], None]:
        @functools.wraps(right)
        def close(number: int) -> None:
            if number in self._strangers:
                self.closed_twice.append(f"descriptor {number}, of {self._strangers[number]}")
                return
            path = self._paths.pop(number, "somebody")
            try:
                right(number)
            except OSError:
                self.closed_twice.append(f"descriptor {number}, which nobody has open")
                raise
            if self.busy and path != "somebody":
                self._take(number, path)

        return close

    def _take(self, number: int, path: str) -> None:
        """Somebody opens a file in the moment after a descriptor was closed, and gets its number."""
        taken = _REAL_OPEN(os.devnull, os.O_RDONLY)
        if taken != number:
            os.dup2(taken, number)
            _REAL_CLOSE(taken)
        self._strangers[number] = path


_REAL_CLOSE = os.close
_REAL_OPEN = os.open
