"""Threads and stores take turns with connections, which are closed with the last store and cross no fork."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from runcoord._stores.connections import MAX_IDLE, Tuning
from runcoord._stores.sqlite import SqliteStore
from runcoord.errors import StoreUnavailable
from runcoord.ports import Change
from runcoord.testing import ManualClock
from runcoord.testing.contract_case import accepted, ids

from .sqlite_files import opened, opened_for_real

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files in /proc")

NOW = ManualClock().now()
PATIENCE = 30.0
"""Longest wait for another thread, in seconds; then the test fails."""


def open_files(path: Path) -> int:
    """How many files of this store this process has open."""
    found = 0
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found += str(entry.readlink()).startswith(str(path))
        except OSError:  # closed meanwhile
            continue
    return found


def write(store: SqliteStore, run_id: str) -> None:
    with store.transaction("write") as tx:
        tx.save([Change(run=accepted(run_id, NOW))])


def run_ids(store: SqliteStore) -> list[str]:
    with store.view("look") as view:
        return ids(view.runs(limit=999))


class Worker:
    """A thread that does one thing and can be held at a point of it."""

    def __init__(self, work: Callable[[Worker], object]) -> None:
        self.reached, self.go_on = threading.Event(), threading.Event()
        self.error: BaseException | None = None
        self._work = work
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._work(self)
        except BaseException as error:  # noqa: BLE001 - handed to the test
            self.error = error

    def pause(self) -> None:
        self.reached.set()
        assert self.go_on.wait(PATIENCE)

    def finish(self) -> None:
        self.go_on.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


def test_threads_share_a_store_without_an_error(tmp_path: Path) -> None:
    store = opened_for_real(tmp_path / "store")

    def work(name: str) -> Callable[[Worker], object]:
        return lambda _: [write(store, f"{name}-{number}") for number in range(20)]

    workers = [Worker(work(name)) for name in "abcd"]
    for worker in workers:
        worker.finish()
    assert [worker.error for worker in workers] == [None] * 4
    assert len(run_ids(store)) == 80
    assert store.counters.rows_written == 80
    assert store.counters.commits == 80
    store.close()


def test_a_thread_that_comes_after_another_uses_its_connection(tmp_path: Path) -> None:
    path = tmp_path / "store"
    store = opened(path)
    before = open_files(path)

    def work(_: Worker) -> None:
        used.append(open_files(path))
        write(store, f"r{len(used)}")
        used.append(open_files(path))

    used: list[int] = []
    for _ in range(3):
        worker = Worker(work)
        worker.finish()
        assert worker.error is None
    assert before > 0
    assert used == [before] * 6
    assert len(run_ids(store)) == 3
    store.close()
    assert open_files(path) == 0


def test_threads_at_the_same_time_have_a_connection_each_and_a_bounded_number_stays_open(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store"
    store = opened(path, tuning=Tuning(journal="truncate"))
    of_one = open_files(path)

    def work(worker: Worker) -> None:
        with store.view("look") as view:
            seen.append(ids(view.runs(limit=9)))
            worker.pause()

    seen: list[list[str]] = []
    workers = [Worker(work) for _ in range(MAX_IDLE + 3)]
    for worker in workers:
        assert worker.reached.wait(PATIENCE)
    assert open_files(path) == len(workers) * of_one
    for worker in workers:
        worker.finish()
        assert worker.error is None
    assert seen == [[]] * len(workers)
    assert open_files(path) == MAX_IDLE * of_one
    store.close()
    assert open_files(path) == 0


def test_a_store_that_is_opened_beside_another_uses_its_connection_and_outlives_it(tmp_path: Path) -> None:
    path = tmp_path / "store"
    first = opened(path)
    write(first, "r1")
    before = open_files(path)
    second = opened(path)
    assert run_ids(second) == ["r1"]
    assert open_files(path) == before
    first.close()
    write(second, "r2")
    assert run_ids(second) == ["r1", "r2"]
    assert (first.counters.commits, second.counters.commits) == (1, 1)
    with pytest.raises(StoreUnavailable):
        run_ids(first)
    second.close()
    assert open_files(path) == 0


def test_a_store_inside_of_a_block_of_another_sees_only_what_is_committed(tmp_path: Path) -> None:
    path = tmp_path / "store"
    first, second = opened(path), opened(path)
    with first.transaction("write") as tx:
        tx.save([Change(run=accepted("r1", NOW))])
        assert run_ids(second) == []
    assert run_ids(second) == ["r1"]
    first.close()
    second.close()


def test_a_file_that_took_the_place_of_another_is_not_read_over_a_connection_to_that(tmp_path: Path) -> None:
    path = tmp_path / "store"
    first = opened(path)
    write(first, "old")
    path.rename(tmp_path / "moved")
    second = opened(path)
    assert run_ids(second) == []
    write(second, "new")
    assert (run_ids(first), run_ids(second)) == (["old"], ["new"])
    first.close()
    second.close()


def test_a_block_that_is_dropped_without_being_left_gives_up_its_lock(tmp_path: Path) -> None:
    path = tmp_path / "store"
    store = opened(path)
    block = store.transaction("write")
    block.__enter__().save([Change(run=accepted("r1", NOW))])
    del block
    write(store, "r2")
    assert run_ids(store) == ["r2"]
    store.close()
    assert open_files(path) == 0


def test_a_block_that_another_thread_leaves_is_over_for_the_one_that_began_it(tmp_path: Path) -> None:
    store = opened(tmp_path / "store")
    block = store.view("look")

    def work(worker: Worker) -> None:
        block.__enter__()
        worker.pause()
        write(store, "r1")

    worker = Worker(work)
    assert worker.reached.wait(PATIENCE)
    block.__exit__(None, None, None)
    worker.finish()
    assert worker.error is None
    assert run_ids(store) == ["r1"]
    store.close()


def test_threads_are_not_shut_out_by_a_block_that_an_ended_thread_never_left(tmp_path: Path) -> None:
    store = opened(tmp_path / "store")
    left_open = []

    def begin(_: Worker) -> None:
        block = store.view("look")
        block.__enter__()
        left_open.append(block)

    for _ in range(3):  # their identifiers are given again
        worker = Worker(begin)
        worker.finish()
        assert worker.error is None
    assert run_ids(store) == []
    assert len(left_open) == 3
    left_open.clear()
    store.close()


def test_closing_waits_for_nobody_and_a_transaction_that_is_under_way_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "store"
    store = opened(path)

    def work(worker: Worker) -> None:
        with store.transaction("write") as tx:
            tx.save([Change(run=accepted("r1", NOW))])
            worker.pause()
        left_open.append(open_files(path))

    left_open: list[int] = []
    worker = Worker(work)
    assert worker.reached.wait(PATIENCE)
    store.close()
    with pytest.raises(StoreUnavailable):
        run_ids(store)
    worker.finish()
    assert worker.error is None
    assert left_open == [0]
    assert run_ids(opened(path)) == ["r1"]


def test_closing_closes_the_connections_of_all_threads(tmp_path: Path) -> None:
    path = tmp_path / "store"
    store = opened(path)

    def work(worker: Worker) -> None:
        run_ids(store)
        worker.pause()
        run_ids(store)

    workers = [Worker(work) for _ in range(3)]
    for worker in workers:
        assert worker.reached.wait(PATIENCE)
    store.close()
    assert open_files(path) == 0
    for worker in workers:
        worker.finish()
        assert isinstance(worker.error, StoreUnavailable)


# --- forks: each in a program of its own, so that only one thread of ours is forked ---

PROLOGUE = """
import json, os, sys, threading
from pathlib import Path
from runcoord._clock import SystemClock, SystemSleeper
from runcoord._stores.sqlite import open_sqlite
from runcoord.errors import StoreError
from runcoord.ports import Change
from runcoord.testing import ManualClock
from runcoord.testing.contract_case import accepted, ids

