"""Real processes, as the guard looks at them: whose descendant is a pid, and a signal that reaches only that.

Everything here is bound at import, so that it is the real thing while ``os`` is patched.
"""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path

PROC = Path("/proc")
MAX_ANCESTORS = 1_000
"""Parents that are followed: no real line is as long."""

_kill, _getpid, _waitid = os.kill, os.getpid, os.waitid
_pidfd_open = getattr(os, "pidfd_open", None)
_pidfd_send_signal = getattr(signal, "pidfd_send_signal", None)


def parent_of(pid: int) -> int:
    """The parent of a real process; 0 when there is none, or it cannot be seen."""
    try:
        data = (PROC / str(pid) / "stat").read_bytes()
        return int(data[data.rindex(b")") + 2 :].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def own_children() -> frozenset[int]:
    """Real children of this process, now."""
    own = _getpid()
    return frozenset(pid for pid in everybody() if parent_of(pid) == own)


def descends_from_us(pid: int) -> bool:
    """Whether a real process is a descendant of this one, now."""
    own, at = _getpid(), pid
    for _ in range(MAX_ANCESTORS):
        at = parent_of(at)
        if at == own:
            return True
        if at <= 1:
            return False
    return False


def everybody() -> frozenset[int]:
    """Every real pid, now; empty where the system has no ``/proc``."""
    try:
        return frozenset(int(each.name) for each in PROC.iterdir() if each.name.isdigit())
    except OSError:
        return frozenset()


def signal_descendant(pid: int, number: int) -> bool:
    """Send a signal to a real process if it is a descendant of this one; false, and nothing sent, if not.

    It is pinned while that is found out. Raises what :func:`os.kill` raises.
    """
    if _pidfd_open is None or _pidfd_send_signal is None:
        if parent_of(pid) != _getpid():
            return False
        _kill(pid, number)  # an unreaped child: its pid is not used anew
        return True
    try:
        pin = _pidfd_open(pid)
    except OSError as error:
        if error.errno == errno.ESRCH:
            raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH)) from None
        raise
    try:
        if not descends_from_us(pid):
            return False
        _pidfd_send_signal(pin, number)
        return True
    finally:
        os.close(pin)


def pid_behind(pidfd: int) -> int | None:
    """The pid of a real pidfd; ``None`` for what is none, or where the system does not tell."""
    try:
        lines = Path(f"/proc/self/fdinfo/{pidfd}").read_text("ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("Pid:")), None)


def members_of_group(group: int) -> list[int]:
    """Real processes of a group, now."""
    return [pid for pid in everybody() if _group_of(pid) == group]


def _group_of(pid: int) -> int:
    try:
        return _getpgid(pid)
    except OSError:
        return -1


_getpgid = os.getpgid
