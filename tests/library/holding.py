"""A run that is being worked on by ``gw1`` on a manual clock, and a rival on the same store."""

from __future__ import annotations

from runcoord import Coordinator, Execution, Settings, open_coordinator
from runcoord._core import limits
from runcoord._heartbeat import Heartbeat
from runcoord.ports import Bounded, Ports, Sleeper
from runcoord.testing import CountingIds, ManualClock, ManualSleeper, MemoryData, MemoryStore

from .hooks import HookedStore, ToldCalls

LEASE, RENEW = 90.0, 30.0
TRUST = LEASE * limits.TRUST_FRACTION


class Holding:
    """``gw1`` works on ``r1``; ``store`` and ``calls`` are what its heartbeat goes through."""

    def __init__(self, *, bounded: Bounded | None = None, sleeper: Sleeper | None = None) -> None:
        self.clock = ManualClock()
        self.calls = ToldCalls(self.clock)
        self.data = MemoryData()
        self.store = HookedStore().around(MemoryStore(self.data))
        self.sleeper = sleeper or ManualSleeper(self.clock)
        self.mine = self._opened("gw1", self.store, bounded or self.calls)
        self.rival = self._opened("gw2", MemoryStore(self.data), self.calls)
        self.mine.submit({"n": 1}, run_id="r1", destination="chat")
        self.execution: Execution = self.mine.begin("r1")
        self.heartbeat: Heartbeat = self.execution.heartbeat
        self.began = self.clock.boottime()

    def _opened(self, owner: str, store: HookedStore | MemoryStore, bounded: Bounded) -> Coordinator:
        ports = Ports(self.clock, self.sleeper, CountingIds(), bounded, store=store)
        settings = Settings(lease=LEASE, renew=RENEW)
        return open_coordinator("unused", destinations={}, settings=settings, owner=owner, ports=ports)

    def advance_to(self, seconds: float) -> None:
        """So many seconds after the lease was taken."""
        self.clock.advance(self.began + seconds - self.clock.boottime())

    def tick_until(self, seconds: float) -> None:
        """Fire every tick that falls due before so many seconds after the lease was taken."""
        for _ in range(1_000):
            due = self.heartbeat.next_due()
            if due is None or due > self.began + seconds:
                self.advance_to(seconds)
                return
            self.clock.advance(max(0.0, due - self.clock.boottime()))
            self.heartbeat.tick()
        raise AssertionError("the heartbeat is due again and again")

    @property
    def said(self) -> list[str]:
        return [report.what for report in self.heartbeat.reports]

    @property
    def epoch(self) -> int:
        return self.data.runs["r1"].epoch
