"""Work grows with what is found and changed, not with what exists; counted, not timed.

SQLite counts for us: a progress handler is called for every instruction of its virtual machine.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runcoord._stores import folder_statements, statements
from runcoord._stores.paging import BothWays
from runcoord._stores.sqlite import SqliteStore
from runcoord.ports import Change, Deadline, EventState, State, View
from runcoord.testing import ManualClock
from runcoord.testing.contract_case import accepted, claimed, event, finished, life, running

from .sqlite_files import behind, opened

FEW, MANY = 10, 10_000


@contextlib.contextmanager
def store_with(path: Path, clock: ManualClock, *changes: Change) -> Iterator[SqliteStore]:
    store = opened(path, clock)
    with store.transaction("fill") as tx:
        tx.save(changes)
    yield store
    store.close()


def steps(store: SqliteStore, read: Callable[[View], object]) -> int:
    """Instructions of SQLite's virtual machine for ``read``, the second time, when all is prepared."""
    count = 0

    def one() -> int:
        nonlocal count
        count += 1
        return 0

    for _ in range(2):
        with store.view("count") as view:
            view._connection.set_progress_handler(one, 1)
            count = 0
            read(view)
            view._connection.set_progress_handler(None, 1)
    return count


def done(number: int) -> list[Change]:
    """Finished runs with their delivered events."""
    due = Deadline(0.0, 0.0, "boot-0")
    return [
        Change(
            run=finished(f"done-{each:05d}", 1_000.0 + each),
            new_events=(event(f"done-{each:05d}/finished", due, EventState.DELIVERED),),
        )
        for each in range(number)
    ]


def test_a_life_costs_the_same_statements_and_rows_beside_ten_and_beside_ten_thousand_finished_runs(
    tmp_path: Path,
) -> None:
    seen = []
    for many in (FEW, MANY):
        clock = ManualClock()
        with store_with(tmp_path / str(many), clock, *done(many)) as store:
            before = store.counters.statements, store.counters.rows_written, store.counters.commits
            for change in life("r1", clock):
                with store.transaction("step") as tx:
                    tx.run("r1")
                    tx.claimable(clock.now(), 9)
                    tx.recoverable(clock.now(), 9)
                    tx.sendable(clock.now(), "me", 9)
                    tx.next_due()
                    tx.count_untold_held()
                    tx.save([change])
            after = store.counters.statements, store.counters.rows_written, store.counters.commits
            seen.append(tuple(late - early for late, early in zip(after, before, strict=True)))
    assert seen[0] == seen[1]
    assert seen[0][1:] == (6, 4)


READS: dict[str, Callable[[View, ManualClock], object]] = {
    "run": lambda view, clock: view.run("r1"),
    "claimable": lambda view, clock: view.claimable(clock.now(), 9),
    "recoverable": lambda view, clock: view.recoverable(clock.now(), 9),
    "sendable": lambda view, clock: view.sendable(clock.now(), "me", 9),
    "next_due": lambda view, clock: view.next_due(),
    "untold_held": lambda view, clock: (view.untold_held(9), view.count_untold_held()),
    "unfinished runs": lambda view, clock: view.runs(states=[accepted("x", clock.now()).state], limit=9),
    "held events": lambda view, clock: view.events(states=[EventState.HELD], limit=9),
    "events of a run": lambda view, clock: view.events(run_id="r1", limit=9),
    "finished_before": lambda view, clock: view.finished_before(999.0, 9),
    "runless_before": lambda view, clock: view.runless_before(1e12, 9),
    "a page of runs": lambda view, clock: view.runs(limit=5),
    "the newest runs": lambda view, clock: view.runs(limit=5, newest_first=True),
    "the newest finished runs": lambda view, clock: view.runs(
        states=[State.FINISHED], limit=5, newest_first=True
    ),
    "the newest runs under way": lambda view, clock: view.runs(
        states=[State.ACCEPTED, State.RUNNING], limit=5, newest_first=True
    ),
    "a page of events": lambda view, clock: view.events(limit=5),
    "the newest events": lambda view, clock: view.events(limit=5, newest_first=True),
    "the newest delivered events": lambda view, clock: view.events(
        states=[EventState.DELIVERED], limit=5, newest_first=True
    ),
    "the newest events of a run": lambda view, clock: view.events(run_id="r1", limit=5, newest_first=True),
}


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[SqliteStore, ManualClock]]]:
    """Two stores with one live run each, one beside few finished ones and one beside many."""
    with contextlib.ExitStack() as stack:
        pairs = []
        for many in (FEW, MANY):
            clock = ManualClock()
            path = tmp_path_factory.mktemp("beside") / "store"
            changes = [*done(many), *life("r1", clock)]
            pairs.append((stack.enter_context(store_with(path, clock, *changes)), clock))
        yield pairs


@pytest.mark.parametrize("read", READS.values(), ids=[name.replace(" ", "-") for name in READS])
def test_reading_costs_the_same_beside_ten_and_beside_ten_thousand_finished_runs(
    beside: list[tuple[SqliteStore, ManualClock]], read: Callable[[View, ManualClock], object]
) -> None:
    few, many = (steps(store, lambda view, clock=clock: read(view, clock)) for store, clock in beside)
    assert few == many
    assert few > 0


def test_an_empty_sweep_costs_the_same_over_ten_and_over_ten_thousand_live_runs(tmp_path: Path) -> None:
    seen = []
    for many in (FEW, MANY):
        clock = ManualClock()
        live = Deadline.after(clock.now(), 60.0)
        changes = [Change(run=running(f"live-{each:05d}", live)) for each in range(many)]
        changes += [Change(run=claimed(f"held-{each:05d}", live)) for each in range(many)]
        with store_with(tmp_path / str(many), clock, *changes) as store:
            rows = store.counters.rows_written
            seen.append(steps(store, lambda view, clock=clock: view.recoverable(clock.now(), 256)))
            seen.append(steps(store, lambda view, clock=clock: view.claimable(clock.now(), 256)))
            assert store.counters.rows_written == rows
    assert seen[:2] == seen[2:]


