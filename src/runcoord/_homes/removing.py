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
    # Held from here to the end: what takes its name meanwhile is not what is removed.
    with removal.opened(root, name) as number:
        _require_its_own(number, last)
        removal.count(number, name, 1)
        removal.begin()
        try:
            removal.remove(number, 1, last)
            removal.remove_empty(root, name)
        except FolderRefused as error:
            raise FolderRefused(error.kind, f"{error.reason}; {removal.so_far()}") from error.__cause__


def _require_its_own(number: int, last: tuple[str, ...]) -> None:
    """What is removed last is there until the end: a folder without it is another one."""
    try:
        if last:
            os.stat(last[-1], dir_fd=number, follow_symlinks=False)
    except FileNotFoundError as error:
        raise FolderRefused(RefusalKind.SWAPPED, f"it has no {last[-1]} any more") from error
    except OSError as error:
        raise _refused(error, last[-1]) from error


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

    def count(self, number: int, name: str, depth: int) -> None:
        """Raises :class:`FolderRefused` for what will not be removed."""
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
                with self.opened(number, entry) as inner:
                    self.count(inner, entry, depth + 1)

    def remove(self, number: int, depth: int, last: tuple[str, ...] = ()) -> None:
        """Remove what is in a directory."""
        entries = self._entries(number, ".")
        entries.sort(key=lambda each: last.index(each[0]) if each[0] in last else -1)
        for entry, is_directory in entries:
            if self._removed >= self._counted:
                raise FolderRefused(RefusalKind.SWAPPED, "entries came into it meanwhile")
            if not is_directory:
                self._taken_away(entry, number)
            elif depth < MAX_REMOVED_DEPTH:
                with self.opened(number, entry) as inner:
                    self.remove(inner, depth + 1)
                self.remove_empty(number, entry)
                self._removed += 1

    def remove_empty(self, parent: int, name: str) -> None:
        try:
            os.rmdir(name, dir_fd=parent)
        except OSError as error:
            raise _refused(error, repr(name)) from error

    def _taken_away(self, name: str, directory: int) -> None:
        try:
            os.unlink(name, dir_fd=directory)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _refused(error, repr(name)) from error
        self._removed += 1

    def opened(self, parent: int, name: str) -> Held:
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
