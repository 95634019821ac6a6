"""The values that the coordinator is about. No behaviour beyond what a value knows of itself.

A **run** is one piece of accepted work. Its life is ``accepted -> claimed -> running -> finished``; it
may go back from claimed to accepted (released), and a stop may finish it from any earlier state. What
ended is said once, by its :class:`Outcome`, together with one terminal :class:`Event` for its
destination.
"""

from __future__ import annotations

import enum

from runcoord._core.limits import MAX_LEASE_SECONDS
from runcoord._core.sources import Source
from runcoord._core.values import value


class State(enum.StrEnum):
    """Where a run is in its life."""

    ACCEPTED = "accepted"
    CLAIMED = "claimed"
    RUNNING = "running"
    FINISHED = "finished"


class Outcome(enum.StrEnum):
    """How a run ended. Recorded once, never changed."""

    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"


class EventState(enum.StrEnum):
    """Where an event of the outbox is.

    ``pending``: to be sent when due. ``sending``: claimed by one owner until its claim ends.
    ``held``: waits for the operator, never sent by itself. ``delivered``: accepted by its destination.
    """

    PENDING = "pending"
    SENDING = "sending"
    HELD = "held"
    DELIVERED = "delivered"


class EventKind(enum.StrEnum):
    """What an event tells."""

    FINISHED = "run.finished"
    NOTE = "run.note"
    GROUP = "group.finished"
    DIGEST = "held.digest"


@value
class Instant:
    """One reading of the clocks: wall time (seconds since 1970), boottime (seconds since boot, counting
    suspend), and the boot that boottime belongs to."""

    wall: float
    boottime: float
    boot_id: str


@value
class Deadline:
    """A moment in the future, stored so that neither a clock step nor a suspend moves it.

    On the boot where it was made boottime decides; elsewhere wall time does.
    """

    wall: float
    boottime: float
    boot_id: str

    @classmethod
    def after(cls, now: Instant, seconds: float) -> Deadline:
        return cls(now.wall + seconds, now.boottime + seconds, now.boot_id)

    def remaining(self, now: Instant, cap: float = MAX_LEASE_SECONDS) -> float:
        """Seconds left, negative when past, never more than ``cap``."""
        left = self.boottime - now.boottime if self.boot_id == now.boot_id else self.wall - now.wall
        return min(left, cap)

    def passed(self, now: Instant) -> bool:
        return self.remaining(now) <= 0

    def implausible(self, now: Instant, cap: float = MAX_LEASE_SECONDS) -> bool:
        """True for a deadline of another boot that lies further ahead than any can: a clock was set."""
        return self.boot_id != now.boot_id and self.wall - now.wall > cap


@value
class Lease:
    """What an owner holds: one acquisition of one run.

    ``sent`` is the boottime at which the request for it was sent (seconds): the holder's own trust is
    counted from there. ``until`` is the expiry as the store has it.
    """

    run_id: str
    owner: str
    epoch: int
    seconds: float
    sent: float
    until: Deadline


@value(slots=False)  # no slots: see evolving.py
class Spec:
    """What was asked for, fixed when the run was accepted. A retry has the same."""

    payload: str = "null"
    """Inputs as canonical JSON text."""
    destination: str = ""
    agent: str = ""
    task: str = ""
    conversation_key: str = ""
    group: str = ""
    group_size: int = 0
    interruption_budget: int = 0
    """How many automatic retries its line gets after interruptions."""


class CleanupState(enum.StrEnum):
    """What is known of a run's processes."""

    PENDING = "pending"
    """Some may be alive."""
    DONE = "done"
    """All are gone: two complete looks in a row found nobody."""
    SURVIVED = "survived"
    """Somebody may be alive, and nothing more is tried; see the survivors."""


@value
class Survivor:
    """A process that may be alive after everything that could be done."""

    pid: int | None
    name: str
    fate: str
    """``survived``, ``denied`` or ``unknown``."""
    why: str


