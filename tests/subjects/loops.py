"""A loop on a clock that moves when told to, as the tests of it use it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_runcoord.subjects.virtual_loop import VirtualLoop
from runcoord.testing import ManualClock, ManualSleeper


@dataclass
class Bench:
    """A clock that begins at 1,000 s, and one loop on it."""

    clock: ManualClock
    loop: VirtualLoop

    def advance(self, seconds: float) -> None:
        """Let time pass as a world does: the loop ticks whenever it is due."""
        end = self.clock.boottime() + seconds
        while (due := self.loop.next_due()) is not None and due <= end:
            self.clock.advance(max(0.0, due - self.clock.boottime()))
            self.loop.tick()
        self.clock.advance(max(0.0, end - self.clock.boottime()))


def bench(alive: Callable[[], None] = lambda: None) -> Bench:
    clock = ManualClock()
    return Bench(clock, VirtualLoop(clock, ManualSleeper(clock), alive, name="gw1"))
