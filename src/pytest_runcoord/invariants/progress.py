"""Invariants about getting on: everything ends, nothing waits for a bad neighbour, idle costs nothing."""

from __future__ import annotations

from pytest_runcoord.deadlines import claimable, implausible, passed, recoverable
from pytest_runcoord.history import Entry
from pytest_runcoord.incarnation import GONE
from pytest_runcoord.invariants.base import Invariant
from pytest_runcoord.invariants.bodies import read_body
from pytest_runcoord.subject import EventSeen, RunSeen, Snapshot
from runcoord.ports import BadRow, Instant

SWEEPING = frozenset({"recover", "startup"})
SENDING = SWEEPING | {"deliver"}
ROWS_PER_CHANGE = 4
"""Rows that one ended run may cost: the run, its event, its group, its retry or its command."""
ROWS_PER_TEARDOWN = 6
"""Rows that dealing with a run's processes may cost besides: takeover, intent and its run, the result,
the report, the git state. One for each process comes to that: what became of it."""
FIXED_ROWS = 4
"""Rows that one sweep may cost besides: a digest and its marks."""
FIELD_LIMITS = {
    "task": 1_000,
    "agent": 200,
    "conversation_key": 500,
    "error": 2_000,
    "result": 64 * 1024,
    "progress": 2_000,
}
"""Characters that the design allows in a stored field."""
LEAST_LIMIT = min(FIELD_LIMITS.values())
CLEANUP_SECONDS = 30.0
"""Seconds after which a sweep takes up no further run with processes, before it goes on with the rest."""
MAX_BODY_BYTES = 2 * 1024 * 1024
"""Bytes of one event: a result at its limit in the worst encoding, and the other fields."""


def differs(run: RunSeen, other: RunSeen | None) -> bool:
    """Whether two looks saw something else. What is as it was is the same object as a rule."""
    return run is not other and run != other


class Converges(Invariant):
    id = "converges"
    says = (
        "When faults stop, every accepted run is finished or claimable, and every event delivered or visibly "
        "held, within the stated sweeps."
    )
    needs = frozenset({"recovery"})

    def end(self, snapshot: Snapshot) -> None:
        now = self.world.instant()
        asked, given = self.world.given_out is not None, self.world.given_out or set()
        for run in snapshot.runs.values():
            self.exercised += 1
            if run.outcome is None and run.run_id not in given and not claimable(run, now):
                self.fail(
                    f"{run.run_id} never ended",
                    expected="finished or claimable after the faults stopped",
                    seen=f"{run.state}, owner {run.owner or 'nobody'}, epoch {run.epoch}",
                )
            if run.outcome is None and asked and run.run_id not in given:
                self.fail(
                    f"{run.run_id} can be claimed, and nobody who asks is given it",
                    expected="given to one who claims until nothing is left",
                    seen=f"still {run.state}",
                )
            if run.cleanup == "pending":
                self.fail(
                    f"what {run.run_id} left running was never dealt with",
                    expected="nothing left, or survivors that are named, after the faults stopped",
                    seen="a clean-up that is still pending",
                )
        for event in snapshot.events.values():
            self.exercised += 1
            if event.state not in ("delivered", "held"):
                self.fail(
                    f"{event.event_id} was neither delivered nor held",
                    expected="delivered or held after the faults stopped",
                    seen=f"{event.state}, attempt {event.attempt}, {event.reason or 'no reason'}",
                )


class OneBadApple(Invariant):
    id = "one-bad-apple"
    says = "A bad run, folder or destination delays no other."
    occasion = (
        "a sweep, an import or `deliver` while something is bad: a row that cannot be read (`bad` of a "
        "snapshot), a destination that is down, refuses or is unknown, a folder, a run whose clean-up is put "
        "off. It takes `outbox`, `import`, or `recovery` with such rows or runs."
    )
    hears = frozenset({"verb"})
    verbs = SENDING

    def see(self, entry: Entry, before: Snapshot) -> None:
        if entry.status not in ("ok", "failed"):
            return
        places, after, now = self.world.destinations, self.world.snapshot(), self.world.instant()
        unknown = any(event.destination not in places for event in after.events.values() if event.destination)
        deferred = any(
            run.cleanup == "pending" and run != before.runs.get(run_id) for run_id, run in after.runs.items()
        )
        if not (after.bad or unknown or deferred) and all(place.healthy for place in places.values()):
            return
        if entry.status == "failed":
            self.fail(
                "one bad row or destination ended the whole sweep", expected="a report", seen="an exception"
            )
        if entry.data.get("unfinished") and now.boottime - entry.boottime >= CLEANUP_SECONDS:
            return
        if entry.what in SWEEPING:
            for run in after.runs.values():
                self.exercised += 1
                # One that a sweep did something about, and deferred, is the bad one itself.
                if run == before.runs.get(run.run_id) and self._is_due(run, entry, now):
                    self.fail(
                        f"{run.run_id} was left behind by a sweep that met something bad",
                        expected="recovered with the rest",
                        seen=f"still {run.state}",
                    )
        offered = {(each.event_id, each.attempt) for place in places.values() for each in place.offered}
        for event in after.events.values():
            place = places.get(event.destination)
            if place is None or place.holds_up(event.run_id):
                continue
            self.exercised += 1
            was = before.events.get(event.event_id)
            claimed = event.state == "sending" and (was is None or was.attempt < event.attempt)
            unsent = claimed and (event.event_id, event.attempt) not in offered
            # What was offered and failed has its reason, and is not waiting behind another.
            if unsent or (event.state == "pending" and passed(event.due, now) and not event.reason):
                self.fail(
                    f"{event.event_id} waits behind something bad",
                    expected=f"delivered to {event.destination}, which accepts",
                    seen=f"{event.state}, attempt {event.attempt}",
                )

    def _is_due(self, run: RunSeen, entry: Entry, now: Instant) -> bool:
        """Whether the sweep of this entry had to recover a run."""
        prover = f"{entry.actor}#{entry.data.get('start')}"
        provable = self.world.plan.kernel_handles and "proof" in self.world.subject.capabilities
        proved = provable and self.world.provably_dead(run.owner, prover)
        return recoverable(run, now) or (run.state == "running" and proved)


