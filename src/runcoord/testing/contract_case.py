"""What the parts of the store contract share: the hooks that a store's maker fills in, and rows to store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Self

from runcoord._core import requests
from runcoord._core.decide import decide
from runcoord._core.events import finished_event
from runcoord.ports import (
    Change,
    Command,
    Deadline,
    Event,
    EventKind,
    EventState,
    Instant,
    Lease,
    Outcome,
    Run,
    Spec,
    State,
    Store,
)
from runcoord.testing.clock import ManualClock, ManualSleeper

OWNER = "worker-1"
LEASE = 90.0


class StoreCase:
    """The hooks. A subclass says how its store is opened and how a row in it is spoiled."""

    clock: ManualClock
    sleeper: ManualSleeper
    _opened: list[Store]

    # --- to be filled in ---

    def make_store(self, clock: ManualClock, sleeper: ManualSleeper) -> Store:
        """Open the store. Every call within one test opens the same, at first empty, data."""
        raise NotImplementedError

    def plant(self, store: Store, table: str, key: str, column: str, value: object) -> None:
        """Spoil one row behind the store's back: ``column`` of the row ``key`` of ``table`` holds ``value``.

        The suite spoils ``state``, ``outcome``, ``epoch``, ``owner``, ``lease_boottime`` and ``cleanup`` of
        ``runs``, ``state`` and ``kind`` of ``events``, ``content_hash`` of ``commands``, ``size`` of
        ``groups``, ``since`` of ``owners``, ``role`` of ``processes``, ``at`` of ``audits``, ``report`` of
        ``teardowns``, ``state`` of ``snapshots``, ``seen_at`` of ``refused_folders``, and ``source`` of
        ``runs``. The key of a row of a run that can have several is the run's id, a slash, and the row's
        number; that of a refused folder its root, a slash, and its name.
        """
        raise NotImplementedError

    # --- for the parts ---

    def setup_method(self) -> None:
        self.clock = ManualClock()
        self.sleeper = ManualSleeper(self.clock)
        self._opened = []

    def teardown_method(self) -> None:
        for store in self._opened:
            store.close()

    def open(self) -> Store:
        """Another opener of the data."""
        store = self.make_store(self.clock, self.sleeper)
        self._opened.append(store)
        return store

    @property
    def store(self) -> Store:
        """The first opener."""
        return self._opened[0] if self._opened else self.open()

    @property
    def now(self) -> Instant:
        return self.clock.now()

    def save(self, *changes: Change) -> None:
        with self.store.transaction("arrange") as tx:
            tx.save(changes)

    def saved(self, *runs: Run) -> None:
        """Store new runs, in this order."""
        self.save(*(Change(run=run) for run in runs))

    def saved_events(self, *events: Event) -> None:
        """Store new events, in this order."""
        self.save(Change(new_events=events))

    def everything(self) -> dict[str, Any]:
        """All runs and events there are, to see that nothing changed."""
        with self.open().view("look") as view:
            return {
                "runs": view.runs(limit=1_000),
                "events": view.events(limit=1_000),
                "untold": view.count_untold_held(),
            }


# --- rows to store -------------------------------------------------------------------------------


def spec(**fields: Any) -> Spec:
    return replace(Spec('{"n":1}', "chat", "coder", "mend it"), **fields)


def accepted(run_id: str, now: Instant, **fields: Any) -> Run:
    return replace(Run(run_id, spec(), now.wall, line=run_id), **fields)


def claimed(run_id: str, until: Deadline, **fields: Any) -> Run:
    run = Run(run_id, spec(), 1.0, run_id, state=State.CLAIMED, version=2, epoch=1, owner=OWNER, lease=until)
    return replace(run, **{"lease_seconds": LEASE, **fields})


def running(run_id: str, until: Deadline, **fields: Any) -> Run:
    return claimed(run_id, until, **{"state": State.RUNNING, "version": 3, "started_at": 2.0, **fields})


def finished(run_id: str, at: float, outcome: Outcome = Outcome.COMPLETED, **fields: Any) -> Run:
    ended = {"lease": None, "finished_at": at, "outcome": outcome, "version": 4, "state": State.FINISHED}
    return running(run_id, Deadline(0.0, 0.0, "b"), **{**ended, **fields})


def event(event_id: str, due: Deadline, state: EventState = EventState.PENDING, **fields: Any) -> Event:
    made = Event(event_id, event_id.partition("/")[0], EventKind.FINISHED, "chat", "{}", 1.0, state, due)
    if state is EventState.SENDING:
        made = replace(made, owner=OWNER, attempt=1)
    if state is EventState.DELIVERED:
        made = replace(made, delivered_at=2.0)
    return replace(made, **fields)


def life(run_id: str, clock: ManualClock) -> list[Change]:
    """A whole life by the rules: accepted, claimed, started, completed with its event, 1 s each."""
    run = accepted(run_id, clock.now())
    changes = [Change(run=run, command=Command(f"key-{run_id}", run_id, "hash", clock.wall()))]
    lease = Lease(run_id, OWNER, 1, LEASE, 0.0, Deadline.after(clock.now(), LEASE))
    for request in (
        requests.Claim(OWNER, LEASE),
        requests.Start(lease),
        requests.Complete(lease, Outcome.COMPLETED, result="done"),
    ):
        clock.advance(1.0)
        after = decide(run, request, clock.now()).run
        told = (finished_event(after, clock.now()),) if after.outcome else ()
        changes.append(Change(before=run, run=after, new_events=told))
        run = after
    return changes


# --- checks, with values in their messages -------------------------------------------------------


def require_equal(seen: object, expected: object, what: str = "the store's answer") -> None:
    assert seen == expected, f"{what}\n  expected: {expected!r}\n  seen:     {seen!r}"


def ids(values: Iterable[Run | Event]) -> list[str]:
    return [value.run_id if isinstance(value, Run) else value.event_id for value in values]


class Refusal:
    """A block that must raise ``kind``; ``error`` is what it raised."""

    def __init__(self, kind: type[Exception]) -> None:
        self._kind = kind
        self.error: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        assert kind is not None, f"expected {self._kind.__name__}, but nothing was raised"
        self.error = error
        return issubclass(kind, self._kind)
