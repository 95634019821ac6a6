"""A run's life against five bare commits of one row, in the same journal and sync mode."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
import tempfile
from pathlib import Path

from measuring import Ratio, compare, timed

from runcoord import Ports, open_coordinator
from runcoord._clock import SystemClock, SystemSleeper
from runcoord._stores.connections import Tuning
from runcoord._stores.sqlite import open_sqlite

LIVES = 100
"""Runs of one measurement."""


def measure(directory: Path) -> list[Ratio]:
    """With syncing as shipped, and without (where the share of Python shows)."""
    return [_measure(directory, "FULL", 1.3), _measure(directory, "OFF", 2.5)]


def _measure(directory: Path, synchronous: str, goal: float) -> Ratio:
    place = Path(tempfile.mkdtemp(dir=directory))
    tuning = Tuning(synchronous=synchronous)
    store = open_sqlite(place / "runs.db", clock=SystemClock(), sleeper=SystemSleeper(), tuning=tuning)
    accepted: list[str] = []
    coordinator = open_coordinator(
        place / "runs.db",
        destinations={"chat": lambda message: accepted.append(message.event_id)},
        ports=Ports(store=store),
    )
    bare = sqlite3.connect(place / "bare.db", isolation_level=None)
    bare.execute(f"PRAGMA journal_mode = {'wal' if tuning.wal else tuning.rollback_journal}")
    bare.execute(f"PRAGMA synchronous = {synchronous}")
    bare.execute("CREATE TABLE rows (id TEXT PRIMARY KEY, body TEXT)")
    numbers = itertools.count()

    def lives() -> float:
        def work() -> None:
            for _ in range(LIVES):
                name = f"run-{next(numbers)}"
                coordinator.submit({"n": 1}, run_id=name, destination="chat")
                lease = coordinator.claim(name)
                coordinator.start(lease)
                done = coordinator.complete(lease, "completed", result="done")
                assert done.delivery is not None
                accepted.append(done.delivery.event.event_id)
                coordinator.acknowledge(done.delivery)

        return timed(work)

    def commits() -> float:
        def work() -> None:
            for _ in range(5 * LIVES):
                bare.execute("BEGIN IMMEDIATE")
                bare.execute("INSERT INTO rows VALUES (?, ?)", (f"row-{next(numbers)}", "x" * 200))
                bare.execute("COMMIT")

        return timed(work)

    try:
        return compare(f"a run's life, synchronous={synchronous}", lives, commits, goal=goal)
    finally:
        coordinator.close()
        bare.close()
        shutil.rmtree(place)
