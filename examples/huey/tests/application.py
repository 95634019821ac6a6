"""A small application on huey, as its documentation has it: tasks, and a consumer that runs them.

The tests beside import it, and run :func:`main` in a process that can be killed.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from huey import SqliteHuey
from huey.signals import SIGNAL_ENQUEUED, SIGNAL_INTERRUPTED

LONGEST = 60.0
"""Seconds that a task of the tests works at most, if nobody ends it."""


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Application:
    """Everything that is registered on one Huey."""

    def __init__(self, filename: str | Path) -> None:
        self.huey = huey = SqliteHuey("application", filename=str(filename))
        self.ran: list[str] = []

        @huey.task()
        def note(text: str) -> str:
            self.ran.append(text)
            return text

        @huey.task()
        def long() -> str:
            print("working", flush=True)
            time.sleep(LONGEST)
            return "worked"

        @huey.task()
        def deadly() -> None:
            print("working", flush=True)
            die()

        @huey.task()
        @huey.lock_task("the-only-one")
        def alone(text: str) -> str:
            if text == "long":
                print("working", flush=True)
                time.sleep(LONGEST)
            self.ran.append(text)
            return text

        self.note, self.long, self.deadly, self.alone = note, long, deadly, alone

    def work_off(self) -> list[str]:
        """Do what a worker does, until nothing is left; what has run since the last time."""
        self.ran.clear()
        while (task := self.huey.dequeue()) is not None:
            self.huey.execute(task)
        return list(self.ran)


def main(filename: str, *options: str) -> None:
    """Run a consumer. Options say what else the application does."""
    application = Application(filename)
    huey = application.huey
    if "re-enqueue-interrupted" in options:  # the recipe of huey's documentation

        @huey.signal(SIGNAL_INTERRUPTED)
        def put_back(name: str, task: object) -> None:
            huey.enqueue(task)

    if "die-before-enqueue" in options:
        huey.signal(SIGNAL_ENQUEUED)(lambda *_: die())
    if "die-after-result" in options:
        huey.post_execute(name="death")(lambda *_: die())
    consumer = huey.create_consumer(workers=1, periodic=False, initial_delay=0.02, max_delay=0.05)
    consumer.run()
