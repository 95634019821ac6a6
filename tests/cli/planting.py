"""Stores with runs in every state of their life, made through the library."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

from runcoord import Coordinator, Lease, Outcome, Ports, open_coordinator
from runcoord.errors import DestinationRefused
from runcoord.ports import Message
from runcoord.testing import CountingIds, ManualClock, ManualSleeper

REFUSAL = "the room was archived"


def accepts(_: Message) -> None:
    """A destination that takes everything."""


def refuses(_: Message) -> None:
    raise DestinationRefused(REFUSAL)


def is_down(_: Message) -> None:
    raise ConnectionError("connection refused")


class Garden:
    """A coordinator that plants runs. ``chat`` accepts events, ``archived`` refuses them, ``sms`` is down."""

    def __init__(self, path: Path, clock: ManualClock) -> None:
        self.path = path
        self.clock = clock
        self.coordinator: Coordinator = open_coordinator(
            path,
            destinations={"chat": accepts, "archived": refuses, "sms": is_down},
            owner="worker-1",
            ports=Ports(clock=clock, ids=CountingIds(), sleeper=ManualSleeper(clock)),
        )

    def accepted(self, run_id: str, *, destination: str = "chat", payload: Any = None, **more: Any) -> str:
        return self.coordinator.submit(payload, run_id=run_id, destination=destination, **more).run_id

    def claimed(self, run_id: str, **more: Any) -> Lease:
        self.accepted(run_id, **more)
        return self.coordinator.claim(run_id)

    def running(self, run_id: str, **more: Any) -> Lease:
        lease = self.claimed(run_id, **more)
        self.coordinator.start(lease)
        return lease

    def finished(
        self, run_id: str, outcome: str = "completed", *, result: str = "", error: str = "", **more: Any
    ) -> str:
        """A run that ended; its event is where its destination left it."""
        self.coordinator.complete(self.running(run_id, **more), Outcome(outcome), result=result, error=error)
        self.coordinator.deliver()
        return run_id

    def everything(self) -> None:
        """One run of each kind that the command line tells apart."""
        self.finished("completed", task="weekly report", result="all is well")
        self.finished("failed", "failed", task="billing", error="no such table")
        self.coordinator.retry("failed")
        self.finished("held", destination="archived")
        self.finished("nowhere", destination="")
        self.finished("waiting", destination="sms")
        self.accepted("withdrawn")
        self.coordinator.stop("withdrawn", "not wanted any more")
        lease = self.running("late")
        self.clock.advance(100)
        self.coordinator.complete(lease, "completed")
        self.running("expired")
        self.clock.advance(100)
        self.coordinator.stop(self.running("stopping").run_id, "too expensive")
        self.claimed("claimed")
        self.accepted("accepted")
        self.coordinator.deliver()

    def sql(self, statement: str, *values: object) -> None:
        """Change the store behind the library's back, as a fault or another program would."""
        with contextlib.closing(sqlite3.connect(self.path)) as connection, connection:
            changed = connection.execute(statement, values).rowcount
        assert changed > 0, "the statement found nothing to change"
