"""The coordinator's own timers: a sweep at its interval, and deliveries when they fall due."""

from __future__ import annotations

import logging

from runcoord._core import limits
from runcoord._outbox import Outbox
from runcoord._recoverer import Recoverer, SweepReport
from runcoord.errors import StoreError
from runcoord.ports import Clock

log = logging.getLogger("runcoord.maintenance")


class Maintenance:
    """Ticks the sweep and the outbox of one coordinator. A failing store is tried again at the interval."""

    def __init__(self, recoverer: Recoverer, outbox: Outbox, clock: Clock, sweep_seconds: float) -> None:
        self._recoverer, self._outbox, self._clock = recoverer, outbox, clock
        self._interval = sweep_seconds
        self._sweep_at = clock.boottime() + sweep_seconds
        self._drain_at: float | None = None

    def next_due(self) -> float | None:
        """Boottime (seconds) of the next tick."""
        if self._drain_at is None:
            return self._sweep_at
        return min(self._sweep_at, self._drain_at)

    def tick(self) -> None:
        """Sweep or drain, whatever is due."""
        now = self._clock.boottime()
        try:
            if now >= self._sweep_at:
                self._sweep_at = now + self._interval
                self._recoverer.sweep()
            elif self._drain_at is not None and now >= self._drain_at:
                self._outbox.drain()
            self.look_for_deliveries()
        except StoreError as error:
            self._drain_at = None
            log.warning("maintenance failed, tried again at the next sweep", extra={"error": str(error)})

    def sweep(self) -> SweepReport:
        """Sweep now; the next one is an interval away."""
        self._sweep_at = self._clock.boottime() + self._interval
        report = self._recoverer.sweep()
        self.look_for_deliveries()
        return report

    def look_for_deliveries(self) -> None:
        """Plan the next drain for the moment at which an event falls due."""
        due = self._outbox.next_due()
        if due is not None:
            due = max(due, self._clock.boottime() + limits.DELIVERY_BACKOFF_SECONDS)
        self._drain_at = due
