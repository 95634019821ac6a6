"""Who holds a run, and what those are told who do not."""

from __future__ import annotations

from runcoord._core.model import Instant, Lease, Run, State
from runcoord.errors import AlreadyFinished, InvalidRequest, LeaseExpired, LeaseHeld, LeaseLost


def require_holder(run: Run, lease: Lease, now: Instant, *, expired_is_fine: bool = False) -> bool:
    """Refuse unless ``lease`` is the run's newest acquisition. True when it has run out."""
    if run.epoch != lease.epoch or run.owner != lease.owner:
        raise lease_lost(run, lease)
    if run.state is State.FINISHED:
        raise already_finished(run)
    if run.lease is None:
        raise lease_lost(run, lease)
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


def already_finished(run: Run) -> AlreadyFinished:
    outcome = run.outcome.value if run.outcome else "unknown"
    return AlreadyFinished(
        f"run {run.run_id!r} already ended as {outcome!r}",
        remedy="Its outcome stands; nothing was changed.",
        run=run.run_id,
        outcome=outcome,
    )


def lease_held(run: Run, now: Instant) -> LeaseHeld:
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


def lease_lost(run: Run, lease: Lease) -> LeaseLost:
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
