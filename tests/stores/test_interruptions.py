"""Ctrl-C between any two steps of a transaction leaves a store that this thread and others can use."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from runcoord import Execution, State, open_coordinator
from runcoord._stores.sqlite import SqliteStore
from runcoord.ports import Change
from runcoord.testing import ManualClock
from runcoord.testing.contract_case import accepted, ids

from .sqlite_files import opened

NOW = ManualClock().now()
ENTERED = [
    "take",
    "_control",
    "_rows",
    "_write",
    "_commit",
    "_rolled_back",
    "_leave",
    "give_back",
    "__exit__",
]
"""Functions of the store at whose beginning a signal is handled, as Python does."""


def write(store: SqliteStore, run_id: str, *, fails: bool = False) -> None:
    with store.transaction("write") as tx:
        tx.run(run_id)
        tx.save([Change(run=accepted(run_id, NOW))])
        if fails:
            raise ValueError("the block fails")


@contextlib.contextmanager
def interrupted_in(name: str) -> Any:
    """The next call of that function is interrupted as it begins."""

    def trace(frame: FrameType, event: str, arg: object) -> None:
        if frame.f_code.co_name == name and "_stores" in frame.f_code.co_filename:
            sys.settrace(None)
            raise KeyboardInterrupt

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("fails", [False, True], ids=["commits", "rolls-back"])
@pytest.mark.parametrize("name", ENTERED)
def test_an_interruption_leaves_neither_a_lock_nor_a_thread_that_is_shut_out(
    tmp_path: Path, name: str, fails: bool
) -> None:
    store, other = opened(tmp_path / "runs.db"), opened(tmp_path / "runs.db")
    write(store, "before")
    reached = True
    try:
        with interrupted_in(name):
            write(store, "r1", fails=fails)
            reached = False
    except KeyboardInterrupt:
        pass
    except ValueError:
        reached = False
    assert reached or (name, fails) in {("_commit", True), ("_rolled_back", False)}

    write(other, "by-another")  # its clock passes at once: it would meet the lock
    write(store, "after")

    with store.view("look") as view:
        found = ids(view.runs(limit=9))
    assert {"before", "by-another", "after"} <= {*found}
    assert "r1" not in found or not fails
    store.close()
    other.close()


def test_work_that_is_interrupted_inside_of_the_store_leaves_by_its_own_exception(tmp_path: Path) -> None:
    def work(execution: Execution) -> str:
        with interrupted_in("give_back"):
            execution.progress("half of it")
        return "never"

    with open_coordinator(tmp_path / "runs.db") as coordinator:
        coordinator.submit(run_id="r1")
        with pytest.raises(KeyboardInterrupt):
            coordinator.execute("r1", work)

        assert coordinator.run("r1").state is State.RUNNING
        assert coordinator.stop("r1").outcome is None


def test_a_block_inside_of_another_is_still_refused(tmp_path: Path) -> None:
    store = opened(tmp_path / "runs.db")
    with store.transaction("outer") as tx:
        with pytest.raises(RuntimeError, match="open already in this thread"), store.view("inner"):
            pass
        tx.save([Change(run=accepted("r1", NOW))])

    with store.view("look") as view:
        assert ids(view.runs(limit=9)) == ["r1"]
    store.close()
