"""The edge that run folders are behind.

A *home* is a directory that the operator names: it is trusted, and resolved once, through whatever spelling.
Everything below it may have been written by anybody, so that nothing below it is reached through a link, and
nothing is read that is not a regular file of one name.

Public through :mod:`runcoord.ports`.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

from runcoord._core.values import field, value

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import Protocol, Self
else:
    Protocol = object  # what follows says what is expected, and is not asked for at run time


class RefusalKind(enum.StrEnum):
    """Why a run folder, or a root with all folders in it, was not read or written."""

    LINK = "link"
    """A symbolic link, or another kind of directory that stands for one elsewhere."""
    NOT_A_DIRECTORY = "not-a-directory"
    NOT_REGULAR = "not-regular"
    """A file that is a directory, FIFO, socket or device."""
    HARD_LINK = "hard-link"
    """A file that has another name somewhere: it may be somebody else's."""
    TOO_LARGE = "too-large"
    SWAPPED = "swapped"
    """It became another one between two looks."""
    DENIED = "denied"
    """The system does not permit it."""
    MISSING = "missing"
    NAME = "name"
    """A name that cannot be the id of a run."""
    CORRUPT = "corrupt"
    """Read, but not what its layout says."""
    EXISTS = "exists"
    """A file that was to be made is there already."""
    READ_ONLY = "read-only"
    """The file system takes no writes."""
    FULL = "full"
    """No space is left on it, or in somebody's quota."""
    UNSUPPORTED = "unsupported"
    """This system has no way to do it that is safe."""
    UNREADABLE = "unreadable"
    """Any other error of the system; the reason names it."""

    @property
    def passing(self) -> bool:
        """Whether it may be over without any change of the folder, so that each pass should try again: a disk
        that failed, no descriptor left, another user who imports."""
        return self in _PASSING


_PASSING = frozenset({RefusalKind.UNREADABLE, RefusalKind.DENIED, RefusalKind.SWAPPED})


class FolderRefused(Exception):
    """Something of a home was not read or written. Not an error of the caller: whoever imports counts it,
    names it and goes on. The system's error, if there was one, is its ``__cause__``."""

    def __init__(self, kind: RefusalKind, reason: str) -> None:
        super().__init__(f"{kind}: {reason}")
        self.kind = kind
        self.reason = reason

    def __reduce__(self) -> tuple[type[FolderRefused], tuple[RefusalKind, str]]:
        return type(self), (self.kind, self.reason)


@value
class FileSeen:
    """A regular file of one name as the system describes it, unopened."""

    mark: str
    """Differs when the file was written, replaced or renamed, also when its times were set back. An edit that
    keeps the size, within one tick of the file system's clock (4 ms at most) after the look, is not seen on
    systems whose files have no finer times."""
    size: int
    """Bytes."""


@value
class FileRead:
    """What was read of a file."""

    data: bytes = field(repr=False)
    seen: FileSeen
    """From before the first byte was read."""
    truncated: bool = False
    """There is more in it."""


@value
class Names:
    """Names of the entries of a root, whatever they are, in the order of their code points."""

    names: list[str]
    """Bytes that are no text are lone surrogates in them (PEP 383)."""
    more: bool = False
    """There are further names behind the last one."""
    uncounted: bool = False
    """The root has more entries than are looked at; names may be missing anywhere."""


class OpenFolder(Protocol):
    """One run folder, held from check to use: what takes its place meanwhile is not what is read."""

    def seen(self, file: str) -> FileSeen | None:
        """Look at a file, without opening it; ``None`` when there is none. Raises :class:`FolderRefused` when
        it is no regular file of one name, and when that cannot be told."""

    def read(self, file: str, limit: int) -> FileRead | None:
        """A whole file; ``None`` when there is none. Raises :class:`FolderRefused` like :meth:`seen`, and
        when it is larger than ``limit`` bytes. Never waits for somebody to write."""

    def read_beginning(self, file: str, limit: int) -> FileRead | None:
        """As :meth:`read`, but of a larger file its first ``limit`` bytes."""

    def create(self, file: str, data: bytes) -> None:
        """Make a file that is not there. Raises :class:`FolderRefused`, of the kind
        :attr:`RefusalKind.EXISTS` when anything has that name; what was begun is taken away again."""

    def close(self) -> None:
        """Let go. A second time does nothing."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *raised: object) -> None: ...


class OpenRoot(Protocol):
    """The directory that the run folders are in. Callable from one thread at a time."""

    @property
    def path(self) -> str:
        """Where it is: the home resolved, and the layout's root below it. For people, and as a key."""

    @property
    def missing(self) -> tuple[str, ...]:
        """What cannot be guaranteed on this system, in words; empty where everything is."""

    def names(self, limit: int, after: str = "") -> Names:
        """The first ``limit`` names behind ``after``. Raises :class:`FolderRefused` when it cannot be
        listed."""

    def seen(self, folder: str, file: str) -> FileSeen | None:
        """Look at one file of a folder, cheaply: for folders that are known. ``None`` when the folder or the
        file is not there. Raises :class:`FolderRefused` when the folder is no directory, like
        :meth:`OpenFolder.seen`, and when that cannot be told."""

    def changed(self, marks: Mapping[str, str], file: str) -> list[str]:
        """Which of these folders, known by their names, do not have the plain file any more whose mark is
        given here; :meth:`seen` tells more of each. For thousands of folders that did not change: three calls
        of the system for each, and nothing is opened for reading. Raises nothing for any of them."""

    def mark(self, folder: str, *files: str) -> str:
        """A text that differs when the folder itself, or one of these files in it, became another one or was
        changed, whatever they are: for folders that were refused. Opens nothing, and raises nothing."""

    def folder(self, name: str) -> OpenFolder:
        """Open a folder. Raises :class:`FolderRefused`."""

    def remove(self, name: str, limit: int, last: tuple[str, ...] = ()) -> None:
        """Remove a folder with all that is in it, following nothing; of its own files ``last`` at the end.
        It is held meanwhile: another one that takes its place is not removed.

        Raises :class:`FolderRefused`: before anything is removed, when the very last file is not in it, when
        there are more than ``limit`` entries, more directories inside of each other than are followed,
        another file system, or a directory that may not be listed; later, with the number of what was
        removed, when the system refuses. Does nothing when it is not there.
        """

    def close(self) -> None:
        """Let go. A second time does nothing."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *raised: object) -> None: ...


class Homes(Protocol):
    """The directories that older run folders are in."""

    def open(self, home: str, root: str) -> OpenRoot:
        """Open the directory ``root`` (relative, ``/`` between its parts, ``.`` for the home itself) of a
        home. The home may be spelled in any way, through any links; none of the parts may be one.

        Raises :class:`FolderRefused`. Asks what the system can do every time, so that a system that cannot
        hold directories is told by :attr:`OpenRoot.missing` and not by an empty list.
        """
