"""SQLite and memory are driven through the same random lives and must give the same answers throughout."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from runcoord._core import deliveries, requests, submission
from runcoord._core.decide import decide
from runcoord._core.events import digest_event, group_event
from runcoord._core.folders import read_state, read_tombstone
from runcoord._core.importing import imported_run
from runcoord._core.layouts import RUN_FOLDERS
from runcoord._stores.connections import Tuning
from runcoord._stores.sqlite import SqliteStore
from runcoord.errors import Refused, VersionConflict
from runcoord.ports import (
    Change,
    Command,
    Event,
    EventState,
    Group,
    Lease,
    Outcome,
    RefusedFolder,
    Run,
    SourceState,
    Spec,
    State,
    View,
)
from runcoord.testing import CountingIds, ManualClock, MemoryStore

from .sqlite_files import opened

OWNERS = st.sampled_from(["ann", "bob"])
PICK = st.integers(0, 10_000)
SECONDS = st.sampled_from([0.1, 1.0, 59.9, 60.0, 61.0, 90.0, 300.0, 301.0, 3_600.0, 4_000.0, 100_000.0])
TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
UNSYNCED = Tuning(synchronous="OFF")


class _UndoneError(Exception):
    """Raised inside a block, so that it is undone."""


def answers(view: View, clock: ManualClock) -> dict[str, Any]:
    """Everything that a view says, whole and in pages."""
    now = clock.now()
    runs, events = view.runs(limit=999), view.events(limit=999)
    middle = runs[len(runs) // 2].run_id if runs else ""
    seq = events[len(events) // 2].seq if events else 0
    said: dict[str, Any] = {
        "runs": runs,
        "runs after": view.runs(after=middle, limit=2),
        "newest runs": view.runs(newest_first=True, limit=3),
        "runs before": view.runs(after=middle, newest_first=True, limit=2),
        "events": events,
        "events after": view.events(after=seq, limit=2),
        "newest events": view.events(newest_first=True, limit=3),
        "events before": view.events(after=seq, newest_first=True, limit=2),
        "claimable": [view.claimable(now, limit) for limit in (1, 3, 999)],
        "recoverable": [
            view.recoverable(now, 2),
            view.recoverable(now, 999, middle),
            view.recoverable(now, 999),
        ],
        "next due": view.next_due(),
        "untold": [view.untold_held(2), view.untold_held(999), view.count_untold_held()],
        "finished before": [view.finished_before(wall, 3) for wall in (now.wall, now.wall - 90.0, math.inf)],
        "runless before": [view.runless_before(wall, 3) for wall in (now.wall, math.inf)],
        "load runs": view.load_runs([run.run_id for run in reversed(runs)] + ["nobody"], []),
        "load events": view.load_events([each.event_id for each in reversed(events)], []),
        "known folders": [
            view.known_folders("/home/runs", after, "\U0010ffff", limit)
            for after, limit in (("", 999), (middle, 2))
        ],
        "refused folders": [view.refused_folders(limit=2), view.refused_folders(limit=999)],
        "known runs": view.known_runs([*(run.run_id for run in runs), "nobody"]),
        "closable folders": [
            view.closable_folders("/home/runs", "", "\U0010ffff", before) for before in (None, now.wall, 0.0)
        ],
        "of a run": [view.events(run_id=middle, newest_first=way, limit=9) for way in (False, True)],
    }
    for owner in ("ann", "bob", "nobody"):
        said[f"sendable {owner}"] = [view.sendable(now, owner, limit) for limit in (2, 999)]
    said["sendable elsewhere"] = view.sendable(now, "ann", 3, ["chat"])
    for state in State:
        said[f"{state} runs"] = view.runs(states=[state], limit=3)
        said[f"newest {state} runs"] = view.runs(states=[state, State.RUNNING], newest_first=True, limit=3)
    for event_state in EventState:
        both = [event_state, EventState.HELD]
        said[f"{event_state} events"] = view.events(states=both, limit=3)
        said[f"newest {event_state} events"] = view.events(states=both, newest_first=True, limit=3)
    for run in runs[:3]:
        said[run.run_id] = [view.run(run.run_id), view.command(f"key-{run.run_id}")]
    for group in ("", "g1", "g2"):
        said[f"group {group}"] = view.group(group)
    return said


class TwoStores(RuleBasedStateMachine):
    """Requests are decided once, by the rules, and saved in both stores."""

    @initialize()
    def begin(self) -> None:
        self.directory = tempfile.TemporaryDirectory(prefix="runcoord-")
        self.clock = ManualClock()
        self.ids = CountingIds()
        self.sqlite = self.reopened()
        self.memory = MemoryStore()
        self.leases: list[Lease] = []
        self.outdated: list[Run] = []

    def teardown(self) -> None:
        if hasattr(self, "sqlite"):
            self.sqlite.close()
            self.directory.cleanup()

    def reopened(self) -> SqliteStore:
        return opened(Path(self.directory.name) / "store", self.clock, tuning=UNSYNCED)

    # --- saving in both ---

    def save(self, *changes: Change) -> None:
        for store in (self.sqlite, self.memory):
            with store.transaction("save") as tx:
                tx.save(changes)

    def refused_by_both(self, kind: type[Exception], *changes: Change) -> None:
        for store in (self.sqlite, self.memory):
            try:
                with store.transaction("refused") as tx:
                    tx.save(changes)
            except kind:
                continue
            raise AssertionError(f"{store} saved {changes}")

    def look(self, read: Callable[[View], Any]) -> Any:
        with self.memory.view("look") as view:
            return read(view)

    def pick_run(self, pick: int) -> Run | None:
        runs = self.look(lambda view: view.runs(limit=999))
        return runs[pick % len(runs)] if runs else None

    def pick_event(self, pick: int, *states: EventState) -> Event | None:
        events = self.look(lambda view: view.events(states=states, limit=999))
        return events[pick % len(events)] if events else None

    def ask(self, run: Run | None, request: requests.Request) -> None:
        if run is None:
            return
        try:
            decision = decide(run, request, self.clock.now())
        except Refused:
            return
        if not decision.changed:
            return
        self.outdated.append(run)
        changes = [
            Change(before=run, run=decision.run, new_events=(decision.event,) if decision.event else ()),
        ]
        if decision.successor is not None:
            changes.append(Change(run=decision.successor))
        self.save(*changes)
        after = decision.run
        if after.lease is not None and after.epoch > run.epoch:
            lease = Lease(after.run_id, after.owner, after.epoch, after.lease_seconds, 0.0, after.lease)
            self.leases.append(lease)
        if after.outcome is not None and after.spec.group:
            self.count(after)

    def count(self, run: Run) -> None:
        group = self.look(lambda view: view.group(run.spec.group))
        counted = submission.counted(group, run)
        if counted is not group:
            ended = counted.ended == counted.size
            told = (group_event(counted, self.clock.now()),) if ended else ()
            self.save(Change(group=counted, new_events=told))

    # --- runs ---

    @rule(
        destination=st.sampled_from(["", "chat", "sms"]),
        group=st.sampled_from(["", "g1", "g2"]),
        budget=st.integers(0, 2),
        task=TEXT,
    )
    def submit(self, destination: str, group: str, budget: int, task: str) -> None:
        run_id = self.ids.new("run")
        size = 3 if group else 0
        spec = Spec("null", destination, "", task, "", group, size, budget)
        run = submission.accepted(run_id, spec, self.clock.now())
        command = Command(f"key-{run_id}", run_id, "hash", self.clock.wall())
        known = self.look(lambda view: view.group(group))
        joins = Group(group, size, destination) if group and known is None else None
        self.save(Change(run=run, command=command, group=joins))

    # --- run folders ---

    @rule(to=st.sampled_from(["", "chat"]), fate=st.sampled_from(["", "completed", "odd", "no word"]))
    def import_a_folder(self, to: str, fate: str) -> None:
        run_id, now = self.ids.new("old"), self.clock.now()
        said = f'{{"id":"{run_id}","parent_session":"x","pid":7}}'.encode()
        state = read_state(said, run_id, RUN_FOLDERS, str, now.wall)
        grave = f'{{"outcome":"{fate}","died":{now.wall - 200}}}' if fate != "no word" else "{}"
        tombstone = read_tombstone(grave.encode(), RUN_FOLDERS, str, now.wall) if fate else None
        made = imported_run(
            state, tombstone, root="/home/runs", mark="m", result=None, now=now, fallback=to, below="runs"
        )
        self.save(Change(run=made.run, new_events=(made.event,) if made.event else ()))

    @rule(pick=PICK, state=st.sampled_from(SourceState), mark=TEXT)
    def look_at_a_folder_again(self, pick: int, state: SourceState, mark: str) -> None:
        runs = [run for run in self.look(lambda view: view.runs(limit=999)) if run.source is not None]
        if runs:
            run = runs[pick % len(runs)]
            source = replace(run.source, state=state, mark=mark)
            self.outdated.append(run)
            self.save(Change(before=run, run=replace(run, version=run.version + 1, source=source)))

    @rule(name=st.sampled_from(["bad-1", "bad-2", "old-1"]), mark=TEXT, forget=st.booleans())
    def refuse_a_folder(self, name: str, mark: str, forget: bool) -> None:
        if not forget:
            self.save(Change(refused=(RefusedFolder("/home/runs", name, mark, "link", "a link", 1.0),)))
            return
        for store in (self.sqlite, self.memory):
            with store.transaction("forget") as tx:
                tx.remove_refused("/home/runs", [name])

    # --- the life of a run ---

    @rule(pick=PICK, owner=OWNERS, seconds=SECONDS)
    def claim(self, pick: int, owner: str, seconds: float) -> None:
        self.ask(self.pick_run(pick), requests.Claim(owner, min(seconds, 3_600.0)))

    @precondition(lambda self: self.leases)
    @rule(pick=PICK, what=st.sampled_from(["start", "start", "renew", "reacquire", "release"]))
    def hold(self, pick: int, what: str) -> None:
        lease = self.leases[-1 - pick % min(len(self.leases), 4)]
        kinds = {
            "start": requests.Start,
            "renew": requests.Renew,
            "reacquire": requests.Reacquire,
            "release": requests.Release,
        }
        self.ask(self.look(lambda view: view.run(lease.run_id)), kinds[what](lease))

    @precondition(lambda self: self.leases)
    @rule(pick=PICK, text=TEXT, what=st.sampled_from(["progress", "publish", "complete", "complete"]))
    def work(self, pick: int, text: str, what: str) -> None:
        lease = self.leases[-1 - pick % min(len(self.leases), 4)]
        request: requests.Request
        if what == "progress":
            request = requests.Progress(lease, text)
        elif what == "publish":
            request = requests.Publish(lease, text)
        else:
            outcome = list(Outcome)[pick % len(Outcome)]
            request = requests.Complete(lease, outcome, text, text, deliverer=lease.owner if pick % 2 else "")
        self.ask(self.look(lambda view: view.run(lease.run_id)), request)

    @rule(pick=PICK, reason=TEXT)
    def stop(self, pick: int, reason: str) -> None:
        self.ask(self.pick_run(pick), requests.Stop(reason))

    @rule(owner=OWNERS)
    def sweep(self, owner: str) -> None:
        for run_id in self.look(lambda view: view.recoverable(self.clock.now(), 3)):
            retry = self.ids.new("retry")
            self.ask(self.look(lambda view, run_id=run_id: view.run(run_id)), requests.Recover(owner, retry))

    @rule()
    def prune(self) -> None:
        old = self.look(lambda view: view.finished_before(self.clock.wall() - 90.0, 2))
        for store in (self.sqlite, self.memory):
            with store.transaction("prune") as tx:
                tx.remove_runs(old)

    @rule()
    def prune_what_belongs_to_no_run(self) -> None:
        old = self.look(lambda view: view.runless_before(self.clock.wall() - 90.0, 2))
        for store in (self.sqlite, self.memory):
            with store.transaction("prune") as tx:
                tx.remove_runless(old)

    # --- events ---

    @rule(owner=OWNERS, take=st.integers(1, 3))
    def dispatch(self, owner: str, take: int) -> None:
        now = self.clock.now()
        for event_id in self.look(lambda view: view.sendable(now, owner, take)):
            event = self.look(lambda view, event_id=event_id: view.event(event_id))
            if deliveries.may_send(event, now):
                self.save(Change(events=(deliveries.claimed(event, owner, now),)))

    @rule(pick=PICK, answer=st.sampled_from(["accepted", "postponed", "refused"]), reason=TEXT)
    def answer(self, pick: int, answer: str, reason: str) -> None:
        event = self.pick_event(pick, EventState.SENDING)
        if event is None:
            return
        made, now = deliveries.delivery_of(event), self.clock.now()
        if answer == "accepted":
            after = deliveries.accepted(event, made, now)
        elif answer == "postponed":
            after = deliveries.postponed(event, made, reason, now)
        else:
            after = deliveries.refused(event, made, reason)
        self.save(Change(events=(after,)))

    @rule(pick=PICK)
    def replay(self, pick: int) -> None:
        event = self.pick_event(pick, EventState.HELD)
        if event is not None:
            self.save(Change(events=(deliveries.replayed(event, "mail", self.clock.now()),)))

    @rule()
    def tell_the_operator(self) -> None:
        for store in (self.sqlite, self.memory):
            with store.transaction("digest") as tx:
                held, total = tx.untold_held(5), tx.count_untold_held()
                if total:
                    tx.mark_held_told()
                    number = f"{self.clock.wall()}-{len(self.look_in(tx))}"
                    event = digest_event(number, "operator", held, total, self.clock.now())
                    tx.save([Change(new_events=(event,))])

    @staticmethod
    def look_in(view: View) -> list[Event]:
        return view.events(limit=999)

    # --- what does not land ---

    @precondition(lambda self: self.outdated)
    @rule(pick=PICK)
    def save_what_is_outdated(self, pick: int) -> None:
        old = self.outdated[pick % len(self.outdated)]
        fresh = submission.accepted(self.ids.new("lost"), Spec(), self.clock.now())
        change = Change(before=old, run=replace(old, version=old.version + 1, progress="stale"))
        self.refused_by_both(VersionConflict, Change(run=fresh), change)

    @rule(pick=PICK)
    def undo(self, pick: int) -> None:
        event, run = self.pick_event(pick), self.pick_run(pick)
        for store in (self.sqlite, self.memory):
            try:
                with store.transaction("undone") as tx:
                    tx.save([Change(run=submission.accepted("undone", Spec(), self.clock.now()))])
                    tx.mark_held_told()
                    if event is not None:
                        tx.save([Change(events=(deliveries.held(event, "undone"),))])
                    if run is not None:
                        tx.remove_runs([run.run_id])
                    raise _UndoneError
            except _UndoneError:
                continue

    @rule()
    def reopen(self) -> None:
        self.sqlite.close()
        self.sqlite = self.reopened()
        self.memory = MemoryStore(self.memory.data)

    # --- clocks ---

    @rule(seconds=SECONDS)
    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(seconds=SECONDS, back=st.booleans())
    def step(self, seconds: float, back: bool) -> None:
        self.clock.step(-seconds if back else seconds)

    @rule(seconds=SECONDS)
    def suspend(self, seconds: float) -> None:
        self.clock.suspend(seconds)

    @rule(seconds=SECONDS)
    def reboot(self, seconds: float) -> None:
        self.clock.reboot(seconds)

    # --- the point of it ---

    @invariant()
    def both_say_the_same(self) -> None:
        if not hasattr(self, "memory"):
            return
        with self.sqlite.view("compare") as here, self.memory.view("compare") as there:
            mine, other = answers(here, self.clock), answers(there, self.clock)
        different = {what: (mine[what], other[what]) for what in mine if mine[what] != other[what]}
        assert different == {}


TwoStores.TestCase.settings = settings(
    max_examples=30,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestSqliteAndMemoryAgree = TwoStores.TestCase
