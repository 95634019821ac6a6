"""The machine's own homes, with a look at every call, and failures where a test wants them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Self

from runcoord import open_homes
from runcoord.ports import FileRead, FileSeen, FolderRefused, Names, OpenFolder, OpenRoot, RefusalKind

Hook = Callable[[str, str], None]


class WatchedHomes:
    """``calls`` counts by kind of call. ``failing`` maps a kind, or a kind and a folder, to what it is
    refused with. ``before`` is called before each effect, with its kind and the folder."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.failing: dict[str | tuple[str, str], RefusalKind] = {}
        self.before: Hook = lambda kind, folder: None
        self.after: Hook = lambda kind, folder: None

    def open(self, home: str, root: str) -> OpenRoot:
        self.note("open", "")
        return _Root(self, open_homes().open(home, root))

    def note(self, kind: str, folder: str) -> None:
        """Count it, and refuse it if that is asked for."""
        self.calls[kind] += 1
        self.before(kind, folder)
        refused = self.failing.get(kind) or self.failing.get((kind, folder))
        if refused is not None:
            raise FolderRefused(refused, f"{kind} fails")


class _Root:
    def __init__(self, homes: WatchedHomes, root: OpenRoot) -> None:
        self._homes, self._root = homes, root
        self.path, self.missing = root.path, root.missing

    def names(self, limit: int, after: str = "") -> Names:
        self._homes.note("list", "")
        return self._root.names(limit, after)

    def seen(self, folder: str, file: str) -> FileSeen | None:
        self._homes.note("look", folder)
        return self._root.seen(folder, file)

    def changed(self, marks: Mapping[str, str], file: str) -> list[str]:
        self._homes.note("compare", "")
        return self._root.changed(marks, file)

    def mark(self, folder: str, *files: str) -> str:
        self._homes.calls["mark"] += 1
        return self._root.mark(folder, *files)

    def folder(self, name: str) -> OpenFolder:
        self._homes.note("folder", name)
        return _Folder(self._homes, name, self._root.folder(name))

    def remove(self, name: str, limit: int, last: tuple[str, ...] = ()) -> None:
        self._homes.note("remove", name)
        self._root.remove(name, limit, last)
        self._homes.after("remove", name)

    def close(self) -> None:
        self._root.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._root.__exit__(*raised)


class _Folder:
    def __init__(self, homes: WatchedHomes, name: str, folder: OpenFolder) -> None:
        self._homes, self._name, self._folder = homes, name, folder

    def seen(self, file: str) -> FileSeen | None:
        self._homes.note("look", self._name)
        return self._folder.seen(file)

    def read(self, file: str, limit: int) -> FileRead | None:
        self._homes.note("read", self._name)
        return self._folder.read(file, limit)

    def read_beginning(self, file: str, limit: int) -> FileRead | None:
        self._homes.note("read", self._name)
        return self._folder.read_beginning(file, limit)

    def create(self, file: str, data: bytes) -> None:
        self._homes.note("create", self._name)
        self._folder.create(file, data)
        self._homes.after("create", self._name)

    def close(self) -> None:
        self._folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._folder.__exit__(*raised)
