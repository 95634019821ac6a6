"""Timers that are planned on another clock than the one they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from runcoord.ports import Clock


class OtherClock:
    """A clock whose boottime is another reading, from the same start."""

    def __init__(self, clock: Clock, reading: Callable[[Clock], float]) -> None:
        self._clock, self._reading = clock, reading
        self._ahead = reading(clock) - clock.boottime()

    def boottime(self) -> float:
        return self._reading(self._clock) - self._ahead


def plan_on(
    patch: pytest.MonkeyPatch,
    timer: type[Any],
    clock_of: Callable[..., Clock],
    reading: Callable[[Clock], float],
) -> None:
    """Let every new ``timer`` measure time by ``reading``; ``clock_of`` finds its clock in its arguments."""
    init, next_due = timer.__init__, timer.next_due
    real: dict[int, Clock] = {}

    def planned(self: Any, *args: Any, **more: Any) -> None:
        clock = clock_of(*args)
        init(self, *args, **more)
        real[id(self)], self._clock = clock, OtherClock(clock, reading)

    def in_boottime(self: Any) -> float | None:
        due: float | None = next_due(self)
        return None if due is None else due - self._clock.boottime() + real[id(self)].boottime()

    patch.setattr(timer, "__init__", planned)
    patch.setattr(timer, "next_due", in_boottime)
