"""Seeded defects of what is read in run folders: files that are no good."""

from __future__ import annotations

import json
import os
import stat
from typing import Any

import pytest

from defects.catalogue import Defect
from defects.homes_reaching import follow_files
from runcoord._core import strict_json
from runcoord._core.folders import read_state, read_tombstone
from runcoord._core.sources import RefusedFolder
from runcoord._homes import pinned
from runcoord._homes.refusing import require_plain
from runcoord._importer import importing, reading, saving
from runcoord._importer.report import ImportReport

Patch = pytest.MonkeyPatch


# --- one-bad-folder ---


def _decoder(patch: Patch, **hooks: Any) -> None:
    for name in ("_QUICK", "_CAREFUL"):
        patch.setattr(strict_json, name, json.JSONDecoder(**hooks))


def _the_last_key_counts(patch: Patch) -> None:
    _decoder(patch, parse_constant=strict_json._no_constant, parse_int=strict_json._integer)


def _python_json(patch: Patch) -> None:
    _decoder(patch, object_pairs_hook=strict_json._unique, parse_int=strict_json._integer)


def _any_size(patch: Patch) -> None:
    patch.setattr(reading, "MAX_STATE_FILE_BYTES", 2**30)


def _parser_gives_up(patch: Patch) -> None:
    def deep() -> BaseException:
        return RecursionError("maximum recursion depth exceeded")

    patch.setattr(strict_json, "_too_deep", deep)


def _any_file(patch: Patch) -> None:
    def any_kind(found: os.stat_result, file: str) -> None:
        if not stat.S_ISFIFO(found.st_mode):
            require_plain(found, file)

    patch.setattr(pinned, "require_plain", any_kind)


def _several_names(patch: Patch) -> None:
    class Once:
        """What is known of a file, but that it has one name."""

        def __init__(self, found: os.stat_result) -> None:
            self.st_mode, self.st_nlink = found.st_mode, 1

    patch.setattr(pinned, "require_plain", lambda found, file: require_plain(Once(found), file))  # type: ignore[arg-type]


def _corrupt_ends_it(patch: Patch) -> None:
    def said(self: reading.FolderReader, files: Any) -> Any:
        state = read_state(files.state.data, files.name, self._layout, self._folders.redact, self.now.wall)
        grave = files.grave and read_tombstone(
            files.grave.data, self._layout, self._folders.redact, self.now.wall
        )
        return reading.Said(files, state, grave)

    patch.setattr(reading.FolderReader, "_said", said)


def _read_again_each_time(patch: Patch) -> None:
    patch.setattr(importing._Pass, "_meet_refused", lambda self, folder, todo: todo.append(folder.name))


def _never_read_again(patch: Patch) -> None:
    patch.setattr(
        importing._Pass,
        "_meet_refused",
        lambda self, folder, todo: self._refuse(folder.name, folder.mark, folder.kind, folder.reason),
    )


def _refused_anew_each_time(patch: Patch) -> None:
    def refused(self: importing._Pass, folder: RefusedFolder, before: RefusedFolder | None) -> None:
        self._report.note_refused(folder)
        self._saver.add_refused(folder)

    _read_again_each_time(patch)
    patch.setattr(importing._Pass, "_refused", refused)


def _counted_but_not_named(patch: Patch) -> None:
    def count(self: ImportReport, folder: RefusedFolder) -> None:
        self.corrupt_count += 1

    patch.setattr(ImportReport, "note_refused", count)


def _passed_over(patch: Patch) -> None:
    patch.setattr(ImportReport, "note_refused", lambda self, folder: None)


def _never_forgotten(patch: Patch) -> None:
    patch.setattr(saving.Saver, "forget", lambda self, name: None)


FILES = [
    Defect(
        "one-bad-folder",
        "Of a key that is there twice the last one counts.",
        "import_report",
        _the_last_key_counts,
    ),
    Defect("one-bad-folder", "NaN and Infinity pass for JSON.", "no-silent-zero", _python_json, "nan"),
    Defect("one-bad-folder", "A file of any size is read.", "no-silent-zero", _any_size, "size"),
    Defect(
        "one-bad-folder",
        "The parser's own error about too much depth ends the whole import.",
        "import_folders",
        _parser_gives_up,
        "deep",
    ),
    Defect(
        "one-bad-folder",
        "A FIFO is opened, and counts as an empty file.",
        "import_report",
        _any_file,
        "fifo",
    ),
    Defect(
        "one-bad-folder",
        "A file that has another name elsewhere is read.",
        "inside-the-root",
        _several_names,
        "hard-link",
        scenario="one-bad-folder-for-real",
    ),
    Defect(
        "one-bad-folder",
        "A state file that is a link is followed.",
        "inside-the-root",
        follow_files,
        "link",
        scenario="one-bad-folder-for-real",
    ),
    Defect(
        "one-bad-folder",
        "The first file that is no good ends the whole import.",
        "startup",
        _corrupt_ends_it,
        "ends",
        scenario="one-bad-folder-for-real",
    ),
    Defect(
        "one-bad-folder",
        "Folders that are no good are read again by every pass.",
        "reached",
        _read_again_each_time,
        "again",
    ),
    Defect(
        "one-bad-folder",
        "Folders that are no good are written down anew by every pass.",
        "idle-is-free",
        _refused_anew_each_time,
        "anew",
    ),
    Defect(
        "one-bad-folder",
        "A folder that was no good once is not read when it was mended.",
        "one-bad-apple",
        _never_read_again,
        "mended",
    ),
    Defect(
        "one-bad-folder",
        "Folders that are no good are counted as corrupt, and not named.",
        "import_report",
        _counted_but_not_named,
        "named",
    ),
    Defect(
        "one-bad-folder",
        "Folders that are no good are passed over.",
        "no-silent-zero",
        _passed_over,
        "silent",
    ),
    Defect(
        "one-bad-folder",
        "A folder that was no good is remembered when it is gone.",
        "refused_folders",
        _never_forgotten,
        "forgotten",
        scenario="bad-folder-that-is-gone",
    ),
]
