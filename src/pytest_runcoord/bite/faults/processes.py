"""Faults of which processes are signalled, what is written down of it, and who is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_runcoord.bite.boundary import Asked, Boundary, FaultySession, every_run
from pytest_runcoord.bite.fault import BoundaryFault, fault
from pytest_runcoord.subject import Answer, RunSeen, Snapshot, SubjectWorld
from runcoord.errors import RuncoordError
from runcoord.ports import Likeness, Membership, PinnedProcess, Processes, ProcessIdentity, Scan

SWEEPING = frozenset({"recover", "startup"})
KILL = 9


@dataclass(frozen=True, slots=True)
class _Recorded:
    """A process that was recorded for a run, held since then."""

    run: str
    identity: ProcessIdentity
    pinned: PinnedProcess
    by: FaultySession
    cookie: str


class _KnowsProcesses(Boundary):
    """Knows which processes were recorded, and acts at the beginning of a sweep."""

    def __init__(self) -> None:
        super().__init__()
        self.recorded: list[_Recorded] = []

    def call(self, asked: Asked) -> Answer:
        if asked.verb in SWEEPING:
            for each in self.recorded:
                try:
                    self.at_sweep(each, _table(asked.session))
                except RuncoordError:
                    continue  # it cannot be looked at, or is gone
        answer = asked.go()
        if asked.verb == "record_process":
            self._remember(asked, answer.values.get("pid"))
        elif asked.verb == "launch":
            self._remember(asked, answer.values.get("leader"))
        return answer

    def at_sweep(self, recorded: _Recorded, table: Processes) -> None:
        """A sweep begins, by whom ``table`` is seen."""

    def _remember(self, asked: Asked, pid: Any) -> None:
        table, run = _table(asked.session), asked.run
        if run is None:
            return
        try:
            identity = table.identify(pid)
            held = table.open(identity)
        except RuncoordError:
            return
        cookie = str(asked.args.get("cookie") or str(asked.args.get("line", "")).rpartition(":")[2])
        self.recorded.append(_Recorded(run, identity, held, asked.session, cookie))


class _StrangerSignalled(_KnowsProcesses):
    """Whoever has a recorded pid now is killed."""

    def at_sweep(self, recorded: _Recorded, table: Processes) -> None:
        if recorded.pinned.ended():
            now = table.open(table.identify(recorded.identity.pid))
            self.meet()
            now.signal(KILL)


class _Unaudited(_KnowsProcesses):
    """A process of a dead owner is killed before anything is written down."""

    def at_sweep(self, recorded: _Recorded, table: Processes) -> None:
        if recorded.by in self.gone and not recorded.pinned.ended():
            found = table.open(recorded.identity)
            if found.look(recorded.identity).likeness is Likeness.SAME:
                self.meet()
                found.signal(KILL)

    def __init__(self) -> None:
        super().__init__()
        self.gone: list[FaultySession] = []

    def ended(self, session: FaultySession, crashed: bool) -> None:
        self.gone.append(session)


class _OthersSignalled(_KnowsProcesses):
    """What is meant for one run is sent to a process of another."""

    def at_sweep(self, recorded: _Recorded, table: Processes) -> None:
        for other in self.recorded:
            if other.run != recorded.run and recorded.cookie and not other.pinned.ended():
                seen = other.identity
                claimed = ProcessIdentity(seen.pid, seen.start, seen.habitat, seen.handle, recorded.cookie)
                found = table.open(claimed)
                self.meet()
                found.signal(KILL)
                return


class _OrphanLeft(Boundary):
    """A sweep signals nobody, and takes everybody for ended."""

    def __init__(self) -> None:
        super().__init__()
        self.sweeping = False
        self.spared: set[int] = set()

    def call(self, asked: Asked) -> Answer:
        self.sweeping = asked.verb in SWEEPING
        try:
            return asked.go()
        finally:
            self.sweeping = False

    def offers(self, session: FaultySession, world: SubjectWorld) -> SubjectWorld:
        if world.processes is not None:
            world.processes = _Deaf(world.processes, self)
        return world

    def spare(self, pid: int) -> bool:
        """Whether a signal to this process is not to be sent; then it counts as ended."""
        if not self.sweeping:
            return False
        self.meet()
        self.spared.add(pid)
        return True


class _Deaf:
    """A table of processes through which a sweep's signals do not pass."""

    def __init__(self, inner: Processes, fault: _OrphanLeft) -> None:
        self._inner, self._fault = inner, fault

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def open(self, identity: ProcessIdentity) -> PinnedProcess:
        return _DeafPinned(self._inner.open(identity), self._fault)

    def pin(self, members: Membership, pid: int) -> PinnedProcess | None:
        pinned = self._inner.pin(members, pid)
        return None if pinned is None else _DeafPinned(pinned, self._fault)

    def scan(self, members: Membership, seconds: float) -> Scan:
        seen, spared = self._inner.scan(members, seconds), self._fault.spared
        left = tuple(each for each in seen.members if each.identity.pid not in spared)
        return Scan(left, seen.spared, seen.unreadable, complete=seen.complete, problem=seen.problem)

    def signal_group(self, leader: PinnedProcess, number: int) -> None:
        if not self._fault.spare(leader.identity.pid):
            self._inner.signal_group(_real(leader), number)

    def wait(self, pinned: Sequence[PinnedProcess], seconds: float) -> None:
        left = [_real(each) for each in pinned if each.identity.pid not in self._fault.spared]
        self._inner.wait(left, seconds)


