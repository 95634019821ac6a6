"""The harness's own reading of deadlines: a subject that reads them wrongly must not blind the invariants.

On the boot where a deadline was made boottime decides, elsewhere wall time does, never believed beyond the
longest lease.
"""

from __future__ import annotations

from pytest_runcoord.subject import RunSeen
from runcoord.ports import Deadline, Instant

LONGEST_LEASE_SECONDS = 3600.0
"""What a lease of another boot is believed at most, however far ahead it says it ends."""


def seconds_left(deadline: Deadline, now: Instant) -> float:
    """Seconds until the deadline; negative when it has passed."""
    if deadline.boot_id == now.boot_id:
        return deadline.boottime - now.boottime
    return deadline.wall - now.wall


def passed(deadline: Deadline | None, now: Instant) -> bool:
    """Whether there is such a deadline and it has passed."""
    return deadline is not None and seconds_left(deadline, now) <= 0


def implausible(deadline: Deadline | None, now: Instant) -> bool:
    """A deadline of another boot that lies further ahead than any can: a clock was set."""
    if deadline is None or deadline.boot_id == now.boot_id:
        return False
    return seconds_left(deadline, now) > LONGEST_LEASE_SECONDS


def live(run: RunSeen, now: Instant) -> bool:
    """Whether somebody holds an unexpired lease on the run."""
    return run.lease is not None and not passed(run.lease, now)


def claimable(run: RunSeen, now: Instant) -> bool:
    """Whether anybody may claim the run now: its work has not begun, and nobody holds it."""
    return run.state == "accepted" or (run.state == "claimed" and passed(run.lease, now))


def recoverable(run: RunSeen, now: Instant) -> bool:
    """A started run whose lease has run out."""
    return run.state == "running" and passed(run.lease, now)
