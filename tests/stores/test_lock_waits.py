"""Waiting for the lock: bounded on the injected clock and by a count, and definite about what happened."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runcoord._core.limits import (
    LOCK_BACKOFF_SECONDS,
    LOCK_TRIES,
    LOCK_WAIT_SECONDS,
    MAX_LOCK_BACKOFF_SECONDS,
)
from runcoord._stores.sqlite import SqliteStore, open_sqlite
from runcoord.errors import StoreLocked
from runcoord.ports import Change
from runcoord.testing import ManualClock
from runcoord.testing.contract_case import accepted, ids, spec

from .sqlite_files import WAL, opened


class CountedSleeper:
    """Moves a clock, keeps the pauses, and does something in one of them."""

    def __init__(self, clock: ManualClock, at: int = -1, do: Callable[[], object] = lambda: None) -> None:
        self._clock, self._at, self._do = clock, at, do
        self.pauses: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self._clock.advance(seconds)
        if len(self.pauses) == self._at:
            self._do()


class FrozenSleeper:
    """Waits without letting any time pass."""

    def __init__(self) -> None:
        self.pauses = 0

    def sleep(self, seconds: float) -> None:
        self.pauses += 1


@contextlib.contextmanager
def locked(path: Path, how: str) -> Iterator[sqlite3.Connection]:
    """Another connection holds a lock of the given kind."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=0.0)) as connection:
        connection.execute(how)
        if how == "BEGIN":
            connection.execute("SELECT count(*) FROM runs").fetchall()
        yield connection


def write(store: SqliteStore, run_id: str, clock: ManualClock) -> None:
    with store.transaction("write") as tx:
        tx.save([Change(run=accepted(run_id, clock.now()))])


def run_ids(store: SqliteStore) -> list[str]:
    with store.view("look") as view:
        return ids(view.runs(limit=99))


def require_bounded(error: StoreLocked, waited: float, path: Path) -> None:
    assert error.happened == "no"
    assert str(path) in str(error)
    assert error.remedy
    assert error.details["tries"] < LOCK_TRIES
    assert LOCK_WAIT_SECONDS <= waited < LOCK_WAIT_SECONDS + 1.0


