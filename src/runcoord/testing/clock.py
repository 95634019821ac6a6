"""Clocks, waiting and ids that do what a test says."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

from runcoord.ports import Instant


class ManualClock:
    """Three clocks that move only when told to. All values in seconds.

    The first boot is ``boot-1``; its boottime and monotonic clock begin at 1,000, its wall clock in 2023.
    Safe to use from several threads. Each of ``listeners`` is called after every move.
    """

    def __init__(
        self,
        wall: float = 1_700_000_000.0,
        boottime: float = 1_000.0,
        monotonic: float = 1_000.0,
        boot_id: str = "boot-1",
    ) -> None:
        self._wall, self._boottime, self._monotonic = float(wall), float(boottime), float(monotonic)
        self._booted = self._wall - self._boottime
        """The wall time of boottime 0. Wall time is made of the two: summed up by itself it would be off by a
        quarter of a microsecond more with every move."""
        self._boot_id = boot_id
        self._boots = 1
        self._lock = threading.Lock()
        self._now: Instant | None = None
        """The reading of now, once somebody asked for it."""
        self.listeners: list[Callable[[], None]] = []

    # --- reading ---

    def wall(self) -> float:
        return self._wall

    def monotonic(self) -> float:
        return self._monotonic

    def boottime(self) -> float:
        return self._boottime

    def boot_id(self) -> str:
        return self._boot_id

    def now(self) -> Instant:
        """One reading of all that deadlines look at."""
        now = self._now
        if now is None:
            with self._lock:
                now = self._now = Instant(self._wall, self._boottime, self._boot_id)
        return now

    # --- moving ---

    def advance(self, seconds: float) -> None:
        """Time passes. ``ValueError`` for a negative time."""
        _require_forward(seconds)
        with self._lock:
            self._boottime += seconds
            self._wall = self._booted + self._boottime
            self._monotonic += seconds
            self._now = None
        self._moved()

    def step(self, seconds: float) -> None:
        """The wall clock is set forward, or back when ``seconds`` is negative; nothing else moves."""
        with self._lock:
            self._booted += seconds
            self._wall = self._booted + self._boottime
            self._now = None
        self._moved()

    def suspend(self, seconds: float) -> None:
        """The machine sleeps: time passes for all but the monotonic clock."""
        _require_forward(seconds)
        with self._lock:
            self._boottime += seconds
            self._wall = self._booted + self._boottime
            self._now = None
        self._moved()

    def reboot(self, seconds: float = 30.0) -> None:
        """The machine is off for ``seconds`` and starts anew: another boot id, boottime from 0."""
        _require_forward(seconds)
        with self._lock:
            self._booted += self._boottime + seconds
            self._wall = self._booted
            self._boottime = self._monotonic = 0.0
            self._boots += 1
            self._boot_id = f"boot-{self._boots}"
            self._now = None
        self._moved()

    def _moved(self) -> None:
        for listener in self.listeners:
            listener()


class ManualSleeper:
    """Waits by moving a clock, so nobody waits. ``slept`` is the total, in seconds."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.slept = 0.0

    def sleep(self, seconds: float) -> None:
        self.slept += seconds
        self._clock.advance(seconds)


class CountingIds:
    """Ids that count: ``run-1``, ``run-2``, ``held-3``."""

    def __init__(self, start: int = 1) -> None:
        self._numbers = itertools.count(start)

    def new(self, prefix: str) -> str:
        return f"{prefix}-{next(self._numbers)}"


def _require_forward(seconds: float) -> None:
    if not seconds >= 0:
        raise ValueError(f"time passes forward only, not by {seconds!r} seconds; step() sets the wall clock")
