"""persist-queue's acknowledged queue as a subject: what the scenarios drive when they run on it.

Each verb of a scenario is a method of the session, and each calls what persist-queue documents for it. What
it does not offer has no method here: scenarios that need it are skipped, and the summary says so.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from persistqueue import AckStatus, Empty, SQLiteAckQueue

from pytest_runcoord.subjects import Answer, RunSeen, SessionBase, Snapshot, SubjectBase, SubjectWorld

SEEN = {
    AckStatus.inited: ("accepted", None),
    AckStatus.ready: ("accepted", None),
    AckStatus.unack: ("running", None),
    AckStatus.acked: ("finished", "completed"),
    AckStatus.ack_failed: ("finished", "failed"),
}
"""What an item's status is for a scenario: the state of a run, and its outcome. To get is to begin."""


class PersistQueueSession(SessionBase):
    """One process that uses the queue, as a producer and as a consumer.

    It is opened with ``auto_resume=False``. By default whoever opens the queue takes the work of all others,
    and no scenario would get any further. Owners whose name ends with "by-default" open it so.
    """

    def __init__(self, owner: str, world: SubjectWorld) -> None:
        super().__init__(owner, world)
        by_default = owner.partition("#")[0].endswith("by-default")
        self.queue = SQLiteAckQueue(str(world.directory), auto_resume=by_default)

    def submit(self, run: str, payload: Any = None) -> None:
        self.queue.put({"run": run, "payload": payload})

    def claim_next(self) -> Answer | None:
        try:
            item = self.queue.get(block=False, raw=True)
        except Empty:
            return None
        return Answer({"run": item["data"]["run"]}, item)  # complete() and release() are given the item

    def complete(self, item: dict[str, Any], outcome: str) -> None:
        if outcome == "completed":
            self.queue.ack(item)
        else:
            self.queue.ack_failed(item)

    def release(self, item: dict[str, Any]) -> None:
        self.queue.nack(item)

    def recover(self) -> None:
        self.queue.resume_unack_tasks()

    def close(self) -> None:
        self.queue.close()

    def abandon(self) -> None:
        self.queue.close()  # every call is a transaction of its own: nothing is left to undo


class PersistQueueSubject(SubjectBase):
    name = "persist-queue"
    version = f"persist-queue {version('persist-queue')}"
    session = PersistQueueSession
    patches_time = True  # persist-queue reads the wall clock by itself

    def snapshot(self, world: SubjectWorld) -> Snapshot:
        """What is durable now. Without ``auto_resume``: a look is not to change anything."""
        queue = SQLiteAckQueue(str(world.directory), auto_resume=False)
        try:
            runs = [seen(item) for item in queue.queue()]
        finally:
            queue.close()
        return Snapshot({run.run_id: run for run in runs}, {})


def seen(item: dict[str, Any]) -> RunSeen:
    state, outcome = SEEN[str(item["status"])]
    return RunSeen(item["data"]["run"], state, outcome)