def test_a_drain_that_finds_nothing_costs_the_same_beside_ten_and_beside_ten_thousand_waiting_events(
    tmp_path: Path,
) -> None:
    seen = []
    for many in (FEW, MANY):
        clock = ManualClock()
        later, past = Deadline.after(clock.now(), 60.0), Deadline.after(clock.now(), -1.0)
        waiting = [event(f"wait-{each:05d}", later) for each in range(many)]
        held = [event(f"held-{each:05d}", past, EventState.HELD, told=True) for each in range(many)]
        with store_with(tmp_path / str(many), clock, Change(new_events=(*waiting, *held))) as store:
            seen.append(steps(store, lambda view, clock=clock: view.sendable(clock.now(), "me", 256)))
            seen.append(steps(store, lambda view: (view.next_due(), view.untold_held(9))))
    assert seen[:2] == seen[2:]


def test_finding_what_expired_costs_in_proportion_to_what_expired(tmp_path: Path) -> None:
    seen = {}
    clock = ManualClock()
    live, past = Deadline.after(clock.now(), 60.0), Deadline.after(clock.now(), -1.0)
    for expired in (100, 1_000):
        changes = [Change(run=running(f"live-{each:05d}", live)) for each in range(MANY)]
        changes += [Change(run=running(f"gone-{each:05d}", past)) for each in range(expired)]
        with store_with(tmp_path / str(expired), clock, *changes) as store:
            seen[expired] = steps(store, lambda view: view.recoverable(clock.now(), 9_999))
    assert seen[1_000] < 11 * seen[100]


def test_recovering_some_of_many_writes_the_rows_of_some(tmp_path: Path) -> None:
    clock = ManualClock()
    live, past = Deadline.after(clock.now(), 60.0), Deadline.after(clock.now(), -1.0)
    changes = [Change(run=running(f"live-{each:05d}", live)) for each in range(1_000)]
    changes += [Change(run=running(f"gone-{each}", past)) for each in range(7)]
    with store_with(tmp_path / "store", clock, *changes) as store:
        before = store.counters.statements, store.counters.rows_written, store.counters.commits
        with store.transaction("recover") as tx:
            found = tx.load_runs(tx.recoverable(clock.now(), 256), [])
            tx.save(
                Change(
                    before=run, run=finished(run.run_id, 9.0), new_events=(event(f"{run.run_id}/f", past),)
                )
                for run in found
            )
        after = store.counters.statements, store.counters.rows_written, store.counters.commits
    # One list, one load of all, then one statement a row.
    assert tuple(late - early for late, early in zip(after, before, strict=True)) == (2 + 14, 14, 1)


# --- plans ---

EVERY_PARAMETER = dict.fromkeys(
    [
        *(
            "after",
            "any",
            "before",
            "boot",
            "boottime",
            "cap",
            "last",
            "limit",
            "lineage",
            "owner",
            "pending",
        ),
        *("root", "run_id", "sending", "state", "states", "wall", "without"),
    ],
    1,
)


SORTING = {
    *(statements.RUNS_LEASED, statements.RUNS_UNKNOWN, statements.CLAIMABLE_EXPIRED, statements.RECOVERABLE),
    *(statements.EVENTS_WAITING, statements.EVENTS_HELD, statements.EVENTS_UNKNOWN),
    *(statements.SENDABLE, statements.RUNS_OF_OWNER, statements.EVENTS_OF_OWNER),
}
"""They sort what they find in an index, of which there is little; the others find it in their order."""


def texts_of(listed: str | BothWays) -> list[str]:
    return [listed] if isinstance(listed, str) else [listed.oldest_first, listed.newest_first]


@pytest.mark.parametrize("analysed", [False, True])
def test_every_list_statement_uses_its_index_whatever_the_statistics_say(
    tmp_path: Path, analysed: bool
) -> None:
    with store_with(tmp_path / "store", ManualClock(), *done(50)) as store:
        if analysed:
            with behind(tmp_path / "store") as connection:
                connection.execute("ANALYZE")
        with store.view("plans") as view:
            for listed, indices in {**statements.PLANS, **folder_statements.PLANS}.items():
                for statement in texts_of(listed):
                    rows = view._connection.execute(f"EXPLAIN QUERY PLAN {statement}", EVERY_PARAMETER)
                    plan = [row[3] for row in rows]
                    words = {word for line in plan for word in line.split()}
                    used = {word for word in words if word.startswith(("runs_", "events_"))}
                    assert used == indices, statement
                    scans = {line for line in plan if line.startswith(("SCAN runs", "SCAN events"))}
                    # It holds nothing but what is looked for, and is empty in a sound store.
                    assert scans <= {"SCAN runs USING INDEX runs_unknown"}, statement
                    sorts = any("TEMP B-TREE FOR ORDER BY" in line for line in plan)
                    assert sorts is (listed in SORTING), statement


def test_every_list_statement_is_in_the_table_of_plans() -> None:
    both = {**vars(statements), **vars(folder_statements)}
    named = [each for name, each in both.items() if name[0].isalpha()]
    lists: set[str | BothWays] = {each for each in named if isinstance(each, BothWays)}
    lists |= {text for text in named if isinstance(text, str) and "INDEXED BY" in text}
    assert lists == {*statements.PLANS, *folder_statements.PLANS}
