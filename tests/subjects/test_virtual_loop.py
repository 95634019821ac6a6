"""The event loop on a world's clock: what asyncio promises holds in it, and loops get on with each other."""

from __future__ import annotations

import asyncio
import contextvars
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pytest_runcoord.subjects.virtual_loop import VirtualLoop
from pytest_runcoord.world_errors import ScenarioMistake
from subjects.loops import Bench, bench

# --- asyncio's own ---


def test_bounds_of_asyncio_are_reached_in_virtual_time() -> None:
    b = bench()

    async def verb() -> list[float]:
        loop, at = asyncio.get_running_loop(), []
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await asyncio.Event().wait()
        at.append(loop.time())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.sleep(100), 7)
        at.append(loop.time())
        done, pending = await asyncio.wait([asyncio.create_task(asyncio.sleep(n)) for n in (1, 9)], timeout=3)
        assert (len(done), len(pending)) == (1, 1)
        at.append(loop.time())
        async with asyncio.timeout(50):
            await asyncio.gather(*pending)
        at.append(loop.time())
        return at

    assert b.loop.run(verb(), "verb") == [1_005.0, 1_012.0, 1_015.0, 1_021.0]
    b.loop.end()


def test_a_group_of_tasks_is_cancelled_when_one_of_them_fails() -> None:
    b, seen = bench(), []

    async def fails() -> None:
        await asyncio.sleep(3)
        raise ValueError("no")

    async def waits() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append(b.clock.monotonic())
            raise

    async def verb() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(waits())
            group.create_task(fails())

    with pytest.raises(ExceptionGroup) as raised:
        b.loop.run(verb(), "verb")
    assert [repr(each) for each in raised.value.exceptions] == ["ValueError('no')"]
    assert seen == [1_003.0]
    b.loop.end()


def test_a_queue_and_a_lock_hand_over_without_time_passing() -> None:
    b = bench()

    async def verb() -> tuple[list[int], float]:
        queue: asyncio.Queue[int] = asyncio.Queue(maxsize=1)
        lock, got = asyncio.Lock(), []

        async def produce() -> None:
            for number in range(5):
                await queue.put(number)

        async def consume() -> None:
            for _ in range(5):
                async with lock:
                    got.append(await queue.get())

        await asyncio.gather(produce(), consume())
        return got, asyncio.get_running_loop().time()

    assert b.loop.run(verb(), "verb") == ([0, 1, 2, 3, 4], 1_000.0)
    b.loop.end()


def test_what_a_verb_set_going_has_begun_when_it_returns() -> None:
    b, seen = bench(), []

    async def goes_on() -> None:
        seen.append("begun")
        await asyncio.sleep(0)
        seen.append("went on")

    async def verb() -> None:
        asyncio.create_task(goes_on())  # noqa: RUF006

    b.loop.run(verb(), "verb")
    assert seen == ["begun", "went on"]
    b.loop.end()


def test_a_context_variable_lasts_from_one_verb_to_the_next_and_is_nobody_elses() -> None:
    number: contextvars.ContextVar[int] = contextvars.ContextVar("number", default=0)
    one, other = bench(), bench()

    async def set_it() -> None:
        number.set(7)

    async def read_it() -> int:
        return number.get()

    one.loop.run(set_it(), "set_it")
    assert one.loop.run(read_it(), "read_it") == 7
    assert other.loop.run(read_it(), "read_it") == 0
    assert number.get() == 0
    for each in (one, other):
        each.loop.end()


def test_generators_that_were_left_half_way_are_closed_with_their_owner() -> None:
    b, closed = bench(), []
    kept: list[AsyncIterator[int]] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(2)
            closed.append(b.clock.monotonic())

    async def verb(keep: bool) -> None:
        generator = numbers()
        if keep:
            kept.append(generator)
        async for _ in generator:
            break

    b.loop.run(verb(keep=False), "verb")
    b.advance(2)
    assert closed == [1_002.0]
    b.loop.run(verb(keep=True), "verb")
    b.loop.end()
    assert closed == [1_002.0, 1_004.0]


