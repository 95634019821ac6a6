"""Time in the event loop of a subject: how it passes, and in which order things happen."""

from __future__ import annotations

import asyncio
import heapq
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_runcoord.subjects.loop_faults import LoopFault
from subjects.loops import bench


def test_a_sleep_takes_its_time_on_the_clock_and_none_in_reality() -> None:
    b = bench()

    async def verb() -> float:
        await asyncio.sleep(2_000)
        return asyncio.get_running_loop().time()

    assert b.loop.run(verb(), "verb") == 3_000.0
    assert b.clock.monotonic() == 3_000.0
    b.loop.end()


def test_a_heartbeat_beats_as_time_is_let_pass_and_not_otherwise() -> None:
    b, beats = bench(), []

    async def beat() -> None:
        while True:
            await asyncio.sleep(30)
            beats.append(b.clock.monotonic())

    async def start_up() -> asyncio.Task[None]:
        return asyncio.create_task(beat(), name="heartbeat")

    async def close(task: asyncio.Task[None]) -> None:
        task.cancel()

    task = b.loop.run(start_up(), "start_up")
    b.clock.advance(29)
    assert (beats, b.loop.next_due()) == ([], 1_030.0)
    b.advance(1)
    assert beats == [1_030.0]
    b.advance(90)
    assert beats == [1_030.0, 1_060.0, 1_090.0, 1_120.0]
    b.loop.run(close(task), "close")
    b.loop.end()
    b.advance(300)
    assert len(beats) == 4


def test_what_fell_due_while_nothing_ran_is_made_up_for_once_and_late() -> None:
    b, beats = bench(), []

    async def beat() -> None:
        while True:
            await asyncio.sleep(30)
            beats.append(b.clock.monotonic())

    async def start_up() -> None:
        asyncio.current_task().get_loop().create_task(beat())  # type: ignore[union-attr]

    b.loop.run(start_up(), "start_up")
    b.clock.advance(100)
    assert b.loop.next_due() == 1_030.0
    b.loop.tick()
    assert beats == [1_100.0]
    assert b.loop.next_due() == 1_130.0
    b.loop.dispose()


def test_the_loop_stands_still_while_the_machine_sleeps() -> None:
    b, woken = bench(), []

    async def later() -> None:
        await asyncio.sleep(30)
        woken.append((b.clock.monotonic(), b.clock.boottime()))

    async def start_up() -> None:
        asyncio.create_task(later())  # noqa: RUF006

    b.loop.run(start_up(), "start_up")
    b.clock.suspend(7_200)
    assert b.loop.next_due() == 8_230.0
    b.advance(29)
    assert woken == []
    b.advance(1)
    assert woken == [(1_030.0, 8_230.0)]
    b.loop.end()


def test_a_tick_waits_for_nothing() -> None:
    b, steps = bench(), []

    async def work() -> None:
        steps.append("begun")
        await asyncio.sleep(10)
        steps.append("done")

    b.loop.create_task(work())
    assert b.loop.next_due() == 1_000.0
    b.loop.tick()
    assert (steps, b.clock.monotonic()) == (["begun"], 1_000.0)
    b.advance(10)
    assert steps == ["begun", "done"]
    b.loop.end()


sixteenths = st.integers(1, 16 * 120).map(lambda n: n / 16)
"""Seconds of which sums are exact."""


def computed(tasks: list[list[float]]) -> list[tuple[float, int, int]]:
    """When each nap of each task ends, in order; of those at the same time the one that began first."""
    began = itertools.count()
    asleep = [(1_000.0 + naps[0], next(began), number, 0) for number, naps in enumerate(tasks)]
    heapq.heapify(asleep)
    woken: list[tuple[float, int, int]] = []
    while asleep:
        at, _, number, turn = heapq.heappop(asleep)
        woken.append((at, number, turn))
        if turn + 1 < len(tasks[number]):
            heapq.heappush(asleep, (at + tasks[number][turn + 1], next(began), number, turn + 1))
    return woken


@given(st.lists(st.lists(sixteenths, min_size=1, max_size=5), min_size=1, max_size=8), st.booleans())
def test_wake_ups_happen_in_the_order_and_at_the_times_that_can_be_computed(
    tasks: list[list[float]], ticking: bool
) -> None:
    b = bench()
    seen: list[tuple[float, int, int]] = []

    async def sleeper(number: int, naps: list[float]) -> None:
        for turn, nap in enumerate(naps):
            await asyncio.sleep(nap)
            seen.append((b.clock.monotonic(), number, turn))

    async def together() -> None:
        await asyncio.gather(*(sleeper(number, naps) for number, naps in enumerate(tasks)))

    if ticking:
        b.loop.create_task(together())
        b.advance(16 * 120 * 5)
    else:
        b.loop.run(together(), "together")
    assert seen == computed(tasks)
    b.loop.end()


@given(st.lists(st.sampled_from([1.0, 2.0, 3.0]), min_size=2, max_size=30))
def test_of_calls_at_the_same_time_the_first_one_asked_for_is_first(delays: list[float]) -> None:
    b, called = bench(), []

    async def verb() -> None:
        loop = asyncio.get_running_loop()
        for number, delay in enumerate(delays):
            loop.call_later(delay, called.append, number)
        await asyncio.sleep(4)

    b.loop.run(verb(), "verb")
    assert called == [number for _, number in sorted((delay, number) for number, delay in enumerate(delays))]
    b.loop.end()


def test_times_that_are_not_exact_do_not_make_a_timer_late() -> None:
    b, beats = bench(), []

    async def beat() -> None:
        while True:
            await asyncio.sleep(0.1)
            beats.append(b.clock.monotonic())

    task = b.loop.create_task(beat())
    b.loop.tick()
    for _ in range(1_000):
        b.advance(0.1)
    assert len(beats) == 1_000
    task.cancel()
    b.loop.end()


@pytest.mark.parametrize("when", [float("nan"), "soon"])
def test_a_time_that_is_none_is_refused(when: object) -> None:
    b = bench()
    with pytest.raises((ValueError, TypeError)):
        b.loop.call_at(when, print)  # type: ignore[arg-type]
    assert b.loop.next_due() is None
    b.loop.end()


def test_an_endless_sleep_is_never_due() -> None:
    b = bench()
    task = b.loop.create_task(asyncio.sleep(float("inf")))
    b.loop.tick()
    assert b.loop.next_due() is None
    with pytest.raises(LoopFault, match="left a task running"):
        b.loop.end()
    assert task.get_coro() is not None
