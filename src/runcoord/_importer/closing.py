"""What is written to run folders: a tombstone after delivery, and, when that is asked for, their removal."""

from __future__ import annotations

from runcoord._core.folders import tombstone_bytes
from runcoord._core.limits import (
    MAX_REMOVED_ENTRIES,
    PRUNED_FOLDERS_PER_SWEEP,
    TOMBSTONES_PER_SWEEP,
)
from runcoord._core.model import Run
from runcoord._core.run_folders import RunFolders
from runcoord._core.sources import RefusedFolder, SourceState
from runcoord._home_ports import FolderRefused, OpenRoot, RefusalKind
from runcoord._importer.report import ImportReport
from runcoord._importer.saving import Saver
from runcoord.ports import BadRow, Store

_ALL = 2**62
"""Tombstones or prunings of a pass without bounds: more than there can be folders."""
_HOPELESS = frozenset({RefusalKind.READ_ONLY, RefusalKind.FULL})
"""What holds for the whole file system: no further tombstone is tried in this pass."""


class Closer:
    """Closes the folders of one root whose runs have nothing left to tell."""

    def __init__(
        self,
        store: Store,
        root: OpenRoot,
        folders: RunFolders,
        saver: Saver,
        report: ImportReport,
        *,
        bounded: bool,
    ) -> None:
        self._store, self._root, self._folders = store, root, folders
        self._saver, self._report = saver, report
        self._tombstones = TOMBSTONES_PER_SWEEP if bounded else _ALL
        self._prunings = PRUNED_FOLDERS_PER_SWEEP if bounded else _ALL
        self._hopeless = False

    # --- tombstones ---

    def tombstone(self, run_ids: list[str]) -> None:
        """Write the tombstones of runs whose events were delivered. One that fails is named, and tried again
        by the next pass; where the file system takes none, the others are not tried."""
        if self._hopeless or not run_ids:
            return
        if len(run_ids) > self._tombstones:
            self._report.unfinished = True
            run_ids = run_ids[: self._tombstones]
        bad: list[BadRow] = []
        with self._store.view("read-untombstoned") as view:
            runs = view.load_runs(run_ids, bad)
        for row in bad:
            self._fail(row.key, RefusalKind.UNREADABLE, row.problem)
        for run in runs:
            if not self._hopeless:
                self._tombstones -= 1
                self._write_tombstone(run)

    def _write_tombstone(self, run: Run) -> None:
        layout, source = self._folders.layout, run.source
        assert source is not None
        try:
            with self._root.folder(run.run_id) as folder:
                seen = folder.seen(layout.state_file)
                if seen is None or seen.mark != source.mark:
                    raise FolderRefused(RefusalKind.SWAPPED, f"its {layout.state_file} is another one now")
                folder.create(layout.tombstone_file, tombstone_bytes(run, layout))
        except FolderRefused as refused:
            if refused.kind is not RefusalKind.EXISTS:
                self._fail(run.run_id, refused.kind, refused.reason)
                self._hopeless = refused.kind in _HOPELESS
                return
            # Whoever wrote it: maybe this coordinator, just before it crashed.
        else:
            self._report.tombstoned += 1
        self._saver.notice(run.run_id, state=SourceState.CLOSED)

    def _fail(self, name: str, kind: RefusalKind, reason: str) -> None:
        self._report.note_tombstone(RefusedFolder(self._root.path, name, "", kind.value, reason, 0.0))

    # --- pruning ---

    def prune(self, old: list[str]) -> None:
        """Remove folders that have tombstones. The row of each says so, and may be pruned like any other."""
        layout = self._folders.layout
        self._report.unfinished = self._report.unfinished or len(old) > self._prunings
        for name in old[: self._prunings]:
            self._prunings -= 1
            try:
                # The tombstone last: what a crash leaves of a folder is history, and no run under way.
                self._root.remove(name, MAX_REMOVED_ENTRIES, (layout.state_file, layout.tombstone_file))
            except FolderRefused as refused:
                self._report.note_pruning(
                    RefusedFolder(self._root.path, name, "", refused.kind.value, refused.reason, 0.0)
                )
                continue
            self._report.pruned += 1
            self._saver.notice(name, state=SourceState.GONE)
