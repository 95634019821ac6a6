"""Seeded defects of imports once: tombstones, history, and the end of folders."""

from __future__ import annotations

from typing import Any

import pytest

from defects.catalogue import Defect
from defects.homes_scale import not_looked_again
from defects.homes_telling import imported_as
from runcoord import _recoverer
from runcoord._core.events import canonical_json
from runcoord._core.folders import tombstone_bytes
from runcoord._core.model import Outcome
from runcoord._core.sources import SourceState
from runcoord._home_ports import FolderRefused
from runcoord._importer import closing, importing, saving
from runcoord._stores import folder_statements, statements
from runcoord.ports import BadRow

Patch = pytest.MonkeyPatch


# --- imported-once ---


def _never_written(patch: Patch) -> None:
    patch.setattr(closing.Closer, "tombstone", lambda self, run_ids: None)


def _only_for_success(patch: Patch) -> None:
    write = closing.Closer._write_tombstone

    def completed(self: closing.Closer, run: Any) -> None:
        if run.outcome is Outcome.COMPLETED:
            write(self, run)

    patch.setattr(closing.Closer, "_write_tombstone", completed)


def _before_it_is_told(patch: Patch) -> None:
    told = folder_statements._TOLD
    found = folder_statements.DELIVERED_FOLDERS
    assert told in found
    patch.setattr(folder_statements, "DELIVERED_FOLDERS", found.replace(told, "1"))


def _history_is_told(patch: Patch) -> None:
    imported_as(patch, lambda imported, state, tombstone, named: imported(state, None, **named))


def _our_own_names_no_outcome(patch: Patch) -> None:
    patch.setattr(
        closing,
        "tombstone_bytes",
        lambda run, layout: (canonical_json({"died": run.finished_at}) + "\n").encode(),
    )


def _one_that_is_there_is_a_failure(patch: Patch) -> None:
    def write(self: closing.Closer, run: Any) -> None:
        layout = self._folders.layout
        try:
            with self._root.folder(run.run_id) as folder:
                folder.create(layout.tombstone_file, tombstone_bytes(run, layout))
        except FolderRefused as refused:
            self._fail(run.run_id, refused.kind, refused.reason)
            self._hopeless = refused.kind in closing._HOPELESS
            return
        self._report.tombstoned += 1
        self._saver.notice(run.run_id, state=SourceState.CLOSED)

    patch.setattr(closing.Closer, "_write_tombstone", write)


def _given_up_after_a_failure(patch: Patch) -> None:
    fail = closing.Closer._fail

    def give_up(self: closing.Closer, name: str, *more: Any) -> None:
        fail(self, name, *more)
        self._saver.notice(name, state=SourceState.CLOSED)

    patch.setattr(closing.Closer, "_fail", give_up)


def _each_folder_is_tried(patch: Patch) -> None:
    patch.setattr(closing, "_HOPELESS", frozenset())


def _another_file_too(patch: Patch) -> None:
    write = closing.Closer._write_tombstone

    def marked(self: closing.Closer, run: Any) -> None:
        write(self, run)
        with self._root.folder(run.run_id) as folder:
            folder.create("imported", b"")

    patch.setattr(closing.Closer, "_write_tombstone", marked)


def _nothing_is_said_of_events(patch: Patch) -> None:
    count = saving.Saver._count

    def silent(self: saving.Saver, *more: Any) -> None:
        count(self, *more)
        self._report.held = self._report.routed = 0

    patch.setattr(saving.Saver, "_count", silent)


def _counted_as_new(patch: Patch) -> None:
    deal = importing._Pass._deal_with

    def anew(self: importing._Pass, compared: importing.Compared) -> str | None:
        stopped = deal(self, compared)
        self._report.imported += self._report.known
        self._report.known = 0
        return stopped

    patch.setattr(importing._Pass, "_deal_with", anew)


def _pruned_unasked(patch: Patch) -> None:
    begun = importing._Pass.__init__

    def eager(self: importing._Pass, *more: Any) -> None:
        begun(self, *more)
        self._prune_before = self._clock.wall() - 86_400.0

    patch.setattr(importing._Pass, "__init__", eager)


def _never_pruned(patch: Patch) -> None:
    patch.setattr(closing.Closer, "prune", lambda self, old: None)


def _rows_go_before_their_folders(patch: Patch) -> None:
    found = statements.FINISHED_BEFORE
    condition = "(source_state IS NULL OR source_state = 'gone')"
    assert condition in found
    patch.setattr(statements, "FINISHED_BEFORE", found.replace(condition, "1"))


def _tombstone_goes_first(patch: Patch) -> None:
    def prune(self: closing.Closer, old: list[str]) -> None:
        layout = self._folders.layout
        for name in old:
            try:
                self._root.remove(name, 100, (layout.tombstone_file, layout.state_file))
            except FolderRefused:
                continue
            self._report.pruned += 1
            self._saver.notice(name, state=SourceState.GONE)

    patch.setattr(closing.Closer, "prune", prune)


def _what_is_left_stays(patch: Patch) -> None:
    prune, notice = closing.Closer.prune, importing._Pass._notice_changed
    changed: dict[str, str] = {}

    def noticing(self: importing._Pass, marks: dict[str, str]) -> dict[str, str]:
        changed.clear()
        changed.update(notice(self, marks))
        return dict(changed)

    patch.setattr(importing._Pass, "_notice_changed", noticing)
    patch.setattr(
        closing.Closer, "prune", lambda self, old: prune(self, [name for name in old if name not in changed])
    )


