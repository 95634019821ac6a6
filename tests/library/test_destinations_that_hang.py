"""A destination that does not return costs its own events time, and nobody else's; with real threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from runcoord import Coordinator, EventState, open_coordinator
from runcoord._core import limits
from runcoord.ports import Message, Ports
from runcoord.testing import ManualClock, MemoryStore

SHORT = 0.02
LONG = 30.0


class Hanging:
    """A destination that returns when it is released; then it accepts at once."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.offered: list[Message] = []

    def __call__(self, message: Message) -> None:
        self.offered.append(message)
        assert self.released.wait(LONG)


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hanging]:
    monkeypatch.setattr(limits, "SEND_SECONDS", SHORT)
    destination = Hanging()
    yield destination
    destination.released.set()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def accepted() -> list[Message]:
    return []


@pytest.fixture
def coordinator(hanging: Hanging, clock: ManualClock, accepted: list[Message]) -> Iterator[Coordinator]:
    ports = Ports(clock=clock, store=MemoryStore())
    with open_coordinator(
        "unused", destinations={"stuck": hanging, "chat": accepted.append}, ports=ports
    ) as opened:
        yield opened


def ended(coordinator: Coordinator, run: str, destination: str) -> None:
    """Write an event for a destination."""
    coordinator.submit(run_id=run, destination=destination)
    coordinator.stop(run)


def event_of(coordinator: Coordinator, run: str) -> tuple[EventState, int, str]:
    [event] = coordinator.events(run_id=run).events
    return event.state, event.attempt, event.reason


def test_a_call_that_does_not_return_is_a_failed_attempt_and_others_get_their_events(
    coordinator: Coordinator, accepted: list[Message]
) -> None:
    ended(coordinator, "r1", "stuck")
    ended(coordinator, "r2", "chat")
    report = coordinator.deliver()
    assert (report.delivered, report.postponed) == (1, 1)
    assert [message.run_id for message in accepted] == ["r2"]
    assert event_of(coordinator, "r1") == (EventState.PENDING, 1, "no answer within 0.02 s")


def test_nothing_more_is_offered_until_the_call_returns_and_the_report_says_that_something_waits(
    coordinator: Coordinator, hanging: Hanging, clock: ManualClock, accepted: list[Message]
) -> None:
    ended(coordinator, "r1", "stuck")
    coordinator.deliver()
    ended(coordinator, "r2", "stuck")
    ended(coordinator, "r3", "chat")
    clock.advance(2.0)
    report = coordinator.deliver()
    assert (report.delivered, report.postponed, report.unfinished) == (1, 0, True)
    assert [message.run_id for message in hanging.offered] == ["r1"]
    assert event_of(coordinator, "r2") == (EventState.PENDING, 0, "")


def test_a_destination_that_returned_is_served_again_and_its_late_answer_confirms_nothing(
    coordinator: Coordinator, hanging: Hanging, clock: ManualClock
) -> None:
    ended(coordinator, "r1", "stuck")
    coordinator.deliver()
    hanging.released.set()
    clock.advance(2.0)
    deadline = time.monotonic() + LONG
    # The thread of the first call has to come to its end first.
    while coordinator.deliver().unfinished:
        assert time.monotonic() < deadline
    assert event_of(coordinator, "r1") == (EventState.DELIVERED, 2, "")
    assert len({(message.event_id, message.body) for message in hanging.offered}) == 1
    assert [message.attempt for message in hanging.offered] == [1, 2]
