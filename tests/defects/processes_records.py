"""Seeded defects of whose word counts: records of processes, events of runs that left some, dead owners."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from defects.catalogue import Defect
from defects.processes_mistaken import kill, unknown_is_death
from defects.rules import broken_rule
from runcoord import _cleaning, _deaths
from runcoord._cleaning import Cleaned, Cleaner, _Attempt
from runcoord._core import process_rules
from runcoord._core import requests as ask
from runcoord._core.cleanup import Found
from runcoord._core.decision import Decision
from runcoord._core.events import finished_event
from runcoord._core.last_words import LastWords
from runcoord._core.model import CleanupState, Deadline, Event, EventState, Instant, Run, State
from runcoord._deaths import Deaths
from runcoord._ending_trees import Trees

# --- records that are not the owner's ------------------------------------------------------------


def _believes_last_words(patch: pytest.MonkeyPatch) -> None:
    """Whom the file for last words names as a survivor is killed; a run can write that file."""
    right = Trees.last_words

    def last_words(self: Trees, found: Sequence[Found]) -> LastWords | None:
        words = right(self, found)
        for each in words.teardown.left if words is not None and words.teardown is not None else ():
            kill(self._probes.table, each.pid)
        return words

    patch.setattr(Trees, "last_words", last_words)


def _believes(text: Callable[[Run], str]) -> Callable[[pytest.MonkeyPatch], None]:
    """The pid in something that the run, or its submitter, wrote is killed with it."""

    def breaks(patch: pytest.MonkeyPatch) -> None:
        carry_out = Cleaner._carry_out

        def believing(self: Cleaner, attempt: _Attempt, cleaned: Cleaned) -> None:
            kill(self._probes.table, json.loads(text(attempt.run))["pid"])
            carry_out(self, attempt, cleaned)

        patch.setattr(Cleaner, "_carry_out", believing)

    return breaks


def _anybody_records(patch: pytest.MonkeyPatch) -> None:
    """Who lost the run may still record processes for it."""
    patch.setattr(process_rules, "require_holder", lambda run, lease, now, **more: None)


# --- events --------------------------------------------------------------------------------------


def _hidden(event: Event | None, now: Instant) -> Event | None:
    """The event cannot be claimed before the clean-up is done, which nobody notices then."""
    if event is None:
        return None
    never = replace(Deadline.after(now, 0.0), wall=now.wall + 1e9, boottime=now.boottime + 1e9)
    return replace(event, state=EventState.SENDING, owner="cleanup", due=never)


def _processes_block_the_event(right: Any, run: Run, request: ask.Complete, now: Instant) -> Decision:
    """The event of a run with recorded processes waits for recovery, whatever became of them."""
    decision: Decision = right(run, request, now)
    return replace(decision, event=_hidden(decision.event, now)) if run.cleanup is not None else decision


def _pending_blocks_the_event(right: Any, run: Run, request: ask.Complete, now: Instant) -> Decision:
    """The event of a run that may have left something running waits until that is dealt with."""
    decision: Decision = right(run, request, now)
    after = decision.run.cleanup
    pending = after is not None and after.state is CleanupState.PENDING
    return replace(decision, event=_hidden(decision.event, now)) if pending else decision


def _cleaned_again_tells_again(right: Any, run: Run, request: ask.EndCleaned, now: Instant) -> Decision:
    """When the processes of a finished run are dealt with, its event is written again."""
    decision: Decision = right(run, request, now)
    if run.state is not State.FINISHED:
        return decision
    event = finished_event(decision.run, now)
    again = replace(event, event_id=f"{event.event_id}/cleaned", due=Deadline.after(now, 1.0))
    return replace(decision, event=again)


def _forgets_the_teardown(right: Any, run: Run, request: ask.Complete, now: Instant) -> Decision:
    """Completing a run does not note that its processes are gone."""
    decision: Decision = right(run, replace(request, report=None), now)
    return decision


def _proof_of_death_beats_the_sweep(patch: pytest.MonkeyPatch) -> None:
    """The owner of a finished run is dead, so every sweep deals with its processes, also side by side."""
    right = process_rules.may_take_over

    def may_take_over(run: Run, proof: str, now: Instant) -> bool:
        dead = run.state is State.FINISHED and run.cleanup is not None and run.cleanup.due is not None
        return right(run, proof, now) or (dead and bool(proof) and run.owner == proof)

    for module in (process_rules, _cleaning, _deaths):
        patch.setattr(module, "may_take_over", may_take_over)


# --- owners --------------------------------------------------------------------------------------


def _no_proof_of_death(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Deaths, "read", lambda self, view, bad: [])


def _begins_with_the_same_owners(patch: pytest.MonkeyPatch) -> None:
    """Each sweep begins with the owners whose looks hung in the last one."""
    right = Deaths.read

    def read(self: Deaths, *more: Any) -> Any:
        self._after = ""
        return right(self, *more)

    patch.setattr(Deaths, "read", read)


def _deliveries_wait(patch: pytest.MonkeyPatch) -> None:
    """What a dead owner was sending waits until its claim ends."""
    right = Deaths._changes

    def changes(self: Deaths, tx: Any, owner: str, held: Any, *more: Any) -> Any:
        return right(self, tx, owner, replace(held, events=()), *more)

    patch.setattr(Deaths, "_changes", changes)


OWNERS = [
    Defect(
        "dead-owner-same-host",
        "A restart waits out the whole lease of an owner that is provably dead.",
        "answer",
        _no_proof_of_death,
    ),
    Defect(
        "dead-owner-same-host",
        "What a dead owner was sending stays claimed until its time is up.",
        "answer",
        _deliveries_wait,
        name="deliveries",
    ),
    Defect(
        "dead-owner-same-host",
        "That nothing can be told of an owner counts as proof of its death.",
        "live-lease-kept",
        unknown_is_death,
        name="unknown-is-death",
        scenario="owner-of-whom-nothing-can-be-told",
    ),
    Defect(
        "dead-owner-same-host",
        "Owners whose looks hang hide the deaths of those that come after them.",
        "answer",
        _begins_with_the_same_owners,
        name="hidden",
        scenario="owners-that-hang-hide-no-death",
    ),
    Defect(
        "dead-owner-same-host",
        "An owner on another machine, or in another namespace, counts as dead.",
        "live-lease-kept",
        unknown_is_death,
        name="elsewhere",
        scenario="dead-owner-elsewhere",
    ),
]
"""Of the failure mode among the leases that is about processes."""

RECORDS = [
    Defect(
        "mutable-records-never-kill",
        "Whom a file names that the run can write is killed.",
        "no-stranger-signalled",
        _believes_last_words,
    ),
    Defect(
        "mutable-records-never-kill",
        "The pid in a run's payload is killed.",
        "no-stranger-signalled",
        _believes(lambda run: run.spec.payload or ""),
        name="payload",
    ),
    Defect(
        "mutable-records-never-kill",
        "The pid in a run's latest progress is killed.",
        "no-stranger-signalled",
        _believes(lambda run: run.progress),
        name="progress",
    ),
    Defect(
        "mutable-records-never-kill",
        "Who lost the run records processes for it.",
        "stale-owner-refused",
        _anybody_records,
        name="not-fenced",
        scenario="only-the-fenced-owner-records",
    ),
    Defect(
        "force-stop-delivers",
        "The recorded processes of a stopped run block its event, though they are gone.",
        "delivered",
        broken_rule(ask.Complete, _processes_block_the_event),
    ),
    Defect(
        "force-stop-delivers",
        "The processes stay on the stopped run as if they lived.",
        "cleanup",
        broken_rule(ask.Complete, _forgets_the_teardown),
        name="teardown-forgotten",
    ),
    Defect(
        "cleanup-pending-does-not-block",
        "A result cannot be delivered while a process of its run may live.",
        "delivered",
        broken_rule(ask.Complete, _pending_blocks_the_event),
    ),
    Defect(
        "cleanup-pending-does-not-block",
        "When the clean-up is done a second outcome is sent.",
        "same-event-same-bytes",
        broken_rule(ask.EndCleaned, _cleaned_again_tells_again),
        name="tells-again",
    ),
    Defect(
        "cleanup-pending-does-not-block",
        "Two sweeps deal with what one finished run left, and the second takes it from the first.",
        "signals",
        _proof_of_death_beats_the_sweep,
        name="two-sweeps",
        scenario="two-sweeps-and-one-clean-up",
    ),
]
