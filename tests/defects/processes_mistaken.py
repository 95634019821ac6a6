"""Ways of taking one process for another, or of not making an end of it: rules that several defects break."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_runcoord.processes import SimProcess, membership, port
from runcoord import _deaths
from runcoord._core.cleanup import Found, Seen, Sight
from runcoord._core.identity import UnknownIdentity
from runcoord._core.records import Identity
from runcoord._core.teardown import Fate, ProcessReport, TeardownReport
from runcoord._ending_trees import Trees
from runcoord._probing import Probes

KILL = 9
Look = Callable[[Probes, Identity], Seen]
Breaks = Callable[[pytest.MonkeyPatch], None]


def kills_by_number(patch: pytest.MonkeyPatch, is_meant: Callable[[str], bool] = lambda name: True) -> None:
    """Whoever has the recorded pid, and a name that fits, is taken for the recorded process and killed."""

    def look(self: Probes, identity: Identity) -> Seen:
        pid = identity.pid
        if pid is None:
            return Seen(Sight.UNKNOWN)
        there = whoever(self.table, pid)
        if there is None or there.ended or not is_meant(there.name):
            return Seen(Sight.GONE)
        return Seen(Sight.SAME)

    def tear_down(self: Trees, found: Sequence[Found]) -> TeardownReport:
        ended = []
        for each in found:
            pid = each.process.identity.pid
            if each.seen.sight is Sight.SAME and pid is not None:
                kill(self._probes.table, pid)
                ended.append(ProcessReport(pid, Fate.KILLED))
        return TeardownReport(True, tuple(ended), len(ended))

    patch.setattr(Probes, "look", look)
    patch.setattr(Trees, "tear_down", tear_down)
    patch.setattr("runcoord._core.cleanup.same", _same_by_number)


def _same_by_number(found: Sequence[Found]) -> tuple[Any, ...]:
    return tuple(each.process.identity for each in found if each.seen.sight is Sight.SAME)


def whoever(table: Any, pid: int) -> SimProcess | None:
    """Whoever has a pid here and now, as ``os.kill`` finds him: nothing is asked about who it is."""
    found: SimProcess | None = table.table.at(table.process.place, pid)
    return found


def kill(table: Any, pid: int | None) -> None:
    """``os.kill(pid, SIGKILL)``."""
    there = None if pid is None else whoever(table, pid)
    if there is not None:
        table.table.send(there, KILL, by=table.process.label, way="number")


def sees_strangers_as(sight: Sight) -> Breaks:
    """What is known to be somebody else's pid counts as ``sight``."""

    def breaks(patch: pytest.MonkeyPatch) -> None:
        right = Probes.look

        def look(self: Probes, identity: Identity) -> Seen:
            seen = right(self, identity)
            return Seen(sight, why=seen.why) if seen.sight is Sight.STRANGER else seen

        patch.setattr(Probes, "look", look)

    return breaks


def for_ever(breaks: Breaks) -> Breaks:
    """The same, and the number of attempts is not bounded."""

    def both(patch: pytest.MonkeyPatch) -> None:
        breaks(patch)
        patch.setattr("runcoord._core.cleanup.CLEANUP_ATTEMPTS", 10**9)

    return both


def unknown_is(sight: Sight) -> Breaks:
    """A record that cannot be understood counts as ``sight``."""

    def breaks(patch: pytest.MonkeyPatch) -> None:
        right = Probes.look

        def look(self: Probes, identity: Identity) -> Seen:
            return Seen(sight) if isinstance(identity, UnknownIdentity) else right(self, identity)

        patch.setattr(Probes, "look", look)

    return breaks


def unknown_is_death(patch: pytest.MonkeyPatch) -> None:
    """That nothing can be told of an owner counts as proof that it is dead."""
    patch.setitem(_deaths._OF_SIGHT, Sight.UNKNOWN, _deaths.Vitality.DEAD)


def looked_for(patch: pytest.MonkeyPatch, **changes: Any) -> None:
    """Whoever looks for members looks for less, or for more."""
    among = membership.members_among
    patch.setattr(
        port,
        "members_among",
        lambda processes, members, **how: among(processes, replace(members, **changes), **how),
    )
