"""What can go wrong with the file underneath: each is a clear error that says whether the write happened."""

from __future__ import annotations

import json
import math
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from runcoord._stores.connections import Tuning
from runcoord._stores.failures import translated
from runcoord.errors import (
    InvalidRequest,
    StoreError,
    StoreUnavailable,
    UndecodableRow,
    VersionConflict,
)
from runcoord.ports import BadRow, Change, Deadline
from runcoord.testing import ManualClock
from runcoord.testing.contract_case import accepted, claimed, ids, running

from .private_mounts import run_mounted
from .sqlite_files import behind, opened, plant

PROLOGUE = """
import json, sys
from pathlib import Path
from runcoord._stores.sqlite import open_sqlite
from runcoord.errors import StoreError
from runcoord.ports import Change
from runcoord.testing import ManualClock, ManualSleeper
from runcoord.testing.contract_case import accepted, spec

clock = ManualClock()

def opened(path, **more):
    return open_sqlite(path, clock=clock, sleeper=ManualSleeper(clock), **more)

def write(store, run_id, size=10):
    with store.transaction("write") as tx:
        tx.save([Change(run=accepted(run_id, clock.now(), spec=spec(payload="x" * size)))])

def failure(call, *arguments, **more):
    try:
        call(*arguments, **more)
    except StoreError as error:
        return [type(error).__name__, error.happened, error.remedy, str(error)]
    return ["nothing failed", "", "", ""]
"""


# --- where nothing can be written ---


