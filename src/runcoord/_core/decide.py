"""The rules of a run, in one place: what each request does in each state.

    request      accepted      claimed                    running                    finished
    ---------    ----------    -----------------------    -----------------------    ----------------
    claim        grant         grant if own or expired,   AlreadyStarted, or         AlreadyFinished
                               else LeaseHeld             LeaseHeld while live
    start        LeaseLost     the holder: running        the holder: same answer    AlreadyFinished
    renew        LeaseLost     the holder, unexpired      the holder, unexpired      AlreadyFinished
    reacquire    LeaseLost     the last holder            the last holder            AlreadyFinished
    release      LeaseLost     the holder: accepted       AlreadyStarted             AlreadyFinished
    progress     LeaseLost     NotStarted                 the holder, unexpired      AlreadyFinished
    publish      LeaseLost     NotStarted                 the holder, unexpired      AlreadyFinished
    complete     LeaseLost     the holder, failed only    the last holder            same answer to the
                                                                                     same completion
    stop         stopped       stopped                    noted; wins at the end     the outcome
    recover      no change     accepted on proof that     finished if expired, or    no change
                               its owner is dead          on that proof

    A lease of another boot that lies further ahead than any lease can (a clock was set) is cut to the
    longest one by ``recover``, claimed or running: nobody is believed for a day.

    Of runs whose processes were recorded (see :mod:`runcoord._core.process_rules`):

    request      accepted      claimed                    running                    finished
    ---------    ----------    -----------------------    -----------------------    ----------------
    record       LeaseLost     the holder, unexpired:     the holder, unexpired      AlreadyFinished
                               running
    torn down    LeaseLost     the last holder            the last holder            the last holder, while
                                                                                     it is pending
    recover      no change     no change                  no change: taken over      no change
    take over    no change     no change                  if expired, or on proof    while pending and due,
                                                          that its owner is dead     or on that proof
    intend,      LeaseLost     LeaseLost                  whoever took it over       whoever made the
    defer, end                                            last; ``end`` finishes     newest attempt

A lease names its epoch. Every acquisition (claim, reacquire, recover) raises the epoch by one, and it
never falls and is never cleared; a request with an older epoch is refused. ``decide`` takes values and
gives values: the caller supplies the time, and saves what comes back.
"""

from __future__ import annotations

from collections.abc import Callable

from runcoord._core import process_rules
from runcoord._core import requests as ask
from runcoord._core.cleanup import settled, torn_down
from runcoord._core.decision import Decision
from runcoord._core.ending import (
    INTERRUPTED_ERROR,
    bounded_error,
    left_behind,
    require_not_stopped,
    retry_of,
)
from runcoord._core.ending import finished as _finished
from runcoord._core.events import finished_event, note_event
from runcoord._core.evolving import evolved
from runcoord._core.holding import already_finished as _already_finished
from runcoord._core.holding import lease_held as _lease_held
from runcoord._core.holding import lease_lost as _lease_lost
from runcoord._core.holding import require_holder as _require_holder
from runcoord._core.holding import require_lease_seconds
from runcoord._core.limits import DELIVERY_CLAIM_SECONDS, MAX_LEASE_SECONDS, MAX_RESULT_CHARACTERS
from runcoord._core.model import Cleanup, Deadline, Instant, Lease, Outcome, Run, State
from runcoord._core.records import Record
from runcoord._core.texts import storable
from runcoord.errors import AlreadyStarted, NotStarted

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import Any

_NO_RECORDS: tuple[Record, ...] = ()
__all__ = ["INTERRUPTED_ERROR", "Decision", "decide", "require_lease_seconds", "retry_of"]


def decide(run: Run, request: ask.Request, now: Instant) -> Decision:
    """Answer one request. Raises a :class:`~runcoord.errors.Refused`, and then nothing has changed."""
    return _RULES[type(request)](run, request, now)


# --- acquiring -----------------------------------------------------------------------------------


def _claim(run: Run, request: ask.Claim, now: Instant) -> Decision:
    if run.state is State.FINISHED:
        raise _already_finished(run)
    live = run.lease is not None and not run.lease.passed(now)
    if live and run.owner != request.owner:
        raise _lease_held(run, now)
    if run.state is State.RUNNING:
        raise AlreadyStarted(
            f"run {run.run_id!r} was started by {run.owner!r} and is not handed out again",
            remedy="Recovery ends it once its lease has run out; retry it then.",
            run=run.run_id,
            owner=run.owner,
        )
    return Decision(_acquired(run, request.owner, request.seconds, now, State.CLAIMED), True)


def _reacquire(run: Run, request: ask.Reacquire, now: Instant) -> Decision:
    _require_holder(run, request.lease, now, expired_is_fine=True)
    return Decision(_acquired(run, run.owner, run.lease_seconds, now, run.state), True)


def _acquired(run: Run, owner: str, seconds: float, now: Instant, state: State) -> Run:
    return evolved(
        run,
        state=state,
        version=run.version + 1,
        epoch=run.epoch + 1,
        owner=owner,
        lease=Deadline.after(now, seconds),
        lease_seconds=seconds,
    )


# --- holding -------------------------------------------------------------------------------------


def _start(run: Run, request: ask.Start, now: Instant) -> Decision:
    _require_holder(run, request.lease, now)
    if run.state is State.RUNNING:
        return Decision(run, False)
    return Decision(evolved(run, state=State.RUNNING, version=run.version + 1, started_at=now.wall), True)


def _renew(run: Run, request: ask.Renew, now: Instant) -> Decision:
    _require_holder(run, request.lease, now)
    # The length that was checked when the run was acquired, not the one that the caller's handle says.
    return Decision(evolved(run, version=run.version + 1, lease=Deadline.after(now, run.lease_seconds)), True)


