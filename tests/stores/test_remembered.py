"""A transaction trusts what its store wrote before it, as long as nobody else has written anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runcoord._stores.connections import Tuning
from runcoord._stores.remembered import MAX_REMEMBERED, MAX_TEXT_CHARACTERS
from runcoord._stores.sqlite import SqliteStore
from runcoord.errors import UndecodableRow, VersionConflict
from runcoord.ports import Change, Deadline, Event, EventState, Run
from runcoord.testing import ManualClock
from runcoord.testing.contract_case import accepted, event, finished, life, spec

from .sqlite_files import WAL, behind, opened, plant

NOW = ManualClock().now()
DUE = Deadline(0.0, 0.0, "boot-0")


@pytest.fixture(params=[Tuning(), WAL], ids=["rollback journal", "WAL"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqliteStore]:
    store = opened(tmp_path / "runs.db", tuning=request.param)
    yield store
    store.close()


def write(store: SqliteStore, *changes: Change) -> None:
    with store.transaction("write") as tx:
        tx.save(changes)


def write_and_fail(store: SqliteStore, change: Change) -> None:
    with store.transaction("write") as tx:
        tx.save([change])
        raise ZeroDivisionError


def run_of(store: SqliteStore, run_id: str = "r1") -> Run | None:
    with store.transaction("read") as tx:
        return tx.run(run_id)


def statements_for(store: SqliteStore, run_id: str = "r1") -> int:
    before = store.counters.statements
    run_of(store, run_id)
    return store.counters.statements - before


def test_what_the_transaction_before_wrote_is_not_read_back(store: SqliteStore) -> None:
    write(store, Change(run=accepted("r1", NOW)))
    assert statements_for(store) == 0
    assert run_of(store) == accepted("r1", NOW)


def test_at_every_step_of_a_life_it_is_what_a_view_reads(store: SqliteStore) -> None:
    ends = []
    for change in life("r1", ManualClock()):
        write(store, change)
        with store.view("look") as view:
            seen = view.run("r1"), view.event("r1/finished")
        with store.transaction("read") as tx:
            assert (tx.run("r1"), tx.event("r1/finished")) == seen
        ends.append(seen[1] is not None)
    assert ends == [False, False, False, True]


def test_an_event_that_is_being_sent_is_known_with_the_number_that_the_store_gave_it(
    store: SqliteStore,
) -> None:
    write(store, Change(new_events=(event("r0/finished", DUE),)))
    write(store, Change(new_events=(event("r1/finished", DUE, EventState.SENDING),)))
    before = store.counters.statements
    with store.transaction("read") as tx:
        found = tx.event("r1/finished")
    assert store.counters.statements == before
    assert found == event("r1/finished", DUE, EventState.SENDING, seq=2)


def test_an_event_that_was_answered_is_read(store: SqliteStore) -> None:
    sending = event("r1/finished", DUE, EventState.SENDING)
    write(store, Change(new_events=(sending,)))
    write(store, Change(events=(replace(sending, state=EventState.HELD, reason="refused"),)))
    with store.transaction("read") as tx:
        found = tx.event("r1/finished")
    assert isinstance(found, Event)
    assert (found.state, found.reason) == (EventState.HELD, "refused")


def test_what_another_connection_changed_is_read_though_the_version_is_the_same(store: SqliteStore) -> None:
    write(store, Change(run=accepted("r1", NOW)))
    plant(Path(store.path), "runs", "r1", "progress", "by hand")
    found = run_of(store)
    assert found is not None
    assert (found.version, found.progress) == (1, "by hand")


def test_a_row_that_was_spoiled_meanwhile_is_reported(store: SqliteStore) -> None:
    write(store, Change(run=accepted("r1", NOW)))
    plant(Path(store.path), "runs", "r1", "state", "lost")
    with pytest.raises(UndecodableRow):
        run_of(store)


def test_a_run_that_was_removed_and_accepted_anew_elsewhere_is_the_new_one(store: SqliteStore) -> None:
    write(store, Change(run=accepted("r1", NOW)))
    with behind(Path(store.path)) as connection:
        connection.execute("CREATE TEMP TABLE again AS SELECT * FROM runs")
        connection.execute("UPDATE again SET payload = '2'")
        connection.execute("DELETE FROM runs")
        connection.execute("INSERT INTO runs SELECT * FROM again")
    found = run_of(store)
    assert found is not None
    assert (found.version, found.spec.payload) == (1, "2")


def test_what_another_store_of_this_process_wrote_is_read(store: SqliteStore) -> None:
    write(store, Change(run=accepted("r1", NOW)))
    other = opened(Path(store.path))
    assert statements_for(other) == 1
    write(other, Change(before=accepted("r1", NOW), run=accepted("r1", NOW, version=2, progress="half")))
    assert statements_for(store) == 1
    assert run_of(store) == accepted("r1", NOW, version=2, progress="half")
    other.close()


def test_what_was_rolled_back_is_not_remembered(store: SqliteStore) -> None:
    write(store, Change(run=accepted("r1", NOW)))
    change = Change(before=accepted("r1", NOW), run=accepted("r1", NOW, version=2))
    with pytest.raises(ZeroDivisionError):
        write_and_fail(store, change)
    assert run_of(store) == accepted("r1", NOW)


def test_a_conflict_leaves_nothing_remembered(store: SqliteStore) -> None:
    write(store, Change(run=accepted("r1", NOW)))
    late = Change(before=accepted("r1", NOW, version=7), run=accepted("r1", NOW, version=8))
    with pytest.raises(VersionConflict):
        write(store, late)
    assert statements_for(store) == 1
    assert run_of(store) == accepted("r1", NOW)


def test_within_a_transaction_its_own_writes_are_read(store: SqliteStore) -> None:
    write(store, Change(run=accepted("r1", NOW)))
    with store.transaction("write") as tx:
        tx.save([Change(before=accepted("r1", NOW), run=accepted("r1", NOW, version=2, progress="half"))])
        assert tx.run("r1") == accepted("r1", NOW, version=2, progress="half")


def test_a_removed_run_is_gone(store: SqliteStore) -> None:
    write(store, Change(run=accepted("r1", NOW)))
    write(store, Change(before=accepted("r1", NOW), run=finished("r1", 5.0)))
    with store.transaction("prune") as tx:
        tx.remove_runs(["r1"])
    assert run_of(store) is None


def test_of_a_batch_nothing_is_remembered(store: SqliteStore) -> None:
    write(store, *(Change(run=accepted(run_id, NOW)) for run_id in ("r1", "r2")))
    assert statements_for(store) == 1


def test_only_the_newest_few_are_remembered(store: SqliteStore) -> None:
    for number in range(MAX_REMEMBERED + 1):
        write(store, Change(run=accepted(f"r{number}", NOW)))
    assert [statements_for(store, f"r{number}") for number in (0, 1, MAX_REMEMBERED)] == [1, 0, 0]


def test_a_run_with_a_long_payload_is_read(store: SqliteStore) -> None:
    payload = '"' + "x" * MAX_TEXT_CHARACTERS + '"'
    write(store, Change(run=accepted("r1", NOW, spec=spec(payload=payload))))
    assert statements_for(store) == 1


def test_a_transaction_that_has_ended_answers_nothing_from_memory(store: SqliteStore) -> None:
    write(store, Change(run=accepted("r1", NOW)))
    with store.transaction("read") as tx:
        pass
    with pytest.raises(RuntimeError, match="has ended"):
        tx.run("r1")
