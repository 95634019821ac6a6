"""The table of processes of a shim, whose waits go on listening to the coordinator."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from runcoord._core.teardown import Membership, Scan
from runcoord._processes.pinned import HeldProcess
from runcoord._shim.attention import Attention

TYPE_CHECKING = False  # that of typing, which is not loaded for the process that a run hangs on
if TYPE_CHECKING:
    from runcoord._process_ports import PinnedProcess, Processes

LOOK_SECONDS = 0.02
"""Between two looks at processes whose end the kernel cannot tell (kernels without pidfds)."""


class TendedTable:
    """The given table, except that a wait ends early when the grace is to end, and that orphans are reaped
    before each scan. (Not while waiting: each end would have all children looked at.)"""

    def __init__(
        self,
        table: Processes,
        attention: Attention,
        listen: Callable[[], None],
        reap: Callable[[], object],
        hurried: Callable[[], bool],
    ) -> None:
        self._table = table
        self._attention = attention
        self._listen, self._reap = listen, reap
        self._hurried = hurried
        self.habitat = table.habitat
        self.guarantees = table.guarantees
        self.itself = table.itself
        self.own = table.own
        self.identify = table.identify
        self.open = table.open
        self.pin = table.pin
        self.signal_group = table.signal_group

    def scan(self, members: Membership, seconds: float) -> Scan:
        """After reaping: zombies are no members, but reading them takes time."""
        self._reap()
        self._listen()
        return self._table.scan(members, seconds)

    def wait(self, pinned: Sequence[PinnedProcess], seconds: float) -> None:
        """Until all have ended, time is over, or the grace is to end."""
        until = time.monotonic() + seconds
        held = {each.fd for each in pinned if isinstance(each, HeldProcess)}
        others = [each for each in pinned if not isinstance(each, HeldProcess)]
        hurried = self._hurried()
        while (held or others) and self._hurried() == hurried:
            left = until - time.monotonic()
            if left <= 0:
                return
            held.difference_update(
                self._attention.wait(min(left, LOOK_SECONDS) if others else left, tuple(held))
            )
            others = [each for each in others if not each.ended()]
            self._listen()

    def sleep(self, seconds: float) -> None:
        """Until time is over, or the grace is to end."""
        until, hurried = time.monotonic() + seconds, self._hurried()
        while self._hurried() == hurried and (left := until - time.monotonic()) > 0:
            self._attention.wait(left)
            self._listen()
