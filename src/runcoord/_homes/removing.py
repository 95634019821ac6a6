"""Removing a folder with all that is in it: by descriptors, following nothing, counted before it begins."""

from __future__ import annotations

import os

from runcoord._core.limits import MAX_REMOVED_DEPTH
from runcoord._home_ports import FolderRefused, RefusalKind
from runcoord._homes.capabilities import Flags
from runcoord._homes.descriptors import Held
from runcoord._homes.refusing import no_directory, refusal


def remove_folder(root: int, name: str, limit: int, last: tuple[str, ...], how: Flags) -> None:
    """Remove the directory ``name`` in the directory ``root``. See :meth:`OpenRoot.remove`."""
    try:
        found = os.stat(name, dir_fd=root, follow_symlinks=False)
        device = os.fstat(root).st_dev
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise _refused(error, "the folder") from error
    wrong = no_directory(found, "the folder")
    if wrong is not None:
        raise wrong
    removal = _Removal(device, limit, how)
    removal.count(root, name, 1)
    removal.begin()
    try:
        removal.remove(root, name, 1, last)
    except FolderRefused as error:
        raise FolderRefused(error.kind, f"{error.reason}; {removal.so_far()}") from error.__cause__


class _Removal:
    """One folder: counted, then removed. Entries that come meanwhile make it fail, not go on."""

    def __init__(self, device: int, limit: int, how: Flags) -> None:
        self._device = device
        self._limit = limit
        self._how = how
        self._counted = 0
        self._removed = 0

    def begin(self) -> None:
        self._limit = self._counted

    def so_far(self) -> str:
        return f"{self._removed} of {self._counted} entries were removed"

    def count(self, parent: int, name: str, depth: int) -> None:
        """Raises :class:`FolderRefused` for what will not be removed."""
        with self._opened(parent, name) as number:
            if self._device_of(number, name) != self._device:
                raise FolderRefused(RefusalKind.UNSUPPORTED, f"{name!r} is on another file system")
            for entry, is_directory in self._entries(number, name):
                self._counted += 1
                if self._counted > self._limit:
                    raise FolderRefused(RefusalKind.TOO_LARGE, f"it has more than {self._limit} entries")
                if is_directory:
                    if depth == MAX_REMOVED_DEPTH:
                        reason = f"it has more than {depth} directories inside of each other"
                        raise FolderRefused(RefusalKind.TOO_LARGE, reason)
                    self.count(number, entry, depth + 1)

    def remove(self, parent: int, name: str, depth: int, last: tuple[str, ...] = ()) -> None:
        with self._opened(parent, name) as number:
            entries = self._entries(number, name)
            entries.sort(key=lambda each: last.index(each[0]) if each[0] in last else -1)
            for entry, is_directory in entries:
                if not is_directory:
                    self._taken_away(entry, number)
                elif depth < MAX_REMOVED_DEPTH:
                    self.remove(number, entry, depth + 1)
        try:
            os.rmdir(name, dir_fd=parent)
        except OSError as error:
            raise _refused(error, repr(name)) from error
        self._removed += depth > 1

    def _taken_away(self, name: str, directory: int) -> None:
        try:
            os.unlink(name, dir_fd=directory)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _refused(error, repr(name)) from error
        self._removed += 1

    def _opened(self, parent: int, name: str) -> Held:
        try:
            return Held(os.open(name, self._how.listing, dir_fd=parent))
        except OSError as error:
            raise _refused(error, repr(name)) from error

    def _device_of(self, number: int, name: str) -> int:
        try:
            return os.fstat(number).st_dev
        except OSError as error:
            raise _refused(error, repr(name)) from error

    def _entries(self, number: int, name: str) -> list[tuple[str, bool]]:
        """Names, and which are directories. One more than may be is enough to know."""
        found: list[tuple[str, bool]] = []
        try:
            with os.scandir(number) as entries:
                for entry in entries:
                    found.append((entry.name, entry.is_dir(follow_symlinks=False)))
                    if len(found) > self._limit:
                        break
        except OSError as error:
            raise _refused(error, repr(name)) from error
        return found


def _refused(error: OSError | ValueError, what: str) -> FolderRefused:
    if isinstance(error, OSError):
        return refusal(error, what)
    return FolderRefused(RefusalKind.NAME, f"{what}: {error}")
