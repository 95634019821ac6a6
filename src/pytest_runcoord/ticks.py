"""What timers did to the store, of a subject that announces no writes: entries of the history of their own.

Where writes are announced the moments say it, such as ``after-renew``, and nothing is recorded here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from pytest_runcoord._limits import MAX_TICKS_TOLD

if TYPE_CHECKING:
    from pytest_runcoord.history import History
    from pytest_runcoord.subject import EventSeen, RunSeen, Snapshot
    from pytest_runcoord.timekeeper import Timed

MOST_SAID = 3
"""Changes of one tick that its entry says; the rest are counted."""
OTHER_FIELDS = ("progress", "stop_requested", "result", "error", "late", "retried_as", "interruptions")
"""Of a run, what a tick may change beside who holds it and how it ended."""
NEXT_TO_NOTHING_SECONDS = 0.001
"""A deadline that moved by less is the same, computed at another moment."""


class Observed(Protocol):
    """A world, as far as it is looked at here."""

    announced: bool
    unobserved: bool
    seen: Snapshot
    history: History

    @property
    def busy(self) -> bool: ...

    def snapshot(self) -> Snapshot: ...

    def observe(self) -> None: ...


class Ticks:
    """Looks at the store before and after ticks, and tells the invariants."""

    def __init__(self, world: Observed) -> None:
        self._world = world
        self._told = 0

    def before(self) -> Snapshot | None:
        """What is durable before a tick; ``None`` where nobody is to look."""
        world = self._world
        if world.announced or world.unobserved or self._told >= MAX_TICKS_TOLD:
            return None
        return world.snapshot() if world.busy else world.seen  # a call under way may have written since

    def after(self, timed: Timed, before: Snapshot | None) -> None:
        """Record what a tick changed, and let the invariants look."""
        world = self._world
        if before is None:
            world.observe()
            return
        after = world.snapshot()
        if (before.runs, before.events) != (after.runs, after.events):
            self._record(timed, before, after)
        world.announced = True  # what was looked at now is what they see
        try:
            world.observe()
        finally:
            world.announced = False

    def _record(self, timed: Timed, before: Snapshot, after: Snapshot) -> None:
        began = self._world.history.entries[0].boottime  # whoever has a timer was opened
        changes = [*_of_runs(before, after, began), *_of_events(before, after)]
        if not changes:
            return
        self._told += 1
        said = [text for _, text in changes[:MOST_SAID]]
        if len(changes) > MOST_SAID:
            said.append(f"{len(changes) - MOST_SAID} more")
        runs = [run for run, _ in changes if run]
        owner = timed.incarnation.owner
        self._world.history.add("tick", owner, f"{timed.name} ticks", changed=", ".join(said), of_runs=runs)


def _of_runs(before: Snapshot, after: Snapshot, began: float) -> Iterator[tuple[str, str]]:
    """The ids of runs that are other than before, each with what is."""
    for run_id, now in after.runs.items():
        was = before.runs.get(run_id)
        if was is None:
            yield run_id, f"{run_id} {now.state}"
        elif now != was and (text := _of_run(was, now, began)):
            yield run_id, text
    for run_id in before.runs.keys() - after.runs.keys():
        yield run_id, f"{run_id} is gone"


def _of_run(was: RunSeen, now: RunSeen, began: float) -> str:
    """What is other of a run, in a few words; empty where it is next to nothing."""
    if now.outcome != was.outcome:
        return f"{now.run_id} {now.state}: {now.outcome}"
    if (now.owner, now.epoch) != (was.owner, was.epoch):
        holder = now.owner.rpartition("#")[0] or now.owner
        epoch = f" (epoch {now.epoch})" if now.epoch else ""
        return f"{now.run_id} held by {holder}{epoch}" if holder else f"{now.run_id} held by nobody{epoch}"
    if now.state != was.state:
        return f"{now.run_id} {was.state} → {now.state}"
    if now.lease != was.lease and (text := _of_lease(was, now, began)):
        return text
    fields = [name for name in OTHER_FIELDS if getattr(now, name) != getattr(was, name)]
    return f"{now.run_id}: {', '.join(fields).replace('_', ' ')}" if fields else ""


def _of_lease(was: RunSeen, now: RunSeen, began: float) -> str:
    if now.lease is None:
        return f"no lease of {now.run_id}"
    until = f"lease of {now.run_id} until {round(now.lease.boottime - began, 2):g}"
    if was.lease is None or was.lease.boot_id != now.lease.boot_id:
        return until
    return until if abs(now.lease.boottime - was.lease.boottime) >= NEXT_TO_NOTHING_SECONDS else ""


def _of_events(before: Snapshot, after: Snapshot) -> Iterator[tuple[str, str]]:
    """The same of events; of none is the lease of a run other."""
    for event_id, now in after.events.items():
        was = before.events.get(event_id)
        if was is None:
            yield "", f"event {event_id} {now.state}"
        elif now != was:
            yield "", f"event {event_id} {_of_event(was, now)}"
    for event_id in before.events.keys() - after.events.keys():
        yield "", f"event {event_id} is gone"


def _of_event(was: EventSeen, now: EventSeen) -> str:
    if now.state != was.state:
        return f"{was.state} → {now.state}"
    return f"try {now.attempt}" if now.attempt != was.attempt else "changed"
