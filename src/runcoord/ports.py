"""The edges of the coordinator as protocols, and the values that cross them.

Everything that has an effect or reads the outside world is behind one of these. Production wires the
real ones; a test or a simulated world passes others through :class:`Ports`, and nothing else changes.
"""

from __future__ import annotations

from collections.abc import Callable

from runcoord._core.identity import (
    Habitat,
    Likeness,
    ProcessIdentity,
    UnknownIdentity,
    compare,
    is_pid,
    same_place,
)
from runcoord._core.last_words import LastWords
from runcoord._core.looks import Guarantees, Look
from runcoord._core.model import (
    Cleanup,
    CleanupState,
    Command,
    Deadline,
    Delivery,
    Event,
    EventKind,
    EventState,
    Group,
    Instant,
    Lease,
    Outcome,
    Run,
    Spec,
    State,
    Survivor,
)
from runcoord._core.records import (
    Audit,
    Held,
    NewProcess,
    Owner,
    Record,
    RecordedProcess,
    Role,
    RunRecord,
    Snapshot,
    SnapshotState,
    Takeover,
    Teardown,
    Terms,
)
from runcoord._core.sources import (
    Claims,
    ClosableFolders,
    KeptResult,
    KnownFolders,
    RefusedFolder,
    Source,
    SourceState,
)
from runcoord._core.teardown import (
    Fate,
    Found,
    Membership,
    ProcessReport,
    Scan,
    Scope,
    Sighting,
    TeardownReport,
)
from runcoord._core.values import value
from runcoord._home_ports import (
    FileRead,
    FileSeen,
    FolderRefused,
    Homes,
    Names,
    OpenFolder,
    OpenRoot,
    RefusalKind,
)
from runcoord._process_ports import (
    Ending,
    Launcher,
    LaunchOrder,
    PinnedProcess,
    Processes,
    Tree,
)
from runcoord._store_ports import BadRow, Change, Counters, Store, Transaction, View

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import Protocol, TypeVar

    T = TypeVar("T")
else:
    Protocol = object  # what follows says what is expected, and is not asked for at run time

__all__ = [
    "Audit",
    "BadRow",
    "Bounded",
    "Change",
    "Claims",
    "Cleanup",
    "CleanupState",
    "Clock",
    "ClosableFolders",
    "Command",
    "Counters",
    "Deadline",
    "Delivery",
    "Destination",
    "Ending",
    "Event",
    "EventKind",
    "EventState",
    "Fate",
    "FileRead",
    "FileSeen",
    "FolderRefused",
    "Found",
    "Group",
    "Guarantees",
    "Habitat",
    "Held",
    "Homes",
    "Ids",
    "Instant",
    "KeptResult",
    "KnownFolders",
    "LastWords",
    "LaunchOrder",
    "Launcher",
    "Lease",
    "Likeness",
    "Look",
    "Membership",
    "Message",
    "Names",
    "NewProcess",
    "OpenFolder",
    "OpenRoot",
    "Outcome",
    "Owner",
    "PinnedProcess",
    "Ports",
    "ProcessIdentity",
    "ProcessReport",
    "Processes",
    "Record",
    "RecordedProcess",
    "RefusalKind",
    "RefusedFolder",
    "Role",
    "Run",
    "RunRecord",
    "Scan",
    "Scope",
    "Sighting",
    "Sleeper",
    "Snapshot",
    "SnapshotState",
    "Source",
    "SourceState",
    "Spec",
    "State",
    "Store",
    "Survivor",
    "Takeover",
    "Teardown",
    "TeardownReport",
    "Terms",
    "Transaction",
    "Tree",
    "UnknownIdentity",
    "View",
    "compare",
    "is_pid",
    "same_place",
]


class Clock(Protocol):
    """Three clocks that may move apart. All values in seconds."""

    def wall(self) -> float:
        """Time since 1970 as the system believes it; may be stepped either way."""

    def monotonic(self) -> float:
        """Never steps, stands still during suspend."""

    def boottime(self) -> float:
        """Never steps, counts suspend. Where a platform has none, the nearest it has."""

    def boot_id(self) -> str:
        """Changes with every boot; boottime values of different boots are not comparable."""


class Sleeper(Protocol):
    """Waiting, so that a simulated world can wait without waiting."""

    def sleep(self, seconds: float) -> None: ...


class Ids(Protocol):
    """New unguessable identifiers."""

    def new(self, prefix: str) -> str: ...


class Bounded(Protocol):
    """Runs a call that may hang, for at most ``seconds``.

    Raises :class:`~runcoord.errors.StoreTimeout` (may have happened) when the bound is reached.
    """

    def call(self, seconds: float, call: Callable[[], T]) -> T: ...


@value
class Message:
    """What a destination receives. Every copy of one event has the same ``event_id`` and ``body``."""

    event_id: str
    kind: str
    run_id: str
    destination: str
    body: bytes
    attempt: int


Destination = Callable[[Message], object]
"""Accepts a message by returning. :class:`~runcoord.errors.DestinationRefused` refuses it for good; any
other exception means "not now". What it returns is not looked at. It is called in a thread of its own; one
that has not returned after :data:`~runcoord._core.limits.SEND_SECONDS` has failed, and is called again only
when it has returned."""


def _same_store(store: Store) -> Store:
    return store


@value
class Ports:
    """Replacements for the production edges; what is ``None`` is the real one.

    ``wrap_store`` is given the opened store and returns the one to use: this is how faults enter.
    """

    clock: Clock | None = None
    sleeper: Sleeper | None = None
    ids: Ids | None = None
    bounded: Bounded | None = None
    processes: Processes | None = None
    launcher: Launcher | None = None
    homes: Homes | None = None
    store: Store | None = None
    wrap_store: Callable[[Store], Store] = _same_store
