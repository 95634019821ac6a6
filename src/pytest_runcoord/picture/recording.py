"""The picture of a world that has ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_runcoord.history import Entry
from pytest_runcoord.looks import MAX_RUNS_DRAWN, Look
from pytest_runcoord.picture.drawing import picture_of
from pytest_runcoord.picture.model import LeaseSeen, Picture
from pytest_runcoord.picture.words import ACQUIRES
from pytest_runcoord.rendering import message
from pytest_runcoord.verdict import RunResult

if TYPE_CHECKING:
    from pytest_runcoord.subject import RunSeen
    from pytest_runcoord.world import World


def drawn(world: World, result: RunResult) -> Picture:
    """What happened in a world, and how it ended."""
    entries = world.history.entries
    return picture_of(
        entries,
        leases_seen(world.looks, entries),
        failure=result.failure,
        message=message(result) if result.failure is not None else "",
        directory=str(world.directory),
    )


class Recorder:
    """Keeps one world for its picture. ``result`` is set when the run is over."""

    def __init__(self) -> None:
        self.result: RunResult | None = None
        self._world: World | None = None

    def attach(self, world: World) -> None:
        """From now on this is the world that is drawn."""
        self._world = world

    def picture(self) -> Picture:
        """What was seen; empty when the run never began."""
        if self._world is None or self.result is None:
            return Picture((), ())
        return drawn(self._world, self.result)


def leases_seen(looks: Sequence[Look], entries: Sequence[Entry]) -> list[LeaseSeen]:
    """How leases changed, in the order in which it was seen."""
    known: dict[str, tuple[object, ...]] = {}
    seen: list[LeaseSeen] = []
    began = entries[0].boottime if entries else 0.0
    for look in looks:
        for run in look.snapshot.runs.values():
            now = (run.owner, run.epoch, run.lease, run.outcome)
            if known.get(run.run_id) != now and (run.run_id in known or len(known) < MAX_RUNS_DRAWN):
                known[run.run_id] = now
                seen.append(_seen(look, run, began, _holder(run, entries[: look.after])))
    return seen


def _holder(run: RunSeen, entries: Sequence[Entry]) -> str:
    """Who holds a lease: whom the store names, or else who acquired the run last; empty for nobody."""
    if run.lease is None:
        return ""
    if run.owner:
        return str(run.owner.rpartition("#")[0] or run.owner)
    acquired = (
        each.actor
        for each in reversed(entries)
        if each.kind == "verb"
        and each.what in ACQUIRES
        and each.status == "ok"
        and each.data.get("run") == run.run_id
    )
    return next(acquired, "")


def _seen(look: Look, run: RunSeen, began: float, owner: str) -> LeaseSeen:
    lease = run.lease
    same_boot = lease is not None and lease.boot_id == look.boot_id
    expires = lease.boottime - began if lease is not None and same_boot else None
    return LeaseSeen(look.after, str(run.run_id), int(run.epoch), owner, expires, str(run.outcome or ""))
