"""Homes on a file system that does not tell upper from lower case in names, as on macOS and Windows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Self

from runcoord.ports import FileRead, FileSeen, FolderRefused, Homes, Names, OpenFolder, OpenRoot, RefusalKind


def _found(directory: str, name: str) -> str:
    """The entry of a directory that has this name in some spelling; ``name`` itself if there is none."""
    try:
        entries = os.listdir(directory)
    except OSError:
        return name
    if name in entries:
        return name
    return next((each for each in sorted(entries) if each.casefold() == name.casefold()), name)


class IgnoringCase:
    """The port of such a system, made of that of this one."""

    def __init__(self, inner: Homes) -> None:
        self._inner = inner

    def open(self, home: str, root: str) -> OpenRoot:
        at = os.path.realpath(home)
        parts: list[str] = []
        for part in root.split("/"):
            parts.append(_found(os.path.join(at, *parts), part))
        return _Root(self._inner.open(home, "/".join(parts)))


class _Root:
    def __init__(self, inner: OpenRoot) -> None:
        self._inner = inner

    @property
    def path(self) -> str:
        return self._inner.path

    @property
    def missing(self) -> tuple[str, ...]:
        return self._inner.missing

    def names(self, limit: int, after: str = "") -> Names:
        return self._inner.names(limit, after)

    def seen(self, folder: str, file: str) -> FileSeen | None:
        name = _found(self.path, folder)
        return self._inner.seen(name, _found(os.path.join(self.path, name), file))

    def changed(self, marks: Mapping[str, str], file: str) -> list[str]:
        changed = []
        for name, mark in marks.items():
            real = _found(self.path, name)
            if self._inner.changed({real: mark}, _found(os.path.join(self.path, real), file)):
                changed.append(name)
        return changed

    def mark(self, folder: str, *files: str) -> str:
        name = _found(self.path, folder)
        return self._inner.mark(name, *(_found(os.path.join(self.path, name), each) for each in files))

    def folder(self, name: str) -> OpenFolder:
        found = _found(self.path, name)
        return _Folder(self._inner.folder(found), os.path.join(self.path, found))

    def remove(self, name: str, limit: int, last: tuple[str, ...] = ()) -> None:
        found = _found(self.path, name)
        at = os.path.join(self.path, found)
        self._inner.remove(found, limit, tuple(_found(at, each) for each in last))

    def close(self) -> None:
        self._inner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


class _Folder:
    def __init__(self, inner: OpenFolder, at: str) -> None:
        self._inner, self._at = inner, at

    def seen(self, file: str) -> FileSeen | None:
        return self._inner.seen(_found(self._at, file))

    def read(self, file: str, limit: int) -> FileRead | None:
        return self._inner.read(_found(self._at, file), limit)

    def read_beginning(self, file: str, limit: int) -> FileRead | None:
        return self._inner.read_beginning(_found(self._at, file), limit)

    def create(self, file: str, data: bytes) -> None:
        found = _found(self._at, file)
        if found != file:
            raise FolderRefused(RefusalKind.EXISTS, f"{found} is there, which has the same name here")
        self._inner.create(file, data)

    def close(self) -> None:
        self._inner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()
