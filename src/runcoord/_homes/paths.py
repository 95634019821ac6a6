"""Run folders by path, for systems that cannot hold directories.

Each directory below the home is looked at before and after what is done in it: the answer counts only if it
was the same one, and no link, both times. What this cannot see is named in :attr:`PathRoot.missing`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Self, TypeVar

from runcoord._core.texts import storable
from runcoord._core.values import value
from runcoord._home_ports import FileRead, FileSeen, FolderRefused, Names, RefusalKind
from runcoord._homes.capabilities import Flags, flags
from runcoord._homes.descriptors import Held, beginning_of, require_size, write_all
from runcoord._homes.listing import names_among
from runcoord._homes.refusing import (
    mark_of,
    no_directory,
    not_created,
    refusal,
    require_plain,
    same,
    seen_of,
    unusable,
)

T = TypeVar("T")


@value
class _Step:
    """A directory as it was first seen."""

    path: str
    what: str
    found: os.stat_result


def _step(path: str, what: str) -> _Step:
    """Raises :class:`FolderRefused` when it is no directory itself."""
    try:
        found = os.lstat(path)
    except OSError as error:
        raise refusal(error, what) from error
    except ValueError as error:
        raise FolderRefused(RefusalKind.NAME, f"{what}: {error}") from error
    wrong = no_directory(found, what)
    if wrong is not None:
        raise wrong
    return _Step(path, what, found)


def _require_same(steps: tuple[_Step, ...]) -> None:
    """Raises :class:`FolderRefused` when one of them is not what it was."""
    for step in steps:
        if not same(step.found, _step(step.path, step.what).found):
            raise FolderRefused(RefusalKind.SWAPPED, f"{step.what} became another one")


class PathRoot:
    """The directory that the folders are in, looked at again and again."""

    def __init__(self, path: str, steps: tuple[_Step, ...], how: Flags, lacking: str) -> None:
        self.path = storable(path)
        self.missing = (
            f"directories cannot be held here ({lacking}): one swapped and swapped back is not seen",
            "folders are not pruned here",
        )
        self._path = path
        self._steps = steps
        self._how = how
        self._closed = False

    def names(self, limit: int, after: str = "") -> Names:
        self._require_open()
        try:
            with os.scandir(self._path) as entries:
                found = names_among(entries, limit, after)
        except OSError as error:
            raise refusal(error, f"the list of {self.path}") from error
        _require_same(self._steps)
        return found

    def seen(self, folder: str, file: str) -> FileSeen | None:
        try:
            with self.folder(folder) as opened:
                return opened.seen(file)
        except FolderRefused as refused:
            if refused.kind is RefusalKind.MISSING:
                return None
            raise

    def changed(self, marks: Mapping[str, str], file: str) -> list[str]:
        changed = []
        for folder, mark in marks.items():
            try:
                seen = self.seen(folder, file)
            except FolderRefused:
                seen = None
            if seen is None or seen.mark != mark:
                changed.append(folder)
        return changed

    def mark(self, folder: str, *files: str) -> str:
        if unusable(folder) is not None:
            return ""
        path = os.path.join(self._path, folder)
        try:
            entry = os.lstat(path)
            marks = [mark_of(entry)]
            if no_directory(entry, "") is None:
                marks += [_mark(os.path.join(path, file)) for file in files]
        except (OSError, ValueError) as error:
            return f"!{getattr(error, 'errno', None)}"
        return " ".join(marks)

    def folder(self, name: str) -> PathFolder:
        self._require_open()
        wrong = unusable(name)
        if wrong is not None:
            raise wrong
        step = _step(os.path.join(self._path, name), "the folder")
        _require_same(self._steps)
        return PathFolder((*self._steps, step), self._how)

    def remove(self, name: str, limit: int, last: tuple[str, ...] = ()) -> None:
        try:
            self.folder(name).close()
        except FolderRefused as refused:
            if refused.kind is RefusalKind.MISSING:
                return
            raise
        reason = "nothing is removed where directories cannot be held: another one could take its place"
        raise FolderRefused(RefusalKind.UNSUPPORTED, reason)

    def _require_open(self) -> None:
        if self._closed:
            raise FolderRefused(RefusalKind.UNREADABLE, f"{self.path} is closed")

    def close(self) -> None:
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


class PathFolder:
    """One folder by its path."""

    def __init__(self, steps: tuple[_Step, ...], how: Flags) -> None:
        self._steps = steps
        self._how = how
        self._closed = False

    def seen(self, file: str) -> FileSeen | None:
        return self._checked(file, lambda path: _seen(path, file))

    def read(self, file: str, limit: int) -> FileRead | None:
        found = self._checked(file, lambda path: self._read(path, file, limit, whole=True))
        if found is not None and found.truncated:  # it grew after it was seen
            raise FolderRefused(RefusalKind.TOO_LARGE, f"{file} has more than {limit} bytes")
        return found

    def read_beginning(self, file: str, limit: int) -> FileRead | None:
        return self._checked(file, lambda path: self._read(path, file, limit, whole=False))

    def _checked(self, file: str, act: Callable[[str], T]) -> T:
        """What ``act`` gives, if the directories were the same before and after it."""
        wrong = unusable(file)
        if wrong is not None:
            raise wrong
        if self._closed:
            raise FolderRefused(RefusalKind.UNREADABLE, "the folder is closed")
        _require_same(self._steps)
        try:
            given = act(os.path.join(self._steps[-1].path, file))
        except OSError as error:
            raise refusal(error, file) from error
        _require_same(self._steps)
        return given

    def _read(self, path: str, file: str, limit: int, *, whole: bool) -> FileRead | None:
        before = _plain(path, file)
        if before is None:
            return None
        if whole:
            require_size(before, limit, file)
        with Held(os.open(path, self._how.reading)) as number:
            found, by_name = os.fstat(number), os.lstat(path)
            require_plain(by_name, file)
            if not same(found, by_name):
                raise FolderRefused(RefusalKind.SWAPPED, f"{file} became another one while it was read")
            return beginning_of(number, seen_of(by_name), limit)

    def create(self, file: str, data: bytes) -> None:
        self._checked(file, lambda path: self._create(path, data))

    def _create(self, path: str, data: bytes) -> None:
        try:
            held = Held(os.open(path, self._how.creating, 0o644))
        except OSError as error:
            raise not_created(error, os.path.basename(path), _mark(path)) from error
        begun = None
        try:
            with held as number:
                begun = os.fstat(number)
                _require_same(self._steps)
                write_all(number, data)
                held.finish()
        except BaseException:
            if begun is not None:
                _take_away(path, begun)
            raise

    def close(self) -> None:
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def open_by_path(home: str, parts: tuple[str, ...], path: str, lacking: str) -> PathRoot:
    """Look at the directories that ``parts`` lead to from ``home``, a resolved path. Raises
    :class:`FolderRefused`."""
    steps = [_step(home, home)]
    for part in parts:
        steps.append(_step(os.path.join(steps[-1].path, part), f"{part!r} in {home}"))
    return PathRoot(path, tuple(steps), flags(), lacking)


def _seen(path: str, file: str) -> FileSeen | None:
    found = _plain(path, file)
    return None if found is None else seen_of(found)


def _plain(path: str, file: str) -> os.stat_result | None:
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    require_plain(found, file)
    return found


def _mark(path: str) -> str:
    try:
        return mark_of(os.lstat(path))
    except OSError as error:
        return f"!{error.errno}"


def _take_away(path: str, begun: os.stat_result) -> None:
    """Remove what was begun, unless something else has its name by now."""
    try:
        if same(begun, os.lstat(path)):
            os.unlink(path)
    except OSError:
        pass  # why it could not be written is told
