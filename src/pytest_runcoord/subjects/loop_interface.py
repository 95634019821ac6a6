"""What asyncio, and programs that run in a loop, call of a loop on virtual time."""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import itertools
import math
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, TypeVarTuple

from pytest_runcoord.subjects.loop_faults import LoopFault, OutOfReach, reported
from pytest_runcoord.subjects.thread_results import RESULT_SECONDS, ThreadResults
from runcoord.ports import Clock

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

OUT_OF_REACH = (
    *("add_reader", "add_writer", "remove_reader", "remove_writer"),
    *("connect_accepted_socket", "connect_read_pipe", "connect_write_pipe"),
    *("create_connection", "create_datagram_endpoint", "create_server"),
    *("create_unix_connection", "create_unix_server", "getaddrinfo", "getnameinfo", "start_tls"),
    *("sendfile", "sock_accept", "sock_connect", "sock_recv", "sock_recv_into", "sock_recvfrom"),
    *("sock_recvfrom_into", "sock_sendall", "sock_sendfile", "sock_sendto"),
    *("subprocess_exec", "subprocess_shell"),
)
"""Methods of a loop that need the real world."""


class Timer(asyncio.TimerHandle):
    """A call at a time. Of those at the same time the first that was asked for comes first: asyncio leaves
    that open, but where no time passes between two calls, programs meet it all the time."""

    __slots__ = ("order",)
    order: int

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Timer):
            return NotImplemented
        return (self.when(), self.order) < (other.when(), other.order)


class LoopInterface(asyncio.BaseEventLoop):
    """The lists of a loop: calls that are ready, calls at a time, tasks, and what went wrong.

    It has no sockets, pipes or processes, and holds no descriptor. Once it is ``over``, what is asked of it
    is dropped: threads and objects that a dead owner left behind are told nothing.
    """

    _ready: deque[asyncio.Handle]
    _scheduled: list[Timer]
    _thread_id: int | None
    _default_executor: ThreadPoolExecutor | None

    def __init__(self, clock: Clock, name: str) -> None:
        self.clock, self.name = clock, name
        self.threads = ThreadResults()
        super().__init__()
        self.over = False
        self.tasks: dict[asyncio.Task[Any], int] = {}
        """Those that are not known to have ended, oldest first, with the turn in which each was made. Held,
        unlike by asyncio: those of a dead owner are to stay as they are until there is a verdict."""
        self.turn = 0
        """How often the loop was run."""
        self.faults: list[LoopFault] = []
        self.passing: BaseException | None = None
        """What a callback raised and is not for a program to handle: a crash, a failure of the scenario."""
        self._order = itertools.count()
        self._signals: set[int] = set()
        self._pool: ThreadPoolExecutor | None = None

    # --- calls ---

    def time(self) -> float:
        return self.clock.monotonic()

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        if self.over:
            return asyncio.Handle(callback, args, self, context)
        return super().call_soon(callback, *args, context=context)

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        if self.over:
            return asyncio.Handle(callback, args, self, context)
        return super().call_soon_threadsafe(callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        if math.isnan(when):
            raise ValueError(f"{when!r} is no time to call something at")
        timer = Timer(when, callback, args, self, context)
        timer.order = next(self._order)
        if not self.over:
            heapq.heappush(self._scheduled, timer)
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It is dropped when its time comes."""

    def first_due(self) -> float | None:
        """When the first call is due, in monotonic time."""
        scheduled = self._scheduled
        while scheduled and scheduled[0].cancelled():
            heapq.heappop(scheduled)
        return scheduled[0].when() if scheduled and scheduled[0].when() < math.inf else None

    def take_due(self, until: float) -> None:
        """What is due before ``until`` is ready now."""
        while (first := self.first_due()) is not None and first < until:
            self._ready.append(heapq.heappop(self._scheduled))

    # --- tasks and futures ---

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        if self.over:
            coro.close()
            raise RuntimeError(f"the event loop of {self.name} is over")
        task = super().create_task(coro, **options)
        self.tasks[task] = self.turn
        return task

    def create_future(self) -> asyncio.Future[Any]:
        future = super().create_future()
        caller = sys._getframe(1)
        if caller.f_code.co_name == "wrap_future":
            self.threads.promise(future, certain=True)
        elif str(caller.f_globals.get("__name__", "")).partition(".")[0] != "asyncio":
            self.threads.promise(future, certain=False)
        return future

    # --- errors ---

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        if not self.over:
            self.faults.append(reported(context))

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is not None and not isinstance(error, Exception | asyncio.CancelledError):
            self.passing = error
        elif not self.over:
            super().call_exception_handler(context)

    # --- threads ---

    def _write_to_self(self) -> None:
        self.threads.wake()

    def run_in_executor(self, executor: Any, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        if executor is None and self._default_executor is None and not self.over:
            self._pool = ThreadPoolExecutor(thread_name_prefix=self._prefix())
            self.set_default_executor(self._pool)
        return super().run_in_executor(executor, func, *args)

    def end_threads(self) -> None:
        """Let the threads of the loop end; those that do not within a bound are left alone."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            for thread in threading.enumerate():
                if thread.name.startswith(self._prefix()):
                    thread.join(RESULT_SECONDS)

    def _prefix(self) -> str:
        return f"loop of {self.name} {id(self):x}"

    # --- the rest of the world ---

    def add_signal_handler(self, sig: int, callback: Callable[[*Ts], Any], *args: *Ts) -> None:
        """Nobody signals an owner that lives in this process: it is noted, and never called."""
        self._signals.add(sig)

    def remove_signal_handler(self, sig: int) -> bool:
        known = sig in self._signals
        self._signals.discard(sig)
        return known

    def __del__(self, *_: Any) -> None:
        """There is nothing to warn of: it holds no descriptor."""


def _beyond(method: str) -> Callable[..., Any]:
    def refuse(self: LoopInterface, *args: Any, **options: Any) -> Any:
        raise OutOfReach(method)

    return refuse


for _method in OUT_OF_REACH:
    setattr(LoopInterface, _method, _beyond(_method))
