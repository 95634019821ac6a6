"""Keeps what a picture needs of one run, beside its history: how leases changed in the store.

Attached only where somebody asked for pictures; it looks at the snapshot that the invariants look at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_runcoord.picture.drawing import picture_of
from pytest_runcoord.picture.model import LeaseSeen, Picture
from pytest_runcoord.rendering import message
from pytest_runcoord.verdict import RunResult

if TYPE_CHECKING:
    from pytest_runcoord.subject import RunSeen, Snapshot
    from pytest_runcoord.world import World

MAX_RUNS = 64
"""Runs whose leases are followed; the bars of more would cover each other."""


class Recorder:
    """Follows one world. ``result`` is set when the run is over."""

    def __init__(self) -> None:
        self.result: RunResult | None = None
        self.seen: list[LeaseSeen] = []
        self._world: World | None = None
        self._snapshot: Snapshot | None = None
        self._known: dict[str, tuple[object, ...]] = {}

    def attach(self, world: World) -> None:
        """Look whenever the invariants look, and before them: also at what one of them objects to."""
        self._world = world
        world.observers.insert(0, self._look)

    def _look(self) -> None:
        world = self._world
        assert world is not None
        snapshot = world.snapshot()
        if snapshot is self._snapshot:
            return
        self._snapshot = snapshot
        for run in snapshot.runs.values():
            now = (run.owner, run.epoch, run.lease, run.outcome)
            if self._known.get(run.run_id) != now and (run.run_id in self._known or self._has_room()):
                self._known[run.run_id] = now
                self.seen.append(self._seen(world, run))

    def _has_room(self) -> bool:
        return len(self._known) < MAX_RUNS

    def _seen(self, world: World, run: RunSeen) -> LeaseSeen:
        entries, lease = world.history.entries, run.lease
        began = entries[0].boottime if entries else 0.0
        same_boot = lease is not None and lease.boot_id == world.clock.boot_id()
        expires = lease.boottime - began if lease is not None and same_boot else None
        owner = run.owner.rpartition("#")[0] if lease is not None else ""
        return LeaseSeen(len(entries), run.run_id, run.epoch, owner, expires, run.outcome or "")

    def picture(self) -> Picture:
        """What was seen; empty when the run never began."""
        if self._world is None:
            return Picture((), ())
        failure = self.result.failure if self.result is not None else None
        said = message(self.result) if self.result is not None and failure is not None else ""
        return picture_of(
            self._world.history.entries,
            self.seen,
            failure=failure,
            message=said,
            directory=str(self._world.directory),
        )
