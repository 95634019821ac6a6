"""A bound in real time on calls into a subject, so that one that hangs costs its own scenario only.

By the real interval timer of this process and ``SIGALRM``, which only the main thread can have. An alarm
that somebody else set (pytest-timeout does) is kept: if it is due first it rings first, and afterwards it has
what is left of its time. There is no bound in another thread, where the system has no such timer (Windows),
and inside of native code that does not let signals through; pytest-timeout by its thread method helps there.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

AGAIN_SECONDS = 1.0
"""Time after which a call that caught its own end is ended again."""
POLITE_RINGS = 2
"""Times that a call is ended where it stands. One that still goes on catches everything where that is."""
SOON_SECONDS = 1e-6
"""Time until an alarm that was due while another one rang: none would switch it off."""
OURS = "pytest_runcoord."
"""Modules in which nothing is ended at a line."""
HAS_TIMER = hasattr(signal, "setitimer")


class RealTime:
    """Read where the time may be patched: in a class, where nobody looks for what to patch."""

    now = staticmethod(time.monotonic)


class Overdue(BaseException):
    """A call has used up its time. Not an ``Exception``: code under test is not to handle that."""

    def __init__(self, bound: Bound) -> None:
        super().__init__(f"no answer within {bound.seconds:g} s")
        self.bound = bound


class Bound:
    """A block that is ended by :class:`Overdue` after so many real seconds. ``rang`` says whether it was."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.rang = False
        self._armed = False
        self._rings = 0
        self._tracer: Any = None
        self._other_at: float | None = None
        self._interval = 0.0

    def __enter__(self) -> Self:
        if HAS_TIMER and threading.current_thread() is threading.main_thread():
            self._begin()
        return self

    def _begin(self) -> None:
        self._began = RealTime.now()
        self._before: Any = signal.getsignal(signal.SIGALRM)
        around = getattr(self._before, "__self__", None)
        self._around = around if isinstance(around, Bound) else None
        if self._around is not None:  # its time stands still: whoever hangs is the one that is named
            self._handler: Any = self._around._handler
            self._other_at, self._interval = self._around._other_at, self._around._interval
        else:
            self._handler = self._before
            left, self._interval = signal.getitimer(signal.ITIMER_REAL)
            self._other_at = self._began + left if left else None
        self._end = self._began + self.seconds
        signal.signal(signal.SIGALRM, self._ring)
        self._armed = True
        self._set(self._began)

    def _go_on(self, stood_still: float, other_at: float | None) -> None:
        """A call inside of this one is over; its time goes on."""
        self._end += stood_still
        self._other_at = other_at
        self._set(RealTime.now())

    def _set(self, now: float) -> None:
        first = self._end if self._other_at is None else min(self._end, self._other_at)
        signal.setitimer(signal.ITIMER_REAL, max(SOON_SECONDS, first - now), AGAIN_SECONDS)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if not self._armed:
            return
        now = RealTime.now()
        if self._other_at is not None and self._other_at <= now:
            self._other_at = now + self._interval if self._interval else None
            self._set(now)
            _call(self._handler, number, frame)
        if self._armed and self._end <= now:
            self.rang = True
            self._rings += 1
            if self._rings > POLITE_RINGS:
                self._insist(frame)
            raise Overdue(self)

    def _insist(self, frame: FrameType | None) -> None:
        """End it at its next line too, which is where it handles what it caught."""
        if self._rings == POLITE_RINGS + 1:
            self._tracer = sys.gettrace()
        sys.settrace(self._end_at_a_line)  # without one, those of frames are not asked
        while frame is not None and not str(frame.f_globals.get("__name__", "")).startswith(OURS):
            frame.f_trace = self._end_at_a_line
            frame = frame.f_back

    def _end_at_a_line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if str(frame.f_globals.get("__name__", "")).startswith(OURS):
            return None
        if event == "line" and self._armed:
            raise Overdue(self)
        return self._end_at_a_line

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._armed:
            return
        self._armed = False
        if self._rings > POLITE_RINGS:
            sys.settrace(self._tracer)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before if self._before is not None else signal.SIG_DFL)
        if self._around is not None:
            self._around._go_on(RealTime.now() - self._began, self._other_at)
        elif self._other_at is not None:
            signal.setitimer(
                signal.ITIMER_REAL, max(SOON_SECONDS, self._other_at - RealTime.now()), self._interval
            )


def _call(handler: Any, number: int, frame: FrameType | None) -> None:
    """What the alarm of somebody else does. One that nobody handles ends the process, as it would have."""
    if callable(handler):
        ring: Callable[[int, FrameType | None], Any] = handler
        ring(number, frame)
    elif handler == signal.SIG_DFL:
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
