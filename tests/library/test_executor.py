"""Work under a lease with real threads: stops, failures, interrupts, lost leases, outcomes that survive."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from runcoord import (
    Coordinator,
    Ended,
    Execution,
    Message,
    Outcome,
    Ports,
    Settings,
    State,
    open_coordinator,
)
from runcoord.errors import AlreadyFinished, EffectsBlocked, StoreError, StoreFull, WorkCancelled

from .holding import Holding
from .hooks import LONG, HookedStore, in_thread

SHORT = Settings(lease=0.5, renew=0.1)
PAUSE = 0.005
"""Seconds between two effects of work that waits to be cancelled."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def user(path: Path) -> Iterator[Coordinator]:
    """Somebody else's coordinator: submits, stops, looks, and takes over."""
    with open_coordinator(path, settings=SHORT) as coordinator:
        coordinator.submit({"n": 1}, run_id="r1", destination="chat")
        yield coordinator


def works_until_cancelled(execution: Execution, begun: threading.Event) -> str:
    """One effect after the other, for as long as the guard lets it."""
    begun.set()
    pause = threading.Event()
    for _ in range(int(LONG / PAUSE)):
        execution.checkpoint()
        pause.wait(PAUSE)
    raise AssertionError("nobody cancelled the work")


# --- the ordinary life ----------------------------------------------------------------------------


def test_work_is_claimed_done_recorded_and_told(path: Path, user: Coordinator) -> None:
    told: list[Message] = []
    with open_coordinator(path, destinations={"chat": told.append}, settings=SHORT) as worker:
        report = worker.execute("r1", lambda execution: f"did {execution.run.spec.payload}")
        assert report.ended is Ended.RECORDED
        assert (report.run.outcome, report.run.result) == (Outcome.COMPLETED, 'did {"n":1}')
        assert [message.event_id for message in told] == ["r1/finished"]
        assert worker.execute_next(lambda execution: None) is None
    assert user.run("r1") == report.run


def test_no_thread_is_left_when_the_work_is_over(path: Path, user: Coordinator) -> None:
    with open_coordinator(path, settings=SHORT) as worker:
        worker.execute("r1", lambda execution: None)
        assert [each.name for each in threading.enumerate() if each.name.startswith("runcoord")] == []


def test_the_lease_is_renewed_while_the_work_goes_on(path: Path, user: Coordinator) -> None:
    def work(execution: Execution) -> None:
        first = execution.lease.until
        pause = threading.Event()
        for _ in range(int(LONG / PAUSE)):
            execution.guard()
            if user.run("r1").lease != first:
                return
            pause.wait(PAUSE)
        raise AssertionError("the lease was never renewed")

    with open_coordinator(path, settings=SHORT) as worker:
        report = worker.execute("r1", work)
    assert (report.run.outcome, report.run.epoch) == (Outcome.COMPLETED, 1)


def test_progress_and_events_of_the_work_are_recorded(path: Path, user: Coordinator) -> None:
    told: list[Message] = []

    def work(execution: Execution) -> str:
        execution.progress("half")
        assert user.run("r1").progress == "half"
        execution.publish({"half": True})
        return "done"

    with open_coordinator(path, destinations={"chat": told.append}, settings=SHORT) as worker:
        worker.execute("r1", work)
    assert [message.event_id for message in told] == ["r1/note/1", "r1/finished"]


# --- how work may end -----------------------------------------------------------------------------


def test_work_that_raises_has_failed_with_its_error(path: Path, user: Coordinator) -> None:
    def work(execution: Execution) -> None:
        raise ValueError("no \udc80 luck")

    with open_coordinator(path, settings=SHORT) as worker:
        report = worker.execute("r1", work)
    assert (report.ended, report.run.outcome) == (Ended.RECORDED, Outcome.FAILED)
    assert report.run.error == "ValueError: no \\udc80 luck"


def test_work_that_raises_what_cannot_even_be_shown_has_failed(path: Path, user: Coordinator) -> None:
    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    def work(execution: Execution) -> None:
        raise Unspeakable

    with open_coordinator(path, settings=SHORT) as worker:
        report = worker.execute("r1", work)
    assert report.run.error == "Unspeakable: (its message cannot be shown)"


@pytest.mark.parametrize("answer", [7, b"bytes", ["a"], False], ids=repr)
def test_work_that_returns_something_else_than_text_has_failed(
    path: Path, user: Coordinator, answer: object
) -> None:
    with open_coordinator(path, settings=SHORT) as worker:
        report = worker.execute("r1", lambda execution: answer)  # type: ignore[arg-type,return-value]
    assert report.run.outcome is Outcome.FAILED
    assert f"returned {type(answer).__name__}, not text" in report.run.error


