"""What is wrong with an entry, from what the system says of it."""

from __future__ import annotations

import errno
import os
import stat

from runcoord._home_ports import FileSeen, FolderRefused, RefusalKind

_KINDS = {
    errno.ENOENT: RefusalKind.MISSING,
    errno.ENOTDIR: RefusalKind.NOT_A_DIRECTORY,
    errno.ELOOP: RefusalKind.LINK,
    errno.EACCES: RefusalKind.DENIED,
    errno.EPERM: RefusalKind.DENIED,
    errno.EEXIST: RefusalKind.EXISTS,
    errno.EROFS: RefusalKind.READ_ONLY,
    errno.ENOSPC: RefusalKind.FULL,
    getattr(errno, "EDQUOT", errno.ENOSPC): RefusalKind.FULL,
    errno.ENAMETOOLONG: RefusalKind.NAME,
    errno.EILSEQ: RefusalKind.NAME,
}
_TYPES = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISREG, "a file"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_SURROGATES = frozenset({0xA0000003, 0xA000000C})
"""Tags of what stands for a directory elsewhere on Windows: junctions, symbolic links."""
AROUND = frozenset({"", ".", ".."})
"""Names of a directory itself, and of the one around it."""


def refusal(error: OSError, what: str) -> FolderRefused:
    """The refusal for an error of the system at ``what`` (a name, or a few words)."""
    number = error.errno or 0
    reason = f"{what}: {errno.errorcode.get(number, 'unknown error')}, {error.strerror}"
    return FolderRefused(_KINDS.get(number, RefusalKind.UNREADABLE), reason)


def not_created(error: OSError, file: str, mark: str) -> FolderRefused:
    """The refusal for a file that could not be made. ``mark`` is that of whatever has its name: systems
    disagree on the error for a link or a directory that is in the way."""
    if not mark.startswith("!"):
        return FolderRefused(RefusalKind.EXISTS, f"{file} is there already")
    return refusal(error, file)


def unusable(name: str) -> FolderRefused | None:
    """The refusal for what is not the name of one entry; ``None`` when it is."""
    if name in AROUND or "/" in name or "\0" in name or (os.sep != "/" and os.sep in name):
        return FolderRefused(RefusalKind.NAME, f"{name!r} is not the name of an entry")
    return None


def is_link(found: os.stat_result) -> bool:
    """Whether an entry stands for another one."""
    return stat.S_ISLNK(found.st_mode) or getattr(found, "st_reparse_tag", 0) in _SURROGATES


def no_directory(found: os.stat_result, what: str) -> FolderRefused | None:
    """The refusal for what is no directory itself; ``None`` when it is one."""
    if is_link(found):
        return FolderRefused(RefusalKind.LINK, f"{what} is a link")
    if not stat.S_ISDIR(found.st_mode):
        return FolderRefused(RefusalKind.NOT_A_DIRECTORY, f"{what} is {_type_of(found)}")
    return None


def require_plain(found: os.stat_result, file: str) -> None:
    """Raises :class:`FolderRefused` for what is no regular file of one name."""
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1 or is_link(found):
        raise _not_plain(found, file)


def seen_of(found: os.stat_result) -> FileSeen:
    """What is seen of a file, as its caller may see it."""
    return FileSeen(mark_of(found), found.st_size)


def mark_of(found: os.stat_result) -> str:
    """Without the device: its number may be another one after the next boot, with nothing changed."""
    numbers = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return "%x.%x.%x.%x" % numbers  # noqa: UP031 - half the time, for each folder of each pass


def same(one: os.stat_result, other: os.stat_result) -> bool:
    """Whether it is one entry, looked at twice."""
    return one.st_ino == other.st_ino and one.st_dev == other.st_dev


def _not_plain(found: os.stat_result, file: str) -> FolderRefused:
    if is_link(found):
        return FolderRefused(RefusalKind.LINK, f"{file} is a link")
    if not stat.S_ISREG(found.st_mode):
        return FolderRefused(RefusalKind.NOT_REGULAR, f"{file} is {_type_of(found)}")
    return FolderRefused(RefusalKind.HARD_LINK, f"{file} has {found.st_nlink} names")


def _type_of(found: os.stat_result) -> str:
    return next((words for is_one, words in _TYPES if is_one(found.st_mode)), "no regular file")
