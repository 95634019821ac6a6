"""The table of processes of Linux."""

from __future__ import annotations

import os

from runcoord._core.identity import Habitat
from runcoord._processes.habitat import read_habitat
from runcoord._processes.pidfd import Abilities, probe_abilities
from runcoord._processes.procfs import Procfs
from runcoord._processes.table import ProcessTable
from runcoord.errors import ProbeFailed


class LinuxProcesses(ProcessTable):
    """From ``/proc`` by pidfds. ``proc`` and ``abilities`` are the machine's own unless given."""

    platform = "linux"

    def __init__(self, proc: str = "/proc", abilities: Abilities | None = None) -> None:
        self._proc = Procfs(proc)
        super().__init__(self._proc, abilities)

    def _probe(self) -> Abilities:
        return probe_abilities()

    def _read_habitat(self) -> Habitat:
        self._require_own_proc()
        return read_habitat(self._proc)

    def _require_own_proc(self) -> None:
        """Numbers in the ``/proc`` of another pid namespace mean other processes than they do to us."""
        try:
            shown = self._proc.link("self")
        except OSError as error:
            if self._proc.root != "/proc":
                return
            raise ProbeFailed(
                f"{self._proc.root}/self cannot be read: {error.strerror}",
                remedy="Mount /proc.",
            ) from None
        if shown != str(os.getpid()):
            raise ProbeFailed(
                f"{self._proc.root} shows the processes of another pid namespace",
                remedy="Mount a /proc of this one (unshare --mount-proc).",
            )
