"""What must hold after every step of every life, and what may never change from one step to the next."""

from __future__ import annotations

import json
from collections import Counter

from runcoord import Deadline, Event, EventKind, EventState, Instant, Outcome, Run, State
from runcoord._core.deliveries import may_send
from runcoord._core.limits import (
    DELIVERY_CLAIM_SECONDS,
    MAX_DELIVERY_BACKOFF_SECONDS,
    MAX_LEASE_SECONDS,
)
from runcoord.ports import CleanupState, Group
from runcoord.testing import ManualClock, MemoryStore


def seconds_left(deadline: Deadline, now: Instant) -> float:
    """Said once more, apart from the code: on its own boot boottime counts, elsewhere wall time."""
    if deadline.boot_id == now.boot_id:
        return deadline.boottime - now.boottime
    return deadline.wall - now.wall


def implausible(deadline: Deadline, now: Instant) -> bool:
    return deadline.boot_id != now.boot_id and seconds_left(deadline, now) > MAX_LEASE_SECONDS


def has_passed(deadline: Deadline, now: Instant) -> bool:
    return seconds_left(deadline, now) <= 0


class Watch:
    """Looks at a store after every step, through the eyes of every host."""

    def __init__(self, store: MemoryStore, clocks: tuple[ManualClock, ...]) -> None:
        self._store, self._clocks = store, clocks
        self.runs: dict[str, Run] = {}
        self.events: dict[str, Event] = {}
        self.groups: dict[str, Group] = {}

    def require_unchanged(self) -> None:
        data = self._store.data
        assert (data.runs, data.events, data.groups) == (self.runs, self.events, self.groups)

    def look(self) -> None:
        data = self._store.data
        for run_id, before in self.runs.items():
            self._require_lasting(before, data.runs[run_id])
        for event_id, event in self.events.items():
            self._require_event_lasting(event, data.events[event_id])
        self.runs, self.events, self.groups = dict(data.runs), dict(data.events), dict(data.groups)
        for run in self.runs.values():
            self._require_sound(run)
        for clock in self._clocks:
            self._require_partition(clock.now())
        self._require_groups()

    # --- from one step to the next ---

    def _require_lasting(self, before: Run, after: Run) -> None:
        assert after.epoch >= before.epoch
        assert after.version >= before.version
        assert (after.version == before.version) == (after == before)
        assert (after.spec, after.line, after.retry_of, after.created_at) == (
            before.spec,
            before.line,
            before.retry_of,
            before.created_at,
        )
        if before.outcome is not None:
            assert (after.outcome, after.result, after.error, after.finished_at) == (
                before.outcome,
                before.result,
                before.error,
                before.finished_at,
            )
        if before.retried_as:
            assert after.retried_as == before.retried_as
        if before.stop_requested_at is not None and after.outcome is not None:
            assert after.outcome is Outcome.STOPPED
        if before.started_at is not None:
            assert after.started_at == before.started_at
            assert after.state in (State.RUNNING, State.FINISHED)
        if before.owner and after.owner not in ("", before.owner):
            assert after.epoch > before.epoch

    def _require_event_lasting(self, before: Event, after: Event) -> None:
        assert (after.event_id, after.body, after.seq, after.kind) == (
            before.event_id,
            before.body,
            before.seq,
            before.kind,
        )
        assert after.attempt >= before.attempt
        assert before.state is not EventState.DELIVERED or after == before

    # --- at any time ---

    def _require_sound(self, run: Run) -> None:
        ended = [each for each in self._events_of(run) if each.kind is EventKind.FINISHED]
        assert len(ended) == (run.state is State.FINISHED)
        for event in ended:
            body = json.loads(event.body)
            assert (body["outcome"], body["run"]) == (run.outcome, run.run_id)
        notes = sorted(each.event_id for each in self._events_of(run) if each.kind is EventKind.NOTE)
        assert notes == sorted(f"{run.run_id}/note/{number + 1}" for number in range(run.notes))
        if run.retried_as:
            retry = self.runs[run.retried_as]
            assert (retry.retry_of, retry.line, retry.spec.payload) == (
                run.run_id,
                run.line,
                run.spec.payload,
            )

    def _events_of(self, run: Run) -> list[Event]:
        return [event for event in self.events.values() if event.run_id == run.run_id]

    def _require_partition(self, now: Instant) -> None:
        """Every unfinished run is exactly one of claimable, live-leased and recoverable; every event has one
        state, and its wait is bounded."""
        with self._store.view("look") as view:
            claimable, recoverable = set(view.claimable(now, 999)), set(view.recoverable(now, 999))
        for run in self.runs.values():
            if run.state is State.FINISHED:
                self._require_tended(run, now, run.run_id in recoverable)
                assert run.run_id not in claimable
                continue
            live = run.lease is not None and not has_passed(run.lease, now)
            capped = run.lease is not None and implausible(run.lease, now)
            parts = [run.run_id in claimable, run.run_id in recoverable and not capped, live]
            assert sum(parts) == 1, (run, now)
            # Beyond the longest lease nobody is believed: then the next sweep cuts it.
            if live and not capped and run.lease is not None and run.lease.boot_id != now.boot_id:
                assert seconds_left(run.lease, now) <= MAX_LEASE_SECONDS
            assert not capped or run.run_id in recoverable
        for event in self.events.values():
            if event.state is EventState.PENDING:
                self._require_bounded(event, now, MAX_DELIVERY_BACKOFF_SECONDS)
            elif event.state is EventState.SENDING:
                assert event.owner
                assert event.attempt >= 1
                self._require_bounded(event, now, DELIVERY_CLAIM_SECONDS)
            elif event.state is EventState.HELD:
                assert event.reason
            else:
                assert event.delivered_at is not None

    def _require_tended(self, run: Run, now: Instant, recoverable: bool) -> None:
        """What a finished run left running is dealt with, or waits for a bounded time to be."""
        due = run.cleanup.due if run.cleanup is not None else None
        pending = run.cleanup is not None and run.cleanup.state is CleanupState.PENDING
        assert (due is not None) == pending
        ready = due is not None and (has_passed(due, now) or implausible(due, now))
        assert recoverable == ready
        assert due is None or ready or seconds_left(due, now) <= MAX_LEASE_SECONDS

    def _require_bounded(self, event: Event, now: Instant, most: float) -> None:
        assert may_send(event, now) or seconds_left(event.due, now) <= most

    def _require_groups(self) -> None:
        """Each ended member is counted once, but for one that was retried by itself: its retry is."""
        for group in self.groups.values():
            members = [run for run in self.runs.values() if run.spec.group == group.group_id]
            automatic = {run.retry_of for run in members if run.retry_of}
            counted = Counter(
                run.outcome for run in members if run.outcome is not None and run.run_id not in automatic
            )
            seen = (group.completed, group.failed, group.stopped, group.interrupted)
            if sum(counted.values()) <= group.size:
                assert seen == tuple(
                    counted[outcome]
                    for outcome in (Outcome.COMPLETED, Outcome.FAILED, Outcome.STOPPED, Outcome.INTERRUPTED)
                )
            assert sum(seen) == min(sum(counted.values()), group.size)
            summary = self.events.get(f"group/{group.group_id}/finished")
            assert (summary is not None) == (group.ended == group.size)
            if summary is not None:
                assert json.loads(summary.body)["successful"] == (group.completed == group.size)

    # --- at certain times ---

    def require_swept(self, now: Instant) -> None:
        """After a sweep nothing is left to recover."""
        with self._store.view("look") as view:
            assert view.recoverable(now, 999) == []

    def require_nobody_holds(self) -> None:
        now = self._clocks[0].now()
        for run in self.runs.values():
            assert run.state is not State.RUNNING
            assert run.lease is None or has_passed(run.lease, now)

    def require_all_ended_and_told(self) -> None:
        self.look()
        assert all(run.state is State.FINISHED for run in self.runs.values())
        for run in self.runs.values():
            assert run.cleanup is None or run.cleanup.state is CleanupState.SURVIVED
        for event in self.events.values():
            assert event.state in (EventState.DELIVERED, EventState.HELD)
            if event.state is EventState.HELD:
                assert event.told or event.kind is EventKind.DIGEST
