"""What coroutines and tasks of a subject do wrong is named, bounded, and never waited for."""

from __future__ import annotations

import asyncio
import gc
import re
import socket
import sys
from collections.abc import Awaitable, Callable

import pytest

from pytest_runcoord.subjects import loop_faults, virtual_loop
from pytest_runcoord.subjects.loop_faults import LoopFault, OutOfReach
from subjects.loops import bench


async def forever() -> None:
    await asyncio.Event().wait()


# --- verbs that do not return ---


def test_a_verb_that_waits_for_what_never_comes_is_a_fault_that_says_where() -> None:
    b = bench()

    async def waits_here() -> None:
        await forever()

    with pytest.raises(LoopFault) as fault:
        b.loop.run(waits_here(), "claim")
    assert fault.value.problem.startswith("waits for what never comes: nothing is due")
    assert re.search(r"test_loop_faults.py:\d+, in forever$", fault.value.problem)
    assert b.clock.monotonic() == 1_000.0
    b.loop.dispose()


def test_a_heartbeat_beside_it_does_not_make_a_verb_wait_for_ever() -> None:
    b = bench()

    async def beat() -> None:
        while True:
            await asyncio.sleep(30)

    b.loop.create_task(beat())
    with pytest.raises(LoopFault, match="3600 s of virtual time were not enough; it stands at"):
        b.loop.run(forever(), "claim")
    assert b.clock.monotonic() == 1_000.0 + virtual_loop.MAX_VERB_SECONDS
    b.loop.dispose()


def test_a_verb_that_looks_again_and_again_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_loop, "MAX_WAITS", 50)
    b = bench()

    async def polls() -> None:
        while True:
            await asyncio.sleep(0.01)

    with pytest.raises(LoopFault, match="time passed 50 times"):
        b.loop.run(polls(), "claim")
    assert b.clock.monotonic() == pytest.approx(1_000.5)
    b.loop.dispose()


@pytest.mark.parametrize("nap", [0, 1e-9])
def test_a_task_that_goes_round_without_time_passing_is_named(nap: float) -> None:
    b = bench()

    async def spins() -> None:
        while True:
            await asyncio.sleep(nap)

    b.loop.create_task(spins(), name="spinner")
    with pytest.raises(
        LoopFault, match="goes round without time passing, in the task 'spinner': 100000 steps"
    ):
        b.loop.tick()
    assert b.clock.monotonic() == 1_000.0
    b.loop.dispose()


def test_a_callback_that_goes_round_is_named_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_loop, "MAX_STEPS_AT_ONCE", 100)
    b = bench()

    def again() -> None:
        b.loop.call_soon(again)

    b.loop.call_soon(again)
    with pytest.raises(LoopFault, match=r"in <Handle .*again\(\) at .*test_loop_faults.py:\d+>: 100 steps"):
        b.loop.tick()
    b.loop.dispose()


def test_many_tasks_that_come_to_an_end_are_none_of_that() -> None:
    b = bench()

    async def steps() -> None:
        for _ in range(80):
            await asyncio.sleep(0)

    async def verb() -> None:
        await asyncio.gather(*(steps() for _ in range(1_000)))

    b.loop.run(verb(), "verb")
    b.loop.end()


def test_a_verb_that_cancels_itself_is_a_fault_and_no_silence() -> None:
    b = bench()

    async def verb() -> None:
        asyncio.current_task().cancel()  # type: ignore[union-attr]
        await asyncio.sleep(0)

    with pytest.raises(LoopFault, match="was cancelled by the subject itself"):
        b.loop.run(verb(), "claim")
    b.loop.end()


def test_running_a_loop_inside_of_a_verb_is_an_error_as_it_is_elsewhere() -> None:
    b = bench()

    async def inner() -> None:
        raise AssertionError("it ran")

    async def verb() -> None:
        coroutine = inner()
        try:
            asyncio.run(coroutine)
        finally:
            coroutine.close()

    with pytest.raises(RuntimeError, match="cannot be called from a running event loop"):
        b.loop.run(verb(), "verb")
    b.loop.end()


# --- tasks that nobody looks after ---


async def fails(after: float = 0.0) -> None:
    await asyncio.sleep(after)
    raise ValueError("no renewal")


def test_a_task_that_fails_is_reported_by_name_and_line_when_it_does() -> None:
    b = bench()
    b.loop.create_task(fails(30), name="heartbeat")
    b.advance(29)
    with pytest.raises(LoopFault) as fault:
        b.advance(1)
    assert fault.value.problem.startswith(
        "saw the task 'heartbeat' end with ValueError: no renewal (at test_loop_"
    )
    assert isinstance(fault.value.error, ValueError)
    assert fault.value.__cause__ is fault.value.error
    assert b.clock.monotonic() == 1_030.0
    b.loop.end()


def test_a_task_without_a_name_is_called_after_its_coroutine() -> None:
    b = bench()
    b.loop.create_task(fails())
    with pytest.raises(LoopFault, match="saw the task 'fails' end with ValueError"):
        b.loop.tick()
    b.loop.end()


def test_a_task_that_fails_while_a_verb_runs_is_the_fault_of_that_verb() -> None:
    b = bench()

    async def verb() -> None:
        asyncio.create_task(fails(), name="mailer")  # noqa: RUF006

    with pytest.raises(LoopFault, match="saw the task 'mailer' end with ValueError"):
        b.loop.run(verb(), "submit")
    b.loop.end()


def awaited() -> Awaitable[object]:
    return asyncio.gather(asyncio.create_task(fails()), return_exceptions=True)


