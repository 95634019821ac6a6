"""Invariants about what reaches a destination, and what stays in the store."""

from __future__ import annotations

from pytest_runcoord.history import Entry
from pytest_runcoord.invariants.base import Invariant
from pytest_runcoord.invariants.bodies import read_body
from pytest_runcoord.subject import EventSeen, RunSeen, Snapshot

DELIVERING = frozenset({"deliver", "recover", "startup", "dispatch"})
"""Verbs that send what is due, or hand it out."""
EVENTS_WITH_RESULTS = frozenset({"outbox", "event-bodies"})


def terminal_event(run_id: str, snapshot: Snapshot) -> EventSeen | None:
    """The event that a run ended with; None if there is none."""
    named = snapshot.events.get(f"{run_id}/finished")  # what the reference calls it: found at once
    if named is not None and named.run_id == run_id:
        return named
    ended = (each for each in snapshot.events.values() if each.kind == "run.finished")
    return next((each for each in ended if each.run_id == run_id), None)


class DeliveredToSomeone(Invariant):
    id = "delivered-to-someone"
    says = (
        "Nothing is acknowledged without an acceptance of that attempt by its destination, and no run folder "
        "says where its event goes."
    )
    needs = frozenset({"outbox"})
    hears = frozenset({"message", "world"})
    about_events = True

    def __init__(self, *world: object) -> None:
        super().__init__(*world)  # type: ignore[arg-type]
        self._accepted: set[tuple[str, int]] = set()
        self._numbered = "attempts" in self.world.subject.capabilities

    def see(self, entry: Entry, before: Snapshot) -> None:
        if (entry.kind == "message" and entry.status == "accepted") or (
            entry.kind == "world" and entry.what == "accepted elsewhere"
        ):
            self._accepted.add((entry.data["event"], entry.data["attempt"] if self._numbered else 0))

    def compare(self, before: Snapshot, after: Snapshot) -> None:
        for event_id, event in after.events.items():
            earlier = before.events.get(event_id)
            if event.state != "delivered" or (earlier is not None and earlier.state == "delivered"):
                continue
            self.exercised += 1
            nowhere = self._numbered and not event.destination
            if (event_id, event.attempt if self._numbered else 0) not in self._accepted or nowhere:
                attempt = f" of attempt {event.attempt}" if self._numbered else ""
                self.fail(
                    f"{event_id} counts as delivered, and nobody accepted it",
                    expected=f"an acceptance{attempt} by {event.destination or 'some destination'}",
                    seen="none",
                )


class AcknowledgedStays(Invariant):
    id = "acknowledged-stays"
    says = "An acknowledged event stays acknowledged and is not sent again."
    needs = frozenset({"outbox"})
    hears = frozenset({"verb", "message"})
    verbs = DELIVERING
    about_events = True

    def __init__(self, *world: object) -> None:
        super().__init__(*world)  # type: ignore[arg-type]
        self._done: set[str] = set()

    def see(self, entry: Entry, before: Snapshot) -> None:
        if entry.kind == "message" and entry.data["event"] in self._done:
            self.fail(
                f"{entry.data['event']} was acknowledged and is sent again",
                expected="nothing more is sent",
                seen=f"{entry.what} by {entry.actor}, attempt {entry.data['attempt']}",
            )
        elif entry.kind == "verb" and entry.status == "ok":
            self.exercised += len(self._done)

    def compare(self, before: Snapshot, after: Snapshot) -> None:
        for event_id, event in after.events.items():
            if event.state == "delivered":
                self._done.add(event_id)
            elif event_id in self._done:
                self.fail(f"{event_id} was acknowledged before", expected="still delivered", seen=event.state)


class SameEventSameBytes(Invariant):
    id = "same-event-same-bytes"
    says = "Every copy of an event has the same id and bytes."
    needs = frozenset({"outbox"})
    hears = frozenset({"message"})

    def __init__(self, *world: object) -> None:
        super().__init__(*world)  # type: ignore[arg-type]
        self._bodies: dict[str, bytes] = {}
        self._terminal: dict[str, str] = {}

    def see(self, entry: Entry, before: Snapshot) -> None:
        event, body = str(entry.data["event"]), entry.data["body"]
        self.exercised += event in self._bodies
        earlier = self._bodies.setdefault(event, body)
        if earlier != body:
            self.fail(
                f"two copies of {event} differ",
                expected=earlier.decode(errors="replace"),
                seen=body.decode(errors="replace"),
            )
        if entry.data["event_kind"] == "run.finished":
            known = self._terminal.setdefault(str(entry.data["run"]), event)
            if known != event:
                self.fail(f"{known} was sent again under another id", expected=known, seen=event)

    def compare(self, before: Snapshot, after: Snapshot) -> None:
        for event_id, event in after.events.items():
            if event is before.events.get(event_id):
                continue
            sent = self._bodies.get(event_id)
            if sent is not None and event.body and sent != event.body.encode():
                self.fail(
                    f"the stored body of {event_id} is not the one sent", expected=repr(sent), seen=event.body
                )


