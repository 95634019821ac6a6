"""The outbox on the default store: batches, destinations of every kind, bounds, bad rows, two threads."""

from __future__ import annotations

from pathlib import Path

import pytest

from runcoord import DestinationRefused, EventState, Message
from runcoord._core import limits
from runcoord.errors import StaleDelivery, StoreError
from runcoord.ports import Ports
from runcoord.testing import ManualClock, ManualSleeper

from .default_store import Places, damage, ended, many_waiting, opened, running, states
from .hooks import HookedStore

# --- what is sent ---------------------------------------------------------------------------------


def test_a_backlog_of_several_batches_is_sent_in_one_drain_in_the_order_of_acceptance(
    path: Path, clock: ManualClock, places: Places
) -> None:
    with opened(path, clock, places) as coordinator:
        waiting = many_waiting(coordinator, clock, 2 * limits.DELIVERY_BATCH + 10)
        report = coordinator.deliver()
        assert (report.delivered, report.unfinished) == (len(waiting), False)
        assert places.ids() == waiting
        assert coordinator.deliver().delivered == 0
        assert len(places.offered) == len(waiting)


def test_where_no_destinations_are_configured_nothing_is_sent_and_nothing_is_held(
    path: Path, clock: ManualClock, places: Places
) -> None:
    with opened(path, clock) as submitting:
        ended(submitting, "r1")
        ended(submitting, "r2", "gone")
        before = states(submitting)
        assert submitting.deliver().delivered == submitting.recover().drain.held == 0
        assert states(submitting) == before == {"r1/finished": "pending", "r2/finished": "pending"}


def test_an_event_for_an_unknown_destination_is_held_with_its_reason_and_can_be_sent_elsewhere(
    path: Path, clock: ManualClock, places: Places
) -> None:
    with opened(path, clock, places) as coordinator:
        ended(coordinator, "r1", "gone")
        ended(coordinator, "r2")
        report = coordinator.deliver()
        assert (report.held, report.delivered) == (1, 1)
        [held] = coordinator.events(states=[EventState.HELD]).events
        assert held.reason == "no destination 'gone' is configured"
        coordinator.replay("r1/finished", destination="mail")
        assert coordinator.deliver().delivered == 1
        assert places.ids("mail") == ["r1/finished"]


def test_one_failing_destination_leaves_the_others_alone_and_is_tried_again_after_a_growing_wait(
    path: Path, clock: ManualClock, places: Places
) -> None:
    places.moods["mail"] = "is down"
    with opened(path, clock, places) as coordinator:
        for number in range(5):
            ended(coordinator, f"m{number}", "mail")
            ended(coordinator, f"c{number}", "chat")
        report = coordinator.deliver()
        assert (report.delivered, report.postponed, report.unfinished) == (5, 5, False)
        for wait in (1.0, 2.0, 4.0):
            assert coordinator.deliver().postponed == 0
            clock.advance(wait - 0.001)
            assert coordinator.deliver().postponed == 0
            clock.advance(0.002)
            assert coordinator.deliver().postponed == 5
        places.moods["mail"] = "takes"
        clock.advance(8.0)
        assert coordinator.deliver().delivered == 5
        assert sorted(places.ids("mail")) == [f"m{number}/finished" for number in range(5)]


@pytest.mark.parametrize("kind", [Exception, DestinationRefused])
def test_a_destination_whose_error_cannot_be_shown_blocks_nobody(
    path: Path, clock: ManualClock, places: Places, kind: type[Exception]
) -> None:
    class Unspeakable(kind):  # type: ignore[misc,valid-type]
        def __str__(self) -> str:
            raise RuntimeError("no words")

    def mail(message: Message) -> None:
        raise Unspeakable

    places.table = {**places.table, "mail": mail}
    with opened(path, clock, places) as coordinator:
        ended(coordinator, "r1", "mail")
        ended(coordinator, "r2", "chat")
        report = coordinator.deliver()
        assert (report.delivered, report.postponed + report.held) == (1, 1)
        [event] = coordinator.events(run_id="r1").events
        assert "(its message cannot be shown)" in event.reason


