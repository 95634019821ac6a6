"""One execution on a manual clock: races between its threads, stores that fail, and a sweep beside it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runcoord import Coordinator, Ended, Hold, Outcome, State
from runcoord._core import limits
from runcoord.errors import LeaseLost, StoreFull, WorkCancelled
from runcoord.testing import ManualSleeper

from .holding import LEASE, TRUST, Holding
from .hooks import Barrier, in_thread

# --- races ----------------------------------------------------------------------------------------


def test_work_that_ends_late_is_recorded_and_marked_while_nobody_else_acquired_the_run() -> None:
    holding = Holding()
    holding.advance_to(10 * LEASE)
    report = holding.execution.finish(Outcome.COMPLETED, result="done")
    assert report.ended is Ended.RECORDED
    assert report.completion is not None
    assert report.completion.late
    assert report.run.late


def test_work_that_ends_while_its_lease_is_being_acquired_again_keeps_its_result() -> None:
    """The new epoch is committed, and the heartbeat does not know it yet, when the work is done."""
    barrier = Barrier()

    class OpensTheBarrier(ManualSleeper):
        def sleep(self, seconds: float) -> None:
            barrier.open()
            ticking.join()

    holding = Holding()
    holding.execution._sleeper = OpensTheBarrier(holding.clock)
    holding.store.after["reacquire"] = barrier
    holding.advance_to(TRUST)
    ticking = in_thread(holding.heartbeat.tick)
    barrier.wait_for_arrival()
    report = holding.execution.finish(Outcome.COMPLETED, result="hours of work")
    assert (report.ended, report.run.result, report.run.epoch) == (Ended.RECORDED, "hours of work", 2)


def test_progress_while_the_lease_is_being_acquired_again_is_recorded_under_the_new_one() -> None:
    holding = Holding()
    barrier = Barrier()

    class OpensTheBarrier(ManualSleeper):
        def sleep(self, seconds: float) -> None:
            barrier.open()
            ticking.join()

    holding.execution._sleeper = OpensTheBarrier(holding.clock)
    holding.store.after["reacquire"] = barrier
    holding.advance_to(TRUST)
    ticking = in_thread(holding.heartbeat.tick)
    barrier.wait_for_arrival()
    holding.execution.progress("half")
    assert (holding.mine.run("r1").progress, holding.epoch) == ("half", 2)


def test_progress_that_finds_the_lease_lost_cancels_the_work() -> None:
    holding = Holding()
    holding.store.before["progress"] = lambda: (holding.clock.advance(LEASE), holding.rival.recover())
    before = dict(holding.data.runs)
    with pytest.raises(WorkCancelled):
        holding.execution.progress("half")
    assert holding.heartbeat.hold is Hold.CANCELLED
    assert holding.data.runs["r1"].progress == before["r1"].progress


def test_progress_that_comes_too_late_takes_the_lease_again_first() -> None:
    holding = Holding()
    slow = [LEASE]
    holding.store.before["progress"] = lambda: holding.clock.advance(slow.pop() if slow else 0.0)
    holding.execution.progress("half")
    assert (holding.mine.run("r1").progress, holding.epoch) == ("half", 2)
    assert holding.said == ["reacquired"]


def test_a_checkpoint_waits_while_the_lease_is_in_doubt_and_goes_on_when_it_is_held_again() -> None:
    holding = Holding()
    barrier = Barrier()

    class OpensTheBarrier(ManualSleeper):
        def sleep(self, seconds: float) -> None:
            barrier.open()
            ticking.join()

    holding.execution._sleeper = OpensTheBarrier(holding.clock)
    holding.store.before["reacquire"] = barrier
    holding.advance_to(TRUST)
    ticking = in_thread(holding.heartbeat.tick)
    barrier.wait_for_arrival()
    holding.execution.checkpoint()
    assert holding.heartbeat.hold is Hold.HELD


# --- stores that fail -----------------------------------------------------------------------------


def failing(times: int) -> Callable[[], None]:
    left = [times]

    def fail() -> None:
        if left[0]:
            left[0] -= 1
            raise StoreFull("the disk is full", remedy="Make room.")

    return fail


def test_an_outcome_is_tried_again_when_the_store_fails() -> None:
    holding = Holding()
    holding.store.before["finish"] = failing(2)
    report = holding.execution.finish(Outcome.COMPLETED, result="done")
    assert (report.ended, report.run.result) == (Ended.RECORDED, "done")
    assert holding.store.verbs.count("finish") == 3


def test_an_outcome_whose_reply_was_lost_is_recorded_once() -> None:
    holding = Holding()
    holding.store.after["finish"] = failing(1)
    report = holding.execution.finish(Outcome.COMPLETED, result="done")
    assert (report.ended, report.run.outcome) == (Ended.RECORDED, Outcome.COMPLETED)
    assert [event.event_id for event in holding.mine.events(run_id="r1").events] == ["r1/finished"]


def test_a_store_that_goes_on_failing_is_told_and_the_work_may_be_finished_later() -> None:
    holding = Holding()
    holding.store.before["finish"] = failing(4)
    with pytest.raises(StoreFull):
        holding.execution.finish(Outcome.COMPLETED, result="done")
    assert holding.mine.run("r1").state is State.RUNNING
    assert holding.heartbeat.hold is Hold.HELD
    report = holding.execution.finish(Outcome.COMPLETED, result="done")
    assert report.run.result == "done"


def test_a_delivery_that_cannot_be_made_does_not_hide_that_the_outcome_is_recorded() -> None:
    holding = Holding()
    holding.store.before["dispatch"] = failing(10)
    report = holding.execution.finish(Outcome.COMPLETED, result="done")
    assert report.ended is Ended.RECORDED
    assert holding.mine.run("r1").outcome is Outcome.COMPLETED


# --- a sweep beside the work ----------------------------------------------------------------------


def test_a_timer_leaves_a_run_to_its_holder_in_the_same_process_after_a_suspend() -> None:
    """Sweep and heartbeat wake at the same time, and the sweep comes first."""
    holding = Holding()
    holding.clock.suspend(100 * LEASE)
    holding.mine.maintenance.tick()
    assert holding.mine.run("r1").state is State.RUNNING
    holding.execution.guard()
    assert (holding.said, holding.epoch) == (["reacquired"], 2)
    holding.clock.advance(holding.mine.settings.sweep)
    holding.mine.maintenance.tick()
    assert holding.mine.run("r1").state is State.RUNNING


def test_a_run_is_left_to_a_holder_that_does_nothing_for_a_bounded_time_only() -> None:
    holding = Holding()
    holding.clock.suspend(100 * LEASE)
    holding.mine.maintenance.tick()
    holding.clock.advance(max(holding.mine.settings.sweep, limits.DEFER_SECONDS))
    holding.mine.maintenance.tick()
    assert holding.mine.run("r1").outcome is Outcome.INTERRUPTED
    with pytest.raises(WorkCancelled):
        holding.execution.guard()


def test_a_run_whose_work_was_cancelled_or_is_over_is_left_to_nobody() -> None:
    holding = Holding()
    holding.advance_to(TRUST)
    holding.calls.told = ["fails"]
    holding.heartbeat.tick()
    holding.clock.suspend(LEASE)
    holding.mine.maintenance.tick()
    assert holding.mine.run("r1").outcome is Outcome.INTERRUPTED


def test_a_sweep_that_was_asked_for_and_those_of_others_leave_nothing() -> None:
    for sweeper in ("mine", "rival"):
        holding = Holding()
        holding.clock.suspend(100 * LEASE)
        coordinator: Coordinator = getattr(holding, sweeper)
        if sweeper == "mine":
            assert coordinator.recover().interrupted == 1
        else:
            coordinator.maintenance.tick()
        assert holding.mine.run("r1").outcome is Outcome.INTERRUPTED
        with pytest.raises(LeaseLost):
            holding.mine.progress(holding.execution.lease, "still here")
