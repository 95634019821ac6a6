"""The store as protocols, and the values that cross them. Public through :mod:`runcoord.ports`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager

from runcoord._core.model import (
    Command,
    Deadline,
    Event,
    EventState,
    Group,
    Instant,
    Run,
    State,
)
from runcoord._core.records import Audit, Held, Owner, Record, RecordedProcess, Snapshot, Teardown
from runcoord._core.sources import ClosableFolders, KnownFolders, RefusedFolder
from runcoord._core.values import record, value
from runcoord.errors import UndecodableRow

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import Protocol, TypeVar

    R = TypeVar("R", RecordedProcess, Audit, Teardown, Snapshot)
else:
    Protocol = object  # what follows says what is expected, and is not asked for at run time


@value
class Change:
    """What one decision writes. ``before`` is the run as loaded: the save fails with
    :class:`~runcoord.errors.VersionConflict` unless its version is still the stored one."""

    before: Run | None = None
    run: Run | None = None
    new_events: tuple[Event, ...] = ()
    events: tuple[Event, ...] = ()
    command: Command | None = None
    group: Group | None = None
    records: tuple[Record, ...] = ()
    """Each is written whole, in the place of the one with the same key."""
    refused: tuple[RefusedFolder, ...] = ()
    """Likewise: a folder that was refused again has its row replaced."""


@value
class BadRow:
    """A stored row that could not be understood; isolated, named, left as it is."""

    table: str
    key: str
    problem: str

    @classmethod
    def of(cls, error: UndecodableRow) -> BadRow:
        return cls(str(error.details.get("table")), str(error.details.get("key")), error.problem)

    def error(self) -> UndecodableRow:
        """The error that reading the row alone would raise."""
        return UndecodableRow(
            self.problem, remedy="Only this row is affected.", table=self.table, key=self.key
        )


@record
class Counters:
    """What a store has done since it was opened. For tests and benchmarks that count work."""

    statements: int = 0
    rows_written: int = 0
    commits: int = 0


class View(Protocol):
    """Reading. Single look-ups raise :class:`~runcoord.errors.UndecodableRow` for a row that cannot be
    understood; lists of values leave such rows out and hand them to ``bad``, if given."""

    def run(self, run_id: str) -> Run | None: ...

    def command(self, key: str) -> Command | None: ...

    def event(self, event_id: str) -> Event | None: ...

    def group(self, group_id: str) -> Group | None: ...

    def runs(
        self,
        *,
        states: Sequence[State] = (),
        after: str = "",
        newest_first: bool = False,
        limit: int,
        bad: list[BadRow] | None = None,
    ) -> list[Run]:
        """Runs in the order of their acceptance, or in the opposite one; the list goes on after the run
        ``after`` (a run id): with runs accepted later, or with ``newest_first`` earlier.

        Raises :class:`~runcoord.errors.UnknownRun` when there is no run ``after``.
        """

    def events(
        self,
        *,
        states: Sequence[EventState] = (),
        run_id: str = "",
        after: int = 0,
        newest_first: bool = False,
        limit: int,
        bad: list[BadRow] | None = None,
    ) -> list[Event]:
        """Events in the order of their acceptance, those with a ``seq`` above ``after``; or in the opposite
        order, those with one below ``after``. 0 begins at the beginning of the list, whichever that is."""

    def claimable(self, now: Instant, limit: int) -> list[str]:
        """Ids of runs to claim, oldest first: accepted ones, then claimed ones whose lease ran out and whose
        work had not begun. A hint: the rules decide again on the locked row."""

    def recoverable(self, now: Instant, limit: int, after: str = "") -> list[str]:
        """Ids of running runs whose lease ran out, of claimed or running ones whose lease is implausible, and
        of finished ones whose processes are due to be dealt with; in the order of ids, those after ``after``.
        A hint. Costs what it finds, not what exists."""

    def sendable(self, now: Instant, owner: str, limit: int, without: Sequence[str] = ()) -> list[str]:
        """Ids of events that wait for an attempt, and those whose attempt belongs to ``owner``; in order of
        acceptance, those for the destinations ``without`` left out. A hint. Costs what it finds; with
        ``without``, what waits."""

    def next_due(self) -> Deadline | None:
        """A deadline not later than the first at which a waiting event becomes due; ``None`` when no event
        is pending or being sent."""

    def untold_held(self, limit: int) -> list[Event]:
        """Held events, other than digests, that no digest has told the operator about; oldest first."""

    def count_untold_held(self) -> int: ...

    def finished_before(self, wall: float, limit: int) -> list[str]:
        """Ids of runs that finished before ``wall``, whose events are all delivered and whose processes are
        dealt with. A retry comes after the run that was retried: until then it is the answer to a repeated
        request for it. An imported run comes only when its folder is gone: as long as that is there, the row
        is what keeps the folder from being imported again."""

    def records(self, kind: type[R], run_id: str, *, limit: int, bad: list[BadRow] | None = None) -> list[R]:
        """What is recorded of one kind for a run, in the order of its numbers. An identity of a form that is
        not known is a value, and no bad row."""

    def owners(self, limit: int, after: str = "", bad: list[BadRow] | None = None) -> list[Owner]:
        """Registered owners by id, those after ``after``."""

    def held_by(self, owner: str, limit: int, after: str = "") -> Held:
        """What an owner holds: at most ``limit`` runs, by id, those after ``after``, and as many events. A
        hint. Costs what is leased and what is being sent."""

    def count_unfinished(self, lineage: str) -> int:
        """Runs of one lineage that have not finished."""

    def runless_before(self, wall: float, limit: int) -> list[str]:
        """Ids of events that belong to no run, the summaries of groups and the digests, which were delivered
        before ``wall``; of summaries, those of groups that no run is left of."""

    # --- run folders ---

    def known_folders(self, root: str, after: str, last: str, limit: int) -> KnownFolders:
        """What is known of the folders of one root behind the name ``after`` and up to ``last``, which is
        among them; at most ``limit`` imported runs and as many refused folders. Whatever else is stored, it
        costs what it finds. Refused ones whose rows make no sense are left out, to be looked at anew."""

    def closable_folders(
        self, root: str, after: str, last: str, ended_before: float | None = None
    ) -> ClosableFolders:
        """Of the imported runs in the same range those whose terminal event was delivered, or that had none:
        without a tombstone; and with one, when the run ended before a wall time, if that is given."""

    def refused_folders(
        self, *, after: tuple[str, str] = ("", ""), limit: int, bad: list[BadRow] | None = None
    ) -> list[RefusedFolder]:
        """Refused folders of all roots by root and name, those after ``after``."""

    def known_runs(self, run_ids: Sequence[str]) -> set[str]:
        """Which of these ids belong to a run, wherever it comes from."""

    def load_runs(self, run_ids: Sequence[str], bad: list[BadRow]) -> list[Run]: ...

    def load_events(self, event_ids: Sequence[str], bad: list[BadRow]) -> list[Event]: ...


class Transaction(View, Protocol):
    """Reading and writing under the store's write lock."""

    def save(self, changes: Iterable[Change]) -> None:
        """Write what changed. Rows written are those that the changes name, never a table."""

    def remove_owner(self, owner: str) -> None:
        """Forget who an owner is. What it holds stays held."""

    def mark_held_told(self) -> None:
        """Mark every event that :meth:`count_untold_held` counts as told."""

    def remove_runs(self, run_ids: Sequence[str]) -> None:
        """Remove finished runs with their commands, events and records (pruning). Numbers of events that were
        removed are not given again."""

    def remove_runless(self, event_ids: Sequence[str]) -> None:
        """Remove delivered events that belong to no run, and with the summary of a group the group; where a
        run of the group is left, neither."""

    def remove_refused(self, root: str, names: Sequence[str]) -> None:
        """Forget refused folders. What is not there changes nothing."""


class Store(Protocol):
    """Durable state. Opening it, and reading from it, changes nothing.

    ``verb`` names what the transaction is for; it goes into logs and lets a simulated world tell
    transactions apart. A transaction commits when its block ends, and rolls back when the block raises.
    """

    def transaction(self, verb: str) -> AbstractContextManager[Transaction]: ...

    def view(self, verb: str) -> AbstractContextManager[View]: ...

    @property
    def counters(self) -> Counters: ...

    def close(self) -> None: ...
