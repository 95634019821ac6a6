"""Two small queues of other designs than the reference, right as they are, each with mistakes to be found."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from pytest_runcoord.subjects import (
    Deadline,
    Refused,
    RunSeen,
    SessionBase,
    Snapshot,
    SubjectBase,
    SubjectWorld,
)

SCHEMA = """CREATE TABLE IF NOT EXISTS jobs (seq INTEGER PRIMARY KEY, id TEXT UNIQUE, state TEXT,
    token INTEGER DEFAULT 0, until REAL, boot TEXT, outcome TEXT,
    result TEXT DEFAULT '', error TEXT DEFAULT '')"""
STATES = {"waiting": "accepted", "taken": "running", "done": "finished"}
TIMEOUT_SECONDS = 300.0
"""What is taken for longer than this is put back, where nobody can choose how long."""
FAR_SECONDS = 3600.0


class QueueSession(SessionBase):
    """Claiming is starting. A claim ends after a time on the clock that goes on, or with the boot."""

    mistakes: ClassVar[frozenset[str]] = frozenset()
    seconds = TIMEOUT_SECONDS

    def __init__(self, owner: str, world: SubjectWorld) -> None:
        super().__init__(owner, world)
        self.db = sqlite3.connect(world.directory / "queue.db", isolation_level=None)
        self.db.execute(SCHEMA)
        if "opening takes all" in self.mistakes:
            self.db.execute("UPDATE jobs SET state = 'waiting' WHERE state = 'taken'")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        self.db.execute("BEGIN IMMEDIATE")
        with self.db:
            yield self.db

    def submit(self, run: str, payload: Any = None) -> None:
        with self.writing() as db:
            db.execute("INSERT OR IGNORE INTO jobs (id, state) VALUES (?, 'waiting')", (run,))
            if "put resets" in self.mistakes:
                db.execute("UPDATE jobs SET state = 'waiting' WHERE id = ? AND state = 'taken'", (run,))
            if "put replaces" in self.mistakes:
                db.execute("UPDATE jobs SET state = 'waiting', outcome = NULL WHERE id = ?", (run,))
            if "put goes behind" in self.mistakes:
                db.execute("UPDATE jobs SET seq = (SELECT max(seq) + 1 FROM jobs) WHERE id = ?", (run,))

    def next_id(self, db: sqlite3.Connection) -> str | None:
        order = "DESC" if "newest first" in self.mistakes else ""
        row = db.execute(f"SELECT id FROM jobs WHERE state = 'waiting' ORDER BY seq {order}").fetchone()
        return row[0] if row else None

    def claim_next(self) -> dict[str, Any] | Handle | None:
        return self.take(self.seconds)

    def take(self, seconds: float) -> Handle | None:
        clock = self.world.clock
        with self.writing() as db:
            run = self.next_id(db)
            if run is None:
                return None
            until = (clock.wall() if "wall clock" in self.mistakes else clock.boottime()) + seconds
            db.execute(
                "UPDATE jobs SET state = 'taken', token = token + 1, until = ?, boot = ? WHERE id = ?",
                (until, clock.boot_id(), run),
            )
            [token] = db.execute("SELECT token FROM jobs WHERE id = ?", (run,)).fetchone()
        return Handle(run, token)

    def complete(self, lease: Handle, outcome: str, result: str = "", error: str = "") -> None:
        fence = "" if "no fence" in self.mistakes else " AND state = 'taken' AND token = :token"
        with self.writing() as db:
            done = db.execute(
                "UPDATE jobs SET state = 'done', outcome = :outcome, result = :result, error = :error "
                f"WHERE id = :id{fence}",
                {"outcome": outcome, "result": result, "error": error, "id": lease.run, "token": lease.token},
            )
            if not done.rowcount:
                raise Refused("lease-lost", f"{lease.run} is somebody else's by now, or over")

    def recover(self) -> None:
        if "never recovers" in self.mistakes:
            return
        clock = self.world.clock
        now = clock.wall() if "wall clock" in self.mistakes else clock.boottime()
        live = "0" if "recovery takes all" in self.mistakes else "boot = ? AND until > ?"
        args = () if live == "0" else (clock.boot_id(), now)
        with self.writing() as db:
            db.execute(f"UPDATE jobs SET state = 'waiting' WHERE state = 'taken' AND NOT ({live})", args)

    def close(self) -> None:
        self.db.close()

    abandon = close


class Handle:
    def __init__(self, run: str, token: int) -> None:
        self.run, self.token = run, token


class LeaseSession(QueueSession):
    """Its claims can be of any length, and end without a sweep: the next who asks is given what ran out."""

    def claim_next(self, lease: float = TIMEOUT_SECONDS) -> Handle | None:
        if not 0 < lease < math.inf and "any length" not in self.mistakes:
            raise Refused("invalid-request", f"a lease of {lease} s makes no sense")
        self.recover()
        return self.take(lease)


class Queue(SubjectBase):
    """A queue with one timeout for all: what is taken for longer is put back by a sweep, and done again."""

    name = "queue"
    session: type = QueueSession

    def __init__(self, *mistakes: str) -> None:
        self.session = type("Session", (type(self).session,), {"mistakes": frozenset(mistakes)})
        self.by_wall = "wall clock" in mistakes

    def snapshot(self, world: SubjectWorld) -> Snapshot:
        path = world.directory / "queue.db"
        if not path.exists():
            return Snapshot({}, {})
        db = sqlite3.connect(path)
        rows = db.execute("SELECT id, state, until, boot, outcome, result, error FROM jobs").fetchall()
        db.close()
        return Snapshot(
            {
                run: RunSeen(
                    run,
                    STATES[state],
                    outcome,
                    result=result,
                    error=error,
                    lease=self.until(world, until, boot) if state == "taken" else None,
                )
                for run, state, until, boot, outcome, result, error in rows
            },
            {},
        )

    def until(self, world: SubjectWorld, until: float, boot: str) -> Deadline:
        clock = world.clock
        left = until - (clock.wall() if self.by_wall else clock.boottime())
        if boot != clock.boot_id():
            left = -FAR_SECONDS  # nobody of an earlier boot lives
        return Deadline(clock.wall() + left, clock.boottime() + left, clock.boot_id())


class LeaseQueue(Queue):
    """A queue whose claims say for how long."""

    name = "lease queue"
    session = LeaseSession
