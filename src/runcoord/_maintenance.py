"""The coordinator's own timers: a sweep at its interval, and deliveries when they fall due."""

from __future__ import annotations

from runcoord._core import limits
from runcoord._log import WARNING, Log, say
from runcoord._outbox import DrainReport, Outbox
from runcoord.errors import StoreError
from runcoord.ports import Clock

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import Protocol

    from runcoord._recoverer import Recoverer, SweepReport

    class Making(Protocol):
        def __call__(self, *, by_timer: bool) -> Recoverer: ...


log = Log("runcoord.maintenance")


class Maintenance:
    """Ticks the sweep and the outbox of one coordinator. A failing store is tried again at the interval.

    ``make`` makes what sweeps by hand or by timer, when it is first needed: most commands never sweep.
    """

    def __init__(
        self,
        outbox: Outbox,
        clock: Clock,
        sweep_seconds: float,
        make: Making,
    ) -> None:
        self._make = make
        self._recoverers: dict[bool, Recoverer] = {}
        self._outbox, self._clock = outbox, clock
        self._interval = sweep_seconds
        self._sweep_at = clock.boottime() + sweep_seconds
        self._drain_at: float | None = None
        self._drained: DrainReport | None = None
        """The last drain, after which the next one is not planned yet."""
        self._soon_at: float | None = None

    def next_due(self) -> float:
        """Boottime (seconds) of the next tick."""
        self._plan_ahead()
        return min(at for at in (self._sweep_at, self._drain_at, self._soon_at) if at is not None)

    def tick(self) -> None:
        """Sweep or drain, whatever is due."""
        self._plan_ahead()
        try:
            now = self._clock.boottime()
            if now >= self._sweep_at:
                self._sweep(by_timer=True)
            elif any(at is not None and now >= at for at in (self._drain_at, self._soon_at)):
                self.deliver()
        except StoreError as error:
            self._failed(error)

    def _failed(self, error: StoreError) -> None:
        self._drain_at = None
        say(log, WARNING, "maintenance failed, tried again at the next sweep", error=str(error))

    def sweep(self) -> SweepReport:
        """Sweep now; the next one is an interval away."""
        return self._sweep(by_timer=False)

    def _sweep(self, *, by_timer: bool) -> SweepReport:
        recoverer = self._recoverers.get(by_timer)
        if recoverer is None:
            recoverer = self._recoverers.setdefault(by_timer, self._make(by_timer=by_timer))
        self._sweep_at = self._clock.boottime() + self._interval
        self._soon_at = None
        report = recoverer.sweep()
        self._drained = report.drain
        return report

    def deliver(self) -> DrainReport:
        """Drain now."""
        self._soon_at = None
        report = self._outbox.drain()
        self._drained = report
        return report

    def deliver_soon(self) -> None:
        """An event was written. Whoever wrote it has a moment to send it by hand, where that is done."""
        if self._soon_at is None:
            self._soon_at = self._clock.boottime() + limits.DELIVERY_BACKOFF_SECONDS

    def _plan_ahead(self) -> None:
        """Plan the next drain, when somebody asks for it: who only sweeps by hand has no timers, and need
        not look when the next event falls due."""
        report, self._drained = self._drained, None
        if report is not None:
            try:
                self._plan(report)
            except StoreError as error:
                self._failed(error)

    def _plan(self, report: DrainReport) -> None:
        """Plan the next drain: when an event falls due, or soon if this one was cut short.

        What was due when the drain began and is still there cannot be sent, such as a row that cannot be
        read; to try again at once would go on for ever, so the next sweep looks at it.
        """
        soon = self._clock.boottime() + limits.DELIVERY_BACKOFF_SECONDS
        due = self._outbox.next_due()
        if report.unfinished:
            self._drain_at = soon
        elif due is None or due <= report.began:
            self._drain_at = None
        else:
            self._drain_at = max(due, soon)
