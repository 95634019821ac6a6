"""Processes that were there before what a run hangs on: noted while there is time, for the teardown.

A teardown has to look at everything that runs on the machine before it may say who is left. Some of it does
not change while a process lives: that it is a thread of the kernel; and, when it is older than the run's
subreaper and in another session, that it never comes to be in the run's group or session, which take in
nobody from another session, nor below the subreaper, because a process is only ever given to a forebear of
its own. What can change is its environment, by executing a program on behalf of the run. So a teardown reads
that alone.
"""

from __future__ import annotations

import contextlib

from runcoord._core.teardown import Membership
from runcoord._processes.rows import Row, Rows

TYPE_CHECKING = False  # that of typing, which is not loaded for the process that a run hangs on
if TYPE_CHECKING:
    from collections.abc import Iterator

NOTED_AT_ONCE = 16
"""Processes that are read before whoever notes them looks again whether there is something else to do."""


class Elders:
    """Those of one run, by pid and mark (see :meth:`runcoord._processes.rows.Rows.marks`)."""

    def __init__(self, table: Rows, members: Membership, never: frozenset[int]) -> None:
        self.members = members
        self.marks: dict[int, int] = {}
        """Of processes: their environment may change."""
        self.threads: dict[int, int] = {}
        """Of the kernel: nothing changes."""
        self._table, self._never = table, never

    def note(self) -> Iterator[None]:
        """Read all, a few at a time. What cannot be read is not noted. Raises nothing."""
        members = self.members
        if not members.ancestor or members.recorded:
            return
        try:
            since = self._table.row(members.ancestor)
            shown = self._table.marks()
        except (OSError, ValueError):
            return
        for number, (pid, mark) in enumerate(shown.items(), 1):
            if mark and pid not in self._never and pid != self._table.init:
                with contextlib.suppress(OSError, ValueError):
                    self._enter(self._table.row(pid), mark, since)
            if number % NOTED_AT_ONCE == 0:
                yield

    def _enter(self, row: Row, mark: int, since: Row) -> None:
        # The mark was read before the row. Should that be of a later process with the same number, it is
        # younger than the ancestor, and is not noted; nor is any thread of the kernel younger than its mark.
        if row.start >= since.start:
            return
        members = self.members
        if row.kernel:
            self.threads[row.pid] = mark
        elif row.session not in (since.session, members.session) and (
            not row.group or row.group not in (members.group, members.former_group)
        ):
            self.marks[row.pid] = mark
