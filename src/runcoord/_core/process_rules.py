"""The rules of a run whose processes are recorded; the table is in :mod:`runcoord._core.decide`.

A finished run keeps its owner and epoch while recovery deals with what it left running, so that its owner
still gets the same answer to the same completion; the number of the attempt fences there. A run under way is
acquired, under a new epoch, by each attempt.
"""

from __future__ import annotations

from collections.abc import Callable

from runcoord._core import requests as ask
from runcoord._core.cleanup import settled, torn_down
from runcoord._core.decision import Decision
from runcoord._core.ending import left_behind, require_not_stopped
from runcoord._core.evolving import evolved
from runcoord._core.holding import already_finished, lease_lost, require_holder
from runcoord._core.identity import ProcessIdentity, is_pid
from runcoord._core.limits import (
    MAX_MACHINE_VALUE_CHARACTERS,
    MAX_PATH_CHARACTERS,
    MAX_PAYLOAD_BYTES,
    MAX_RECORDED_PROCESSES,
)
from runcoord._core.model import Cleanup, CleanupState, Deadline, Instant, Run, State
from runcoord._core.records import Audit, Identity, RecordedProcess, Snapshot, Takeover, Terms
from runcoord.errors import InvalidRequest, LeaseLost

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import Any

# --- by the owner --------------------------------------------------------------------------------


def _record(run: Run, request: ask.RecordProcesses, now: Instant) -> Decision:
    require_holder(run, request.lease, now)
    before = run.cleanup or Cleanup()
    count = len(request.processes)
    if not 0 < count <= MAX_RECORDED_PROCESSES - before.processes:
        raise InvalidRequest(
            f"{count} processes cannot be recorded for run {run.run_id!r}, which has {before.processes}",
            remedy=f"Record 1 to {MAX_RECORDED_PROCESSES} processes a run; the others are found from those.",
            run=run.run_id,
            asked=count,
            limit=MAX_RECORDED_PROCESSES,
        )
    _require_terms(request.terms)
    for each in request.processes:
        require_recordable(each.identity)
    snapshots = of_run(run, request.snapshot)
    records = tuple(
        RecordedProcess(
            run.run_id, number, each.role, run.epoch, each.identity, request.terms, recorded_at=now.wall
        )
        for number, each in enumerate(request.processes, before.processes + 1)
    )
    after = evolved(
        run,
        state=State.RUNNING,
        version=run.version + 1,
        started_at=now.wall if run.started_at is None else run.started_at,
        cleanup=evolved(
            before,
            state=CleanupState.PENDING,
            processes=before.processes + count,
            survivors=(),
            unnamed=0,
        ),
    )
    return Decision(after, True, records=(*records, *snapshots))


def require_recordable(identity: Identity) -> None:
    """Refuse an identity that could come to mean a group, init, or nothing that the kernel knows."""
    pid: object = identity.pid
    if not is_pid(pid) and not (pid is None and not isinstance(identity, ProcessIdentity)):
        raise InvalidRequest(
            f"{pid!r:.80} is no pid of a process of a run",
            remedy="Record the pid of a process that you started: a whole number from 2 to the largest pid.",
            pid=f"{pid!r:.80}",
        )
    if not isinstance(identity, ProcessIdentity):
        return
    start: object = identity.start
    if not isinstance(start, int) or isinstance(start, bool) or not 0 <= start < 2**63:
        raise InvalidRequest(
            f"{start!r:.80} is no start value", remedy="Record 0 where it could not be read.", pid=pid
        )
    where = identity.habitat
    for text in (
        *(where.host, where.boot_id, where.pid_namespace, where.time_namespace, where.source),
        *(identity.handle, identity.cookie),
    ):
        _require_text("a field of a process's identity", text, MAX_MACHINE_VALUE_CHARACTERS)


def _require_terms(terms: Terms) -> None:
    _require_text("the name of the file for last words", terms.last_words, MAX_PATH_CHARACTERS)
    _require_text("the marker of what is handed over", terms.handed_over, MAX_MACHINE_VALUE_CHARACTERS)


def _require_text(what: str, value: object, most: int) -> None:
    good = isinstance(value, str) and len(value) <= most
    if good:
        try:
            str(value).encode()
        except UnicodeEncodeError:
            good = False
    if not good:
        raise InvalidRequest(
            f"{what} is {value!r:.80}", remedy=f"Pass text of at most {most} characters.", limit=most
        )


def _record_snapshot(run: Run, request: ask.RecordSnapshot, now: Instant) -> Decision:
    require_holder(run, request.lease, now, expired_is_fine=True)
    return Decision(evolved(run, version=run.version + 1), True, records=of_run(run, request.snapshot))


def of_run(run: Run, snapshot: Snapshot | None) -> tuple[Snapshot, ...]:
    """The row to write, checked; none for no snapshot."""
    if snapshot is None:
        return ()
    if snapshot.run_id != run.run_id:
        raise InvalidRequest(
            f"the git snapshot of run {snapshot.run_id!r} was given for run {run.run_id!r}",
            remedy="Give the run its own.",
            run=run.run_id,
        )
    _require_text("the directory of a git snapshot", snapshot.directory, MAX_PATH_CHARACTERS)
    _require_text("the report on a git snapshot", snapshot.report, MAX_PAYLOAD_BYTES)
    return (snapshot,)


