"""Whether one process, pinned by whoever calls, belongs to a run at this moment.

The same clues as those of a scan, read of this process alone. Its parents are followed by number, and each
step is a proof: a parent cannot lose its number to another process while its child names it as parent, so the
child is read again after the parent.
"""

from __future__ import annotations

from collections.abc import Iterator

from runcoord._core.limits import MAX_PARENTS
from runcoord._core.lineage import belongs, handed_over
from runcoord._core.teardown import Membership, Scope
from runcoord._processes.environments import environment_of
from runcoord._processes.rows import Executing, Row, Rows
from runcoord._processes.scan import IsRecorded


class Proof:
    """Proves membership in one run."""

    def __init__(
        self,
        table: Rows,
        members: Membership,
        never: frozenset[int],
        is_recorded: IsRecorded,
        nobody_spared: bool,
    ) -> None:
        self.table = table
        self.members = members
        self.never = never
        self.is_recorded = is_recorded
        self.blocks: dict[int, bytes] = {}
        self.nobody_spared = nobody_spared
        """The last scan of this run saw no process that was handed over: then none has a parent that was."""

    def holds(self, row: Row) -> bool:
        """Whether the process is a member, and not handed over."""
        if row.ended or row.kernel or row.pid in self.never or self._marked(row):
            return False
        member = self._is_one(row)
        if member and self.nobody_spared:
            return True
        whole_tree = self.members.scope is Scope.TREE
        for parent in self._parents(row):
            if whole_tree and parent.pid == self.members.ancestor:
                return True
            if parent.pid in self.never:
                return member
            if self._marked(parent):
                return False
            member = member or (whole_tree and self._is_one(parent))
            if member and self.nobody_spared:
                return True
        return member

    def _is_one(self, row: Row) -> bool:
        """By a clue of its own."""
        members = self.members
        if members.group and row.group == members.group:
            return True
        if members.scope is Scope.GROUP:
            in_group = bool(members.former_group) and row.group == members.former_group
            if in_group and members.cookie and belongs(self._block(row), members.cookie):
                return True
        else:
            if members.session and row.session == members.session:
                return True
            if members.cookie and belongs(self._block(row), members.cookie):
                return True
        return any(self.is_recorded(each) for each in members.recorded if each.pid == row.pid)

    def _marked(self, row: Row) -> bool:
        return bool(self.members.spared) and handed_over(self._block(row), self.members.spared)

    def _block(self, row: Row) -> bytes:
        if row.pid not in self.blocks:
            try:
                self.blocks[row.pid] = environment_of(self.table, row) or b""
            except Executing:
                self.blocks[row.pid] = b""
        return self.blocks[row.pid]

    def _parents(self, row: Row) -> Iterator[Row]:
        """Parents, upwards. Ends where the line cannot be followed any further, or changes meanwhile."""
        child = row
        for _ in range(MAX_PARENTS):
            if child.parent == 0:
                return
            try:
                parent = self.table.row(child.parent)
                if self.table.row(child.pid).parent != child.parent:
                    return
            except (OSError, ValueError):
                return
            yield parent
            child = parent
