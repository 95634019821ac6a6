"""What the environments of processes say about one run, read once in a pass.

Of a thousand members of a run nearly all have the same environment, byte by byte: so what it says is looked
up by the whole of it.
"""

from __future__ import annotations

import time

from runcoord._core.lineage import belongs, handed_over
from runcoord._core.teardown import Membership
from runcoord._core.values import value
from runcoord._processes.rows import GONE, Executing, Row, Rows


class TimeIsOver(Exception):
    """The pass took longer than it may."""


@value
class Says:
    """Of one environment."""

    ours: bool
    """The process belongs to the run, or to one below it."""
    handed_over: bool
    """It is to outlive the run."""


NOTHING = Says(False, False)


class Environments:
    """Those of one pass, which ends at ``until`` on the monotonic clock."""

    def __init__(self, table: Rows, members: Membership, until: float) -> None:
        self._table, self._members, self._until = table, members, until
        self._of: dict[int, Says] = {}
        self._known: dict[bytes, Says] = {}
        self.closed: set[int] = set()
        """Those that cannot be read."""
        self.executing: set[int] = set()
        """Those that executed another program all the while."""

    def of(self, row: Row) -> Says:
        """What it says; nothing when it cannot be read, which is noted. Raises :class:`TimeIsOver`."""
        found = self._of.get(row.pid)
        if found is None:
            if time.monotonic() >= self._until:
                raise TimeIsOver
            found = self._of[row.pid] = self._read(row)
        return found

    def of_elder(self, pid: int) -> Says | None:
        """What the one says that this process has at this moment; ``None`` when that is not plain to see, so
        that all of it must be read. Raises :class:`TimeIsOver`."""
        if time.monotonic() >= self._until:
            raise TimeIsOver
        block = self._table.first_block(pid)
        return self._says(block) if block else None

    def was_read(self, pid: int) -> bool:
        """Whether it was, and could be."""
        return pid in self._of and pid not in self.closed and pid not in self.executing

    def _read(self, row: Row) -> Says:
        try:
            block = environment_of(self._table, row)
        except Executing:
            self.executing.add(row.pid)
            return NOTHING
        if block is None:
            self.closed.add(row.pid)
            return NOTHING
        return self._says(block)

    def _says(self, block: bytes) -> Says:
        known = self._known.get(block)
        if known is None:
            members = self._members
            ours = bool(members.cookie) and belongs(block, members.cookie)
            known = Says(ours, bool(members.spared) and handed_over(block, members.spared))
            self._known[block] = known
        return known


def environment_of(table: Rows, row: Row) -> bytes | None:
    """The environment; ``None`` when it is closed to us, empty when the process is gone. Raises Executing."""
    try:
        return table.environment(row)
    except Executing:
        raise
    except OSError as error:
        return b"" if error.errno in GONE else None
