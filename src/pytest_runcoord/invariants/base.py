"""What an invariant is, and who asks it."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

from pytest_runcoord.history import Entry
from pytest_runcoord.looks import MAX_LOOKS, MAX_RUNS_DRAWN, Look
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
    occasion: ClassVar[str] = ""
    """What it takes to exercise it, where the capabilities alone do not tell; for its page."""
    needs: ClassVar[frozenset[str]] = frozenset()
    """Capabilities without which it says nothing; it does not watch a subject that lacks one."""
    instead_of: ClassVar[frozenset[str]] = frozenset()
    """Capabilities in whose place it stands; it does not watch a subject that has them all."""
    hears: ClassVar[frozenset[str]] = frozenset({"verb", "message", "world", "moment", "tick", "signal"})
    """Kinds of entries that :meth:`see` is asked about."""
    verbs: ClassVar[frozenset[str] | None] = None
    """Of entries of verbs, those of which :meth:`see` is asked; ``None``: of all."""
    about_events: ClassVar[bool] = False
    """:meth:`compare` is asked only where other events are stored than before."""
    about_runs: ClassVar[bool] = False
    """:meth:`compare` is asked only where other runs are stored than before. With both: where either are."""
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


class _Audience:
    """Who of some invariants is asked about what: places in their list."""

    def __init__(self, kinds: tuple[type[Invariant], ...], processes: bool, homes: bool) -> None:
        self._kinds = kinds
        asked = [
            place
            for place, kind in enumerate(kinds)
            if (processes or not kind.about_processes) and (homes or not kind.about_homes)
        ]
        self._seers = [place for place in asked if kinds[place].see is not Invariant.see]
        self.of_verbs: dict[str, list[int]] = {}
        self.of_kinds: dict[str, list[int]] = {}
        """Who is asked about entries of a verb, and about those of another kind; found when one is met."""
        comparers = [place for place in asked if kinds[place].compare is not Invariant.compare]
        either = (False, True)
        self.comparers = {
            (runs, events): [place for place in comparers if _compares(kinds[place], runs, events)]
            for runs in either
            for events in either
        }
        """Who compares, where other runs are stored than before or not, and other events or not."""
        self.settlers = [place for place, kind in enumerate(kinds) if kind.settle is not Invariant.settle]
        self.enders = [place for place, kind in enumerate(kinds) if kind.end is not Invariant.end]
        self.sweepers: dict[str, list[int]] = {}
        """Who is asked after which verb."""
        for place, kind in enumerate(kinds):
            for verb in kind.sweeps:
                self.sweepers.setdefault(verb, []).append(place)
        self.counts = dict.fromkeys([kind.id for kind in kinds], 0)
        """How often each was exercised, at the beginning; several may have one id."""

    def hearers(self, entry: Entry) -> list[int]:
        """Find who is asked about entries like this one."""
        verb = entry.what if entry.kind == "verb" else ""
        found = [
            place
            for place in self._seers
            if entry.kind in (asked := self._kinds[place]).hears
            and (not verb or asked.verbs is None or verb in asked.verbs)
        ]
        if verb:
            self.of_verbs[verb] = found
        else:
            self.of_kinds[entry.kind] = found
        return found


def _compares(kind: type[Invariant], other_runs: bool, other_events: bool) -> bool:
    """Whether it is asked, where other runs or events are stored than before, or not."""
    if not (kind.about_runs or kind.about_events):
        return True
    return (kind.about_runs and other_runs) or (kind.about_events and other_events)


@lru_cache(maxsize=8)
def _audiences(kinds: tuple[type[Invariant], ...]) -> dict[tuple[bool, bool], _Audience]:
    """For worlds with processes or without, and with homes or without."""
    either = (False, True)
    return {
        (processes, homes): _Audience(kinds, processes, homes) for processes in either for homes in either
    }


@lru_cache(maxsize=8)
def _watching(kinds: tuple[type[Invariant], ...], able: frozenset[str]) -> tuple[type[Invariant], ...]:
    """Those that watch a subject with these capabilities."""
    return tuple(
        [kind for kind in kinds if kind.needs <= able and not (kind.instead_of and kind.instead_of <= able)]
    )


class Watch:
    """Feeds the history and the snapshots of one world to its invariants."""

    def __init__(self, world: World, kinds: tuple[type[Invariant], ...]) -> None:
        self._world = world
        watching = _watching(kinds, frozenset(world.subject.capabilities))
        self._audiences = _audiences(watching)
        self.invariants = [kind(world) for kind in watching]
        self._choose(processes=False, homes=False)
        self._fed = 0
        self._last = Snapshot({}, {})
        self._looks = world.looks

    def _choose(self, processes: bool, homes: bool) -> None:
        """Whom to ask, in a world with processes and homes or in one without."""
        self._processes, self._homes = processes, homes
        self._audience = self._audiences[processes, homes]

    def look(self) -> None:
        """Feed what ended since the last look. Raises :class:`Violated`."""
        world = self._world
        after = world.snapshot()
        if after is self._last and self._fed == len(world.history.completed):
            return
        before, self._last = self._last, after
        if after is not before and len(after.runs) <= MAX_RUNS_DRAWN and len(self._looks) < MAX_LOOKS:
            self._looks.append(Look(len(world.history.entries), world.clock.boot_id(), after))
        processes, homes = world.processes.used, world.has_homes
        if processes is not self._processes or homes is not self._homes:
            self._choose(processes, homes)
        announced, world.announced = world.announced, True  # all are shown what was looked at now
        try:
            self._feed(before, after)
        finally:
            world.announced = announced

    def _feed(self, before: Snapshot, after: Snapshot) -> None:
        """Tell the invariants what ended, and what is stored that was not."""
        invariants, audience = self.invariants, self._audience
        completed, of_verbs, of_kinds = self._world.history.completed, audience.of_verbs, audience.of_kinds
        while self._fed < len(completed):  # not only once: one who sees something may make an entry
            for entry in completed[self._fed :]:
                self._fed += 1
                kind = entry.kind
                hearers = of_verbs.get(entry.what) if kind == "verb" else of_kinds.get(kind)
                if hearers is None:
                    hearers = audience.hearers(entry)
                for place in hearers:
                    invariants[place].see(entry, before)
        if after is not before:
            for place in audience.comparers[after.runs != before.runs, after.events != before.events]:
                invariants[place].compare(before, after)

    def sweep(self, verb: str, before: Snapshot, after: Snapshot, rows: int | None) -> None:
        """Ask who is asked after this verb; see :meth:`Invariant.sweep`."""
        for place in self._audience.sweepers.get(verb, ()):
            self.invariants[place].sweep(before, after, rows)

    def settle(self) -> None:
        """Tell those who asked for it that the last step is done."""
        for place in self._audience.settlers:
            self.invariants[place].settle()

    def end(self) -> None:
        """Ask every invariant for the last time."""
        self.look()
        for place in self._audience.enders:
            self.invariants[place].end(self._last)

    def exercised(self) -> dict[str, int]:
        counted = self._audience.counts.copy()
        for invariant in self.invariants:
            if invariant.exercised:
                counted[invariant.id] += invariant.exercised
        return counted

    def was_exercised(self, kind: type[Invariant]) -> bool:
        """Whether an invariant of this kind, or another part of it, had occasion to fail."""
        return any(each.exercised for each in self.invariants if each.id == kind.id)
