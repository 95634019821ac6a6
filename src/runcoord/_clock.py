"""The real clocks, waiting, and new ids."""

from __future__ import annotations

import os
import secrets
import socket
import time
import uuid
from pathlib import Path

BOOT_ID_PATH = Path("/proc/sys/kernel/random/boot_id")


class SystemClock:
    """The machine's clocks.

    Boottime is ``CLOCK_BOOTTIME`` where there is one. Elsewhere it is the monotonic clock, which on
    macOS and Windows does not count suspend as reliably; the boot id there is made from the boot moment.
    """

    def __init__(self) -> None:
        self._boot_id = _boot_id()
        self._boottime_clock = getattr(time, "CLOCK_BOOTTIME", None)

    def wall(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def boottime(self) -> float:
        if self._boottime_clock is None:
            return time.monotonic()
        return time.clock_gettime(self._boottime_clock)

    def boot_id(self) -> str:
        return self._boot_id


def _boot_id() -> str:
    try:
        return BOOT_ID_PATH.read_text().strip()
    except OSError:
        # No boot id to read: a value of this process alone, so that boottimes of different
        # processes are never compared and wall time decides between them.
        return f"process-{os.getpid()}-{uuid.uuid4()}"


class SystemSleeper:
    """Really waits."""

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class SystemIds:
    """Random ids, 80 bits each."""

    def new(self, prefix: str) -> str:
        return f"{prefix}-{secrets.token_hex(10)}"


def new_owner_id() -> str:
    """An owner id for one start of one process: readable, and never used by another."""
    host = socket.gethostname().replace("/", "_")[:60] or "host"
    return f"{host}:{os.getpid()}:{secrets.token_hex(8)}"
