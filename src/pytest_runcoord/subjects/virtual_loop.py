"""An asyncio event loop on the clock of a world: it never waits, time passes instead.

Verbs of a subject run in it, and its tasks go on between them as a scenario says ``advance``: to the world
the loop is one of the timers of its owner, due whenever the earliest of its calls is.
"""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from weakref import WeakSet

from pytest_runcoord.subjects.loop_faults import (
    goes_round,
    left_running,
    name_of,
    never_comes,
    was_cancelled,
)
from pytest_runcoord.subjects.loop_interface import LoopInterface
from pytest_runcoord.world_errors import ScenarioMistake
from runcoord.ports import Clock, Sleeper

T = TypeVar("T")

MAX_STEPS_AT_ONCE = 100_000
"""Steps of tasks and callbacks at one instant: a thousand tasks of a hundred steps each."""
MAX_VERB_SECONDS = 3_600.0
"""Virtual time that one verb may wait: the longest lease."""
MAX_WAITS = 20_000
"""Times that one verb may wait for time to pass."""
MAX_CLOSINGS = 100
"""Awaits in the ``finally`` blocks of one coroutine that is given up."""
SAME_INSTANT_SECONDS = 1e-6
"""Calls that are due within it are due now: sums of times are not exact."""


def _nothing() -> None:
    """Nobody asks, and nobody is told."""