async def looked_at() -> None:
    task = asyncio.create_task(fails())
    await asyncio.wait([task])
    assert isinstance(task.exception(), ValueError)


async def called_back() -> None:
    task = asyncio.create_task(fails())
    task.add_done_callback(lambda ended: ended.exception())


@pytest.mark.parametrize("way", [awaited, looked_at, called_back])
def test_a_failure_that_somebody_looks_at_is_none(way: Callable[[], Awaitable[object]]) -> None:
    b = bench()

    async def verb() -> None:
        await way()

    b.loop.run(verb(), "verb")
    b.loop.end()


def test_a_program_with_an_exception_handler_of_its_own_is_told() -> None:
    b, told = bench(), []
    b.loop.set_exception_handler(lambda loop, context: told.append(context["exception"]))
    b.loop.create_task(fails())
    b.loop.tick()
    assert [repr(each) for each in told] == ["ValueError('no renewal')"]
    b.loop.end()


def test_a_callback_that_raises_is_a_fault() -> None:
    b = bench()

    def breaks() -> None:
        raise KeyError("table")

    b.loop.call_later(5, breaks)
    with pytest.raises(LoopFault, match=r"Exception in callback .*breaks.*: KeyError: 'table'"):
        b.advance(5)
    b.loop.end()


def test_tasks_that_go_on_after_close_are_counted_and_named() -> None:
    b = bench()
    for number in range(7):
        b.loop.create_task(forever(), name=f"worker-{number}")
    b.loop.tick()
    with pytest.raises(LoopFault) as fault:
        b.loop.end()
    named = r"left 7 tasks running: 'worker-0' \(test_loop_faults.py:\d+, in forever\), "
    assert re.match(named, fault.value.problem)
    assert fault.value.problem.endswith("and 2 more")
    b.loop.end()


def test_what_is_left_running_writes_nothing_before_the_verdict() -> None:
    b, wrote = bench(), []

    async def leaves() -> None:
        try:
            await forever()
        finally:
            wrote.append("finally")

    b.loop.create_task(leaves())
    b.loop.tick()
    with pytest.raises(LoopFault, match="left a task running"):
        b.loop.end()
    assert wrote == []
    b.loop.dispose()
    assert wrote == ["finally"]


def test_a_task_that_was_cancelled_may_take_its_leave() -> None:
    b, left = bench(), []

    async def takes_leave() -> None:
        try:
            await forever()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            left.append("done")
            raise

    task = b.loop.create_task(takes_leave())
    b.loop.tick()
    task.cancel()
    b.loop.end()
    assert left == ["done"]


def test_a_task_that_does_not_mind_being_cancelled_is_left_running() -> None:
    b = bench()

    async def stubborn() -> None:
        while True:
            try:
                await forever()
            except asyncio.CancelledError:
                continue

    task = b.loop.create_task(stubborn())
    b.loop.tick()
    task.cancel()
    with pytest.raises(LoopFault, match="left a task running"):
        b.loop.end()


# --- what is out of reach ---


def _reads(b: asyncio.AbstractEventLoop) -> object:
    one, other = socket.socketpair()
    with one, other:
        return b.add_reader(one, print)


@pytest.mark.parametrize(
    ("method", "act"),
    [
        ("create_connection", lambda: asyncio.open_connection("localhost", 1)),
        ("create_server", lambda: asyncio.start_server(print, "localhost", 0)),
        ("subprocess_exec", lambda: asyncio.create_subprocess_exec(sys.executable, "-c", "")),
        ("subprocess_shell", lambda: asyncio.create_subprocess_shell("true")),
        ("getaddrinfo", lambda: asyncio.get_running_loop().getaddrinfo("localhost", 1)),
        ("add_reader", lambda: _reads(asyncio.get_running_loop())),
    ],
)
def test_sockets_and_processes_are_refused_by_name(method: str, act: Callable[[], Awaitable[object]]) -> None:
    b = bench()

    async def verb() -> None:
        await act()

    with pytest.raises(OutOfReach, match=rf"has no {method}\(\).*a program of its own"):
        b.loop.run(verb(), "verb")
    b.loop.end()


def test_a_handler_for_a_signal_is_taken_and_never_called() -> None:
    b = bench()
    b.loop.add_signal_handler(15, print)
    assert b.loop.remove_signal_handler(15)
    assert not b.loop.remove_signal_handler(15)
    b.loop.end()


def test_a_loop_that_is_over_takes_no_more_and_complains_of_nothing() -> None:
    b, called = bench(), []
    b.loop.end()
    b.loop.call_soon(called.append, 1)
    b.loop.call_soon_threadsafe(called.append, 2)
    b.loop.call_later(0, called.append, 3)
    with pytest.raises(RuntimeError, match="the event loop of gw1 is over"):
        b.loop.create_task(forever())
    with pytest.raises(RuntimeError, match="claim was asked of gw1, whose event loop is over"):
        b.loop.run(forever(), "claim")
    assert b.loop.next_due() is None
    gc.collect()
    assert called == []


def test_no_fault_is_without_its_expectation_and_remedy() -> None:
    b = bench()
    task = b.loop.create_task(fails())
    faults = [
        loop_faults.never_comes(task, "why"),
        loop_faults.goes_round("x", 1),
        loop_faults.kept_busy(1.0),
        loop_faults.task_failed(task, ValueError()),
        loop_faults.left_running([task]),
        loop_faults.was_cancelled(),
        loop_faults.reported({}),
    ]
    assert all(fault.problem and fault.expected and fault.remedy for fault in faults)
    b.loop.dispose()
