"""Private namespaces, by the system calls themselves: what forks them has loaded everything already."""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path

NEW_MOUNTS = 0x00020000
NEW_USERS = 0x10000000
NEW_PIDS = 0x20000000
NEW_TIME = 0x00000080
PRIVATE = 0x00040000 | 0x4000
"""MS_PRIVATE | MS_REC: nothing mounted here is seen elsewhere."""
PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def enter_new(pids: bool = True) -> None:
    """From now on children of this process live in a pid namespace of their own; who is not root becomes it
    in a user namespace of its own. Raises ``OSError`` where the system does not permit it."""
    user, group = os.geteuid(), os.getegid()
    users = 0 if user == 0 else NEW_USERS
    _check(_libc.unshare(users | NEW_MOUNTS | (NEW_PIDS if pids else 0)), "unshare")
    if users:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")


def mount_own_proc() -> None:
    """Show the processes of this namespace, and only those, under /proc. Raises ``OSError``."""
    _check(_libc.mount(None, b"/", None, ctypes.c_ulong(PRIVATE), None), "making mounts private")
    _check(_libc.mount(b"proc", b"/proc", b"proc", ctypes.c_ulong(0), None), "mounting /proc")


def shift_time(seconds: int) -> None:
    """From now on children of this process live in a time namespace in which the machine runs for so much
    longer. Raises ``OSError``."""
    _check(_libc.unshare(NEW_TIME), "unshare of time")
    Path("/proc/self/timens_offsets").write_text(f"boottime {seconds} 0\n")


def die_with_parent() -> None:
    """SIGKILL for this process when its parent ends."""
    _check(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
