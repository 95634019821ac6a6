"""A store in memory: the contract in its simplest form. Nothing survives the process."""

from __future__ import annotations

from typing import Any

from runcoord.ports import Counters
from runcoord.testing.memory_data import MemoryData, Opener
from runcoord.testing.memory_transaction import MemoryTransaction
from runcoord.testing.memory_view import TABLES, MemoryView, key_text


class MemoryStore:
    """:class:`~runcoord.ports.Store` over dictionaries. ``MemoryStore(other.data)`` opens the same data.

    One transaction or view holds the data at a time; an opener of another thread waits for it.
    """

    def __init__(self, data: MemoryData | None = None) -> None:
        self.data = data or MemoryData()
        self._opener = Opener(self.data)

    def transaction(self, verb: str) -> MemoryTransaction:
        return MemoryTransaction(self._opener, verb)

    def view(self, verb: str) -> MemoryView:
        return MemoryView(self._opener, verb)

    @property
    def counters(self) -> Counters:
        """What this opener did. A call of a view counts as one statement, a row written as another."""
        return self._opener.counters

    def close(self) -> None:
        """This opener is closed; the data stay for others."""
        self._opener.closed = True

    def plant(self, table: str, key: str, column: str, value: object) -> None:
        """Make a row undecodable, as if ``column`` held ``value``: for tests of how bad rows are isolated.

        ``table`` is one of the SQLite store's, ``key`` the row's key, with the number behind a slash where
        there are several for a run. A planted ``state`` takes the row out of every list that asks for a
        state; a planted ``lease_boottime`` is no time. ``KeyError`` when there is no such row.
        """
        rows: dict[str, Any]
        if table in TABLES.values():
            rows = {key_text(each): record for each, record in self.data.records.items()}
        elif table == "refused_folders":
            rows = {"/".join(each): folder for each, folder in self.data.refused_folders.items()}
        else:
            rows = getattr(self.data, table)
        rows[key]
        self.data.planted[table, key] = (column, value)
