"""The data of the memory store, and the lock on them."""

from __future__ import annotations

import threading
from threading import get_ident
from typing import Any

from runcoord._core.limits import LOCK_WAIT_SECONDS
from runcoord.errors import StoreLocked, StoreUnavailable
from runcoord.ports import Command, Counters, Event, Group, Owner, RefusedFolder, Run, RunRecord

MISSING: Any = object()


class MemoryData:
    """What several :class:`MemoryStore` share: the data, and the lock that one transaction or view holds."""

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}
        self.run_numbers: dict[str, int] = {}
        self.unfinished: dict[str, None] = {}
        self.cleaning: dict[str, None] = {}
        """Finished runs whose processes are not dealt with."""
        self.commands: dict[str, Command] = {}
        self.groups: dict[str, Group] = {}
        self.events: dict[str, Event] = {}
        self.undelivered: dict[str, None] = {}
        self.events_of_run: dict[str, tuple[str, ...]] = {}
        self.owners: dict[str, Owner] = {}
        self.records: dict[tuple[type[RunRecord], str, int], RunRecord] = {}
        """By kind, run and number; a snapshot has the number 0."""
        self.refused_folders: dict[tuple[str, str], RefusedFolder] = {}
        """By root and name."""
        self.planted: dict[tuple[str, str], tuple[str, object]] = {}
        self.last_numbers = {"runs": 0, "events": 0}
        self._lock = threading.Lock()
        self._holder: tuple[int, object] | None = None

    def take(self, store: Opener) -> None:
        if store.closed:
            raise StoreUnavailable("the store is closed", remedy="Open it again.")
        me = get_ident()
        holder = self._holder
        if holder is not None and holder[0] == me:
            if holder[1] is store:
                raise RuntimeError("a transaction or view of this store is open already in this thread")
            raise StoreLocked(
                "the store is locked by this very thread, through another opener",
                remedy="End the one transaction or view before the other begins.",
            )
        if not (self._lock.acquire(False) or self._lock.acquire(True, LOCK_WAIT_SECONDS)):
            raise StoreLocked(
                f"the store is locked by another thread for {LOCK_WAIT_SECONDS:g} s", remedy="Try again."
            )
        self._holder = (me, store)

    def give_back(self) -> None:
        self._holder = None
        self._lock.release()


class Opener:
    """One opening of the data: what it counts, and whether it is closed."""

    def __init__(self, data: MemoryData) -> None:
        self.data = data
        self.counters = Counters()
        self.closed = False