now = ManualClock().now()
path = Path(sys.argv[1]) / "store"

def opened():
    return open_sqlite(path, clock=SystemClock(), sleeper=SystemSleeper())

def write(store, run_id):
    with store.transaction("write") as tx:
        tx.save([Change(run=accepted(run_id, now))])

def run_ids(store):
    with store.view("look") as view:
        return ids(view.runs(limit=99))

def failure(call, *arguments):
    try:
        call(*arguments)
    except StoreError as error:
        return type(error).__name__
    return "nothing failed"

def in_child(work):
    # The child ends like any program, with all its cleaning up.
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        os.write(writing, json.dumps(work()).encode())
        os.close(writing)
        sys.exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = answer.read()
    assert os.waitpid(pid, 0)[1] == 0
    return json.loads(said)

store = opened()
write(store, "before")
"""


def run_program(script: str, tmp_path: Path) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PROLOGUE + script, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    result: dict[str, object] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("journal", ["truncate", "wal"])
def test_a_child_uses_an_idle_store_over_a_connection_of_its_own(tmp_path: Path, journal: str) -> None:
    seen = run_program(
        f"""
store.close()
path.unlink()
from runcoord._stores.connections import Tuning
store = open_sqlite(path, clock=SystemClock(), sleeper=SystemSleeper(), tuning=Tuning(journal="{journal}"))
write(store, "before")
def idle():
    return [link.connection for link in store._connections._file.idle]

