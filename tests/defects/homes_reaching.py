"""Seeded defects of how homes are reached: through links, by several spellings, on other systems."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest

from defects.catalogue import Defect
from runcoord._core.folders import tombstone_bytes
from runcoord._core.run_folders import RunFolders
from runcoord._core.sources import SourceState
from runcoord._home_ports import FileRead, FileSeen, FolderRefused, Names, OpenRoot, RefusalKind
from runcoord._homes import capabilities, descriptors, opening, pinned, removing
from runcoord._homes.refusing import mark_of, refusal
from runcoord._importer.closing import Closer
from runcoord._importer.importing import Importer
from runcoord._importer.report import ImportReport

Patch = pytest.MonkeyPatch


def silent(patch: Patch) -> None:
    """What is wrong with a root is said to nobody."""
    run = Importer._run

    def quiet(self: Importer, folders: RunFolders, report: ImportReport, *more: Any) -> str:
        after = run(self, folders, report, *more)
        report.problem = None
        return after

    patch.setattr(Importer, "_run", quiet)


# --- symlinked-home ---


def _raw_and_silent(patch: Patch) -> None:
    patch.setattr(opening, "_resolved", lambda home: home)
    silent(patch)


def _no_link_on_the_way(patch: Patch) -> None:
    def walked(home: str) -> str:
        if os.path.realpath(home) != os.path.normpath(Path.cwd() / home):
            raise FolderRefused(RefusalKind.LINK, f"{home} is reached through a link")
        return os.path.realpath(home)

    patch.setattr(opening, "_resolved", walked)


def _as_spelled_or_not_at_all(patch: Patch) -> None:
    def compared(home: str) -> str:
        if os.path.realpath(home) != home:
            raise FolderRefused(RefusalKind.NAME, f"{home} is another path")
        return home

    patch.setattr(opening, "_resolved", compared)


def _root_as_it_is_spelled(patch: Patch) -> None:
    opened = opening.SystemHomes.open

    def spelled(self: opening.SystemHomes, home: str, root: str) -> OpenRoot:
        found: Any = opened(self, home, root)
        found.path = os.path.join(home, root)
        return found  # type: ignore[no-any-return]

    patch.setattr(opening.SystemHomes, "open", spelled)


# --- home-replaced-by-symlink ---


def follow_directories(patch: Patch) -> None:
    def followed(outer: int, name: str, what: str, how: int) -> descriptors.Held:
        try:
            return descriptors.Held(os.open(name, how & ~os.O_NOFOLLOW, dir_fd=outer))
        except OSError as error:
            raise refusal(error, what) from error

    patch.setattr(pinned, "_directory", followed)


def unchecked_tombstones(patch: Patch) -> None:
    def unchecked(self: Closer, run: Any) -> None:
        layout = self._folders.layout
        with self._root.folder(run.run_id) as folder:
            folder.create(layout.tombstone_file, tombstone_bytes(run, layout))
        self._report.tombstoned += 1
        self._saver.notice(run.run_id, state=SourceState.CLOSED)

    patch.setattr(Closer, "_write_tombstone", unchecked)


def _tombstone_in_a_linked_folder(patch: Patch) -> None:
    follow_directories(patch)
    unchecked_tombstones(patch)
    patch.setattr(pinned.PinnedRoot, "changed", lambda self, marks, file: [])


def _tombstone_through_a_linked_file(patch: Patch) -> None:
    flags = capabilities.flags
    through = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    patch.setattr(pinned, "flags", lambda: replace(flags(), creating=through))


def _gone_when_hidden(patch: Patch) -> None:
    opened = opening.SystemHomes.open

    class Empty:
        missing = ()

        def __init__(self, path: str) -> None:
            self.path = path

        def names(self, limit: int, after: str = "") -> Names:
            return Names([], False, False)

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *raised: object) -> None:
            pass

        def close(self) -> None:
            pass

    def empty(self: opening.SystemHomes, home: str, root: str) -> Any:
        try:
            return opened(self, home, root)
        except FolderRefused:
            return Empty(os.path.join(os.path.realpath(home), root))

    patch.setattr(opening.SystemHomes, "open", empty)


# --- swapped-directory ---


def _by_path(patch: Patch) -> None:
    folder = pinned.PinnedRoot.folder

    def named(self: pinned.PinnedRoot, name: str) -> Any:
        made: Any = folder(self, name)
        made.path = os.path.join(self.path, name)
        return made

    patch.setattr(pinned.PinnedRoot, "folder", named)


def _read_by_path(patch: Patch) -> None:
    def read(self: Any, file: str, limit: int) -> FileRead | None:
        try:
            with open(os.path.join(self.path, file), "rb") as stream:
                found, data = os.fstat(stream.fileno()), stream.read(limit)
        except FileNotFoundError:
            return None
        return FileRead(data, FileSeen(mark_of(found), len(data)), False)

    _by_path(patch)
    patch.setattr(pinned.PinnedFolder, "read", read)


def _tombstone_by_path(patch: Patch) -> None:
    def create(self: Any, file: str, data: bytes) -> None:
        with open(os.path.join(self.path, file), "wb") as stream:
            stream.write(data)

    _by_path(patch)
    patch.setattr(pinned.PinnedFolder, "create", create)


def follow_files(patch: Patch) -> None:
    """Files are looked at and opened through links."""

    def plain(directory: int, file: str) -> os.stat_result | None:
        try:
            return os.stat(file, dir_fd=directory)
        except FileNotFoundError:
            return None

    def read(self: pinned.PinnedFolder, file: str, limit: int, *, whole: bool) -> FileRead | None:
        found = plain(self._held.number, file)
        if found is None:
            return None
        if whole:
            descriptors.require_size(found, limit, file)
        with descriptors.Held(os.open(file, os.O_RDONLY | os.O_NONBLOCK, dir_fd=self._held.number)) as number:
            return descriptors.beginning_of(number, FileSeen(mark_of(found), found.st_size), limit)

    patch.setattr(pinned, "_plain", plain)
    patch.setattr(pinned.PinnedFolder, "_read", read)


def _prune_what_is_there(patch: Patch) -> None:
    patch.setattr(removing, "_require_its_own", lambda number, last: None)


def _prune_by_path(patch: Patch) -> None:
    patch.setattr(
        pinned.PinnedRoot,
        "remove",
        lambda self, name, limit, last=(): shutil.rmtree(os.path.realpath(os.path.join(self.path, name))),
    )


REACHING = [
    Defect(
        "symlinked-home",
        "The home is opened as it is spelled, without following a link, and the refusal is swallowed.",
        "no-silent-zero",
        _raw_and_silent,
        variant="symlinked-sim",
    ),
    Defect(
        "symlinked-home",
        "A link anywhere on the way to the home is refused.",
        "import_report",
        _no_link_on_the_way,
        "ancestor",
        variant="symlinked-ancestor-sim",
    ),
    Defect(
        "symlinked-home",
        "A home that is not spelled by its resolved path is refused.",
        "import_report",
        _as_spelled_or_not_at_all,
        "spelling",
        variant="trailing-slash-sim",
    ),
    Defect(
        "symlinked-home",
        "Folders are remembered by the root as it is spelled, so that the ledger is at another path.",
        "refused_folders",
        _root_as_it_is_spelled,
        "ledger",
        variant="symlinked",
        scenario="symlinked-home-in-the-sweep",
    ),
    Defect(
        "home-replaced-by-symlink",
        "A link in the place of the root is followed.",
        "inside-the-root",
        follow_directories,
    ),
    Defect(
        "home-replaced-by-symlink",
        "A root that is a link is refused, and the refusal swallowed.",
        "no-silent-zero",
        silent,
        "silent",
    ),
    Defect(
        "home-replaced-by-symlink",
        "A root that is a link is taken for an empty one, whose folders are gone.",
        "import_report",
        _gone_when_hidden,
        "gone",
        scenario="root-replaced-while-it-is-imported",
    ),
    Defect(
        "home-replaced-by-symlink",
        "A link in the place of a folder is followed.",
        "inside-the-root",
        follow_directories,
        "folder",
        scenario="folders-replaced-by-symlinks",
    ),
    Defect(
        "home-replaced-by-symlink",
        "A tombstone is written into whatever has the folder's name.",
        "inside-the-root",
        _tombstone_in_a_linked_folder,
        "tombstone",
        scenario="symlinks-where-a-tombstone-belongs",
    ),
    Defect(
        "home-replaced-by-symlink",
        "A tombstone is written through a link that has its name.",
        "source-untouched",
        _tombstone_through_a_linked_file,
        "tombstone-file",
        scenario="symlinks-where-a-tombstone-belongs",
    ),
    Defect(
        "swapped-directory",
        "A folder is checked, and then read by its path.",
        "inside-the-root",
        _read_by_path,
    ),
    Defect(
        "swapped-directory",
        "Each file is read from the folder that has the name by then.",
        "import_report",
        _read_by_path,
        "files",
        scenario="swapped-between-two-files",
    ),
    Defect(
        "swapped-directory",
        "A file is opened through a link that was put in its place after the listing.",
        "inside-the-root",
        follow_files,
        "file",
        scenario="swapped-before-it-is-opened",
    ),
    Defect(
        "swapped-directory",
        "A tombstone is written without a look whether it is still the folder that was imported.",
        "import_report",
        unchecked_tombstones,
        "another",
        scenario="swapped-before-its-tombstone",
    ),
    Defect(
        "swapped-directory",
        "The folder is checked through a descriptor, and its tombstone written by path.",
        "inside-the-root",
        _tombstone_by_path,
        "tombstone",
        scenario="swapped-while-its-tombstone-is-written",
    ),
    Defect(
        "swapped-directory",
        "What is in the place of an old folder is removed by path, through a link.",
        "inside-the-root",
        _prune_by_path,
        "pruned-link",
        scenario="swapped-before-it-is-pruned",
    ),
    Defect(
        "swapped-directory",
        "What is in the place of an old folder is removed, tombstone or not.",
        "source-untouched",
        _prune_what_is_there,
        "pruned",
        scenario="swapped-for-another-before-it-is-pruned",
    ),
]
