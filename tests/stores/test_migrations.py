"""Migrations are applied once, in order, and all or nothing."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from runcoord._stores.connections import Tuning
from runcoord._stores.migrations import MIGRATIONS, Migration, apply
from runcoord._stores.rows import SUBMITTED_COLUMNS, encode_run
from runcoord._stores.sqlite import open_sqlite
from runcoord.errors import StoreDamaged, StoreError, StoreTooNew
from runcoord.ports import Change
from runcoord.testing import ManualClock
from runcoord.testing.contract_case import finished, life
from runcoord.testing.contract_folders import ROOT, imported

from .sqlite_files import WAL, behind, opened, opened_for_real

NEXT = MIGRATIONS[-1].number + 1
ADD_COLUMN = Migration(NEXT, "a column", ("ALTER TABLE runs ADD COLUMN colour TEXT NOT NULL DEFAULT 'grey'",))
FAILS = Migration(NEXT + 1, "fails half-way", ("CREATE TABLE half (x)", "CREATE TABLE half (x)"))


def version_of(path: Path) -> int:
    with behind(path) as connection:
        [version] = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def test_migrations_are_numbered_from_one_without_gaps() -> None:
    assert [each.number for each in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))


def test_an_older_store_is_migrated_once_and_keeps_its_rows(tmp_path: Path) -> None:
    path, clock = tmp_path / "store.sqlite", ManualClock()
    store = opened(path, clock)
    with store.transaction("fill") as tx:
        tx.save(life("r1", clock))
    store.close()
    known = [*MIGRATIONS, ADD_COLUMN]
    opened(path, migrations=known).close()
    assert version_of(path) == NEXT
    before = path.read_bytes()
    store = opened(path, migrations=known)
    with store.view("look") as view:
        assert view.run("r1")
    store.close()
    assert path.read_bytes() == before


def test_a_store_of_the_first_schema_is_opened_and_takes_imported_runs_beside_its_own(tmp_path: Path) -> None:
    path, clock = tmp_path / "store.sqlite", ManualClock()
    with behind(path) as connection:
        connection.execute("BEGIN")
        apply(connection, MIGRATIONS[:1])
        names = ", ".join(SUBMITTED_COLUMNS)
        marks = ", ".join("?" * len(SUBMITTED_COLUMNS))
        old = finished("r1", 1.0)
        connection.execute(f"INSERT INTO runs ({names}) VALUES ({marks})", encode_run(old))
        connection.execute("COMMIT")
    store = opened(path, clock)
    with store.transaction("import") as tx:
        tx.save([Change(run=imported("r2"))])
    with store.view("look") as view:
        assert view.runs(limit=9) == [old, imported("r2")]
        assert [*view.known_folders(ROOT, "", "z", 9).marks] == ["r2"]
        assert view.finished_before(9.0, 9) == ["r1"]
    store.close()
    assert version_of(path) == MIGRATIONS[-1].number


def test_a_store_of_this_schema_is_refused_by_a_program_of_the_first_one(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    opened(path).close()
    before = path.read_bytes()
    with pytest.raises(StoreTooNew, match="nothing was touched"):
        opened(path, migrations=MIGRATIONS[:1])
    assert path.read_bytes() == before


def test_a_migration_that_fails_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    opened(path).close()
    before = path.read_bytes()
    with pytest.raises(StoreError) as caught:
        opened(path, migrations=[*MIGRATIONS, ADD_COLUMN, FAILS])
    assert str(path) in str(caught.value)
    assert caught.value.happened == "no"
    assert path.read_bytes() == before
    opened(path).close()


def test_a_migration_that_another_process_made_meanwhile_is_not_made_again(tmp_path: Path) -> None:
    path, clock = tmp_path / "store.sqlite", ManualClock()
    opened(path).close()
    with behind(path) as other:
        other.execute("BEGIN IMMEDIATE")

        class FasterSleeper:
            def sleep(self, seconds: float) -> None:
                clock.advance(seconds)
                if other.in_transaction:
                    other.execute(ADD_COLUMN.statements[0])
                    other.execute(f"PRAGMA user_version = {NEXT}")
                    other.execute("COMMIT")

        open_sqlite(path, clock=clock, sleeper=FasterSleeper(), migrations=[*MIGRATIONS, ADD_COLUMN]).close()
    assert version_of(path) == NEXT


def test_a_migration_keeps_the_journal_mode(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    opened(path, tuning=Tuning(journal="truncate")).close()
    opened(path, tuning=WAL, migrations=[*MIGRATIONS, ADD_COLUMN]).close()
    with behind(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_threads_that_open_an_older_store_at_once_migrate_it_once(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    opened(path).close()
    start, failures = threading.Barrier(6), []

    def work() -> None:
        try:
            start.wait(10)
            opened_for_real(path, migrations=[*MIGRATIONS, ADD_COLUMN]).close()
        except Exception as error:  # noqa: BLE001 - handed to the test
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert version_of(path) == NEXT


def test_a_store_that_lost_a_table_of_a_later_schema_is_damaged_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    opened(path).close()
    with behind(path) as connection:
        connection.execute("DROP TABLE audits")
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match="audits"):
        opened(path)
    assert path.read_bytes() == before
