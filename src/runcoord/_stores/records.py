"""Rows about processes and owners, to values and back.

An identity that cannot be understood is a value of its own: whoever deals with the process must know that
there was one. Everything else that makes no sense is a bad row.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from runcoord._core.events import canonical_json, survivor_document
from runcoord._core.identity import UnknownIdentity, identity_from
from runcoord._core.model import Cleanup, CleanupState, Deadline, Survivor
from runcoord._core.records import (
    Audit,
    Identity,
    Owner,
    Record,
    RecordedProcess,
    Role,
    Snapshot,
    SnapshotState,
    Teardown,
    terms_from,
)
from runcoord._core.teardown import Fate, report_from
from runcoord._core.values import value
from runcoord.errors import UndecodableRow

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import Any, Generic, TypeVar

    Row = tuple[Any, ...]
    V = TypeVar("V", RecordedProcess, Audit, Teardown, Snapshot, Owner)
else:  # what it is generic in is not asked for at run time
    V = None

    class Generic:
        __slots__ = ()

        def __class_getitem__(cls, kind):
            return cls


@value
class Kind(Generic[V]):
    """How one kind is stored."""

    table: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    """The columns of the primary key, which are the first ones."""
    encode: Callable[[V], Row]
    build: Callable[[Row], V]
    """May raise ``ValueError``, ``TypeError`` or ``KeyError`` for a row that makes no sense."""

    @property
    def upsert(self) -> str:
        marks = ", ".join("?" * len(self.columns))
        changed = ", ".join(f"{each} = excluded.{each}" for each in self.columns[len(self.key) :])
        return (
            f"INSERT INTO {self.table} ({', '.join(self.columns)}) VALUES ({marks})"
            f" ON CONFLICT ({', '.join(self.key)}) DO UPDATE SET {changed}"
        )

    @property
    def of_run(self) -> str:
        return (
            f"SELECT {', '.join(self.columns)} FROM {self.table} WHERE run_id = :run_id"
            f" ORDER BY {', '.join(self.key)} LIMIT :limit"
        )

    @property
    def remove(self) -> str:
        return (
            f"DELETE FROM {self.table} WHERE run_id = ?"
            " AND EXISTS (SELECT 1 FROM runs WHERE runs.run_id = ? AND runs.state = 'finished')"
        )

    def decode(self, row: Row) -> V:
        """Raises :class:`~runcoord.errors.UndecodableRow`."""
        try:
            return self.build(row)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            key = "/".join(f"{value}" for value in row[: len(self.key)])
            problem = f"{error!r:.200}"
            raise UndecodableRow(
                f"row {key!r} of {self.table} cannot be understood: {problem}",
                remedy="Only this row is affected. Correct it in the store, or restore it from a backup.",
                table=self.table,
                key=key,
            ) from error


# --- what the columns hold -----------------------------------------------------------------------


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} is no text")
    return value


def _whole(value: object, least: int = 1) -> int:
    if not isinstance(value, int) or value < least:
        raise ValueError(f"{value!r:.80} is no number from {least}")
    return value


def _real(value: object) -> float:
    if not isinstance(value, float):
        raise TypeError(f"{value!r:.80} is no time")
    return value


def _identity(value: object) -> Identity:
    try:
        document = json.loads(_text(value))
    except (ValueError, TypeError, RecursionError):
        return UnknownIdentity(f"the record is no JSON: {value!r:.80}")
    return identity_from(document)


def _process(row: Row) -> RecordedProcess:
    run_id, number, role, epoch, identity, terms, at, fate = row
    return RecordedProcess(
        _text(run_id),
        _whole(number),
        Role(role),
        _whole(epoch),
        _identity(identity),
        terms_from(json.loads(terms)),
        _real(at),
        None if fate is None else Fate(fate),
    )


def _process_row(process: RecordedProcess) -> Row:
    return (
        process.run_id,
        process.number,
        process.role.value,
        process.epoch,
        canonical_json(process.identity.document()),
        canonical_json(process.terms.document()),
        process.recorded_at,
        None if process.fate is None else process.fate.value,
    )


def _audit(row: Row) -> Audit:
    run_id, number, intent, at, result = row
    return Audit(
        _text(run_id), _whole(number), _text(intent), _real(at), None if result is None else _text(result)
    )


def _teardown(row: Row) -> Teardown:
    run_id, number, report, at = row
    return Teardown(_text(run_id), _whole(number), report_from(json.loads(report)), _real(at))


def _teardown_row(teardown: Teardown) -> Row:
    report = canonical_json(teardown.report.document())
    return teardown.run_id, teardown.number, report, teardown.at


def _snapshot(row: Row) -> Snapshot:
    run_id, directory, state, report = row
    return Snapshot(_text(run_id), _text(directory), SnapshotState(state), _text(report))


def _owner(row: Row) -> Owner:
    owner, identity, since = row
    return Owner(_text(owner), _identity(identity), _real(since))


KINDS: dict[type[Record], Kind[Any]] = {
    RecordedProcess: Kind(
        "processes",
        ("run_id", "number", "role", "epoch", "identity", "terms", "recorded_at", "fate"),
        ("run_id", "number"),
        _process_row,
        _process,
    ),
    Audit: Kind(
        "audits",
        ("run_id", "round", "intent", "at", "result"),
        ("run_id", "round"),
        lambda audit: (audit.run_id, audit.round, audit.intent, audit.at, audit.result),
        _audit,
    ),
    Teardown: Kind(
        "teardowns", ("run_id", "number", "report", "at"), ("run_id", "number"), _teardown_row, _teardown
    ),
    Snapshot: Kind(
        "snapshots",
        ("run_id", "directory", "state", "report"),
        ("run_id",),
        lambda each: (each.run_id, each.directory, each.state.value, each.report),
        _snapshot,
    ),
    Owner: Kind(
        "owners",
        ("owner", "identity", "since"),
        ("owner",),
        lambda each: (each.owner, canonical_json(each.identity.document()), each.since),
        _owner,
    ),
}
UPSERTS = {kind: each.upsert for kind, each in KINDS.items()}
OF_RUN = {kind: each.of_run for kind, each in KINDS.items() if kind is not Owner}
#: Pruning.
REMOVALS = [each.remove for kind, each in KINDS.items() if kind is not Owner]


# --- the clean-up of a run, one column of its row ------------------------------------------------


def cleanup_text(cleanup: Cleanup | None) -> str | None:
    """JSON text; when recovery may try next stands in the columns of the lease, where a list finds it."""
    if cleanup is None:
        return None
    return canonical_json(
        {
            "state": cleanup.state.value,
            "processes": cleanup.processes,
            "teardowns": cleanup.teardowns,
            "rounds": cleanup.rounds,
            "attempts": cleanup.attempts,
            "deferred": cleanup.deferred,
            "survivors": [survivor_document(each) for each in cleanup.survivors],
            "unnamed": cleanup.unnamed,
        }
    )


def cleanup_from(text: str, due: Deadline | None) -> Cleanup:
    """Raises ``KeyError``, ``TypeError`` or ``ValueError`` for what is none."""
    document = json.loads(text)
    counts = [
        _whole(document[name], 0) for name in ("processes", "teardowns", "rounds", "attempts", "unnamed")
    ]
    processes, teardowns, rounds, attempts, unnamed = counts
    return Cleanup(
        CleanupState(document["state"]),
        processes,
        teardowns,
        rounds,
        attempts,
        bool(document["deferred"]),
        due,
        tuple(_survivor(each) for each in document["survivors"]),
        unnamed,
    )


def _survivor(document: dict[str, Any]) -> Survivor:
    pid = document["pid"]
    name, fate, why = (_text(document[each]) for each in ("name", "fate", "why"))
    return Survivor(None if pid is None else _whole(pid), name, fate, why)
