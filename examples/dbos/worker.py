"""DBOS on SQLite, as a program that runcoord asks for verbs: one JSON object per line, and one in answer.

DBOS is one to a process, keeps threads of its own, and is made to be killed; so each owner of a scenario is a
process of this program. It submits and looks through the client of DBOS. An executor takes work by itself as
soon as it has room, and here a scenario says when. So ``claim_next`` launches DBOS with room for one more
workflow, and the queue is registered only meanwhile; ``complete`` lets the step of that workflow end.

This program imports nothing of runcoord, and could be written in any language.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from contextlib import suppress
from importlib.metadata import version
from typing import Any

from dbos import DBOS, DBOSClient, SetWorkflowID, WorkflowStatus

QUEUE = "runs"
VERSION = "1"
PATIENCE = 8.0
"""Seconds of real time that DBOS may take to begin a workflow, or to record how it ended."""
POLL = 0.03
"""Seconds between two looks, of DBOS at its queue and of this program at what DBOS did."""
STATES = {
    "ENQUEUED": ("accepted", None),
    "DELAYED": ("accepted", None),
    "PENDING": ("running", None),
    "SUCCESS": ("finished", "completed"),
    "ERROR": ("finished", "failed"),
    "CANCELLED": ("finished", "stopped"),
    "MAX_RECOVERY_ATTEMPTS_EXCEEDED": ("finished", "interrupted"),
}
"""What runcoord calls a status of DBOS, and the outcome of it."""


class Refused(Exception):
    """A verb that DBOS does not carry out: the name that scenarios have for that, and why."""


def say(**line: Any) -> None:
    print(json.dumps(line), flush=True)


def ask(**question: Any) -> dict[str, Any]:
    """Ask the harness something, before the answer to its own request."""
    say(**question)
    reply: dict[str, Any] = json.loads(sys.stdin.readline())
    return reply


class Worker:
    """One process of an application. Without an owner it only looks."""

    def __init__(self, directory: str, owner: str | None) -> None:
        self.url = f"sqlite:///{directory}/dbos.sqlite3"
        self.executor = (owner or "").partition("#")[0]  # it stays the same over restarts, as DBOS asks for
        DBOS.migrate(self.url)
        self.client: DBOSClient = DBOSClient(system_database_url=self.url, application_name="application")
        self.begun: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.held: dict[str, queue.SimpleQueue[dict[str, Any]]] = {}

        @DBOS.step(name="step")
        def step() -> str | None:
            """The work: it goes on until it is told how to end."""
            run_id = str(DBOS.workflow_id)
            self.held[run_id] = queue.SimpleQueue()
            self.begun.put(run_id)
            ending = self.held[run_id].get()
            if ending["outcome"] != "completed":
                raise RuntimeError(ending.get("error") or ending["outcome"])
            result: str | None = ending.get("result")
            return result

        @DBOS.workflow(name="run")
        def run(payload: Any) -> str | None:
            return step()

    # --- what an application does through the client ---

    def submit(self, run: str, payload: Any = None) -> dict[str, Any]:
        self.client.enqueue(
            {"queue_name": QUEUE, "workflow_name": "run", "workflow_id": run, "app_version": VERSION}, payload
        )
        return {"run": run}

    def stop(self, run: str, reason: str = "") -> dict[str, Any]:
        self.client.cancel_workflow(run)
        return {}

    def retry(self, run: str) -> dict[str, Any]:
        new = ask(new_id="run")["new_id"]
        with SetWorkflowID(new):
            self.client.fork_workflow(run, 1, queue_name=QUEUE, application_version=VERSION)
        return {"run": new}

    # --- what an executor does ---

    def claim(self, run: str) -> dict[str, Any]:
        """DBOS gives what is next; a scenario that names it means just that."""
        given = self.claim_next()
        if given["run"] != run:
            raise Refused("lease-held", f"next is {given['run']}")
        return given

    def claim_next(self) -> dict[str, Any]:
        known = set(self.held)
        if known and any(each.executor_id != self.executor for each in self.workflows("PENDING")):
            raise Refused("lease-held", "with more room here, another executor could take what is next")
        self.client.register_queue(QUEUE, worker_concurrency=len(known) + 1, polling_interval_sec=POLL)
        if not known:
            self.launch()
        run, end = None, time.monotonic() + PATIENCE
        while run is None and self.something_waits(known):
            if time.monotonic() > end:
                raise TimeoutError("DBOS has begun none of the workflows that wait")
            with suppress(queue.Empty):
                run = self.begun.get(timeout=POLL)
        self.client.delete_queue(QUEUE)
        if not self.held:
            DBOS.destroy()
        return {"run": run, "handle": run} if run else {"run": None}

    def complete(self, held: str, **ending: Any) -> dict[str, Any]:
        # DBOS has no call to ask whether it still takes work: it does while the thread of the queue is there.
        while any(each.name == f"queue-worker-{QUEUE}" for each in threading.enumerate()):
            time.sleep(POLL / 3)
        if held not in self.held:
            raise Refused("already-finished", f"the step of {held} has ended in this process")
        self.held.pop(held).put(ending)
        end = time.monotonic() + PATIENCE
        while True:
            [found] = self.client.list_workflows(workflow_ids=[held])
            if found.status != "PENDING" or found.executor_id != self.executor:
                break
            if time.monotonic() > end:
                raise TimeoutError(f"DBOS has not recorded how {held} ended")
            time.sleep(POLL / 3)
        if not self.held:
            DBOS.destroy()
        if found.status not in ("SUCCESS", "ERROR"):
            raise Refused("lease-lost", f"{held} is {found.status}")
        return {"run": held}

    def launch(self) -> None:
        """Start DBOS as its documentation has it. It takes up what this executor left behind."""
        DBOS(
            config={
                "name": "application",
                "system_database_url": self.url,
                "executor_id": self.executor,
                "application_version": VERSION,
                "log_level": "CRITICAL",
                "notification_listener_polling_interval_sec": 0.1,  # it shuts down no sooner
            }
        )
        DBOS.listen_queues([QUEUE])
        DBOS.launch()

    # --- looking ---

    def workflows(self, *statuses: str) -> list[WorkflowStatus]:
        return self.client.list_workflows(status=list(statuses), load_input=False, load_output=False)

    def something_waits(self, known: set[str]) -> bool:
        """Whether there is anything that DBOS will begin in this process, beside what is at work in it."""
        return any(
            each.status == "ENQUEUED" or (each.executor_id == self.executor and each.workflow_id not in known)
            for each in self.workflows("ENQUEUED", "PENDING")
        )

    def snapshot(self) -> dict[str, Any]:
        return {"runs": [run_seen(each) for each in self.client.list_workflows()], "events": []}


def run_seen(workflow: WorkflowStatus) -> dict[str, Any]:
    state, outcome = STATES[workflow.status]
    return {
        "run_id": workflow.workflow_id,
        "state": state,
        "outcome": outcome,
        "stop_requested": outcome == "stopped",
        "result": workflow.output or "",
        "error": str(workflow.error or ""),
        "retry_of": workflow.forked_from or "",
        "inputs": workflow.input["args"][0] if workflow.input else None,
    }


CAPABILITIES = ["runs", "claim-next", "outcomes", "results", "errors", "stop", "retry", "resumption"]


def main() -> None:
    say(runcoord=1, name="dbos", version=version("dbos"), capabilities=CAPABILITIES)
    worker: Worker | None = None
    for line in sys.stdin:
        request = json.loads(line)
        verb, args = request["verb"], request["args"]
        try:
            if worker is None:  # the first request is always `open`
                worker, answer = Worker(args["directory"], args["owner"]), {}
            elif verb == "close":
                answer = {}
            else:
                answer = getattr(worker, verb)(*([request["with"]] if "with" in request else []), **args)
            say(id=request["id"], ok=answer)
        except Refused as refused:
            say(id=request["id"], refused=refused.args[0], message=refused.args[1])
        except Exception as error:  # noqa: BLE001 - whatever it is, runcoord shows it
            say(id=request["id"], error=f"{type(error).__name__}: {error}")
        if verb == "close":
            os._exit(0)  # a step that is at work would keep the interpreter from ending
    os._exit(0)


if __name__ == "__main__":
    main()
