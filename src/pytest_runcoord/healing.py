"""After the last step: faults stop, and a fresh owner sees whether everything converges."""

from __future__ import annotations

from pytest_runcoord.deadlines import claimable
from pytest_runcoord.destinations import PASSING
from pytest_runcoord.incarnation import Incarnation, Life
from pytest_runcoord.invariants import IdleIsFree, Watch
from pytest_runcoord.world import World

HEALER = "healer"
"""The owner that is opened after the last step, to see whether everything converges."""
HEAL_SECONDS = 330.0
"""Time between two healing sweeps: more than the longest wait between two deliveries."""
SETTLE_SECONDS = 5.0
"""Time that owners which still run get before healing, for their timers to notice what happened."""


def heal(world: World, watch: Watch, sweeps: int) -> None:
    """Faults stop; owners that still run may notice what happened; then one fresh owner sweeps.

    Raises :class:`~pytest_runcoord.invariants.Violated` for what an invariant says at the end. With no
    ``sweeps`` it only asks them.
    """
    world.history.step = 0
    if not sweeps:
        watch.end()
        return
    world.history.add("world", HEALER, "heal")
    _stop_faults(world)
    if any(each.life is Life.ALIVE for each in world.incarnations):
        world.time.pass_time(SETTLE_SECONDS)
    watch.settle()
    for incarnation in world.incarnations:
        if incarnation.life is Life.ALIVE:
            world.close_owner(incarnation.owner)
        elif incarnation.life is Life.PAUSED:
            world.crash(incarnation.owner)
    if "recovery" in world.subject.capabilities:
        _sweep(world, watch, sweeps)
    watch.end()


def _sweep(world: World, watch: Watch, sweeps: int) -> None:
    """Sweep until everything has converged; then somebody asks for what is left."""
    able = world.subject.capabilities
    if world.has_homes:
        world.homes.imports[HEALER] = world.homes.everything()
    healer = world.open(HEALER)
    for _ in range(sweeps):
        if _quiet(world):
            break
        world.time.pass_time(HEAL_SECONDS)
        world.sweep(healer, "recover")
        if "outbox" in able and "maintenance" not in able:  # whose sweeps need not deliver
            world.call(healer, "deliver", {})
    if not watch.was_exercised(IdleIsFree):
        world.sweep(healer, "recover")
    if "claim-next" in able:
        world.given_out = _claimed(world, healer)


def _claimed(world: World, healer: Incarnation) -> set[str]:
    """Claim until nothing is left: what counts as claimable must be given to one who asks."""
    now = world.instant()
    again = "interruption" not in world.subject.capabilities  # then what began may be given out, too
    given: set[str] = set()
    for _ in [
        run
        for run in world.snapshot().runs.values()
        if claimable(run, now) or (again and run.outcome is None)
    ]:
        found = world.call(healer, "claim_next", {}).get("run")
        if found is None:
            break
        given.add(found)
    return given


def _stop_faults(world: World) -> None:
    world.time.release_hanging()
    for incarnation in world.incarnations:
        incarnation.faults.clear()
        incarnation.stalled.clear()
    for place in world.destinations.values():
        place.takes = 0.0
        if place.behaviour in PASSING:
            place.behaviour = "accepts"
    world.processes.mend()


def _quiet(world: World) -> bool:
    """Everything has converged, as the invariant of that name understands it."""
    snapshot, now = world.snapshot(), world.instant()
    runs = all(
        (run.outcome is not None or claimable(run, now)) and run.cleanup != "pending"
        for run in snapshot.runs.values()
    )
    events = all(event.state in ("delivered", "held") for event in snapshot.events.values())
    return runs and events
