"""Real work through the executor: the work decides its outcome, and the lease whether it may have effects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from library.failing_store import FailingStore
from runcoord import Coordinator, Execution, Outcome, State, open_coordinator
from runcoord._executor import Ended
from runcoord._heartbeat import Hold
from runcoord.errors import LeaseLost, StoreError, StoreUnavailable, WorkCancelled
from runcoord.ports import Message, Ports
from runcoord.testing import ManualClock, ManualSleeper, MemoryStore


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store() -> FailingStore:
    return FailingStore(MemoryStore())


@pytest.fixture
def accepted() -> list[Message]:
    return []


Opened = Callable[[str], Coordinator]


@pytest.fixture
def opened(clock: ManualClock, store: FailingStore, accepted: list[Message]) -> Iterator[Opened]:
    """Opens a coordinator for an owner, on the one store."""
    found: list[Coordinator] = []

    def open_for(owner: str) -> Coordinator:
        ports = Ports(clock=clock, sleeper=ManualSleeper(clock), store=store)
        found.append(
            open_coordinator("unused", owner=owner, destinations={"chat": accepted.append}, ports=ports)
        )
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


def test_what_the_work_returns_is_the_result_of_a_completed_run_and_is_delivered(
    coordinator: Coordinator, accepted: list[Message]
) -> None:
    report = coordinator.execute("r1", lambda execution: f"did {execution.run.spec.payload}")

    assert (report.ended, report.run) == (Ended.RECORDED, coordinator.run("r1"))
    assert (report.run.outcome, report.run.result, report.run.error) == (Outcome.COMPLETED, 'did {"n":1}', "")
    assert [message.event_id for message in accepted] == ["r1/finished"]


@pytest.mark.parametrize(
    ("work", "error"),
    [(lambda _: 1 // 0, "ZeroDivisionError: "), (lambda _: 5, "TypeError: the work returned int, not text")],
)
def test_work_that_raises_or_returns_nonsense_fails_its_run_with_the_error(
    coordinator: Coordinator, accepted: list[Message], work: Any, error: str
) -> None:
    report = coordinator.execute("r1", work)

    assert (report.ended, report.run.outcome) == (Ended.RECORDED, Outcome.FAILED)
    assert coordinator.run("r1").error.startswith(error)
    assert len(accepted) == 1


@pytest.mark.parametrize("leaving", [KeyboardInterrupt(), SystemExit(2)])
def test_a_program_that_leaves_in_the_middle_says_so_before_it_goes(
    coordinator: Coordinator, leaving: BaseException
) -> None:
    def work(_: Execution) -> str:
        raise leaving

    with pytest.raises(type(leaving)):
        coordinator.execute("r1", work)

    run = coordinator.run("r1")
    assert (run.outcome, run.error) == (Outcome.INTERRUPTED, "its owner was interrupted")


def test_a_program_that_leaves_while_its_store_is_away_still_leaves_by_its_own_exception(
    coordinator: Coordinator, store: FailingStore
) -> None:
    def work(_: Execution) -> str:
        store.verb, store.times = "finish", 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        coordinator.execute("r1", work)

    assert coordinator.run("r1").state is State.RUNNING


def test_work_that_was_stopped_ends_as_stopped_with_the_reason(
    coordinator: Coordinator, clock: ManualClock
) -> None:
    def work(execution: Execution) -> str:
        coordinator.stop("r1", "enough")
        clock.advance(3.0)
        execution.tick()
        execution.checkpoint()
        raise AssertionError("the checkpoint lets stopped work go on")

    report = coordinator.execute("r1", work)

    assert (report.ended, report.run.outcome, report.run.error) == (Ended.RECORDED, Outcome.STOPPED, "enough")
    assert report.run.reported is Outcome.STOPPED


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


def test_nothing_is_executed_where_nothing_can_be_claimed(coordinator: Coordinator) -> None:
    coordinator.stop("r1")

    assert coordinator.execute_next(lambda _: "never") is None


# --- recording the outcome -----------------------------------------------------------------------


@pytest.mark.parametrize("happens", [False, True], ids=["not-written", "reply-lost"])
def test_an_outcome_is_recorded_once_though_the_store_fails_twice(
    coordinator: Coordinator, store: FailingStore, accepted: list[Message], happens: bool
) -> None:
    execution = coordinator.begin("r1")
    store.verb, store.times, store.happens = "finish", 2, happens

    report = execution.finish(Outcome.COMPLETED, result="kept")

    assert (report.ended, report.run.outcome, report.run.result) == (
        Ended.RECORDED,
        Outcome.COMPLETED,
        "kept",
    )
    assert len(coordinator.events().events) == 1
    assert [message.event_id for message in accepted] == ["r1/finished"]


def test_a_store_that_goes_on_failing_is_told_and_the_outcome_can_be_recorded_later(
    coordinator: Coordinator, store: FailingStore
) -> None:
    execution = coordinator.begin("r1")
    store.verb, store.times = "finish", 3

    with pytest.raises(StoreUnavailable):
        execution.finish(Outcome.COMPLETED, result="kept")
    assert (coordinator.run("r1").state, execution.holds) == (State.RUNNING, True)

    assert execution.finish(Outcome.COMPLETED, result="kept").ended is Ended.RECORDED


def test_an_outcome_that_cannot_be_delivered_yet_is_recorded_all_the_same(
    coordinator: Coordinator, store: FailingStore, accepted: list[Message]
) -> None:
    execution = coordinator.begin("r1")
    store.verb, store.times = "dispatch", 1

    assert execution.finish(Outcome.COMPLETED).ended is Ended.RECORDED
    assert accepted == []
    assert coordinator.deliver().delivered == 1


def test_an_outcome_is_recorded_under_the_lease_that_was_re_acquired_meanwhile(
    coordinator: Coordinator, store: FailingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    execution = coordinator.begin("r1")
    complete = coordinator.complete

    def renewed_just_before(lease: Any, *args: Any, **kwargs: Any) -> Any:
        monkeypatch.setattr(coordinator, "complete", complete)
        execution.heartbeat._reacquire()
        return complete(lease, *args, **kwargs)

    monkeypatch.setattr(coordinator, "complete", renewed_just_before)

    report = execution.finish(Outcome.COMPLETED, result="kept")

    assert (report.ended, report.run.result, report.run.epoch) == (Ended.RECORDED, "kept", 2)


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


def test_progress_is_written_though_the_lease_was_re_acquired_just_before(
    coordinator: Coordinator, monkeypatch: pytest.MonkeyPatch
) -> None:
    execution = coordinator.begin("r1")
    progress = coordinator.progress

    def renewed_just_before(lease: Any, text: str) -> None:
        monkeypatch.setattr(coordinator, "progress", progress)
        execution.heartbeat._reacquire()
        progress(lease, text)

    monkeypatch.setattr(coordinator, "progress", renewed_just_before)

    execution.progress("half of it")

    assert coordinator.run("r1").progress == "half of it"


def test_progress_whose_lease_ends_on_the_way_is_written_under_the_next_one(
    coordinator: Coordinator, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    execution = coordinator.begin("r1")
    progress = coordinator.progress

    def late(lease: Any, text: str) -> None:
        monkeypatch.setattr(coordinator, "progress", progress)
        clock.advance(91.0)
        progress(lease, text)

    monkeypatch.setattr(coordinator, "progress", late)

    execution.progress("half of it")

    assert (coordinator.run("r1").progress, coordinator.run("r1").epoch) == ("half of it", 2)


def test_progress_of_a_run_that_somebody_else_ended_changes_nothing_and_cancels_the_work(
    coordinator: Coordinator, opened: Opened, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = opened("gw2")
    execution = coordinator.begin("r1")
    progress = coordinator.progress

    def taken_over_just_before(lease: Any, text: str) -> None:
        monkeypatch.setattr(coordinator, "progress", progress)
        clock.advance(91.0)
        other.recover()
        with pytest.raises(LeaseLost):
            progress(lease, text)
        progress(lease, text)

    monkeypatch.setattr(coordinator, "progress", taken_over_just_before)

    with pytest.raises(WorkCancelled):
        execution.progress("stale")
    assert execution.heartbeat.hold is Hold.CANCELLED
    assert (coordinator.run("r1").progress, coordinator.run("r1").epoch) == ("", 2)


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


def test_a_checkpoint_waits_for_the_attempt_that_another_thread_makes(
    coordinator: Coordinator, clock: ManualClock
) -> None:
    execution = coordinator.begin("r1")
    clock.advance(85.0)
    asked: list[str] = []

    class Answering(ManualSleeper):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            asked.append("slept")
            if len(asked) == 3:
                execution.heartbeat._reacquire()

    execution._sleeper = Answering(clock)
    execution.heartbeat._calling = True  # as while the timer's thread waits for the store

    execution.checkpoint()

    assert (len(asked), execution.lease.epoch, execution.heartbeat.hold) == (3, 2, Hold.HELD)


def test_a_store_error_is_not_taken_for_a_lost_lease(coordinator: Coordinator, store: FailingStore) -> None:
    execution = coordinator.begin("r1")
    store.verb, store.times = "progress", 1

    with pytest.raises(StoreError):
        execution.progress("half of it")

    assert execution.heartbeat.hold is Hold.HELD
    execution.progress("half of it")
    assert coordinator.run("r1").progress == "half of it"
