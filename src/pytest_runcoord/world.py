"""The world of one scenario: clocks, owners, destinations, faults and the history of it all.

Time moves only when a scenario says so, or when production code waits. As it moves, the timers of every
live incarnation fire in the order in which they fall due.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from operator import attrgetter
from pathlib import Path
from typing import Any

from pytest_runcoord.arming import Arming
from pytest_runcoord.changes import READING, Changes
from pytest_runcoord.history import OF_THE_CALL, History
from pytest_runcoord.incarnation import (
    GONE,
    RUNNING,
    Arranged,
    Handle,
    Incarnation,
    Life,
    LocalProcess,
    Process,
)
from pytest_runcoord.moments import QUIET
from pytest_runcoord.post import Post
from pytest_runcoord.probed_ports import Crashed, NeverReturns
from pytest_runcoord.process_world import ProcessWorld
from pytest_runcoord.subject import Snapshot, Subject, SubjectWorld
from pytest_runcoord.surroundings import Surroundings
from pytest_runcoord.ticks import Ticks
from pytest_runcoord.timekeeper import Timed, Timekeeper
from pytest_runcoord.watched import Watched, no_steps
from pytest_runcoord.world_errors import (
    BoundReached,
    Denied,
    MomentMissed,
    ScenarioMistake,
    SubjectFault,
    classified,
)
from pytest_runcoord.world_plan import WorldPlan
from pytest_runcoord.world_ports import subject_world
from runcoord.errors import Happened, RuncoordError
from runcoord.ports import Counters
from runcoord.testing import ManualClock

_rows = attrgetter("rows_written")


class World(Surroundings, Watched):
    """Everything around the coordinators of one scenario."""

    def __init__(self, subject: Subject, directory: Path, plan: WorldPlan) -> None:
        self.subject = subject
        self.directory = directory
        self.plan = plan
        self.clock = ManualClock()
        self.instant = self.clock.now
        """What the clocks show now, as deadlines are read."""
        self.time = Timekeeper(self.clock, self._timers, self._fire)
        self.history = History(self.clock)
        self.processes = ProcessWorld(self)
        self.destinations = plan.destinations
        self.post = Post(self.history, self.time, plan.destinations)
        self.owners: dict[str, Incarnation] = {}
        self.incarnations: list[Incarnation] = []
        self.handles: dict[str, Handle] = {}
        self.latest: dict[tuple[str, str, str], str] = {}
        self.answers: dict[str, dict[str, Any]] = {}
        self.arming = Arming(self.history)
        self.faults: list[Arranged] = []
        self.moments: defaultdict[str, int] = defaultdict(int)
        self.shared: dict[str, Any] = {}
        self._onlooker: SubjectWorld | None = None
        self._counters: dict[int, Counters] = {}
        """What counts the work of an incarnation, each object once: openers may share one."""
        self._uncounted = False
        self.changed = True
        self.announced = getattr(subject, "announces_writes", "ports" in subject.capabilities)
        """Every write is seen at a port."""
        self.ticks = Ticks(self)
        self.changes = Changes(self.history, self.time, self._recall, self._look_again)
        self.given_out: set[str] | None = None
        """Runs that were given, after the faults stopped, to one who claimed until nothing was left."""
        self.step_began = 0.0
        self.step_rows: int | None = 0
        self.observers = []
        self.unobserved = False
        self.new_ids: list[str] = []
        self.new_cookie = ""
        """The cookie of the run that is about to begin."""
        self.process_of: Callable[[World, Incarnation], Process] = _local_process
        self.cleanups: list[Callable[[], None]] = []
        self.has_homes = False
        self.real = False
        """Incarnations are processes: a crash kills at once, also in the middle of a call."""
        self.sweep_watchers = []
        self.run_step = self.check = no_steps
        self._calls: list[Incarnation] = []
        self._ids = 0
        self.seen = Snapshot({}, {})  # at the last look
        self._starts: dict[str, int] = {}

    # --- owners ---

    def open(self, owner: str) -> Incarnation:
        """Start an incarnation of ``owner``."""
        current = self.owners.get(owner)
        if current is not None and current.life in RUNNING:
            raise ScenarioMistake(f"{owner} is open already", f"Crash or close it first, or restart {owner}.")
        number = self._starts.get(owner, 0) + 1
        self._starts[owner] = number
        incarnation = Incarnation(owner, number)
        known = self.changes.known() if self.incarnations else None
        entry = self.history.begin("world", owner, "open", start=number)
        try:
            incarnation.process = self.process_of(self, incarnation)
        except Exception as error:
            self.history.end(entry, "failed")
            raise classified(self.subject, "open", error) from error
        self.owners[owner] = incarnation
        self.incarnations.append(incarnation)
        counters = incarnation.process.counters()
        if counters is None:
            self._uncounted = True
        else:
            self._counters[id(counters)] = counters
        self.changes.note(entry, known, unannounced=True)
        self.history.end(entry, "ok")
        return incarnation

    def owner(self, name: str) -> Incarnation:
        """The incarnation of ``name`` that runs now."""
        incarnation = self.owners.get(name)
        if incarnation is None:
            raise ScenarioMistake(f"{name} was never opened", f"Write 'open: {name}' above this step.")
        if incarnation.life is not Life.ALIVE:
            raise ScenarioMistake(f"{name} is {incarnation.life.value}", incarnation.how_it_goes_on())
        return incarnation

    def crash(self, owner: str) -> None:
        """The process of ``owner`` dies now; nothing of it runs any more, not even clean-up."""
        incarnation = self.owners.get(owner)
        if incarnation is None or incarnation.life in GONE:
            raise ScenarioMistake(f"{owner} does not run")
        self.history.add("world", owner, "crash")
        incarnation.life = Life.CRASHED
        self.processes.died(incarnation)
        if self.real or not self._in_call(incarnation):
            self.bury(incarnation)

    def bury(self, incarnation: Incarnation) -> None:
        """Let go of what a dead incarnation held in this process; nothing is written."""
        if incarnation.process is not None:
            incarnation.process.kill()

    def close_owner(self, owner: str) -> None:
        incarnation = self.owner(owner)
        known = self.changes.known()
        entry = self.history.begin("world", owner, "close")
        assert incarnation.process is not None
        try:
            incarnation.heard(incarnation.process.close)
        except Crashed:
            self.history.end(entry, "crashed")
            raise
        incarnation.life = Life.CLOSED
        self.processes.died(incarnation)
        self.changes.note(entry, known, unannounced=True)
        self.history.end(entry, "ok")

    def end(self) -> None:
        """The scenario is over: let go of everything."""
        self.time.release_hanging()
        with ExitStack() as last:  # each of these is done, whatever another one raises; the last one first
            last.callback(self.subject.finish, self._onlooker or subject_world(self, None))
            for cleanup in self.cleanups:
                last.callback(cleanup)
            last.callback(self.processes.end)
            for incarnation in reversed(self.incarnations):
                if incarnation.life in RUNNING and incarnation.process is not None:
                    incarnation.life = Life.CLOSED
                    last.callback(incarnation.process.kill)

    # --- verbs ---

    def call(
        self,
        incarnation: Incarnation,
        verb: str,
        args: Mapping[str, Any],
        *,
        given: str = "",
        keep: str = "",
        **said: Any,
    ) -> dict[str, Any]:
        """Ask an incarnation for a verb and record what came of it. ``said`` goes into the history."""
        process = incarnation.process
        assert process is not None
        known = self.changes.known()
        told = {"start": incarnation.number, **said}
        entry = self.history.enter("verb", incarnation.owner, verb, "", told)
        status = "failed"
        self._calls.append(incarnation)
        try:
            values = incarnation.heard(lambda: process.call(verb, args, given, keep))
        except Crashed:
            status = "crashed"
            raise
        except NeverReturns:
            status = "unknown"
            raise
        except Exception as error:
            denied = classified(self.subject, verb, error)
            if isinstance(denied, Denied):
                status = "refused" if denied.happened is Happened.NO else "unknown"
                entry.data["code"] = denied.code
                details = error.details if isinstance(error, RuncoordError) else {}
                self.answers[verb] = {**details, "refused": denied.code, "happened": denied.happened.value}
                if status == "refused":
                    self.changes.note(entry, known)
            raise denied from error
        else:
            status = "ok"
            if OF_THE_CALL.isdisjoint(values):  # as a rule: a sweep answers two dozen of them
                told.update(values)
            else:
                told.update({name: each for name, each in values.items() if name not in OF_THE_CALL})
            if verb in READING:
                self.changes.note(entry, known, unannounced=True)
        finally:
            if self.has_homes and len(self._calls) == 1:  # else somebody else may have something open
                self.homes.after(verb)
            self.history.end(entry, status)
            self._calls.pop()
            if incarnation.life is Life.CRASHED and not self._in_call(incarnation):
                self.bury(incarnation)
        return values

    @property
    def busy(self) -> bool:
        """Whether somebody is in the middle of a call, or of what a timer does."""
        return bool(self._calls)

    def _in_call(self, incarnation: Incarnation) -> bool:
        return any(other is incarnation for other in self._calls)

    def sweep(
        self, incarnation: Incarnation, verb: str, args: Mapping[str, Any] | None = None, **said: Any
    ) -> dict[str, Any]:
        """Ask for a sweep, and show its watchers what it wrote, if nobody else did anything meanwhile."""
        self.observe()
        version = self.homes.version if self.has_homes else 0
        before, rows, ended = self.snapshot(), self.rows_written(), len(self.history.completed)
        background = self.time.background
        values = self.call(incarnation, verb, args or {}, **said)
        after, rows_after = self.snapshot(), self.rows_written()
        alone = background == self.time.background and all(
            entry.kind in ("moment", "message", "signal") and entry.actor == incarnation.owner
            for entry in self.history.completed[ended:-1]
        )
        if alone:
            self.observe()  # what the sweep did to whom comes before what it cost
            wrote = None if rows is None or rows_after is None else rows_after - rows
            for watcher in self.sweep_watchers:
                watcher(verb, before, after, wrote)
        if self.has_homes:
            self.homes.swept(incarnation.owner, verb, args, version)
        return values

    def provably_dead(self, owner_id: str, by: str) -> bool:
        """Whether one incarnation has ended, and another one could see that: it is on the same machine."""
        known = {each.owner_id: each for each in self.incarnations}
        dead, prover = known.get(owner_id), known.get(by)
        if dead is None or prover is None or dead.life not in GONE:
            return False
        return self.processes.within_sight(dead, prover)

    # --- time ---

    def _timers(self) -> Iterator[Timed]:
        for incarnation in self.incarnations:
            if incarnation.life is Life.ALIVE and incarnation.process is not None:
                for name, timer in incarnation.process.timers():
                    if name not in incarnation.stalled:
                        yield Timed(incarnation, name, timer)

    def _fire(self, timed: Timed) -> None:
        incarnation, before = timed.incarnation, self.ticks.before()
        self._calls.append(incarnation)
        try:
            incarnation.heard(timed.timer.tick)
        except Crashed:
            pass
        except SubjectFault:
            raise
        except Exception as error:
            raise SubjectFault(f"the timer {timed.name!r} of {incarnation.owner}", error) from error
        finally:
            self._calls.pop()
            if incarnation.life is Life.CRASHED and not self._in_call(incarnation):
                self.bury(incarnation)
        self.ticks.after(timed, before)

    # --- what ports ask and tell ---

    def reach(self, incarnation: Incarnation, moment: str, data: Mapping[str, object]) -> None:
        """A port of ``incarnation`` reached a named moment (or, with no name, was only used)."""
        if incarnation.life in GONE:
            raise Crashed(incarnation.owner_id)
        if not moment:
            return
        self.moments[moment] += 1
        if moment[:6] == "after-":
            if moment == "after-commit":
                self.changed = True
            elif moment not in QUIET:
                self.history.record("moment", incarnation.owner, moment, "", dict(data))
        if self.arming.armed:
            self.arming.reach(incarnation, moment)
            if incarnation.life in GONE:
                raise Crashed(incarnation.owner_id)

    def fault(self, incarnation: Incarnation, verb: str) -> str | None:
        for fault in incarnation.faults:
            if fault.meets(verb):
                fault.meet()
                self.history.add("world", incarnation.owner, f"fault {fault.kind}", on=verb)
                return fault.kind
        return None

    def new_id(self, prefix: str) -> str:
        """The next id: one that the scenario named, or a counted one."""
        if prefix == "run" and self.new_ids:
            return self.new_ids.pop(0)
        if prefix == "cookie" and self.new_cookie:
            return f"cookie-{self.new_cookie}"
        self._ids += 1
        return f"{prefix}-{self._ids}"

    # --- observing ---

    def snapshot(self) -> Snapshot:
        """What is durable now. A subject that writes past the ports is looked at every time."""
        if self.changed or not self.announced:
            self.shared["rows_written"] = self.rows_written()
            if self._onlooker is None:
                self._onlooker = subject_world(self, None)
            self.seen = self.subject.snapshot(self._onlooker)
            self.changed = False
        return self.seen

    def look_away(self) -> None:
        """Let go of the store; the next snapshot opens it again."""
        self.subject.finish(self._onlooker or subject_world(self, None))
        self.changed = True

    def _recall(self) -> Snapshot | None:
        if self.announced:
            return None if self.changed else self.seen
        return None if self.unobserved else self.snapshot()  # in a crowd a look costs too much

    def _look_again(self, unannounced: bool) -> Snapshot:
        self.changed = self.changed or unannounced
        return self.snapshot()

    def rows_written(self) -> int | None:
        """Rows written by all incarnations so far; ``None`` when the subject does not count."""
        if self._uncounted:
            return None
        total: int = sum(map(_rows, self._counters.values()))
        return total


def _local_process(world: World, incarnation: Incarnation) -> Process:
    return LocalProcess(world.subject.open(incarnation.owner_id, subject_world(world, incarnation)))


__all__ = [
    "BoundReached",
    "Crashed",
    "Denied",
    "MomentMissed",
    "NeverReturns",
    "ScenarioMistake",
    "SubjectFault",
    "World",
    "WorldPlan",
]
