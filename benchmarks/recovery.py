"""Recovering 10,000 expired runs, against the same rows written by bare SQL in batches of 256."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from pathlib import Path

from measuring import Ratio, compare, timed

from runcoord import Coordinator, Ports, open_coordinator
from runcoord._stores.connections import Tuning
from runcoord.ports import Message
from runcoord.testing import ManualClock

RUNS = 10_000
BATCH = 256


def measure(directory: Path) -> list[Ratio]:
    """Takeover, outcome, event and delivery of every run; and what an empty sweep costs."""
    return [_recover(directory), _empty_sweep(directory)]


def _accept(message: Message) -> None:
    del message


def _opened(path: Path, clock: ManualClock) -> Coordinator:
    return open_coordinator(path, destinations={"chat": _accept}, ports=Ports(clock=clock))


def _filled(path: Path, clock: ManualClock, runs: int) -> None:
    """A store with ``runs`` running runs under live leases."""
    with _opened(path, clock) as coordinator:
        coordinator.submit({"n": 0}, run_id="r0", destination="chat", task="as the others")
        coordinator.start(coordinator.claim("r0"))
    link = sqlite3.connect(path)
    columns = [
        row[1] for row in link.execute("PRAGMA table_info(runs)") if row[1] not in ("seq", "run_id", "line")
    ]
    names = ", ".join(columns)
    with link:
        link.executemany(
            f"INSERT INTO runs (run_id, line, {names}) SELECT ?, ?, {names} FROM runs WHERE run_id = 'r0'",
            ((f"r{number}", f"r{number}") for number in range(1, runs)),
        )
    link.close()


def _recover(directory: Path) -> Ratio:
    place = Path(tempfile.mkdtemp(dir=directory))
    clock = ManualClock()
    _filled(place / "seed.db", clock, RUNS)
    clock.advance(91)
    _bare_seed(place / "bare-seed.db")

    def sweep() -> float:
        shutil.copy(place / "seed.db", place / "runs.db")
        with _opened(place / "runs.db", clock) as coordinator:
            seconds = timed(coordinator.recover)
            (place / "runs.db").with_suffix(".db-journal").unlink(missing_ok=True)
        return seconds

    def bare() -> float:
        shutil.copy(place / "bare-seed.db", place / "bare.db")
        link = sqlite3.connect(place / "bare.db", isolation_level=None)
        tuning = Tuning()
        link.execute(f"PRAGMA journal_mode = {'wal' if tuning.wal else tuning.rollback_journal}")
        link.execute("PRAGMA synchronous = FULL")
        try:
            return timed(lambda: _bare_recovery(link))
        finally:
            link.close()

    try:
        return compare(f"recovering {RUNS:,} expired runs", sweep, bare, goal=4.0, rounds=5)
    finally:
        shutil.rmtree(place)


def _bare_seed(path: Path) -> None:
    link = sqlite3.connect(path)
    with link:
        link.execute(
            "CREATE TABLE runs (seq INTEGER PRIMARY KEY, run_id TEXT UNIQUE, state TEXT, version INTEGER,"
            " owner TEXT, epoch INTEGER, lease REAL, outcome TEXT, error TEXT, finished REAL, payload TEXT,"
            " task TEXT)"
        )
        link.execute("CREATE INDEX leases ON runs (lease) WHERE state = 'running'")
        link.execute(
            "CREATE TABLE events (seq INTEGER PRIMARY KEY, event_id TEXT UNIQUE, run_id TEXT, kind TEXT,"
            " body TEXT, destination TEXT, state TEXT, due REAL, attempt INTEGER, owner TEXT, delivered REAL)"
        )
        link.execute("CREATE INDEX waiting ON events (due) WHERE state IN ('pending', 'sending')")
        link.executemany(
            "INSERT INTO runs (run_id, state, version, owner, epoch, lease, payload, task)"
            " VALUES (?, 'running', 3, 'gone', 1, 100.0, '{\"n\":0}', 'as the others')",
            ((f"r{number}",) for number in range(RUNS)),
        )
    link.close()


def _bare_recovery(link: sqlite3.Connection) -> None:
    """The same rows: take over, end, write the event, claim it, acknowledge it; a batch is a transaction."""
    while True:
        found = link.execute(
            "SELECT run_id FROM runs WHERE state = 'running' AND lease <= 200.0 LIMIT ?", (BATCH,)
        ).fetchall()
        if not found:
            break
        link.execute("BEGIN IMMEDIATE")
        link.executemany(
            "UPDATE runs SET state = 'finished', version = version + 1, owner = 'me', epoch = epoch + 1,"
            " lease = NULL, outcome = 'interrupted', error = 'interrupted', finished = 200.0"
            " WHERE run_id = ? AND version = 3",
            found,
        )
        link.executemany(
            "INSERT INTO events (event_id, run_id, kind, body, destination, state, due, attempt)"
            " VALUES (?, ?, 'run.finished', ?, 'chat', 'pending', 200.0, 0)",
            ((f"{run}/finished", run, "x" * 500) for (run,) in found),
        )
        link.execute("COMMIT")
    while True:
        due = link.execute(
            "SELECT event_id FROM events WHERE state = 'pending' AND due <= 200.0 LIMIT ?", (BATCH,)
        ).fetchall()
        if not due:
            break
        link.execute("BEGIN IMMEDIATE")
        link.executemany(
            "UPDATE events SET state = 'sending', attempt = attempt + 1, owner = 'me', due = 260.0"
            " WHERE event_id = ?",
            due,
        )
        link.execute("COMMIT")
        link.execute("BEGIN IMMEDIATE")
        link.executemany("UPDATE events SET state = 'delivered', delivered = 200.0 WHERE event_id = ?", due)
        link.execute("COMMIT")


SWEEPS = 50


def _empty_sweep(directory: Path) -> Ratio:
    place = Path(tempfile.mkdtemp(dir=directory))
    clock = ManualClock()
    _filled(place / "few.db", clock, 10)
    _filled(place / "many.db", clock, RUNS)
    few, many = _opened(place / "few.db", clock), _opened(place / "many.db", clock)

    def sweeps(coordinator: Coordinator) -> float:
        return timed(lambda: [coordinator.recover() for _ in range(SWEEPS)])

    try:
        return compare(
            f"an empty sweep over {RUNS:,} live runs against 10",
            lambda: sweeps(many),
            lambda: sweeps(few),
            goal=2.0,
        )
    finally:
        few.close()
        many.close()
        shutil.rmtree(place)