def _record_teardown(run: Run, request: ask.RecordTeardown, now: Instant) -> Decision:
    lease = request.lease
    if (run.owner, run.epoch) != (lease.owner, lease.epoch) or run.state is State.ACCEPTED:
        raise lease_lost(run, lease)
    before = run.cleanup or Cleanup()
    after = settled(before, request.report)
    if run.cleanup is not None and run.cleanup.state is not CleanupState.PENDING:
        if _verdict(before) == _verdict(after):
            return Decision(run, False)
        if run.state is State.FINISHED:
            raise already_finished(run)
    if run.state is State.FINISHED and run.cleanup is None:
        raise already_finished(run)
    written = evolved(run, version=run.version + 1, cleanup=after)
    return Decision(written, True, records=(torn_down(run.run_id, after, request.report, now),))


def _verdict(cleanup: Cleanup) -> object:
    return cleanup.state, cleanup.survivors, cleanup.unnamed


# --- by recovery ---------------------------------------------------------------------------------


def _take_over(run: Run, request: ask.TakeOver, now: Instant) -> Decision:
    cleanup = run.cleanup
    if cleanup is None or not may_take_over(run, request.proof, now):
        return Decision(run, False)
    until = Deadline.after(now, request.seconds)
    tried = evolved(cleanup, attempts=cleanup.attempts + 1, deferred=False)
    if run.state is State.FINISHED:
        return Decision(evolved(run, version=run.version + 1, cleanup=evolved(tried, due=until)), True)
    after = evolved(
        run,
        version=run.version + 1,
        epoch=run.epoch + 1,
        owner=request.owner,
        lease=until,
        lease_seconds=request.seconds,
        cleanup=tried,
    )
    return Decision(after, True)


def may_take_over(run: Run, proof: str, now: Instant) -> bool:
    """Whether recovery may deal with the run's processes now.

    Proof of the owner's death counts as the end of its lease, but not of a deferral: the owner is then a
    sweep, which ended long before. A finished run keeps its owner, whose death says nothing of the sweep that
    took it over since.
    """
    cleanup = run.cleanup
    if cleanup is None:
        return False
    until = cleanup.due if run.state is State.FINISHED else run.lease
    if until is None or run.state not in (State.RUNNING, State.FINISHED):
        return False
    taken = cleanup.deferred or (run.state is State.FINISHED and cleanup.attempts > 0)
    dead = bool(proof) and run.owner == proof and not taken
    # The lease of a run under way that is implausible is cut, by the rule for all leases.
    set_back = run.state is State.FINISHED and until.implausible(now)
    return dead or set_back or until.passed(now)


def takeover_of(run: Run) -> Takeover:
    """What a decision that took the run over gives to who made it."""
    cleanup = run.cleanup
    until = run.lease if run.state is not State.FINISHED else (cleanup.due if cleanup else None)
    if cleanup is None or until is None:
        raise ValueError(f"run {run.run_id!r} is not taken over")
    return Takeover(run.run_id, run.owner, run.epoch, cleanup.attempts, until)


def _require_takeover(run: Run, takeover: Takeover) -> Cleanup:
    """Refuse unless nobody took the run over since, and it is not dealt with."""
    cleanup = run.cleanup
    held = (run.owner, run.epoch, cleanup.attempts if cleanup else 0)
    over = cleanup is None or (run.state is State.FINISHED and cleanup.due is None)
    if cleanup is None or over or held != (takeover.owner, takeover.epoch, takeover.attempt):
        raise LeaseLost(
            f"attempt {takeover.attempt} to clean up after run {run.run_id!r} is no longer the newest",
            remedy="Leave its processes alone; somebody else deals with them, or they are dealt with.",
            run=run.run_id,
            owner=run.owner,
            epoch=run.epoch,
            lease_epoch=takeover.epoch,
            attempt=takeover.attempt,
        )
    return cleanup


def _intend(run: Run, request: ask.Intend, now: Instant) -> Decision:
    cleanup = _require_takeover(run, request.takeover)
    after = evolved(cleanup, rounds=cleanup.rounds + 1)
    audit = Audit(run.run_id, after.rounds, request.intent, now.wall)
    return Decision(evolved(run, version=run.version + 1, cleanup=after), True, records=(audit,))


def _defer(run: Run, request: ask.Defer, now: Instant) -> Decision:
    cleanup = _require_takeover(run, request.takeover)
    until, later = Deadline.after(now, request.seconds), evolved(cleanup, deferred=True)
    if run.state is State.FINISHED:
        return Decision(evolved(run, version=run.version + 1, cleanup=evolved(later, due=until)), True)
    return Decision(evolved(run, version=run.version + 1, lease=until, cleanup=later), True)


def _end_cleaned(run: Run, request: ask.EndCleaned, now: Instant) -> Decision:
    cleanup = _require_takeover(run, request.takeover)
    after = settled(evolved(cleanup, deferred=False), request.report)
    records = (torn_down(run.run_id, after, request.report, now),)
    if run.state is State.FINISHED:
        return Decision(evolved(run, version=run.version + 1, cleanup=after), True, records=records)
    if request.unless_stopped:
        require_not_stopped(run)
    ended = left_behind(run, now, request.retry_id, exit_status=request.exit_status, cleanup=after)
    return ended.recording(*records)


RULES: dict[type, Callable[[Run, Any, Instant], Decision]] = {
    ask.RecordProcesses: _record,
    ask.RecordTeardown: _record_teardown,
    ask.RecordSnapshot: _record_snapshot,
    ask.TakeOver: _take_over,
    ask.Intend: _intend,
    ask.Defer: _defer,
    ask.EndCleaned: _end_cleaned,
}
