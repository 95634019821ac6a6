"""Opening a store: what it creates, what it leaves alone, and what it refuses."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from runcoord._stores import migrations
from runcoord._stores.connections import Tuning, best_journal
from runcoord.errors import StoreDamaged, StoreError, StoreTooNew, StoreUnavailable
from runcoord.ports import Change
from runcoord.testing import ManualClock
from runcoord.testing.contract_case import accepted, life

from .sqlite_files import WAL, behind, opened, opened_for_real

ODD_NAMES = ["with space", "100%", "a?mode=memory", "x#y", "ü\u2028", "new\nline", "%41", "-dash", "a&b;c"]


def files_in(directory: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(directory.iterdir())}


def filled(path: Path, **more: object) -> Path:
    """A store with one finished run, closed."""
    clock = ManualClock()
    store = opened(path, clock, **more)
    with store.transaction("fill") as tx:
        tx.save(life("r1", clock))
    store.close()
    return path


def refused(path: Path, kind: type[StoreError], **more: object) -> StoreError:
    """Opening raises exactly ``kind``, with the path and what to do, and says that nothing happened."""
    with pytest.raises(kind) as caught:
        opened(path, **more)
    error = caught.value
    assert type(error) is kind
    assert str(path) in str(error)
    assert error.remedy
    assert error.happened == "no"
    return error


# --- creating ---


def test_a_missing_store_is_created_with_its_directories_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "store.sqlite"
    opened(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    with behind(path) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (migrations.APPLICATION_ID,)
        assert connection.execute("PRAGMA user_version").fetchone() == (migrations.MIGRATIONS[-1].number,)


def test_the_files_beside_a_store_are_for_its_owner_only_too(tmp_path: Path) -> None:
    store = opened(tmp_path / "s", tuning=WAL)
    with store.transaction("write") as tx:
        tx.save([Change(run=accepted("r1", ManualClock().now()))])
        names = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    store.close()
    assert len(names) > 1
    assert set(names.values()) == {0o600}


def test_without_create_a_missing_store_is_refused_and_nothing_is_created(tmp_path: Path) -> None:
    refused(tmp_path / "a" / "store.sqlite", StoreUnavailable, create=False)
    assert list(tmp_path.iterdir()) == []


def test_without_create_an_empty_file_is_refused_and_stays_empty(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    path.touch()
    refused(path, StoreUnavailable, create=False)
    assert path.read_bytes() == b""


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_store_may_have_any_name(tmp_path: Path, name: str) -> None:
    filled(tmp_path / name)
    assert (tmp_path / name).stat().st_size > 0
    assert all(each.name.startswith(name) for each in tmp_path.iterdir())
    with opened(tmp_path / name, create=False).view("look") as view:
        assert view.run("r1")


def test_many_threads_that_open_a_missing_store_at_once_all_succeed(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    start, failures = threading.Barrier(8), []

    def work(number: int) -> None:
        try:
            start.wait(10)
            store = opened_for_real(path)
            with store.transaction("write") as tx:
                tx.save([Change(run=accepted(f"r{number}", ManualClock().now()))])
            store.close()
        except Exception as error:  # noqa: BLE001 - handed to the test
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    with opened(path).view("look") as view:
        assert len(view.runs(limit=99)) == 8


# --- leaving alone ---


@pytest.mark.parametrize("create", [True, False])
def test_opening_and_reading_an_existing_store_changes_not_a_byte(tmp_path: Path, create: bool) -> None:
    filled(tmp_path / "store.sqlite")
    before = files_in(tmp_path)
    store = opened(tmp_path / "store.sqlite", create=create)
    with store.view("look") as view:
        assert view.run("r1")
        assert len(view.events(limit=9)) == 1
    with store.transaction("idle") as tx:
        tx.save([])
    assert files_in(tmp_path) == before
    store.close()
    assert files_in(tmp_path) == before


def test_opening_a_store_keeps_the_journal_mode_that_somebody_chose(tmp_path: Path) -> None:
    for chosen, other in (("wal", "truncate"), ("truncate", "wal")):
        path = filled(tmp_path / chosen, tuning=Tuning(journal=chosen))
        filled_again = opened(path, tuning=Tuning(journal=other))
        with filled_again.transaction("write") as tx:
            tx.save([Change(run=accepted("r2", ManualClock().now()))])
        filled_again.close()
        with behind(path) as connection:
            [mode] = connection.execute("PRAGMA journal_mode").fetchone()
        assert (mode == "wal") == (chosen == "wal")


def test_a_later_change_of_directory_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    store = opened(Path("store.sqlite"))
    monkeypatch.chdir("elsewhere")
    seen: list[object] = []

    def read() -> None:
        with store.view("look") as view:
            seen.append(view.run("r1"))

    thread = threading.Thread(target=read)
    thread.start()
    thread.join(30)
    store.close()
    assert seen == [None]
    assert list((tmp_path / "elsewhere").iterdir()) == []


# --- refusing ---


def test_a_newer_store_is_refused_before_a_byte_is_touched(tmp_path: Path) -> None:
    path = filled(tmp_path / "store.sqlite")
    with behind(path) as connection:
        connection.execute("PRAGMA user_version = 99")
        connection.execute("DROP TABLE runs")
    before = files_in(tmp_path)
    error = refused(path, StoreTooNew)
    assert error.details["found"] == 99
    assert files_in(tmp_path) == before


def make_text(path: Path) -> None:
    path.write_bytes(b"dear diary, " * 1_000)


def make_short(path: Path) -> None:
    path.write_bytes(b"x")


def make_foreign(path: Path) -> None:
    with behind(path) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")


def make_foreign_and_marked(path: Path) -> None:
    with behind(path) as connection:
        connection.execute("PRAGMA application_id = 7")


def make_incomplete(path: Path) -> None:
    filled(path)
    with behind(path) as connection:
        connection.execute("DROP TABLE commands")


def make_unnumbered(path: Path) -> None:
    filled(path)
    with behind(path) as connection:
        connection.execute("PRAGMA user_version = 0")


def make_unmarked(path: Path) -> None:
    filled(path)
    with behind(path) as connection:
        connection.execute("PRAGMA application_id = 0")


def make_broken_schema(path: Path) -> None:
    filled(path)
    data = bytearray(path.read_bytes())
    data[100:4096] = b"\xa5" * (4096 - 100)
    path.write_bytes(data)


@pytest.mark.parametrize(
    "make",
    [
        make_text,
        make_short,
        make_foreign,
        make_foreign_and_marked,
        make_incomplete,
        make_unnumbered,
        make_unmarked,
        make_broken_schema,
    ],
)
def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "store.sqlite"
    make(path)
    before = files_in(tmp_path)
    refused(path, StoreDamaged)
    refused(path, StoreDamaged, create=False)
    assert files_in(tmp_path) == before


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "store")
    refused(tmp_path / "store", StoreUnavailable)
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_a_path_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    for path in (tmp_path / "file" / "store", tmp_path / "loop" / "store", tmp_path / ("x" * 300)):
        refused(path, StoreUnavailable)
    with pytest.raises(StoreUnavailable, match="names no file"):
        opened(tmp_path / "a\0b")
    with pytest.raises(StoreUnavailable, match="names no file"):
        opened(Path("/"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "loop"]


def test_a_damaged_page_is_reported_when_it_is_read_and_no_error_of_sqlite_gets_out(tmp_path: Path) -> None:
    clock, path = ManualClock(), tmp_path / "store.sqlite"
    store = opened(path, clock)
    with store.transaction("fill") as tx:
        tx.save([Change(run=accepted(f"r{number}", clock.now())) for number in range(500)])
    store.close()
    with behind(path) as connection:
        [root] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'runs'").fetchone()
    with path.open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xa5" * 4096)
    store = opened(path, clock)
    with pytest.raises(StoreDamaged) as caught, store.view("look") as view:
        view.runs(limit=999)
    assert caught.value.remedy
    with pytest.raises(StoreDamaged), store.transaction("write") as tx:
        tx.save([Change(run=accepted("new", clock.now()))])
    store.close()


# --- which journal ---


@pytest.mark.parametrize(
    ("version", "journal"),
    [
        ((3, 40, 1), "truncate"),
        ((3, 44, 5), "truncate"),
        ((3, 44, 6), "wal"),
        ((3, 45, 0), "truncate"),
        ((3, 50, 6), "truncate"),
        ((3, 50, 7), "wal"),
        ((3, 51, 0), "truncate"),
        ((3, 51, 2), "truncate"),
        ((3, 51, 3), "wal"),
        ((3, 52, 0), "wal"),
        ((4, 0, 0), "wal"),
    ],
)
def test_a_write_ahead_log_is_used_only_where_sqlite_resets_it_rightly(
    version: tuple[int, int, int], journal: str
) -> None:
    assert best_journal(version) == journal


def test_a_store_is_durable_in_its_journal_mode_by_default(tmp_path: Path) -> None:
    store = opened(tmp_path / "store.sqlite")
    with store.view("look") as view:
        connection = view._connection
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        expected = best_journal(sqlite3.sqlite_version_info)
        assert connection.execute("PRAGMA journal_mode").fetchone() == (expected,)
    store.close()
