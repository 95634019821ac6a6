"""Both stores keep the contract; SQLite in both of its journal modes."""

from __future__ import annotations

from pathlib import Path

import pytest

from runcoord._stores.connections import Tuning
from runcoord.ports import Store
from runcoord.testing import ManualClock, ManualSleeper, MemoryData, MemoryStore, StoreContract

from .sqlite_files import WAL, opened, plant


class TestSqliteStore(StoreContract):
    tuning = Tuning()

    @pytest.fixture(autouse=True)
    def _directory(self, tmp_path: Path) -> None:
        self.path = tmp_path / "store.sqlite"

    def make_store(self, clock: ManualClock, sleeper: ManualSleeper) -> Store:
        return opened(self.path, clock, tuning=self.tuning)

    def plant(self, store: Store, table: str, key: str, column: str, value: object) -> None:
        plant(self.path, table, key, column, value)


class TestSqliteStoreWithAWriteAheadLog(TestSqliteStore):
    tuning = WAL


class TestMemoryStore(StoreContract):
    def setup_method(self) -> None:
        super().setup_method()
        self.data = MemoryData()

    def make_store(self, clock: ManualClock, sleeper: ManualSleeper) -> Store:
        return MemoryStore(self.data)

    def plant(self, store: Store, table: str, key: str, column: str, value: object) -> None:
        assert isinstance(store, MemoryStore)
        store.plant(table, key, column, value)
