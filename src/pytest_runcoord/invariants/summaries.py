"""Invariants about events that sum up others: of a group, and of what is held."""

from __future__ import annotations

from pytest_runcoord.invariants.base import Invariant
from pytest_runcoord.invariants.bodies import numbers_of, read_body
from pytest_runcoord.subject import Snapshot

OUTCOMES = ("completed", "failed", "stopped", "interrupted")


class GroupAddsUp(Invariant):
    id = "group-adds-up"
    says = (
        "The summary of a group counts each member under its own outcome; only a group of completed ones "
        "succeeded."
    )
    needs = frozenset({"groups", "event-bodies"})
    about_events = True

    def compare(self, before: Snapshot, after: Snapshot) -> None:
        for event_id, event in after.events.items():
            if event.kind != "group.finished" or event_id in before.events:
                continue
            told = numbers_of(self, event, "size", *OUTCOMES) | (read_body(event) or {})
            # A member that was retried by itself counts as its retry does.
            members = {run.run_id: run for run in after.runs.values() if run.group == told.get("group")}
            ended = [
                run.outcome
                for run in members.values()
                if run.outcome is not None and run.retried_as not in members
            ]
            if len(ended) > told["size"]:
                continue  # more members than it was opened for: which of them count is not said
            self.exercised += len(ended)
            right = {name: ended.count(name) for name in OUTCOMES}
            right["successful"] = ended.count("completed") == told["size"]
            seen = {name: told.get(name) for name in right}
            if seen != right:
                self.fail(f"the summary of {told.get('group')} is wrong", expected=str(right), seen=str(seen))


class HeldIsTold(Invariant):
    id = "held-is-told"
    says = "What a sweep finds held is told to the operator, where one is configured, and told once."
    needs = frozenset({"recovery", "digests", "event-bodies"})
    sweeps = ("recover", "startup")
    about_events = True

    def __init__(self, *world: object) -> None:
        super().__init__(*world)  # type: ignore[arg-type]
        self._holds: dict[str, int] = {}
        """How often each event was seen to become held."""

    def compare(self, before: Snapshot, after: Snapshot) -> None:
        for event_id, event in after.events.items():
            was = before.events.get(event_id)
            known = was is not None and (was.state, was.attempt) == (event.state, event.attempt)
            if event.state == "held" and event.kind != "held.digest" and not known:
                self._holds[event_id] = self._holds.get(event_id, 0) + 1

    def sweep(self, before: Snapshot, after: Snapshot, rows: int | None) -> None:
        """One sweep in which nothing else happened."""
        if not self.world.plan.settings.get("operator"):
            return
        for event_id, event in before.events.items():
            if event.state != "held" or event.kind == "held.digest" or event_id not in after.events:
                continue
            self.exercised += 1
            if after.events[event_id].state == "held" and not after.events[event_id].told:
                self.fail(
                    f"{event_id} is held, and a sweep told nobody",
                    expected=f"a digest for {self.world.plan.settings['operator']}",
                    seen="none",
                )

    def end(self, snapshot: Snapshot) -> None:
        digests = [event for event in snapshot.events.values() if event.kind == "held.digest"]
        told = sum(numbers_of(self, event, "held")["held"] for event in digests)
        held = sum(self._holds.values())
        if told > held:
            self.fail(
                "the operator was told twice", expected=f"{held} held events", seen=f"{told} in digests"
            )
