"""Defects in how accepted runs are found, and in what recovery does with started ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from defects.catalogue import Defect
from defects.rules import Rule, broken_rule
from runcoord import Coordinator
from runcoord._answers import Receipt
from runcoord._core import requests as ask
from runcoord._core import submission
from runcoord._core.decide import Decision
from runcoord._core.model import Instant, Outcome, Run, State
from runcoord._stores import statements
from runcoord.ports import Change

NOTHING = "SELECT run_id FROM runs WHERE :limit < 0"


def _accepted_runs_are_in_no_list(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(statements, "CLAIMABLE_ACCEPTED", NOTHING)


def _expired_claims_are_in_no_list(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(statements, "CLAIMABLE_EXPIRED", NOTHING)


def _ends_what_never_began(right: Rule, run: Run, asked: ask.Claim, now: Instant) -> Decision:
    if run.state is State.CLAIMED and run.lease is not None and run.lease.passed(now):
        begun = replace(run, state=State.RUNNING, started_at=now.wall)
        return right(begun, asked, now)
    return right(run, asked, now)


def _replays(right: Rule, run: Run, asked: ask.Recover, now: Instant) -> Decision:
    decision = right(run, asked, now)
    if decision.run.outcome is not Outcome.INTERRUPTED:
        return decision
    waiting = replace(run, state=State.ACCEPTED, owner="", lease=None)
    return Decision(replace(waiting, version=run.version + 1, epoch=run.epoch + 1), True)


def _claims_what_has_begun(right: Rule, run: Run, asked: ask.Claim, now: Instant) -> Decision:
    if run.state is State.RUNNING and run.lease is not None and run.lease.passed(now):
        return right(replace(run, state=State.CLAIMED), asked, now)
    return right(run, asked, now)


def _retries_in_place(patch: pytest.MonkeyPatch) -> None:
    def retry(self: Coordinator, run_id: str) -> Receipt:
        with self.store.transaction("retry") as tx:
            run = tx.run(run_id)
            assert run is not None
            again = replace(run, outcome=None, error="", finished_at=None, owner="")
            again = replace(again, state=State.ACCEPTED, version=run.version + 1)
            tx.save([Change(before=run, run=again)])
        return Receipt(run_id, State.ACCEPTED, None, replayed=False)

    patch.setattr(Coordinator, "retry", retry)


def _retry_loses_its_link(patch: pytest.MonkeyPatch) -> None:
    right = submission.explicit_retry

    def unlinked(run: Run, run_id: str, now: Instant) -> Run:
        return replace(right(run, run_id, now), retry_of="", line=run_id)

    patch.setattr(submission, "explicit_retry", unlinked)


def _the_newest_comes_first(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        statements, "CLAIMABLE_ACCEPTED", statements.CLAIMABLE_ACCEPTED.replace("BY seq", "BY seq DESC")
    )


DEFECTS = [
    Defect(
        "accepted-never-claimed",
        "A run that was accepted, but not claimed before the crash, is in no list that anybody reads.",
        "converges",
        _accepted_runs_are_in_no_list,
        name="in-no-list",
        scenario="accepted-and-left-alone",
    ),
    Defect(
        "accepted-never-claimed",
        "The same, where somebody asks for the next run after the restart.",
        "answer",
        _accepted_runs_are_in_no_list,
        name="not-given",
    ),
    Defect(
        "accepted-never-claimed",
        "A run whose owner died between claim and start stays claimed for ever.",
        "answer",
        _expired_claims_are_in_no_list,
        name="claim-of-the-dead",
        scenario="crashed-between-claim-and-start",
    ),
    Defect(
        "accepted-never-claimed",
        "A run that was claimed and not started counts as begun, so it is not handed out again.",
        "execute_next",
        broken_rule(ask.Claim, _ends_what_never_began),
        name="claimed-counts-as-begun",
        scenario="crashed-between-claim-and-start",
    ),
    Defect(
        "recovery-never-re-executes",
        "Recovery puts a started run back for the next worker, though its work may have had effects.",
        "starts-once",
        broken_rule(ask.Recover, _replays),
        name="replays",
    ),
    Defect(
        "recovery-never-re-executes",
        "A started run whose lease ran out is given to whoever claims it before the sweep.",
        "starts-once",
        broken_rule(ask.Claim, _claims_what_has_begun),
        name="claimed-again",
        scenario="expired-but-not-yet-swept",
    ),
    Defect(
        "recovery-never-re-executes",
        "A retry puts the old run back instead of making a new one.",
        "one-outcome",
        _retries_in_place,
        name="retried-in-place",
        scenario="only-a-retry-executes-again",
    ),
    Defect(
        "recovery-never-re-executes",
        "A retry is not linked to the run that it repeats.",
        "run",
        _retry_loses_its_link,
        name="unlinked",
        scenario="only-a-retry-executes-again",
    ),
    Defect(
        "accepted-never-claimed",
        "The newest run is handed out first, and the oldest waits behind all that come.",
        "answer",
        _the_newest_comes_first,
        name="newest-first",
        scenario="the-oldest-first",
    ),
]
