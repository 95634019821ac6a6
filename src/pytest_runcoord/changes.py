"""Whether something that must change nothing left everything as it was."""

from __future__ import annotations

from collections.abc import Callable

from pytest_runcoord.history import Entry, History
from pytest_runcoord.subject import Snapshot
from pytest_runcoord.timekeeper import Timekeeper
from runcoord.values import record

READING = frozenset({"look", "read_result"})
"""Verbs that only read."""


@record
class Known:
    """What was durable at a moment, how many entries of the history had ended by then, and how often
    something had gone on in the background."""

    snapshot: Snapshot
    ended: int
    background: int


class Changes:
    """Compares what is durable before and after one entry of the history.

    ``recall`` gives what is durable if that is known without looking again, ``look`` what is durable now; its
    argument says to look also where no port said that anything was written.
    """

    def __init__(
        self,
        history: History,
        time: Timekeeper,
        recall: Callable[[], Snapshot | None],
        look: Callable[[bool], Snapshot],
    ) -> None:
        self._history, self._time, self._recall, self._look = history, time, recall, look

    def known(self) -> Known | None:
        """What is durable now, if that is known without looking again."""
        snapshot = self._recall()
        if snapshot is None:
            return None
        return Known(snapshot, len(self._history.completed), self._time.background)

    def note(self, entry: Entry, known: Known | None, *, unannounced: bool = False) -> None:
        """Note on ``entry`` whether it changed anything, if nobody else did anything meanwhile."""
        if known is None or known.background != self._time.background:
            return
        meanwhile = self._history.completed[known.ended :]
        if all(each.kind in ("moment", "signal") and each.actor == entry.actor for each in meanwhile):
            before, after = known.snapshot, self._look(unannounced)
            entry.changed = (after.runs, after.events) != (before.runs, before.events)
