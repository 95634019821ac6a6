"""Verbs that are coroutines: who drives them, one for each session that has some."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from pytest_runcoord.subject import SubjectWorld, Timer
from pytest_runcoord.subjects.virtual_loop import VirtualLoop

LOOP = "loop"
"""What scenarios call the event loop of an owner, which is one of its timers."""


class Coroutines:
    """Drives the coroutines of one session, in an event loop of its own. Made when the first one is met."""

    def __init__(self, world: SubjectWorld, owner: str) -> None:
        self._loop = VirtualLoop(
            world.clock, world.sleeper, lambda: world.probe.reach(""), world.meanwhile, name=owner
        )

    def drive(self, verb: str, awaitable: Awaitable[Any]) -> Any:
        """What it gives in the end. Raises what it raises, and :class:`LoopFault` where it never ends, and
        for tasks that end meanwhile with an error at which nobody looks."""
        return self._loop.run(awaitable, verb)

    def timers(self) -> list[tuple[str, Timer]]:
        """What makes its background tasks go on as time passes."""
        return [(LOOP, self._loop)]

    def end(self) -> None:
        """The session was closed in good order. Raises :class:`LoopFault` for tasks that still run."""
        self._loop.end()

    def die(self) -> None:
        """The process died: nothing of it is stepped any more, and nothing of it cleans up."""
        self._loop.die()

    def dispose(self) -> None:
        """The verdict is made: let go of everything, silently."""
        self._loop.dispose()
