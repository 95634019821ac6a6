"""The edge where timers meet threads: fires the ticks of one object until it has none left."""

from __future__ import annotations

import threading
from types import TracebackType

from runcoord._log import Log
from runcoord.ports import Clock

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import Protocol, Self
else:
    Protocol = object  # what follows says what is expected, and is not asked for at run time

log = Log("runcoord.ticker")

LONGEST_NAP_SECONDS = 1.0
"""Longest single wait: after a suspend or a change of plans the next look is at most this late."""
JOIN_SECONDS = 15.0
"""Longest wait for the thread to end: one bounded call of a store or a destination, and what follows it."""


class Timer(Protocol):
    """Something with timers: when it is next due (boottime, seconds), and what is done then."""

    def next_due(self) -> float | None: ...

    def tick(self) -> None: ...


class Ticker:
    """A thread that ticks one timer, as a context manager. Ends by itself when nothing is due any more."""

    def __init__(self, timer: Timer, clock: Clock, name: str) -> None:
        self._timer, self._clock = timer, clock
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End the thread; waits for the tick that is under way, for a bounded time."""
        self._ended.set()
        if self._thread is not threading.current_thread():
            self._thread.join(JOIN_SECONDS)
            if self._thread.is_alive():
                log.logger().error("a timer did not end in time; it is left behind: %s", self._thread.name)

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                due = self._timer.next_due()
                if due is None:
                    return
                wait = due - self._clock.boottime()
                if wait > 0:
                    self._ended.wait(min(wait, LONGEST_NAP_SECONDS))
                else:
                    self._timer.tick()
            except Exception:  # noqa: BLE001 - it is told, with its trace
                # A timer that fails must not fail for ever in a tight loop, nor end silently.
                log.logger().exception("a timer failed; it is tried again")
                self._ended.wait(LONGEST_NAP_SECONDS)
