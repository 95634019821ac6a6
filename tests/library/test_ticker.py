"""The edge where timers meet threads: nothing ends silently, nothing spins, and ending is bounded."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runcoord import Message, Settings, _ticker, open_coordinator
from runcoord._clock import SystemClock
from runcoord._recoverer import Recovery
from runcoord._ticker import Ticker

from .hooks import LONG, Barrier, in_thread


class CountedTimer:
    """Due at once for so many ticks; says when the last was done."""

    def __init__(self, ticks: int, tick: Callable[[], None] = lambda: None) -> None:
        self.left, self._tick = ticks, tick
        self.asked = 0
        self.over = threading.Event()

    def next_due(self) -> float | None:
        self.asked += 1
        if self.left == 0:
            self.over.set()
            return None
        return 0.0

    def tick(self) -> None:
        self.left -= 1
        self._tick()


@pytest.fixture(autouse=True)
def _short_naps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_ticker, "LONGEST_NAP_SECONDS", 0.01)


def test_a_timer_is_ticked_until_nothing_is_due_and_its_thread_ends_by_itself() -> None:
    timer = CountedTimer(3)
    ticker = Ticker(timer, SystemClock(), "ticks")
    with ticker:
        assert timer.over.wait(LONG)
        ticker._thread.join(LONG)
        assert not ticker._thread.is_alive()
    assert (timer.left, timer.asked) == (0, 4)


def test_a_timer_that_is_not_due_is_left_alone_and_stopping_does_not_wait_for_it() -> None:
    class Later(CountedTimer):
        def next_due(self) -> float:
            self.over.set()
            return SystemClock().boottime() + 1e6

    timer = Later(1)
    with Ticker(timer, SystemClock(), "later"):
        assert timer.over.wait(LONG)
    assert timer.left == 1


@pytest.mark.parametrize("failing", ["tick", "next_due"])
def test_a_timer_that_fails_is_tried_again_is_told_and_neither_spins_nor_ends_silently(
    failing: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Fails(CountedTimer):
        failures = 0

        def next_due(self) -> float | None:
            if failing == "next_due" and self.failures < 3:
                self.failures += 1
                raise RuntimeError("no clock")
            return super().next_due()

        def tick(self) -> None:
            if failing == "tick" and self.failures < 3:
                self.failures += 1
                raise RuntimeError("no luck")
            super().tick()

    timer = Fails(1)
    with caplog.at_level(logging.ERROR, "runcoord.ticker"), Ticker(timer, SystemClock(), "fails"):
        assert timer.over.wait(LONG)
    assert timer.left == 0
    assert len(caplog.records) == 3
    assert all(record.exc_info for record in caplog.records)


def test_stopping_waits_for_the_tick_that_is_under_way() -> None:
    barrier = Barrier()
    timer = CountedTimer(1, barrier)
    ticker = Ticker(timer, SystemClock(), "under way")
    ticker.__enter__()
    barrier.wait_for_arrival()
    stopping = in_thread(ticker.stop)
    barrier.open()
    stopping.join(LONG)
    assert not ticker._thread.is_alive()


def test_a_tick_that_does_not_return_is_left_behind_after_a_bounded_time_and_told(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_ticker, "JOIN_SECONDS", 0.01)
    barrier = Barrier()
    ticker = Ticker(CountedTimer(1, barrier), SystemClock(), "stuck")
    with caplog.at_level(logging.ERROR, "runcoord.ticker"), ticker:
        barrier.wait_for_arrival()
    assert [record.getMessage().split(":")[0] for record in caplog.records] == [
        "a timer did not end in time; it is left behind"
    ]
    barrier.open()
    ticker._thread.join(LONG)


def test_a_tick_may_end_its_own_ticker() -> None:
    class EndsItself(CountedTimer):
        ticker: Ticker

        def tick(self) -> None:
            super().tick()
            self.ticker.stop()

    timer = EndsItself(5)
    timer.ticker = Ticker(timer, SystemClock(), "ends itself")
    timer.ticker.__enter__()
    timer.ticker._thread.join(LONG)
    assert not timer.ticker._thread.is_alive()
    assert timer.left == 4


# --- a coordinator that serves --------------------------------------------------------------------


def test_a_serving_coordinator_delivers_what_others_finish_without_waiting_for_a_sweep(
    tmp_path: Path,
) -> None:
    told = threading.Event()

    def chat(message: Message) -> None:
        told.set()

    with open_coordinator(tmp_path / "runs.db", destinations={"chat": chat}) as coordinator:
        assert coordinator.serve() is coordinator.serve()
        coordinator.submit(run_id="r1", destination="chat")
        coordinator.stop("r1")
        assert told.wait(LONG)


def test_closing_lets_a_delivery_that_is_under_way_finish_and_be_recorded_and_sends_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, barrier, sent = tmp_path / "runs.db", Barrier(), list[str]()

    def chat(message: Message) -> None:
        sent.append(message.event_id)
        barrier()

    settings = Settings(lease=1.0, renew=0.1, sweep=0.05)
    coordinator = open_coordinator(path, destinations={"chat": chat}, settings=settings)
    for number in range(3):
        coordinator.submit(run_id=f"r{number}", destination="chat")
        coordinator.stop(f"r{number}")
    coordinator.serve()
    barrier.wait_for_arrival()
    stop, stopped = coordinator._outbox.stop, threading.Event()

    def stop_and_tell() -> None:
        stop()
        stopped.set()

    monkeypatch.setattr(coordinator._outbox, "stop", stop_and_tell)
    closing = in_thread(coordinator.close)
    assert stopped.wait(LONG)
    barrier.open()
    closing.join(LONG)
    assert not closing.is_alive()
    with open_coordinator(path, create=False) as later:
        states = {event.event_id: event.state.value for event in later.events().events}
    assert {event_id for event_id, state in states.items() if state == "delivered"} == set(sent)
    assert [thread.name for thread in threading.enumerate() if thread.name == "runcoord-maintenance"] == []


def test_sweeps_that_begin_at_once_in_two_threads_share_what_looks_at_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What looks has a limit of threads that do not return: by hand and by timer there would be two."""
    begin = Recovery.__init__
    here, ended = threading.current_thread(), threading.Event()

    def by_the_timer() -> None:
        coordinator.maintenance._sweep(by_timer=True)
        ended.set()

    def while_the_timer_ticks(self: Recovery, *args: Any) -> None:
        if threading.current_thread() is here:
            in_thread(by_the_timer).join(LONG)
        begin(self, *args)

    with open_coordinator(tmp_path / "runs.db") as coordinator:
        monkeypatch.setattr(Recovery, "__init__", while_the_timer_ticks)
        coordinator.recover()
        assert ended.is_set()
        by_hand, by_timer = (coordinator.maintenance._recoverers[each] for each in (False, True))
        assert by_hand._deaths._probes is by_timer._deaths._probes
