"""Processes that were seen to be none of a run's, and need not be read again in the same teardown.

A teardown looks at least three times at everything that runs on the machine, and nearly all of it has been
there since before the run. Such a process is no descendant of the run's, in no group or session of it, and
cannot come to be. What could change is its environment, if it executed a program on behalf of the run at just
this moment, as a server might that forks its workers ahead of time; so each is read anew after a while. Who
is younger than what the run hangs on is read in every pass.
"""

from __future__ import annotations

import time

from runcoord._core.limits import STRANGER_SECONDS
from runcoord._core.teardown import Membership

TYPE_CHECKING = False  # that of typing, which is not loaded for the process that a run hangs on
if TYPE_CHECKING:
    from collections.abc import Mapping


class Strangers:
    """Those of one run, by pid and mark (see :meth:`runcoord._processes.rows.Rows.marks`)."""

    def __init__(self) -> None:
        self._members: Membership | None = None
        self._marks: dict[int, int] = {}
        self._until = 0.0

    def known(self, members: Membership, ever: Mapping[int, int]) -> Mapping[int, int]:
        """Who is a stranger to this run, for all that is known. ``ever`` are those that nothing changes."""
        if members != self._members or time.monotonic() >= self._until:
            self._members, self._marks, self._until = members, {**ever}, 0.0
        return self._marks

    def add(self, settled: Mapping[int, int]) -> None:
        """What a complete pass for the run that was asked about last has found."""
        if not self._until:
            self._until = time.monotonic() + STRANGER_SECONDS
        self._marks.update(settled)
