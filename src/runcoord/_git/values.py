"""What is known of a git checkout at one moment. Values only.

"Absent" and "could not be read" are different everywhere: the first is a fact, the second is nothing known.
"""

from __future__ import annotations

import enum
from typing import Any

from runcoord._core.values import value

Values = tuple[str | None, ...]
"""All values of one key in one file, in their order. None is a key that stands there without a value."""


class Kind(enum.StrEnum):
    """What stands at a path, symbolic links not followed."""

    ABSENT = "absent"
    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    OTHER = "other"
    UNKNOWN = "unknown"
    """The system did not say, for example because access was denied."""


@value
class Entry:
    """The identity of one entry of a directory."""

    path: str
    kind: Kind
    device: int = 0
    inode: int = 0
    owner: int = -1
    leads_to: str = ""
    """Where a symbolic link points; for ``.git`` as a file, what is written in it."""
    problem: str = ""


@value
class Checkout:
    """A work tree and the repository behind it, found by files alone. Paths are free of symbolic links."""

    top: str
    """The directory that holds ``.git``."""
    entry: Entry
    """``.git`` itself."""
    git_dir: str
    common: Entry
    """The repository: the same as ``git_dir`` but for linked worktrees."""


class Reading(enum.StrEnum):
    """How far a file could be understood."""

    READ = "read"
    ABSENT = "absent"
    UNPARSABLE = "unparsable"
    UNKNOWN = "unknown"


@value
class KeyValues:
    """One key of a config file, with all of its values in their order."""

    key: str
    values: Values


@value
class ConfigFile:
    """One config file, and in it the keys that may be put back. ``worktree`` names whose it is."""

    path: str
    reading: Reading
    kind: Kind
    leads_to: str = ""
    resolved: str = ""
    """The path without symbolic links: git writes there, and locks there."""
    values: tuple[KeyValues, ...] = ()
    content: bytes | None = None
    mode: int = 0o644
    owner: int = -1
    problem: str = ""

    def of(self, key: str) -> Values:
        return next((each.values for each in self.values if each.key == key), ())


@value
class Head:
    """What HEAD says: a ref, an object id, or nothing that git accepts (unparsable)."""

    path: str
    reading: Reading
    text: str = ""
    as_link: bool = False
    problem: str = ""


@value
class SavedFile:
    """A file of a worktree's registration. The content is here, or in a file beside the manifest."""

    name: str
    mode: int
    content: bytes | None = None
    stored: str = ""
    digest: str = ""


@value
class Registration:
    """A linked worktree as the repository knows it: the directory ``worktrees/<name>``."""

    name: str
    admin: Entry
    gitdir: str
    """The text of ``gitdir``: the path of the worktree's own ``.git``; empty when there is none."""
    commondir: str
    place: str
    """The worktree's directory."""
    link: Entry
    """The worktree's own ``.git``."""
    locked: bool = False
    has_index: bool = False
    files: tuple[SavedFile, ...] = ()
    unsaved: tuple[str, ...] = ()
    """What of it was not saved, with the reason."""


@value
class LockFile:
    """A lock file of git. Another one at the same path has another identity."""

    path: str
    device: int
    inode: int
    owner: int
    size: int
    modified: int
    """Nanoseconds, of the file system's clock."""


class Heard(enum.StrEnum):
    ANSWERED = "answered"
    ABSENT = "absent"
    """The directory, or ``.git`` in it, is not there."""
    UNKNOWN = "unknown"


@value
class Behaviour:
    """How git behaves in one work tree."""

    place: str
    heard: Heard
    inside: str = ""
    """``rev-parse --is-inside-work-tree``; empty when git refuses."""
    toplevel: str = ""
    """``rev-parse --show-toplevel``; empty when git refuses."""
    status: int = -1
    """Exit status of ``git status``."""
    says: str = ""
    """git's first line of complaint, for people; never compared."""

    @property
    def works(self) -> bool:
        return self.heard is Heard.ANSWERED and self.inside == "true" and self.status == 0


@value
class State:
    """A checkout's git state at one moment."""

    checkout: Checkout
    boot: str = ""
    """Which start of this machine it was; empty when not known. Numbers of devices are good for one."""
    configs: tuple[ConfigFile, ...] = ()
    heads: tuple[Head, ...] = ()
    registrations: tuple[Registration, ...] = ()
    locks: tuple[LockFile, ...] = ()
    behaviours: tuple[Behaviour, ...] = ()
    reftable: bool = False
    """Refs are kept in tables: then the format keys describe what is on the disk."""
    problems: tuple[str, ...] = ()
    """What could not be saved or seen."""
    gone: tuple[str, ...] = ()
    """Names of worktrees of an earlier state that have neither registration nor directory any more."""


@value
class GitSnapshot:
    """The state before the run, on disk in ``directory``."""

    directory: str
    before: State

    def document(self) -> dict[str, Any]:
        """For people and programs: everything but the contents of files."""
        before = self.before
        return {
            "directory": self.directory,
            "top": before.checkout.top,
            "repository": before.checkout.common.path,
            "configs": [
                {
                    "path": each.path,
                    "reading": each.reading.value,
                    "values": {pair.key: list(pair.values) for pair in each.values},
                }
                for each in before.configs
            ],
            "heads": {each.path: each.text for each in before.heads},
            "worktrees": {each.name: each.place for each in before.registrations},
            "behaviours": [
                {
                    "place": each.place,
                    "heard": each.heard.value,
                    "inside": each.inside,
                    "toplevel": each.toplevel,
                    "status": each.status,
                }
                for each in before.behaviours
            ],
            "problems": list(before.problems),
        }


class Absence(enum.StrEnum):
    """Why there is no snapshot to restore from."""

    MISSING = "missing"
    """None was completed: the run had not begun, so there is nothing to restore."""
    DAMAGED = "damaged"
    TOO_NEW = "too-new"
    """A newer runcoord wrote it."""


@value
class NoSnapshot:
    """A directory in which no snapshot can be read. Nothing was changed."""

    directory: str
    why: Absence
    problem: str
    remedy: str

    def document(self) -> dict[str, Any]:
        return {
            "directory": self.directory,
            "why": self.why.value,
            "problem": self.problem,
            "remedy": self.remedy,
        }
