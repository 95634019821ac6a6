"""Folders: from their files to runs, or to why they are none.

In three steps for some folders at a time, first all files, then all that they say, then all runs: going back
and forth between the system and Python for each folder takes half as long again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from runcoord._core.folders import CorruptFolder, FolderState, Tombstone, read_state, read_tombstone
from runcoord._core.importing import Imported, imported_run
from runcoord._core.limits import FOLDERS_READ_AT_ONCE, MAX_STATE_FILE_BYTES, MAX_STATE_FILES_BYTES
from runcoord._core.model import Instant
from runcoord._core.run_folders import RunFolders
from runcoord._core.sources import KeptResult, RefusedFolder
from runcoord._core.values import value
from runcoord._home_ports import FileRead, FolderRefused, OpenFolder, OpenRoot, RefusalKind


@value
class Files:
    """What was read of one folder."""

    name: str
    state: FileRead
    grave: FileRead | None
    kept: KeptResult | None
    notes: tuple[str, ...]


@value
class Said:
    """What the files of one folder say."""

    files: Files
    state: FolderState
    tombstone: Tombstone | None


class FolderReader:
    """Reads the folders of one root. Nothing of a folder is acted on, and nothing is written."""

    def __init__(self, root: OpenRoot, folders: RunFolders, now: Instant) -> None:
        self._root, self._folders, self._layout = root, folders, folders.layout
        self.now = now
        """When a page is read; one look at the clocks is enough for it."""
        self.files = (self._layout.state_file, self._layout.tombstone_file)
        """A folder that was refused is read again when one of them changed."""

    def read(self, names: Iterable[str]) -> Iterator[list[Said | RefusedFolder]]:
        """What the folders with these names say, in their order, a bounded number of bytes at a time."""
        found: list[Files | Said | RefusedFolder] = []
        held = 0
        for name in names:
            try:
                files = self._files(name)
            except FolderRefused:
                found.append(self._again(name))
            else:
                found.append(files)
                held += len(files.state.data) + (0 if files.grave is None else len(files.grave.data))
            if len(found) >= FOLDERS_READ_AT_ONCE or held >= MAX_STATE_FILES_BYTES:
                yield self._all_said(found)
                found, held = [], 0
        if found:
            yield self._all_said(found)

    def made(self, said: Said, *, flooded: bool) -> Imported:
        """The run of a folder. With ``flooded`` its event is held."""
        files = said.files
        return imported_run(
            said.state,
            said.tombstone,
            root=self._root.path,
            below=self._layout.root,
            mark=files.state.seen.mark,
            result=files.kept,
            now=self.now,
            fallback=self._folders.fallback,
            flooded=flooded,
            notes=files.notes,
        )

    def _all_said(self, found: list[Files | Said | RefusedFolder]) -> list[Said | RefusedFolder]:
        answers: list[Said | RefusedFolder] = []
        for each in found:
            if not isinstance(each, Files):
                answers.append(each)
                continue
            try:
                answers.append(self._said(each))
            except FolderRefused:
                answers.append(self._again(each.name))
        return answers

    def _again(self, name: str) -> Said | RefusedFolder:
        """Of a folder that was refused: what is remembered must not be newer than what it is refused for, and
        so it is read once more."""
        mark = self._root.mark(name, *self.files)
        try:
            return self._said(self._files(name))
        except FolderRefused as refused:
            return RefusedFolder(
                self._root.path, name, mark, refused.kind.value, refused.reason, self.now.wall
            )

    def _files(self, name: str) -> Files:
        layout = self._layout
        with self._root.folder(name) as folder:
            state = folder.read(layout.state_file, MAX_STATE_FILE_BYTES)
            if state is None:
                raise FolderRefused(RefusalKind.MISSING, f"it has no {layout.state_file}")
            grave = folder.read(layout.tombstone_file, MAX_STATE_FILE_BYTES)
            if not layout.result_file:
                return Files(name, state, grave, None, ())
            return Files(name, state, grave, *self._result(folder))

    def _result(self, folder: OpenFolder) -> tuple[KeptResult | None, tuple[str, ...]]:
        """The result stays where it is. One that cannot be read safely is no reason to lose the run."""
        file = self._layout.result_file
        try:
            seen = folder.seen(file)
        except FolderRefused as refused:
            return None, (f"{file}: {refused.reason}",)
        return (None if seen is None else KeptResult(file, seen.size)), ()

    def _said(self, files: Files) -> Said:
        layout, redact, wall = self._layout, self._folders.redact, self.now.wall
        tombstone: Tombstone | None = None
        try:
            state = read_state(files.state.data, files.name, layout, redact, wall)
            if files.grave is not None:
                tombstone = read_tombstone(files.grave.data, layout, redact, wall)
        except CorruptFolder as corrupt:
            raise FolderRefused(RefusalKind.CORRUPT, str(corrupt)) from corrupt
        return Said(files, state, tombstone)
