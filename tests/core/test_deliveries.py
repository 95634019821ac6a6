"""The rules of the outbox: who may send, what an answer does, and how long the waits are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.some_runs import NOW, OWNER, RIVAL
from core.strategies import SOME, deadlines, instants
from runcoord import Deadline, Delivery, Event, EventKind, EventState, Instant
from runcoord._core import deliveries
from runcoord._core.limits import (
    DELIVERY_BACKOFF_SECONDS,
    DELIVERY_CLAIM_SECONDS,
    MAX_DELIVERY_ATTEMPTS,
    MAX_DELIVERY_BACKOFF_SECONDS,
    MAX_ERROR_CHARACTERS,
    MAX_UNANSWERED_ATTEMPTS,
    TRUSTED_UNANSWERED_ATTEMPTS,
)
from runcoord.errors import InvalidRequest, StaleDelivery

PENDING = Event(
    "r1/finished",
    "r1",
    EventKind.FINISHED,
    "chat",
    "{}",
    NOW.wall,
    EventState.PENDING,
    Deadline.after(NOW, 0.0),
    seq=1,
)
SENDING = deliveries.claimed(PENDING, OWNER, NOW)
MADE = deliveries.delivery_of(SENDING)
HELD = deliveries.held(PENDING, "nowhere to go")
DELIVERED = deliveries.accepted(SENDING, MADE, NOW)

Answer = Callable[[Event, Delivery], Event]
ANSWERS: dict[str, Answer] = {
    "accepted": lambda event, made: deliveries.accepted(event, made, NOW),
    "postponed": lambda event, made: deliveries.postponed(event, made, "down", NOW),
    "refused": lambda event, made: deliveries.refused(event, made, "no such room"),
}


def later(seconds: float) -> Instant:
    return Instant(NOW.wall + seconds, NOW.boottime + seconds, NOW.boot_id)


# --- who may send ---------------------------------------------------------------------------------


def test_a_pending_event_may_be_sent_when_it_is_due_and_one_that_is_being_sent_when_its_claim_ends() -> None:
    waiting = replace(PENDING, due=Deadline.after(NOW, 5.0))
    assert [deliveries.may_send(waiting, later(seconds)) for seconds in (0, 4.9, 5)] == [False, False, True]
    ends = DELIVERY_CLAIM_SECONDS
    assert [deliveries.may_send(SENDING, later(seconds)) for seconds in (0, ends - 1, ends)] == [
        False,
        False,
        True,
    ]


def test_held_and_delivered_events_are_never_sent_by_themselves() -> None:
    for event in (HELD, DELIVERED):
        assert not deliveries.may_send(event, later(1e9))


@SOME
@given(deadlines, instants, st.sampled_from([EventState.PENDING, EventState.SENDING]))
def test_no_event_waits_longer_than_its_cap_whatever_the_clocks_did(
    due: Deadline, now: Instant, state: EventState
) -> None:
    """On another boot a deadline that lies beyond the longest wait was made by a wrong clock."""
    event = replace(PENDING, state=state, due=due, owner=OWNER, attempt=1)
    cap = MAX_DELIVERY_BACKOFF_SECONDS if state is EventState.PENDING else DELIVERY_CLAIM_SECONDS
    if not deliveries.may_send(event, now) and due.boot_id != now.boot_id:
        assert 0 < due.wall - now.wall <= cap


@SOME
@given(st.integers(-5, 10**9))
def test_the_wait_doubles_and_stays_within_its_bounds(failures: int) -> None:
    wait = deliveries.backoff(failures)
    assert DELIVERY_BACKOFF_SECONDS <= wait <= MAX_DELIVERY_BACKOFF_SECONDS
    assert deliveries.backoff(failures + 1) >= wait
    if failures >= 1 and wait < MAX_DELIVERY_BACKOFF_SECONDS:
        assert wait == DELIVERY_BACKOFF_SECONDS * 2 ** (failures - 1)


def test_the_waits_in_their_order() -> None:
    waits = [deliveries.backoff(failures) for failures in range(1, 12)]
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


# --- answers --------------------------------------------------------------------------------------


def test_an_attempt_has_a_new_number_and_belongs_to_its_owner_until_its_claim_ends() -> None:
    again = deliveries.claimed(SENDING, RIVAL, later(60))
    assert (again.attempt, again.owner, again.state) == (2, RIVAL, EventState.SENDING)
    assert again.due.remaining(later(60)) == DELIVERY_CLAIM_SECONDS
    assert (again.event_id, again.body) == (PENDING.event_id, PENDING.body)


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize(
    ("event", "made"),
    [
        (deliveries.claimed(SENDING, OWNER, NOW), MADE),
        (deliveries.claimed(SENDING, RIVAL, NOW), MADE),
        (SENDING, replace(MADE, owner=RIVAL)),
        (SENDING, replace(MADE, attempt=2)),
        (PENDING, MADE),
        (HELD, MADE),
        (deliveries.postponed(SENDING, MADE, "down", NOW), MADE),
    ],
    ids=["newer attempt", "another owner", "foreign", "future", "pending", "held", "postponed"],
)
def test_an_answer_to_any_but_the_newest_attempt_is_refused_and_changes_nothing(
    answer: str, event: Event, made: Delivery
) -> None:
    before = replace(event)
    with pytest.raises(StaleDelivery) as caught:
        ANSWERS[answer](event, made)
    assert caught.value.remedy
    assert caught.value.details["newest"] == event.attempt
    assert event == before


def test_acceptance_repeated_changes_nothing_and_other_answers_after_it_are_stale() -> None:
    assert deliveries.accepted(DELIVERED, MADE, later(5)) is DELIVERED
    for answer in ("postponed", "refused"):
        with pytest.raises(StaleDelivery):
            ANSWERS[answer](DELIVERED, MADE)
    with pytest.raises(StaleDelivery):
        deliveries.accepted(DELIVERED, replace(MADE, attempt=2), NOW)


def test_a_failed_attempt_waits_and_says_why() -> None:
    event = deliveries.postponed(SENDING, MADE, "down", NOW)
    assert (event.state, event.owner, event.reason, event.failures) == (EventState.PENDING, "", "down", 1)
    assert event.due.remaining(NOW) == 1.0


def test_after_too_many_failures_the_event_is_held_and_was_not_told_of() -> None:
    tried = replace(SENDING, failures=MAX_DELIVERY_ATTEMPTS - 1, told=True)
    event = deliveries.postponed(tried, MADE, "down", NOW)
    assert (event.state, event.told, event.failures) == (EventState.HELD, False, MAX_DELIVERY_ATTEMPTS)
    assert event.reason == f"gave up after {MAX_DELIVERY_ATTEMPTS} failed attempts: down"
    assert deliveries.postponed(
        replace(tried, failures=MAX_DELIVERY_ATTEMPTS - 2), MADE, "down", NOW
    ).state is (EventState.PENDING)


def test_a_refusal_for_good_holds_the_event_with_its_reason() -> None:
    assert deliveries.refused(SENDING, MADE, "no such room").reason == "no such room"
    assert deliveries.refused(SENDING, MADE, "").reason == "refused"


@SOME
@given(st.text(st.characters(), max_size=30))
def test_a_reason_is_bounded_and_can_be_stored(reason: str) -> None:
    for event in (
        deliveries.postponed(SENDING, MADE, reason * 500, NOW),
        deliveries.refused(SENDING, MADE, reason * 500),
    ):
        assert len(event.reason) <= MAX_ERROR_CHARACTERS
        event.reason.encode()


# --- attempts that nobody answers -----------------------------------------------------------------


def unanswered(count: int) -> Event:
    """Claimed once more than that, each time because the claim before ended without an answer."""
    event = SENDING
    for _ in range(count):
        event = deliveries.claimed(event, OWNER, NOW)
    return event


def test_after_too_many_unanswered_attempts_in_a_row_an_event_is_held_instead_of_sent_again() -> None:
    last = unanswered(MAX_UNANSWERED_ATTEMPTS - 1)
    assert (last.state, last.attempt) == (EventState.SENDING, MAX_UNANSWERED_ATTEMPTS)
    event = deliveries.claimed(replace(last, told=True), RIVAL, NOW)
    assert (event.state, event.owner, event.told) == (EventState.HELD, "", False)
    assert event.attempt == MAX_UNANSWERED_ATTEMPTS, "no attempt was begun"
    assert event.reason.startswith(f"gave up after {MAX_UNANSWERED_ATTEMPTS} unanswered attempts in a row")


def test_an_answer_and_a_replay_begin_the_count_of_unanswered_attempts_anew() -> None:
    tried = unanswered(MAX_UNANSWERED_ATTEMPTS - 1)
    failed = deliveries.postponed(tried, deliveries.delivery_of(tried), "down", NOW)
    replayed = deliveries.replayed(deliveries.claimed(tried, RIVAL, NOW), "", NOW)
    for event in (failed, replayed):
        again = deliveries.claimed(event, OWNER, NOW)
        assert (again.state, again.unanswered) == (EventState.SENDING, 0)
    assert failed.failures == 1


def test_an_event_is_sent_by_itself_after_more_unanswered_attempts_than_are_put_down_to_chance() -> None:
    alone = [deliveries.sent_alone(unanswered(count)) for count in range(TRUSTED_UNANSWERED_ATTEMPTS + 2)]
    assert alone == [False] * (TRUSTED_UNANSWERED_ATTEMPTS + 1) + [True]


# --- replaying ------------------------------------------------------------------------------------


def test_a_replayed_event_goes_out_as_it_was_with_its_failures_forgotten() -> None:
    tired = replace(HELD, attempt=300, failures=300, told=True)
    again = deliveries.replayed(tired, "", NOW)
    assert (again.event_id, again.body, again.attempt) == (tired.event_id, tired.body, 300)
    assert (again.state, again.destination, again.failures) == (EventState.PENDING, "chat", 0)
    assert deliveries.may_send(again, NOW)
    assert deliveries.replayed(tired, "mail", NOW).destination == "mail"


@pytest.mark.parametrize("event", [PENDING, SENDING, DELIVERED], ids=lambda event: event.state.value)
def test_only_held_events_are_replayed(event: Event) -> None:
    before = replace(event)
    with pytest.raises(InvalidRequest, match="not held"):
        deliveries.replayed(event, "mail", NOW)
    assert event == before


def test_a_held_event_without_a_destination_needs_one_to_be_replayed() -> None:
    nowhere = replace(HELD, destination="")
    with pytest.raises(InvalidRequest, match="has no destination"):
        deliveries.replayed(nowhere, "", NOW)
    assert deliveries.replayed(nowhere, "mail", NOW).destination == "mail"
