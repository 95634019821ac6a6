"""Defects in what is durable, and in what one bad row does to the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from defects.catalogue import Defect
from runcoord import _coordinator, _lookups, _recoverer
from runcoord._core import limits
from runcoord._core.model import Run
from runcoord._deaths import Freed
from runcoord._recoverer import Recoverer, SweepReport
from runcoord._stores import sqlite, statements
from runcoord._stores.writing import SqliteTransaction
from runcoord.errors import UnknownRun
from runcoord.ports import BadRow, Change, Transaction
from runcoord.testing import MemoryStore


def _the_default_is_in_memory(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sqlite, "open_sqlite", lambda *place, **ports: MemoryStore())


def _events_are_in_memory(patch: pytest.MonkeyPatch) -> None:
    right: Any = SqliteTransaction.save

    def save(self: SqliteTransaction, changes: list[Change]) -> None:
        right(self, [replace(change, new_events=()) for change in changes])

    patch.setattr(SqliteTransaction, "save", save)


def _one_bad_row_ends_its_batch(patch: pytest.MonkeyPatch) -> None:
    right: Any = Recoverer._recover_batch

    def recover_batch(self: Recoverer, run_ids: list[str], freed: Freed, report: SweepReport) -> None:
        bad: list[BadRow] = []
        with self._verbs.store.view("look") as view:
            view.load_runs(run_ids, bad)
        if bad:
            _recoverer._note_bad(report, bad)
        else:
            right(self, run_ids, freed, report)

    patch.setattr(Recoverer, "_recover_batch", recover_batch)


def _bad_rows_are_passed_over_in_silence(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_recoverer, "_note_bad", lambda report, bad: None)


def _the_oldest_run_must_be_readable(patch: pytest.MonkeyPatch) -> None:
    class Never(Exception):
        pass

    patch.setattr(_lookups, "UndecodableRow", Never)


def _the_sweep_does_not_look_at_waiting_runs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(limits, "WAITING_LOOKED_AT", 0)


def _a_key_without_its_run_is_unknown(patch: pytest.MonkeyPatch) -> None:
    def present(tx: Transaction, run_id: str, table: str, key: str) -> Run:
        run = tx.run(run_id)
        if run is None:
            raise UnknownRun(f"there is no run {run_id!r}")
        return run

    patch.setattr(_coordinator, "present", present)


def _only_clocks_find_runs(patch: pytest.MonkeyPatch) -> None:
    nothing = "SELECT run_id FROM runs WHERE :after <> :after"
    patch.setattr(statements, "RECOVERABLE", statements.RECOVERABLE.replace(statements._NO_LEASE, nothing))


DEFECTS = [
    Defect(
        "durable-default",
        "The documented default opens a store that lives and dies with its process.",
        "nothing-lost",
        _the_default_is_in_memory,
        variant="sim",
    ),
    Defect(
        "durable-default",
        "Runs are durable, their pending events are not.",
        "event",
        _events_are_in_memory,
        name="events",
        variant="sim",
    ),
    Defect(
        "undecodable-row-is-isolated",
        "One row that cannot be read ends the recovery of every other run in its batch.",
        "one-bad-apple",
        _one_bad_row_ends_its_batch,
        name="ends-its-batch",
    ),
    Defect(
        "undecodable-row-is-isolated",
        "A row that cannot be read is passed over, and no report counts it.",
        "no-silent-zero",
        _bad_rows_are_passed_over_in_silence,
        name="silent",
    ),
    Defect(
        "undecodable-row-is-isolated",
        "Nobody gets a run while the oldest one cannot be read.",
        "claim_next",
        _the_oldest_run_must_be_readable,
        name="blocks-the-queue",
        scenario="first-in-the-queue-cannot-be-read",
    ),
    Defect(
        "undecodable-row-is-isolated",
        "A waiting run that cannot be read is passed over by everybody, and no sweep looks there.",
        "no-silent-zero",
        _the_sweep_does_not_look_at_waiting_runs,
        name="queue-not-looked-at",
        scenario="first-in-the-queue-cannot-be-read",
    ),
    Defect(
        "undecodable-row-is-isolated",
        "A key whose run is missing is answered as if the run had never been.",
        "refused",
        _a_key_without_its_run_is_unknown,
        name="missing-run",
        scenario="command-without-its-run",
    ),
    Defect(
        "undecodable-row-is-isolated",
        "A retry whose run is missing is answered as if the first run had never been.",
        "refused",
        _a_key_without_its_run_is_unknown,
        name="missing-retry",
        scenario="retried-as-a-run-that-is-missing",
    ),
    Defect(
        "undecodable-row-is-isolated",
        "A run whose lease is no time is found by no clock, and so by nobody.",
        "no-silent-zero",
        _only_clocks_find_runs,
        name="lease-without-a-time",
        scenario="lease-that-cannot-be-read",
    ),
]