class IdleIsFree(Invariant):
    id = "idle-is-free"
    says = "A sweep with nothing to do writes no row and raises no epoch."
    needs = frozenset({"counters", "leases", "owners"})
    sweeps = ("recover", "startup")

    def __init__(self, *world: object) -> None:
        super().__init__(*world)  # type: ignore[arg-type]
        self._ended_owners = 0
        """Owners whose death could be proved by the last sweep; what is stored of newer ones the next one
        removes."""
        self._forgotten = 0
        """Owners that were forgotten by the last sweep."""

    def sweep(self, before: Snapshot, after: Snapshot, rows: int | None) -> None:
        """One sweep in which nothing else happened."""
        now = self.world.instant()
        before_that = self._ended_owners
        self._ended_owners = self.world.processes.provable_deaths(self.world.incarnations)
        ended = {each.owner_id for each in self.world.incarnations if each.life in GONE}
        forgotten, before_that_one = self.world.moments.get("after-forget-owner", 0), self._forgotten
        self._forgotten = forgotten
        busy = (
            self._ended_owners != before_that
            # Owners of long ago are forgotten also where nobody can prove their death; each of them once.
            or before_that_one < forgotten <= len(ended)
            # Of owners that hang a sweep looks at few, so that the next one may find who died before.
            or any(
                run.owner in ended and differs(run, after.runs.get(each)) for each, run in before.runs.items()
            )
            or any(run.outcome is not None and run.cleanup == "pending" for run in before.runs.values())
            or any(recoverable(run, now) or implausible(run.lease, now) for run in before.runs.values())
            or any(event.state in ("pending", "sending") for event in before.events.values())
            or before.runs.keys() != after.runs.keys()
            or (self.world.has_homes and self.world.homes.something_new(before))
            or (
                self.world.plan.settings.get("operator")
                and any(event.state == "held" and not event.told for event in before.events.values())
            )
        )
        if busy or rows is None:
            return
        self.exercised += 1
        if rows:
            self.fail("a sweep with nothing to do wrote", expected="0 rows", seen=f"{rows} rows")
        for run_id, run in after.runs.items():
            if run_id in before.runs and run.epoch != before.runs[run_id].epoch:
                self.fail(
                    f"a sweep with nothing to do raised the epoch of {run_id}",
                    expected=str(before.runs[run_id].epoch),
                    seen=str(run.epoch),
                )


class WorkInProportion(Invariant):
    id = "work-in-proportion"
    says = "Rows written grow with what changed, not with what exists."
    needs = frozenset({"counters"})
    sweeps = ("recover", "startup", "import_folders")

    def sweep(self, before: Snapshot, after: Snapshot, rows: int | None) -> None:
        """One sweep in which nothing else happened."""
        if rows is None:
            return
        changed = sum(differs(run, before.runs.get(run_id)) for run_id, run in after.runs.items())
        if after.refused != before.refused:
            changed += len(set(after.refused) ^ set(before.refused))
        events = sum(event != before.events.get(event_id) for event_id, event in after.events.items())
        if not changed and not events:
            return
        self.exercised += 1
        most = ROWS_PER_CHANGE * (changed + events) + FIXED_ROWS
        for run_id, run in after.runs.items():
            was = before.runs.get(run_id)
            if run.cleanup and was is not None and len(run.teardowns) > len(was.teardowns):
                most += ROWS_PER_TEARDOWN + sum(
                    int(each.get("counted", 0)) for each in run.teardowns[len(was.teardowns) :]
                )
        if rows > most:
            self.fail(
                "a sweep wrote more than its changes account for",
                expected=f"at most {most} rows for {changed} changed runs and {events} changed events",
                seen=f"{rows} rows",
            )


