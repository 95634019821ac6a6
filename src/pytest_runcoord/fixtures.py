"""What the fixtures of the plugin give: coordinators in the situations that recovery is about.

The fixtures themselves are in ``plugin.py``, which pytest always loads; this comes when a test asks for one.
Everything is the production assembly on the documented default store, with time that moves when told to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

import pytest

from pytest_runcoord.reference import STORE_NAME
from runcoord import Coordinator, Execution, Lease, Ports, open_coordinator
from runcoord.ports import Destination, Message
from runcoord.testing import CountingIds, ManualClock, ManualSleeper

T = TypeVar("T")

DESTINATION = "chat"
"""Name of the one destination that the coordinators of the fixtures have."""
MAX_TICKS = 10_000
"""Ticks of one heartbeat in one ``advance``: three days of renewals every 30 s."""


@dataclass(slots=True)
class RecordedDestination:
    """Accepts every message and keeps it in ``messages``; with ``error`` set it raises that instead.

    :class:`runcoord.DestinationRefused` refuses for good, any other error means "not now".
    """

    messages: list[Message] = field(default_factory=list)
    error: Exception | None = None

    def __call__(self, message: Message) -> None:
        if self.error is not None:
            raise self.error
        self.messages.append(message)


class Immediately:
    """Makes bounded calls in place: with a clock that stands still no bound is ever reached."""

    def call(self, seconds: float, call: Callable[[], T]) -> T:
        return call()


def manual_coordinator(
    directory: Path, clock: ManualClock, destinations: Mapping[str, Destination], owner: str
) -> Coordinator:
    """A coordinator on the default store in ``directory``, opened the documented way."""
    ports = Ports(clock=clock, sleeper=ManualSleeper(clock), ids=CountingIds(), bounded=Immediately())
    return open_coordinator(directory / STORE_NAME, destinations=destinations, owner=owner, ports=ports)


# --- a lease whose owner is gone ---


@dataclass(frozen=True, slots=True)
class CrashedLease:
    """A run that was claimed and started by an owner that is gone; its lease still runs."""

    run_id: str
    lease: Lease
    """What the dead owner held."""
    coordinator: Coordinator
    """That of a survivor, on the same store."""
    clock: ManualClock
    destination: RecordedDestination
    """Where the run's event goes once it has ended."""


@contextmanager
def crashed_lease(
    directory: Path, clock: ManualClock, survivor: Coordinator, destination: RecordedDestination
) -> Iterator[CrashedLease]:
    owner = manual_coordinator(directory, clock, {DESTINATION: destination}, "dead-owner")
    run_id = owner.submit(run_id="crashed", destination=DESTINATION).run_id
    lease = owner.claim(run_id)
    owner.start(lease)
    # What the death of a process leaves: nothing given back, nothing written.
    owner.close()
    yield CrashedLease(run_id, lease, survivor, clock, destination)


# --- a heartbeat that does not beat ---


@dataclass(slots=True)
class StalledRenewals:
    """An execution whose heartbeat is under control; it begins stalled.

    ``advance`` moves the clock, and while nothing is stalled it ticks the heartbeat at each moment it is due.
    """

    execution: Execution
    coordinator: Coordinator
    clock: ManualClock
    destination: RecordedDestination
    stalled: bool = True

    def stall(self) -> StalledRenewals:
        """From now on no renewal is sent. As a context manager: until the block ends."""
        self.stalled = True
        return self

    def resume(self) -> None:
        """The heartbeat beats again as ``advance`` moves the clock; what is overdue is done by that."""
        self.stalled = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.resume()

    def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass."""
        end = self.clock.boottime() + seconds
        for _ in range(MAX_TICKS):
            due = None if self.stalled else self.execution.next_due()
            if due is None or due > end:
                self.clock.advance(max(0.0, end - self.clock.boottime()))
                return
            self.clock.advance(max(0.0, due - self.clock.boottime()))
            self.execution.tick()
        raise RuntimeError(f"the heartbeat was due more than {MAX_TICKS} times in {seconds:g} s")


# --- time zones and locales ---


class TzDrift:
    """Changes the time zone of this process and its children, and with ``lc_time`` also the locale of dates.

    Called it lasts until the test ends; as a context manager until the block ends.
    """

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def __call__(self, tz: str, *, lc_time: str | None = None) -> TzDrift:
        import locale
        import time

        _require_zone(tz)
        patch, before = pytest.MonkeyPatch(), locale.setlocale(locale.LC_TIME)
        if lc_time is not None:
            try:
                locale.setlocale(locale.LC_TIME, lc_time)
            except locale.Error as error:
                raise ValueError(
                    f"this system has no locale {lc_time!r}; 'locale -a' lists those it has"
                ) from error
            # LC_ALL would win over it in children.
            patch.delenv("LC_ALL", raising=False)
            patch.setenv("LC_TIME", lc_time)
        patch.setenv("TZ", tz)
        time.tzset()

        def undo() -> None:
            patch.undo()
            time.tzset()
            locale.setlocale(locale.LC_TIME, before)

        self._undo.append(undo)
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._undo.pop()()

    def restore(self) -> None:
        """Back to how it was at first."""
        while self._undo:
            self._undo.pop()()


def _require_zone(tz: str) -> None:
    """``tzset`` takes a name that it does not know for UTC, and the test would show nothing."""
    import re
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo(tz)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        if not re.fullmatch(r"[A-Za-z]{3,}[+-]?\d{1,2}(:\d\d){0,2}(,.*|[A-Za-z]{3,}.*)?", tz):
            raise ValueError(f"{tz!r} is no time zone, such as Asia/Tokyo or JST-9") from error


# --- code that reads the time itself ---

SEES_REAL_TIME = ("_pytest.timing",)
"""Modules that freezegun leaves alone. pytest's stopwatch: frozen it would report a test of 1,767,224,289 s.
Not all of pytest: freezegun looks five frames up, and the test's own would then see real time too."""


@contextmanager
def frozen_to(clock: ManualClock) -> Iterator[ManualClock]:
    """``time.time()``, ``datetime.now()`` and their like read ``clock`` until the block ends."""
    import datetime

    import freezegun

    def now() -> Any:
        return real.fromtimestamp(clock.wall(), datetime.UTC).replace(tzinfo=None)

    real = datetime.datetime
    freezer = freezegun.freeze_time(now(), ignore=list(SEES_REAL_TIME))
    frozen: Any = freezer.start()
    # Asked anew at every reading, so that whoever moves the clock moves this time.
    frozen.__class__ = type("DrivenByClock", (type(frozen),), {"__call__": lambda _: now()})
    try:
        yield clock
    finally:
        freezer.stop()
