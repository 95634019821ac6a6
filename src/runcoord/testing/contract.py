"""The suite that every store must pass.

A store's maker writes one test class, and pytest finds the rest::

    class TestMyStore(StoreContract):
        def make_store(self, clock, sleeper): ...
        def plant(self, store, table, key, column, value): ...

pytest is not imported here; tests are plain methods with asserts that carry their values.
"""

from __future__ import annotations

from runcoord.testing.contract_bad_rows import BadRowContract
from runcoord.testing.contract_events import EventsContract
from runcoord.testing.contract_folders import FoldersContract
from runcoord.testing.contract_processes import ProcessesOfRunsContract
from runcoord.testing.contract_pruning import PruningContract
from runcoord.testing.contract_runs import RunsContract
from runcoord.testing.contract_transactions import TransactionContract


class StoreContract(
    TransactionContract,
    RunsContract,
    EventsContract,
    ProcessesOfRunsContract,
    PruningContract,
    FoldersContract,
    BadRowContract,
):
    """Everything that the coordinator relies on. Fill in ``make_store`` and ``plant``."""