@value(slots=False)  # no slots: see evolving.py
class Cleanup:
    """How far the processes of a run are dealt with. A run without processes has none."""

    state: CleanupState = CleanupState.PENDING
    processes: int = 0
    """Processes recorded so far; numbers the next one."""
    teardowns: int = 0
    """Teardown reports kept so far."""
    rounds: int = 0
    """Rounds of signals by recovery that were written down so far."""
    attempts: int = 0
    """Attempts of recovery so far."""
    deferred: bool = False
    """The last attempt could not finish; the next one waits for the lease to end, whoever made this one."""
    due: Deadline | None = None
    """Of a finished run: when recovery may make the next attempt. A run under way has its lease for this."""
    survivors: tuple[Survivor, ...] = ()
    """At most the first few."""
    unnamed: int = 0
    """Survivors that are counted only."""


@value(slots=False)  # no slots: see evolving.py
class Run:
    """One run as it is stored."""

    run_id: str
    spec: Spec
    created_at: float
    line: str
    """Id of the first run of its line of retries."""
    retry_of: str = ""
    interruptions: int = 0
    """Interruptions so far along the line, before this run."""
    state: State = State.ACCEPTED
    version: int = 1
    epoch: int = 0
    owner: str = ""
    lease: Deadline | None = None
    lease_seconds: float = 0.0
    started_at: float | None = None
    finished_at: float | None = None
    stop_requested_at: float | None = None
    stop_reason: str = ""
    progress: str = ""
    notes: int = 0
    """Events written by its owner so far; numbers the next one."""
    outcome: Outcome | None = None
    reported: Outcome | None = None
    """The outcome that the owner reported, which a stop may have overruled."""
    error: str = ""
    result: str = ""
    result_truncated: bool = False
    late: bool = False
    """Completed after the lease had run out, while nobody else had acquired the run."""
    retried_as: str = ""
    exit_status: int | None = None
    """How its command ended, as ``Popen.returncode``; ``None`` where there was none, or nobody saw it."""
    cleanup: Cleanup | None = None
    """``None``: it never had processes that were recorded."""
    lineage: str = ""
    """What its line of runs within runs began with; empty outside of one. Fixed, like its depth."""
    depth: int = 0
    """Runs around it in that line."""
    source: Source | None = None
    """The folder that it was imported from; ``None`` for a run that was submitted."""


@value
class Command:
    """A request that created a run, remembered under its idempotency key."""

    key: str
    run_id: str
    content_hash: str
    created_at: float


@value(slots=False)  # no slots: see evolving.py
class Event:
    """Something to tell a destination: at least once, always with the same id and body."""

    event_id: str
    run_id: str
    kind: EventKind
    destination: str
    body: str
    created_at: float
    state: EventState
    due: Deadline
    """Pending: when it may be sent. Sending: when the claim ends and others may send it."""
    attempt: int = 0
    """Number of the newest attempt; an answer to an older one is ignored."""
    owner: str = ""
    reason: str = ""
    """Why the last attempt failed, or why it is held."""
    delivered_at: float | None = None
    told: bool = False
    """Whether a digest told the operator that it is held."""
    failures: int = 0
    """Attempts that failed since it was accepted or replayed; the wait before the next one grows with them.
    Not the number of the attempt, which also counts those that were claimed and never made."""
    seq: int = 0
    """Order of acceptance into the outbox, given by the store; 0 before that."""
    unanswered: int = 0
    """Attempts in a row, before the one under way, of which nobody said what came of them."""
    group: str = ""
    """The group that it sums up."""


@value
class Delivery:
    """One attempt to deliver one event, owned by one owner until ``until``."""

    event: Event
    owner: str
    attempt: int
    until: Deadline


@value
class Group:
    """Runs that are summed up together once ``size`` of them have ended."""

    group_id: str
    size: int
    destination: str
    completed: int = 0
    failed: int = 0
    stopped: int = 0
    interrupted: int = 0

    @property
    def ended(self) -> int:
        return self.completed + self.failed + self.stopped + self.interrupted

    @property
    def successful(self) -> bool:
        """Every member completed. An interrupted or stopped member is no success."""
        return self.completed == self.size
