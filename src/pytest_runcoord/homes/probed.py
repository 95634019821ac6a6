"""The port for homes as one incarnation has it: the real one, behind the probe, on the scenario's system."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, Self, TypeVar

from pytest_runcoord.homes.system import System
from pytest_runcoord.probed_ports import Probe
from runcoord.ports import FileRead, FileSeen, FolderRefused, Homes, Names, OpenFolder, OpenRoot, RefusalKind

T = TypeVar("T")

_REFUSALS: dict[str, tuple[str, str]] = {
    "io-error": ("UNREADABLE", "EIO: Input/output error (injected)"),
    "denied": ("DENIED", "the system does not permit it (injected)"),
    "missing": ("MISSING", "it is not there (injected)"),
    "swapped": ("SWAPPED", "it became another one (injected)"),
    "full": ("FULL", "no space is left (injected)"),
    "read-only": ("READ_ONLY", "the file system takes no writes (injected)"),
}


class Around(Protocol):
    """What the port needs of its surroundings."""

    system: System

    def may(self, call: str, root: str, folder: str, file: str) -> bool:
        """Whether the scenario's system permits it."""

    def look_around(self) -> None:
        """Something is open: see what."""

    def about_to_write(self, folder: str, file: str) -> None:
        """A file is about to be written in a folder."""


class Nobody:
    """Surroundings without anything special, for a process of its own."""

    def __init__(self) -> None:
        self.system = System()

    def may(self, call: str, root: str, folder: str, file: str) -> bool:
        return True

    def look_around(self) -> None:
        pass

    def about_to_write(self, folder: str, file: str) -> None:
        pass


class _Asked:
    """What all three parts have: how one call of the port goes."""

    def __init__(self, probe: Probe, around: Around) -> None:
        self._probe, self._around = probe, around

    def _ask(self, call: str, act: Callable[[], T], root: str, folder: str = "", file: str = "") -> T:
        self._probe.reach(f"before-{call}", folder=folder, file=file)
        fault = self._probe.fault(call) or (self._probe.fault(f"{call} {folder}") if folder else None)
        if fault is not None:
            kind, reason = _REFUSALS[fault]
            raise FolderRefused(RefusalKind[kind], reason)
        if call == "write-tombstone":
            self._around.about_to_write(folder, file)
        if not self._around.may(call, root, folder, file):
            raise FolderRefused(RefusalKind.DENIED, "Permission denied (emulated)")
        with self._on_system():
            answer = act()
        self._around.look_around()
        try:
            self._probe.reach(f"after-{call}", folder=folder, file=file)
        except BaseException:
            if isinstance(answer, _Closed):
                answer.close()
            raise
        return answer

    def _on_system(self) -> AbstractContextManager[None]:
        system = self._around.system
        return system.active() if system.different else nullcontext()


class _Closed:
    """What is closed however its incarnation ended: descriptors are those of this process."""

    _inner: OpenRoot | OpenFolder
    _around: Around

    def close(self) -> None:
        with self._around.system.active():
            self._inner.close()

    def __exit__(self, *raised: object) -> None:
        self.close()


class ProbedHomes(_Asked):
    """See the module. ``opener`` is asked for the real port each time, on the scenario's system."""

    def __init__(self, opener: Callable[[], Homes], probe: Probe, around: Around | None = None) -> None:
        super().__init__(probe, around or Nobody())
        self._opener = opener

    def open(self, home: str, root: str) -> OpenRoot:
        def act() -> ProbedRoot:
            return ProbedRoot(self._opener().open(home, root), self._probe, self._around, home, root)

        return self._ask("open-root", act, os.path.join(os.path.realpath(home), root))


class ProbedRoot(_Asked, _Closed):
    _inner: OpenRoot

    def __init__(self, inner: OpenRoot, probe: Probe, around: Around, home: str, root: str) -> None:
        super().__init__(probe, around)
        self._inner = inner
        self._at = os.path.join(os.path.realpath(home), root)

    @property
    def path(self) -> str:
        return self._inner.path

    @property
    def missing(self) -> tuple[str, ...]:
        return self._inner.missing

    def names(self, limit: int, after: str = "") -> Names:
        return self._ask("list-folders", lambda: self._inner.names(limit, after), self._at)

    def seen(self, folder: str, file: str) -> FileSeen | None:
        return self._ask("look-at-file", lambda: self._inner.seen(folder, file), self._at, folder, file)

    def changed(self, marks: Mapping[str, str], file: str) -> list[str]:
        return self._ask("look-at-file", lambda: self._inner.changed(marks, file), self._at, file=file)

    def mark(self, folder: str, *files: str) -> str:
        with self._on_system():
            return self._inner.mark(folder, *files)

    def folder(self, name: str) -> OpenFolder:
        def act() -> ProbedFolder:
            return ProbedFolder(self._inner.folder(name), self._probe, self._around, self._at, name)

        return self._ask("open-folder", act, self._at, name)

    def remove(self, name: str, limit: int, last: tuple[str, ...] = ()) -> None:
        self._ask("remove-folder", lambda: self._inner.remove(name, limit, last), self._at, name)

    def __enter__(self) -> Self:
        return self


class ProbedFolder(_Asked, _Closed):
    _inner: OpenFolder

    def __init__(self, inner: OpenFolder, probe: Probe, around: Around, root: str, name: str) -> None:
        super().__init__(probe, around)
        self._inner, self._root, self._name = inner, root, name

    def seen(self, file: str) -> FileSeen | None:
        return self._ask("look-at-file", lambda: self._inner.seen(file), self._root, self._name, file)

    def read(self, file: str, limit: int) -> FileRead | None:
        return self._ask("read-file", lambda: self._inner.read(file, limit), self._root, self._name, file)

    def read_beginning(self, file: str, limit: int) -> FileRead | None:
        return self._ask(
            "read-file", lambda: self._inner.read_beginning(file, limit), self._root, self._name, file
        )

    def create(self, file: str, data: bytes) -> None:
        self._ask("write-tombstone", lambda: self._inner.create(file, data), self._root, self._name, file)

    def __enter__(self) -> Self:
        return self
