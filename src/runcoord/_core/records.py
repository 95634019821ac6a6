"""What is stored beside a run about its processes, and about the owners of runs.

A run without processes has none of these.
"""

from __future__ import annotations

import enum

from runcoord._core.identity import ProcessIdentity, UnknownIdentity
from runcoord._core.limits import GRACE_SECONDS
from runcoord._core.model import Deadline
from runcoord._core.teardown import Fate, Scope, TeardownReport
from runcoord._core.values import value

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import Any

Identity = ProcessIdentity | UnknownIdentity


class Role(enum.StrEnum):
    """What a process is to its run."""

    SHIM = "shim"
    """The small process that the run hangs on. It ends the run's tree by itself when its coordinator ends."""
    LEADER = "leader"
    """The command itself."""
    MEMBER = "member"
    """Another process that the owner recorded."""


@value
class Terms:
    """What recovery must know to end a run's processes as its owner would have."""

    scope: Scope = Scope.TREE
    grace: float = float(GRACE_SECONDS)
    """Seconds between asking and killing."""
    last_words: str = ""
    """File into which the shim writes how the command ended; empty: none."""
    handed_over: str = ""
    """The run's own cookie, under which its processes may be handed over and are spared; empty: none is."""

    def document(self) -> dict[str, Any]:
        """The stored form, of JSON types."""
        return {
            "scope": self.scope.value,
            "grace": self.grace,
            "last_words": self.last_words,
            "handed_over": self.handed_over,
        }


def terms_from(document: dict[str, Any]) -> Terms:
    """The terms in a stored form. Raises ``KeyError``, ``TypeError`` or ``ValueError`` for anything else."""
    return Terms(
        Scope(document["scope"]),
        float(document["grace"]),
        str(document["last_words"]),
        str(document["handed_over"]),
    )


@value
class NewProcess:
    """A process to record."""

    identity: Identity
    """:class:`UnknownIdentity` where it could not be read: recorded, and never a reason to signal anybody."""
    role: Role = Role.MEMBER


@value
class RecordedProcess:
    """A process of a run, as its fenced owner recorded it."""

    run_id: str
    number: int
    """From 1, in the order of recording."""
    role: Role
    epoch: int
    """The acquisition under which it was recorded."""
    identity: Identity
    terms: Terms
    recorded_at: float
    fate: Fate | None = None
    """What became of it; ``None`` while nobody has seen."""


@value
class Audit:
    """One round of signals by recovery: what was intended, written before the first signal, and what came of
    it. Without a result it is unknown which of the signals were sent."""

    run_id: str
    round: int
    """From 1."""
    intent: str
    """JSON text."""
    at: float
    result: str | None = None
    """JSON text."""


@value
class Teardown:
    """The report of a teardown of a run's processes, by its owner or by recovery."""

    run_id: str
    number: int
    """From 1."""
    report: TeardownReport
    at: float


class SnapshotState(enum.StrEnum):
    """What became of the git state that was written down before a run."""

    TAKEN = "taken"
    RESTORED = "restored"
    """What was to be restored was restored, or had not changed."""
    REFUSED = "refused"
    """It could not be restored, or must not be; the report says why."""


@value
class Snapshot:
    """Where the git state before a run is on disk, and what was made of it."""

    run_id: str
    directory: str
    state: SnapshotState = SnapshotState.TAKEN
    report: str = "{}"
    """JSON text."""


@value
class Owner:
    """An owner of runs or deliveries, and the process that it is. Each owner id is one start of one process,
    so that the death of the process is the death of the owner."""

    owner: str
    identity: Identity
    since: float


RunRecord = RecordedProcess | Audit | Teardown | Snapshot
"""Belongs to one run, and is removed with it."""
Record = RunRecord | Owner


@value
class Held:
    """What an owner holds: ids of claimed and running runs, of finished ones whose processes are not dealt
    with, and of events that it is sending."""

    runs: tuple[str, ...] = ()
    events: tuple[str, ...] = ()


@value
class Takeover:
    """What a sweep holds of a run while it deals with the run's processes. Of a run under way it is the
    newest acquisition; a finished run keeps its owner and epoch, and the attempt fences."""

    run_id: str
    owner: str
    epoch: int
    attempt: int
    """From 1."""
    until: Deadline
