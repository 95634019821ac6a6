"""The real clocks, waiting, and new ids."""

from __future__ import annotations

import os
import re
import time

BOOT_ID_PATH = "/proc/sys/kernel/random/boot_id"
TIME_NAMESPACE_PATH = "/proc/self/ns/time"


class SystemClock:
    """The machine's clocks.

    Boottime is ``CLOCK_BOOTTIME`` where there is one, else ``CLOCK_MONOTONIC`` (counts suspend on macOS),
    else Python's monotonic clock, which may not. Where the system has no boot id every process has its own,
    so that boottimes of different processes are never compared and wall time decides between them.
    """

    def __init__(self) -> None:
        self._boot_id = _boot_id()
        self._boottime_clock: int | None = getattr(
            time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None)
        )

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
        with open(BOOT_ID_PATH, encoding="ascii", errors="replace") as file:
            boot = file.read().strip()
    except OSError:
        return f"process-{os.getpid()}-{_chance(16)}"
    try:
        # A time namespace has boottimes of its own: the same as another boot.
        return f"{boot} {os.readlink(TIME_NAMESPACE_PATH)}"
    except OSError:
        return boot


class SystemSleeper:
    """Really waits."""

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class SystemIds:
    """Random ids, 80 bits each."""

    def new(self, prefix: str) -> str:
        return f"{prefix}-{_chance(10)}"


def new_owner_id() -> str:
    """An owner id for one start of one process: readable, and never used by another."""
    host = re.sub(r"[^A-Za-z0-9._-]", "_", _host_name())[:60] or "host"
    return f"{host}:{os.getpid()}:{_chance(8)}"


def _host_name() -> str:
    if hasattr(os, "uname"):  # the same name, without the time that loading ``socket`` takes
        return os.uname().nodename
    import socket

    return socket.gethostname()


def _chance(count: int) -> str:
    """So many bytes that nobody can guess, as text. What ``secrets.token_hex`` gives, without the time that
    loading ``secrets`` takes."""
    return os.urandom(count).hex()
