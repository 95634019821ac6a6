"""What ``open_coordinator`` gives by default, and what it refuses before anything is opened."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from runcoord import Coordinator, Outcome, Settings, State, open_coordinator
from runcoord._clock import SystemClock
from runcoord.errors import (
    InvalidConfiguration,
    InvalidRequest,
    KeyConflict,
    LeaseHeld,
    StoreUnavailable,
    UndecodableRow,
    UnknownRun,
)
from runcoord.ports import Ports
from runcoord.testing import MemoryStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "runs.db"


def test_the_default_is_a_file_that_any_sqlite_can_read_and_only_its_owner(path: Path) -> None:
    with open_coordinator(path) as coordinator:
        coordinator.submit({"n": 1}, run_id="r1")
    assert path.read_bytes()[:15] == b"SQLite format 3"
    assert path.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT run_id, state, payload FROM runs").fetchall() == [
            ("r1", "accepted", '{"n":1}')
        ]


@pytest.mark.parametrize("form", ["path", "text", "url", "relative", "relative url"])
def test_every_form_of_address_opens_the_same_store(
    path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_coordinator(path) as coordinator:
        coordinator.submit(run_id="r1")
    monkeypatch.chdir(path.parent)
    address: dict[str, Any] = {
        "path": path,
        "text": str(path),
        "url": f"sqlite:///{path}",
        "relative": "runs.db",
        "relative url": "sqlite:///runs.db",
    }
    with open_coordinator(address[form], create=False) as coordinator:
        assert coordinator.run("r1").state is State.ACCEPTED


@pytest.mark.parametrize(
    "address",
    [
        "",
        "sqlite:///",
        ":memory:",
        "sqlite:///:memory:",
        "file:runs.db",
        "file:///tmp/runs.db",
        "sqlite://runs.db",
        "postgresql://localhost/runs",
        "mysql://localhost/runs",
        None,
        7,
        b"runs.db",
    ],
    ids=repr,
)
def test_what_names_no_durable_store_is_refused_with_a_remedy_and_nothing_is_created(
    tmp_path: Path, address: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidConfiguration) as caught:
        open_coordinator(address)
    assert caught.value.remedy
    assert list(tmp_path.iterdir()) == []


def test_a_missing_store_is_created_only_if_that_is_wanted(path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="there is no store") as caught:
        open_coordinator(path, create=False)
    assert str(path) in str(caught.value)
    assert caught.value.remedy
    assert not path.parent.exists()


def test_opening_and_reading_an_existing_store_change_nothing(path: Path) -> None:
    with open_coordinator(path) as coordinator:
        coordinator.submit(run_id="r1")
        coordinator.claim("r1")
    before = path.read_bytes()
    with open_coordinator(path) as other:
        assert other.run("r1").state is State.CLAIMED
        assert len(other.runs().runs) == 1
        assert other.events().events == []
        assert other.claim_next() is None
        assert other.store.counters.rows_written == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize("owner", ["a/b", "a\nb", "x" * 201, "\ud800", 7])
def test_an_owner_that_is_no_id_is_refused_before_anything_is_opened(path: Path, owner: Any) -> None:
    with pytest.raises(InvalidRequest, match="owner"):
        open_coordinator(path, owner=owner)
    assert not path.parent.exists()


@pytest.mark.parametrize("table", [{"chat": None}, {"": print}, {7: print}, {"chat": "https://x"}], ids=repr)
def test_a_destination_that_cannot_be_called_is_refused_before_anything_is_opened(
    path: Path, table: Any
) -> None:
    with pytest.raises(InvalidConfiguration, match="destination") as caught:
        open_coordinator(path, destinations=table)
    assert caught.value.remedy
    assert not path.parent.exists()


def test_owners_are_unique_to_one_start_and_carry_their_process(path: Path) -> None:
    with open_coordinator(path) as first, open_coordinator(path) as second:
        assert first.owner != second.owner
        assert f":{os.getpid()}:" in first.owner


def test_two_coordinators_on_one_file_see_what_the_other_did(path: Path) -> None:
    with open_coordinator(path) as first, open_coordinator(path) as second:
        first.submit({"n": 1}, run_id="r1")
        lease = second.claim("r1")
        before = first.run("r1")
        with pytest.raises(LeaseHeld, match=second.owner):
            first.claim("r1")
        assert first.run("r1") == before
        second.start(lease)
        assert first.stop("r1", "enough").outcome is None
        assert second.complete(lease, "completed", result="done").run.outcome is Outcome.STOPPED
        assert first.run("r1").result == "done"


def test_a_coordinator_may_be_used_from_several_threads(path: Path) -> None:
    errors: list[BaseException] = []
    with open_coordinator(path) as coordinator:

        def submit(thread: int) -> None:
            try:
                for number in range(10):
                    coordinator.submit(run_id=f"r{thread}-{number}")
            except BaseException as error:  # noqa: BLE001  told to the test
                errors.append(error)

        threads = [threading.Thread(target=submit, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert len(coordinator.runs(limit=100).runs) == 40


def test_closing_twice_changes_nothing_and_a_closed_coordinator_says_so(path: Path) -> None:
    coordinator = open_coordinator(path)
    coordinator.serve()
    coordinator.close()
    coordinator.close()
    with pytest.raises(StoreUnavailable, match="closed") as caught:
        coordinator.submit(run_id="r1")
    assert caught.value.remedy
    with open_coordinator(path) as later, pytest.raises(UnknownRun):
        later.run("r1")


def test_leaving_the_block_closes_also_when_it_raises(path: Path) -> None:
    with pytest.raises(ZeroDivisionError), open_coordinator(path) as coordinator:
        raise ZeroDivisionError
    with pytest.raises(StoreUnavailable):
        coordinator.runs()


def test_what_was_held_when_a_coordinator_closed_stays_held(path: Path) -> None:
    with open_coordinator(path) as first:
        first.submit(run_id="r1")
        first.claim("r1")
    with open_coordinator(path) as second:
        before = second.run("r1")
        with pytest.raises(LeaseHeld):
            second.claim("r1")
        assert second.run("r1") == before


def test_a_store_that_is_given_is_used_and_the_address_is_not_looked_at(path: Path) -> None:
    store = MemoryStore()
    with open_coordinator("postgresql://unused", ports=Ports(store=store)) as coordinator:
        coordinator.submit(run_id="r1")
    assert list(store.data.runs) == ["r1"]


# --- submitting, on the default -------------------------------------------------------------------


@pytest.fixture
def coordinator(path: Path) -> Coordinator:
    return open_coordinator(path, settings=Settings(interruption_budget=1))


def test_a_repetition_gets_the_first_answer_also_after_a_restart_with_other_settings(
    path: Path, coordinator: Coordinator
) -> None:
    with coordinator:
        assert not coordinator.submit({"a": 1, "b": [2]}, key="k1").replayed
        first = coordinator.submit({"b": [2], "a": 1}, key="k1")
        assert first.replayed
    with open_coordinator(path, settings=Settings(interruption_budget=5)) as later:
        again = later.submit({"a": 1, "b": [2]}, key="k1")
        assert (again.run_id, again.replayed) == (first.run_id, True)
        assert later.run(first.run_id).spec.interruption_budget == 1
        before = later.runs()
        with pytest.raises(KeyConflict, match="'k1'"):
            later.submit({"a": 2}, key="k1")
        assert later.runs() == before


def test_a_run_id_that_is_taken_under_another_key_is_a_conflict(coordinator: Coordinator) -> None:
    with coordinator:
        coordinator.submit(run_id="r1", key="k1")
        before = coordinator.runs()
        for key in ("k2", ""):
            with pytest.raises(KeyConflict, match="'r1' is taken"):
                coordinator.submit(run_id="r1", key=key)
        assert coordinator.runs() == before


def test_a_run_id_that_was_used_with_other_content_is_named_as_what_it_is(coordinator: Coordinator) -> None:
    with coordinator:
        coordinator.submit({"a": 1}, run_id="r1")
        before = coordinator.runs()
        with pytest.raises(KeyConflict, match=r"^run id 'r1' was used with other content\. Use a new run id"):
            coordinator.submit({"a": 2}, run_id="r1")
        assert coordinator.runs() == before


@pytest.mark.parametrize(
    "fields",
    [
        {"run_id": "a/b"},
        {"run_id": 7},
        {"run_id": b"r1"},
        {"run_id": "\ud800"},
        {"key": "a\nb"},
        {"key": "x" * 201},
        {"payload": float("nan")},
        {"payload": "\udc80"},
        {"destination": None},
        {"group": "g"},
        {"group_size": 2},
        {"interruption_budget": -1},
        {"interruption_budget": True},
    ],
    ids=lambda fields: ascii(fields)[:40],
)
def test_a_field_outside_its_limit_is_refused_and_nothing_is_accepted(
    coordinator: Coordinator, fields: dict[str, Any]
) -> None:
    with coordinator:
        with pytest.raises(InvalidRequest) as caught:
            coordinator.submit(fields.pop("payload", None), **fields)
        assert caught.value.remedy
        assert coordinator.runs().runs == []
        assert coordinator.store.counters.rows_written == 0


def test_another_size_for_a_group_is_a_conflict(coordinator: Coordinator) -> None:
    with coordinator:
        coordinator.submit(run_id="r1", group="g", group_size=2)
        before = coordinator.runs()
        with pytest.raises(KeyConflict, match="opened with size 2, not 3"):
            coordinator.submit(run_id="r2", group="g", group_size=3)
        assert coordinator.runs() == before


def test_a_key_whose_run_is_missing_is_damage_and_accepts_nothing(
    path: Path, coordinator: Coordinator
) -> None:
    with coordinator:
        coordinator.submit(run_id="r1", key="k1")
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("DELETE FROM runs")
        with pytest.raises(UndecodableRow, match="its run 'r1' is missing") as caught:
            coordinator.submit(run_id="r1", key="k1")
        assert caught.value.remedy
        assert coordinator.runs().runs == []


# --- the clock ------------------------------------------------------------------------------------


def test_the_machine_says_which_boot_its_boottime_belongs_to() -> None:
    clock, other = SystemClock(), SystemClock()
    assert clock.boot_id() == other.boot_id() == clock.boot_id()
    assert clock.boottime() <= other.boottime()


def test_without_a_boot_id_every_clock_has_its_own_so_that_boottimes_are_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runcoord._clock.BOOT_ID_PATH", tmp_path / "absent")
    assert SystemClock().boot_id() != SystemClock().boot_id()


def test_a_time_namespace_counts_as_another_boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = SystemClock().boot_id()
    (tmp_path / "time").symlink_to("time:[1]")
    monkeypatch.setattr("runcoord._clock.TIME_NAMESPACE_PATH", tmp_path / "time")
    assert SystemClock().boot_id() != usual
    monkeypatch.setattr("runcoord._clock.TIME_NAMESPACE_PATH", tmp_path / "absent")
    assert SystemClock().boot_id()
