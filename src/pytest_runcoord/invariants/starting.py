"""The invariant about the beginning of a run's work."""

from __future__ import annotations

from pytest_runcoord.deadlines import live
from pytest_runcoord.history import Entry
from pytest_runcoord.invariants.base import Invariant
from pytest_runcoord.subject import Snapshot

ASKING = frozenset({"claim", "claim_next", "start", "execute", "execute_next", "supervise"})
"""Verbs that would hand out a run, or begin its work."""
BEGINNING = frozenset({"start", "execute", "execute_next", "supervise"})


class StartsOnce(Invariant):
    id = "starts-once"
    says = "The work of a run begins at most once; recovery never executes it again."
    needs = frozenset({"interruption"})
    hears = frozenset({"verb"})
    verbs = ASKING
    about_runs = True

    def __init__(self, *world: object) -> None:
        super().__init__(*world)  # type: ignore[arg-type]
        self._begun: dict[str, tuple[str, int]] = {}
        """Who began a run's work (owner and number of its start), and the newest entry by then."""

    def see(self, entry: Entry, before: Snapshot) -> None:
        asker = f"{entry.actor}#{entry.data.get('start')}"
        self._count(entry, before, asker)
        run = entry.data.get("run")
        if entry.status != "ok" or entry.what not in BEGINNING or not isinstance(run, str):
            return
        first, number = self._begun.setdefault(run, (asker, entry.number))
        # Repeating a start under the same lease gives the same answer, and begins nothing.
        known = "owners" in self.world.subject.capabilities
        again = (known and first != asker) or (entry.what != "start" and number < entry.number)
        if again:
            self.fail(
                f"the work of {run} was begun a second time, by {asker}",
                expected=f"never: {first} had begun it",
                seen=f"{entry.what} was accepted",
            )

    def _count(self, entry: Entry, before: Snapshot, asker: str) -> None:
        """A begun run that the asker could be given, were the rule not kept."""
        wanted, now = entry.data.get("on"), self.world.instant()
        for run_id in self._begun:
            run = before.runs.get(run_id)
            if run is None or wanted not in (None, run_id) or run.owner == asker:
                continue
            self.exercised += not live(run, now)

    def compare(self, before: Snapshot, after: Snapshot) -> None:
        for run_id, run in after.runs.items():
            was = before.runs.get(run_id)
            if run is was:
                continue
            if run.state == "running":
                self._begun.setdefault(run_id, (run.owner, len(self.world.history.entries)))
            if was is None or was.state != "running" or run.state == "running":
                continue
            self.exercised += 1
            if run.state != "finished":
                self.fail(
                    f"{run_id} had begun and is handed out again",
                    expected="it stays running until it ends",
                    seen=run.state,
                )
