"""What is to happen at named moments: crashes, and steps of an interleaving."""

from __future__ import annotations

from collections.abc import Callable

from pytest_runcoord.history import History
from pytest_runcoord.incarnation import Incarnation
from pytest_runcoord.world_errors import FailedMeanwhile, MomentMissed
from runcoord.values import record

ANY_MOMENT = "any"
"""Armed for the n-th effect, whatever its name."""


@record
class Armed:
    """Something to do when a moment is reached by ``owner`` (or by anybody) for the ``nth`` time."""

    moment: str
    action: Callable[[Incarnation], None]
    owner: str = ""
    nth: int = 1
    reached: bool = False

    def meets(self, moment: str, owner: str) -> bool:
        """Whether it waits for this moment of this owner."""
        return not self.reached and self.moment in (moment, ANY_MOMENT) and self.owner in ("", owner)


class Arming:
    """The armed moments of one world."""

    def __init__(self, history: History) -> None:
        self._history = history
        self.armed: list[Armed] = []

    def during(self, armed: Armed, act: Callable[[], None]) -> None:
        """Do something with a moment armed; a moment that is never reached is a failure of the scenario."""
        self.armed.append(armed)
        try:
            act()
        finally:
            self.armed.remove(armed)
        if not armed.reached:
            raise MomentMissed(armed.moment)

    def reach(self, incarnation: Incarnation, moment: str) -> None:
        """Do what waits for this moment. What fails in it goes past the code under test."""
        for armed in list(self.armed):
            if not armed.meets(moment, incarnation.owner):
                continue
            armed.nth -= 1
            if armed.nth > 0:
                continue
            armed.reached = True
            self._history.add("world", incarnation.owner, f"at {moment}")
            try:
                armed.action(incarnation)
            except Exception as error:
                raise FailedMeanwhile(error) from error
