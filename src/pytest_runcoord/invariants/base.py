"""What an invariant is, and who asks it."""

from __future__ import annotations

from functools import lru_cache
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
    about_homes: ClassVar[bool] = False
    """The same for a world with homes."""
    sweeps: ClassVar[tuple[str, ...]] = ()
    """Verbs after which :meth:`sweep` is asked."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.exercised = 0

    def see(self, entry: Entry, before: Snapshot) -> None:
        """An entry ended; ``before`` is the snapshot taken before the step under way."""

    def compare(self, before: Snapshot, after: Snapshot) -> None:
        """The durable state, before and after whatever happened since the last look."""

    def sweep(self, before: Snapshot, after: Snapshot, rows: int | None) -> None:
        """One sweep, or one import, in which nothing else happened, and how many rows it wrote."""

    def settle(self) -> None:
        """The last step is done; owners that still run have had time to notice what happened."""

    def end(self, snapshot: Snapshot) -> None:
        """The scenario is over and has been healed."""

    def fail(self, problem: str, *, expected: str, seen: str) -> None:
        raise Violated(self.id, problem, expected=expected, seen=seen)


@lru_cache(maxsize=32)
def _asked(
    kinds: tuple[type[Invariant], ...], processes: bool, homes: bool
) -> tuple[dict[str, list[int]], list[int]]:
    """Who hears of which kinds of entries, and who compares, with processes and homes or without."""
    asked = [
        number
        for number, kind in enumerate(kinds)
        if (processes or not kind.about_processes) and (homes or not kind.about_homes)
    ]
    seers = [number for number in asked if kinds[number].see is not Invariant.see]
    comparers = [number for number in asked if kinds[number].compare is not Invariant.compare]
    hearing = {kind: [each for each in seers if kind in kinds[each].hears] for kind in Invariant.hears}
    return hearing, comparers


class Watch:
    """Feeds the history and the snapshots of one world to its invariants."""

    def __init__(self, world: World, kinds: tuple[type[Invariant], ...]) -> None:
        self._world = world
        self.invariants = [kind(world) for kind in kinds if kind.needs <= world.subject.capabilities]
        self._choose(processes=False, homes=False)
        self._fed = 0
        self._last = Snapshot({}, {})

    def _choose(self, processes: bool, homes: bool) -> None:
        """Whom to ask, in a world with processes and homes or in one without."""
        hearing, comparers = _asked(tuple([type(each) for each in self.invariants]), processes, homes)
        everybody = self.invariants
        self._processes, self._homes = processes, homes
        self._seers = {kind: [everybody[each] for each in numbers] for kind, numbers in hearing.items()}
        self._comparers = [everybody[each] for each in comparers]

    def look(self) -> None:
        """Feed what ended since the last look. Raises :class:`Violated`."""
        completed = self._world.history.completed
        after = self._world.snapshot()
        if after is self._last and self._fed == len(completed):
            return
        before, self._last = self._last, after
        processes, homes = self._world.processes.used, self._world.has_homes
        if processes is not self._processes or homes is not self._homes:
            self._choose(processes, homes)
        while self._fed < len(completed):
            entry = completed[self._fed]
            self._fed += 1
            for invariant in self._seers[entry.kind]:
                invariant.see(entry, before)
        if after is not before:
            for invariant in self._comparers:
                invariant.compare(before, after)

    def end(self) -> None:
        """Ask every invariant for the last time."""
        self.look()
        for invariant in self.invariants:
            invariant.end(self._last)

    def exercised(self) -> dict[str, int]:
        counted: dict[str, int] = {}
        for invariant in self.invariants:
            counted[invariant.id] = counted.get(invariant.id, 0) + invariant.exercised
        return counted
