"""Seeded defects of recovery, of opening and of the start call."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from defects.catalogue import Defect
from runcoord import Coordinator, SweepReport
from runcoord import _recoverer as recoverer
from runcoord._core import decide as rules
from runcoord._core import requests as ask
from runcoord._core.model import Deadline, Delivery, EventState, Instant, Run, State
from runcoord._deaths import Freed
from runcoord._maintenance import Maintenance
from runcoord._outbox import DrainReport, Outbox
from runcoord._recoverer import Recoverer
from runcoord._sender import Answered, Sender
from runcoord._stores import sqlite
from runcoord._stores.reading import SqliteView
from runcoord._stores.sqlite import open_sqlite
from runcoord.ports import Change


def _decides_on_what_it_read_before(patch: pytest.MonkeyPatch) -> None:
    """The sweep decides on the rows as they were when it listed them, and writes over what came since."""
    listed: dict[str, Run] = {}
    recoverable, decide = SqliteView.recoverable, recoverer.decide

    def listing(self: SqliteView, now: Instant, limit: int, after: str = "") -> list[str]:
        found = recoverable(self, now, limit, after)
        listed.update({run.run_id: run for run in self.load_runs(found, [])})
        return found

    def on_the_snapshot(run: Run, request: ask.Recover, now: Instant) -> rules.Decision:
        decision = decide(replace(listed[run.run_id], version=run.version), request, now)
        overwrites = run.state is State.FINISHED
        return replace(decision, event=None) if overwrites else decision

    patch.setattr(SqliteView, "recoverable", listing)
    patch.setattr(recoverer, "decide", on_the_snapshot)


def _gives_up_the_batch(patch: pytest.MonkeyPatch) -> None:
    """A run that changed since it was listed ends the sweep of all that are listed with it."""
    batch = Recoverer._recover_batch

    def all_or_nothing(self: Recoverer, run_ids: list[str], freed: Freed, report: SweepReport) -> None:
        with self._verbs.store.view("read-run") as view:
            found = view.load_runs(run_ids, [])
        if all(run.state is State.RUNNING for run in found):
            batch(self, run_ids, freed, report)

    patch.setattr(Recoverer, "_recover_batch", all_or_nothing)


def _two_rules_for_one_lease(patch: pytest.MonkeyPatch) -> None:
    """A sweep may end runs under any lease, but make their events claimable only under a live one."""
    sweep, recover = Recoverer.sweep, Recoverer._recover
    began: list[float] = []

    def ends_and_hides(run: Run, request: ask.Recover, now: Instant) -> rules.Decision:
        decision = rules._recover(run, request, now)
        if decision.event is None:
            return decision
        never = replace(Deadline.after(now, 0.0), boottime=now.boottime + 1e9)
        hidden = replace(decision.event, state=EventState.SENDING, owner="cleanup", due=never)
        return replace(decision, event=hidden)

    def then_shows(self: Recoverer, report: SweepReport) -> Freed:
        freed = recover(self, report)
        now = recoverer.instant(self._verbs.clock)
        if now.boottime - began[-1] >= self._verbs.settings.lease:
            return freed
        with self._verbs.store.transaction("recover") as tx:
            hidden = [event for event in tx.events(limit=1_000) if event.owner == "cleanup"]
            shown = tuple(
                replace(event, state=EventState.PENDING, owner="", due=Deadline.after(now, 0.0))
                for event in hidden
            )
            tx.save([Change(events=shown)] if shown else [])
        return freed

    def timed(self: Recoverer) -> SweepReport:
        began.append(self._verbs.clock.boottime())
        return sweep(self)

    patch.setitem(rules._RULES, ask.Recover, ends_and_hides)
    patch.setattr(Recoverer, "_recover", then_shows)
    patch.setattr(Recoverer, "sweep", timed)


def _sends_without_a_claim(patch: pytest.MonkeyPatch) -> None:
    """A sweep that stood still goes on sending what others have claimed and sent since."""
    drain, offer = Outbox.drain, Sender.offer

    def endless(self: Outbox) -> DrainReport:
        return drain(self, seconds=1e6)

    def unclaimed(self: Sender, target: str, attempts: list[Delivery]) -> list[Answered]:
        return offer(self, target, [replace(each, until=Deadline(1e12, 1e12, "")) for each in attempts])

    patch.setattr(Outbox, "drain", endless)
    patch.setattr(Sender, "offer", unclaimed)


def _opening(statement: str) -> Any:
    """Opening runs ``statement``, to repair what it takes for the leavings of a dead process."""

    def breaks(patch: pytest.MonkeyPatch) -> None:
        def repairing(path: Path, **more: Any) -> Any:
            store = open_sqlite(path, **more)
            connection = sqlite3.connect(path, isolation_level=None)
            connection.execute(statement)
            connection.close()
            return store

        patch.setattr(sqlite, "open_sqlite", repairing)

    return breaks


RESETS_CLAIMED = (
    "UPDATE runs SET state = 'accepted', owner = '', version = version + 1,"
    " lease_wall = NULL, lease_boottime = NULL, lease_boot = NULL WHERE state = 'claimed'"
)
RESETS_SENDING = "UPDATE events SET state = 'pending', owner = '' WHERE state = 'sending'"


def _ends_running_runs_at_once(patch: pytest.MonkeyPatch) -> None:
    """Opening sweeps, and takes every run of another owner for a dead one's."""
    init = Coordinator.__init__

    def sweeping(self: Coordinator, *args: Any) -> None:
        init(self, *args)
        if self.owner.startswith("gw2"):
            self.recover()

    patch.setattr(Coordinator, "__init__", sweeping)