COUNTED = ("interrupted", "stopped", "recovered", "capped", "bad")
"""What a report of a sweep says of runs that ended in it."""


def _number(entry: Entry, name: str) -> int:
    """A number of a report; 0 where it says none."""
    value = entry.data.get(name)
    return value if isinstance(value, int) else 0


class NoSilentZero(Invariant):
    id = "no-silent-zero"
    says = "What was skipped or refused is counted and named; an empty report means it looked."
    needs = frozenset({"reports"})
    hears = frozenset({"verb"})
    verbs = SENDING

    def __init__(self, *world: object) -> None:
        super().__init__(*world)  # type: ignore[arg-type]
        self._readable: dict[str, RunSeen] = {}
        """How runs that cannot be read now looked when they could."""

    def compare(self, before: Snapshot, after: Snapshot) -> None:
        for row in after.bad:
            if row.table == "runs" and row.key in before.runs:
                self._readable[row.key] = before.runs[row.key]

    def _waits(self, row: BadRow, now: Instant) -> bool:
        """Whether a bad row is one that a sweep has to look at: nobody holds it, and it has not ended."""
        run = self._readable.get(row.key)
        return row.table == "runs" and (run is None or claimable(run, now) or recoverable(run, now))

    def see(self, entry: Entry, before: Snapshot) -> None:
        if entry.status != "ok":
            return
        after = self.world.snapshot()
        now = self.world.instant()
        bad = [row.key for row in after.bad if self._waits(row, now)] if entry.what in SWEEPING else []
        if bad:
            self.exercised += 1
            if _number(entry, "bad") < len(bad):
                self.fail(
                    "a row that cannot be read was passed over in silence",
                    expected=f"the report counts {', '.join(bad)}",
                    seen=f"bad={entry.data.get('bad', 0)}",
                )
        skipped = [
            event
            for event in after.events.values()
            if event.state in ("pending", "sending") and passed(event.due, now)
        ]
        ended = sum(
            run.outcome is not None and before.runs.get(run_id, run).outcome is None
            for run_id, run in after.runs.items()
        )
        if skipped or ended:
            self.exercised += 1
        known = before.events
        held = sum(
            event.state == "held" and event_id in known and known[event_id].state in ("pending", "sending")
            for event_id, event in after.events.items()
        )
        if held:
            self.exercised += 1
        if held and not entry.data.get("held"):
            self.fail("events were held in silence", expected=f"{held} counted as held", seen="held=0")
        if ended and entry.what in SWEEPING and not sum(_number(entry, name) for name in COUNTED):
            self.fail("a sweep ended runs and reported none", expected=f"{ended} counted", seen="all zero")
        if skipped and not (
            entry.data.get("unfinished") or entry.data.get("postponed") or entry.data.get("bad")
        ):
            self.fail(
                "events that are due were passed over in silence",
                expected=f"the report counts {', '.join(event.event_id for event in skipped[:5])}",
                seen=str({name: value for name, value in entry.data.items() if isinstance(value, int)}),
            )


class BoundedAndClean(Invariant):
    id = "bounded-and-clean"
    says = (
        "Stored and delivered fields are within their limits, and nothing secret of a folder is among them."
    )
    occasion = (
        "a text of more than half of its [limit](limits.md): in `sizes` of a run, or in the body of an event "
        "of the kind `run.finished`. Any import; that part needs `import` instead."
    )
    needs = frozenset({"bounds"})
    about_runs = about_events = True

    def compare(self, before: Snapshot, after: Snapshot) -> None:
        for run_id, run in after.runs.items():
            if run is before.runs.get(run_id):
                continue
            sizes = run.sizes
            if sizes and max(sizes.values()) * 2 <= LEAST_LIMIT:
                continue
            for name, size in sizes.items():
                limit = FIELD_LIMITS.get(name)
                if limit is None or size * 2 <= limit:
                    continue
                self.exercised += 1
                if size > limit:
                    self.fail(
                        f"{name} of {run_id} is over its limit",
                        expected=f"at most {limit} characters",
                        seen=str(size),
                    )
        for event_id, event in after.events.items():
            if event_id not in before.events:
                self._check_body(event)

    def _check_body(self, event: EventSeen) -> None:
        size = len(event.body.encode())
        if size > MAX_BODY_BYTES:
            self.fail(
                f"{event.event_id} is over its limit",
                expected=f"at most {MAX_BODY_BYTES} bytes",
                seen=str(size),
            )
        if event.kind != "run.finished":
            return
        told = read_body(event) or {}
        for name, limit in FIELD_LIMITS.items():
            text = told.get(name)
            size = len(text) if isinstance(text, str) else 0
            self.exercised += size * 2 > limit
            if size > limit:
                self.fail(
                    f"{name} in {event.event_id} is over its limit",
                    expected=f"at most {limit} characters",
                    seen=str(size),
                )