def _the_answer_counts(patch: Patch) -> None:
    def work(self: _recoverer.Recoverer, report: Any) -> None:
        for folders in self._verbs.settings.imports:
            report.imports.append(self._importer().sweep(folders))
        if any(each.routed for each in report.imports):
            report.drain.add(self._outbox.drain())

    patch.setattr(_recoverer.Recoverer, "_import", work)


def _gone_for_good(patch: Patch) -> None:
    patch.setattr(importing._Pass, "_return", lambda self, name: None)


def _one_bad_row_is_too_much(patch: Patch) -> None:
    def strict(self: closing.Closer, run_ids: list[str]) -> None:
        bad: list[BadRow] = []
        with self._store.view("read-untombstoned") as view:
            runs = view.load_runs(run_ids, bad)
        if bad:
            raise ValueError(bad[0].problem)
        for run in runs:
            self._write_tombstone(run)

    patch.setattr(closing.Closer, "tombstone", strict)


ONCE = [
    Defect(
        "imported-once", "A folder whose event was delivered gets no tombstone.", "folder", _never_written
    ),
    Defect(
        "imported-once",
        "A tombstone is written for runs that completed alone, which no imported one did.",
        "folder",
        _only_for_success,
        "outcome",
    ),
    Defect(
        "imported-once",
        "A tombstone is written before the event was delivered.",
        "source-untouched",
        _before_it_is_told,
        "before",
    ),
    Defect(
        "imported-once",
        "Another file than the tombstone is written into folders.",
        "source-untouched",
        _another_file_too,
        "file",
        scenario="imported-once-through-crashes",
    ),
    Defect(
        "imported-once",
        "Folders that are known are reported as imported at every start.",
        "import_report",
        _counted_as_new,
        "anew",
    ),
    Defect(
        "imported-once",
        "A report says of no event that it is pending.",
        "import_report",
        _nothing_is_said_of_events,
        "receipt",
        scenario="history-is-not-told",
    ),
    Defect(
        "imported-once",
        "A tombstone that a crashed importer wrote fails the next one for ever.",
        "import_report",
        _one_that_is_there_is_a_failure,
        "exists",
        scenario="imported-once-through-crashes",
    ),
    Defect(
        "imported-once",
        "A run with a tombstone is told again as an interrupted one.",
        "acknowledged-stays",
        _history_is_told,
        "history",
        scenario="history-is-not-told",
    ),
    Defect(
        "imported-once",
        "Our own tombstone names no outcome, so that a lost store is told everything again.",
        "acknowledged-stays",
        _our_own_names_no_outcome,
        "lost-store",
        scenario="history-is-not-told",
    ),
    Defect(
        "imported-once",
        "Old folders are removed though nobody asked for that.",
        "source-untouched",
        _pruned_unasked,
        "unasked",
        scenario="pruned-by-age-when-asked",
    ),
    Defect(
        "imported-once",
        "Folders with tombstones are never removed.",
        "import_report",
        _never_pruned,
        "never",
        scenario="pruned-by-age-when-asked",
    ),
    Defect(
        "imported-once",
        "The store forgets an old run while its folder is there, which is imported again.",
        "one-bad-apple",
        _rows_go_before_their_folders,
        "forgotten",
        scenario="pruned-by-age-when-asked",
    ),
    Defect(
        "imported-once",
        "Of a folder the tombstone is removed first, so that half of it is a run under way.",
        "folder",
        _tombstone_goes_first,
        "first",
        scenario="pruning-that-was-interrupted",
    ),
    Defect(
        "imported-once",
        "A folder that is removed in part stays so.",
        "import_report",
        _what_is_left_stays,
        "part",
        scenario="pruning-that-was-interrupted",
    ),
    Defect(
        "imported-once",
        "A tombstone that could not be written once is not tried again.",
        "rows",
        _given_up_after_a_failure,
        "given-up",
        scenario="tombstone-on-a-disk-that-takes-none",
    ),
    Defect(
        "imported-once",
        "Where the disk takes no tombstone every folder is tried.",
        "import_report",
        _each_folder_is_tried,
        "each",
        scenario="tombstone-on-a-disk-that-takes-none",
    ),
    Defect(
        "imported-once",
        "Two that import at once do not look whether the other one was first.",
        "import_report",
        not_looked_again,
        "two",
        scenario="imported-once-by-two",
    ),
    Defect(
        "imported-once",
        "What was imported without an answer waits, and no report says so.",
        "no-silent-zero",
        _the_answer_counts,
        "answer",
        scenario="imported-though-nobody-answered",
    ),
    Defect(
        "imported-once",
        "A folder that was gone once never gets its tombstone.",
        "folder",
        _gone_for_good,
        "gone",
        scenario="gone-and-there-again",
    ),
    Defect(
        "imported-once",
        "One row that cannot be understood keeps all folders from their tombstones.",
        "import_folders",
        _one_bad_row_is_too_much,
        "bad-row",
        scenario="tombstone-beside-a-bad-row",
    ),
]
