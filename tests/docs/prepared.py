"""What is there before a page begins, where the page is about looking at something that exists."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from runcoord import Ports, open_coordinator
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


_PREPARED: dict[str, Callable[[Path], dict[str, str]]] = {"two runs under way": _two_runs_under_way}