@pytest.mark.parametrize("leaving", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupted_owner_says_so_before_it_goes_and_delivers_nothing_first(
    path: Path, user: Coordinator, leaving: type[BaseException]
) -> None:
    told: list[Message] = []

    def work(execution: Execution) -> None:
        raise leaving

    with open_coordinator(path, destinations={"chat": told.append}, settings=SHORT) as worker:
        with pytest.raises(leaving):
            worker.execute("r1", work)
        assert (user.run("r1").outcome, user.run("r1").error) == (
            Outcome.INTERRUPTED,
            "its owner was interrupted",
        )
        assert told == []
        assert worker.deliver().delivered == 1


def test_an_interrupt_is_not_masked_by_a_store_that_fails(path: Path, user: Coordinator) -> None:
    def fails() -> None:
        raise StoreFull("the disk is full", remedy="Make room.")

    store = HookedStore()

    def work(execution: Execution) -> None:
        store.before["finish"] = fails
        raise KeyboardInterrupt

    with (
        open_coordinator(path, settings=SHORT, ports=Ports(wrap_store=store.around)) as worker,
        pytest.raises(KeyboardInterrupt),
    ):
        worker.execute("r1", work)
    assert user.run("r1").state is State.RUNNING


def test_work_that_gives_up_because_its_effects_are_blocked_was_interrupted_and_has_not_failed(
    path: Path, user: Coordinator
) -> None:
    def work(execution: Execution) -> None:
        raise EffectsBlocked("the lease may have been lost", remedy="Ask again shortly.")

    with open_coordinator(path, settings=SHORT) as worker:
        report = worker.execute("r1", work)
    assert (report.ended, report.run.outcome) == (Ended.RECORDED, Outcome.INTERRUPTED)
    assert user.retry("r1").state is State.ACCEPTED


# --- stopping -------------------------------------------------------------------------------------


def test_a_stop_by_somebody_else_cancels_the_work_and_ends_the_run_as_stopped(
    path: Path, user: Coordinator
) -> None:
    begun = threading.Event()

    def stop() -> None:
        assert begun.wait(LONG)
        assert user.stop("r1", "enough").outcome is None

    with open_coordinator(path, settings=SHORT) as worker:
        stopping = in_thread(stop)
        report = worker.execute("r1", lambda execution: works_until_cancelled(execution, begun))
        stopping.join()
    assert (report.ended, report.run.outcome) == (Ended.RECORDED, Outcome.STOPPED)
    assert (report.run.error, report.run.reported) == ("enough", Outcome.STOPPED)


def test_work_that_never_looks_is_stopped_with_its_result_kept(path: Path, user: Coordinator) -> None:
    def work(execution: Execution) -> str:
        user.stop("r1", "enough")
        return "all of it"

    with open_coordinator(path, settings=SHORT) as worker:
        report = worker.execute("r1", work)
    assert (report.run.outcome, report.run.reported) == (Outcome.STOPPED, Outcome.COMPLETED)
    assert report.run.result == "all of it"


def test_a_run_that_is_stopped_between_claim_and_start_is_lost_and_no_error(path: Path) -> None:
    holding = Holding()
    holding.rival.submit(run_id="r2", destination="chat")
    holding.store.before["start"] = lambda: holding.rival.stop("r2", "enough")
    done: list[object] = []
    report = holding.mine.execute_next(lambda execution: done.append(execution))
    assert report is not None
    assert (report.ended, report.run.outcome) == (Ended.LOST, Outcome.STOPPED)
    assert done == []


def test_a_finished_run_is_refused_to_whoever_names_it(path: Path, user: Coordinator) -> None:
    user.stop("r1")
    before = user.run("r1")
    with open_coordinator(path) as worker, pytest.raises(AlreadyFinished):
        worker.execute("r1", lambda execution: None)
    assert user.run("r1") == before


# --- losing the lease -----------------------------------------------------------------------------


def test_a_lost_lease_cancels_the_work_and_its_report_says_that_nothing_was_recorded(
    path: Path, user: Coordinator
) -> None:
    """Renewals fail until somebody else has ended the run; real clocks, real threads."""
    begun, store = threading.Event(), HookedStore()

    def fails() -> None:
        raise StoreError("the store failed", remedy="Try again.")

    store.before = {"renew": fails, "reacquire": fails}

    def work(execution: Execution) -> str:
        try:
            return works_until_cancelled(execution, begun)
        except WorkCancelled:
            pause = threading.Event()
            for _ in range(int(LONG / PAUSE)):
                if user.recover().interrupted:
                    raise
                pause.wait(PAUSE)
            raise AssertionError("the lease never ran out") from None

    with open_coordinator(path, settings=SHORT, ports=Ports(wrap_store=store.around)) as worker:
        report = worker.execute("r1", work)
    assert (report.ended, report.completion) == (Ended.LOST, None)
    assert (report.run.outcome, report.run.owner) == (Outcome.INTERRUPTED, user.owner)
    assert len(user.events(run_id="r1").events) == 1
