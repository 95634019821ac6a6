"""Executions on a manual clock and two owners: who decides the outcome, and who may still write."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from library.failing_store import FailingStore
from runcoord import Coordinator, Execution, Outcome, open_coordinator
from runcoord._executor import Ended
from runcoord._heartbeat import Hold
from runcoord.errors import StoreError, WorkCancelled
from runcoord.ports import Ports
from runcoord.testing import ManualClock, ManualSleeper, MemoryStore


@pytest.fixture
def store() -> FailingStore:
    return FailingStore(MemoryStore())


Opened = Callable[[str], Coordinator]


@pytest.fixture
def opened(clock: ManualClock, store: FailingStore) -> Iterator[Opened]:
    """Opens a coordinator for an owner, on the one store."""
    found: list[Coordinator] = []

    def open_for(owner: str) -> Coordinator:
        ports = Ports(clock=clock, sleeper=ManualSleeper(clock), store=store)
        found.append(open_coordinator("unused", owner=owner, ports=ports))
        return found[-1]

    yield open_for
    for coordinator in found:
        coordinator.close()


@pytest.fixture
def coordinator(opened: Opened) -> Coordinator:
    coordinator = opened("gw1")
    coordinator.submit({"n": 1}, run_id="r1", destination="chat")
    return coordinator


# --- how the work ends ---------------------------------------------------------------------------


def test_work_that_was_taken_over_is_cancelled_before_its_next_effect_and_records_nothing(
    coordinator: Coordinator, opened: Opened, clock: ManualClock
) -> None:
    other = opened("gw2")

    def work(execution: Execution) -> str:
        clock.advance(91.0)
        assert other.recover().interrupted == 1
        with pytest.raises(WorkCancelled):
            execution.checkpoint()
        execution.checkpoint()
        return "never"

    report = coordinator.execute("r1", work)

    assert (report.ended, report.completion) == (Ended.LOST, None)
    assert (report.run.outcome, report.run.owner, report.run.result) == (Outcome.INTERRUPTED, "gw2", "")


# --- recording the outcome -----------------------------------------------------------------------


def test_a_finished_execution_holds_nothing_and_has_no_timer(coordinator: Coordinator) -> None:
    execution = coordinator.begin("r1")
    execution.finish(Outcome.COMPLETED)

    assert (execution.holds, execution.heartbeat.hold, execution.next_due()) == (False, Hold.ENDED, None)
    with pytest.raises(WorkCancelled):
        execution.guard()


def test_a_run_that_was_ended_otherwise_keeps_that_outcome_and_the_work_is_told(
    coordinator: Coordinator,
) -> None:
    execution = coordinator.begin("r1")
    coordinator.complete(execution.lease, Outcome.FAILED, error="by hand")

    report = execution.finish(Outcome.COMPLETED, result="too late")

    assert (report.ended, report.completion) == (Ended.LOST, None)
    assert (report.run.outcome, report.run.error, report.run.result) == (Outcome.FAILED, "by hand", "")
    assert len(coordinator.events().events) == 1


def test_a_renewal_that_finds_the_run_ended_by_its_own_completion_is_no_loss(
    coordinator: Coordinator, clock: ManualClock
) -> None:
    execution = coordinator.begin("r1")
    execution.heartbeat.completing()
    coordinator.complete(execution.lease, Outcome.COMPLETED)
    clock.advance(30.0)

    execution.tick()

    assert (execution.heartbeat.hold, execution.heartbeat.reports) == (Hold.ENDED, [])


def test_work_that_takes_its_time_to_stop_keeps_its_lease_until_it_has(
    coordinator: Coordinator, opened: Opened, clock: ManualClock
) -> None:
    other = opened("gw2")
    execution = coordinator.begin("r1")
    coordinator.stop("r1", "enough")
    for _ in range(10):
        clock.advance(25.0)
        execution.tick()

    assert other.recover().stopped == 0
    report = execution.finish(Outcome.STOPPED, result="half of it")

    assert (report.ended, report.run.outcome, report.run.result) == (
        Ended.RECORDED,
        Outcome.STOPPED,
        "half of it",
    )
    assert (report.run.late, report.run.epoch) == (False, 1)


# --- writing while the work goes on ---------------------------------------------------------------


def test_progress_and_events_are_written_under_a_lease_that_had_to_be_re_acquired(
    coordinator: Coordinator, clock: ManualClock
) -> None:
    execution = coordinator.begin("r1")
    clock.advance(91.0)

    execution.progress("half of it")
    event = execution.publish({"at": 50})

    run = coordinator.run("r1")
    assert (run.progress, run.epoch, execution.lease.epoch) == ("half of it", 2, 2)
    assert (event.event_id, event.run_id) == ("r1/note/1", "r1")


def test_progress_of_a_run_that_was_ended_by_hand_cancels_the_work(coordinator: Coordinator) -> None:
    execution = coordinator.begin("r1")
    coordinator.complete(execution.lease, Outcome.COMPLETED)

    with pytest.raises(WorkCancelled):
        execution.progress("stale")

    assert execution.heartbeat.hold is Hold.CANCELLED
    assert coordinator.run("r1").progress == ""


def test_stopped_work_writes_nothing_more(coordinator: Coordinator, clock: ManualClock) -> None:
    execution = coordinator.begin("r1")
    coordinator.stop("r1", "enough")
    clock.advance(3.0)
    execution.tick()

    for write in (lambda: execution.progress("more"), lambda: execution.publish("more")):
        with pytest.raises(WorkCancelled):
            write()
    assert coordinator.run("r1").progress == ""
    assert coordinator.events().events == []


def test_a_store_error_is_not_taken_for_a_lost_lease(coordinator: Coordinator, store: FailingStore) -> None:
    execution = coordinator.begin("r1")
    store.verb, store.times = "progress", 1

    with pytest.raises(StoreError):
        execution.progress("half of it")

    assert execution.heartbeat.hold is Hold.HELD
    execution.progress("half of it")
    assert coordinator.run("r1").progress == "half of it"
