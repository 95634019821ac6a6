"""How runs end: completions, the terminal event, stops, and the budget of interruptions."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.some_runs import ACCEPTED, CLAIMED, NOW, OWNER, RIVAL, RUNNING, STATES, lease_on
from core.strategies import SOME, runs
from runcoord import EventKind, EventState, Outcome, Run, State
from runcoord._core import requests as ask
from runcoord._core.decide import Decision, decide
from runcoord._core.events import canonical_json, finished_event
from runcoord._core.limits import (
    DELIVERY_CLAIM_SECONDS,
    MAX_ERROR_CHARACTERS,
    MAX_RESULT_CHARACTERS,
)
from runcoord._core.source_texts import source_document
from runcoord.errors import AlreadyFinished, NotStarted, WorkCancelled

# --- completing -----------------------------------------------------------------------------------


def completed(run: Run = RUNNING, outcome: Outcome = Outcome.COMPLETED, **more: str) -> Run:
    return decide(run, ask.Complete(lease_on(run), outcome, **more), NOW).run


@pytest.mark.parametrize(
    "other",
    [{"result": "other"}, {"error": "other"}, {"outcome": Outcome.FAILED}, {"outcome": Outcome.STOPPED}],
    ids=repr,
)
def test_only_the_same_completion_is_answered_again(other: dict[str, object]) -> None:
    asked_first = ask.Complete(lease_on(RUNNING), Outcome.COMPLETED, "done", "warned")
    ended = decide(RUNNING, asked_first, NOW).run
    assert decide(ended, asked_first, NOW) == Decision(ended, False)
    with pytest.raises(AlreadyFinished):
        decide(ended, replace(asked_first, **other), NOW)


def test_a_completion_that_a_stop_overruled_is_answered_again_with_its_stop() -> None:
    run = STATES["stopping"]
    asked_first = ask.Complete(lease_on(run), Outcome.COMPLETED, "done", "warned")
    ended = decide(run, asked_first, NOW).run
    assert (ended.outcome, ended.reported, ended.error, ended.result) == (
        Outcome.STOPPED,
        Outcome.COMPLETED,
        "enough",
        "done",
    )
    assert decide(ended, asked_first, NOW) == Decision(ended, False)


def test_a_completion_that_is_no_use_to_a_stopped_run_is_refused_and_changes_nothing() -> None:
    stopping = STATES["stopping"]
    asked = ask.Complete(lease_on(stopping), Outcome.COMPLETED, "done", unless_stopped=True)
    with pytest.raises(WorkCancelled, match="stopped meanwhile") as refusal:
        decide(stopping, asked, NOW)
    assert refusal.value.details == {"run": stopping.run_id}
    assert decide(stopping, replace(asked, unless_stopped=False), NOW).run.outcome is Outcome.STOPPED
    assert decide(RUNNING, replace(asked, lease=lease_on(RUNNING)), NOW).run.outcome is Outcome.COMPLETED


def test_a_late_completion_says_so_also_when_it_is_asked_again() -> None:
    run = STATES["running-expired"]
    request = ask.Complete(lease_on(run), Outcome.COMPLETED, "done")
    ended = decide(run, request, NOW)
    assert ended.late
    assert ended.run.late
    assert decide(ended.run, request, NOW).late


@pytest.mark.parametrize("outcome", [Outcome.STOPPED, Outcome.INTERRUPTED, Outcome.COMPLETED])
def test_work_that_has_not_begun_can_only_fail(outcome: Outcome) -> None:
    with pytest.raises(NotStarted, match=outcome.value):
        decide(CLAIMED, ask.Complete(lease_on(CLAIMED), outcome), NOW)
    assert completed(CLAIMED, Outcome.FAILED).outcome is Outcome.FAILED


def test_a_long_result_is_cut_and_marked_and_a_long_error_is_cut() -> None:
    ended = completed(result="x" * (MAX_RESULT_CHARACTERS + 1), error="y" * (MAX_ERROR_CHARACTERS + 1))
    assert ended.result == "x" * MAX_RESULT_CHARACTERS
    assert ended.result_truncated
    assert ended.error == "y" * MAX_ERROR_CHARACTERS
    whole = completed(result="x" * MAX_RESULT_CHARACTERS)
    assert not whole.result_truncated


def test_text_that_utf_8_cannot_say_is_kept_as_escapes() -> None:
    """A file name that is no text (PEP 383) must not cost the outcome it comes with."""
    ended = completed(result="a\udc80b", error="\ud800")
    assert (ended.result, ended.error) == ("a\\udc80b", "\\ud800")
    assert not ended.result_truncated
    assert decide(ended, ask.Complete(lease_on(RUNNING), Outcome.COMPLETED, "a\udc80b", "\ud800"), NOW) == (
        Decision(ended, False)
    )


def test_a_result_that_grows_beyond_its_limit_by_escapes_is_marked() -> None:
    ended = completed(result="\udc80" * MAX_RESULT_CHARACTERS)
    assert len(ended.result) == MAX_RESULT_CHARACTERS
    assert ended.result_truncated
    ended.result.encode()


# --- the terminal event ---------------------------------------------------------------------------

EVENT_KEYS = {
    "run",
    "kind",
    "outcome",
    "reported",
    "error",
    "result",
    "result_truncated",
    "late",
    "agent",
    "task",
    "conversation_key",
    "group",
    "retry_of",
    "retried_as",
    "created_at",
    "started_at",
    "finished_at",
    "elapsed",
    "exit_status",
    "source",
    "cleanup",
    "survivors",
    "survivors_unnamed",
}
ENDINGS = [
    ("running", ask.Complete(lease_on(RUNNING), Outcome.COMPLETED, "done")),
    ("running", ask.Complete(lease_on(RUNNING), Outcome.FAILED, "", "boom")),
    ("stopping", ask.Complete(lease_on(RUNNING), Outcome.COMPLETED, "done")),
    ("accepted", ask.Stop("no more")),
    ("claimed", ask.Stop("no more")),
    ("running-expired", ask.Recover(RIVAL, "")),
    ("stopping-expired", ask.Recover(RIVAL, "")),
]


@pytest.mark.parametrize(
    ("state", "request_"), ENDINGS, ids=[f"{state} {type(r).__name__}" for state, r in ENDINGS]
)
def test_the_terminal_event_has_every_key_whoever_ended_the_run(state: str, request_: ask.Request) -> None:
    decision = decide(STATES[state], request_, NOW)
    event = decision.event
    assert event is not None
    body = json.loads(event.body)
    assert set(body) == EVENT_KEYS
    assert (body["run"], body["kind"], body["outcome"]) == ("r1", "run.finished", decision.run.outcome)
    assert (body["agent"], body["task"], body["conversation_key"]) == ("ada", "count", "c1")
    assert (event.event_id, event.kind, event.destination) == ("r1/finished", EventKind.FINISHED, "chat")
    assert (event.state, event.due.passed(NOW)) == (EventState.PENDING, True)


@SOME
@given(run=runs(), error=st.text(max_size=9))
def test_the_body_of_a_terminal_event_is_canonical_json_of_what_is_known(run: Run, error: str) -> None:
    if run.finished_at is None:
        return
    run = replace(run, error=error)
    body = finished_event(run, NOW).body
    said = json.loads(body)
    assert body == canonical_json(said)
    assert set(said) == EVENT_KEYS
    assert (said["error"], said["finished_at"], said["outcome"]) == (error, run.finished_at, run.outcome)
    assert (said["source"] is None) is (run.source is None)
    if run.source is not None:
        assert said["source"] == source_document(run.source, run.run_id)
        assert said["source"]["notes"] == [*run.source.notes]
        assert said["source"]["claims"]["destination"] == run.source.claims.destination


@pytest.mark.parametrize("wall", [math.inf, math.nan])
def test_a_time_that_json_does_not_have_is_refused(wall: float) -> None:
    with pytest.raises(ValueError, match="no number"):
        finished_event(replace(STATES["finished"], finished_at=wall), NOW)


def test_an_event_without_a_destination_is_held_and_never_sent() -> None:
    run = replace(ACCEPTED, spec=replace(ACCEPTED.spec, destination=""))
    event = decide(run, ask.Stop("no more"), NOW).event
    assert event is not None
    assert (event.state, event.reason) == (EventState.HELD, "no destination")


def test_the_first_attempt_belongs_to_the_owner_only_if_it_serves_the_destination() -> None:
    def event_for(serves: set[str]) -> object:
        request = ask.Complete(
            lease_on(RUNNING), Outcome.COMPLETED, deliverer=OWNER, serves=frozenset(serves)
        )
        event = decide(RUNNING, request, NOW).event
        assert event is not None
        return event.state, event.owner, event.attempt, event.due.remaining(NOW)

    assert event_for({"chat"}) == (EventState.SENDING, OWNER, 1, DELIVERY_CLAIM_SECONDS)
    assert event_for({"mail"}) == (EventState.PENDING, "", 0, 0.0)


def test_elapsed_is_never_negative_though_the_wall_clock_was_set_back() -> None:
    run = replace(RUNNING, started_at=NOW.wall + 3_600)
    event = decide(run, ask.Complete(lease_on(run), Outcome.COMPLETED), NOW).event
    assert event is not None
    assert json.loads(event.body)["elapsed"] == 0.0


def test_notes_are_numbered_and_each_has_its_own_id() -> None:
    first = decide(RUNNING, ask.Publish(lease_on(RUNNING), '"a"'), NOW)
    second = decide(first.run, ask.Publish(lease_on(RUNNING), '"a"'), NOW)
    assert first.event is not None
    assert second.event is not None
    assert [first.event.event_id, second.event.event_id] == ["r1/note/1", "r1/note/2"]
    assert first.event.kind is EventKind.NOTE


# --- the budget of interruptions ------------------------------------------------------------------


def interrupted(budget: int, interruptions: int) -> Decision:
    run = replace(
        STATES["running-expired"],
        spec=replace(RUNNING.spec, interruption_budget=budget),
        interruptions=interruptions,
        line="r0",
    )
    return decide(run, ask.Recover(RIVAL, "r2"), NOW)


def test_without_a_budget_an_interrupted_run_is_not_retried() -> None:
    decision = interrupted(0, 0)
    assert decision.successor is None
    assert decision.run.retried_as == ""


def test_within_the_budget_the_retry_has_the_same_inputs_and_counts_the_interruption() -> None:
    decision = interrupted(2, 1)
    retry = decision.successor
    assert retry is not None
    assert decision.run.retried_as == retry.run_id == "r2"
    assert (retry.spec, retry.line, retry.retry_of, retry.interruptions) == (decision.run.spec, "r0", "r1", 2)
    assert (retry.state, retry.epoch, retry.version) == (State.ACCEPTED, 0, 1)


def test_a_spent_budget_ends_the_line_and_says_so() -> None:
    decision = interrupted(2, 2)
    assert decision.successor is None
    assert decision.run.retried_as == ""
    assert "not retried: 3 interruptions" in decision.run.error
    assert "2 automatic retries allowed" in decision.run.error


def test_a_stopped_run_is_never_retried_by_itself() -> None:
    run = replace(STATES["stopping-expired"], spec=replace(RUNNING.spec, interruption_budget=5))
    decision = decide(run, ask.Recover(RIVAL, "r2"), NOW)
    assert decision.run.outcome is Outcome.STOPPED
    assert decision.successor is None
