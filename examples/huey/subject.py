"""huey on SQLite, driven by runcoord: an application with one task, and workers whose work ends when told.

A worker of huey takes a task (``Huey.dequeue``) and runs it (``Huey.execute``). So does this subject, in two
steps: ``claim_next`` takes a task and begins it, in a thread, and ``complete`` says how its function ends.
huey's clock plays no part here, and is left alone.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from typing import Any

from huey import SqliteHuey
from huey.api import Task
from huey.exceptions import CancelExecution, TaskException
from huey.signals import SIGNAL_INTERRUPTED

from pytest_runcoord.subjects import Refused, RunSeen, SessionBase, Snapshot, SubjectBase, SubjectWorld

PATIENCE = 10.0
"""Seconds of real time that a worker may take to begin, or to store how its task ended."""


class Killed(BaseException):
    """What ends the threads of a consumer that was killed. huey does not know it, and so writes nothing."""


class Work:
    """One task in the hands of a worker: a thread that is inside ``Huey.execute``."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self._news: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._ending: queue.SimpleQueue[Callable[[], Any]] = queue.SimpleQueue()

    def begin(self, execute: Callable[[], Any]) -> bool:
        """Whether the work has begun; huey puts a task that was revoked aside instead."""

        def live() -> None:
            with suppress(Killed):
                execute()
            self._news.put("over")

        threading.Thread(target=live, daemon=True).start()
        return self._news.get(timeout=PATIENCE) == "begun"

    def body(self) -> Any:
        """What the task's function does: it works until it is told how to end."""
        self._news.put("begun")
        return self._ending.get()()

    def end(self, how: Callable[[], Any]) -> None:
        """Let the function end, and huey do what it does then."""
        self._ending.put(how)
        self._news.get(timeout=PATIENCE)


def raising(error: BaseException) -> Callable[[], Any]:
    """A way to end: by raising this."""

    def end() -> Any:
        raise error

    return end


class Application:
    """What a project has in its ``tasks.py``: a Huey and a task. ``at_work`` are this process' workers."""

    def __init__(self, world: SubjectWorld) -> None:
        self.huey = SqliteHuey("runs", filename=str(world.directory / "huey.sqlite3"), store_none=True)
        self.at_work: dict[str, Work] = {}

        @self.huey.task(name="work", context=True)
        def work(payload: Any, task: Task) -> Any:
            return self.at_work[task.id].body()

        self.work = work

        @self.huey.signal(SIGNAL_INTERRUPTED)
        def put_back(signal: str, task: Task) -> None:  # the recipe of huey's documentation
            self.huey.enqueue(task)


class HueySession(SessionBase):
    """One process, which submits tasks and is a consumer of them."""

    def __init__(self, owner: str, world: SubjectWorld) -> None:
        super().__init__(owner, world)
        self.application = Application(world)
        self.huey, self.at_work = self.application.huey, self.application.at_work
        world.shared.setdefault("consumers", {})[owner] = self.at_work

    def submit(self, run: str, payload: Any = None) -> None:
        self.huey.enqueue(self.application.work.s(payload, id=run))

    def claim_next(self) -> Work | None:
        while (task := self.huey.dequeue()) is not None:
            self.at_work[task.id] = work = Work(task.id)
            if work.begin(lambda task=task: self.huey.execute(task)):  # type: ignore[misc]
                return work
            del self.at_work[task.id]
        return None

    def complete(
        self, lease: Work, outcome: str = "completed", result: str | None = None, error: str = ""
    ) -> None:
        ways: dict[str, Callable[[], Any]] = {
            "completed": lambda: result,
            "failed": raising(RuntimeError(error)),
            "stopped": raising(CancelExecution(retry=False)),
            "interrupted": raising(KeyboardInterrupt()),
        }
        if self.at_work.get(lease.run_id) is not lease:
            raise Refused("already-finished", "the function of this task has returned")
        lease.end(ways[outcome])
        del self.at_work[lease.run_id]

    def stop(self, run: str) -> None:
        self.huey.revoke_by_id(run)

    def close(self) -> None:
        """A consumer that is terminated: its tasks are interrupted, and put back by the recipe."""
        self._end_all(KeyboardInterrupt())

    def abandon(self) -> None:
        """A consumer that is killed."""
        self._end_all(Killed())

    def _end_all(self, error: BaseException) -> None:
        for work in list(self.at_work.values()):
            work.end(raising(error))
        self.at_work.clear()
        self.huey.storage.close()


class HueySubject(SubjectBase):
    name = "huey"
    version = f"huey {version('huey')}"
    session = HueySession

    def snapshot(self, world: SubjectWorld) -> Snapshot:
        """What huey has stored. Of a task at work it stores nothing: there the live workers are asked."""
        application: Application = world.shared.setdefault("observer", None) or Application(world)
        world.shared["observer"] = application
        huey = application.huey
        stored = huey.all_results()  # and marks of tasks that were revoked, by "r:" and the id
        revoked = {key[2:] for key in stored if key.startswith("r:")}
        runs = {each: RunSeen(each, "finished", outcome="stopped", stop_requested=True) for each in revoked}
        for task in [*huey.pending(), *huey.scheduled()]:
            runs[task.id] = RunSeen(task.id, "accepted", stop_requested=task.id in revoked)
        for run_id in stored:
            if not run_id.startswith("r:"):
                runs[run_id] = ended(huey, run_id, run_id in revoked)
        for owner, at_work in world.shared.get("consumers", {}).items():
            for run_id in list(at_work):
                runs[run_id] = RunSeen(run_id, "running", owner=owner, stop_requested=run_id in revoked)
        return Snapshot(runs, {})

    def finish(self, world: SubjectWorld) -> None:
        if world.shared.get("observer"):
            world.shared["observer"].huey.storage.close()


def ended(huey: SqliteHuey, run_id: str, revoked: bool) -> RunSeen:
    """A task that has a result, read without taking it away."""
    try:
        result = huey.result(run_id, preserve=True) or ""
        return RunSeen(run_id, "finished", outcome="completed", result=result, stop_requested=revoked)
    except TaskException as error:
        text = error.metadata["error"]
        outcome = "stopped" if text.startswith("CancelExecution") else "failed"
        return RunSeen(run_id, "finished", outcome=outcome, error=text, stop_requested=revoked)