def test_a_store_that_cannot_be_written_can_be_read_and_says_why(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    store = opened(tmp_path / "store", clock)
    with store.transaction("fill") as tx:
        tx.save([Change(run=accepted("r1", clock.now()))])
    store.close()
    seen = run_mounted(
        'mount --bind -o ro "$1" "$1" || { mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"; }',
        PROLOGUE
        + """
path = Path(sys.argv[1])
store = opened(path / "store", create=False)
with store.view("look") as view:
    read = view.run("r1").run_id
print(json.dumps({
    "read": read,
    "write": failure(write, store, "r2"),
    "read again": len(store.view("look").__enter__().runs(limit=9)),
    "create": failure(opened, path / "other"),
    "create deeper": failure(opened, path / "deeper" / "other"),
}))
""",
        tmp_path,
    )
    assert (seen["read"], seen["read again"]) == ("r1", 1)
    for what in ("write", "create", "create deeper"):
        kind, happened, remedy, text = seen[what]
        assert (what, kind, happened) == (what, "StoreReadOnly", "no")
        assert str(tmp_path) in text
        assert remedy


def test_on_a_full_disk_the_write_did_not_happen_and_what_was_there_can_be_read(tmp_path: Path) -> None:
    seen = run_mounted(
        'mount -t tmpfs -o size=256k full "$1"',
        PROLOGUE
        + """
store = opened(Path(sys.argv[1]) / "store")
written, failed = [], None
for number in range(100):
    failed = failure(write, store, f"r{number}", 16_000)
    if failed[0] != "nothing failed":
        break
    written.append(f"r{number}")
store.close()
store = opened(Path(sys.argv[1]) / "store")
with store.view("look") as view:
    left = [run.run_id for run in view.runs(limit=999)]
print(json.dumps({"written": written, "failed": failed, "left": left}))
""",
        tmp_path,
    )
    kind, happened, remedy, text = seen["failed"]
    assert (kind, happened) == ("StoreFull", "no")
    assert str(tmp_path) in text
    assert remedy
    assert seen["written"]
    assert seen["left"] == seen["written"]


def test_creating_a_store_on_a_full_disk_says_so_and_it_can_be_created_later(tmp_path: Path) -> None:
    seen = run_mounted(
        'mount -t tmpfs -o size=256k full "$1"',
        PROLOGUE
        + """
root = Path(sys.argv[1])
filler = root / "filler"
try:
    filler.write_bytes(b"x" * 300_000)
except OSError:
    pass
failed = failure(opened, root / "store")
filler.unlink()
store = opened(root / "store")
write(store, "r1")
print(json.dumps({"failed": failed}))
""",
        tmp_path,
    )
    kind, happened, _, text = seen["failed"]
    assert (kind, happened) == ("StoreFull", "no")
    assert str(tmp_path) in text


def test_a_disk_that_fails_during_a_commit_leaves_it_open_whether_it_happened(tmp_path: Path) -> None:
    script = (
        PROLOGUE
        + """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = opened(Path(sys.argv[1]) / "store")
write(store, "r1")
size = (Path(sys.argv[1]) / "store").stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
failed = failure(write, store, "r2", 100_000)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
write(store, "r3")
with store.view("look") as view:
    left = [run.run_id for run in view.runs(limit=9)]
print(json.dumps({"failed": failed, "left": left}))
"""
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    kind, happened, remedy, text = seen["failed"]
    assert (kind, happened) == ("StoreError", "maybe")
    assert "it may have happened" in text
    assert remedy
    assert seen["left"] == ["r1", "r3"]


def test_a_store_whose_file_was_removed_says_so_and_no_file_is_made_in_its_place(tmp_path: Path) -> None:
    clock, path = ManualClock(), tmp_path / "store"
    store = opened(path, clock)
    with store.transaction("fill") as tx:
        tx.save([Change(run=accepted("r1", clock.now()))])
    path.unlink()
    with pytest.raises(StoreUnavailable) as caught, store.transaction("write") as tx:
        tx.save([Change(run=accepted("r2", clock.now()))])
    assert str(path) in str(caught.value)
    assert caught.value.happened == "no"
    assert not path.exists()
    store.close()


@pytest.mark.parametrize("journal", ["wal", "truncate"])
@pytest.mark.parametrize("instead", ["nothing", "another store", "a copy"])
def test_a_store_whose_file_is_not_at_its_path_any_more_takes_no_change(
    tmp_path: Path, instead: str, journal: str
) -> None:
    """In WAL mode SQLite does not notice, and writes into a file that nobody finds."""
    clock, path = ManualClock(), tmp_path / "store"
    store = opened(path, clock, tuning=Tuning(journal=journal))
    with store.transaction("fill") as tx:
        tx.save([Change(run=accepted("r1", clock.now()))])
    if instead == "another store":
        opened(tmp_path / "other", clock).close()
        (tmp_path / "other").replace(path)
    elif instead == "a copy":
        shutil.copy(path, tmp_path / "copy")
        (tmp_path / "copy").replace(path)
    else:
        path.rename(tmp_path / "moved")
    before = path.read_bytes() if path.exists() else None
    for changes in ([Change(run=accepted("r2", clock.now()))], []):  # an answer out of it is none either
        with pytest.raises(StoreUnavailable) as caught, store.transaction("write") as tx:
            tx.save(changes)
        assert "while it was open" in caught.value.problem
        assert str(path) in caught.value.problem
        assert caught.value.happened == "no"
    assert (path.read_bytes() if path.exists() else None) == before
    with store.view("look") as view:
        assert view.run("r2") is None
    store.close()


def test_a_new_thread_does_not_read_the_file_that_took_the_place_of_the_store_s(tmp_path: Path) -> None:
    clock, path = ManualClock(), tmp_path / "store"
    store = opened(path, clock)
    opened(tmp_path / "other", clock).close()
    (tmp_path / "other").replace(path)
    with store.view("look"), ThreadPoolExecutor(1) as threads:  # the connection that there is is taken
        reading = threads.submit(store.view("look in another thread").__enter__)
        assert isinstance(reading.exception(30), StoreUnavailable)
    store.close()


# --- values that cannot be stored ---


def test_text_that_cannot_be_stored_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    clock = ManualClock()
    store = opened(tmp_path / "store", clock)
    for run in (accepted("r\ud800", clock.now()), accepted("r1", clock.now(), progress="\udcff")):
        with pytest.raises(InvalidRequest), store.transaction("write") as tx:
            tx.save([Change(run=accepted("good", clock.now())), Change(run=run)])
    with store.view("look") as view:
        with pytest.raises(InvalidRequest):
            view.run("\ud800")
        with pytest.raises(InvalidRequest):
            view.events(after=2**64, limit=9)
        assert view.runs(limit=9) == []
    store.close()


def test_a_time_that_is_no_number_is_not_stored(tmp_path: Path) -> None:
    clock = ManualClock()
    store = opened(tmp_path / "store", clock)
    with pytest.raises(StoreError), store.transaction("write") as tx:
        tx.save([Change(run=replace(accepted("r1", clock.now()), created_at=math.nan))])
    with store.view("look") as view:
        assert view.runs(limit=9) == []
    store.close()


# --- stored values that nobody can read ---


@pytest.mark.parametrize(
    ("column", "value", "named"),
    [
        ("version", 0, "version is 0"),
        ("version", "two", "version is 'two'"),
        ("notes", -1, "notes is -1"),
        ("interruptions", -1, "interruptions is -1"),
        ("interruptions", 0.5, "interruptions is 0.5"),
        ("created_at", "noon", "created_at is 'noon'"),
        ("payload", b"\xff\xfe", "payload is b'"),
        ("reported", "perhaps", "reported is 'perhaps'"),
        ("lease_boot", None, "lease"),
        ("lease_wall", None, "lease"),
        ("lease_boottime", None, "lease"),
        ("epoch", 0, "epoch 0"),
        ("finished_at", 5.0, "finished_at 5.0"),
        ("outcome", "completed", "outcome 'completed'"),
        ("state", "accepted", "a accepted run has"),
        ("state", "finished", "a finished run has"),
        ("state", "x" * 1_000, "state is 'xxx"),
    ],
)
def test_a_run_that_contradicts_itself_names_what_is_wrong(
    tmp_path: Path, column: str, value: object, named: str
) -> None:
    clock, path = ManualClock(), tmp_path / "store"
    store = opened(path, clock)
    past = Deadline.after(clock.now(), -1.0)
    with store.transaction("fill") as tx:
        tx.save([Change(run=running(run_id, past)) for run_id in ("r1", "r2", "r3")])
    plant(path, "runs", "r2", column, value)
    bad: list[BadRow] = []
    with store.view("look") as view:
        assert ids(view.load_runs(["r1", "r2", "r3"], bad)) == ["r1", "r3"]
        [row] = bad
        assert (row.table, row.key) == ("runs", "r2")
        assert named in row.problem
        assert len(row.problem) < 400
    store.close()


def test_an_accepted_run_with_an_owner_is_named(tmp_path: Path) -> None:
    clock, path = ManualClock(), tmp_path / "store"
    store = opened(path, clock)
    with store.transaction("fill") as tx:
        tx.save([Change(run=accepted("r1", clock.now()))])
    plant(path, "runs", "r1", "owner", "somebody")
    with pytest.raises(UndecodableRow, match="owner 'somebody'"), store.view("look") as view:
        view.run("r1")
    store.close()


@pytest.mark.parametrize("value", [None, "tomorrow"])
def test_a_lease_of_another_boot_that_is_no_time_is_in_the_sweep(tmp_path: Path, value: object) -> None:
    clock, path = ManualClock(), tmp_path / "store"
    store = opened(path, clock)
    live = Deadline.after(clock.now(), 3_000.0)
    with store.transaction("fill") as tx:
        tx.save([Change(run=make(make.__name__ + n, live)) for make in (claimed, running) for n in "12"])
    for key in ("claimed1", "running1"):
        plant(path, "runs", key, "lease_wall", value)
    with store.view("look") as view:
        assert view.recoverable(clock.now(), 9) == []
        clock.reboot(1.0)
        assert view.recoverable(clock.now(), 9) == ["claimed1", "running1"]
    store.close()


def test_text_that_is_not_utf_8_harms_only_its_row(tmp_path: Path) -> None:
    clock, path = ManualClock(), tmp_path / "store"
    store = opened(path, clock)
    with store.transaction("fill") as tx:
        tx.save([Change(run=accepted(run_id, clock.now())) for run_id in ("r1", "r2", "r3", "r4")])
    with behind(path) as connection:
        connection.execute("UPDATE runs SET progress = CAST(x'ff41' AS TEXT) WHERE run_id = 'r2'")
        connection.execute("UPDATE runs SET run_id = CAST(x'c328' AS TEXT) WHERE run_id = 'r3'")
    with store.view("look") as view:
        bad: list[BadRow] = []
        assert ids(view.runs(limit=9, bad=bad)) == ["r1", "r4"]
        assert [row.key for row in bad] == ["r2", "b'\\xc3('"]
        assert view.claimable(clock.now(), 9) == ["r1", "r2", "r4"]
        assert view.run("r1") == accepted("r1", clock.now())
    store.close()


# --- the table of errors ---


def error_of_sqlite(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("something")
    error.sqlite_errorcode = code
    error.sqlite_errorname = "SOME_CODE"
    return error


@pytest.mark.parametrize(
    ("code", "kind", "committing", "at_commit"),
    [
        (sqlite3.SQLITE_BUSY, "StoreLocked", True, "no"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, "StoreLocked", True, "no"),
        (sqlite3.SQLITE_PROTOCOL, "StoreLocked", True, "no"),
        (sqlite3.SQLITE_LOCKED_SHAREDCACHE, "StoreLocked", True, "no"),
        (sqlite3.SQLITE_FULL, "StoreFull", True, "no"),
        (sqlite3.SQLITE_READONLY_DIRECTORY, "StoreReadOnly", True, "no"),
        (sqlite3.SQLITE_READONLY_DBMOVED, "StoreUnavailable", True, "maybe"),
        (sqlite3.SQLITE_CANTOPEN_ISDIR, "StoreUnavailable", True, "maybe"),
        (sqlite3.SQLITE_NOTADB, "StoreDamaged", True, "maybe"),
        (sqlite3.SQLITE_CORRUPT_VTAB, "StoreDamaged", True, "maybe"),
        (sqlite3.SQLITE_IOERR_FSYNC, "StoreError", True, "maybe"),
        (sqlite3.SQLITE_IOERR_FSYNC, "StoreError", False, "no"),
        (sqlite3.SQLITE_NOMEM, "StoreError", True, "maybe"),
        (sqlite3.SQLITE_CONSTRAINT_UNIQUE, "VersionConflict", False, "no"),
        (sqlite3.SQLITE_CONSTRAINT_NOTNULL, "StoreError", False, "no"),
        (99, "StoreError", True, "maybe"),
    ],
)
def test_every_error_of_sqlite_has_a_meaning_a_place_and_a_remedy(
    code: int, kind: str, committing: bool, at_commit: str
) -> None:
    error = translated(error_of_sqlite(code), "/a/store", "claim", committing=committing)
    assert type(error).__name__ == kind
    assert error.happened == at_commit
    assert error.details == {"path": "/a/store", "doing": "claim", "cause": "SOME_CODE"}
    assert error.remedy
    assert "/a/store" in str(error)
    assert "claim" in str(error)


def test_an_error_without_a_code_is_a_store_error_too() -> None:
    error = translated(sqlite3.InterfaceError("odd"), "/a/store", "claim", committing=True)
    assert (type(error), error.happened) == (StoreError, "maybe")
    assert not isinstance(error, VersionConflict)
