"""What may be asked of one run. Plain values; :mod:`runcoord._core.decide` answers them.

Each is made for one call and then forgotten.
"""

from __future__ import annotations

from runcoord._core.model import Lease, Outcome
from runcoord._core.records import NewProcess, Snapshot, Takeover, Terms
from runcoord._core.teardown import TeardownReport
from runcoord._core.values import value


@value
class Claim:
    """Become the owner of an accepted run, to start its work."""

    owner: str
    seconds: float


@value
class Start:
    """Record that the work begins. Before this nothing of the run may execute."""

    lease: Lease


@value
class Renew:
    """Lengthen the lease."""

    lease: Lease


@value
class Reacquire:
    """Take a lease that ran out once more, if nobody acquired the run since."""

    lease: Lease


@value
class Release:
    """Give back a claimed run whose work has not begun."""

    lease: Lease


@value
class Progress:
    """Keep what the work says of its progress."""

    lease: Lease
    text: str


@value
class Publish:
    """Write an event other than the terminal one."""

    lease: Lease
    body: str


@value
class Complete:
    """Record the outcome of the work."""

    lease: Lease
    outcome: Outcome
    result: str = ""
    error: str = ""
    deliverer: str = ""
    """Owner to whom the first delivery attempt of the terminal event belongs at once, if ``serves`` has its
    destination; saves a commit."""
    serves: frozenset[str] = frozenset()
    exit_status: int | None = None
    report: TeardownReport | None = None
    """How its processes were ended, if that was not recorded before."""
    snapshot: Snapshot | None = None
    """What became of the git state that was recorded before, if anything."""
    unless_stopped: bool = False
    """Change nothing where a stop was accepted: whoever ends the run has to do something about that first."""


@value
class Stop:
    """Ask that the run ends, whoever has it."""

    reason: str


@value
class Recover:
    """End a started run whose lease ran out. ``retry_id`` is the id for an automatic retry, if due."""

    owner: str
    retry_id: str
    proof: str = ""
    """An owner id whose process is proved dead: what it holds counts as expired."""


@value
class RecordProcesses:
    """Write down processes of the run, before they execute anything. A claimed run is started by it."""

    lease: Lease
    processes: tuple[NewProcess, ...]
    terms: Terms
    snapshot: Snapshot | None = None
    """Where the git state before the run is, if it was written down."""


@value
class RecordTeardown:
    """Write down how the owner ended the run's processes."""

    lease: Lease
    report: TeardownReport


@value
class RecordSnapshot:
    """Write down where the git state before the run is, or what became of it."""

    lease: Lease
    snapshot: Snapshot


@value
class TakeOver:
    """Become responsible for the processes of a run that nobody owns any more, for ``seconds``."""

    owner: str
    seconds: float
    proof: str = ""
    """An owner id whose process is proved dead."""


@value
class Intend:
    """Write down which processes are about to be signalled. Before this recovery sends no signal."""

    takeover: Takeover
    intent: str


@value
class Defer:
    """Give up for ``seconds``: the processes cannot be dealt with now."""

    takeover: Takeover
    seconds: float


@value
class EndCleaned:
    """The processes are dealt with, or given up as survivors: end the run, unless it has ended before."""

    takeover: Takeover
    report: TeardownReport
    retry_id: str
    exit_status: int | None = None
    """How the command ended by itself, if that is known."""
    unless_stopped: bool = False
    """As for :class:`Complete`."""


ProcessRequest = RecordProcesses | RecordTeardown | RecordSnapshot | TakeOver | Intend | Defer | EndCleaned
Request = (
    Claim
    | Start
    | Renew
    | Reacquire
    | Release
    | Progress
    | Publish
    | Complete
    | Stop
    | Recover
    | ProcessRequest
)
