"""Looking at single files without being led astray: no link is followed unless asked, nothing blocks."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from runcoord._core import limits
from runcoord._git.values import Entry, Kind, LockFile


class NotReadable(Exception):
    """A file that is there, or may be, and cannot be read; the text says why."""


def kind_of(mode: int) -> Kind:
    if stat.S_ISLNK(mode):
        return Kind.SYMLINK
    if stat.S_ISDIR(mode):
        return Kind.DIRECTORY
    return Kind.FILE if stat.S_ISREG(mode) else Kind.OTHER


def entry_at(path: str) -> Entry:
    """What stands at ``path``, links not followed."""
    try:
        seen = os.lstat(path)
        kind = kind_of(seen.st_mode)
        leads_to = os.readlink(path) if kind is Kind.SYMLINK else ""  # noqa: PTH115 - a text, not a path
    except (FileNotFoundError, NotADirectoryError):
        return Entry(path, Kind.ABSENT)
    except (OSError, ValueError) as error:
        return Entry(path, Kind.UNKNOWN, problem=str(error))
    return Entry(path, kind, seen.st_dev, seen.st_ino, seen.st_uid, leads_to)


def git_entry_at(path: str) -> Entry:
    """The entry ``.git``: of a file also what is written in it."""
    entry = entry_at(path)
    if entry.kind is not Kind.FILE:
        return entry
    try:
        leads_to = small_text(path) or ""
    except NotReadable as error:
        return Entry(path, Kind.UNKNOWN, problem=str(error))
    return Entry(path, entry.kind, entry.device, entry.inode, entry.owner, leads_to)


def content_of(path: str, most: int, *, follow: bool = False) -> bytes | None:
    """The content of a regular file; None when there is none at ``path``.

    Raises :class:`NotReadable` for anything else: another kind of file, more than ``most`` bytes, an error.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise NotReadable(str(error)) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NotReadable(f"not a regular file: {path}")
        content = b""
        while piece := os.read(descriptor, min(most + 1 - len(content), 1 << 20)):
            content += piece
            if len(content) > most:
                raise NotReadable(f"larger than {most} bytes: {path}")
    except OSError as error:
        raise NotReadable(str(error)) from error
    finally:
        os.close(descriptor)
    return content


def small_text(path: str, *, follow: bool = False) -> str | None:
    """A file of one line without its end; None when absent. Raises :class:`NotReadable`."""
    content = content_of(path, limits.GIT_SMALL_FILE_BYTES, follow=follow)
    return None if content is None else os.fsdecode(content).rstrip("\r\n")


def names_in(directory: str) -> list[str]:
    """Names in a directory that is no link, sorted; none when it is absent. Raises :class:`NotReadable`."""
    entry = entry_at(directory)
    if entry.kind is Kind.ABSENT:
        return []
    if entry.kind is not Kind.DIRECTORY:
        raise NotReadable(f"{entry.kind.value}, not a directory: {directory} {entry.problem}".rstrip())
    try:
        return sorted(os.listdir(directory))  # noqa: PTH208 - names, undecoded ones among them
    except OSError as error:
        raise NotReadable(str(error)) from error


def lock_at(path: str) -> LockFile | None:
    """The lock file at ``path``, if there is one."""
    try:
        seen = os.lstat(path)
    except OSError:
        return None
    return LockFile(path, seen.st_dev, seen.st_ino, seen.st_uid, seen.st_size, seen.st_mtime_ns)


def sync(path: str) -> None:
    """Make a file's content durable, or the names in a directory."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_new(path: str, content: bytes, mode: int) -> None:
    """A new file, durable but for its name. Raises ``FileExistsError`` and leaves what is there alone."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fchmod(descriptor, mode & 0o7777)
        os.fsync(descriptor)
    except BaseException:
        Path(path).unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
