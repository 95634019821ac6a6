"""Seeded defects of what must still be there afterwards: submissions, ends, results, retries."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from defects.catalogue import Defect
from defects.commands_starting import (
    _accepted_runs_are_in_no_list,
    _retry_loses_its_link,
)
from defects.rules import Rule, broken_rule
from pytest_runcoord.reference import STORE_NAME, Reference, ReferenceSession
from pytest_runcoord.subject import SubjectWorld
from pytest_runcoord.world import World
from runcoord import _coordinator
from runcoord._core import requests as ask
from runcoord._core import submission
from runcoord._core.decide import Decision
from runcoord._core.model import Instant, Outcome, Run, State

Patch = pytest.MonkeyPatch
WEEK_SECONDS = 7 * 86400.0
UNDONE = (
    "UPDATE runs SET state = 'accepted', outcome = NULL, reported = NULL, finished_at = NULL, owner = '', "
    "lease_wall = NULL, lease_boottime = NULL, lease_boot = NULL, result = '', error = '' WHERE outcome = "
)


def _lost_with_the_process(statement: str) -> Callable[[Patch], None]:
    """What was acknowledged was not on disk yet: with the process it is gone."""

    def breaks(patch: Patch) -> None:
        def abandon(self: ReferenceSession) -> None:
            self.close()
            _write(self._world, statement)

        crash = World.crash

        def looked_at(self: World, owner: str) -> None:
            crash(self, owner)
            self.changed = True  # no port said so

        patch.setattr(ReferenceSession, "abandon", abandon)
        patch.setattr(World, "crash", looked_at)

    return breaks


def _changed_by_opening(statement: str) -> Callable[[Patch], None]:
    """Whoever opens the store tidies it up first."""

    def breaks(patch: Patch) -> None:
        opened = Reference.open

        def tidying(self: Reference, owner: str, world: SubjectWorld) -> ReferenceSession:
            session = opened(self, owner, world)
            _write(world, statement)
            return session

        patch.setattr(Reference, "open", tidying)

    return breaks


def _write(world: SubjectWorld, statement: str) -> None:
    connection = sqlite3.connect(world.directory / STORE_NAME, isolation_level=None, timeout=0)
    try:
        connection.execute(statement)
    finally:
        connection.close()


def _too_old_to_be_given_out(patch: Patch) -> None:
    waiting = _coordinator.next_waiting

    def recent(view: Any, now: Instant) -> Run | None:
        run = waiting(view, now)
        return None if run is None or run.created_at < now.wall - WEEK_SECONDS else run

    patch.setattr(_coordinator, "next_waiting", recent)


def alive_again(run: Run) -> Run:
    """A run as if it had never ended."""
    return replace(run, outcome=None, reported=None, finished_at=None, result="", error="")


def _comes_back_to_life(right: Rule, run: Run, asked: ask.Claim, now: Instant) -> Decision:
    if run.state is not State.FINISHED:
        return right(run, asked, now)
    return right(replace(alive_again(run), state=State.ACCEPTED, lease=None), asked, now)


def _ended_again(right: Rule, run: Run, asked: ask.Complete, now: Instant) -> Decision:
    """Whoever completes writes what he says, whatever is there."""
    if run.state is not State.FINISHED:
        return right(run, asked, now)
    error, result = asked.error, asked.result
    ended = replace(run, version=run.version + 1, outcome=asked.outcome, error=error, result=result)
    return Decision(ended, True)


def _retried_with_nothing(patch: Patch) -> None:
    right = submission.explicit_retry

    def empty(run: Run, run_id: str, now: Instant) -> Run:
        retry = right(run, run_id, now)
        return replace(retry, spec=replace(retry.spec, payload="null"))

    patch.setattr(submission, "explicit_retry", empty)


def _retried_whatever_it_does(patch: Patch) -> None:
    right = submission.explicit_retry

    def anything(run: Run, run_id: str, now: Instant) -> Run:
        return right(replace(run, outcome=Outcome.FAILED), run_id, now)

    patch.setattr(submission, "explicit_retry", anything)


KEEPING: list[Defect] = [
    Defect(
        "accepted-survives",
        "A submission is acknowledged before it is on disk, and is lost with its process.",
        "nothing-lost",
        _lost_with_the_process("DELETE FROM runs WHERE state = 'accepted'"),
    ),
    Defect(
        "accepted-survives",
        "The newest submission of several is not on disk when the machine restarts.",
        "nothing-lost",
        _lost_with_the_process("DELETE FROM runs WHERE run_id = 'r2'"),
        name="the-newest",
        scenario="accepted-survives-a-reboot",
    ),
    Defect(
        "accepted-survives",
        "What has waited for more than a week is given to nobody any more.",
        "answer",
        _too_old_to_be_given_out,
        name="too-old",
        scenario="accepted-and-left-for-long",
    ),
    Defect(
        "finished-stays-finished",
        "A claim brings a run that has ended back to life.",
        "one-outcome",
        broken_rule(ask.Claim, _comes_back_to_life),
    ),
    Defect(
        "finished-stays-finished",
        "The last one who completes a run says what its result is.",
        "result-kept",
        broken_rule(ask.Complete, _ended_again),
        name="the-last-word",
        scenario="completed-twice",
    ),
    Defect(
        "finished-stays-finished",
        "A run that was completed can fail afterwards.",
        "one-outcome",
        broken_rule(ask.Complete, _ended_again),
        name="fails-afterwards",
        scenario="failed-after-it-was-completed",
    ),
    Defect(
        "finished-stays-finished",
        "The end of a run is lost with its process, and it is given out again.",
        "one-outcome",
        _lost_with_the_process(UNDONE + "'completed'"),
        name="lost-with-its-process",
        scenario="finished-survives-a-crash",
    ),
    Defect(
        "reopened",
        "Whoever opens the store removes what has finished.",
        "nothing-unasked",
        _changed_by_opening("DELETE FROM runs WHERE state = 'finished'"),
    ),
    Defect(
        "reopened",
        "What waits is in no list that anybody reads.",
        "run",
        _accepted_runs_are_in_no_list,
        name="in-no-list",
    ),
    Defect(
        "reopened",
        "The end of a run is lost with its process, and it is worked off a second time.",
        "one-outcome",
        _lost_with_the_process(UNDONE + "'completed'"),
        name="worked-off-again",
        scenario="a-crash-after-every-step",
    ),
    Defect(
        "result-survives",
        "A result is written after its outcome, and not any more if the process dies before.",
        "one-outcome",
        _lost_with_the_process("UPDATE runs SET result = '' WHERE state = 'finished'"),
    ),
    Defect(
        "result-survives",
        "An error is written after its outcome, and not any more if the process dies before.",
        "one-outcome",
        _lost_with_the_process("UPDATE runs SET error = '' WHERE state = 'finished'"),
        name="error",
        scenario="error-survives",
    ),
    Defect(
        "retry-links",
        "A retry has lost the inputs of what it retries.",
        "nothing-lost",
        _retried_with_nothing,
    ),
    Defect(
        "retry-links",
        "A retry does not know what it retries.",
        "run",
        _retry_loses_its_link,
        name="unlinked",
    ),
    Defect(
        "retry-links",
        "A run that somebody works on is retried beside it.",
        "refused",
        _retried_whatever_it_does,
        name="while-it-runs",
        scenario="no-retry-of-what-runs",
    ),
]