def _start_does_not_recover(patch: pytest.MonkeyPatch) -> None:
    """Recovery is there and tested, and the start call does not run it."""
    patch.setattr(Coordinator, "startup", lambda self: SweepReport())


def _start_runs_once(patch: pytest.MonkeyPatch) -> None:
    """The start call sweeps, and nothing ever does so again."""
    patch.setattr(Maintenance, "next_due", lambda self: None)


def _start_without(step: str) -> Any:
    def breaks(patch: pytest.MonkeyPatch) -> None:
        nothing = Freed() if step == "_recover" else None
        patch.setattr(Recoverer, step, lambda self, report: nothing)

    return breaks


def _start_does_not_deliver(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Outbox, "drain", lambda self, **_: DrainReport())


RECOVERY = [
    Defect(
        "recovery-reads-then-writes",
        "Recovery decides on what it read before its transaction and overwrites the owner's outcome.",
        "one-outcome",
        _decides_on_what_it_read_before,
    ),
    Defect(
        "recovery-reads-then-writes",
        "One run that changed meanwhile keeps the rest of its batch from being recovered.",
        "answer",
        _gives_up_the_batch,
        name="rest-of-the-batch",
    ),
    Defect(
        "sweep-outlives-its-own-lease",
        "A slow sweep ends runs and may then no longer make their events claimable.",
        "event",
        _two_rules_for_one_lease,
    ),
    Defect(
        "sweep-outlives-its-own-lease",
        "A sweep that stood still sends what it has no claim on any more.",
        "acknowledged-stays",
        _sends_without_a_claim,
        name="sends-without-a-claim",
        scenario="slow-delivery-in-a-sweep",
    ),
    Defect(
        "opening-changes-nothing",
        "Opening the store resets what is claimed, so that a second process is handed running work.",
        "nothing-unasked",
        _opening(RESETS_CLAIMED),
    ),
    Defect(
        "opening-changes-nothing",
        "Opening the store makes deliveries that are under way due again.",
        "nothing-unasked",
        _opening(RESETS_SENDING),
        name="deliveries",
    ),
    Defect(
        "opening-changes-nothing",
        "Opening the store after a crash recovers, unasked.",
        "nothing-unasked",
        _ends_running_runs_at_once,
        name="recovers",
        scenario="opening-after-a-crash-changes-nothing",
    ),
    Defect(
        "start-runs-recovery",
        "The start call runs no recovery at all.",
        "no-silent-zero",
        _start_does_not_recover,
    ),
    Defect(
        "start-runs-recovery",
        "The start call runs recovery once and never again.",
        "run",
        _start_runs_once,
        name="once",
    ),
    Defect(
        "start-runs-recovery",
        "The start call does not sweep.",
        "answer",
        _start_without("_recover"),
        name="no-sweep",
    ),
    Defect(
        "start-runs-recovery",
        "The start call does not prune.",
        "answer",
        _start_without("_prune"),
        name="no-pruning",
    ),
    Defect(
        "start-runs-recovery",
        "The start call does not tell the operator what is held.",
        "answer",
        _start_without("_write_digest"),
        name="no-digest",
    ),
    Defect(
        "start-runs-recovery",
        "The start call delivers nothing.",
        "no-silent-zero",
        _start_does_not_deliver,
        name="no-delivery",
        scenario="start-delivers",
    ),
]
