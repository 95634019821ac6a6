"""Those who follow what happens in a world: its runner, and the invariants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_runcoord.incarnation import Incarnation
from pytest_runcoord.subject import Snapshot
from pytest_runcoord.world_errors import FailedMeanwhile, ScenarioMistake


def no_steps(step: Any) -> None:
    """Where there is no runner."""
    raise ScenarioMistake("no runner is attached to this world")


class Watched:
    """Part of a world."""

    observers: list[Callable[[], None]]
    unobserved: bool
    """Many steps alike are under way; the invariants look when they are done."""
    sweep_watchers: list[Callable[[str, Snapshot, Snapshot, int | None], None]]
    """They are told the verb of a sweep, what was durable before it and after, and how many rows it wrote."""
    run_step: Callable[[Any], None]
    check: Callable[[Any], None]
    _calls: list[Incarnation]

    def observe(self) -> None:
        """Tell the invariants that something may have happened."""
        if not self.unobserved:
            for observer in self.observers:
                self.inside(observer)

    def inside(self, act: Callable[[], None]) -> None:
        """Do something of the scenario's own. When it fails in the middle of a subject's call, that goes past
        the subject: its failure is neither the subject's nor for the subject to handle."""
        try:
            act()
        except Exception as failure:
            if self._calls:
                raise FailedMeanwhile(failure) from failure
            raise

    def forget_watchers(self) -> None:
        """Nobody looks any more. Those who did, and what they remember, need no garbage collector then."""
        self.observers.clear()
        self.sweep_watchers.clear()
        self.run_step = self.check = no_steps
