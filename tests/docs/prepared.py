"""What is there before a page begins, where the page is about looking at something that exists."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from runcoord import DestinationRefused, Lease, Message, Ports, open_coordinator
from runcoord.testing import ManualClock

STORE = "runs.db"


def prepare(name: str, directory: Path) -> dict[str, str]:
    """Make what is named; gives variables of the environment that point at it."""
    return _PREPARED[name](directory)


def _clock_from(seconds: float) -> ManualClock:
    """A clock of this boot that stands so many seconds in the past."""
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text("utf-8").strip()
    boottime = time.clock_gettime(time.CLOCK_BOOTTIME)
    return ManualClock(time.time() - seconds, boottime - seconds, time.monotonic() - seconds, boot_id)


def _two_runs_under_way(directory: Path) -> dict[str, str]:
    """One whose owner is gone, and one that is to stop."""
    clock = _clock_from(18 * 60)
    path = directory / STORE
    with open_coordinator(path, owner="gw:10554:aaaaaaaaaaaaaaaa", ports=Ports(clock=clock)) as coordinator:
        first = coordinator.submit(destination="chat", task="Refactor the billing module")
        coordinator.start(coordinator.claim(first.run_id))
        clock.advance(18 * 60 - 40)
        second = coordinator.submit(
            destination="chat", task="Nightly import of the warehouse and its archives"
        )
        lease = coordinator.claim(second.run_id)
        coordinator.start(lease)
        clock.advance(22)
        coordinator.renew(lease)
        coordinator.stop(second.run_id)
    return {"RUNCOORD_STORE": str(path)}


def _a_busy_morning(directory: Path) -> dict[str, str]:
    """A run of each kind, an event that is held, and one whose destination is down."""
    clock = _clock_from(40 * 60)
    path = directory / STORE
    places = {"chat": _accepts, "archive": _refuses, "mail": _is_down}
    owner, ports = "gw:10554:aaaaaaaaaaaaaaaa", Ports(clock=clock)
    with open_coordinator(path, owner=owner, destinations=places, ports=ports) as coordinator:

        def begun(run_id: str, destination: str, task: str, seconds: float = 90.0) -> Lease:
            coordinator.submit({"pages": 3}, run_id=run_id, destination=destination, task=task)
            lease = coordinator.claim(run_id, lease=seconds)
            coordinator.start(lease)
            return lease

        coordinator.complete(begun("report", "chat", "weekly report"), "completed", result="3 pages")
        coordinator.complete(
            begun("billing", "archive", "bill the customers"), "failed", error="no such table"
        )
        coordinator.deliver()
        clock.advance(20 * 60)
        coordinator.progress(begun("import", "chat", "nightly import"), "1,200 rows")
        clock.advance(10 * 60)
        coordinator.complete(begun("letter", "mail", "send the letters"), "completed", result="sent")
        coordinator.deliver()
        clock.advance(10 * 60 - 10)
        begun("export", "chat", "export the archive", seconds=1_800.0)
        coordinator.submit(run_id="cleanup", task="clean up")
    return {"RUNCOORD_STORE": str(path)}


def _folders_of_before(directory: Path) -> dict[str, str]:
    """A home with one folder of each kind that an import tells apart."""

    def folder(name: str, state: str, **others: str) -> None:
        (directory / "data" / "runs" / name).mkdir(parents=True)
        (directory / "data" / "runs" / name / "state.json").write_text(state)
        for file, text in others.items():
            (directory / "data" / "runs" / name / _FOLDER_FILES[file]).write_text(text)

    folder(
        "index-7",
        '{"id": "index-7", "agent": "indexer", "task": "index the archive, token=ghp_' + 36 * "x" + '",'
        ' "parent_session": "dashboard:main", "started": 1764000000, "updated_at": 1764000900, "pid": 4242}',
        result="12,000 of 40,000 pages\n",
    )
    folder(
        "letters-3",
        '{"id": "letters-3", "task": "send the letters", "started": 1764000000}',
        tombstone='{"died": 1764000300, "outcome": "completed"}',
    )
    folder("torn-1", '{"id": "torn-1", "ta')
    (directory / "data" / "runs" / "shortcut").symlink_to("/etc")
    (directory / "jobs.toml").write_text(
        'name = "jobs"\nroot = "jobs"\nstate_file = "job.json"\n\n'
        '[state]\nrun_id = "job"\ntask = "what"\ndestination = "tell"\n\n'
        '[outcomes]\ndone = "completed"\nbroken = "failed"\ncancelled = "stopped"\nlost = "interrupted"\n'
    )
    (directory / "elsewhere" / "jobs" / "count-1").mkdir(parents=True)
    (directory / "elsewhere" / "jobs" / "count-1" / "job.json").write_text(
        '{"job": "count-1", "what": "count"}'
    )
    return {"RUNCOORD_STORE": str(directory / STORE)}


_FOLDER_FILES = {"result": "result.txt", "tombstone": "tombstone.json"}


def _accepts(message: Message) -> None:
    """A destination that takes everything."""


def _refuses(message: Message) -> None:
    raise DestinationRefused("the room was archived")


def _is_down(message: Message) -> None:
    raise ConnectionError("connection refused")


_PREPARED: dict[str, Callable[[Path], dict[str, str]]] = {
    "a busy morning": _a_busy_morning,
    "folders of before": _folders_of_before,
    "two runs under way": _two_runs_under_way,
}
