"""Looking at processes that others recorded, each look within a bound. Sends nothing to anybody."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from runcoord._core import limits
from runcoord._core.cleanup import Seen, Sight
from runcoord._core.identity import Likeness, ProcessIdentity, same_place
from runcoord._core.records import Identity
from runcoord._core.texts import message_of
from runcoord.errors import ProbeFailed, ProcessGone, RuncoordError, StoreTimeout, StoreUnavailable
from runcoord.ports import Bounded, Processes

T = TypeVar("T")
Key = tuple[int, int, str]
"""Pid, start and handle of a process."""

EVERYBODY: Key = (0, 0, "")
"""In the place of a process: all of them are looked at."""

DESCRIBED = {
    Likeness.DIFFERENT: Seen(Sight.STRANGER, why="another process has its pid now"),
    Likeness.UNKNOWN: Seen(Sight.UNKNOWN, why="nothing proves that this is the recorded process"),
}


class Probes:
    """Looks at one process at a time. A look that fails, is refused or does not return says *unknown*."""

    def __init__(self, table: Callable[[], Processes] | None, bounded: Bounded) -> None:
        self._table, self._bounded = table, bounded
        self._under_way: set[Key] = set()
        self._late: set[Key] = set()
        """Who was looked at without an answer in time, while that look has not returned. Each keeps a thread,
        of which there are few; so nobody is looked at again meanwhile."""

    @property
    def table(self) -> Processes:
        """Raises :class:`~runcoord.errors.ProbeFailed` where there is none."""
        if self._table is None:
            raise ProbeFailed("processes are not looked at here", remedy="Give a table of processes.")
        return self._table()

    def call(self, seconds: float, call: Callable[[Processes], T]) -> T:
        """Ask the table something that may hang; :class:`~runcoord.errors.ProbeFailed` when it does, or when
        so many looks hang already that this one is not made."""
        table = self.table
        try:
            return self._bounded.call(seconds, lambda: call(table))
        except StoreTimeout:
            raise ProbeFailed(f"no answer from the system within {seconds:g} s") from None
        except StoreUnavailable as error:
            raise ProbeFailed(f"it was not looked at: {error.problem}") from None

    def search(self, seconds: float, call: Callable[[Processes], T]) -> T:
        """The same for what looks at all processes: not while an earlier one has not returned."""
        if EVERYBODY in self._late:
            raise ProbeFailed("an earlier look at all processes has not returned, so none was made")
        try:
            return self.call(seconds, partial(self._under, EVERYBODY, call))
        except ProbeFailed:
            self._note_late(EVERYBODY)
            raise

    def look(self, identity: Identity) -> Seen:
        """What became of a recorded process."""
        if not isinstance(identity, ProcessIdentity):
            return Seen(Sight.UNKNOWN, why=identity.problem)
        key = identity.pid, identity.start, identity.handle
        if key in self._late:
            return Seen(Sight.UNKNOWN, why="an earlier look at it has not returned")
        try:
            return self.call(
                limits.PROBE_SECONDS, partial(self._under, key, lambda table: _look(table, identity))
            )
        except (RuncoordError, OSError) as error:
            self._note_late(key)
            return Seen(Sight.UNKNOWN, why=message_of(error))
        except Exception as error:  # noqa: BLE001 - one probe that raises says nothing, and stops no other
            return Seen(Sight.UNKNOWN, why=f"the look failed: {message_of(error)}")

    def _under(self, key: Key, call: Callable[[Processes], T], table: Processes) -> T:
        self._under_way.add(key)
        try:
            return call(table)
        finally:
            self._under_way.discard(key)
            self._late.discard(key)

    def _note_late(self, key: Key) -> None:
        self._late.add(key)
        if key not in self._under_way:  # asked after it was noted: it may return at this moment
            self._late.discard(key)


def _look(table: Processes, identity: ProcessIdentity) -> Seen:
    place = same_place(identity.habitat, table.habitat())
    if place is Likeness.DIFFERENT:
        return Seen(Sight.GONE, why="the machine was started anew since")
    if place is Likeness.UNKNOWN:
        return Seen(Sight.UNKNOWN, why="it was recorded on another machine, or in another namespace")
    try:
        pinned = table.open(identity)
    except ProcessGone:
        return Seen(Sight.GONE)
    try:
        look = pinned.look(identity)
    finally:
        pinned.close()
    if look.ended:
        return Seen(Sight.GONE)
    if look.likeness is Likeness.SAME:
        return Seen(Sight.SAME, look.name, look.state)
    seen = DESCRIBED[look.likeness]
    return Seen(seen.sight, look.name, look.state, look.why or seen.why)