def _release(run: Run, request: ask.Release, now: Instant) -> Decision:
    _require_holder(run, request.lease, now, expired_is_fine=True)
    if run.state is State.RUNNING:
        raise AlreadyStarted(
            f"run {run.run_id!r} has started and cannot be given back",
            remedy="Complete it, with the outcome 'interrupted' if its work was cut short.",
            run=run.run_id,
        )
    return Decision(evolved(run, state=State.ACCEPTED, version=run.version + 1, owner="", lease=None), True)


def _progress(run: Run, request: ask.Progress, now: Instant) -> Decision:
    _require_started(run, request.lease, now)
    return Decision(evolved(run, version=run.version + 1, progress=request.text), True)


def _publish(run: Run, request: ask.Publish, now: Instant) -> Decision:
    _require_started(run, request.lease, now)
    number = run.notes + 1
    after = evolved(run, version=run.version + 1, notes=number)
    return Decision(after, True, note_event(after, request.body, number, now))


# --- ending --------------------------------------------------------------------------------------


def _complete(run: Run, request: ask.Complete, now: Instant) -> Decision:
    lease = request.lease
    whole = storable(request.result)
    error, result = bounded_error(request.error), whole[:MAX_RESULT_CHARACTERS]
    truncated = len(result) < len(whole)
    if run.state is State.FINISHED:
        same = (run.owner, run.epoch) == (lease.owner, lease.epoch)
        if same and _repeats(run, request.outcome, result, truncated, error):
            return Decision(run, False, late=run.late)
        raise _lease_lost(run, lease) if not same and run.epoch > lease.epoch else _already_finished(run)
    late = _require_holder(run, lease, now, expired_is_fine=True)
    if run.state is State.CLAIMED and request.outcome is not Outcome.FAILED:
        raise NotStarted(
            f"run {run.run_id!r} has not started, so it cannot end as {request.outcome.value!r}",
            remedy="Start it first, or complete it as 'failed'.",
            run=run.run_id,
            outcome=request.outcome.value,
        )
    stopped = run.stop_requested_at is not None
    if request.unless_stopped:
        require_not_stopped(run)
    cleanup, records = run.cleanup, _NO_RECORDS
    if request.report is not None:
        cleanup = settled(cleanup or Cleanup(), request.report)
        records = (torn_down(run.run_id, cleanup, request.report, now),)
    records += process_rules.of_run(run, request.snapshot)
    after = _finished(
        run,
        Outcome.STOPPED if stopped else request.outcome,
        run.stop_reason or error if stopped else error,
        now,
        reported=request.outcome,
        result=result,
        result_truncated=truncated,
        late=late,
        exit_status=request.exit_status,
        cleanup=cleanup,
    )
    deliverer = request.deliverer if run.spec.destination in request.serves else ""
    event = finished_event(after, now, claimed_by=deliverer, claim_seconds=DELIVERY_CLAIM_SECONDS)
    return Decision(after, True, event, late=late, records=records)


def _repeats(run: Run, outcome: Outcome, result: str, truncated: bool, error: str) -> bool:
    """Whether this is the completion that ended the run, asked for again."""
    # Where a stop overruled it, its reason stands in the place of the error.
    known_error = error if run.stop_requested_at is not None else run.error
    return (run.reported, run.result, run.result_truncated, known_error) == (
        outcome,
        result,
        truncated,
        error,
    )


def _stop(run: Run, request: ask.Stop, now: Instant) -> Decision:
    reason = bounded_error(request.reason)
    if run.state is State.FINISHED or run.stop_requested_at is not None:
        return Decision(run, False)
    if run.state is State.RUNNING:
        noted = evolved(run, version=run.version + 1, stop_requested_at=now.wall, stop_reason=reason)
        return Decision(noted, True)
    after = _finished(run, Outcome.STOPPED, reason, now, stop_requested_at=now.wall, stop_reason=reason)
    return Decision(after, True, finished_event(after, now))


def _recover(run: Run, request: ask.Recover, now: Instant) -> Decision:
    if run.lease is None:
        return Decision(run, False)
    dead = bool(request.proof) and run.owner == request.proof
    if run.lease.implausible(now) and not dead:
        return Decision(
            evolved(run, version=run.version + 1, lease=Deadline.after(now, MAX_LEASE_SECONDS)), True
        )
    if run.state is State.CLAIMED and dead:
        return Decision(
            evolved(run, state=State.ACCEPTED, version=run.version + 1, owner="", lease=None), True
        )
    if run.state is not State.RUNNING or not (dead or run.lease.passed(now)) or run.cleanup is not None:
        return Decision(run, False)
    return left_behind(run, now, request.retry_id, owner=request.owner, epoch=run.epoch + 1)


# --- who holds it --------------------------------------------------------------------------------


def _require_started(run: Run, lease: Lease, now: Instant) -> None:
    _require_holder(run, lease, now)
    if run.state is not State.RUNNING:
        raise NotStarted(
            f"run {run.run_id!r} is {run.state.value}, not running", remedy="Start it first.", run=run.run_id
        )


_RULES: dict[type, Callable[[Run, Any, Instant], Decision]] = {
    ask.Claim: _claim,
    ask.Start: _start,
    ask.Renew: _renew,
    ask.Reacquire: _reacquire,
    ask.Release: _release,
    ask.Progress: _progress,
    ask.Publish: _publish,
    ask.Complete: _complete,
    ask.Stop: _stop,
    ask.Recover: _recover,
    **process_rules.RULES,
}
