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
    recover      no change     no change                  finished if expired        no change

    A lease of another boot that lies further ahead than any lease can (a clock was set) is cut to the
    longest one by ``recover``, claimed or running: nobody is believed for a day.

A lease names its epoch. Every acquisition (claim, reacquire, recover) raises the epoch by one, and it
never falls and is never cleared; a request with an older epoch is refused. ``decide`` takes values and
gives values: the caller supplies the time, and saves what comes back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from runcoord._core import requests as ask
from runcoord._core.events import finished_event, note_event
from runcoord._core.evolving import evolved
from runcoord._core.limits import (
    DELIVERY_CLAIM_SECONDS,
    MAX_ERROR_CHARACTERS,
    MAX_LEASE_SECONDS,
    MAX_RESULT_CHARACTERS,
)
from runcoord._core.model import Deadline, Event, Instant, Lease, Outcome, Run, State
from runcoord._core.texts import storable
from runcoord.errors import (
    AlreadyFinished,
    AlreadyStarted,
    InvalidRequest,
    LeaseExpired,
    LeaseHeld,
    LeaseLost,
    NotStarted,
)

INTERRUPTED_ERROR = "interrupted: its owner ended or lost its lease before the run finished"


@dataclass(frozen=True, slots=True)
class Decision:
    """What a request changes. ``run`` is the run afterwards; unchanged when ``changed`` is false."""

    run: Run
    changed: bool
    event: Event | None = None
    successor: Run | None = None
    """A run created as the automatic retry of this one."""
    late: bool = False


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
    after = _finished(
        run,
        Outcome.STOPPED if stopped else request.outcome,
        run.stop_reason or error if stopped else error,
        now,
        reported=request.outcome,
        result=result,
        result_truncated=truncated,
        late=late,
    )
    deliverer = request.deliverer if run.spec.destination in request.serves else ""
    event = finished_event(after, now, claimed_by=deliverer, claim_seconds=DELIVERY_CLAIM_SECONDS)
    return Decision(after, True, event, late=late)


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
    if run.lease.implausible(now):
        return Decision(
            evolved(run, version=run.version + 1, lease=Deadline.after(now, MAX_LEASE_SECONDS)), True
        )
    if run.state is not State.RUNNING or not run.lease.passed(now):
        return Decision(run, False)
    if run.stop_requested_at is not None:
        outcome, error, again = Outcome.STOPPED, run.stop_reason, False
    else:
        outcome, error, again = Outcome.INTERRUPTED, INTERRUPTED_ERROR, True
    again = again and run.spec.interruption_budget > 0
    spent = again and run.interruptions >= run.spec.interruption_budget
    if spent:
        error = (
            f"{INTERRUPTED_ERROR}; not retried: {run.interruptions + 1} interruptions in its line, "
            f"{run.spec.interruption_budget} automatic retries allowed"
        )
    after = _finished(
        run,
        outcome,
        error,
        now,
        epoch=run.epoch + 1,
        owner=request.owner,
        retried_as=request.retry_id if again and not spent else run.retried_as,
    )
    event = finished_event(after, now)
    successor = retry_of(after, request.retry_id, now) if again and not spent else None
    return Decision(after, True, event, successor)


def _finished(run: Run, outcome: Outcome, error: str, now: Instant, **more: Any) -> Run:
    return evolved(
        run,
        state=State.FINISHED,
        version=run.version + 1,
        outcome=outcome,
        error=error,
        finished_at=now.wall,
        lease=None,
        **more,
    )


def retry_of(run: Run, run_id: str, now: Instant) -> Run:
    """A new run with the inputs of ``run``, linked to it; counts an interruption along the line."""
    return Run(
        run_id,
        run.spec,
        now.wall,
        line=run.line,
        retry_of=run.run_id,
        interruptions=run.interruptions + (run.outcome is Outcome.INTERRUPTED),
    )


def bounded_error(text: str) -> str:
    """Error text within its limit: an outcome is never lost because its explanation is long, or odd."""
    return storable(text)[:MAX_ERROR_CHARACTERS]


# --- who holds it --------------------------------------------------------------------------------


def _require_holder(run: Run, lease: Lease, now: Instant, *, expired_is_fine: bool = False) -> bool:
    """Refuse unless ``lease`` is the run's newest acquisition. True when it has run out."""
    if run.epoch != lease.epoch or run.owner != lease.owner:
        raise _lease_lost(run, lease)
    if run.state is State.FINISHED:
        raise _already_finished(run)
    if run.lease is None:
        raise _lease_lost(run, lease)
    expired = run.lease.passed(now)
    if expired and not expired_is_fine:
        raise LeaseExpired(
            f"the lease of {lease.owner!r} on run {run.run_id!r} ran out "
            f"{-run.lease.remaining(now):.1f} s ago; nobody acquired the run since",
            remedy="Re-acquire it before the next effect.",
            run=run.run_id,
            owner=lease.owner,
            epoch=lease.epoch,
        )
    return expired


def _require_started(run: Run, lease: Lease, now: Instant) -> None:
    _require_holder(run, lease, now)
    if run.state is not State.RUNNING:
        raise NotStarted(
            f"run {run.run_id!r} is {run.state.value}, not running", remedy="Start it first.", run=run.run_id
        )


def _already_finished(run: Run) -> AlreadyFinished:
    outcome = run.outcome.value if run.outcome else "unknown"
    return AlreadyFinished(
        f"run {run.run_id!r} already ended as {outcome!r}",
        remedy="Its outcome stands; nothing was changed.",
        run=run.run_id,
        outcome=outcome,
    )


def _lease_held(run: Run, now: Instant) -> LeaseHeld:
    left = run.lease.remaining(now) if run.lease else 0.0
    return LeaseHeld(
        f"run {run.run_id!r} is held by {run.owner!r} for another {left:.1f} s",
        remedy="Wait until then, or ask its owner to release it.",
        run=run.run_id,
        owner=run.owner,
        epoch=run.epoch,
        until=run.lease.wall if run.lease else None,
        remaining=left,
    )


def _lease_lost(run: Run, lease: Lease) -> LeaseLost:
    return LeaseLost(
        f"the lease of {lease.owner!r} on run {run.run_id!r} (epoch {lease.epoch}) is no longer the newest: "
        f"epoch {run.epoch}, owner {run.owner or 'nobody'!r}",
        remedy="Stop the work; somebody else decides about this run now.",
        run=run.run_id,
        owner=run.owner,
        epoch=run.epoch,
        lease_epoch=lease.epoch,
    )


def require_lease_seconds(seconds: float, least: float, most: float) -> float:
    """A lease's length in seconds, or :class:`InvalidRequest` for what is no such length."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not least <= seconds <= most:
        raise InvalidRequest(
            f"a lease of {seconds!r} seconds is not possible",
            remedy=f"Use a number of seconds from {least:g} to {most:g}.",
            seconds=repr(seconds),
        )
    return float(seconds)


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
}
