"""The table of processes of systems without pidfds: macOS, Windows and others, through psutil.

Nothing holds a process there: the check is repeated immediately before a signal. psutil's own equality is not
used: it takes a process of which it may not read anything for the one that it knew.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from runcoord._core.identity import Habitat
from runcoord._processes.pidfd import Abilities
from runcoord._processes.psutil_rows import PsutilRows
from runcoord._processes.rows import Rows
from runcoord._processes.system_ids import SystemIds, system_ids
from runcoord._processes.table import ProcessTable

NOTHING_HELD = Abilities(pins=False, durable=False, groups=False)


class PortableProcesses(ProcessTable):
    """By number, start value and cookie. ``rows`` and ``ids`` are the system's own unless given."""

    def __init__(
        self,
        platform: str = sys.platform,
        rows: Rows | None = None,
        ids: Callable[[str], SystemIds] = system_ids,
    ) -> None:
        super().__init__(rows if rows is not None else PsutilRows(), NOTHING_HELD)
        self.platform = platform
        self._ids = ids

    def _probe(self) -> Abilities:
        return NOTHING_HELD

    def _read_habitat(self) -> Habitat:
        ids = self._ids(self.platform)
        return Habitat(
            host=ids.host,
            boot_id=ids.boot,
            pid_namespace="",
            time_namespace="",
            source=f"psutil-{self.platform}",
        )
