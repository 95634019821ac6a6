"""What one incarnation in this process is given: ports that ask and tell its world."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_runcoord.incarnation import Incarnation
from pytest_runcoord.probed_ports import BoundedByWorld, NoAnswer
from pytest_runcoord.subject import SubjectWorld
from runcoord.errors import Happened, StoreTimeout
from runcoord.ports import Message

if TYPE_CHECKING:
    from pytest_runcoord.world import World


class WorldSleeper:
    def __init__(self, world: World) -> None:
        self._world = world

    def sleep(self, seconds: float) -> None:
        self._world.time.wait(seconds)


class WorldProbe:
    """The probe of one incarnation that lives in this process."""

    def __init__(self, world: World, incarnation: Incarnation | None, bounded: BoundedByWorld) -> None:
        self._world, self._incarnation, self._bounded = world, incarnation, bounded

    def reach(self, moment: str, **data: object) -> None:
        if self._incarnation is not None:
            self._world.reach(self._incarnation, moment, data)

    def fault(self, verb: str) -> str | None:
        incarnation = self._incarnation
        if incarnation is None or not incarnation.faults:
            return None
        return self._world.fault(incarnation, verb)

    def hang(self) -> None:
        self._world.time.hang(self._bounded)

    def send(self, message: Message) -> None:
        assert self._incarnation is not None
        try:
            self._world.post.send(self._incarnation.owner, message, self._bounded.left())
        except NoAnswer:
            self.hang()


def subject_world(world: World, incarnation: Incarnation | None) -> SubjectWorld:
    """The world as one incarnation sees it; with none, as an observer past all faults does."""
    bounded = BoundedByWorld(world.time.wait, world.clock.boottime, timed_out)
    return SubjectWorld(
        world.directory,
        world.clock,
        WorldSleeper(world),
        WorldProbe(world, incarnation, bounded),
        bounded,
        world.new_id,
        {name: name for name in world.destinations},
        dict(world.plan.settings),
        world.shared,
    )


def timed_out(seconds: float) -> StoreTimeout:
    """What a call that hangs inside a bounded one becomes."""
    return StoreTimeout(
        f"no answer from the store within {seconds:g} s",
        remedy="Repeat it with the same key to learn whether it happened.",
        happened=Happened.MAYBE,
        seconds=seconds,
    )