class _DeafPinned:
    def __init__(self, inner: PinnedProcess, fault: _OrphanLeft) -> None:
        self.inner, self._fault = inner, fault

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def signal(self, number: int) -> None:
        if not self._fault.spare(self.inner.identity.pid):
            self.inner.signal(number)

    def ended(self) -> bool:
        return self.inner.identity.pid in self._fault.spared or self.inner.ended()


def _real(pinned: PinnedProcess) -> PinnedProcess:
    return pinned.inner if isinstance(pinned, _DeafPinned) else pinned


class _SurvivorUnnamed(Boundary):
    """What could not be ended is not named."""

    def snapshot(self, seen: Snapshot) -> Snapshot:
        def unnamed(run: RunSeen) -> dict[str, Any]:
            if not (run.survivors or run.survivors_unnamed):
                return {}
            self.meet()
            return {"survivors": (), "survivors_unnamed": 0}

        return every_run(seen, unnamed)


class _SurvivorForgotten(Boundary):
    """What could not be ended is named as the run ends, and forgotten at the next sweep."""

    def __init__(self) -> None:
        super().__init__()
        self.named: set[str] = set()
        self.forgotten: set[str] = set()

    def call(self, asked: Asked) -> Answer:
        if asked.verb in SWEEPING:
            self.forgotten |= self.named
        return asked.go()

    def snapshot(self, seen: Snapshot) -> Snapshot:
        def forgotten(run: RunSeen) -> dict[str, Any]:
            if run.outcome is None or not (run.survivors or run.survivors_unnamed):
                return {}
            self.named.add(run.run_id)
            if run.run_id not in self.forgotten:
                return {}
            self.meet()
            return {"survivors": (), "survivors_unnamed": 0}

        return every_run(seen, forgotten)


class _OutcomeTooEarly(Boundary):
    """A run whose processes are still to be dealt with counts as ended."""

    def snapshot(self, seen: Snapshot) -> Snapshot:
        def early(run: RunSeen) -> dict[str, Any]:
            if run.cleanup != "pending" or run.state != "running":
                return {}
            self.meet()
            return {"state": "finished", "outcome": "interrupted", "lease": None, "cleanup": "done"}

        return every_run(seen, early)


class _ResultUnwritten(Boundary):
    """What came of a round of signals is never stored."""

    def snapshot(self, seen: Snapshot) -> Snapshot:
        def opened(run: RunSeen) -> dict[str, Any]:
            if not any(result for _, result in run.audits):
                return {}
            self.meet()
            return {"audits": tuple((intent, None) for intent, _ in run.audits)}

        return every_run(seen, opened)


def _table(session: FaultySession) -> Processes:
    table = session.world.processes
    assert table is not None
    return table


def _audited() -> Iterator[BoundaryFault]:
    yield fault(
        "signal-without-audit",
        "Recovery kills a process before it has written down that it will.",
        _Unaudited,
        needs="processes recovery ports",
        words="spawn crash recover signals",
        shows_in="spawn record_process supervise tear_down",
        caught_by="audit-before-signal",
    )
    yield fault(
        "audit-left-open",
        "What came of the signals that recovery sent is never written down.",
        _ResultUnwritten,
        needs="processes recovery ports",
        words="spawn crash recover cleanup",
        shows_in="spawn record_process supervise tear_down",
        caught_by="audit-before-signal",
    )


FAULTS: tuple[BoundaryFault, ...] = (
    fault(
        "stranger-signalled",
        "Recovery kills whoever has the pid of a process that has ended.",
        _StrangerSignalled,
        needs="processes recovery",
        words="spawn recycle_pid recover stranger signals",
        shows_in="spawn record_process supervise tear_down",
        caught_by="no-stranger-signalled",
        origin="R12",
    ),
    fault(
        "other-run-signalled",
        "Recovery of one run kills a process of another.",
        _OthersSignalled,
        needs="processes recovery",
        words="spawn recover stored_identity unreadable bystander",
        shows_in="spawn record_process supervise tear_down",
        caught_by="nothing-of-others",
    ),
    *_audited(),
    fault(
        "orphan-left",
        "Recovery signals nothing, and takes every process for ended.",
        _OrphanLeft,
        needs="processes recovery",
        words="spawn crash recover process",
        shows_in="spawn record_process supervise tear_down",
        caught_by="outcome-after-quiescence no-orphan-left",
    ),
    fault(
        "survivor-unnamed",
        "A process that could not be ended is not named.",
        _SurvivorUnnamed,
        needs="processes recovery",
        words="spawn crash recover deny_signal cleanup",
        shows_in="spawn record_process supervise tear_down",
        caught_by="no-orphan-left cleanup outcome-after-quiescence",
    ),
    fault(
        "survivor-forgotten",
        "A process that could not be ended is named as the run ends, and forgotten later.",
        _SurvivorForgotten,
        needs="processes recovery",
        words="spawn crash recover deny_signal cleanup",
        shows_in="spawn record_process supervise tear_down",
        caught_by="no-orphan-left cleanup",
    ),
    fault(
        "outcome-before-quiescence",
        "A run counts as ended while its processes are still to be dealt with.",
        _OutcomeTooEarly,
        needs="processes recovery",
        words="spawn crash recover cleanup",
        shows_in="spawn record_process supervise tear_down",
        caught_by="outcome-after-quiescence",
    ),
)
