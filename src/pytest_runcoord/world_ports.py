"""What one incarnation in this process is given: ports that ask and tell its world."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from pytest_runcoord.destinations import Destination
from pytest_runcoord.incarnation import RUNNING, Incarnation
from pytest_runcoord.post import Post
from pytest_runcoord.probed_ports import BoundedByWorld, NoAnswer
from pytest_runcoord.process_world import ProcessWorld
from pytest_runcoord.subject import SubjectWorld
from pytest_runcoord.timekeeper import Timekeeper
from runcoord.errors import Happened, StoreTimeout
from runcoord.ports import Habitat, Homes, Launcher, Message, Processes, ProcessIdentity
from runcoord.testing import ManualClock

if TYPE_CHECKING:
    from pytest_runcoord.homes.around import RunHomes


class PortsWorld(Protocol):
    """What the ports of an incarnation use of its world."""

    directory: Path
    clock: ManualClock
    time: Timekeeper
    post: Post
    plan: Any
    destinations: dict[str, Destination]
    shared: dict[str, Any]
    processes: ProcessWorld

    @property
    def homes(self) -> RunHomes: ...

    def imports_of(self, owner: str) -> tuple[dict[str, Any], ...]: ...

    @property
    def new_id(self) -> Callable[[str], str]: ...

    def reach(self, incarnation: Incarnation, moment: str, data: Mapping[str, object]) -> None: ...

    def fault(self, incarnation: Incarnation, verb: str) -> str | None: ...


class WorldSleeper:
    def __init__(self, world: PortsWorld) -> None:
        self._world = world

    def sleep(self, seconds: float) -> None:
        """Raises ``ValueError`` for less than nothing, for ever and for NaN."""
        if not 0.0 <= seconds < math.inf:
            raise ValueError(f"{seconds!r} s is no time to wait")
        self._world.time.wait(seconds)


class WorldProbe:
    """The probe of one incarnation that lives in this process."""

    def __init__(self, world: PortsWorld, incarnation: Incarnation | None, bounded: BoundedByWorld) -> None:
        self._world, self._incarnation, self._bounded = world, incarnation, bounded

    def reach(self, moment: str, **data: object) -> None:
        incarnation = self._incarnation
        if incarnation is not None and (moment or incarnation.life not in RUNNING):
            self._world.reach(incarnation, moment, data)

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


class AtFirstUse:
    """A port of an incarnation's process, which the table gets when something is asked of it."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._make(), name)
        setattr(self, name, found)
        return found


class OwnProcesses(AtFirstUse):
    """The table as an incarnation sees it. Who it is, and where, is known without one."""

    def __init__(self, processes: ProcessWorld, incarnation: Incarnation, probe: WorldProbe) -> None:
        super().__init__(lambda: processes.seat(incarnation).processes)
        self._processes, self._incarnation, self._probe = processes, incarnation, probe

    def habitat(self) -> Habitat:
        self._probe.reach("")
        return self._processes.habitat(self._incarnation)

    def itself(self) -> ProcessIdentity:
        self._probe.reach("")
        return self._processes.itself(self._incarnation)


def subject_world(world: PortsWorld, incarnation: Incarnation | None) -> SubjectWorld:
    """The world as one incarnation sees it; with none, as an observer past all faults does."""
    bounded = BoundedByWorld(world.time.wait, world.clock.boottime, timed_out)
    sleeper, probe = WorldSleeper(world), WorldProbe(world, incarnation, bounded)
    offered = SubjectWorld(
        world.directory,
        world.clock,
        sleeper,
        probe,
        bounded,
        world.new_id,
        {name: name for name in world.destinations},
        dict(world.plan.settings),
        world.shared,
        meanwhile=world.time.meanwhile,
    )
    if incarnation is not None:
        whose = incarnation
        world.processes.offer(whose, probe, sleeper, bounded)
        offered.processes = cast("Processes", OwnProcesses(world.processes, whose, probe))
        offered.launcher = cast("Launcher", AtFirstUse(lambda: world.processes.seat(whose).launcher))
        offered.homes = cast("Homes", AtFirstUse(lambda: world.homes.port(probe)))
        offered.imports = world.imports_of(whose.owner)
    return offered


def timed_out(seconds: float) -> StoreTimeout:
    """What a call that hangs inside a bounded one becomes."""
    return StoreTimeout(
        f"no answer from the store within {seconds:g} s",
        remedy="Repeat it with the same key to learn whether it happened.",
        happened=Happened.MAYBE,
        seconds=seconds,
    )
