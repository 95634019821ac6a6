"""Defects in how a stop is accepted, kept and answered."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from defects.catalogue import Defect
from defects.rules import Rule, broken_rule
from runcoord import Coordinator
from runcoord._answers import StopReceipt
from runcoord._core import requests as ask
from runcoord._core.decide import Decision
from runcoord._core.events import finished_event
from runcoord._core.model import Instant, Outcome, Run, State
from runcoord._heartbeat import Heartbeat, Hold


def _recovery_knows_one_outcome(right: Rule, run: Run, asked: ask.Recover, now: Instant) -> Decision:
    return right(replace(run, stop_requested_at=None, stop_reason=""), asked, now)


def _recovery_drops_the_text(right: Rule, run: Run, asked: ask.Recover, now: Instant) -> Decision:
    return right(replace(run, stop_reason=""), asked, now)


def _a_stopped_run_is_retried(right: Rule, run: Run, asked: ask.Recover, now: Instant) -> Decision:
    stopped = right(run, asked, now)
    again = right(replace(run, stop_requested_at=None), asked, now).successor
    if stopped.run.outcome is not Outcome.STOPPED or again is None:
        return stopped
    return replace(stopped, run=replace(stopped.run, retried_as=again.run_id), successor=again)


def _completion_overrules_the_stop(right: Rule, run: Run, asked: ask.Complete, now: Instant) -> Decision:
    return right(replace(run, stop_requested_at=None), asked, now)


def _a_stopped_run_has_no_result(right: Rule, run: Run, asked: ask.Complete, now: Instant) -> Decision:
    return right(run, replace(asked, result="") if run.stop_requested_at is not None else asked, now)


def _event_without_the_result(right: Rule, run: Run, asked: ask.Complete, now: Instant) -> Decision:
    decision = right(run, asked, now)
    if run.stop_requested_at is None or not decision.changed:
        return decision
    return replace(decision, event=finished_event(replace(decision.run, result=""), now))


def _stop_is_kept_in_memory(right: Rule, run: Run, asked: ask.Stop, now: Instant) -> Decision:
    return Decision(run, False) if run.state is State.RUNNING else right(run, asked, now)


def _stop_passes_by_a_claimed_run(right: Rule, run: Run, asked: ask.Stop, now: Instant) -> Decision:
    return Decision(run, False) if run.state is State.CLAIMED else right(run, asked, now)


def _stop_passes_by_an_accepted_run(right: Rule, run: Run, asked: ask.Stop, now: Instant) -> Decision:
    return Decision(run, False) if run.state is State.ACCEPTED else right(run, asked, now)


def _stop_ends_running_work_at_once(right: Rule, run: Run, asked: ask.Stop, now: Instant) -> Decision:
    return right(replace(run, state=State.CLAIMED) if run.state is State.RUNNING else run, asked, now)


def _stop_and_end_are_both_told(right: Rule, run: Run, asked: ask.Stop, now: Instant) -> Decision:
    decision = right(run, asked, now)
    if run.state is not State.RUNNING or not decision.changed:
        return decision
    told = finished_event(replace(decision.run, outcome=Outcome.STOPPED, finished_at=now.wall), now)
    return replace(decision, event=replace(told, event_id=f"{run.run_id}/stopped"))


def _claim_opens_an_ended_run(right: Rule, run: Run, asked: ask.Claim, now: Instant) -> Decision:
    if run.state is not State.FINISHED:
        return right(run, asked, now)
    return right(replace(run, state=State.ACCEPTED, outcome=None, finished_at=None, owner=""), asked, now)


def _stop_is_not_told_the_end(patch: pytest.MonkeyPatch) -> None:
    right: Any = Coordinator.stop

    def stop(self: Coordinator, run_id: str, reason: str = "stopped by its user") -> StopReceipt:
        answer: StopReceipt = right(self, run_id, reason)
        return StopReceipt(run_id, State.RUNNING, None) if answer.outcome is not Outcome.STOPPED else answer

    patch.setattr(Coordinator, "stop", stop)


def _defect(
    slug: str, name: str, caught_by: str, request: type, broken: Any, says: str, scenario: str = ""
) -> Defect:
    return Defect(slug, says, caught_by, broken_rule(request, broken), name=name, scenario=scenario)


def _looks_for_a_stop_only_once(patch: pytest.MonkeyPatch) -> None:
    right: Any = Heartbeat._poll

    def poll(self: Heartbeat, now: float) -> None:
        right(self, now)
        self._poll_at = math.inf

    patch.setattr(Heartbeat, "_poll", poll)


def _stops_to_renew_when_it_is_to_stop(patch: pytest.MonkeyPatch) -> None:
    right: Any = Heartbeat._note_stop

    def note_stop(self: Heartbeat) -> None:
        right(self)
        self._hold = Hold.ENDED

    patch.setattr(Heartbeat, "_note_stop", note_stop)


def _an_early_stop_has_no_text(right: Rule, run: Run, asked: ask.Stop, now: Instant) -> Decision:
    return right(run, replace(asked, reason="") if run.state is not State.RUNNING else asked, now)


DEFECTS = [
    _defect(
        "stop-survives-crash",
        "reported-as-interruption",
        "stop-wins",
        ask.Recover,
        _recovery_knows_one_outcome,
        "Recovery always reports an interruption, also of a run that its user had stopped, and retries it.",
    ),
    _defect(
        "stop-survives-crash",
        "text-dropped",
        "run",
        ask.Recover,
        _recovery_drops_the_text,
        "Recovery reports the stop and discards its text.",
    ),
    _defect(
        "stop-survives-crash",
        "retried",
        "stop-wins",
        ask.Recover,
        _a_stopped_run_is_retried,
        "A run that was stopped is retried by itself after the crash.",
    ),
    _defect(
        "stop-survives-crash",
        "not-durable",
        "stop-wins",
        ask.Stop,
        _stop_is_kept_in_memory,
        "An accepted stop of a running run is known only to the process that accepted it.",
        "completed-late-after-the-stop",
    ),
    _defect(
        "stop-survives-crash",
        "overruled",
        "stop-wins",
        ask.Complete,
        _completion_overrules_the_stop,
        "The owner's own completion wins over the stop that was accepted before it.",
        "completed-after-the-stop",
    ),
    _defect(
        "stop-survives-crash",
        "overruled-late",
        "stop-wins",
        ask.Complete,
        _completion_overrules_the_stop,
        "The same, for a completion after the lease ran out.",
        "completed-late-after-the-stop",
    ),
    _defect(
        "stop-survives-crash",
        "result-dropped",
        "result-kept",
        ask.Complete,
        _a_stopped_run_has_no_result,
        "What the owner had done before it noticed the stop is thrown away.",
        "completed-after-the-stop",
    ),
    _defect(
        "stop-survives-crash",
        "result-not-told",
        "result-kept",
        ask.Complete,
        _event_without_the_result,
        "The event of a stopped run does not carry the result that is stored.",
        "completed-late-after-the-stop",
    ),
    _defect(
        "stop-during-admission",
        "claimed",
        "refused",
        ask.Stop,
        _stop_passes_by_a_claimed_run,
        "A stop between claim and start reaches nobody: the run is neither waiting nor working.",
    ),
    _defect(
        "stop-during-admission",
        "accepted",
        "refused",
        ask.Stop,
        _stop_passes_by_an_accepted_run,
        "A stop of a run that is not claimed yet finds no work to stop and changes nothing.",
    ),
    _defect(
        "stop-during-admission",
        "ended-under-its-owner",
        "answer",
        ask.Stop,
        _stop_ends_running_work_at_once,
        "A stop ends a run whose work has just begun, while the work goes on.",
        "stopped-as-it-starts",
    ),
    _defect(
        "stop-during-admission",
        "told-twice",
        "same-event-same-bytes",
        ask.Stop,
        _stop_and_end_are_both_told,
        "A stop of a run that has just begun is reported, and its end is reported again.",
        "stopped-as-it-starts",
    ),
    _defect(
        "stop-during-admission",
        "owner-not-asked",
        "stop-wins",
        ask.Complete,
        _completion_overrules_the_stop,
        "A stop that comes with the start is noted, and forgotten when the work ends.",
        "stopped-as-it-starts",
    ),
    _defect(
        "stop-swallowed-by-takeover",
        "claims-the-ended",
        "one-outcome",
        ask.Claim,
        _claim_opens_an_ended_run,
        "A claim of a run that has ended is granted, with a fresh fence.",
    ),
    Defect(
        "stop-swallowed-by-takeover",
        "A stop of a run that recovery has just ended is answered as if the run went on, and vanishes.",
        "stop-wins",
        _stop_is_not_told_the_end,
        name="not-told",
    ),
    _defect(
        "stop-swallowed-by-takeover",
        "lost-in-takeover",
        "stop-wins",
        ask.Recover,
        _recovery_knows_one_outcome,
        "Recovery takes the run over right after its stop was accepted, and does not look for one.",
        "takeover-of-a-run-that-was-to-stop",
    ),
    Defect(
        "stop-survives-crash",
        "The holder looks for a stop once after each renewal, and learns of a later one half a minute late.",
        "refused",
        _looks_for_a_stop_only_once,
        name="noticed-late",
        scenario="stopped-work-takes-its-time",
    ),
    Defect(
        "stop-survives-crash",
        "The heartbeat ends with the stop, so work that takes its time to end is recovered under its owner.",
        "run",
        _stops_to_renew_when_it_is_to_stop,
        name="not-renewed",
        scenario="stopped-work-takes-its-time",
    ),
    _defect(
        "stop-during-admission",
        "text-dropped",
        "run",
        ask.Stop,
        _an_early_stop_has_no_text,
        "A stop of work that has not begun loses its text.",
    ),
]
