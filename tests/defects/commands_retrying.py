"""Defects in retries, interruption budgets and what the terminal event says."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from defects.catalogue import Defect
from defects.rules import Rule, broken_rule
from runcoord._core import decide, ending, submission
from runcoord._core import requests as ask
from runcoord._core.decide import Decision
from runcoord._core.model import Instant, Outcome, Run, Spec
from runcoord.errors import NotRetryable


def _only_failed_runs(patch: pytest.MonkeyPatch) -> None:
    right = submission.explicit_retry

    def explicit_retry(run: Run, run_id: str, now: Instant) -> Run:
        if run.outcome is not Outcome.FAILED:
            raise NotRetryable("only failed runs can be retried")
        return right(run, run_id, now)

    patch.setattr(submission, "explicit_retry", explicit_retry)


def _any_outcome_but_success(patch: pytest.MonkeyPatch) -> None:
    right = submission.explicit_retry

    def explicit_retry(run: Run, run_id: str, now: Instant) -> Run:
        seen = replace(run, outcome=Outcome.FAILED) if run.outcome is Outcome.STOPPED else run
        return right(seen, run_id, now)

    patch.setattr(submission, "explicit_retry", explicit_retry)


def _patch_retry_of(patch: pytest.MonkeyPatch, change: Any) -> None:
    right = decide.retry_of
    for module in (decide, ending, submission):
        patch.setattr(module, "retry_of", lambda run, run_id, now: change(run, right(run, run_id, now)))


def _inputs_are_lost(patch: pytest.MonkeyPatch) -> None:
    _patch_retry_of(
        patch, lambda run, new: replace(new, spec=Spec(task=run.spec.task, destination=run.spec.destination))
    )


def _interruptions_are_not_carried_on(patch: pytest.MonkeyPatch) -> None:
    _patch_retry_of(patch, lambda run, new: replace(new, interruptions=0))


def _failures_are_counted_too(patch: pytest.MonkeyPatch) -> None:
    _patch_retry_of(patch, lambda run, new: replace(new, interruptions=run.interruptions + 1))


def _every_owner_is_counted(right: Rule, run: Run, asked: ask.Recover, now: Instant) -> Decision:
    return right(replace(run, interruptions=run.interruptions + run.epoch - 1), asked, now)


def _the_end_of_retries_is_not_said(right: Rule, run: Run, asked: ask.Recover, now: Instant) -> Decision:
    decision = right(run, asked, now)
    if not decision.changed or decision.event is None:
        return decision
    after = replace(decision.run, error=decide.INTERRUPTED_ERROR)
    body = json.loads(decision.event.body) | {"error": after.error}
    return replace(decision, run=after, event=replace(decision.event, body=json.dumps(body)))


def _retries_without_being_asked(right: Rule, run: Run, asked: ask.Recover, now: Instant) -> Decision:
    asked = replace(asked, retry_id=asked.retry_id or f"again-{run.run_id}")
    return right(replace(run, spec=replace(run.spec, interruption_budget=25)), asked, now)


def _second_builder(change: Any) -> Any:
    def recover(right: Rule, run: Run, asked: ask.Recover, now: Instant) -> Decision:
        decision = right(run, asked, now)
        if decision.event is None:
            return decision
        body = json.dumps(change(json.loads(decision.event.body)))
        return replace(decision, event=replace(decision.event, body=body))

    return broken_rule(ask.Recover, recover)


DROPPED = ("agent", "task", "conversation_key", "elapsed")


def _without_four_keys(body: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key not in DROPPED}


def _with_empty_values(body: dict[str, Any]) -> dict[str, Any]:
    return body | dict.fromkeys(DROPPED)


DEFECTS = [
    Defect(
        "retry-of-interrupted",
        "The gate for retries knows only failed runs, and refuses the safest case.",
        "retry",
        _only_failed_runs,
        name="refused",
    ),
    Defect(
        "retry-of-interrupted",
        "The new run is built from the task's text, and loses the other inputs.",
        "nothing-lost",
        _inputs_are_lost,
        name="inputs-lost",
    ),
    Defect(
        "retry-of-interrupted",
        "A run that its user stopped can be retried like a failed one.",
        "refused",
        _any_outcome_but_success,
        name="stopped-too",
        scenario="what-may-be-retried",
    ),
    Defect(
        "poison-run",
        "Every retry starts with a fresh budget, so a run that kills its worker comes back for ever.",
        "line",
        _interruptions_are_not_carried_on,
        name="for-ever",
    ),
    Defect(
        "poison-run",
        "Every change of owner counts, so harmless restarts use up the budget.",
        "line",
        broken_rule(ask.Recover, _every_owner_is_counted),
        name="restarts-counted",
        scenario="harmless-restarts-cost-nothing",
    ),
    Defect(
        "poison-run",
        "Failures and interruptions share one budget.",
        "run",
        _failures_are_counted_too,
        name="failures-counted",
        scenario="harmless-restarts-cost-nothing",
    ),
    Defect(
        "poison-run",
        "The last run of the line ends like any other, and nothing says that it is the last.",
        "line",
        broken_rule(ask.Recover, _the_end_of_retries_is_not_said),
        name="not-said",
    ),
    Defect(
        "poison-run",
        "Interrupted runs are retried though nobody asked for that.",
        "nothing-lost",
        broken_rule(ask.Recover, _retries_without_being_asked),
        name="unasked",
        scenario="no-retries-unless-asked",
    ),
    Defect(
        "payload-keeps-its-keys",
        "Recovery builds its event by itself, without four of the keys that readers expect.",
        "events_alike",
        _second_builder(_without_four_keys),
        name="keys-dropped",
    ),
    Defect(
        "payload-keeps-its-keys",
        "Recovery builds its event by itself, and does not know what was asked for.",
        "delivered",
        _second_builder(_with_empty_values),
        name="values-dropped",
    ),
]
