"""litequeue as a subject: what the scenarios drive when they run on it.

Each verb of a scenario is a method of the session, and each calls what litequeue documents for it. What
litequeue does not offer has no method here: scenarios that need it are skipped, and the summary says so.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

from litequeue import LiteQueue, Message, MessageStatus

from pytest_runcoord.subjects import (
    Answer,
    RunSeen,
    SessionBase,
    Snapshot,
    SubjectBase,
    SubjectWorld,
    deadline,
)

LOCKED_SECONDS = 60
"""After so long a message that was popped and not marked done counts as abandoned."""

SEEN = {
    MessageStatus.READY: ("accepted", None),
    MessageStatus.LOCKED: ("running", None),
    MessageStatus.DONE: ("finished", "completed"),
    MessageStatus.FAILED: ("finished", "failed"),
}
"""What a message's status is for a scenario: the state of a run, and its outcome. To pop is to begin."""


class LiteQueueSession(SessionBase):
    """One process that uses the queue, as a producer and as a consumer."""

    def __init__(self, owner: str, world: SubjectWorld) -> None:
        super().__init__(owner, world)
        self.queue = LiteQueue(world.directory / "queue.sqlite3")

    def submit(self, run: str, payload: Any = None) -> None:
        message = self.queue.put(json.dumps({"run": run, "payload": payload}))
        self.world.shared.setdefault("messages", []).append(message.message_id)

    def claim_next(self) -> Answer | None:
        message = self.queue.pop()
        if message is None:
            return None
        return Answer({"run": run_of(message)}, message)  # complete() and release() are given the message

    def complete(self, message: Message, outcome: str) -> None:
        if outcome == "completed":
            self.queue.done(message.message_id)
        else:
            self.queue.mark_failed(message.message_id)

    def release(self, message: Message) -> None:
        self.queue.retry(message.message_id)

    def recover(self) -> None:
        """Not a call of litequeue, but the recipe that its author gives (litequeue issue 1): look at
        ``list_locked()`` every now and then, and do something about what has been locked for long."""
        for message in list(self.queue.list_locked(LOCKED_SECONDS)):
            self.queue.retry(message.message_id)

    def close(self) -> None:
        self.queue.close()

    def abandon(self) -> None:
        self.queue.close()  # every call of litequeue is a transaction of its own: nothing is left to undo


class LiteQueueSubject(SubjectBase):
    name = "litequeue"
    version = f"litequeue {version('litequeue')}"
    session = LiteQueueSession
    promises = ("quiet",)  # opening the queue changes no message
    patches_time = True  # litequeue reads the wall clock by itself

    def snapshot(self, world: SubjectWorld) -> Snapshot:
        """What is durable now, by the ids that ``put()`` gave: litequeue has no list of all messages."""
        queue = LiteQueue(world.directory / "queue.sqlite3")
        try:
            found = [queue.get(each) for each in world.shared.get("messages", ())]
        finally:
            queue.close()
        runs = [seen(message, world) for message in found if message is not None]
        return Snapshot({run.run_id: run for run in runs}, {})


def run_of(message: Message) -> str:
    run: str = json.loads(message.data)["run"]
    return run


def seen(message: Message, world: SubjectWorld) -> RunSeen:
    state, outcome = SEEN[MessageStatus(message.status)]
    lease = None
    if (
        state == "running" and message.lock_time is not None
    ):  # by the recipe, it is its consumer's for so long
        lease = deadline(world, wall=message.lock_time / 1e9 + LOCKED_SECONDS)
    return RunSeen(run_of(message), state, outcome, lease=lease)
