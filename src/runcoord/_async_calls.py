"""Bounded calls for asyncio. Loaded when it is asked for: asyncio takes half as long as all the rest."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ParamSpec, TypeVar

from runcoord._bounded import ThreadBounded, timed_out
from runcoord._core import limits
from runcoord._core.values import value

T = TypeVar("T")
P = ParamSpec("P")


@value
class Drained:
    """How many calls had finished when draining ended, and how many are still stuck."""

    finished: int
    stuck: int


class AsyncCalls:
    """The same synchronous verbs for asyncio callers: ``await calls.run(coordinator.submit, ...)``.

    A cancelled caller does not cancel the call, which may already have had its effect; :meth:`drain`
    waits for all of them, for a bounded time, and never busy-waits.
    """

    def __init__(self, bounded: ThreadBounded | None = None) -> None:
        self._bounded = bounded or ThreadBounded()
        self._lock = threading.Lock()
        self._under_way: set[Future[Any]] = set()

    async def run(
        self,
        call: Callable[P, T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """The call's answer within :data:`~runcoord._core.limits.SUBMIT_WAIT_SECONDS`."""
        return await self.run_within(limits.SUBMIT_WAIT_SECONDS, lambda: call(*args, **kwargs))

    async def run_within(self, seconds: float, call: Callable[[], T]) -> T:
        """The call's answer within ``seconds``, else :class:`~runcoord.errors.StoreTimeout`."""
        future = self._bounded.begin(call)
        with self._lock:
            self._under_way.add(future)
        future.add_done_callback(self._ended)
        try:
            await asyncio.wait_for(_returned(future), seconds)
        except TimeoutError:
            if not future.done():
                self._bounded.abandon(future)
                raise timed_out(seconds) from None
        return future.result()

    async def drain(self, seconds: float) -> Drained:
        """Wait until every call made so far has returned, at most ``seconds``."""
        with self._lock:
            waiting = list(self._under_way)
        waiters = [asyncio.ensure_future(_returned(future)) for future in waiting]
        try:
            if waiters:
                await asyncio.wait(waiters, timeout=seconds)
        finally:
            for waiter in waiters:
                waiter.cancel()
            await asyncio.gather(*waiters, return_exceptions=True)
        stuck = sum(not future.done() for future in waiting)
        return Drained(len(waiting) - stuck, stuck)

    def _ended(self, future: Future[Any]) -> None:
        with self._lock:
            self._under_way.discard(future)


async def _returned(future: Future[Any]) -> None:
    """Return when the call has returned, however it ended. Nobody is told of an error that nobody awaits."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def settle(_: Future[Any]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits any more
            loop.call_soon_threadsafe(done.set)

    future.add_done_callback(settle)
    await done.wait()
