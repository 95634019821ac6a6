"""The helper for asyncio: bounded answers, cancelled callers, draining, and a loop that goes on meanwhile."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runcoord import AsyncCalls, Drained, State, ThreadBounded, open_coordinator
from runcoord.errors import Happened, KeyConflict, StoreTimeout, StoreUnavailable
from runcoord.ports import Ports
from runcoord.testing import MemoryStore

SHORT = 0.01
LONG = 30.0


class Gate:
    """A call that waits at a gate; counts those that passed."""

    def __init__(self) -> None:
        self.open, self.reached = threading.Event(), threading.Event()
        self.passed = 0

    def __call__(self) -> str:
        self.reached.set()
        assert self.open.wait(LONG)
        self.passed += 1
        return "passed"


@pytest.fixture
def gate() -> Iterator[Gate]:
    call = Gate()
    yield call
    call.open.set()


async def _reached(gate: Gate) -> None:
    while not gate.reached.is_set():
        await asyncio.sleep(0)


def test_the_same_verbs_are_called_in_a_thread_and_give_the_same_answers(tmp_path: Path) -> None:
    async def main() -> None:
        with open_coordinator(tmp_path / "runs.db") as coordinator:
            calls = AsyncCalls()
            receipt = await calls.run_within(LONG, lambda: coordinator.submit({"n": 1}, run_id="r1"))
            assert receipt.state is State.ACCEPTED
            assert (await calls.run_within(LONG, lambda: coordinator.run("r1"))).spec.payload == '{"n":1}'
            with pytest.raises(KeyConflict):
                await calls.run_within(LONG, lambda: coordinator.submit({"n": 2}, run_id="r1"))

    asyncio.run(main())


def test_arguments_are_passed_on() -> None:
    def call(first: int, *, second: int) -> tuple[int, int]:
        return first, second

    assert asyncio.run(AsyncCalls().run(call, 1, second=2)) == (1, 2)


def test_a_hanging_call_is_a_timeout_that_may_have_happened(gate: Gate) -> None:
    async def main() -> None:
        with pytest.raises(StoreTimeout) as caught:
            await AsyncCalls().run_within(SHORT, gate)
        assert caught.value.happened is Happened.MAYBE

    asyncio.run(main())


def test_the_loop_goes_on_while_a_call_hangs(gate: Gate) -> None:
    async def main() -> None:
        waiting = asyncio.ensure_future(AsyncCalls().run_within(LONG, gate))
        turns = 0
        await _reached(gate)
        while turns < 1_000:
            await asyncio.sleep(0)
            turns += 1
        assert not waiting.done()
        gate.open.set()
        assert await waiting == "passed"

    asyncio.run(main())


def test_a_timeout_that_the_call_raised_itself_passes_as_it_is() -> None:
    raised = TimeoutError("its own")

    def call() -> None:
        raise raised

    async def main() -> None:
        with pytest.raises(TimeoutError) as caught:
            await AsyncCalls().run(call)
        assert caught.value is raised

    asyncio.run(main())


def test_a_cancelled_caller_does_not_cancel_the_call_and_drain_waits_for_it(gate: Gate) -> None:
    async def main() -> None:
        calls = AsyncCalls()
        caller = asyncio.ensure_future(calls.run_within(LONG, gate))
        await _reached(gate)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        assert gate.passed == 0
        gate.open.set()
        assert await calls.drain(LONG) == Drained(finished=1, stuck=0)
        assert gate.passed == 1

    asyncio.run(main())


def test_cancelled_callers_are_not_taken_for_a_store_that_hangs(gate: Gate) -> None:
    async def main() -> None:
        calls = AsyncCalls(ThreadBounded(most_abandoned=2))
        callers = [asyncio.ensure_future(calls.run_within(LONG, gate)) for _ in range(5)]
        await _reached(gate)
        for caller in callers:
            caller.cancel()
        await asyncio.wait(callers)
        assert await calls.run_within(LONG, lambda: 7) == 7

    asyncio.run(main())


def test_drain_is_bounded_and_says_how_many_are_stuck(gate: Gate) -> None:
    async def main() -> None:
        calls = AsyncCalls()
        for _ in range(3):
            with pytest.raises(StoreTimeout):
                await calls.run_within(SHORT, gate)
        began = time.monotonic()
        assert await calls.drain(SHORT) == Drained(finished=0, stuck=3)
        assert await calls.drain(0) == Drained(finished=0, stuck=3)
        assert time.monotonic() - began < LONG / 2
        gate.open.set()
        assert (await calls.drain(LONG)).stuck == 0
        assert await calls.drain(LONG) == Drained(finished=0, stuck=0)

    asyncio.run(main())


def test_drain_does_not_spin_while_it_waits(gate: Gate) -> None:
    """A waiter that polls would go round the loop all the time; this one is woken."""

    async def main() -> None:
        calls = AsyncCalls()
        caller = asyncio.ensure_future(calls.run_within(LONG, gate))
        await _reached(gate)
        caller.cancel()
        loop = asyncio.get_running_loop()
        turns = 0
        select = loop._selector.select  # type: ignore[attr-defined]

        def counted(timeout: float | None = None) -> object:
            nonlocal turns
            turns += 1
            return select(timeout)

        loop._selector.select = counted  # type: ignore[attr-defined]
        try:
            assert (await calls.drain(0.05)).stuck == 1
        finally:
            loop._selector.select = select  # type: ignore[attr-defined]
        assert turns < 10

    asyncio.run(main())


def test_a_cancelled_drain_ends_and_leaves_nothing_behind(gate: Gate) -> None:
    async def main() -> None:
        calls = AsyncCalls()
        caller = asyncio.ensure_future(calls.run_within(LONG, gate))
        await _reached(gate)
        before = asyncio.all_tasks()
        draining = asyncio.ensure_future(calls.drain(LONG))
        while len(asyncio.all_tasks()) < len(before) + 2:  # the drain, and what it waits with
            await asyncio.sleep(0)
        draining.cancel()
        with pytest.raises(asyncio.CancelledError):
            await draining
        assert asyncio.all_tasks() == before
        gate.open.set()
        assert await caller == "passed"

    asyncio.run(main())


@pytest.mark.filterwarnings("error")
def test_an_error_that_comes_late_is_not_complained_about(
    gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody waits any more, whether the loop still runs or was closed: no log, no warning."""
    ended = [threading.Event(), threading.Event()]

    def failing(number: int) -> None:
        try:
            gate()
            raise RuntimeError("too late to tell anybody")
        finally:
            ended[number].set()

    async def main(number: int, *, wait: bool) -> None:
        calls = AsyncCalls()
        with pytest.raises(StoreTimeout):
            await calls.run_within(SHORT, lambda: failing(number))
        if wait:
            gate.open.set()
            assert (await calls.drain(LONG)).stuck == 0

    with caplog.at_level(logging.DEBUG):
        asyncio.run(main(0, wait=False))
        asyncio.run(main(1, wait=True))
        assert all(event.wait(LONG) for event in ended)
        gc.collect()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_wedged_store_takes_a_bounded_number_of_threads_and_then_refuses(gate: Gate) -> None:
    store = MemoryStore()
    before = threading.active_count()

    async def main() -> None:
        calls = AsyncCalls(ThreadBounded(most_abandoned=3))
        with open_coordinator("unused", ports=Ports(store=store)) as coordinator:

            def submit() -> object:
                gate()
                return coordinator.submit(run_id="r1")

            for _ in range(3):
                with pytest.raises(StoreTimeout):
                    await calls.run_within(SHORT, submit)
            for _ in range(20):
                with pytest.raises(StoreUnavailable, match="Nothing was sent"):
                    await calls.run_within(SHORT, submit)
            assert threading.active_count() <= before + 3
            gate.open.set()
            await calls.drain(LONG)
            assert (await calls.run_within(LONG, lambda: coordinator.run("r1"))).state is State.ACCEPTED

    asyncio.run(main())
