"""Threads of a subject: its loop waits for what they owe it, in real time and with a bound."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pytest_runcoord.subjects import thread_results
from pytest_runcoord.subjects.loop_faults import LoopFault
from subjects.loops import bench

DEADLINE_SECONDS = 20.0


class Database:
    """As some libraries for databases have it: one thread, a queue, and futures that the library makes."""

    def __init__(self) -> None:
        self._asked: queue.SimpleQueue[tuple[asyncio.Future[Any], Callable[[], Any]] | None] = (
            queue.SimpleQueue()
        )
        self.thread = threading.Thread(target=self._serve, name="database")
        self.thread.start()

    def _serve(self) -> None:
        while (asked := self._asked.get()) is not None:
            future, act = asked
            future.get_loop().call_soon_threadsafe(future.set_result, act())

    async def ask(self, act: Callable[[], Any]) -> Any:
        future = asyncio.get_running_loop().create_future()
        self._asked.put((future, act))
        return await future

    def close(self) -> None:
        self._asked.put(None)
        self.thread.join(DEADLINE_SECONDS)


@contextlib.contextmanager
def database() -> Iterator[Database]:
    served = Database()
    try:
        yield served
    finally:
        served.close()


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Threads of a test wait for it, and all of them are let go at its end."""
    opened = threading.Event()
    yield opened
    opened.set()


def busy_for_a_moment() -> str:
    """Real work, longer than a switch of threads takes."""
    return str(sum(range(200_000)))


def test_no_time_passes_while_a_thread_of_the_loop_works() -> None:
    b, beats = bench(), []

    async def beat() -> None:
        while True:
            await asyncio.sleep(30)
            beats.append(b.clock.monotonic())

    async def verb() -> tuple[str, str]:
        one = await asyncio.to_thread(busy_for_a_moment)
        other = await asyncio.get_running_loop().run_in_executor(None, busy_for_a_moment)
        return one, other

    task = b.loop.create_task(beat())
    assert b.loop.run(verb(), "verb") == (busy_for_a_moment(),) * 2
    assert (b.clock.monotonic(), beats) == (1_000.0, [])
    task.cancel()
    b.loop.end()


def test_a_pool_of_its_own_is_waited_for_too() -> None:
    b = bench()
    b.loop.call_later(30, print)
    with ThreadPoolExecutor(2) as pool:

        async def verb() -> list[str]:
            loop = asyncio.get_running_loop()
            wrapped = asyncio.wrap_future(pool.submit(busy_for_a_moment))
            return [await loop.run_in_executor(pool, busy_for_a_moment), await wrapped]

        assert b.loop.run(verb(), "verb") == [busy_for_a_moment()] * 2
    assert b.clock.monotonic() == 1_000.0
    b.loop.end()


def test_what_a_task_gave_to_a_thread_is_done_before_time_goes_on() -> None:
    b, seen = bench(), []

    async def renews() -> None:
        while True:
            await asyncio.sleep(30)
            await asyncio.to_thread(busy_for_a_moment)
            seen.append(b.clock.monotonic())

    task = b.loop.create_task(renews())
    b.advance(90)
    assert seen == [1_030.0, 1_060.0, 1_090.0]
    task.cancel()
    b.loop.end()


def test_a_library_with_a_thread_of_its_own_is_waited_for() -> None:
    b, seen = bench(), []
    with database() as served:

        async def renews() -> None:
            while True:
                await asyncio.sleep(30)
                await served.ask(busy_for_a_moment)
                seen.append(b.clock.monotonic())

        async def verb() -> list[str]:
            return [await served.ask(busy_for_a_moment) for _ in range(3)]

        task = b.loop.create_task(renews())
        assert b.loop.run(verb(), "verb") == [busy_for_a_moment()] * 3
        assert b.clock.monotonic() == 1_000.0
        b.advance(60)
        assert seen == [1_030.0, 1_060.0]
        task.cancel()
        b.loop.end()


def test_a_thread_may_call_into_the_loop_without_being_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_results, "MOMENT_SECONDS", DEADLINE_SECONDS)
    b = bench()

    async def verb() -> float:
        loop, woken = asyncio.get_running_loop(), asyncio.Event()
        loop.call_later(30, print)

        def tell() -> None:
            busy_for_a_moment()
            loop.call_soon_threadsafe(woken.set)

        thread = threading.Thread(target=tell)
        thread.start()
        await woken.wait()
        thread.join(DEADLINE_SECONDS)
        return loop.time()

    assert b.loop.run(verb(), "verb") == 1_000.0
    b.loop.end()


