"""Seeded defects of imports among other work: many folders, runs of the coordinator, failures."""

from __future__ import annotations

import math
from typing import Any

import pytest

from defects.catalogue import Defect
from runcoord import _recoverer
from runcoord._coordinator import instant
from runcoord._core import limits
from runcoord._core.evolving import evolved
from runcoord._core.run_folders import RunFolders
from runcoord._home_ports import FileSeen
from runcoord._homes import pinned
from runcoord._importer import importing, saving
from runcoord._importer.importing import Importer
from runcoord._importer.report import ImportReport
from runcoord._stores import writing
from runcoord.ports import Change

Patch = pytest.MonkeyPatch


# --- import-at-scale ---


def _every_folder_is_saved_anew(patch: Patch) -> None:
    notice = importing._Pass._notice_changed

    def all_of_them(self: importing._Pass, marks: dict[str, str]) -> dict[str, str]:
        for name, mark in marks.items():
            self._saver.notice(name, mark=mark)
        return notice(self, marks)

    patch.setattr(importing._Pass, "_notice_changed", all_of_them)
    patch.setattr(saving, "_after", lambda run, noticed: evolved(run, version=run.version + 1))


def _each_folder_saves_all(patch: Patch) -> None:
    write = saving.Saver._write
    known: list[str] = []

    def the_whole_table(self: saving.Saver, batch: saving.Batch) -> None:
        write(self, batch)
        with self._store.transaction("import") as tx:
            before = list(tx.load_runs(known[:400], []))
            tx.save([Change(before=run, run=evolved(run, version=run.version + 1)) for run in before])
        known.extend(each.run.run_id for each in batch.imported)

    patch.setattr(saving, "IMPORT_BATCH", 100)
    patch.setattr(saving.Saver, "_write", the_whole_table)


def _known_ones_are_read_again(patch: Patch) -> None:
    deal = importing._Pass._deal_with

    def unknown(self: importing._Pass, compared: importing.Compared) -> str | None:
        stopped = deal(self, compared)
        self._reader.now = instant(self._clock)
        for _ in self._reader.read([name for name in compared.names if name in compared.known.marks]):
            pass
        return stopped

    patch.setattr(importing._Pass, "_deal_with", unknown)


def _one_transaction(patch: Patch) -> None:
    patch.setattr(saving, "IMPORT_BATCH", 10**9)


def _read_within_a_transaction(patch: Patch) -> None:
    read = importing._Pass._read

    def locked(self: importing._Pass, *more: Any) -> str | None:
        with self._store.transaction("import"):
            saver, self._saver = self._saver, _Nothing()  # type: ignore[assignment]
            try:
                return read(self, *more)
            finally:
                self._saver = saver

    patch.setattr(importing._Pass, "_read", locked)


class _Nothing:
    def add_imported(self, *more: Any, **named: Any) -> None:
        pass

    def add_refused(self, *more: Any) -> None:
        pass


def _marks_without_the_last_change(patch: Patch) -> None:
    patch.setattr(
        pinned, "mark_of", lambda found: f"{found.st_ino:x}.{found.st_size:x}.{found.st_mtime_ns:x}"
    )
    patch.setattr(
        pinned,
        "seen_of",
        lambda found: FileSeen(f"{found.st_ino:x}.{found.st_size:x}.{found.st_mtime_ns:x}", found.st_size),
    )


def _changes_are_not_remembered(patch: Patch) -> None:
    notice = saving.Saver.notice

    def forgetful(self: saving.Saver, run_id: str, *, mark: str | None = None, state: Any = None) -> None:
        if state is not None:
            notice(self, run_id, state=state)

    patch.setattr(saving.Saver, "notice", forgetful)


# --- folder-flood ---


def _everybody_is_told(patch: Patch) -> None:
    patch.setattr(limits, "ROUTED_IMPORTS_PER_SWEEP", 10**9)


def told_again_each_sweep(patch: Patch) -> None:
    patch.setattr(writing.SqliteTransaction, "mark_held_told", lambda self: None)


def _without_a_number(patch: Patch) -> None:
    patch.setattr(limits, "FOLDERS_PER_SWEEP", 10**9)


def _without_an_end(patch: Patch) -> None:
    patch.setattr(limits, "IMPORT_SWEEP_SECONDS", math.inf)


def _from_the_beginning(patch: Patch) -> None:
    sweep = Importer.sweep

    def again(self: Importer, folders: RunFolders) -> ImportReport:
        self._after.clear()
        return sweep(self, folders)

    patch.setattr(Importer, "sweep", again)


def _never_back_to_the_beginning(patch: Patch) -> None:
    go = importing._Pass.go

    def onward(self: importing._Pass, after: str) -> str:
        left = go(self, after)
        return left or max([after, *self._root.names(10**6).names])

    patch.setattr(importing._Pass, "go", onward)


# --- import-fills-live-run ---


def _live_runs_are_filled(patch: Patch) -> None:
    meet, write = importing._Pass._meet, saving.Saver._write

    def filling(self: saving.Saver, batch: saving.Batch) -> None:
        with self._store.transaction("import") as tx:
            there = tx.load_runs([each.run.run_id for each in batch.imported], [])
            tx.save(
                [
                    Change(before=run, run=evolved(run, version=run.version + 1, result="result.txt"))
                    for run in there
                    if run.source is None and not run.result
                ]
            )
        write(self, batch)

    patch.setattr(importing._Pass, "_meet", lambda self, name, foreign, todo: meet(self, name, False, todo))
    patch.setattr(saving.Saver, "_write", filling)


def not_looked_again(patch: Patch) -> None:
    patch.setattr(writing.SqliteTransaction, "known_runs", lambda self, run_ids: set(), raising=False)