class NothingLost(Invariant):
    id = "nothing-lost"
    says = "What was acknowledged as accepted is there after any crash."
    hears = frozenset({"verb", "message", "world"})
    verbs = frozenset({"submit", "retry", "submit_through_thread"})

    def __init__(self, *world: object) -> None:
        super().__init__(*world)  # type: ignore[arg-type]
        self._accepted: set[str] = set()
        self._told: set[str] = set()
        """Runs of which some destination accepted the terminal event."""
        self._crashed = False

    def see(self, entry: Entry, before: Snapshot) -> None:
        if entry.kind == "verb" and entry.status == "ok":
            # One that answers nothing has accepted the run that it was asked for.
            run = entry.data.get("run", None if entry.what == "retry" else entry.data.get("on"))
            if run is not None and not entry.data.get("cancelled"):
                self._accepted.add(str(run))
        elif entry.kind == "message" and entry.status == "accepted":
            if entry.data["event_kind"] == "run.finished":
                self._told.add(str(entry.data["run"]))
        elif entry.what == "crash":
            self._crashed = True
        elif entry.what == "lose row":
            self._accepted.discard(str(entry.data["run"]))

    def compare(self, before: Snapshot, after: Snapshot) -> None:
        if self.world.plan.settings.get("prune_after") is not None:
            self._accepted -= self._told - after.runs.keys()  # pruned, as it was asked for
        self._check(after)

    def end(self, snapshot: Snapshot) -> None:
        self._check(snapshot)

    def _check(self, snapshot: Snapshot) -> None:
        if self._crashed:
            self.exercised += len(self._accepted)
        missing = self._accepted.difference(snapshot.runs)
        if missing:
            missing.difference_update([row.key for row in snapshot.bad])
        for run_id in missing:
            self.fail(f"{run_id} was accepted and is gone", expected="it is in the store", seen="no such run")


class ResultKept(Invariant):
    id = "result-kept"
    says = "A result that existed before is reachable from the delivered event."
    needs = frozenset({"results"})
    hears = frozenset({"verb"})
    verbs = frozenset({"complete", "finish"})

    def __init__(self, *world: object) -> None:
        super().__init__(*world)  # type: ignore[arg-type]
        self._results: dict[str, str] = {}

    def see(self, entry: Entry, before: Snapshot) -> None:
        if entry.status in ("ok", "unknown"):
            result = entry.data.get("result")
            if (
                isinstance(result, str)
                and result
                and entry.data.get("ended") != "lost"
                and entry.status == "ok"
            ):
                run_id = str(entry.data["on"])
                self._results.setdefault(run_id, result)
                self._check(run_id, self.world.snapshot())

    def end(self, snapshot: Snapshot) -> None:
        for run_id in self._results:
            self._check(run_id, snapshot)

    def _check(self, run_id: str, snapshot: Snapshot) -> None:
        run, result = snapshot.runs.get(run_id), self._results[run_id]
        if run is not None:
            self.exercised += 1
            if not run.result or not result.startswith(run.result):
                self.fail(
                    f"the result of {run_id} was lost", expected=repr(result[:80]), seen=repr(run.result[:80])
                )
            if len(run.result) < len(result) and not run.result_truncated:
                self.fail(
                    f"the result of {run_id} was cut silently",
                    expected="marked as truncated",
                    seen="not marked",
                )
            if self.world.subject.capabilities >= EVENTS_WITH_RESULTS:
                self._check_event(run, snapshot)

    def _check_event(self, run: RunSeen, snapshot: Snapshot) -> None:
        event = terminal_event(run.run_id, snapshot)
        told = (read_body(event) or {}).get("result") if event is not None else None
        if told != run.result:
            self.fail(
                f"the event of {run.run_id} does not carry its result",
                expected=repr(run.result[:80]),
                seen=repr(told)[:80],
            )
