"""A small application on DBOS, as its documentation has it: workflows of steps, and an executor of them.

DBOS is one to a process, so the tests beside run :func:`main` in processes of their own, which can be killed.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from dbos import DBOS, DBOSConfig

LONGEST = 30.0
"""Seconds that a step works at most, if nobody lets it end."""


def note(log: str, text: str) -> None:
    with open(log, "a", encoding="utf-8") as file:
        file.write(f"{text}\n")


@DBOS.step()
def short(log: str) -> None:
    note(log, "short step done")


@DBOS.step()
def long(log: str) -> str:
    """Works until there is a file called ``go`` beside the log."""
    note(log, f"long step begun for {DBOS.workflow_id}")
    print("working", flush=True)
    end = time.monotonic() + LONGEST
    while not Path(log).with_name("go").exists() and time.monotonic() < end:
        time.sleep(0.01)
    note(log, f"long step done for {DBOS.workflow_id}")
    return "worked"


@DBOS.step()
def deadly(log: str) -> None:
    note(log, "deadly step begun")
    os.kill(os.getpid(), signal.SIGKILL)


@DBOS.workflow(name="two-steps")
def two_steps(log: str) -> str:
    short(log)
    return long(log)


@DBOS.workflow(name="one-step")
def one_step(log: str) -> None:
    short(log)


@DBOS.workflow(name="deadly", max_recovery_attempts=1)
def kills_its_executor(log: str) -> None:
    deadly(log)


def main(database: str, executor: str, version: str) -> None:
    """Run an executor until standard input ends. ``executor`` may be empty: then it has DBOS's default."""
    config: DBOSConfig = {
        "name": "application",
        "system_database_url": database,
        "application_version": version,
        "log_level": "CRITICAL",
        "notification_listener_polling_interval_sec": 0.05,
    }
    if executor:
        config["executor_id"] = executor
    DBOS(config=config)
    DBOS.launch()
    print("launched", flush=True)
    sys.stdin.read()
    DBOS.destroy()