class VirtualLoop(LoopInterface):
    """The event loop of one incarnation. It runs in :meth:`run` and in :meth:`tick`, and else stands still.

    ``alive`` is asked after every step, and raises when the owner is dead: then nothing in here runs again.
    ``meanwhile`` is told of every step of a task that the verb under way did not set going. ``name`` is that
    of the owner.
    """

    def __init__(
        self,
        clock: Clock,
        sleeper: Sleeper,
        alive: Callable[[], None] = _nothing,
        meanwhile: Callable[[], None] = _nothing,
        *,
        name: str = "it",
    ) -> None:
        super().__init__(clock, name)
        self._sleeper, self._alive, self._meanwhile = sleeper, alive, meanwhile
        self._context = contextvars.copy_context()
        self._generators: WeakSet[AsyncGenerator[Any, Any]] = WeakSet()
        self._verbs: list[asyncio.Task[Any]] = []
        """Those under way: one, and more where one is asked while another waits."""
        self._stepping = False
        self._settled = False
        self._steps = self._waits = 0
        self._instant = self._latest = 0.0

    # --- what the harness calls ---

    def run(self, awaitable: Awaitable[T], verb: str) -> T:
        """What an awaitable gives or raises; virtual time passes as it waits. Then all that is ready runs.

        Raises :class:`LoopFault` when it never returns, and for a task that ended meanwhile with an error at
        which nobody looked; :class:`ScenarioMistake` while a step of this loop is under way.
        """
        coroutine = awaitable if isinstance(awaitable, Coroutine) else _awaiting(awaitable)
        try:
            self._require_rest(verb)
        except BaseException:
            coroutine.close()
            raise
        task = asyncio.Task(coroutine, loop=self, name=verb, context=self._context)
        self.tasks[task] = self.turn + 1
        self._drive(task)
        if task.cancelled():
            raise was_cancelled()
        return task.result()

    def next_due(self) -> float | None:
        """When the loop has something to do, in boottime; None if it waits for nothing, or runs already."""
        if self.over or self.is_running():
            return None
        if self._ready:
            return self.clock.boottime()
        first = self.first_due()
        return None if first is None else first + (self.clock.boottime() - self.clock.monotonic())

    def tick(self) -> None:
        """Do what is due, without waiting. Raises as :meth:`run` does for tasks."""
        self._drive(None)

    def end(self) -> None:
        """The owner was closed in good order. Raises :class:`LoopFault` for tasks that still run.

        Those that were cancelled get to handle it. Nothing happens when the loop is over already.
        """
        if self.over:
            return
        try:
            self._drive(None)
            if self._generators:
                self.run(self._close_generators(), "aclose")
            left = [task for task in self._everything() if not task.done()]
            if left:
                raise left_running(left)
        except BaseException:
            self.die()
            raise
        self.dispose()

    def die(self) -> None:
        """The owner crashed: nothing of it runs again, nothing is cancelled, and all of it is kept."""
        self.over = True

    def dispose(self) -> None:
        """Let go of everything, silently. For a dead owner only once there is a verdict: its coroutines are
        closed as the garbage collector would, and what ``finally`` blocks try then is nobody's concern."""
        self.over = True
        with _quietly():
            for task in self._everything():
                _put_away(task)
            self.tasks.clear()
            self.close()
            self.end_threads()

    # --- running ---

    def _require_rest(self, verb: str) -> None:
        if self.over:
            raise RuntimeError(f"{verb} was asked of {self.name}, whose event loop is over")
        if self._stepping:
            raise ScenarioMistake(
                f"{self.name} is in the middle of a step, and its event loop does one thing at a time",
                f"Let another owner do this ({verb}), or do it before or after the step.",
            )

    def _drive(self, task: asyncio.Task[Any] | None) -> None:
        """Run until ``task`` has ended and nothing else is ready."""
        outer = self._waits, self._latest
        self._steps, self._waits, self._latest = 0, 0, self.time() + MAX_VERB_SECONDS
        self.turn += 1
        self.threads.begin()
        under_way = [] if task is None else [task]
        self._verbs += under_way
        try:
            with self._entered():
                self._settled = False
                while not self._settled:
                    self._run_once()
            self._judge()
        finally:
            self._settled = False
            del self._verbs[len(self._verbs) - len(under_way) :]
            self._waits, self._latest = outer

    @contextmanager
    def _entered(self) -> Iterator[None]:
        """This is the running loop, whatever runs around it: the loop of another owner, or of a test."""
        outer, hooks = asyncio._get_running_loop(), sys.get_asyncgen_hooks()
        swap = getattr(asyncio.tasks, "_swap_current_task", None) if outer not in (None, self) else None
        current = swap(outer, None) if swap is not None else None
        thread, depth = self._thread_id, sys.get_coroutine_origin_tracking_depth()
        self._thread_id = threading.get_ident()
        if self.get_debug():
            sys.set_coroutine_origin_tracking_depth(max(depth, 10))
        sys.set_asyncgen_hooks(firstiter=self._generators.add, finalizer=self._generator_dropped)
        asyncio._set_running_loop(self)
        try:
            yield
        finally:
            asyncio._set_running_loop(outer)
            sys.set_asyncgen_hooks(*hooks)
            sys.set_coroutine_origin_tracking_depth(depth)
            self._thread_id = thread
            if swap is not None:
                swap(outer, current)

    def _run_once(self) -> None:
        now = self.time()
        if now != self._instant:
            self._instant, self._steps = now, 0
        self.take_due(now + SAME_INSTANT_SECONDS)
        if not self._ready and not self._rest():
            self._settled = True
            return
        for _ in range(len(self._ready)):
            self._step(self._ready.popleft())

    def _step(self, handle: asyncio.Handle) -> None:
        if handle.cancelled():
            return
        task = getattr(getattr(handle, "_callback", None), "__self__", None)
        self._steps += 1
        if self._steps > MAX_STEPS_AT_ONCE:
            who = f"the task {name_of(task)!r}" if isinstance(task, asyncio.Task) else repr(handle)
            raise goes_round(who, MAX_STEPS_AT_ONCE)
        if isinstance(task, asyncio.Task) and self.tasks.get(task, self.turn) < self.turn:
            self._meanwhile()
        self._stepping = True
        try:
            handle._run()
        finally:
            self._stepping = False
        self._alive()
        if self.passing is not None:
            raise self.passing
        if isinstance(task, asyncio.Task):
            _pass_on(task)

    def _rest(self) -> bool:
        """Nothing is ready. Wait for threads, or let time pass; False when there is no reason to."""
        if self.threads.wait(self._anything):
            return True
        if not self._verbs or self._verbs[-1].done():
            return False
        task = self._verbs[-1]
        first = self.first_due()
        if first is None:
            if self.threads.last_chance(self._anything):
                return True
            raise never_comes(task, "nothing is due, and nothing is under way")
        self._waits += 1
        if first > self._latest:
            raise never_comes(task, f"{MAX_VERB_SECONDS:g} s of virtual time were not enough")
        if self._waits > MAX_WAITS:
            raise never_comes(task, f"time passed {MAX_WAITS} times, and that was not enough")
        ahead = first - self.time()
        if ahead > 0:
            self._sleeper.sleep(ahead)
        self._alive()
        return True

    def _anything(self) -> bool:
        return bool(self._ready)

    def run_until_complete(self, future: Any) -> Any:
        """For a plain method of a subject that kept its loop: as :meth:`run`."""
        return self.run(future, "run_until_complete")

    def run_forever(self) -> None:
        """The same: for ever is until there is nothing to do now."""
        self._require_rest("run_forever")
        self._drive(None)

    # --- what became of tasks ---

    def _everything(self) -> list[asyncio.Task[Any]]:
        """Every task, also those that were made without the loop being asked."""
        made = asyncio.all_tasks(self) - self.tasks.keys()
        return [*self.tasks, *sorted(made, key=name_of)]

    def _judge(self) -> None:
        """Raise for what went wrong meanwhile, and nobody looked at."""
        for task in [task for task in self.tasks if task.done()]:
            del self.tasks[task]
            _pass_on(task)
            if task in self._verbs or task.cancelled() or not task._log_traceback:
                continue
            told = {"message": "an error at which nobody looked", "exception": task.exception(), "task": task}
            self.call_exception_handler(told)
        if self.faults:
            first, *_ = self.faults
            self.faults.clear()
            raise first from first.error

    # --- asynchronous generators ---

    def _generator_dropped(self, generator: AsyncGenerator[Any, Any]) -> None:
        if not self.over:
            self.call_soon_threadsafe(self.create_task, generator.aclose())

    async def _close_generators(self) -> None:
        for generator in list(self._generators):
            await generator.aclose()


async def _awaiting(awaitable: Awaitable[T]) -> T:
    return await awaitable


def _pass_on(task: asyncio.Task[Any]) -> None:
    """Raise what ended a task and is not for a program to handle: a crash, a failure of the scenario."""
    if task.done() and not task.cancelled():
        error = task._exception
        if error is not None and not isinstance(error, Exception):
            task.exception()
            raise error


def _put_away(task: asyncio.Task[Any]) -> None:
    """Close the coroutine of a task that will never go on."""
    coroutine = task.get_coro()
    for _ in range(0 if task.done() or coroutine is None else MAX_CLOSINGS):
        try:
            coroutine.close()
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001  it awaits in a finally block, or raised in one
            continue
        return


@contextmanager
def _quietly() -> Iterator[None]:
    """What objects of a dead owner have to say at their end is not for the report of a test."""
    hook = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.unraisablehook = hook
