"""The bounded wait for the store's lock."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from runcoord._core.limits import (
    LOCK_BACKOFF_SECONDS,
    LOCK_TRIES,
    LOCK_WAIT_SECONDS,
    MAX_LOCK_BACKOFF_SECONDS,
)
from runcoord._stores.failures import LOCKED, is_locked
from runcoord.errors import StoreLocked
from runcoord.ports import Clock, Sleeper

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")


def at_random() -> float:
    """A number from 0 to 1. Its module is loaded where somebody waits, which is seldom."""
    import random

    return random.random()


class LockWait:
    """Tries a call again while another connection holds the lock.

    SQLite's own busy timeout is off: it waits on the machine's clock, and for ever where that is virtual.
    The pauses grow and are spread by chance, so that processes do not come back in step.
    """

    def __init__(self, clock: Clock, sleeper: Sleeper, chance: Callable[[], float] = at_random) -> None:
        self._clock, self._sleeper, self._chance = clock, sleeper, chance

    def repeat(self, call: Callable[[], T], error: sqlite3.Error, path: str, doing: str) -> T:
        """Repeat ``call``, which has just failed with ``error``.

        Raises :class:`~runcoord.errors.StoreLocked` when the bound is reached; any other ``sqlite3`` error
        passes through.
        """
        start = self._clock.monotonic()
        pause, tries, waited = LOCK_BACKOFF_SECONDS, 1, 0.0
        while waited < LOCK_WAIT_SECONDS and tries < LOCK_TRIES:
            spread = pause * (0.5 + 0.5 * self._chance())
            self._sleeper.sleep(min(spread, LOCK_WAIT_SECONDS - waited))
            pause = min(pause * 2.0, MAX_LOCK_BACKOFF_SECONDS)
            waited, tries = self._clock.monotonic() - start, tries + 1
            try:
                return call()
            except sqlite3.Error as again:
                if not is_locked(again):
                    raise
                error = again
        raise StoreLocked(
            f"{LOCKED.problem}: {path} ({doing}: {tries} tries in {waited:.1f} s)",
            remedy=LOCKED.remedy,
            path=path,
            doing=doing,
            tries=tries,
            waited=waited,
        ) from error
