"""The schema, as numbered migrations.

A migration is applied once, under the write lock, in one transaction with the number that it leaves in
``user_version``. A change of the schema is a new migration at the end; those that were released stay as
they are.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from runcoord._core.values import value
from runcoord.errors import StoreDamaged, StoreTooNew

APPLICATION_ID = 0x72756E63
"""Marks a file as ours in its header: "runc" in ASCII."""


@value
class Migration:
    """One step of the schema."""

    number: int
    says: str
    statements: tuple[str, ...]
    tables: frozenset[str] = frozenset()
    """Tables that it creates. A store that has applied it and lacks one is damaged."""


MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        1,
        "runs with their commands, events, groups and processes, and who the owners are",
        (
            # Wide values stand last, so that a look at the others does not read their pages.
            """CREATE TABLE runs (
                seq INTEGER PRIMARY KEY,
                run_id TEXT NOT NULL UNIQUE,
                created_at REAL NOT NULL,
                line TEXT NOT NULL,
                retry_of TEXT NOT NULL,
                interruptions INTEGER NOT NULL,
                destination TEXT NOT NULL,
                agent TEXT NOT NULL,
                conversation_key TEXT NOT NULL,
                group_id TEXT NOT NULL,
                group_size INTEGER NOT NULL,
                interruption_budget INTEGER NOT NULL,
                lineage TEXT NOT NULL,
                depth INTEGER NOT NULL,
                state TEXT NOT NULL,
                version INTEGER NOT NULL,
                epoch INTEGER NOT NULL,
                owner TEXT NOT NULL,
                lease_wall REAL,
                lease_boottime REAL,
                lease_boot TEXT,
                lease_seconds REAL NOT NULL,
                started_at REAL,
                finished_at REAL,
                stop_requested_at REAL,
                notes INTEGER NOT NULL,
                outcome TEXT,
                reported TEXT,
                result_truncated INTEGER NOT NULL,
                late INTEGER NOT NULL,
                retried_as TEXT NOT NULL,
                exit_status INTEGER,
                cleanup TEXT,
                stop_reason TEXT NOT NULL,
                progress TEXT NOT NULL,
                error TEXT NOT NULL,
                task TEXT NOT NULL,
                result TEXT NOT NULL,
                payload TEXT NOT NULL
            )""",
            # No lists of more than two in these conditions: SQLite would build a table of them for every
            # statement that writes, which doubled its cost.
            # One index for all that is under way, so that a claim writes one page of it: accepted runs in
            # their order, leased ones by their lease. Finished runs whose processes are not dealt with have
            # the time at which recovery may try next in the columns of the lease.
            """CREATE INDEX runs_live ON runs
                (state, lease_boot, lease_boottime, seq, lease_wall, run_id)
                WHERE state <> 'finished' OR lease_boot IS NOT NULL""",
            """CREATE INDEX runs_unknown ON runs (state)
                WHERE state <> 'accepted' AND state <> 'claimed' AND state <> 'running'
                AND state <> 'finished'""",
            "CREATE INDEX runs_finished ON runs (finished_at) WHERE state = 'finished'",
            """CREATE INDEX runs_of_lineage ON runs (lineage)
                WHERE lineage <> '' AND state <> 'finished'""",
            "CREATE INDEX runs_of_group ON runs (group_id) WHERE group_id <> ''",
            """CREATE TABLE commands (
                key TEXT PRIMARY KEY NOT NULL,
                run_id TEXT NOT NULL,
                content_hash TEXT NOT NULL,
                created_at REAL NOT NULL
            ) WITHOUT ROWID""",
            # The usual key is the run's id itself, and needs no second way to it.
            "CREATE INDEX commands_of_run ON commands (run_id) WHERE key <> run_id",
            """CREATE TABLE events (
                seq INTEGER PRIMARY KEY,
                event_id TEXT NOT NULL UNIQUE,
                run_id TEXT NOT NULL,
                kind TEXT NOT NULL,
                created_at REAL NOT NULL,
                destination TEXT NOT NULL,
                state TEXT NOT NULL,
                due_wall REAL NOT NULL,
                due_boottime REAL NOT NULL,
                due_boot TEXT NOT NULL,
                attempt INTEGER NOT NULL,
                owner TEXT NOT NULL,
                delivered_at REAL,
                told INTEGER NOT NULL,
                failures INTEGER NOT NULL,
                unanswered INTEGER NOT NULL,
                group_id TEXT NOT NULL,
                reason TEXT NOT NULL,
                body TEXT NOT NULL
            )""",
            # The usual event of a run is found by its id.
            "CREATE INDEX events_of_run ON events (run_id) WHERE event_id <> run_id || '/finished'",
            """CREATE INDEX events_waiting ON events (state, due_boot, due_boottime, due_wall, owner)
                WHERE state IN ('pending', 'sending')""",
            # Held ones, and those of an unknown state.
            """CREATE INDEX events_parked ON events (state, told, seq)
                WHERE state <> 'pending' AND state <> 'sending' AND state <> 'delivered'""",
            # Summaries and digests, once they are delivered.
            "CREATE INDEX events_runless ON events (delivered_at) WHERE run_id = '' AND state = 'delivered'",
            """CREATE TABLE groups (
                group_id TEXT PRIMARY KEY NOT NULL,
                size INTEGER NOT NULL,
                destination TEXT NOT NULL,
                completed INTEGER NOT NULL,
                failed INTEGER NOT NULL,
                stopped INTEGER NOT NULL,
                interrupted INTEGER NOT NULL
            ) WITHOUT ROWID""",
            # The highest number of an event that was there when events were last removed. A reader that
            # follows them by number must not miss one that got the number of a removed one. AUTOINCREMENT
            # says the same, but writes a page more with every event.
            "CREATE TABLE removed (last_event INTEGER NOT NULL)",
            "INSERT INTO removed VALUES (0)",
            """CREATE TABLE owners (
                owner TEXT PRIMARY KEY NOT NULL,
                identity TEXT NOT NULL,
                since REAL NOT NULL
            ) WITHOUT ROWID""",
            """CREATE TABLE processes (
                run_id TEXT NOT NULL,
                number INTEGER NOT NULL,
                role TEXT NOT NULL,
                epoch INTEGER NOT NULL,
                identity TEXT NOT NULL,
                terms TEXT NOT NULL,
                recorded_at REAL NOT NULL,
                fate TEXT,
                PRIMARY KEY (run_id, number)
            ) WITHOUT ROWID""",
            """CREATE TABLE audits (
                run_id TEXT NOT NULL,
                round INTEGER NOT NULL,
                intent TEXT NOT NULL,
                at REAL NOT NULL,
                result TEXT,
                PRIMARY KEY (run_id, round)
            ) WITHOUT ROWID""",
            """CREATE TABLE teardowns (
                run_id TEXT NOT NULL,
                number INTEGER NOT NULL,
                report TEXT NOT NULL,
                at REAL NOT NULL,
                PRIMARY KEY (run_id, number)
            ) WITHOUT ROWID""",
            """CREATE TABLE snapshots (
                run_id TEXT PRIMARY KEY NOT NULL,
                directory TEXT NOT NULL,
                state TEXT NOT NULL,
                report TEXT NOT NULL
            ) WITHOUT ROWID""",
        ),
        frozenset(
            {
                *("runs", "commands", "events", "groups", "removed"),
                *("owners", "processes", "audits", "teardowns", "snapshots"),
            }
        ),
    ),
    Migration(
        2,
        "where imported runs come from, and which folders were refused",
        (
            "ALTER TABLE runs ADD COLUMN source_root TEXT",
            "ALTER TABLE runs ADD COLUMN source_ended REAL",
            "ALTER TABLE runs ADD COLUMN source TEXT",
            "ALTER TABLE runs ADD COLUMN source_mark TEXT",
            "ALTER TABLE runs ADD COLUMN source_state TEXT",
            # A pass over known folders reads nothing but this index. Columns that other updates name are not
            # in it, so that these cost what they did.
            """CREATE INDEX runs_of_source ON runs
                (source_root, run_id, source_mark, source_state, source_ended)
                WHERE source_root IS NOT NULL""",
            """CREATE TABLE refused_folders (
                root TEXT NOT NULL,
                folder TEXT NOT NULL,
                mark TEXT NOT NULL,
                kind TEXT NOT NULL,
                reason TEXT NOT NULL,
                seen_at REAL NOT NULL,
                PRIMARY KEY (root, folder)
            ) WITHOUT ROWID""",
        ),
        frozenset({"refused_folders"}),
    ),
)


@value
class Found:
    """What an opened file says of itself."""

    application: int
    version: int
    tables: frozenset[str]

    @property
    def empty(self) -> bool:
        return not self.application and not self.version and not self.tables


def look(connection: sqlite3.Connection) -> Found:
    """Read what the file says of itself. Changes nothing."""
    [application] = connection.execute("PRAGMA application_id").fetchone()
    [version] = connection.execute("PRAGMA user_version").fetchone()
    names = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
    return Found(application, version, frozenset(name for (name,) in names if not name.startswith("sqlite_")))


def outstanding(found: Found, path: str, migrations: Sequence[Migration] = MIGRATIONS) -> Sequence[Migration]:
    """The migrations that the file lacks.

    Raises :class:`~runcoord.errors.StoreTooNew` for a file of a newer version of this program and
    :class:`~runcoord.errors.StoreDamaged` for one that is not ours or has lost a table.
    """
    if found.empty:
        return migrations
    if found.application != APPLICATION_ID:
        raise StoreDamaged(
            f"the file is a database of another program: {path}",
            remedy="Name another path; this file was left as it is.",
            path=path,
            application_id=found.application,
            tables=sorted(found.tables)[:10],
        )
    newest = migrations[-1].number
    if found.version > newest:
        raise StoreTooNew(
            f"the store has schema {found.version}, this runcoord knows schemas up to {newest}: {path}",
            remedy="Use the newer runcoord that wrote it; nothing was touched.",
            path=path,
            found=found.version,
            known=newest,
        )
    expected = [each.tables for each in migrations if each.number <= found.version]
    missing = frozenset[str]().union(*expected) - found.tables
    if missing or found.version < 1:
        raise StoreDamaged(
            f"the store has schema {found.version} but lacks its tables {sorted(missing)}: {path}",
            remedy="Restore the file from a backup; it was left as it is.",
            path=path,
            missing=sorted(missing),
        )
    return [migration for migration in migrations if migration.number > found.version]


def apply(connection: sqlite3.Connection, migrations: Sequence[Migration]) -> None:
    """Apply ``migrations`` within the caller's write transaction."""
    for migration in migrations:
        for statement in migration.statements:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {migration.number}")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
