"""The toy as an asyncio program, and its subject: what a worker holds is renewed by a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pytest_runcoord.subjects import SessionBase, SubjectWorld
from subjects.toy import Job, Toy, ToySubject

T = TypeVar("T")

HEARTBEAT_SECONDS = 30.0
LEASE_SECONDS = 90.0
AWAY_SECONDS = 0.005
"""As to a database at the other end of a wire."""


class AsyncToy:
    """Jobs in one table; a job is taken for 90 seconds, and a task renews all that this worker holds."""

    def __init__(self, path: Path, worker: str, now: Callable[[], float]) -> None:
        self.worker, self.now = worker, now
        self.toy = Toy(path, worker)
        self._heartbeat: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self.lock = asyncio.Lock()
        self._heartbeat = asyncio.create_task(self._beat(), name="heartbeat")

    async def _away(self, act: Callable[..., T], *args: Any) -> T:
        async with self.lock:
            await asyncio.sleep(AWAY_SECONDS)
            return act(*args)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            await self.renew()

    async def renew(self) -> None:
        until = self.now() + LEASE_SECONDS
        sql = "UPDATE jobs SET until = ? WHERE owner = ? AND state = 'taken'"
        await self._away(self.toy.db.execute, sql, (until, self.worker))

    async def put(self, job: str) -> None:
        await self._away(self.toy.put, job)

    async def take(self, job: str) -> Job:
        return await self._away(self.toy.take, job, self.now(), LEASE_SECONDS)

    async def done(self, job: Job, result: str) -> None:
        await self._away(self.toy.done, job, result)

    async def stop(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.cancel()
            await asyncio.wait([self._heartbeat])
        self.toy.db.close()


class AsyncToySession(SessionBase):
    toy_class = AsyncToy

    def __init__(self, owner: str, world: SubjectWorld) -> None:
        super().__init__(owner, world)
        self.toy = self.toy_class(world.directory / "toy.db", owner, world.clock.wall)

    async def start_up(self) -> None:
        await self.toy.start()

    async def submit(self, run: str) -> None:
        await self.toy.put(run)

    async def claim(self, run: str) -> Job:  # type: ignore[override]
        return await self.toy.take(run)

    async def complete(self, lease: Job, result: str = "") -> None:
        await self.toy.done(lease, result)

    async def close(self) -> None:  # type: ignore[override]
        await self.toy.stop()

    def abandon(self) -> None:
        self.toy.toy.db.close()


class AsyncToySubject(ToySubject):
    name = "async toy"
    session = AsyncToySession


def with_toy(toy: type[AsyncToy]) -> AsyncToySubject:
    """The subject on another coordinator."""
    session = type("Session", (AsyncToySession,), {"toy_class": toy})
    made: AsyncToySubject = type("Subject", (AsyncToySubject,), {"session": session})()
    return made