def _a_tombstone_ends_a_live_run(patch: Patch) -> None:
    deal = importing._Pass._deal_with

    def ended(self: importing._Pass, compared: importing.Compared) -> str | None:
        stopped = deal(self, compared)
        with self._store.transaction("import") as tx:
            live = [run for run in tx.load_runs(sorted(compared.foreign), []) if run.outcome is None]
            tx.save(
                [
                    Change(before=run, run=evolved(run, version=run.version + 1, stop_requested_at=1.0))
                    for run in live
                ]
            )
        return stopped

    patch.setattr(importing._Pass, "_deal_with", ended)


# --- import-fails-once ---


def _off_after_a_failure(patch: Patch) -> None:
    work = _recoverer.Recoverer._import
    failed: list[str] = []

    def once(self: _recoverer.Recoverer, report: Any) -> None:
        if not failed:
            work(self, report)
            failed.extend(each.problem for each in report.imports if each.problem is not None)

    patch.setattr(_recoverer.Recoverer, "_import", once)


def _only_at_the_start(patch: Patch) -> None:
    work = _recoverer.Recoverer._import
    swept: list[object] = []

    def first(self: _recoverer.Recoverer, report: Any) -> None:
        if not swept:
            swept.append(self)
            work(self, report)

    patch.setattr(_recoverer.Recoverer, "_import", first)


def _a_locked_store_ends_the_sweep(patch: Patch) -> None:
    def sweep(self: Importer, folders: RunFolders) -> ImportReport:
        return self.run(folders)

    patch.setattr(Importer, "sweep", sweep)


def _an_empty_root_is_believed(patch: Patch) -> None:
    patch.setattr(importing._Pass, "_forsaken", lambda self: False)


SCALE = [
    Defect(
        "import-at-scale",
        "Every pass writes every folder that it knows.",
        "idle-is-free",
        _every_folder_is_saved_anew,
    ),
    Defect(
        "import-at-scale",
        "Each part of an import writes all runs that came before it again.",
        "work-in-proportion",
        _each_folder_saves_all,
        "square",
    ),
    Defect(
        "import-at-scale",
        "Folders that are known are opened and read by every pass.",
        "reached",
        _known_ones_are_read_again,
        "read",
    ),
    Defect(
        "import-at-scale",
        "All folders are written in one transaction, for which renewals wait.",
        "before-import",
        _one_transaction,
        "transaction",
        scenario="import-at-scale-beside-live-work",
    ),
    Defect(
        "import-at-scale",
        "The store is locked while folders are read.",
        "renew",
        _read_within_a_transaction,
        "locked",
        scenario="import-that-only-looks-beside-live-work",
    ),
    Defect(
        "import-at-scale",
        "A file whose size and times are as they were counts as unchanged.",
        "import_report",
        _marks_without_the_last_change,
        "times",
        scenario="changed-folder-of-many",
    ),
    Defect(
        "import-at-scale",
        "A change is noticed again by every pass.",
        "import_report",
        _changes_are_not_remembered,
        "changes",
        scenario="changed-folder-of-many",
    ),
    Defect(
        "folder-flood",
        "Every folder of a flood is told on its own.",
        "import_report",
        _everybody_is_told,
    ),
    Defect(
        "folder-flood",
        "The operator is told of the same held events by every sweep.",
        "delivered",
        told_again_each_sweep,
        "digest",
    ),
    Defect(
        "folder-flood",
        "A sweep takes up all folders that there are.",
        "import_report",
        _without_a_number,
        "number",
        scenario="folder-flood-over-several-sweeps",
    ),
    Defect(
        "folder-flood",
        "A sweep looks at folders for as long as it takes.",
        "import_report",
        _without_an_end,
        "time",
        scenario="folder-flood-that-takes-long",
    ),
    Defect(
        "folder-flood",
        "Every sweep begins with the first folder, and never comes to the last.",
        "import_report",
        _from_the_beginning,
        "cursor",
        scenario="folder-flood-that-takes-long",
    ),
    Defect(
        "folder-flood",
        "After the last folder no sweep begins with the first one again.",
        "runs",
        _never_back_to_the_beginning,
        "onward",
        scenario="folder-flood-beside-live-work",
    ),
    Defect(
        "import-fills-live-run",
        "An import writes a result into a run that is live, without its fence.",
        "import-only-adds",
        _live_runs_are_filled,
    ),
    Defect(
        "import-fills-live-run",
        "A folder's tombstone asks the live run of its id to stop.",
        "import-only-adds",
        _a_tombstone_ends_a_live_run,
        "tombstone",
        scenario="import-of-every-state-of-a-run",
    ),
    Defect(
        "import-fills-live-run",
        "Whether there is a run of a folder's id is asked before it is read, and not when it is written.",
        "import_report",
        not_looked_again,
        "race",
        scenario="submitted-while-it-is-imported",
    ),
    Defect(
        "import-fails-once",
        "A failure at the start switches import off.",
        "converges",
        _off_after_a_failure,
        scenario="import-fails-once-in-the-disk",
    ),
    Defect(
        "import-fails-once",
        "Folders are imported at the start, and by no later sweep.",
        "run",
        _only_at_the_start,
        "start",
    ),
    Defect(
        "import-fails-once",
        "A store that is locked for the import ends the whole sweep.",
        "startup",
        _a_locked_store_ends_the_sweep,
        "store",
        scenario="import-fails-once-at-the-store",
    ),
    Defect(
        "import-fails-once",
        "A root that is empty all of a sudden is taken for one whose folders are gone.",
        "import_report",
        _an_empty_root_is_believed,
        "mounted",
        scenario="home-that-is-not-mounted",
    ),
]
