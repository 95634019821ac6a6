"""Seeded defects of stops, of the order in which runs are given out, and of the events of their ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from defects.catalogue import Defect
from defects.commands_starting import _the_newest_comes_first
from defects.commands_stopping import _completion_overrules_the_stop, _stop_passes_by_an_accepted_run
from defects.outbox_delivery import _sent_is_never_due_again
from defects.portable_keeping import UNDONE, _lost_with_the_process
from defects.portable_owning import _nothing_is_recovered
from defects.rules import Rule, broken_rule
from pytest_runcoord.reference import ReferenceSession
from pytest_runcoord.subject import Answer
from runcoord import _coordinator
from runcoord._core import deliveries
from runcoord._core import requests as ask
from runcoord._core.decide import Decision
from runcoord._core.model import Delivery, Event, EventState, Instant, Outcome, Run, State
from runcoord.ports import Change

Patch = pytest.MonkeyPatch
MOST = 100


def _stops_what_is_over(right: Rule, run: Run, asked: ask.Stop, now: Instant) -> Decision:
    if run.state is not State.FINISHED:
        return right(run, asked, now)
    stopped = replace(run, version=run.version + 1, outcome=Outcome.STOPPED, error=asked.reason)
    return Decision(stopped, True)


def _waits_for_what_failed(patch: Patch) -> None:
    """Nothing is given out while something has failed, until somebody looks into it."""
    waiting = _coordinator.next_waiting

    def after_success(view: Any, now: Instant) -> Run | None:
        runs = view.runs(limit=MOST)
        return None if any(run.outcome is Outcome.FAILED for run in runs) else waiting(view, now)

    patch.setattr(_coordinator, "next_waiting", after_success)


def _every_fourth_is_not_written() -> Callable[[Patch], None]:
    """Of completions that come in quick succession some are answered, and never written."""

    def breaks(patch: Patch) -> None:
        numbers = count(1)

        def now_and_then(right: Rule, run: Run, asked: ask.Complete, now: Instant) -> Decision:
            decision = right(run, asked, now)
            return decision if next(numbers) % 4 else Decision(run, False)

        broken_rule(ask.Complete, now_and_then)(patch)

    return breaks


def _tells_it_again(patch: Patch) -> None:
    """Whoever delivers offers what was accepted before once more."""
    right = ReferenceSession.deliver

    def deliver(self: ReferenceSession) -> Answer:
        with self._coordinator.store.transaction("dispatch") as tx:
            done = tx.events(states=(EventState.DELIVERED,), limit=MOST)
            tx.save([Change(events=tuple(replace(e, state=EventState.PENDING, owner="") for e in done))])
        return right(self)

    patch.setattr(ReferenceSession, "deliver", deliver)


def _one_try_is_all(patch: Patch) -> None:
    def held(event: Event, delivery: Delivery, reason: str, now: Instant) -> Event:
        return replace(event, state=EventState.HELD, owner="", reason=reason)

    patch.setattr(deliveries, "postponed", held)


ENDING: list[Defect] = [
    Defect(
        "stop-holds",
        "A stop of what waits is noted, and the run is given out all the same.",
        "answer",
        broken_rule(ask.Stop, _stop_passes_by_an_accepted_run),
    ),
    Defect(
        "stop-holds",
        "A stop is kept in memory, and forgotten with the process.",
        "one-outcome",
        _lost_with_the_process(UNDONE + "'stopped'"),
        name="forgotten",
        scenario="stopped-before-a-crash",
    ),
    Defect(
        "stop-holds",
        "The owner that completes a run overrules its stop.",
        "stop-wins",
        broken_rule(ask.Complete, _completion_overrules_the_stop),
        name="overruled",
        scenario="stopped-while-it-runs",
    ),
    Defect(
        "stop-holds",
        "A stop changes how a run has ended.",
        "stop-wins",
        broken_rule(ask.Stop, _stops_what_is_over),
        name="afterwards",
        scenario="stopped-when-it-was-over",
    ),
    Defect(
        "order-and-others",
        "The newest run is given out first.",
        "answer",
        _the_newest_comes_first,
    ),
    Defect(
        "order-and-others",
        "While a failure is not dealt with, nothing is given out.",
        "answer",
        _waits_for_what_failed,
        name="behind-a-failure",
        scenario="failed-work-blocks-nobody",
    ),
    Defect(
        "order-and-others",
        "Some completions are answered, and never written.",
        "nothing-lost",
        _every_fourth_is_not_written(),
        name="not-written",
        scenario="ten-runs-two-owners",
    ),
    Defect(
        "order-and-others",
        "What the dead one of two owners held is dealt with by no sweep.",
        "runs",
        _nothing_is_recovered,
        name="never-recovered",
        scenario="ten-runs-and-one-dies",
    ),
    Defect(
        "event-arrives",
        "Every delivery offers again what was accepted before.",
        "acknowledged-stays",
        _tells_it_again,
    ),
    Defect(
        "event-arrives",
        "What its sender died over is never due again.",
        "no-silent-zero",
        _sent_is_never_due_again,
        name="sender-died",
        scenario="died-before-it-told",
    ),
    Defect(
        "event-arrives",
        "An event that was not taken at the first attempt is given up.",
        "delivered",
        _one_try_is_all,
        name="one-try",
        scenario="nobody-listened-at-first",
    ),
]
