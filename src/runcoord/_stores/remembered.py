"""What a store has just written over a connection, so that its next verb need not read it back.

Most verbs on a run follow the one before it in the same process, and to read and decode its row is then the
dearest part of them. ``PRAGMA data_version`` says whether any other connection, of this process or another,
has changed the file since: the rule by which SQLite itself trusts the pages that it has in memory
(https://www.sqlite.org/pragma.html#pragma_data_version). It is asked under the write lock, so its answer
holds until the end of the transaction.
"""

from __future__ import annotations

import sqlite3

from runcoord._core.evolving import evolved
from runcoord._core.model import Event, EventState, Run, State
from runcoord.ports import Change

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

MAX_REMEMBERED = 16
"""Runs of one connection, and as many events: most processes have fewer under way. The one that was written
longest ago makes room."""
MAX_TEXT_CHARACTERS = 8_192
"""Longest payload of a run, or body of an event, that is remembered. All other text of a run under way is
bounded to a few thousand characters, so a connection remembers a megabyte or so at the most."""

_DATA_VERSION = "PRAGMA data_version"


class Remembered:
    """Runs and events as they are stored, of one connection; none that is finished or delivered."""

    __slots__ = ("_saved", "_version", "_whose", "events", "runs")

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}
        self.events: dict[str, Event] = {}
        self._saved: list[tuple[Change, int]] = []
        self._version: object = None
        self._whose: object = None

    def begin(self, connection: sqlite3.Connection, whose: object) -> None:
        """A transaction of the store ``whose`` has begun. Nothing is believed that was written by another
        store, or before another connection wrote anything."""
        self._saved.clear()
        version = connection.execute(_DATA_VERSION).fetchall()
        if version != self._version or whose is not self._whose:
            self.forget()
            self._version, self._whose = version, whose

    def saving(self, changes: list[Change]) -> None:
        """What these will be is not known until they are committed. Of a batch nothing is remembered."""
        if len(changes) > 1:
            self.forget()
            return
        for change in changes:
            if change.run is not None:
                self.runs.pop(change.run.run_id, None)
            for event in change.events:
                self.events.pop(event.event_id, None)

    def saved(self, changes: list[Change], number: int) -> None:
        """They were written, and a single new event has this number."""
        if len(changes) == 1:
            self._saved.append((changes[0], number))

    def committed(self) -> None:
        """What was saved is what is stored."""
        for change, number in self._saved:
            run, new = change.run, change.new_events
            if (
                run is not None
                and run.state is not State.FINISHED
                and len(run.spec.payload) <= MAX_TEXT_CHARACTERS
            ):
                _put(self.runs, run.run_id, run)
            if (
                len(new) == 1
                and new[0].state is EventState.SENDING
                and len(new[0].body) <= MAX_TEXT_CHARACTERS
            ):
                _put(self.events, new[0].event_id, evolved(new[0], seq=number))
        self._saved.clear()

    def forget(self) -> None:
        """Read everything that is asked for next."""
        self.runs.clear()
        self.events.clear()
        self._saved.clear()


def _put(some: dict[str, T], key: str, one: T) -> None:
    if len(some) >= MAX_REMEMBERED:
        del some[next(iter(some))]
    some[key] = one
