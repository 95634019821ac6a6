"""What threads owe to an event loop on virtual time: the loop waits for it in real time, and not for long.

A thread does not wait for the world's clock, so while one of them works, no virtual time may pass: it would
come back "hours" late. What a loop hands to a thread itself (``run_in_executor``, ``asyncio.to_thread``) is
known exactly. A future that a library made, and not asyncio, is likely to be resolved by a thread of it.
Of other threads nothing is known; they get a moment to speak up, until they had some in vain.
"""

from __future__ import annotations

import asyncio
import concurrent.futures.thread
import threading
from collections.abc import Callable, Collection
from typing import Any, ClassVar
from weakref import WeakSet

from pytest_runcoord.subjects.bounded import RealTime
from pytest_runcoord.subjects.loop_faults import kept_busy

RESULT_SECONDS = 5.0
"""Real time for what a thread was given to do. Afterwards virtual time passes without it."""
LIKELY_SECONDS = 1.0
"""Real time for a future that a thread of a library may resolve, once for each."""
MOMENT_SECONDS = 0.05
"""Real time for threads of which nothing is known."""
VAIN_MOMENTS = 20
"""Moments in vain after which such threads get no more, until one of them speaks: a second in all."""
BUSY_SECONDS = 20.0
"""Real time that threads may keep a loop from coming to rest: less than a verb may take."""

_WORKERS: Collection[threading.Thread] = getattr(concurrent.futures.thread, "_threads_queues", ())
"""Threads of executors, which Python lists to end them at its exit: they say what was asked of them only."""


class ThreadResults:
    """The results that one loop waits for."""

    _foretold: ClassVar[WeakSet[threading.Thread]] = WeakSet()
    """Threads that only ever brought what a loop waited for."""
    _lock: ClassVar[threading.RLock] = threading.RLock()
    """For the sets: threads look at them when they bring something."""

    def __init__(self) -> None:
        self._driver = threading.current_thread()
        self._before = frozenset(threading.enumerate())
        self._woken = threading.Event()
        self._certain: WeakSet[asyncio.Future[Any]] = WeakSet()
        self._likely: WeakSet[asyncio.Future[Any]] = WeakSet()
        self._moments = VAIN_MOMENTS
        self._busy_since: float | None = None

    def promise(self, future: asyncio.Future[Any], *, certain: bool) -> None:
        """A thread will resolve this future, or is likely to."""
        with self._lock:
            (self._certain if certain else self._likely).add(future)

    def wake(self) -> None:
        """Something was brought to the loop; called in the thread that brings it."""
        thread = threading.current_thread()
        if thread is self._driver:
            self._woken.set()
            return
        with self._lock:
            if self._pending(self._certain) or self._pending(self._likely):
                self._foretold.add(thread)
            else:
                self._foretold.discard(thread)
                self._moments = VAIN_MOMENTS
        self._woken.set()

    def begin(self) -> None:
        """The loop begins to run."""
        self._busy_since = None

    def wait(self, arrived: Callable[[], bool]) -> bool:
        """Wait for what threads owe; whether anything came. What is waited for in vain is owed no more."""
        if certain := self._pending(self._certain):
            if self._comes(arrived, RESULT_SECONDS):
                return True
            self._certain.difference_update(certain)
            return False
        others = [each for each in threading.enumerate() if each not in self._before]
        if not others:
            return False
        if likely := self._pending(self._likely):
            if self._comes(arrived, LIKELY_SECONDS):
                return True
            self._likely.difference_update(likely)
            return False
        if self._moments and self._unknown(others):
            if self._comes(arrived, MOMENT_SECONDS):
                return True
            self._moments -= 1
        return False

    def last_chance(self, arrived: Callable[[], bool]) -> bool:
        """Nothing else will wake the loop: wait for any thread that there is."""
        return any(each not in self._before for each in threading.enumerate()) and self._comes(
            arrived, RESULT_SECONDS
        )

    def _comes(self, arrived: Callable[[], bool], seconds: float) -> bool:
        if self._busy_since is None:
            self._busy_since = RealTime.now()
        elif RealTime.now() - self._busy_since > BUSY_SECONDS:
            raise kept_busy(BUSY_SECONDS)
        self._woken.clear()
        return arrived() or self._woken.wait(seconds)

    def _unknown(self, threads: list[threading.Thread]) -> bool:
        with self._lock:
            return any(each not in self._foretold and each not in _WORKERS for each in threads)

    def _pending(self, futures: WeakSet[asyncio.Future[Any]]) -> list[asyncio.Future[Any]]:
        with self._lock:
            return [future for future in futures if not future.done()]
