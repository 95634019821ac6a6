"""A crash in an event loop: nothing of the dead owner runs, not even clean-up, until there is a verdict."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator

import pytest

from pytest_runcoord.probed_ports import Crashed
from pytest_runcoord.world_errors import FailedMeanwhile
from subjects.loops import bench


class Power:
    """Whether the owner lives; ``off`` is where its port dies."""

    def __init__(self) -> None:
        self.on = True

    def alive(self) -> None:
        if not self.on:
            raise Crashed("gw1#1")

    def off(self) -> None:
        self.on = False
        raise Crashed("gw1#1")


def test_after_a_crash_between_steps_nothing_of_it_runs() -> None:
    power = Power()
    b, wrote = bench(power.alive), []

    class Held:
        def __del__(self) -> None:
            wrote.append("__del__")

    async def beat(held: Held) -> None:
        try:
            while True:
                await asyncio.sleep(30)
                wrote.append("beat")
        except asyncio.CancelledError:
            wrote.append("except CancelledError")
            raise
        finally:
            wrote.append("finally")

    async def start_up() -> None:
        asyncio.create_task(beat(Held()))  # noqa: RUF006

    b.loop.run(start_up(), "start_up")
    power.on = False
    b.loop.die()
    b.advance(300)
    gc.collect()
    assert wrote == []
    assert b.loop.next_due() is None
    b.loop.dispose()
    gc.collect()
    assert wrote == ["finally", "__del__"]


def test_a_crash_in_the_middle_of_a_step_is_the_last_thing_that_happens() -> None:
    power = Power()
    b, wrote = bench(power.alive), []

    async def other() -> None:
        wrote.append("other")

    async def verb() -> None:
        asyncio.create_task(other())  # noqa: RUF006
        asyncio.get_running_loop().call_soon(wrote.append, "call")
        power.off()

    with pytest.raises(Crashed):
        b.loop.run(verb(), "complete")
    b.loop.die()
    assert wrote == []
    b.loop.dispose()
    assert wrote == []


def test_a_program_that_handles_its_own_death_does_not_get_on() -> None:
    power = Power()
    b, wrote = bench(power.alive), []

    async def verb() -> None:
        try:
            power.off()
        except BaseException:  # noqa: BLE001  as in code that means well
            await asyncio.sleep(0)
            wrote.append("went on")

    with pytest.raises(Crashed):
        b.loop.run(verb(), "complete")
    b.loop.die()
    assert wrote == []
    b.loop.dispose()


@pytest.mark.parametrize("error", [Crashed("gw1#1"), FailedMeanwhile(ValueError("unmet"))])
def test_what_is_not_for_the_program_passes_a_background_task_at_once(error: BaseException) -> None:
    b, wrote = bench(), []

    async def beat() -> None:
        await asyncio.sleep(30)
        asyncio.get_running_loop().call_soon(wrote.append, "call")
        raise error

    b.loop.create_task(beat())
    with pytest.raises(type(error)) as raised:
        b.advance(30)
    assert raised.value is error
    assert wrote == []
    b.loop.dispose()


def test_it_passes_a_callback_too() -> None:
    b, wrote, error = bench(), [], Crashed("gw1#1")

    def breaks() -> None:
        b.loop.call_soon(wrote.append, "call")
        raise error

    b.loop.call_later(5, breaks)
    with pytest.raises(Crashed) as raised:
        b.advance(5)
    assert raised.value is error
    assert wrote == []
    b.loop.dispose()


def test_an_owner_that_died_while_a_verb_of_it_waited_does_not_wake_up() -> None:
    power = Power()
    b, wrote = bench(power.alive), []

    async def verb() -> None:
        asyncio.get_running_loop().call_later(30, wrote.append, "was called")
        try:
            await asyncio.sleep(30)
            wrote.append("woke up")
        finally:
            wrote.append("finally")

    b.clock.listeners.append(lambda: setattr(power, "on", False))
    with pytest.raises(Crashed):
        b.loop.run(verb(), "claim")
    b.loop.die()
    gc.collect()
    assert wrote == []
    b.loop.dispose()
    assert wrote == ["finally"]


def test_after_a_crash_while_it_closes_nothing_of_it_runs() -> None:
    power = Power()
    b, wrote = bench(power.alive), []

    async def dies() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            power.off()

    async def other() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            wrote.append("finally")

    task = b.loop.create_task(dies())
    b.loop.create_task(other())
    b.loop.tick()
    task.cancel()
    with pytest.raises(Crashed):
        b.loop.end()
    gc.collect()
    assert wrote == []
    b.loop.dispose()
    assert wrote == ["finally"]


def test_a_task_that_only_its_own_event_holds_is_kept_until_the_verdict() -> None:
    b, wrote = bench(), []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            wrote.append("finally")

    b.loop.create_task(waits())
    b.loop.tick()
    b.loop.die()
    gc.collect()
    assert wrote == []
    b.loop.dispose()
    assert wrote == ["finally"]


async def awaits_in_finally(wrote: list[str]) -> None:
    try:
        await asyncio.sleep(30)
    finally:
        for turn in range(3):
            await asyncio.sleep(1)
            wrote.append(str(turn))


async def raises_in_finally(wrote: list[str]) -> None:
    try:
        await asyncio.sleep(30)
    finally:
        raise ValueError("the store is closed")


async def begins_anew_in_finally(wrote: list[str]) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(30))
            await asyncio.sleep(30)
    finally:
        asyncio.get_running_loop().create_task(asyncio.sleep(1))


async def never_awaits_in_finally(wrote: list[str]) -> None:
    try:
        await asyncio.sleep(30)
    finally:
        asyncio.create_task(raises_in_finally(wrote))  # noqa: RUF006


async def holds_a_generator(wrote: list[str]) -> None:
    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(1)

    async for _ in numbers():
        pass


async def waits_for_another(wrote: list[str]) -> None:
    await asyncio.gather(*(asyncio.create_task(raises_in_finally(wrote)) for _ in range(3)))


@pytest.mark.parametrize(
    "work",
    [
        awaits_in_finally,
        raises_in_finally,
        begins_anew_in_finally,
        never_awaits_in_finally,
        holds_a_generator,
        waits_for_another,
    ],
)
@pytest.mark.parametrize("begun", [True, False])
def test_a_dead_owner_is_let_go_of_without_a_word(work: object, begun: bool) -> None:
    """Warnings are errors here, those of the garbage collector too."""
    b, wrote = bench(), []
    task = b.loop.create_task(work(wrote))  # type: ignore[operator]
    if begun:
        b.loop.tick()
    gone = weakref.ref(task)
    del task
    b.loop.die()
    gc.collect()
    assert gone() is not None
    b.loop.dispose()
    gc.collect()
    assert gone() is None


def test_a_failure_that_nobody_saw_dies_with_its_owner() -> None:
    b = bench()

    async def verb() -> None:
        future = b.loop.create_future()
        future.set_exception(ValueError("unseen"))
        kept.append(future)

    kept: list[object] = []
    b.loop.run(verb(), "verb")
    b.loop.die()
    kept.clear()
    gc.collect()
    b.loop.dispose()
    assert b.loop.faults == []
