"""Time in a world: it passes when a step or production code says so, and timers fire as they fall due."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable

from pytest_runcoord._limits import MAX_TICKS, MAX_TICKS_AT_ONCE
from pytest_runcoord.incarnation import Incarnation
from pytest_runcoord.probed_ports import BoundedByWorld, HangInBound, NeverReturns, store_error
from pytest_runcoord.subject import Timer
from pytest_runcoord.world_errors import BoundReached, FailedMeanwhile
from runcoord.testing import ManualClock
from runcoord.values import value

HANG_SECONDS = 30.0
"""Real time after which a hanging call in a helper thread gives up, should nothing release it."""


@value
class Timed:
    """A timer of an incarnation, by name."""

    incarnation: Incarnation
    name: str
    timer: Timer


@value
class Alarm:
    """Something that happens once, at a boottime."""

    at: float
    action: Callable[[], None]


def _at(alarm: Alarm) -> float:
    return alarm.at


class Timekeeper:
    """Moves the clocks of one world. ``timers`` lists those that run now, ``fire`` ticks one of them."""

    def __init__(
        self, clock: ManualClock, timers: Callable[[], Iterable[Timed]], fire: Callable[[Timed], None]
    ) -> None:
        self._clock, self._timers, self._fire = clock, timers, fire
        self._alarms: list[Alarm] = []
        self._busy: list[Timer] = []
        self._ticks: Counter[tuple[str, str]] = Counter()
        """By owner and name of the timer."""
        self._began = clock.boottime()
        self._waiting = False
        self._main = threading.current_thread()
        self._lock = threading.Lock()
        self._released: threading.Event | None = None
        """Ends the calls that hang now; made when one does."""
        self.background = 0
        """How often a timer or a task did something by itself: that is not the doing of a call meanwhile."""
        self.mended = 0
        """How often hanging calls were released; processes of the real tier follow it."""

    def alarm(self, seconds: float, action: Callable[[], None]) -> None:
        """Do something once, ``seconds`` from now, as the clocks advance."""
        self._alarms.append(Alarm(self._clock.boottime() + seconds, action))

    def pass_time(self, seconds: float) -> None:
        """Let ``seconds`` pass on every clock, firing timers in the order in which they fall due."""
        clock = self._clock
        end = clock.boottime() + seconds
        at_once: dict[int, int] = {}
        while (found := self._first_due(end)) is not None:
            due, timed = found
            ahead = due - clock.boottime()
            if ahead > 0:
                at_once.clear()
                self._move(ahead)
            fired = at_once[id(timed.timer)] = at_once.get(id(timed.timer), 0) + 1
            if fired > MAX_TICKS_AT_ONCE:
                raise BoundReached(
                    f"the timer {timed.name!r} of {timed.incarnation.owner} is due again at once, for ever"
                )
            self._tick(timed)
        self._move(max(0.0, end - clock.boottime()))

    def fire_due(self) -> None:
        """Fire what is due now, after the clocks were moved otherwise."""
        self.pass_time(0.0)

    def wait(self, seconds: float) -> None:
        """Production code waits. Other timers fire meanwhile, unless one of them waits already."""
        if threading.current_thread() is not self._main:
            self._release().wait(min(seconds, HANG_SECONDS))
        elif self._waiting:
            self._move(seconds)
        else:
            self._waiting = True
            try:
                self.pass_time(seconds)
            except Exception as error:
                raise FailedMeanwhile(error) from error
            finally:
                self._waiting = False

    def meanwhile(self) -> None:
        """Something goes on by itself, in the background of whatever call is under way."""
        self.background += 1

    def hang(self, bounded: BoundedByWorld) -> None:
        """A call does not return: a helper thread blocks for real, any other call needs a bound."""
        if threading.current_thread() is not self._main:
            self._release().wait(HANG_SECONDS)
            raise store_error("io-error")
        raise NeverReturns if bounded.left() is None else HangInBound

    def release_hanging(self) -> None:
        """Calls that hang in helper threads give up now; later ones hang again."""
        self.mended += 1
        with self._lock:
            released, self._released = self._released, None
        if released is not None:
            released.set()

    def _release(self) -> threading.Event:
        """What ends a call that hangs from now on."""
        with self._lock:
            if self._released is None:
                self._released = threading.Event()
            return self._released

    def _move(self, seconds: float) -> None:
        """Move the clocks on, stopping at every alarm on the way."""
        clock = self._clock
        end = clock.boottime() + seconds
        while self._alarms and (alarm := min(self._alarms, key=_at)).at <= end:
            clock.advance(max(0.0, alarm.at - clock.boottime()))
            self._alarms.remove(alarm)
            alarm.action()  # may set another one
        left = end - clock.boottime()
        if left > 0:
            clock.advance(left)

    def _first_due(self, end: float) -> tuple[float, Timed] | None:
        first: tuple[float, Timed] | None = None
        for timed in self._timers():
            if any(busy is timed.timer for busy in self._busy):
                continue
            due = timed.timer.next_due()
            if due is not None and due <= end and (first is None or due < first[0]):
                first = (due, timed)
        return first

    def _ticks_too_often(self) -> BoundReached:
        from pytest_runcoord.picture.words import duration  # only a scenario that fails needs it

        [((owner, name), often)] = self._ticks.most_common(1)
        passed = duration(self._clock.boottime() - self._began)
        return BoundReached(
            f"more than {MAX_TICKS:,} timer ticks: the timer {name!r} of {owner} ticked {often:,} times in "
            f"{passed} of the world's time",
            "If it is to wake that often, advance less or let it wake more rarely; else look for a loop.",
        )

    def _tick(self, timed: Timed) -> None:
        if self._ticks.total() >= MAX_TICKS:
            raise self._ticks_too_often()
        self._ticks[timed.incarnation.owner, timed.name] += 1
        self.meanwhile()
        self._busy.append(timed.timer)
        try:
            self._fire(timed)
        finally:
            self._busy.pop()