def test_in_debug_mode_it_is_the_same() -> None:
    b = bench()
    b.loop.set_debug(True)
    depth = sys.get_coroutine_origin_tracking_depth()

    async def verb() -> float:
        async with asyncio.timeout(10):
            await asyncio.to_thread(lambda: None)
            await asyncio.gather(asyncio.sleep(1), asyncio.sleep(2))
        return asyncio.get_running_loop().time()

    assert b.loop.run(verb(), "verb") == 1_002.0
    assert sys.get_coroutine_origin_tracking_depth() == depth
    b.loop.end()


# --- several loops, and loops around loops ---


class FiresOthers:
    """A sleeper as a world's: while one owner waits, the loops of others tick."""

    def __init__(self, b: Bench, acts: list[object]) -> None:
        self._b, self._acts = b, acts

    def sleep(self, seconds: float) -> None:
        while self._acts:
            self._acts.pop(0)()  # type: ignore[operator]
        self._b.advance(seconds)


def test_while_one_owner_waits_another_ones_loop_runs_inside_of_it() -> None:
    other, seen = bench(), []
    waiting = VirtualLoop(other.clock, FiresOthers(other, []), name="gw2")

    async def beat() -> None:
        for _ in range(3):
            await asyncio.sleep(10)
            seen.append((asyncio.get_running_loop() is other.loop, other.clock.monotonic()))

    async def verb() -> bool:
        await asyncio.sleep(25)
        return asyncio.get_running_loop() is waiting and asyncio.current_task() is not None

    task = other.loop.create_task(beat())
    assert waiting.run(verb(), "verb")
    assert seen == [(True, 1_010.0), (True, 1_020.0)]
    other.advance(5)
    assert seen[-1] == (True, 1_030.0)
    assert task.done()
    for loop in (waiting, other.loop):
        loop.end()


def test_an_owner_that_waits_can_be_asked_for_something_else_meanwhile() -> None:
    b, order = bench(), []

    async def inner() -> str:
        await asyncio.sleep(1)
        order.append("inner")
        return "inner"

    def ask() -> None:
        assert loop.run(inner(), "inner") == "inner"

    loop = VirtualLoop(b.clock, FiresOthers(b, [ask]), name="gw1")

    async def outer() -> None:
        await asyncio.sleep(10)
        order.append("outer")

    loop.run(outer(), "outer")
    assert order == ["inner", "outer"]
    loop.end()


def test_in_the_middle_of_a_step_it_can_be_asked_for_nothing() -> None:
    b = bench()

    async def inner() -> None:
        raise AssertionError("it ran")

    async def outer() -> None:
        with pytest.raises(ScenarioMistake, match="in the middle of a step"):
            b.loop.run(inner(), "stop")

    b.loop.run(outer(), "outer")
    b.loop.end()


def test_it_runs_inside_of_a_test_that_is_asynchronous_itself() -> None:
    async def around() -> None:
        b, task, loop = bench(), asyncio.current_task(), asyncio.get_running_loop()

        async def verb() -> float:
            assert asyncio.current_task() is not task
            await asyncio.sleep(5)
            return asyncio.get_running_loop().time()

        assert b.loop.run(verb(), "verb") == 1_005.0
        b.loop.end()
        assert (asyncio.current_task(), asyncio.get_running_loop()) == (task, loop)
        await asyncio.sleep(0)

    asyncio.run(around())


def test_a_plain_method_that_kept_its_loop_may_run_it() -> None:
    b = bench()

    async def work() -> int:
        await asyncio.sleep(3)
        return 7

    assert b.loop.run_until_complete(work()) == 7
    future = b.loop.create_future()
    b.loop.call_later(2, future.set_result, 8)
    assert b.loop.run_until_complete(future) == 8
    assert b.clock.monotonic() == 1_005.0
    b.loop.call_soon(b.loop.stop)
    b.loop.call_soon(future.cancel)
    b.loop.run_forever()
    assert (b.loop.next_due(), b.loop.is_running()) == (None, False)
    b.loop.end()


def test_a_loop_holds_no_descriptor() -> None:
    def held() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before, loops = held(), [bench() for _ in range(50)]

    async def verb() -> None:
        await asyncio.sleep(1)

    for each in loops:
        each.loop.run(verb(), "verb")
    assert held() == before
    for each in loops:
        each.loop.end()
