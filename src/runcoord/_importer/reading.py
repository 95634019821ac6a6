"""One folder: from its files to a run, or to why it is none."""

from __future__ import annotations

from collections.abc import Callable

from runcoord._core.folders import CorruptFolder, Tombstone, read_state, read_tombstone
from runcoord._core.importing import Imported, imported_run
from runcoord._core.limits import MAX_STATE_FILE_BYTES
from runcoord._core.model import Instant
from runcoord._core.run_folders import RunFolders
from runcoord._core.sources import KeptResult, RefusedFolder
from runcoord._home_ports import FolderRefused, OpenFolder, OpenRoot, RefusalKind


class FolderReader:
    """Reads the folders of one root. Nothing of a folder is acted on, and nothing is written."""

    def __init__(self, root: OpenRoot, folders: RunFolders, now: Callable[[], Instant]) -> None:
        self._root, self._folders, self._layout = root, folders, folders.layout
        self._now = now
        self.files = (self._layout.state_file, self._layout.tombstone_file)
        """A folder that was refused is read again when one of them changed."""

    def read(self, name: str, *, flooded: bool) -> Imported | RefusedFolder:
        """The run of a folder. With ``flooded`` its event is held."""
        try:
            return self._read(name, flooded)
        except FolderRefused:
            pass
        # What is remembered of it must not be newer than what it is refused for: so it is read once more.
        mark = self._root.mark(name, *self.files)
        try:
            return self._read(name, flooded)
        except FolderRefused as refused:
            kind, reason = refused.kind, refused.reason
        return RefusedFolder(self._root.path, name, mark, kind.value, reason, self._now().wall)

    def _read(self, name: str, flooded: bool) -> Imported:
        layout, now = self._layout, self._now()
        with self._root.folder(name) as folder:
            state = folder.read(layout.state_file, MAX_STATE_FILE_BYTES)
            if state is None:
                raise FolderRefused(RefusalKind.MISSING, f"it has no {layout.state_file}")
            grave = folder.read(layout.tombstone_file, MAX_STATE_FILE_BYTES)
            kept, notes = self._result(folder)
        redact = self._folders.redact
        tombstone: Tombstone | None = None
        try:
            fields = read_state(state.data, name, layout, redact, now.wall)
            if grave is not None:
                tombstone = read_tombstone(grave.data, layout, redact, now.wall)
        except CorruptFolder as corrupt:
            raise FolderRefused(RefusalKind.CORRUPT, str(corrupt)) from corrupt
        except Exception as error:  # the redactor is somebody else's
            reason = f"its text could not be redacted ({type(error).__name__})"
            raise FolderRefused(RefusalKind.UNREADABLE, reason) from error
        return imported_run(
            fields,
            tombstone,
            root=self._root.path,
            below=layout.root,
            mark=state.seen.mark,
            result=kept,
            now=now,
            fallback=self._folders.fallback,
            flooded=flooded,
            notes=notes,
        )

    def _result(self, folder: OpenFolder) -> tuple[KeptResult | None, tuple[str, ...]]:
        """The result stays where it is. One that cannot be read safely is no reason to lose the run."""
        file = self._layout.result_file
        if not file:
            return None, ()
        try:
            seen = folder.seen(file)
        except FolderRefused as refused:
            return None, (f"{file}: {refused.reason}",)
        return (None if seen is None else KeptResult(file, seen.size)), ()
