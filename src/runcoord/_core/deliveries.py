"""The rules of the outbox: who may send an event, and what an answer to an attempt does.

An event is sent at least once. An attempt belongs to one owner until its claim ends, and has a number;
an answer that names another attempt than the newest is refused and changes nothing.
"""

from __future__ import annotations

from runcoord._core.evolving import evolved
from runcoord._core.limits import (
    DELIVERY_BACKOFF_SECONDS,
    DELIVERY_CLAIM_SECONDS,
    MAX_DELIVERY_ATTEMPTS,
    MAX_DELIVERY_BACKOFF_SECONDS,
    MAX_ERROR_CHARACTERS,
    MAX_UNANSWERED_ATTEMPTS,
    TRUSTED_UNANSWERED_ATTEMPTS,
)
from runcoord._core.model import Deadline, Delivery, Event, EventState, Instant
from runcoord._core.texts import storable
from runcoord.errors import InvalidRequest, StaleDelivery


def may_send(event: Event, now: Instant) -> bool:
    """True when the event waits for an attempt: it is due, or the claim of the last attempt has ended."""
    if event.state is EventState.PENDING:
        return event.due.passed(now) or event.due.implausible(now, MAX_DELIVERY_BACKOFF_SECONDS)
    if event.state is EventState.SENDING:
        return event.due.passed(now) or event.due.implausible(now, DELIVERY_CLAIM_SECONDS)
    return False


def claimed(event: Event, owner: str, now: Instant) -> Event:
    """The event with a new attempt, owned by ``owner``; or held, when too many were never answered: whoever
    makes one may be dying of it."""
    unanswered = event.unanswered + (event.state is EventState.SENDING)
    if unanswered >= MAX_UNANSWERED_ATTEMPTS:
        reason = f"gave up after {unanswered} unanswered attempts in a row: its senders died or hung"
        return held(evolved(event, unanswered=unanswered), reason)
    return evolved(
        event,
        state=EventState.SENDING,
        attempt=event.attempt + 1,
        owner=owner,
        due=Deadline.after(now, DELIVERY_CLAIM_SECONDS),
        unanswered=unanswered,
    )


def sent_alone(event: Event) -> bool:
    """Whether it is sent by itself, because earlier senders never answered."""
    return event.unanswered > TRUSTED_UNANSWERED_ATTEMPTS


def delivery_of(event: Event) -> Delivery:
    return Delivery(event, event.owner, event.attempt, event.due)


def orphaned(event: Event, now: Instant) -> Event:
    """The owner of the attempt is proved dead: the event is due again at once. Nothing failed that is known
    of, so that no wait grows; whether the destination has it is unknown, as after every crash. The attempt
    stays counted as one that nobody answered: its owner may have died of it."""
    due = Deadline.after(now, 0.0)
    return evolved(event, state=EventState.PENDING, owner="", due=due, unanswered=event.unanswered + 1)


def accepted(event: Event, delivery: Delivery, now: Instant) -> Event:
    """The destination accepted this attempt. Repeating the same answer changes nothing."""
    if event.state is EventState.DELIVERED and _answers(event, delivery):
        return event
    _require_newest(event, delivery)
    return evolved(event, state=EventState.DELIVERED, delivered_at=now.wall, reason="")


def postponed(event: Event, delivery: Delivery, reason: str, now: Instant) -> Event:
    """The attempt failed; try again later, doubling the wait, and hold it after too many tries."""
    _require_newest(event, delivery)
    failures = event.failures + 1
    if failures >= MAX_DELIVERY_ATTEMPTS:
        reason = f"gave up after {failures} failed attempts: {reason}"
        return held(evolved(event, failures=failures, unanswered=0), reason)
    due = Deadline.after(now, backoff(failures))
    reason = _bounded(reason)
    return evolved(
        event, state=EventState.PENDING, owner="", reason=reason, due=due, failures=failures, unanswered=0
    )


def refused(event: Event, delivery: Delivery, reason: str) -> Event:
    """The destination refused for good: held, visible, replayable."""
    _require_newest(event, delivery)
    return held(event, reason or "refused")


def held(event: Event, reason: str) -> Event:
    """The event waits for the operator, who has not been told of it yet."""
    return evolved(event, state=EventState.HELD, owner="", reason=_bounded(reason), told=False)


def replayed(event: Event, destination: str, now: Instant) -> Event:
    """A held event goes out again, to ``destination`` if one is given. Its id and body stay, the counts of
    its failures and of its unanswered attempts begin anew."""
    if event.state is not EventState.HELD:
        raise InvalidRequest(
            f"event {event.event_id!r} is {event.state.value}, not held",
            remedy="Only held events are replayed; the others are sent or done.",
            event=event.event_id,
            state=event.state.value,
        )
    target = destination or event.destination
    if not target:
        raise InvalidRequest(
            f"event {event.event_id!r} has no destination", remedy="Name one.", event=event.event_id
        )
    due = Deadline.after(now, 0.0)
    return evolved(
        event, state=EventState.PENDING, destination=target, reason="", due=due, failures=0, unanswered=0
    )


def backoff(failures: int) -> float:
    """Seconds to wait after so many failed attempts in a row (at least 1)."""
    exponent = min(max(failures, 1) - 1, 30)
    return min(DELIVERY_BACKOFF_SECONDS * 2.0**exponent, MAX_DELIVERY_BACKOFF_SECONDS)


def _bounded(reason: str) -> str:
    return storable(reason)[:MAX_ERROR_CHARACTERS]


def _answers(event: Event, delivery: Delivery) -> bool:
    return (event.owner, event.attempt) == (delivery.owner, delivery.attempt)


def _require_newest(event: Event, delivery: Delivery) -> None:
    if event.state is EventState.SENDING and _answers(event, delivery):
        return
    raise StaleDelivery(
        f"attempt {delivery.attempt} of event {event.event_id!r} is not under way: the event is "
        f"{event.state.value} at attempt {event.attempt}",
        remedy="Ignore this answer; the newest attempt decides.",
        event=event.event_id,
        attempt=delivery.attempt,
        newest=event.attempt,
        state=event.state.value,
    )
