"""How often timers may tick in a scenario, and what is said of the one that ticked most."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pytest_runcoord._limits import MAX_TICKS
from pytest_runcoord.failures import describe
from pytest_runcoord.incarnation import Incarnation
from pytest_runcoord.timekeeper import Timed, Timekeeper
from pytest_runcoord.world_errors import BoundReached
from runcoord.testing import ManualClock

DAY = 86_400.0


@dataclass
class Every:
    """Due every so many seconds."""

    clock: ManualClock
    seconds: float
    due: float = 0.0
    ticks: int = 0

    def next_due(self) -> float:
        return self.due

    def tick(self) -> None:
        self.ticks += 1
        self.due = self.clock.boottime() + self.seconds


def kept(**seconds: float) -> tuple[Timekeeper, list[Every]]:
    """The time of a world in which each of these owners has a loop that wakes so often."""
    clock = ManualClock()
    timers = [Timed(Incarnation(name, 1), "loop", Every(clock, each)) for name, each in seconds.items()]
    found = [timed.timer for timed in timers]
    every = [each for each in found if isinstance(each, Every)]
    return Timekeeper(clock, lambda: timers, lambda timed: timed.timer.tick()), every


def test_two_owners_that_beat_every_twenty_seconds_with_two_awaits_may_do_so_for_a_day() -> None:
    time, timers = kept(gw1=20.0 / 3, gw2=20.0 / 3)
    time.pass_time(DAY)
    assert sum(each.ticks for each in timers) > 25_000


def test_more_ticks_than_there_may_be_name_the_owner_the_timer_and_how_often() -> None:
    time, [fast, slow] = kept(gw1=0.5, gw2=20.0)
    with pytest.raises(BoundReached) as reached:
        time.pass_time(DAY)
    assert fast.ticks + slow.ticks == MAX_TICKS
    assert str(reached.value) == (
        f"more than 100,000 timer ticks: the timer 'loop' of gw1 ticked {fast.ticks:,} times in 13 h 33 min "
        "of the world's time"
    )
    assert describe(reached.value).remedy.startswith("If it is to wake that often, advance less")


def test_another_bound_still_says_to_look_for_a_loop() -> None:
    assert describe(BoundReached("more than enough")).remedy == "Look for a loop."
