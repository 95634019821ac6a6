"""What an invariant is, and who asks it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pytest_runcoord.history import Entry
from pytest_runcoord.subject import Snapshot
from pytest_runcoord.world import World


class Violated(Exception):
    """An invariant does not hold."""

    def __init__(self, invariant: str, problem: str, *, expected: str, seen: str) -> None:
        super().__init__(problem)
        self.invariant, self.problem, self.expected, self.seen = invariant, problem, expected, seen


class Invariant:
    """One rule over the whole of a scenario. Override what is needed."""

    id: ClassVar[str] = ""
    says: ClassVar[str] = ""
    needs: ClassVar[frozenset[str]] = frozenset()
    """Capabilities without which it says nothing; it does not watch a subject that lacks one."""
    hears: ClassVar[frozenset[str]] = frozenset({"verb", "message", "world", "moment", "tick", "signal"})
    """Kinds of entries that :meth:`see` is asked about."""
    about_processes: ClassVar[bool] = False
    """:meth:`see` and :meth:`compare` are asked only in a world with processes."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.exercised = 0

    def see(self, entry: Entry, before: Snapshot) -> None:
        """An entry ended; ``before`` is the snapshot taken before the step under way."""

    def compare(self, before: Snapshot, after: Snapshot) -> None:
        """The durable state, before and after whatever happened since the last look."""

    def settle(self) -> None:
        """The last step is done; owners that still run have had time to notice what happened."""

    def end(self, snapshot: Snapshot) -> None:
        """The scenario is over and has been healed."""

    def fail(self, problem: str, *, expected: str, seen: str) -> None:
        raise Violated(self.id, problem, expected=expected, seen=seen)


@dataclass(frozen=True, slots=True)
class _Asked:
    """Who is asked about what, in a world with processes or in one without."""

    seers: dict[str, list[Invariant]]
    comparers: list[Invariant]

    @classmethod
    def of(cls, invariants: list[Invariant], used: bool) -> _Asked:
        asked = [i for i in invariants if used or not i.about_processes]
        seers = [i for i in asked if type(i).see is not Invariant.see]
        comparers = [i for i in asked if type(i).compare is not Invariant.compare]
        return cls({kind: [i for i in seers if kind in i.hears] for kind in Invariant.hears}, comparers)


class Watch:
    """Feeds the history and the snapshots of one world to its invariants."""

    def __init__(self, world: World, kinds: tuple[type[Invariant], ...]) -> None:
        self._world = world
        self.invariants = [kind(world) for kind in kinds if kind.needs <= world.subject.capabilities]
        self._asked = {used: _Asked.of(self.invariants, used) for used in (False, True)}
        self._fed = 0
        self._last = Snapshot({}, {})

    def look(self) -> None:
        """Feed what ended since the last look. Raises :class:`Violated`."""
        completed = self._world.history.completed
        after = self._world.snapshot()
        if after is self._last and self._fed == len(completed):
            return
        before, self._last = self._last, after
        asked = self._asked[self._world.processes.used]
        while self._fed < len(completed):
            entry = completed[self._fed]
            self._fed += 1
            for invariant in asked.seers[entry.kind]:
                invariant.see(entry, before)
        if after is not before:
            for invariant in asked.comparers:
                invariant.compare(before, after)

    def end(self) -> None:
        """Ask every invariant for the last time."""
        self.look()
        for invariant in self.invariants:
            invariant.end(self._last)

    def exercised(self) -> dict[str, int]:
        return {invariant.id: invariant.exercised for invariant in self.invariants}
