"""Owners that are proved dead: what they held is free at once, and nobody waits for their leases.

Proof is that the very process that an owner id stands for is gone, on the machine where this sweep runs.
Whatever cannot be told is no proof; then the leases end by time.
"""

from __future__ import annotations

import enum

from runcoord._changes import Groups, changes_of
from runcoord._coordinator import RunVerbs, instant
from runcoord._core import limits, requests
from runcoord._core.cleanup import Sight
from runcoord._core.decide import decide
from runcoord._core.deliveries import orphaned
from runcoord._core.model import EventState, Instant, Run, State
from runcoord._core.process_rules import may_take_over
from runcoord._core.records import Held, Owner
from runcoord._core.values import field, record
from runcoord._log import INFO, Log, say
from runcoord._probing import Probes
from runcoord.errors import Refused, UndecodableRow, VersionConflict
from runcoord.ports import BadRow, Change, Transaction, View

log = Log("runcoord.recovery")

ROW_ERRORS = (VersionConflict, UndecodableRow, Refused)
"""What is the matter with one row, not with the store."""


class Vitality(enum.StrEnum):
    ALIVE = "alive"
    DEAD = "dead"
    UNKNOWN = "unknown"


_OF_SIGHT = {
    Sight.SAME: Vitality.ALIVE,
    Sight.GONE: Vitality.DEAD,
    Sight.STRANGER: Vitality.DEAD,
    Sight.UNKNOWN: Vitality.UNKNOWN,
}


@record
class Freed:
    """What the deaths that were proved in one sweep set free."""

    dead: int = 0
    ended: list[Run] = field(default_factory=list)
    retried: int = 0
    given_back: int = 0
    """Claimed runs that can be claimed again."""
    deliveries: int = 0
    """Deliveries under way that are due again."""
    tended: dict[str, str] = field(default_factory=dict)
    """Runs whose processes must be dealt with, each with the dead owner's id."""
    bad: list[BadRow] = field(default_factory=list)


class Deaths:
    """Looks at the owners of one store, on behalf of one of them."""

    def __init__(self, verbs: RunVerbs, probes: Probes) -> None:
        self._verbs, self._probes = verbs, probes
        self._after = ""
        """Where the next sweep goes on, when there were too many owners for one, or too little time."""
        self.seen: dict[str, Vitality] = {}
        """What this sweep knows of each owner that it looked at."""

    def read(self, view: View, bad: list[BadRow]) -> list[Owner]:
        """The owners to look at in this sweep."""
        known = len(bad)
        owners = view.owners(limits.OWNERS_LOOKED_AT, self._after, bad)
        more = len(owners) + len(bad) - known >= limits.OWNERS_LOOKED_AT
        self._after = owners[-1].owner if more and owners else ""
        return [each for each in owners if each.owner != self._verbs.owner]

    def settle(self, owners: list[Owner]) -> Freed:
        """Look at each of them, and free what the dead ones held."""
        freed, self.seen = Freed(), {}
        end = self._verbs.clock.monotonic() + limits.OWNER_PROBING_SECONDS
        old = self._verbs.clock.wall() - limits.OWNER_KEPT_SECONDS
        looked_at = ""
        for owner in owners:
            if self._verbs.clock.monotonic() >= end:
                self._after = looked_at  # looks that hang must not hide for ever who comes after them
                break
            looked_at = owner.owner
            vitality = self.seen[owner.owner] = _OF_SIGHT[self._probes.look(owner.identity).sight]
            if vitality is Vitality.DEAD:
                freed.dead += 1
                self._free(owner.owner, freed)
            elif vitality is Vitality.UNKNOWN and owner.since < old:
                self._forget(owner.owner)
        return freed

    def forget(self, freed: Freed) -> None:
        """Those whose runs were dealt with in this sweep may hold nothing more."""
        for owner in sorted(set(freed.tended.values())):
            self._forget(owner)

    def _free(self, owner: str, freed: Freed) -> None:
        after = ""
        for _ in range(limits.SWEEP_PAGES):
            with self._verbs.store.view("read-held") as view:
                now = instant(self._verbs.clock)
                held = view.held_by(owner, limits.RECOVERY_BATCH, after)
                runs = view.load_runs(held.runs, freed.bad)
            plain = tuple(run.run_id for run in runs if _is_plain(run))
            freed.tended |= {run.run_id: owner for run in runs if may_take_over(run, owner, now)}
            if plain or held.events or not held.runs:
                todo = Held(plain, held.events)
                try:
                    self._free_batch(owner, todo, freed)
                except ROW_ERRORS:
                    for run_id in plain:
                        self._free_one(owner, run_id, freed)
            if len(held.runs) < limits.RECOVERY_BATCH > len(held.events):
                break
            after = held.runs[-1] if held.runs else after
        say(log, INFO, "an owner is proved dead", owner=owner)

    def _free_one(self, owner: str, run_id: str, freed: Freed) -> None:
        try:
            self._free_batch(owner, Held((run_id,)), freed)
        except ROW_ERRORS as error:
            freed.bad.append(BadRow("runs", run_id, error.problem))

    def _free_batch(self, owner: str, held: Held, freed: Freed) -> None:
        batch = Freed()
        with self._verbs.store.transaction("recover") as tx:
            now = instant(self._verbs.clock)
            groups = Groups(tx)
            changes = self._changes(tx, owner, held, now, groups, batch)
            tx.save(changes)
            left = tx.held_by(owner, 1)
            if not left.runs and not left.events:
                tx.remove_owner(owner)
        freed.ended += batch.ended
        freed.retried += batch.retried
        freed.given_back += batch.given_back
        freed.deliveries += batch.deliveries
        freed.bad += batch.bad + groups.bad

    def _changes(
        self, tx: Transaction, owner: str, held: Held, now: Instant, groups: Groups, batch: Freed
    ) -> list[Change]:
        changes: list[Change] = []
        for run in tx.load_runs(held.runs, []):
            retry_id = self._verbs.ids.new("run") if run.spec.interruption_budget else ""
            try:
                decision = decide(run, requests.Recover(self._verbs.owner, retry_id, owner), now)
                made = changes_of(run, decision, now, groups) if decision.changed else []
            except ROW_ERRORS as error:
                batch.bad.append(BadRow("runs", run.run_id, error.problem))
                continue
            changes += made
            batch.given_back += decision.changed and decision.run.state is State.ACCEPTED
            batch.retried += decision.successor is not None
            if decision.changed and decision.run.outcome is not None:
                batch.ended.append(decision.run)
        sent = [
            orphaned(event, now)
            for event in tx.load_events(held.events, batch.bad)
            if event.state is EventState.SENDING and event.owner == owner
        ]
        batch.deliveries += len(sent)
        return [*changes, Change(events=tuple(sent))] if sent else changes

    def _forget(self, owner: str) -> None:
        with self._verbs.store.view("read-held") as view:
            held = view.held_by(owner, 1)
        if held.runs or held.events:
            return
        with self._verbs.store.transaction("forget-owner") as tx:
            held = tx.held_by(owner, 1)
            if not held.runs and not held.events:
                tx.remove_owner(owner)


def _is_plain(run: Run) -> bool:
    """A run that can be freed without looking at processes."""
    return run.state is State.CLAIMED or (run.state is State.RUNNING and run.cleanup is None)
