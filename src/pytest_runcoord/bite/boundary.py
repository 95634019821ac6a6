"""The boundary between the harness and a subject: everything passes here, so here faults are put in.

:class:`FaultySubject` is a subject around another one. What passes goes through its :class:`Boundary`: verbs
with their answers and refusals, snapshots, messages to destinations, the ports of an incarnation. A boundary
lets everything through as it is; a fault overrides the one method that it changes, and counts with
:meth:`Boundary.meet` how often it had occasion to.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pytest_runcoord.probed_ports import Probe
from pytest_runcoord.subject import Answer, RunSeen, Session, Snapshot, Subject, SubjectWorld, Timer
from pytest_runcoord.world import World
from runcoord.ports import Counters, Message


@dataclass(frozen=True, slots=True)
class StandIn:
    """The handle of what a fault granted and the subject did not: verbs with it succeed, and do nothing."""

    run: str
    epoch: int


@dataclass(slots=True)
class Asked:
    """One verb that is asked of a session. ``handle`` is what it is asked with, if with anything."""

    session: FaultySession
    verb: str
    args: dict[str, Any]
    handle: Any
    method: Callable[..., Answer]

    def go(self, **changed: Any) -> Answer:
        """Ask the subject, with some arguments other than those that were said."""
        args = {**self.args, **changed}
        if isinstance(self.handle, StandIn):
            return Answer({"run": self.handle.run, "epoch": self.handle.epoch})
        return self.method(**args) if self.handle is None else self.method(self.handle, **args)

    @property
    def known(self) -> dict[str, Any]:
        """What was said when the handle was given."""
        return self.session.known(self.handle)

    @property
    def run(self) -> str | None:
        """The run that this is about, where that is said."""
        found = self.args.get("run") or self.known.get("run")
        return found if isinstance(found, str) else None

    @property
    def epoch(self) -> int:
        """The epoch of the handle; 0 where it has none."""
        found = self.known.get("epoch")
        return found if isinstance(found, int) else 0


class Boundary:
    """What lies between the harness and the subject for one variant. Everything passes."""

    subject: Subject
    """The one behind; set before anything passes."""

    def __init__(self) -> None:
        self.met = 0
        """How often the fault had occasion to change something, and did."""
        self.sessions: list[FaultySession] = []

    def meet(self) -> None:
        self.met += 1

    def call(self, asked: Asked) -> Answer:
        """A verb passes. Raises what the subject raises."""
        return asked.go()

    def snapshot(self, seen: Snapshot) -> Snapshot:
        """What is durable passes."""
        return seen

    def send(self, session: FaultySession, message: Message, offer: Callable[[Message], None]) -> None:
        """A message to a destination passes. Raises what the destination raises."""
        offer(message)

    def offers(self, session: FaultySession, world: SubjectWorld) -> SubjectWorld:
        """What the world offers to an incarnation passes; ``world`` is a copy that may be changed."""
        return world

    def opened(self, session: FaultySession) -> None:
        """An incarnation was opened."""

    def ended(self, session: FaultySession, crashed: bool) -> None:
        """An incarnation was closed, or has crashed."""

    # --- for faults ---

    def refusal(self, error: BaseException) -> str | None:
        """The harness's name of a refusal."""
        return self.subject.refusal(error)

    def look(self, session: FaultySession) -> Snapshot:
        """What is durable in truth."""
        return self.subject.snapshot(session.world)


