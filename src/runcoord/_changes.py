"""What a decision writes: the run, its events, the count of its group, its retry."""

from __future__ import annotations

from runcoord._core import submission
from runcoord._core.decide import Decision
from runcoord._core.events import group_event
from runcoord._core.model import Command, Event, Group, Instant, Run, State
from runcoord._core.values import value
from runcoord._log import ERROR, Log, say
from runcoord.errors import UndecodableRow
from runcoord.ports import BadRow, Change, Transaction

log = Log("runcoord.coordinator")


@value
class Counted:
    """The group to write, if it changed, and its summary, if it is complete now."""

    group: Group | None = None
    summary: Event | None = None


class Groups:
    """The groups of one transaction as they are after the changes made so far."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._seen: dict[str, Group | None] = {}
        self.bad: list[BadRow] = []
        """Groups that cannot be read. Their members end all the same; only the summary waits for a repair."""

    def count(self, run: Run, now: Instant) -> Counted:
        """Count a run that just ended."""
        name = run.spec.group
        if not name:
            return Counted()
        if name not in self._seen:
            self._seen[name] = self._read(name)
        group = self._seen[name]
        if group is None:
            return Counted()
        after = submission.counted(group, run)
        self._seen[name] = after
        if after == group:
            return Counted()
        return Counted(after, group_event(after, now) if after.ended == after.size else None)

    def _read(self, name: str) -> Group | None:
        try:
            return self._tx.group(name)
        except UndecodableRow as error:
            self.bad.append(BadRow.of(error))
            say(log, ERROR, "a group cannot be counted", group=name, problem=error.problem)
            return None


def changes_of(before: Run, decision: Decision, now: Instant, groups: Groups) -> list[Change]:
    """What one decision writes."""
    run = decision.run
    events = () if decision.event is None else (decision.event,)
    group = None
    if run.spec.group and run.state is State.FINISHED and before.state is not State.FINISHED:
        counted = groups.count(run, now)
        group = counted.group
        if counted.summary is not None:
            events = (*events, counted.summary)
    changes = [Change(before, run, events, group=group, records=decision.records)]
    if decision.successor is not None:
        changes.append(creation(decision.successor))
    return changes


def creation(run: Run) -> Change:
    """What a retry writes: the run, under its own id as the key."""
    digest = submission.content_hash(run.spec, run.run_id, run.spec.interruption_budget)
    return Change(run=run, command=Command(run.run_id, run.run_id, digest, run.created_at))
