"""Whatever a destination raises is its answer to one event: nobody else's delivery or timer ends with it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from runcoord import Coordinator, EventState, open_coordinator
from runcoord.ports import Message, Ports
from runcoord.testing import ManualClock, MemoryStore

T = TypeVar("T")
LONG = 10.0

RAISED = [ValueError("no"), SystemExit(3), GeneratorExit(), asyncio.CancelledError(), KeyboardInterrupt()]


@pytest.fixture
def accepted() -> list[str]:
    return []


@pytest.fixture(params=RAISED, ids=lambda error: type(error).__name__)
def raised(request: pytest.FixtureRequest) -> BaseException:
    error: BaseException = request.param
    return error


def destinations(accepted: list[str], raised: BaseException) -> dict[str, Callable[[Message], None]]:
    def poison(message: Message) -> None:
        raise raised

    return {"bad": poison, "good": lambda message: accepted.append(message.event_id)}


@pytest.fixture
def coordinator(accepted: list[str], raised: BaseException) -> Iterator[Coordinator]:
    ports = Ports(clock=ManualClock(), store=MemoryStore())
    with open_coordinator("unused", destinations=destinations(accepted, raised), ports=ports) as opened:
        yield opened


def ended(coordinator: Coordinator, run_id: str, destination: str) -> None:
    coordinator.submit({}, run_id=run_id, destination=destination)
    lease = coordinator.claim(run_id)
    coordinator.start(lease)
    coordinator.complete(lease, "completed")


def test_what_a_destination_raises_postpones_its_own_event_and_no_other(
    coordinator: Coordinator, accepted: list[str], raised: BaseException
) -> None:
    for run_id, destination in (("r1", "good"), ("r2", "bad"), ("r3", "good")):
        ended(coordinator, run_id, destination)

    report = coordinator.deliver()

    assert (report.delivered, report.postponed) == (2, 1)
    assert sorted(accepted) == ["r1/finished", "r3/finished"]
    first, bad, last = coordinator.events().events
    assert (first.state, last.state) == (EventState.DELIVERED, EventState.DELIVERED)
    assert (bad.state, bad.attempt) == (EventState.PENDING, 1)
    assert bad.reason.startswith(type(raised).__name__)


def test_a_caller_who_is_interrupted_while_sending_in_its_own_thread_is_not_held_back(
    accepted: list[str],
) -> None:
    class Direct:
        def call(self, seconds: float, call: Callable[[], T]) -> T:
            return call()

    table = destinations(accepted, KeyboardInterrupt())
    ports = Ports(clock=ManualClock(), store=MemoryStore(), bounded=Direct())
    with open_coordinator("unused", destinations=table, ports=ports) as coordinator:
        ended(coordinator, "r1", "bad")
        with pytest.raises(KeyboardInterrupt):
            coordinator.deliver()


def test_the_thread_that_serves_outlives_a_destination_that_leaves() -> None:
    left, arrived = threading.Event(), threading.Event()

    def leaving(message: Message) -> None:
        left.set()
        raise SystemExit(1)

    clock = ManualClock()
    table: dict[str, Callable[[Message], None]] = {"bad": leaving, "good": lambda message: arrived.set()}
    ports = Ports(clock=clock, store=MemoryStore())
    with open_coordinator("unused", destinations=table, ports=ports) as coordinator:
        ended(coordinator, "r1", "bad")
        clock.advance(coordinator.settings.sweep)
        coordinator.serve()
        clock.advance(coordinator.settings.sweep)
        assert left.wait(LONG)
        ended(coordinator, "r2", "good")
        clock.advance(coordinator.settings.sweep)

        assert arrived.wait(LONG)