def test_after_a_crash_between_sending_and_recording_the_same_bytes_are_sent_again(
    path: Path, clock: ManualClock, places: Places
) -> None:
    def crashes() -> None:
        raise StoreError("the store is gone", remedy="Open it again.")

    store = HookedStore()
    ports = Ports(clock=clock, sleeper=ManualSleeper(clock), wrap_store=store.around)
    with opened(path, clock, places, ports=ports) as coordinator:
        ended(coordinator, "r1")
        store.before["acknowledge"] = crashes
        with pytest.raises(StoreError):
            coordinator.deliver()
    with opened(path, clock, places) as successor:
        assert successor.deliver().delivered == 0
        clock.advance(limits.DELIVERY_CLAIM_SECONDS)
        assert successor.deliver().delivered == 1
    first, second = places.offered
    assert (first.event_id, first.body) == (second.event_id, second.body)
    assert (first.attempt, second.attempt) == (1, 2)


def test_the_owner_of_an_attempt_makes_it_again_at_once_when_recording_failed(
    path: Path, clock: ManualClock, places: Places
) -> None:
    """Without a crash nobody waits for the claim to end."""
    failures = [StoreError("the store failed", remedy="Try again.")]

    def fails_once() -> None:
        if failures:
            raise failures.pop()

    store = HookedStore()
    store.before["acknowledge"] = fails_once

    ports = Ports(clock=clock, sleeper=ManualSleeper(clock), wrap_store=store.around)
    with opened(path, clock, places, ports=ports) as coordinator:
        ended(coordinator, "r1")
        with pytest.raises(StoreError):
            coordinator.deliver()
        assert coordinator.deliver().delivered == 1
    assert [message.attempt for message in places.offered] == [1, 1]


# --- slow destinations and bounds -----------------------------------------------------------------


def test_a_slow_destination_with_more_than_a_batch_waiting_does_not_hold_up_the_others(
    path: Path, clock: ManualClock, places: Places
) -> None:
    places.moods["mail"] = 2.0
    with opened(path, clock, places) as coordinator:
        slow = many_waiting(coordinator, clock, limits.DELIVERY_BATCH + 50, "mail")
        quick = many_waiting(coordinator, clock, 5, "chat")
        report = coordinator.deliver()
        assert places.ids("chat") == quick
        most = limits.DESTINATION_SECONDS + limits.SEND_SECONDS
        assert 0 < len(places.ids("mail")) <= most / 2.0
        assert report.unfinished
        assert places.ids("mail") == slow[: len(places.ids("mail"))]


def test_a_destination_that_was_slow_comes_last_in_the_next_drain(
    path: Path, clock: ManualClock, places: Places
) -> None:
    places.moods["mail"] = 2.0
    with opened(path, clock, places) as coordinator:
        many_waiting(coordinator, clock, limits.DELIVERY_BATCH + 50, "mail")
        coordinator.deliver()
        seen = len(places.taken)
        many_waiting(coordinator, clock, 5, "chat")
        coordinator.deliver()
        assert [message.destination for message in places.taken[seen : seen + 5]] == ["chat"] * 5


def test_a_drain_ends_when_its_time_is_over_and_says_that_there_is_more(
    path: Path, clock: ManualClock
) -> None:
    names = [f"d{number}" for number in range(12)]
    places = Places(clock, *names)
    places.moods = dict.fromkeys(names, 4.0)
    with opened(path, clock, places) as coordinator:
        for name in names:
            many_waiting(coordinator, clock, 20, name)
        began = clock.boottime()
        report = coordinator.deliver()
        assert report.unfinished
        assert clock.boottime() - began <= limits.DRAIN_SECONDS + limits.SEND_SECONDS
        assert report.delivered == len(places.taken)


def test_a_drain_is_bounded_in_batches_too_where_a_clock_stands_still(
    path: Path, clock: ManualClock, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "DRAIN_BATCHES", 2)
    with opened(path, clock, places) as coordinator:
        many_waiting(coordinator, clock, 3 * limits.DELIVERY_BATCH)
        report = coordinator.deliver()
        assert (report.delivered, report.unfinished) == (2 * limits.DELIVERY_BATCH, True)
        assert coordinator.deliver().delivered == limits.DELIVERY_BATCH


# --- bad rows -------------------------------------------------------------------------------------


def test_one_damaged_row_among_three_hundred_is_named_and_the_others_are_delivered(
    path: Path, clock: ManualClock, places: Places
) -> None:
    with opened(path, clock, places) as coordinator:
        waiting = many_waiting(coordinator, clock, 300)
        damage(path, "UPDATE events SET kind = 'nonsense' WHERE event_id = ?", waiting[100])
        report = coordinator.recover().drain
        assert (report.delivered, report.unfinished) == (299, False)
        assert [(row.table, row.key) for row in report.bad] == [("events", waiting[100])]
        assert places.ids() == [event_id for event_id in waiting if event_id != waiting[100]]
        assert coordinator.deliver().delivered == 0


