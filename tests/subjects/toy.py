"""A coordinator of about sixty lines, and its subject: what most of these tests run on."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_runcoord.subjects import RunSeen, SessionBase, Snapshot, SubjectBase, SubjectWorld, deadline

SCHEMA = """CREATE TABLE IF NOT EXISTS jobs
    (id TEXT PRIMARY KEY, state TEXT, owner TEXT, until REAL, result TEXT, tries INT)"""


class Taken(Exception):
    """Somebody else works on it."""


class NotYours(Exception):
    """The job is not, or no longer, this worker's."""


class Unknown(Exception):
    """There is no such job."""


@dataclass
class Job:
    id: str
    epoch: int


class Toy:
    """Jobs in one table. A job is claimed until a time, and completed by whoever claimed it."""

    def __init__(self, path: Path, worker: str) -> None:
        self.worker = worker
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute(SCHEMA)

    def put(self, job: str) -> None:
        self.db.execute("INSERT OR IGNORE INTO jobs VALUES (?, 'waiting', '', 0, '', 0)", (job,))

    def take(self, job: str, now: float, seconds: float) -> Job:
        if self.db.execute("SELECT 1 FROM jobs WHERE id = ?", (job,)).fetchone() is None:
            raise Unknown(job)
        taken = self.db.execute(
            "UPDATE jobs SET state = 'taken', owner = ?, until = ?, tries = tries + 1 WHERE id = ? AND "
            "(state = 'waiting' OR state = 'taken' AND until <= ?)",
            (self.worker, now + seconds, job, now),
        )
        if taken.rowcount == 0:
            raise Taken(job)
        [tries] = self.db.execute("SELECT tries FROM jobs WHERE id = ?", (job,)).fetchone()
        return Job(job, tries)

    def done(self, job: Job, result: str) -> None:
        written = self.db.execute(
            "UPDATE jobs SET state = 'done', result = ? WHERE id = ? AND owner = ? AND state = 'taken'",
            (result, job.id, self.worker),
        )
        if written.rowcount == 0:
            raise NotYours(job.id)


class ToySession(SessionBase):
    def __init__(self, owner: str, world: SubjectWorld) -> None:
        super().__init__(owner, world)
        self.toy = Toy(world.directory / "toy.db", owner)

    def submit(self, run: str) -> None:
        self.toy.put(run)

    def claim(self, run: str, lease: float = 90.0) -> Job:
        return self.toy.take(run, self.world.clock.wall(), lease)

    def complete(self, lease: Job, result: str = "") -> None:
        self.toy.done(lease, result)

    def close(self) -> None:
        self.toy.db.close()

    abandon = close


STATES = {"waiting": "accepted", "taken": "claimed", "done": "finished"}


class ToySubject(SubjectBase):
    name = "toy"
    version = "1"
    session: type[Any] = ToySession
    promises: tuple[str, ...] = ("epochs", "owners")
    refusals = {Taken: "lease-held", NotYours: "lease-lost", Unknown: "unknown-run"}  # noqa: RUF012

    def snapshot(self, world: SubjectWorld) -> Snapshot:
        path = world.directory / "toy.db"
        if not path.exists():
            return Snapshot({}, {})
        db = sqlite3.connect(path)
        rows = db.execute("SELECT id, state, owner, until, result, tries FROM jobs").fetchall()
        db.close()
        return Snapshot(
            {
                job: RunSeen(
                    job,
                    STATES[state],
                    outcome="completed" if state == "done" else None,
                    epoch=tries,
                    owner=owner if state == "taken" else "",
                    lease=deadline(world, wall=until) if state == "taken" else None,
                    result=result,
                )
                for job, state, owner, until, result, tries in rows
            },
            {},
        )
