"""Opening SQLite stores, and looking into their files behind their back."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runcoord._clock import SystemClock, SystemSleeper
from runcoord._stores.connections import Tuning
from runcoord._stores.sqlite import SqliteStore, open_sqlite
from runcoord.testing import ManualClock, ManualSleeper

KEYS = {
    "runs": "run_id",
    "commands": "key",
    "events": "event_id",
    "groups": "group_id",
    "owners": "owner",
    "processes": "run_id || '/' || number",
    "audits": "run_id || '/' || round",
    "teardowns": "run_id || '/' || number",
    "snapshots": "run_id",
    "refused_folders": "root || '/' || folder",
}


def opened(path: Path, clock: ManualClock | None = None, **more: Any) -> SqliteStore:
    clock = clock or ManualClock()
    return open_sqlite(path, clock=clock, sleeper=ManualSleeper(clock), **more)


def opened_for_real(path: Path, **more: Any) -> SqliteStore:
    """On the machine's clocks: where other threads or processes hold the lock, waiting must take time."""
    return open_sqlite(path, clock=SystemClock(), sleeper=SystemSleeper(), **more)


@contextlib.contextmanager
def behind(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection of somebody else; what it changes is committed at the end."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=0.0)) as connection:
        yield connection


def plant(path: Path, table: str, key: str, column: str, value: object) -> None:
    with behind(path) as connection:
        changed = connection.execute(f"UPDATE {table} SET {column} = ? WHERE {KEYS[table]} = ?", (value, key))
        assert changed.rowcount == 1


WAL = Tuning(journal="wal")
