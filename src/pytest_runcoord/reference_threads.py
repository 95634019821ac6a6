"""Calls from asyncio through the thread helper of the reference. Loaded only by scenarios that make some."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from pytest_runcoord.probed_ports import NeverReturns
from pytest_runcoord.subject import Answer
from runcoord import AsyncCalls, Coordinator

T = TypeVar("T")

BEYOND_PATIENCE_SECONDS = 5.0
"""Real time after which an answer that is due within a patience counts as never coming: a loaded machine may
be late by a second."""


class ThreadHelper:
    """One helper and one event loop, for the calls of one incarnation."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._calls, self._loop = AsyncCalls(), asyncio.new_event_loop()

    def submit(self, run: str, patience: float, cancel: bool, **fields: Any) -> Answer:
        """Submit from asyncio through the thread helper, waiting at most ``patience`` seconds."""
        calls, loop = self._calls, self._loop
        payload = fields.pop("payload", None)

        async def ask() -> Any:
            work = calls.run_within(patience, lambda: self._coordinator.submit(payload, run_id=run, **fields))
            if not cancel:
                return await work
            task = asyncio.ensure_future(work)
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            return None

        receipt = loop.run_until_complete(_bounded(ask(), patience))
        if receipt is None:
            return Answer({"run": run, "cancelled": True})
        state, replayed = receipt.state.value, receipt.replayed
        return Answer({"run": run, "cancelled": False, "state": state, "replayed": replayed})

    def drain(self, patience: float) -> Answer:
        """Wait for calls made through the helper; says how many returned, how many are stuck, and whether
        other work of the loop went on meanwhile."""
        calls, loop = self._calls, self._loop

        async def drain() -> tuple[Any, bool]:
            other = asyncio.ensure_future(asyncio.sleep(patience / 4))
            drained = await calls.drain(patience)
            ran = other.done()
            other.cancel()
            return drained, ran

        drained, ran = loop.run_until_complete(_bounded(drain(), patience))
        return Answer({"finished": drained.finished, "stuck": drained.stuck, "loop_ran": ran})

    def close(self) -> None:
        self._loop.close()


async def _bounded(answer: Coroutine[Any, Any, T], patience: float) -> T:
    """The answer, which was promised within ``patience`` seconds; else it is taken to come never."""
    waiting = asyncio.ensure_future(answer)
    done, _ = await asyncio.wait([waiting], timeout=patience + BEYOND_PATIENCE_SECONDS)
    if not done:
        waiting.cancel()
        await asyncio.wait([waiting], timeout=BEYOND_PATIENCE_SECONDS)
        raise NeverReturns
    return waiting.result()