@pytest.mark.parametrize("how", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_a_transaction_waits_for_a_writer_a_bounded_time_and_then_changed_nothing(
    tmp_path: Path, how: str
) -> None:
    clock, path = ManualClock(), tmp_path / "store"
    store = opened(path, clock)
    write(store, "r1", clock)
    start = clock.monotonic()
    with locked(path, how), pytest.raises(StoreLocked) as caught:
        write(store, "r2", clock)
    require_bounded(caught.value, clock.monotonic() - start, path)
    assert run_ids(store) == ["r1"]
    write(store, "r3", clock)
    assert run_ids(store) == ["r1", "r3"]
    store.close()


def test_a_lock_that_is_given_up_in_time_is_not_even_noticed(tmp_path: Path) -> None:
    clock, path = ManualClock(), tmp_path / "store"
    opened(path, clock).close()
    with locked(path, "BEGIN IMMEDIATE") as other:
        sleeper = CountedSleeper(clock, 12, lambda: other.execute("ROLLBACK"))
        store = open_sqlite(path, clock=clock, sleeper=sleeper, chance=lambda: 1.0)
        write(store, "r1", clock)
    assert run_ids(store) == ["r1"]
    doubling = [LOCK_BACKOFF_SECONDS * factor for factor in (1, 2, 4)]
    assert sleeper.pauses == [*doubling, *[MAX_LOCK_BACKOFF_SECONDS] * 9]
    store.close()


def test_the_pauses_are_spread_by_chance(tmp_path: Path) -> None:
    clock, path = ManualClock(), tmp_path / "store"
    opened(path, clock).close()
    with locked(path, "BEGIN IMMEDIATE") as other:
        sleeper = CountedSleeper(clock, 5, lambda: other.execute("ROLLBACK"))
        store = open_sqlite(path, clock=clock, sleeper=sleeper, chance=lambda: 0.0)
        write(store, "r1", clock)
    assert sleeper.pauses[0] == LOCK_BACKOFF_SECONDS / 2
    assert sleeper.pauses[-1] == MAX_LOCK_BACKOFF_SECONDS / 2
    store.close()


def test_where_the_clock_stands_still_the_tries_are_counted(tmp_path: Path) -> None:
    clock, path = ManualClock(), tmp_path / "store"
    opened(path, clock).close()
    sleeper = FrozenSleeper()
    store = open_sqlite(path, clock=clock, sleeper=sleeper)
    with locked(path, "BEGIN IMMEDIATE"), pytest.raises(StoreLocked) as caught:
        write(store, "r1", clock)
    assert caught.value.details["tries"] == LOCK_TRIES
    assert sleeper.pauses == LOCK_TRIES - 1
    assert run_ids(store) == []
    store.close()


def test_a_commit_waits_for_a_reader_a_bounded_time_and_then_did_not_happen(tmp_path: Path) -> None:
    clock, path = ManualClock(), tmp_path / "store"
    store = opened(path, clock)
    write(store, "r1", clock)
    start = clock.monotonic()
    with locked(path, "BEGIN") as reader:
        with pytest.raises(StoreLocked) as caught:
            write(store, "r2", clock)
        assert reader.execute("SELECT run_id FROM runs").fetchall() == [("r1",)]
    require_bounded(caught.value, clock.monotonic() - start, path)
    assert run_ids(store) == ["r1"]
    write(store, "r3", clock)
    assert run_ids(store) == ["r1", "r3"]
    store.close()


def test_a_commit_goes_on_when_the_reader_is_done(tmp_path: Path) -> None:
    clock, path = ManualClock(), tmp_path / "store"
    opened(path, clock).close()
    with locked(path, "BEGIN") as reader:
        sleeper = CountedSleeper(clock, 5, lambda: reader.execute("ROLLBACK"))
        store = open_sqlite(path, clock=clock, sleeper=sleeper)
        write(store, "r1", clock)
    assert len(sleeper.pauses) == 5
    assert run_ids(store) == ["r1"]
    store.close()


def test_a_transaction_larger_than_the_cache_keeps_readers_out_only_while_it_commits(tmp_path: Path) -> None:
    clock, path = ManualClock(), tmp_path / "store"
    store = opened(path, clock)
    large = spec(payload="x" * 250_000)
    with store.transaction("large") as tx:
        tx.save(Change(run=accepted(f"r{number:02d}", clock.now(), spec=large)) for number in range(40))
        with locked(path, "BEGIN") as reader:
            assert reader.execute("SELECT count(*) FROM runs").fetchone() == (0,)
    assert len(run_ids(store)) == 40
    store.close()


def test_with_a_write_ahead_log_a_reader_is_in_nobodys_way(tmp_path: Path) -> None:
    clock, path = ManualClock(), tmp_path / "store"
    opened(path, clock, tuning=WAL).close()
    sleeper = CountedSleeper(clock)
    store = open_sqlite(path, clock=clock, sleeper=sleeper)
    with locked(path, "BEGIN") as reader:
        write(store, "r1", clock)
        assert run_ids(store) == ["r1"]
        assert reader.execute("SELECT run_id FROM runs").fetchall() == []
    with locked(path, "BEGIN IMMEDIATE"):
        assert run_ids(store) == ["r1"]
    assert sleeper.pauses == []
    store.close()


def test_reading_and_opening_wait_a_bounded_time_too(tmp_path: Path) -> None:
    clock, path = ManualClock(), tmp_path / "store"
    store = opened(path, clock)
    write(store, "r1", clock)
    with locked(path, "BEGIN EXCLUSIVE"):
        for call in (lambda: run_ids(store), lambda: opened(path, clock)):
            start = clock.monotonic()
            with pytest.raises(StoreLocked) as caught:
                call()
            require_bounded(caught.value, clock.monotonic() - start, path)
    assert run_ids(store) == ["r1"]
    store.close()


def test_reading_goes_on_when_the_writer_is_done(tmp_path: Path) -> None:
    clock, path = ManualClock(), tmp_path / "store"
    opened(path, clock).close()
    with locked(path, "BEGIN EXCLUSIVE") as other:
        sleeper = CountedSleeper(clock, 5, lambda: other.execute("COMMIT"))
        store = open_sqlite(path, clock=clock, sleeper=sleeper)
        assert run_ids(store) == []
    assert len(sleeper.pauses) == 5
    store.close()