of_parent = idle()

def work():
    found = idle()
    write(store, "by the child")
    return [len(of_parent), found, idle() == of_parent, run_ids(store)]

said = in_child(work)
write(store, "after")
print(json.dumps({{"said": said, "left": run_ids(store)}}))
""",
        tmp_path,
    )
    assert seen["said"] == [1, [], False, ["before", "by the child"]]
    assert seen["left"] == ["before", "by the child", "after"]


def test_a_child_forked_inside_a_transaction_is_refused_and_cannot_undo_it(tmp_path: Path) -> None:
    seen = run_program(
        """
journal = path.with_name("store-journal")
with store.transaction("write") as tx:
    tx.save([Change(run=accepted("parent's", now))])
    before = journal.read_bytes()
    said = in_child(lambda: [failure(run_ids, store), failure(opened), failure(tx.run, "before")])
    kept = len(before) > 0 and journal.read_bytes() == before
print(json.dumps({"said": said, "kept": kept, "left": run_ids(store), "anew": run_ids(opened())}))
""",
        tmp_path,
    )
    assert seen["said"] == ["StoreUnavailable"] * 3
    assert seen["kept"] is True
    assert seen["left"] == seen["anew"] == ["before", "parent's"]


def test_a_child_forked_while_another_thread_connects_is_refused(tmp_path: Path) -> None:
    seen = run_program(
        """
import sqlite3
connects, go_on, connect = threading.Event(), threading.Event(), sqlite3.connect

def slowly(*given, **how):
    made = connect(*given, **how)
    connects.set()
    go_on.wait(30)
    return made

thread = threading.Thread(target=lambda: run_ids(store))
with store.view("look"):  # it has the connection that there is
    sqlite3.connect = slowly
    thread.start()
    connects.wait(30)
sqlite3.connect = connect
said = in_child(lambda: [failure(write, store, "child's"), failure(opened)])
go_on.set()
thread.join(30)
write(store, "after")
print(json.dumps({"said": said, "left": run_ids(store)}))
""",
        tmp_path,
    )
    assert seen["said"] == ["StoreUnavailable"] * 2
    assert seen["left"] == ["before", "after"]


def test_a_child_forked_while_another_thread_reads_is_refused(tmp_path: Path) -> None:
    seen = run_program(
        """
reads, go_on = threading.Event(), threading.Event()

def read():
    with store.view("look") as view:
        view.runs(limit=9)
        reads.set()
        go_on.wait(30)

thread = threading.Thread(target=read)
thread.start()
reads.wait(30)
said = in_child(lambda: failure(write, store, "child's"))
go_on.set()
thread.join(30)
write(store, "after")
print(json.dumps({"said": said, "left": run_ids(store)}))
""",
        tmp_path,
    )
    assert seen["said"] == "StoreUnavailable"
    assert seen["left"] == ["before", "after"]
