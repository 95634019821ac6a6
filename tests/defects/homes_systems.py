"""Seeded defects of homes on other systems than this one, and of errors of the system."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from defects.catalogue import Defect
from defects.homes_reaching import silent
from runcoord._core import folders as core_folders
from runcoord._home_ports import FileRead, FileSeen, FolderRefused, Names, OpenRoot, RefusalKind
from runcoord._homes import capabilities, descriptors, opening, paths, pinned
from runcoord._importer import importing

Patch = pytest.MonkeyPatch


# --- platform-without-dir-fd ---


def _flags_at_import(patch: Patch) -> None:
    known = capabilities.flags()
    patch.setattr(pinned, "flags", lambda: known)
    patch.setattr(opening, "unable_to_hold", lambda: "")
    silent(patch)


def _not_on_this_platform(patch: Patch) -> None:
    def refused(*more: Any) -> OpenRoot:
        raise FolderRefused(RefusalKind.UNSUPPORTED, "directories cannot be held here")

    patch.setattr(opening, "open_by_path", refused)
    silent(patch)


def _no_transcripts_by_path(patch: Patch) -> None:
    patch.setattr(
        paths.PathFolder, "read_beginning", lambda self, file, limit: FileRead(b"", FileSeen("", 0), False)
    )


def _nothing_said_of_what_is_missing(patch: Patch) -> None:
    begun = paths.PathRoot.__init__

    def made(self: Any, *more: Any) -> None:
        begun(self, *more)
        self.missing = ()

    patch.setattr(paths.PathRoot, "__init__", made)


def _paths_follow(patch: Patch) -> None:
    patch.setattr(paths, "_step", lambda path, what: paths._Step(path, what, Path(path).stat()))


def _paths_look_once(patch: Patch) -> None:
    patch.setattr(paths, "_require_same", lambda steps: None)


def _handles_are_required(patch: Patch) -> None:
    lacking = capabilities.unable_to_hold
    patch.setattr(opening, "unable_to_hold", lambda: lacking() or ("" if hasattr(os, "O_PATH") else "O_PATH"))


def _any_case(patch: Patch) -> None:
    require = core_folders._require_own

    def alike(run_id: object, folder: str, layout: Any) -> None:
        if not isinstance(run_id, str) or run_id.casefold() != folder.casefold():
            require(run_id, folder, layout)

    patch.setattr(core_folders, "_require_own", alike)


# --- read-error-keeps-its-cause ---


def _closed_in_two_places(patch: Patch) -> None:
    beginning = descriptors.beginning_of

    def closing(number: int, seen: FileSeen, limit: int) -> FileRead:
        try:
            return beginning(number, seen, limit)
        except OSError:
            os.close(number)
            raise

    patch.setattr(pinned, "beginning_of", closing)


def _cause_is_lost(patch: Patch) -> None:
    beginning = descriptors.beginning_of

    def masked(number: int, seen: FileSeen, limit: int) -> FileRead:
        try:
            return beginning(number, seen, limit)
        except OSError:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF)) from None

    patch.setattr(pinned, "beginning_of", masked)


def _an_error_is_an_empty_file(patch: Patch) -> None:
    beginning = descriptors.beginning_of

    def emptied(number: int, seen: FileSeen, limit: int) -> FileRead:
        try:
            return beginning(number, seen, limit)
        except OSError:
            return FileRead(b"", seen, False)

    patch.setattr(pinned, "beginning_of", emptied)


def _left_open_after_an_error(patch: Patch) -> None:
    def leave(self: descriptors.Held, *raised: object) -> None:
        if not raised or raised[0] is None:
            self.close()

    patch.setattr(descriptors.Held, "__exit__", leave)


def _an_error_is_an_empty_root(patch: Patch) -> None:
    names = pinned.PinnedRoot.names

    def none(self: pinned.PinnedRoot, limit: int, after: str = "") -> Names:
        try:
            return names(self, limit, after)
        except FolderRefused:
            return Names([], False, False)

    patch.setattr(pinned.PinnedRoot, "names", none)


def _half_a_tombstone_stays(patch: Patch) -> None:
    patch.setattr(pinned.PinnedFolder, "_take_away", lambda self, file, begun: None)


def _an_error_is_for_good(patch: Patch) -> None:
    patch.setattr(importing, "_PASSING", frozenset())


def _a_moment_is_a_change(patch: Patch) -> None:
    patch.setattr(RefusalKind, "passing", property(lambda self: False))


SYSTEMS = [
    Defect(
        "platform-without-dir-fd",
        "What the system can do is read when the module is imported, and the refusal swallowed.",
        "no-silent-zero",
        _flags_at_import,
    ),
    Defect(
        "platform-without-dir-fd",
        "Where directories cannot be held nothing is imported, and nobody is told.",
        "no-silent-zero",
        _not_on_this_platform,
        "none",
        scenario="platform-that-lacks-one-thing",
    ),
    Defect(
        "platform-without-dir-fd",
        "Where directories cannot be held a result is empty.",
        "answer",
        _no_transcripts_by_path,
        "transcript",
    ),
    Defect(
        "platform-without-dir-fd",
        "It is not said which guarantee is missing.",
        "import_report",
        _nothing_said_of_what_is_missing,
        "unsaid",
    ),
    Defect(
        "platform-without-dir-fd",
        "By path, links are followed.",
        "no-silent-zero",
        _paths_follow,
        "link",
    ),
    Defect(
        "platform-without-dir-fd",
        "By path, a folder is checked before it is read and not after.",
        "inside-the-root",
        _paths_look_once,
        "swap",
        scenario="platform-without-dir-fd-and-a-swap",
    ),
    Defect(
        "platform-without-dir-fd",
        "Handles of directories, which only Linux has, are required to hold one.",
        "import_report",
        _handles_are_required,
        "handles",
        scenario="platform-without-handles-of-directories",
    ),
    Defect(
        "platform-without-dir-fd",
        "Upper and lower case do not count in ids.",
        "no-silent-zero",
        _any_case,
        "case",
        scenario="home-that-ignores-case",
    ),
    Defect(
        "read-error-keeps-its-cause",
        "A failing read closes its descriptor twice, the second time that of somebody else.",
        "descriptors-closed-once",
        _closed_in_two_places,
    ),
    Defect(
        "read-error-keeps-its-cause",
        "The error of a second close takes the place of the one that the read met.",
        "answer",
        _cause_is_lost,
        "cause",
    ),
    Defect(
        "read-error-keeps-its-cause",
        "A file that cannot be read counts as corrupt.",
        "import_report",
        _an_error_is_an_empty_file,
        "corrupt",
    ),
    Defect(
        "read-error-keeps-its-cause",
        "A failing read leaves its descriptor open.",
        "descriptors-closed-once",
        _left_open_after_an_error,
        "open",
    ),
    Defect(
        "read-error-keeps-its-cause",
        "A root that cannot be listed counts as empty.",
        "no-silent-zero",
        _an_error_is_an_empty_root,
        "list",
        scenario="list-error-keeps-its-cause",
    ),
    Defect(
        "read-error-keeps-its-cause",
        "A tombstone that could not be written is left torn.",
        "folder",
        _half_a_tombstone_stays,
        "torn",
        scenario="write-error-keeps-its-cause",
    ),
    Defect(
        "read-error-keeps-its-cause",
        "A folder whose file could not be read once is not read again.",
        "one-bad-apple",
        _an_error_is_for_good,
        "for-good",
    ),
    Defect(
        "read-error-keeps-its-cause",
        "A known folder that could not be looked at counts as changed, and as changed again when it can.",
        "idle-is-free",
        _a_moment_is_a_change,
        "known",
        scenario="error-at-a-known-folder",
    ),
]