class FaultySubject:
    """See the module."""

    def __init__(self, inner: Subject, boundary: Boundary) -> None:
        self._inner, self.boundary = inner, boundary
        boundary.subject = inner
        self.name, self.capabilities = inner.name, inner.capabilities
        self._counting: dict[int, CountedBesides] = {}
        self._world: World | None = None
        self._seen = self._shown = Snapshot({}, {})
        """What was durable when it was looked at last, and what of that was shown."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @property
    def met(self) -> int:
        """How often the fault had occasion to show itself."""
        return self.boundary.met

    def attach(self, world: World) -> None:
        """The world in which it runs, which is to look again whenever the fault may have lied."""
        self._world = world

    def touch(self) -> None:
        """What is durable may look otherwise now, though no port has said so."""
        if self._world is None or type(self.boundary).snapshot is Boundary.snapshot or self._world.changed:
            return
        met = self.boundary.met
        shows, shown = self.boundary.snapshot(self._seen), self._shown
        self.boundary.met = met  # nobody has seen this yet
        self._world.changed = (shows.runs, shows.events) != (shown.runs, shown.events)

    def open(self, owner: str, world: SubjectWorld) -> FaultySession:
        session = FaultySession(self, owner, world)
        offered = copy.copy(world)
        offered.probe = FaultyProbe(session)
        session.inner = self._inner.open(owner, self.boundary.offers(session, offered))
        self.boundary.sessions.append(session)
        self.boundary.opened(session)
        return session

    def refusal(self, error: BaseException) -> str | None:
        return self._inner.refusal(error)

    def snapshot(self, world: SubjectWorld) -> Snapshot:
        self._seen = self._inner.snapshot(world)
        self._shown = self.boundary.snapshot(self._seen)
        return self._shown

    def finish(self, world: SubjectWorld) -> None:
        self._inner.finish(world)

    def counting(self, counters: Counters) -> CountedBesides:
        """The counters of a session; always the same object for the same ones."""
        return self._counting.setdefault(id(counters), CountedBesides(counters))


NO_VERBS = frozenset({"pause", "resume", "start_up"})
"""What a session may have besides its verbs and what every session has."""


class FaultySession:
    """A session behind the boundary. Whatever it has that can be called, besides what every session has, is
    a verb."""

    inner: Session

    def __init__(self, subject: FaultySubject, owner: str, world: SubjectWorld) -> None:
        self.subject, self.owner, self.world = subject, owner, world
        self._given: dict[int, tuple[Any, dict[str, Any]]] = {}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if name in NO_VERBS or name.startswith("_") or not callable(found):
            return found

        def verb(*handles: Any, **args: Any) -> Answer:
            return self._ask(Asked(self, name, args, handles[0] if handles else None, found))

        return verb

    def _ask(self, asked: Asked) -> Answer:
        try:
            answer = self.subject.boundary.call(asked)
        finally:
            self.subject.touch()
        if answer.handle is not None:
            self._given[id(answer.handle)] = answer.handle, {**asked.known, **answer.values}
        return answer

    def known(self, handle: Any) -> dict[str, Any]:
        """What was said when a handle was given."""
        if isinstance(handle, StandIn):
            return {"run": handle.run, "epoch": handle.epoch}
        return self._given[id(handle)][1] if id(handle) in self._given else {}

    def close(self) -> None:
        self.inner.close()
        self.subject.boundary.ended(self, crashed=False)

    def abandon(self) -> None:
        self.inner.abandon()
        self.subject.boundary.ended(self, crashed=True)

    def timers(self) -> list[tuple[str, Timer]]:
        return self.inner.timers()

    def counters(self) -> Counters | None:
        counters = self.inner.counters()
        return None if counters is None else self.subject.counting(counters)  # type: ignore[return-value]

    def write_rows(self, count: int) -> bool:
        """Have it count so many rows more; false where it does not count any."""
        counters = self.inner.counters()
        if counters is not None:
            self.subject.counting(counters).besides += count
        return counters is not None


class FaultyProbe:
    """The probe of an incarnation; messages to destinations pass the boundary."""

    def __init__(self, session: FaultySession) -> None:
        probe: Probe = session.world.probe
        self._session, self._probe = session, probe
        self.reach, self.fault, self.hang = probe.reach, probe.fault, probe.hang

    def __getattr__(self, name: str) -> Any:
        return getattr(self._probe, name)

    def send(self, message: Message) -> None:
        self._session.subject.boundary.send(self._session, message, self._probe.send)


class CountedBesides:
    """Counters of a store, and rows that a fault has written besides."""

    def __init__(self, inner: Counters) -> None:
        self._inner, self.besides = inner, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @property
    def rows_written(self) -> int:
        return self._inner.rows_written + self.besides


def with_runs(seen: Snapshot, changed: dict[str, dict[str, Any]]) -> Snapshot:
    """A snapshot in which some fields of some runs are others; runs that are not there are passed over."""
    runs = dict(seen.runs)
    for run_id, fields in changed.items():
        if run_id in runs:
            runs[run_id] = replace(runs[run_id], **fields)
    return replace(seen, runs=runs)


def every_run(seen: Snapshot, change: Callable[[RunSeen], dict[str, Any]]) -> Snapshot:
    """A snapshot in which every run has the fields that ``change`` gives; the same if it gives none."""
    changed = {run_id: fields for run_id, run in seen.runs.items() if (fields := change(run))}
    return with_runs(seen, changed) if changed else seen
