"""One pass over the table: who belongs to a run.

Cheap clues first, which stand in ``stat``: group, session, line of parents. The environment is read of those
that are not known by then, and of members when a run may hand processes over. Everything is closed under
"child of a member", and what is handed over takes its descendants with it.

A pass sees each process at another moment, and a child may be born behind its back: that nobody is left is
proved by two passes in a row.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from runcoord._core.identity import Habitat, ProcessIdentity
from runcoord._core.teardown import Found, Membership, Scan, Scope, Sighting
from runcoord._processes.environments import NOTHING, Environments, TimeIsOver
from runcoord._processes.rows import CLOSED, GONE, Row, Rows
from runcoord.errors import ProbeFailed

_CLUES = tuple(Found)
_BIT = {clue: 1 << place for place, clue in enumerate(_CLUES)}
_RECORDED, _GROUP, _SESSION = _BIT[Found.RECORDED], _BIT[Found.GROUP], _BIT[Found.SESSION]
_DESCENDANT, _COOKIE = _BIT[Found.DESCENDANT], _BIT[Found.COOKIE]
_SETS = tuple(
    frozenset(clue for clue in _CLUES if bits & _BIT[clue]) for bits in range(1 << len(_CLUES))
)  # one set for each combination, not one for each process

IsRecorded = Callable[[ProcessIdentity], bool]
"""Whether the recorded process is there, and this is proved."""


class Pass:
    """One pass. ``never`` are processes that are no members whatever is known of them."""

    def __init__(
        self,
        table: Rows,
        habitat: Habitat,
        members: Membership,
        never: frozenset[int],
        seconds: float,
        strangers: Mapping[int, int],
        elders: Mapping[int, int],
    ) -> None:
        self.table = table
        self.habitat = habitat
        self.members = members
        self.never = never
        self.until = time.monotonic() + seconds
        self.strangers = strangers
        """By pid and mark: those that are not read again."""
        self.elders = elders
        """By pid and mark: those of whom only the environment is read, unless it is the run's."""
        self.passed_over: set[int] = set()
        """Elders whose environment was read, and is not the run's."""
        self.marks: dict[int, int] = {}
        self.nobodys: set[int] = set()
        """Threads of the kernel, and what has ended."""
        self.rows: dict[int, Row] = {}
        self.children: dict[int, list[int]] = {}
        self.found: dict[int, int] = {}
        self.closed: set[int] = set()
        self.spared: set[int] = set()
        self.by_cookie = bool(members.cookie) and members.scope is Scope.TREE
        self.environments = Environments(table, members, self.until)

    def run(self, is_recorded: IsRecorded) -> Scan:
        """Make the pass. Raises nothing that is about one process."""
        problem = ""
        try:
            self._read_rows()
            self._find(is_recorded)
            self._spare()
        except TimeIsOver:
            problem = f"time was over after {len(self.rows)} processes"
        except OSError as error:
            problem = f"{self.table.root} cannot be read: {error.strerror}"
        except ProbeFailed as error:
            problem = error.problem
        unsettled = self.environments.executing - self.found.keys()
        if unsettled and not problem:
            problem = f"processes executed other programs all the while: {sorted(unsettled)[:10]}"
        return Scan(
            members=self._sightings(pid for pid in self.found if pid not in self.spared),
            spared=self._sightings(pid for pid in self.found if pid in self.spared),
            unreadable=len((self.closed | self.environments.closed) - self.found.keys()),
            complete=not problem,
            problem=problem or self._hidden(),
        )

    def _read_rows(self) -> None:
        if not self._read_all():
            # An elder executed something of the run: who is below it must be seen too.
            self.elders = {}
            for seen in (self.rows, self.children, self.closed, self.nobodys, self.passed_over):
                seen.clear()
            self._read_all()

    def _read_all(self) -> bool:
        """False as soon as an elder is seen to belong to the run."""
        table, rows, children, now, until = self.table, self.rows, self.children, time.monotonic, self.until
        strangers, elders, by_cookie = self.strangers, self.elders, self.by_cookie
        self.marks = table.marks()
        for pid, mark in self.marks.items():
            if mark and strangers.get(pid) == mark:
                continue
            if mark and elders.get(pid) == mark:
                says = self.environments.of_elder(pid) if by_cookie else NOTHING
                if says is not None and says.ours:
                    return False
                if says is not None:
                    self.passed_over.add(pid)
                    continue
            if now() >= until:
                raise TimeIsOver
            try:
                row = table.row(pid)
            except ValueError:
                self.closed.add(pid)
                continue
            except OSError as error:
                if error.errno in CLOSED:
                    self.closed.add(pid)
                elif error.errno not in GONE:
                    raise
                continue
            if row.kernel or row.ended:
                self.nobodys.add(pid)  # and what has ended has no children any more
                continue
            rows[pid] = row
            children.setdefault(row.parent, []).append(pid)
        return True

    def _find(self, is_recorded: IsRecorded) -> None:
        members, found = self.members, self.found
        whole_tree = members.scope is Scope.TREE
        for identity in members.recorded:
            if identity.pid in self.rows and is_recorded(identity):
                self._add(identity.pid, _RECORDED)
        for pid, row in self.rows.items():
            if members.group and row.group == members.group:
                self._add(pid, _GROUP)
            if whole_tree and members.session and row.session == members.session:
                self._add(pid, _SESSION)
        if not whole_tree:
            self._find_in_former_group()
            return
        self._descend(list(found))
        if members.ancestor:
            self._descend([members.ancestor])
        if members.cookie:
            for pid, row in self.rows.items():
                if pid not in found and pid not in self.never and self.environments.of(row).ours:
                    self._add(pid, _COOKIE)
                    self._descend([pid])

    def _find_in_former_group(self) -> None:
        members = self.members
        if not members.former_group or not members.cookie:
            return
        for pid, row in self.rows.items():
            if row.group == members.former_group and self.environments.of(row).ours:
                self._add(pid, _GROUP | _COOKIE)

    def _add(self, pid: int, bits: int) -> None:
        if pid not in self.never:
            self.found[pid] = self.found.get(pid, 0) | bits

    def _descend(self, open_ends: list[int]) -> None:
        """Everything below these; each process is gone into once."""
        found, never = self.found, self.never
        while open_ends:
            for child in self.children.get(open_ends.pop(), ()):
                bits = found.get(child, 0)
                if child in never or bits & _DESCENDANT:
                    continue
                found[child] = bits | _DESCENDANT
                open_ends.append(child)

    def _spare(self) -> None:
        """What was handed over, and everything below it."""
        if not self.members.spared:
            return
        marked = []
        for pid in self.found:
            says = self.environments.of(self.rows[pid])
            if says.handed_over:
                marked.append(pid)
            if says.ours:
                self.found[pid] |= _COOKIE
        while marked:
            pid = marked.pop()
            if pid not in self.spared:
                self.spared.add(pid)
                marked.extend(child for child in self.children.get(pid, ()) if child in self.found)

    def settled(self) -> dict[int, int]:
        """By pid and mark: those that are nobody's, or were there before what the run hangs on, and are
        strangers. For a pass that came to its end."""
        since = self.rows.get(self.members.ancestor)
        if since is None:
            return {}
        return {
            pid: mark
            for pid, mark in self.marks.items()
            if mark and (pid in self.nobodys or pid in self.passed_over or self._is_settled(pid, since.start))
        }

    def _is_settled(self, pid: int, since: int) -> bool:
        row = self.rows.get(pid)
        if row is None or row.start >= since or pid in self.found or pid in self.never:
            return False
        return not self.by_cookie or self.environments.was_read(pid)

    def _sightings(self, pids: Iterable[int]) -> tuple[Sighting, ...]:
        rows, habitat, found, table = self.rows, self.habitat, self.found, self.table
        cookie = self.members.cookie
        return tuple(
            Sighting(
                identity=ProcessIdentity(pid, rows[pid].start, habitat, cookie=cookie),
                found=_SETS[found[pid]],
                state=rows[pid].state,
                name=rows[pid].name,
                parent=rows[pid].parent,
                # Read of those alone that a signal may not reach.
                waiting_in=table.waiting_in(pid) if rows[pid].state == "D" else "",
            )
            for pid in sorted(pids)
        )

    def _hidden(self) -> str:
        """What a complete pass could not see. Init is hidden only where everybody else's processes are."""
        init = self.table.init
        if not init or init in self.rows or init in self.closed or not self.rows:
            return ""
        return f"{self.table.root} hides processes of other users (hidepid)"
