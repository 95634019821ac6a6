"""Invariants about how a run ends."""

from __future__ import annotations

from pytest_runcoord.history import Entry
from pytest_runcoord.invariants.base import Invariant
from pytest_runcoord.subject import RunSeen, Snapshot


class OneOutcome(Invariant):
    id = "one-outcome"
    says = "A run has at most one outcome, and it never changes."

    def compare(self, before: Snapshot, after: Snapshot) -> None:
        for run_id, was in before.runs.items():
            if was.outcome is None:
                continue
            self.exercised += 1
            seen = after.runs.get(run_id)
            if seen is None or seen is was:
                continue  # the same, or pruned; nothing-lost speaks about that
            if (seen.outcome, seen.result, seen.error) != (was.outcome, was.result, was.error):
                self.fail(
                    f"the outcome of {run_id} changed",
                    expected=f"{was.outcome} (result {was.result!r}, error {was.error!r})",
                    seen=f"{seen.outcome} (result {seen.result!r}, error {seen.error!r})",
                )
            if (seen.state, seen.epoch) != (was.state, was.epoch):
                self.fail(
                    f"{run_id} had ended and was acquired again",
                    expected=f"{was.state} at epoch {was.epoch}",
                    seen=f"{seen.state} at epoch {seen.epoch}, owner {seen.owner}",
                )

    def end(self, snapshot: Snapshot) -> None:
        terminal: dict[str, str] = {}
        for event in snapshot.events.values():
            if event.kind != "run.finished":
                continue
            self.exercised += 1
            if event.run_id in terminal:
                self.fail(
                    f"{event.run_id} has two terminal events",
                    expected="one",
                    seen=f"{terminal[event.run_id]} and {event.event_id}",
                )
            terminal[event.run_id] = event.event_id
        able = self.world.subject.capabilities
        for run in snapshot.runs.values():
            # One that holds no events need not have any that go nowhere.
            told = "outbox" in able and (bool(run.destination) or "replay" in able)
            if told and run.outcome is not None and run.run_id not in terminal and not self._is_history(run):
                self.fail(
                    f"{run.run_id} ended without a terminal event",
                    expected="one event, written together with the outcome",
                    seen="none",
                )

    def _is_history(self, run: RunSeen) -> bool:
        """Whether a run had ended, and been told of, before this coordinator knew of it."""
        return run.source is not None and self.world.has_homes and self.world.homes.is_history(run.run_id)


class StopWins(Invariant):
    id = "stop-wins"
    says = "A run whose stop was accepted before its outcome was committed ends as stopped."
    needs = frozenset({"stop"})
    hears = frozenset({"verb"})
    verbs = frozenset({"stop"})
    about_runs = True

    def __init__(self, *world: object) -> None:
        super().__init__(*world)  # type: ignore[arg-type]
        self._stopped: set[str] = set()
        self._ended: dict[str, int] = {}
        """Runs that have ended, with the number of the newest entry by then."""
        self._answers = "reports" in self.world.subject.capabilities
        self._recovers = "recovery" in self.world.subject.capabilities

    def see(self, entry: Entry, before: Snapshot) -> None:
        if entry.status != "ok":
            return
        run_id = str(entry.data.get("run"))
        run = before.runs.get(run_id)
        answered = entry.data.get("outcome")
        if run is not None and run.outcome is not None:
            self.exercised += 1
            # A stop that was noted while the run went on need not know of its end.
            noted = run.outcome == "stopped" and self._ended.get(run_id, 0) >= entry.number
            if answered != run.outcome and self._answers and not (noted and answered is None):
                self.fail(
                    f"the stop of {run_id} was not told how it ended",
                    expected=f"the answer says {run.outcome}",
                    seen=f"the answer says {answered}",
                )
        elif answered in (None, "stopped"):
            self._stopped.add(run_id)

    def compare(self, before: Snapshot, after: Snapshot) -> None:
        for run in after.runs.values():
            if run.outcome is None:
                if run.stop_requested:
                    self._stopped.add(run.run_id)
            elif run.run_id not in self._ended:
                self._ended[run.run_id] = len(self.world.history.entries)
                self._check(run)

    def end(self, snapshot: Snapshot) -> None:
        for run_id in self._stopped:
            run = snapshot.runs.get(run_id)
            # What an owner left behind ends by recovery, and otherwise not.
            if run is not None and (run.outcome is not None or self._recovers):
                self._check(run)

    def _check(self, run: RunSeen) -> None:
        if run.run_id not in self._stopped:
            return
        self.exercised += 1
        if run.outcome != "stopped":
            self.fail(
                f"{run.run_id} was to stop, and did not end as stopped",
                expected="outcome stopped",
                seen=f"outcome {run.outcome}",
            )
        if run.retried_as:
            self.fail(
                f"{run.run_id} was to stop, and was retried by itself",
                expected="no retry",
                seen=f"retried as {run.retried_as}",
            )
