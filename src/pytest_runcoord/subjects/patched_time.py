"""The world's time for a subject that reads the time itself.

While a call into the subject is under way, ``time.time``, ``time.monotonic``, ``datetime.now`` and their like
read the world's clocks, and ``time.sleep`` lets the world's time pass; at all other times they do what they
always do. Out of reach are waits for locks, sockets and processes, other threads, and time that native code
reads: SQLite's ``CURRENT_TIMESTAMP`` and ``unixepoch()``, for one.
"""

from __future__ import annotations

import datetime
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pytest_runcoord.fixtures import SEES_REAL_TIME
from pytest_runcoord.subject import SubjectWorld

REAL_WAITS = (
    *("asyncio.base_events", "concurrent.futures", "multiprocessing", "selectors", "subprocess"),
    "threading",
)
"""Modules that wait for what happens in real time, and would give up at once if they saw another one. Of
asyncio the loops that a subject makes itself: coroutines that the harness drives see the world's time."""


class PatchedTime:
    """The patches of one scenario: there from its first call until its end, in force while a call is made."""

    def __init__(self) -> None:
        self._world: SubjectWorld | None = None
        self._inside = 0
        self._thread = threading.current_thread()
        """The one in which the scenario runs: threads of the subject see real time."""
        self._freezer: Any = None
        self._undo: list[Callable[[], None]] = []

    def begin(self, world: SubjectWorld) -> None:
        """Put the patches in place, if they are not."""
        if self._world is None:
            self._world = world
            self._freeze()
            self._patch_sleep()
            self._patch_clock_gettime()

    def end(self) -> None:
        """Take them away."""
        while self._undo:
            self._undo.pop()()
        self._world = None

    @contextmanager
    def seen_by_the_subject(self) -> Iterator[None]:
        """The time is the world's until the block ends."""
        self._inside += 1
        try:
            if self._world is not None:
                self._set_zone(self._world.clock.wall())
            yield
        finally:
            self._inside -= 1

    def _in_force(self) -> bool:
        return self._inside > 0 and threading.current_thread() is self._thread

    # --- time and datetime: freezegun finds and replaces them in every module ---

    def _freeze(self) -> None:
        import freezegun
        from freezegun import api

        real, world = api.real_datetime, self._world
        assert world is not None

        def now() -> Any:
            wall = world.clock.wall() if self._in_force() else api.real_time()
            return real.fromtimestamp(wall, datetime.UTC).replace(tzinfo=None)

        def monotonic() -> float:
            return world.clock.monotonic() if self._in_force() else api.real_monotonic()

        self._freezer = freezegun.freeze_time(now(), ignore=[*SEES_REAL_TIME, *REAL_WAITS])
        frozen: Any = self._freezer.start()
        frozen.__class__ = type("DrivenByWorld", (type(frozen),), {"__call__": lambda _: now()})
        for name, replacement in (
            ("_get_fake_monotonic", monotonic),
            ("_get_fake_monotonic_ns", lambda: round(monotonic() * 1e9)),
        ):
            before = getattr(api, name)  # it derives monotonic time from wall time, which scenarios step
            setattr(api, name, replacement)
            self._undo.append(lambda name=name, before=before: setattr(api, name, before))  # type: ignore[misc]
        self._undo.insert(0, self._freezer.stop)

    def _set_zone(self, wall: float) -> None:
        """Local time is that of the zone which the scenario has set."""
        from freezegun import api

        offset = time.localtime(wall).tm_gmtoff or 0
        api.tz_offsets[-1] = datetime.timedelta(seconds=offset)

    # --- what freezegun leaves alone ---

    def _patch_sleep(self) -> None:
        real, world = time.sleep, self._world
        assert world is not None

        def sleep(seconds: float) -> None:
            caller = sys._getframe(1).f_globals.get("__name__", "")
            if self._in_force() and not caller.startswith(REAL_WAITS):
                if not seconds >= 0:  # nor is NaN; the real one refuses both
                    raise ValueError("sleep length must be non-negative")
                world.sleeper.sleep(seconds)
            else:
                real(seconds)

        _replace(real, sleep)
        self._undo.append(lambda: _replace(sleep, real))

    def _patch_clock_gettime(self) -> None:
        real, world = time.clock_gettime, self._world
        assert world is not None
        clocks = {
            time.CLOCK_REALTIME: world.clock.wall,
            time.CLOCK_MONOTONIC: world.clock.monotonic,
            getattr(time, "CLOCK_BOOTTIME", -1): world.clock.boottime,
        }

        def clock_gettime(clk_id: int) -> float:
            read = clocks.get(clk_id) if self._in_force() else None
            return real(clk_id) if read is None else read()

        _replace(real, clock_gettime)
        self._undo.append(lambda: _replace(clock_gettime, real))
        real_ns = time.clock_gettime_ns

        def clock_gettime_ns(clk_id: int) -> int:
            read = clocks.get(clk_id) if self._in_force() else None
            return real_ns(clk_id) if read is None else round(read() * 1e9)

        _replace(real_ns, clock_gettime_ns)
        self._undo.append(lambda: _replace(clock_gettime_ns, real_ns))


def _replace(old: Any, new: Any) -> None:
    """Put ``new`` where any module has ``old`` under a name of its own."""
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", None)
        if not isinstance(names, dict) or module is sys.modules[__name__]:
            continue
        for name in [name for name, value in list(names.items()) if value is old]:
            names[name] = new