def test_a_thread_may_wait_for_a_coroutine_which_takes_virtual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_results, "RESULT_SECONDS", 0.2)
    b = bench()

    async def later() -> str:
        await asyncio.sleep(5)
        return "later"

    async def verb() -> str:
        loop = asyncio.get_running_loop()
        return await asyncio.to_thread(
            lambda: asyncio.run_coroutine_threadsafe(later(), loop).result(DEADLINE_SECONDS)
        )

    assert b.loop.run(verb(), "verb") == "later"
    assert b.clock.monotonic() == 1_005.0
    b.loop.end()


def test_a_bound_around_a_thread_that_hangs_is_reached(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_results, "RESULT_SECONDS", 0.05)
    b = bench()

    async def verb() -> float:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.to_thread(gate.wait), 10)
        return asyncio.get_running_loop().time()

    assert b.loop.run(verb(), "verb") == 1_010.0
    gate.set()
    b.loop.end()


def test_a_thread_that_hangs_without_a_bound_is_a_fault_after_a_bounded_wait(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_results, "RESULT_SECONDS", 0.05)
    b = bench()

    async def verb() -> None:
        await asyncio.to_thread(gate.wait)

    with pytest.raises(LoopFault, match="waits for what never comes"):
        b.loop.run(verb(), "claim")
    gate.set()
    b.loop.dispose()


def test_threads_that_never_let_a_loop_rest_are_a_fault(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_results, "BUSY_SECONDS", 0.1)
    b, done = bench(), threading.Event()

    def pesters() -> None:
        while not gate.wait(0.001):
            b.loop.call_soon_threadsafe(int)
        done.set()

    async def verb() -> None:
        threading.Thread(target=pesters, daemon=True).start()
        await asyncio.Event().wait()

    with pytest.raises(LoopFault, match=r"was kept busy by threads for 0.1 s of real time"):
        b.loop.run(verb(), "claim")
    gate.set()
    assert done.wait(DEADLINE_SECONDS)
    b.loop.dispose()


def test_threads_that_have_nothing_to_say_cost_no_more_than_a_second(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_results, "MOMENT_SECONDS", 0.001)
    b, waits = bench(), []
    threading.Thread(target=gate.wait, daemon=True).start()
    comes = thread_results.ThreadResults._comes
    monkeypatch.setattr(
        thread_results.ThreadResults,
        "_comes",
        lambda self, arrived, seconds: (waits.append(seconds), comes(self, arrived, seconds))[1],
    )

    async def verb() -> None:
        for _ in range(100):
            await asyncio.sleep(1)

    b.loop.run(verb(), "verb")
    assert waits == [0.001] * thread_results.VAIN_MOMENTS
    b.loop.end()


def test_threads_of_the_loop_end_with_it() -> None:
    b = bench()

    def of_the_loop() -> int:
        return sum(thread.name.startswith("loop of gw1") for thread in threading.enumerate())

    async def verb() -> None:
        await asyncio.gather(*(asyncio.to_thread(busy_for_a_moment) for _ in range(4)))

    b.loop.run(verb(), "verb")
    assert of_the_loop() > 0
    b.loop.end()
    assert of_the_loop() == 0


def test_a_thread_of_a_dead_owner_gets_no_answer_and_no_error(gate: threading.Event) -> None:
    b, raised = bench(), []

    async def verb() -> None:
        asyncio.get_running_loop().run_in_executor(pool, gate.wait)

    def tells() -> None:
        gate.wait(DEADLINE_SECONDS)
        try:
            b.loop.call_soon_threadsafe(raised.append, "ran")
        except RuntimeError as error:
            raised.append(str(error))

    thread = threading.Thread(target=tells)
    thread.start()
    with ThreadPoolExecutor(1) as pool, pytest.MonkeyPatch.context() as patch:
        patch.setattr(thread_results, "RESULT_SECONDS", 0.05)
        b.loop.run(verb(), "verb")
        b.loop.die()
        gate.set()
    thread.join(DEADLINE_SECONDS)
    assert raised == []
    assert b.loop.next_due() is None
    b.loop.dispose()
