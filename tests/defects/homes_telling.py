"""Seeded defects of what becomes of imported runs: where events go, tombstones, and the end of folders."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from defects.catalogue import Defect
from defects.homes_scale import told_again_each_sweep
from runcoord._core import folders as core_folders
from runcoord._core import importing as core_importing
from runcoord._core.events import canonical_json
from runcoord._core.evolving import evolved
from runcoord._core.importing import imported_run
from runcoord._core.model import EventState, Outcome
from runcoord._core.sources import SourceState
from runcoord._home_ports import FolderRefused
from runcoord._importer import closing, importing, reading, saving
from runcoord._stores import folder_statements, statements

Patch = pytest.MonkeyPatch


def _imported(patch: Patch, change: Any) -> None:
    """What a folder becomes is what ``change`` makes of the right function and its arguments."""

    def other(state: Any, tombstone: Any, **named: Any) -> Any:
        return change(imported_run, state, tombstone, named)

    patch.setattr(reading, "imported_run", other)


# --- untrusted-destination ---


def _folders_say_where_to(patch: Patch) -> None:
    def believed(imported: Any, state: Any, tombstone: Any, named: dict[str, Any]) -> Any:
        named["fallback"] = state.claims.destination or named["fallback"]
        return imported(state, tombstone, **named)

    _imported(patch, believed)


def _acknowledged_to_nobody(patch: Patch) -> None:
    def delivered(imported: Any, state: Any, tombstone: Any, named: dict[str, Any]) -> Any:
        found = imported(state, tombstone, **named)
        if found.event is None or found.event.state is not EventState.HELD:
            return found
        event = evolved(found.event, state=EventState.DELIVERED, reason="", delivered_at=named["now"].wall)
        return replace(found, event=event)

    _imported(patch, delivered)


def _without_an_event(patch: Patch) -> None:
    def dropped(imported: Any, state: Any, tombstone: Any, named: dict[str, Any]) -> Any:
        found = imported(state, tombstone, **named)
        return found if named["fallback"] else replace(found, event=None)

    _imported(patch, dropped)


def _held_unseen(patch: Patch) -> None:
    def told(imported: Any, state: Any, tombstone: Any, named: dict[str, Any]) -> Any:
        found = imported(state, tombstone, **named)
        return found if found.event is None else replace(found, event=evolved(found.event, told=True))

    _imported(patch, told)


def _without_the_claim(patch: Patch) -> None:
    patch.setattr(core_importing, "_untrusted", lambda state: "imported")


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
    _imported(patch, lambda imported, state, tombstone, named: imported(state, None, **named))


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
                folder.create(layout.tombstone_file, core_folders.tombstone_bytes(run, layout))
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


TELLING = [
    Defect(
        "untrusted-destination",
        "The destination that a folder names is used.",
        "delivered-to-someone",
        _folders_say_where_to,
        scenario="untrusted-destination-with-a-fallback",
    ),
    Defect(
        "untrusted-destination",
        "The destination is dropped, and the event acknowledged though nobody got it.",
        "delivered-to-someone",
        _acknowledged_to_nobody,
        "nobody",
    ),
    Defect(
        "untrusted-destination",
        "Where no destination is trusted there is no event.",
        "import_report",
        _without_an_event,
        "dropped",
    ),
    Defect(
        "untrusted-destination",
        "Held events of imports are in no digest.",
        "delivered",
        _held_unseen,
        "unseen",
    ),
    Defect(
        "untrusted-destination",
        "The operator is told of the same held event by every sweep.",
        "held-is-told",
        told_again_each_sweep,
        "digest",
    ),
    Defect(
        "untrusted-destination",
        "Why an event is held does not say that its folder names a destination.",
        "event",
        _without_the_claim,
        "claim",
    ),
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
]
