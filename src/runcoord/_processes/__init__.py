"""The tables of processes: Linux by what the kernel gives, others through psutil."""

from __future__ import annotations

import sys

from runcoord._process_ports import Processes


def open_processes() -> Processes:
    """The table of this machine. Cheap; nothing is read before it is asked for."""
    if sys.platform == "linux":
        from runcoord._processes.linux import LinuxProcesses

        return LinuxProcesses()
    from runcoord._processes.portable import PortableProcesses

    return PortableProcesses()
