"""The tables of processes: Linux by what the kernel gives, others through psutil."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # that of typing, which is not loaded for the process that a run hangs on
if TYPE_CHECKING:
    from runcoord._process_ports import Processes


def open_processes() -> Processes:
    """The table of this machine. Cheap; nothing is read before it is asked for."""
    if sys.platform == "linux":
        from runcoord._processes.linux import LinuxProcesses

        return LinuxProcesses()
    from runcoord._processes.portable import PortableProcesses

    return PortableProcesses()
