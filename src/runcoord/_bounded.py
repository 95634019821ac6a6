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
from typing import ParamSpec, TypeVar

from runcoord._core import limits
from runcoord.errors import Happened, StoreTimeout, StoreUnavailable

T = TypeVar("T")
P = ParamSpec("P")


class ThreadBounded:
    """Runs calls in threads of their own, each for a bounded time."""

    def __init__(self, most_abandoned: int = limits.MAX_ABANDONED_CALLS) -> None:
        self._most = most_abandoned
        self._lock = threading.Lock()
        self._abandoned: set[Future[object]] = set()

    def call(self, seconds: float, call: Callable[[], T]) -> T:
        """The answer of ``call``, or :class:`~runcoord.errors.StoreTimeout` after ``seconds``."""
        future = self.begin(call)
        try:
            return future.result(timeout=seconds)
        except FutureTimeout:
            if future.done():  # the call itself raised a TimeoutError
                raise
            self.abandon(future)
            raise timed_out(seconds) from None

    def begin(self, call: Callable[[], T]) -> Future[T]:
        """Start ``call`` in a daemon thread. Raises StoreUnavailable when too many are stuck."""
        with self._lock:
            self._abandoned = {stuck for stuck in self._abandoned if not stuck.done()}
            if len(self._abandoned) >= self._most:
                raise StoreUnavailable(
                    f"{len(self._abandoned)} earlier calls have not returned",
                    remedy="The store hangs; nothing was sent. Look at its disk, then restart.",
                )
        future: Future[T] = Future()
        threading.Thread(target=_settle, args=(future, call), name="runcoord-call", daemon=True).start()
        return future

    def abandon(self, future: Future[T]) -> None:
        """Nobody waits for it any more; it counts as stuck until it returns."""
        with self._lock:
            if not future.done():
                self._abandoned.add(future)  # type: ignore[arg-type]


def _settle(future: Future[T], call: Callable[[], T]) -> None:
    try:
        result = call()
    except BaseException as error:  # handed to whoever waits
        future.set_exception(error)
    else:
        future.set_result(result)


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
        self._under_way: set[Future[object]] = set()

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
        self._under_way.add(future)  # type: ignore[arg-type]
        future.add_done_callback(self._under_way.discard)  # type: ignore[arg-type]
        answer = asyncio.wrap_future(future)
        answer.add_done_callback(_looked_at)
        try:
            return await asyncio.wait_for(asyncio.shield(answer), seconds)
        except TimeoutError:
            if future.done():
                return future.result()
            self._bounded.abandon(future)
            raise timed_out(seconds) from None
        except asyncio.CancelledError:
            self._bounded.abandon(future)
            raise

    async def drain(self, seconds: float) -> Drained:
        """Wait until every call made so far has returned, at most ``seconds``."""
        waiting = list(self._under_way)
        if waiting:
            wrapped = [asyncio.ensure_future(_finished(future)) for future in waiting]
            await asyncio.wait(wrapped, timeout=seconds)
            for waiter in wrapped:
                waiter.cancel()
        stuck = sum(not future.done() for future in waiting)
        return Drained(len(waiting) - stuck, stuck)


def _looked_at(answer: asyncio.Future[T]) -> None:
    """Nobody may wait any more for an answer that comes late; asyncio is not to complain of that."""
    if not answer.cancelled():
        answer.exception()


async def _finished(future: Future[object]) -> None:
    """Return when the call has returned, however it ended."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def settle(_: Future[object]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits any more
            loop.call_soon_threadsafe(done.set)

    future.add_done_callback(settle)
    await done.wait()