def test_more_damaged_rows_than_a_batch_do_not_keep_a_good_one_behind_them_waiting(
    path: Path, clock: ManualClock, places: Places
) -> None:
    with opened(path, clock, places) as coordinator:
        many_waiting(coordinator, clock, limits.DELIVERY_BATCH + 10)
        damage(path, "UPDATE events SET kind = 'nonsense'")
        good = many_waiting(coordinator, clock, 3, "mail")
        report = coordinator.deliver()
        assert places.ids() == good
        assert len(report.bad) == limits.DELIVERY_BATCH + 10


def test_a_row_that_cannot_be_read_is_looked_at_by_sweeps_and_not_every_second(
    path: Path, clock: ManualClock, places: Places
) -> None:
    with opened(path, clock, places) as coordinator:
        ended(coordinator, "r1")
        damage(path, "UPDATE events SET kind = 'nonsense'")
        coordinator.deliver()
        sweep_at = clock.boottime() + coordinator.settings.sweep
        assert coordinator.maintenance.next_due() == pytest.approx(sweep_at)


# --- by hand, and two threads ---------------------------------------------------------------------


def test_what_was_handed_out_is_neither_handed_out_again_nor_drained_until_its_claim_ends(
    path: Path, clock: ManualClock, places: Places
) -> None:
    with opened(path, clock, places) as coordinator:
        ended(coordinator, "r1")
        ended(coordinator, "r2")
        [first] = coordinator.dispatch(limit=1)
        assert [each.event.event_id for each in coordinator.dispatch()] == ["r2/finished"]
        assert coordinator.deliver().delivered == 0
        assert coordinator.dispatch() == []
        clock.advance(limits.DELIVERY_CLAIM_SECONDS)
        assert coordinator.deliver().delivered == 2
        before = coordinator.events()
        with pytest.raises(StaleDelivery):
            coordinator.acknowledge(first)
        assert coordinator.events() == before


def test_an_attempt_that_was_answered_by_hand_is_sent_by_drains_again_when_due(
    path: Path, clock: ManualClock, places: Places
) -> None:
    with opened(path, clock, places) as coordinator:
        ended(coordinator, "r1")
        [made] = coordinator.dispatch()
        coordinator.postpone(made, "later")
        assert coordinator.deliver().delivered == 0
        clock.advance(1.0)
        assert coordinator.deliver().delivered == 1


def test_two_drains_of_one_owner_at_once_send_each_attempt_once(
    path: Path, clock: ManualClock, places: Places
) -> None:
    """The second begins when the first has claimed its batch and has sent nothing of it."""
    store = HookedStore()
    second: list[int] = []

    def drain_too() -> None:
        store.after.clear()
        second.append(coordinator.deliver().delivered)

    ports = Ports(clock=clock, sleeper=ManualSleeper(clock), wrap_store=store.around)
    with opened(path, clock, places, ports=ports) as coordinator:
        waiting = many_waiting(coordinator, clock, 10)
        store.after["dispatch"] = drain_too
        report = coordinator.deliver()
        assert (report.delivered, second) == (10, [0])
        assert places.ids() == waiting


@pytest.mark.parametrize("verb", ["deliver", "dispatch"])
def test_a_claim_whose_commit_is_uncertain_is_taken_up_again_by_its_owner(
    path: Path, clock: ManualClock, places: Places, verb: str
) -> None:
    store = HookedStore()

    def lose_the_reply() -> None:
        store.after.clear()
        raise StoreError("no answer", remedy="Repeat it.")

    ports = Ports(clock=clock, sleeper=ManualSleeper(clock), wrap_store=store.around)
    with opened(path, clock, places, ports=ports) as coordinator:
        ended(coordinator, "r1")
        store.after["dispatch"] = lose_the_reply
        with pytest.raises(StoreError):
            getattr(coordinator, verb)()
        assert coordinator.deliver().delivered == 1


def test_a_completion_hands_out_its_first_attempt_where_its_destination_is_served(
    path: Path, clock: ManualClock, places: Places
) -> None:
    with opened(path, clock, places) as coordinator:
        done = coordinator.complete(running(coordinator, "r1"), "completed")
        assert done.delivery is not None
        coordinator.acknowledge(done.delivery)
        assert coordinator.deliver().delivered == 0
        assert coordinator.complete(running(coordinator, "r2", "gone"), "completed").delivery is None
        assert states(coordinator) == {"r1/finished": "delivered", "r2/finished": "pending"}
