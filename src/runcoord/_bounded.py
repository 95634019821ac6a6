"""Calls that must answer in time, though the store may hang: in a thread.

A call that does not answer goes on in its thread and is counted as abandoned; when too many are stuck,
further calls are refused before anything is sent, so that a wedged store cannot eat every thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from runcoord._core import limits
from runcoord.errors import Happened, StoreTimeout, StoreUnavailable

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from concurrent.futures import Future
    from typing import Any, TypeVar

    T = TypeVar("T")


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
        except TimeoutError:
            if future.done():  # it answered at the last moment, or raised a TimeoutError itself
                return future.result()
            self.abandon(future)
            raise timed_out(seconds) from None

    def begin(self, call: Callable[[], T]) -> Future[T]:
        """Start ``call`` in a daemon thread; the future settles when it returns and cannot be cancelled.

        Raises :class:`~runcoord.errors.StoreUnavailable` when too many calls are stuck or under way, or no
        thread can be had; then nothing was sent.
        """
        from concurrent.futures import Future  # loaded where it is used: many commands never are here

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
