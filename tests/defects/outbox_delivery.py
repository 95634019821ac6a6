"""Seeded defects of single deliveries: what is lost, doubled, confirmed by nobody, or blocks others."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from defects.catalogue import Defect
from runcoord import _maintenance, _outbox, _recoverer, _sender
from runcoord._core import deliveries, events, limits
from runcoord._core.model import Deadline, Delivery, Event, EventState
from runcoord.ports import Bounded, Clock, Message

Patch = pytest.MonkeyPatch


# --- empty-destination, absent-destination ---


def _nobody_accepts(patch: Patch) -> None:
    made, begun = events._new, _sender.Sender.__init__

    def due_anyway(*args: Any, **more: Any) -> Event:
        event = made(*args, **more)
        return event if event.destination else replace(event, state=EventState.PENDING, reason="")

    def with_nobody(self: _sender.Sender, destinations: Any, clock: Clock, bounded: Bounded) -> None:
        begun(self, {**destinations, "": lambda message: None}, clock, bounded)

    patch.setattr(events, "_new", due_anyway)
    patch.setattr(_sender.Sender, "__init__", with_nobody)


def _unknown_is_tried(patch: Patch) -> None:
    patch.setattr(_sender.Sender, "knows", lambda self, target: True)


def _held_ends_the_drain(patch: Patch) -> None:
    dispatch = _outbox.Outbox._dispatch

    def nothing_ready(self: _outbox.Outbox, *args: Any, **more: Any) -> Any:
        batch = dispatch(self, *args, **more)
        batch.found = bool(batch.ready)
        return batch

    patch.setattr(_outbox.Outbox, "_dispatch", nothing_ready)


# --- destination-refuses ---


def _next_sweep_will_do(patch: Patch) -> None:
    patch.setattr(_maintenance.Maintenance, "_plan", lambda *args: None)


def _refusal_is_a_failure(patch: Patch) -> None:
    def postponed(event: Event, delivery: Delivery, reason: str) -> Event:
        return replace(event, state=EventState.PENDING, owner="", reason=reason)

    patch.setattr(deliveries, "refused", postponed)


def _first_failure_ends_the_turn(patch: Patch) -> None:
    send = _sender.Sender._send

    def raising(self: _sender.Sender, delivery: Delivery) -> _sender.Answered:
        made = send(self, delivery, threading.get_ident())
        if made.apply is not deliveries.accepted:
            raise StopIteration
        return made

    def offer(self: _sender.Sender, target: str, attempts: list[Delivery]) -> list[_sender.Answered]:
        answered = []
        for delivery in attempts:
            try:
                answered.append(raising(self, delivery))
            except StopIteration:
                break
        return answered

    patch.setattr(_sender.Sender, "offer", offer)


def _one_lane_for_all(patch: Patch) -> None:
    """A destination that fails keeps its place at the head of every batch."""
    patch.setattr(
        deliveries,
        "postponed",
        lambda event, delivery, reason, now: replace(
            event, state=EventState.PENDING, owner="", reason=reason, due=Deadline.after(now, 0.0)
        ),
    )
    patch.setattr(limits, "DRAIN_BATCHES", 1)


# --- crash-after-send, delivered-once-across-restarts ---


def _acknowledged_before_sent(patch: Patch) -> None:
    dispatch = _outbox.Outbox._dispatch

    def confirmed_at_once(self: _outbox.Outbox, *args: Any, **more: Any) -> Any:
        batch = dispatch(self, *args, **more)
        self._commit(
            [_sender.Answered(each, deliveries.accepted) for each in batch.ready], _outbox.DrainReport()
        )
        return batch

    patch.setattr(_outbox.Outbox, "_dispatch", confirmed_at_once)


def _sending(change: Callable[[Delivery, Message], Message]) -> Callable[[Patch], None]:
    """A defect that changes the message of an attempt."""

    def breaks(patch: Patch) -> None:
        send = _sender.Sender._send

        def changed(self: _sender.Sender, delivery: Delivery, caller: int) -> _sender.Answered:
            kept = self._destinations
            target = kept[delivery.event.destination]
            self._destinations = {
                **kept,
                delivery.event.destination: lambda message: target(change(delivery, message)),
            }
            try:
                return send(self, delivery, caller)
            finally:
                self._destinations = kept

        patch.setattr(_sender.Sender, "_send", changed)

    return breaks


_new_id = _sending(lambda made, message: replace(message, event_id=f"{message.event_id}#{made.attempt}"))
_new_bytes = _sending(
    lambda made, message: replace(message, body=message.body[:-1] + b',"attempt":%d}' % made.attempt)
)


def _sent_is_never_due_again(patch: Patch) -> None:
    may_send = deliveries.may_send
    patch.setattr(
        deliveries, "may_send", lambda event, now: event.state is EventState.PENDING and may_send(event, now)
    )


def _start_announces_again(patch: Patch) -> None:
    sweep = _recoverer.Recoverer.sweep

    def again(self: _recoverer.Recoverer, **more: Any) -> _recoverer.SweepReport:
        store = self._verbs.store
        with store.transaction("dispatch") as tx:
            done = tx.events(states=(EventState.DELIVERED,), limit=100)
            due = [replace(each, state=EventState.PENDING, owner="") for each in done]
            tx.save([_outbox.Change(events=tuple(due))])
        return sweep(self, **more)

    patch.setattr(_recoverer.Recoverer, "sweep", again)


# --- late-acknowledgement ---


def _owner_is_enough(patch: Patch) -> None:
    patch.setattr(deliveries, "_answers", lambda event, delivery: event.owner == delivery.owner)


def _any_answer_counts(patch: Patch) -> None:
    patch.setattr(deliveries, "_require_newest", lambda event, delivery: None)


def _drained_beside_the_hand(patch: Patch) -> None:
    patch.setattr(
        _outbox.Outbox,
        "_passed_over",
        lambda self, now, drain: drain.idle | self._in_flight,
    )


def _answers_count_after_the_acknowledgement(patch: Patch) -> None:
    right = deliveries._require_newest

    def any_state(event: Event, delivery: Delivery) -> None:
        if not deliveries._answers(event, delivery):
            right(event, delivery)

    patch.setattr(deliveries, "_require_newest", any_state)


DELIVERY: list[Defect] = [
    Defect(
        "empty-destination",
        "An event to nobody is sent to nobody, and counts as delivered.",
        "delivered-to-someone",
        _nobody_accepts,
    ),
    Defect(
        "absent-destination",
        "An event for a destination that is not configured is tried, fails with a KeyError and waits.",
        "event",
        _unknown_is_tried,
    ),
    Defect(
        "absent-destination",
        "A batch of which everything was held ends the drain: what waits behind it is passed over.",
        "one-bad-apple",
        _held_ends_the_drain,
        name="behind-a-batch",
        scenario="many-for-nowhere-before-one-for-somewhere",
    ),
    Defect(
        "destination-refuses",
        "The reporter stops after one failed attempt; the next sweep may try again.",
        "delivered",
        _next_sweep_will_do,
        name="next-sweep-will-do",
    ),
    Defect(
        "destination-refuses",
        "An event that is refused for good is offered again and again.",
        "answer",
        _refusal_is_a_failure,
        name="refused-is-retried",
        scenario="destination-refuses-one-event",
    ),
    Defect(
        "destination-refuses",
        "One event that fails blocks those behind it.",
        "one-bad-apple",
        _first_failure_ends_the_turn,
        name="poison-blocks",
        scenario="destination-refuses-one-event",
    ),
    Defect(
        "destination-refuses",
        "Events that fail stay at the head of the only batch, and other destinations get nothing.",
        "one-bad-apple",
        _one_lane_for_all,
        name="others-wait",
        scenario="destination-stays-away",
    ),
    Defect(
        "crash-after-send",
        "An attempt is acknowledged as it is claimed: a sender that dies before sending loses the event.",
        "delivered-to-someone",
        _acknowledged_before_sent,
        name="acknowledged-first",
        scenario="crash-before-send",
    ),
    Defect(
        "crash-after-send",
        "Every attempt has an id of its own, so that its receiver cannot tell the copy.",
        "same-event-same-bytes",
        _new_id,
        name="new-id",
    ),
    Defect(
        "crash-after-send",
        "The number of the attempt is written into the body: copies differ.",
        "same-event-same-bytes",
        _new_bytes,
        name="new-bytes",
    ),
    Defect(
        "crash-after-send",
        "What was being sent at the crash is never due again.",
        "no-silent-zero",
        _sent_is_never_due_again,
        name="never-again",
        scenario="crash-before-send",
    ),
    Defect(
        "delivered-once-across-restarts",
        "Every start announces what has been delivered once more.",
        "acknowledged-stays",
        _start_announces_again,
    ),
    Defect(
        "late-acknowledgement",
        "An answer is matched by its owner alone: the one to try 1 confirms try 3.",
        "delivered-to-someone",
        _owner_is_enough,
    ),
    Defect(
        "late-acknowledgement",
        "An answer to any attempt counts, whoever made it and whatever became of it.",
        "delivered-to-someone",
        _any_answer_counts,
        name="any-attempt",
    ),
    Defect(
        "late-acknowledgement",
        "What was handed out to be sent by hand is drained by the same owner beside it.",
        "delivered",
        _drained_beside_the_hand,
        name="beside-the-hand",
        scenario="late-and-never-overtaken",
    ),
    Defect(
        "late-acknowledgement",
        "A second answer to the attempt that was acknowledged takes the acknowledgement back.",
        "acknowledged-stays",
        _answers_count_after_the_acknowledgement,
        name="taken-back",
    ),
]
