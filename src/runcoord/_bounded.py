"""Calls that must answer in time, though the store may hang: in a thread, for threads and for asyncio.

A call that does not answer goes on in its thread and is counted as abandoned; when too many are stuck,
further calls are refused before anything is sent, so that a wedged store cannot eat every thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from runcoord._core import limits
from runcoord.errors import Happened, StoreTimeout, StoreUnavailable

T = TypeVar("T")
P = ParamSpec("P")


class ThreadBounded:
    """Runs calls in threads of their own, each for a bounded time."""

    def __init__(
        self,
        most_abandoned: int = limits.MAX_ABANDONED_CALLS,
        most_under_way: int = limits.MAX_CALLS_UNDER_WAY,
    ) -> None:
        self._most_abandoned, self._most_under_way = most_abandoned, most_under_way
        self._lock = threading.Lock()
        self._abandoned: set[Future[Any]] = set()
        self._under_way = 0

    def call(self, seconds: float, call: Callable[[], T]) -> T:
        """The answer of ``call``, or :class:`~runcoord.errors.StoreTimeout` after ``seconds``."""
        future = self.begin(call)
        try:
            return future.result(timeout=seconds)
        except FutureTimeout:
            if future.done():  # it answered at the last moment, or raised a TimeoutError itself
                return future.result()
            self.abandon(future)
            raise timed_out(seconds) from None

    def begin(self, call: Callable[[], T]) -> Future[T]:
        """Start ``call`` in a daemon thread; the future settles when it returns and cannot be cancelled.

        Raises :class:`~runcoord.errors.StoreUnavailable` when too many calls are stuck or under way, or no
        thread can be had; then nothing was sent.
        """
        with self._lock:
            self._abandoned = {stuck for stuck in self._abandoned if not stuck.done()}
            if len(self._abandoned) >= self._most_abandoned:
                raise _refused(f"{len(self._abandoned)} earlier calls have not returned")
            if self._under_way >= self._most_under_way:
                raise _refused(f"{self._under_way} calls are under way")
            self._under_way += 1
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        try:
            threading.Thread(
                target=self._settle, args=(future, call), name="runcoord-call", daemon=True
            ).start()
        except RuntimeError as error:
            self._end_one()
            raise _refused(f"no thread can be started ({error})") from error
        return future

    def abandon(self, future: Future[T]) -> None:
        """Nobody waits for it any more; it counts as stuck until it returns."""
        with self._lock:
            if not future.done():
                self._abandoned.add(future)

    def _settle(self, future: Future[T], call: Callable[[], T]) -> None:
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            self._end_one()
            future.set_exception(error)
        else:
            self._end_one()
            future.set_result(result)

    def _end_one(self) -> None:
        with self._lock:
            self._under_way -= 1


def _refused(problem: str) -> StoreUnavailable:
    return StoreUnavailable(
        problem, remedy="Nothing was sent. If the store hangs, look at its disk; else try again later."
    )


def timed_out(seconds: float) -> StoreTimeout:
    return StoreTimeout(
        f"no answer from the store within {seconds:g} s",
        remedy="Repeat it with the same key to learn whether it happened.",
        happened=Happened.MAYBE,
        seconds=seconds,
    )


@dataclass(frozen=True, slots=True)
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
