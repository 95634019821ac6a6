"""Run folders by descriptors: a directory is held from check to use, and nothing below it is reached by path.

What is put in the place of a folder that is held is not what is read. On Linux holding costs no more than
opening by path. To look at a file of a folder takes three calls of the system, to read it seven.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Self

from runcoord._core.texts import storable
from runcoord._home_ports import FileRead, FileSeen, FolderRefused, Names, RefusalKind
from runcoord._homes.capabilities import Flags, flags
from runcoord._homes.descriptors import Held, beginning_of, require_size, write_all
from runcoord._homes.listing import names_among
from runcoord._homes.refusing import (
    AROUND,
    mark_of,
    no_directory,
    not_created,
    refusal,
    require_plain,
    same,
    seen_of,
    unusable,
)
from runcoord._homes.removing import remove_folder

_READ_TRIES = 3
"""A file that is replaced by another while it is opened is opened again: that is how one is written anew."""


class PinnedRoot:
    """The directory that the folders are in, held."""

    missing: tuple[str, ...] = ()

    def __init__(self, path: str, held: Held, how: Flags) -> None:
        self.path = storable(path)
        self._held = held
        self._how = how

    def names(self, limit: int, after: str = "") -> Names:
        try:
            # One of its own, because a descriptor has one place in its list.
            with (
                Held(os.open(".", self._how.listing, dir_fd=self._held.number)) as number,
                os.scandir(number) as entries,
            ):
                return names_among(entries, limit, after)
        except OSError as error:
            raise refusal(error, f"the list of {self.path}") from error

    def seen(self, folder: str, file: str) -> FileSeen | None:
        wrong = unusable(folder)
        if wrong is not None:
            raise wrong
        root = self._held.number
        try:
            number = os.open(folder, self._how.directory, dir_fd=root)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise _refused_directory(root, folder, "the folder", error) from error
        with Held(number):
            return _seen(number, file)

    def changed(self, marks: Mapping[str, str], file: str) -> list[str]:
        wrong = unusable(file)
        if wrong is not None:
            raise wrong
        root, how, changed = self._held.number, self._how.directory, []
        open_, stat_, close = os.open, os.stat, os.close  # this loop is most of what a pass costs
        for folder, mark in marks.items():
            try:
                number = -1 if "/" in folder or folder in AROUND else open_(folder, how, dir_fd=root)
            except (OSError, ValueError):
                number = -1
            if number < 0:
                changed.append(folder)
                continue
            try:
                # The mark of a plain file tells also that it still is one: to become another kind of file it
                # must be another one, and one more name changes the time of its last change.
                found = stat_(file, dir_fd=number, follow_symlinks=False)
                if mark_of(found) != mark:
                    changed.append(folder)
            except OSError:
                changed.append(folder)
            finally:
                try:  # noqa: SIM105 - twice as fast
                    close(number)
                except OSError:
                    pass
        return changed

    def mark(self, folder: str, *files: str) -> str:
        if unusable(folder) is not None:
            return ""
        root = self._held.number
        try:
            entry = os.stat(folder, dir_fd=root, follow_symlinks=False)
            marks = [mark_of(entry)]
            if stat.S_ISDIR(entry.st_mode):
                with Held(os.open(folder, self._how.directory, dir_fd=root)) as number:
                    marks += [_mark(number, file) for file in files]
        except (OSError, ValueError) as error:
            return f"!{getattr(error, 'errno', None)}"
        return " ".join(marks)

    def folder(self, name: str) -> PinnedFolder:
        wrong = unusable(name)
        if wrong is not None:
            raise wrong
        return PinnedFolder(_directory(self._held.number, name, "the folder", self._how.directory), self._how)

    def remove(self, name: str, limit: int, last: tuple[str, ...] = ()) -> None:
        wrong = unusable(name)
        if wrong is not None:
            raise wrong
        remove_folder(self._held.number, name, limit, last, self._how)

    def close(self) -> None:
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._held.close()


class PinnedFolder:
    """One folder, held."""

    def __init__(self, held: Held, how: Flags) -> None:
        self._held = held
        self._how = how

    def seen(self, file: str) -> FileSeen | None:
        return _seen(self._held.number, file)

    def read(self, file: str, limit: int) -> FileRead | None:
        found = self._read(file, limit, whole=True)
        if found is not None and found.truncated:  # it grew after it was seen
            raise FolderRefused(RefusalKind.TOO_LARGE, f"{file} has more than {limit} bytes")
        return found

    def read_beginning(self, file: str, limit: int) -> FileRead | None:
        return self._read(file, limit, whole=False)

    def _read(self, file: str, limit: int, *, whole: bool) -> FileRead | None:
        for _ in range(_READ_TRIES):
            # Looked at before it is opened: to open a FIFO or a device is an act.
            found = _plain(self._held.number, file)
            if found is None:
                return None
            if whole:
                require_size(found, limit, file)
            try:
                with Held(os.open(file, self._how.reading, dir_fd=self._held.number)) as number:
                    found = os.fstat(number)
                    # Looked at again by name: the one name that it has is this one. Else somebody could open
                    # another's file through a hard link, and take the link away before its names are counted.
                    by_name = os.stat(file, dir_fd=self._held.number, follow_symlinks=False)
                    if same(found, by_name):
                        require_plain(by_name, file)
                        return beginning_of(number, seen_of(by_name), limit)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise refusal(error, file) from error
        raise FolderRefused(RefusalKind.SWAPPED, f"{file} became another one while it was read")

    def create(self, file: str, data: bytes) -> None:
        directory = self._held.number
        wrong = unusable(file)
        if wrong is not None:
            raise wrong
        try:
            held = Held(os.open(file, self._how.creating, 0o644, dir_fd=directory))
        except OSError as error:
            raise not_created(error, file, _mark(directory, file)) from error
        begun = None
        try:
            with held as number:
                begun = os.fstat(number)
                write_all(number, data)
                held.finish()
        except BaseException as error:
            if begun is not None:
                self._take_away(file, begun)
            if isinstance(error, OSError):
                raise refusal(error, file) from error
            raise

    def _take_away(self, file: str, begun: os.stat_result) -> None:
        """Remove what was begun, unless something else has its name by now."""
        try:
            if same(begun, os.stat(file, dir_fd=self._held.number, follow_symlinks=False)):
                os.unlink(file, dir_fd=self._held.number)
        except OSError:
            pass  # why it could not be written is told

    def close(self) -> None:
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._held.close()


def open_pinned(home: str, parts: tuple[str, ...], path: str) -> PinnedRoot:
    """Hold the directory that ``parts`` lead to from ``home``, a resolved path. Raises
    :class:`FolderRefused`."""
    how = flags()
    try:
        held = Held(os.open(home, how.directory if parts else how.listing))
    except OSError as error:
        raise refusal(error, home) from error
    with ExitStack() as opened:
        opened.enter_context(held)
        for left, part in zip(range(len(parts) - 1, -1, -1), parts, strict=True):
            how_far = how.directory if left else how.listing
            inner = _directory(held.number, part, f"{part!r} in {home}", how_far)
            opened.enter_context(inner)
            held.close()
            held = inner
        opened.pop_all()
        return PinnedRoot(path, held, how)


def _directory(outer: int, name: str, what: str, how: int) -> Held:
    try:
        return Held(os.open(name, how, dir_fd=outer))
    except (OSError, ValueError) as error:
        raise _refused_directory(outer, name, what, error) from error


def _refused_directory(outer: int, name: str, what: str, error: OSError | ValueError) -> FolderRefused:
    """Systems disagree on the error for a link that is not followed, so that it is looked at."""
    if not isinstance(error, OSError):
        return FolderRefused(RefusalKind.NAME, f"{what}: {error}")
    try:
        wrong = no_directory(os.stat(name, dir_fd=outer, follow_symlinks=False), what)
    except FileNotFoundError:
        wrong = None
    except OSError:
        return refusal(error, what)
    if wrong is None and error.errno in {errno.ENOTDIR, errno.ELOOP}:  # it was one of those a moment ago
        wrong = FolderRefused(RefusalKind.SWAPPED, f"{what} became another one while it was opened")
    return wrong or refusal(error, what)


def _seen(directory: int, file: str) -> FileSeen | None:
    found = _plain(directory, file)
    return None if found is None else seen_of(found)


def _plain(directory: int, file: str) -> os.stat_result | None:
    """A regular file of one name; ``None`` when there is none. Raises :class:`FolderRefused` for others."""
    wrong = unusable(file)
    if wrong is not None:
        raise wrong
    try:
        found = os.stat(file, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refusal(error, file) from error
    require_plain(found, file)
    return found


def _mark(directory: int, file: str) -> str:
    try:
        return mark_of(os.stat(file, dir_fd=directory, follow_symlinks=False))
    except OSError as error:
        return f"!{error.errno}"
