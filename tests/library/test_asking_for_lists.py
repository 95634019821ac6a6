"""What is asked of lists is checked: a slip of the keyboard is neither a crash nor an empty list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from runcoord import Coordinator, EventState, State, open_coordinator
from runcoord.errors import InvalidRequest
from runcoord.ports import Ports
from runcoord.testing import ManualClock, MemoryStore


@pytest.fixture
def coordinator() -> Iterator[Coordinator]:
    ports = Ports(clock=ManualClock(), store=MemoryStore())
    with open_coordinator("unused", destinations={"chat": lambda message: None}, ports=ports) as opened:
        opened.submit(run_id="waits")
        opened.submit(run_id="ended", destination="chat")
        opened.stop("ended")
        yield opened


def test_states_may_be_given_by_their_names(coordinator: Coordinator) -> None:
    names: Any = ["accepted"]
    assert [run.run_id for run in coordinator.runs(states=names).runs] == ["waits"]
    names = ["pending"]
    assert [event.run_id for event in coordinator.events(states=names).events] == ["ended"]


@pytest.mark.parametrize("states", ["accepted", ["nonsense"], [State.ACCEPTED, ""], [None]])
def test_states_that_are_none_are_refused_and_the_known_ones_named(
    coordinator: Coordinator, states: Any
) -> None:
    with pytest.raises(InvalidRequest, match="accepted, claimed, running, finished"):
        coordinator.runs(states=states)
    with pytest.raises(InvalidRequest, match="pending, sending, held, delivered"):
        coordinator.events(states=states)


@pytest.mark.parametrize("limit", [0, -1, 1_001, 10**30, True, "9", 1.0])
def test_a_number_of_events_to_hand_out_that_is_no_such_number_is_refused_and_claims_none(
    coordinator: Coordinator, limit: Any
) -> None:
    with pytest.raises(InvalidRequest, match="limit"):
        coordinator.dispatch(limit)
    [event] = coordinator.events().events
    assert (event.state, event.attempt) == (EventState.PENDING, 0)
