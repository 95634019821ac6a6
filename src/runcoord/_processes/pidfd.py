"""Process handles of the Linux kernel.

A pidfd means one process for as long as it is open, whatever becomes of the number. The kernel's file system
of pidfds (6.9 and newer) gives each process an inode that is not used a second time in one boot: this is the
durable handle that is recorded. On 64-bit systems the number of the inode is the whole handle: the bytes that
``name_to_handle_at`` gives are this number. So pinning by number and comparing the inode proves as much as
reopening the handle does, costs less, and needs no more than the standard library. systemd records processes
in the same way (``PIDREF``).
"""

from __future__ import annotations

import errno
import os
import select
import signal
import struct
import sys

from runcoord._core.values import value
from runcoord.errors import InvalidRequest, ProbeFailed, ProcessGone, SignalDenied

TYPE_CHECKING = False  # that of typing, which is not loaded for the process that a run hangs on
if TYPE_CHECKING:
    from typing import Any

GROUP_FLAG = 4
"""``PIDFD_SIGNAL_PROCESS_GROUP``, Linux 6.9 and newer."""

_INFO = (3 << 30) | (72 << 16) | (0xFF << 8) | 11
"""``PIDFD_GET_INFO`` for the structure of 72 bytes."""
_INFO_EXIT = 1 << 3
_INFO_EXIT_AT = 60

_NO_MORE_FILES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})


@value
class Abilities:
    """What the kernel, and what confines us, let us do."""

    pins: bool
    """There are pidfds (Linux 5.3 and newer)."""
    durable: bool
    """Their inodes are durable handles."""
    groups: bool
    """A signal to a group can go through a pin."""


def probe_abilities() -> Abilities:
    """Try on ourselves; changes nothing. Raises :class:`~runcoord.errors.ProbeFailed` when there are no file
    descriptors left to try it with."""
    if not hasattr(os, "pidfd_open") or not hasattr(signal, "pidfd_send_signal"):
        return Abilities(pins=False, durable=False, groups=False)
    try:
        pin = os.pidfd_open(os.getpid())
    except OSError as error:
        if error.errno in _NO_MORE_FILES:
            raise no_more_files(error) from None
        return Abilities(pins=False, durable=False, groups=False)
    try:
        signal.pidfd_send_signal(pin, 0)
        return Abilities(pins=True, durable=_has_own_inode(pin), groups=_signals_groups(pin))
    except OSError:  # forbidden by a filter of system calls
        return Abilities(pins=False, durable=False, groups=False)
    finally:
        os.close(pin)


def _has_own_inode(pin: int) -> bool:
    """Before 6.9 all pidfds were the one anonymous inode, on the device of an epoll's."""
    if sys.maxsize < 2**32:
        return False
    anonymous = select.epoll()
    try:
        return os.fstat(pin).st_dev != os.fstat(anonymous.fileno()).st_dev
    finally:
        anonymous.close()


def _signals_groups(pin: int) -> bool:
    try:
        signal.pidfd_send_signal(pin, 0, None, GROUP_FLAG)
    except ProcessLookupError:
        return True  # understood: we lead no group
    except OSError as error:
        return error.errno == errno.EPERM
    return True


def pin(pid: int) -> int:
    """A pidfd of whoever has this number now.

    Raises :class:`~runcoord.errors.ProcessGone` when nobody has, and
    :class:`~runcoord.errors.ProbeFailed` when there is no file descriptor left.
    """
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        if error.errno in _NO_MORE_FILES:
            raise no_more_files(error, pid=pid) from None
        if error.errno in {errno.ESRCH, errno.EINVAL, errno.ENOENT}:
            # EINVAL, ENOENT: the number is that of a thread, or only of a group or a session.
            raise gone(pid) from None
        raise ProbeFailed(f"process {pid} cannot be pinned: {error.strerror}", pid=pid) from None


def durable_handle(pidfd: int) -> str:
    """The inode as hexadecimal text."""
    return f"{os.fstat(pidfd).st_ino:016x}"


def has_ended(pidfd: int) -> bool:
    """Whether all threads of it have ended, reaped or not."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))


def is_reaped(pidfd: int) -> bool:
    """Whether its number is free. While this is false, what was read by number is about this process."""
    try:
        signal.pidfd_send_signal(pidfd, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False  # there, and not ours to signal
    return False


def send(pidfd: int, pid: int, number: int, flags: int = 0) -> None:
    """Send a signal through a pin. Raises ProcessGone, SignalDenied, InvalidRequest or ProbeFailed."""
    try:
        signal.pidfd_send_signal(pidfd, number, None, flags)
    except OSError as error:
        raise signal_error(error, pid, number, flags) from None


def signal_error(error: OSError, pid: int, number: int, flags: int = 0) -> Exception:
    """The error of ours for one of the system."""
    if error.errno == errno.ESRCH:
        return gone(pid)
    if error.errno == errno.EPERM:
        return SignalDenied(
            f"the system does not permit signal {number} to process {pid}",
            remedy="It runs as another user: end it as that user, or as root.",
            pid=pid,
            signal=number,
        )
    if error.errno == errno.EINVAL and flags:
        return ProbeFailed(
            f"the kernel cannot signal the group of process {pid} through a pin",
            remedy="Signal its members one by one.",
            pid=pid,
        )
    if error.errno == errno.EINVAL:
        return InvalidRequest(f"{number!r:.20} is not the number of a signal", signal=repr(number)[:20])
    return ProbeFailed(f"signal {number} to process {pid}: {error.strerror}", pid=pid, signal=number)


def exit_of(pidfd: int) -> int | None:
    """The wait status of a reaped process, also of somebody else's child (Linux 6.15 and newer)."""
    import fcntl

    block = bytearray(struct.pack("<Q", _INFO_EXIT) + bytes(64))
    try:
        fcntl.ioctl(pidfd, _INFO, block, True)
    except OSError:
        return None
    (seen,) = struct.unpack_from("<Q", block)
    if not seen & _INFO_EXIT:
        return None
    (status,) = struct.unpack_from("<i", block, _INFO_EXIT_AT)
    return int(status)


def gone(pid: int) -> ProcessGone:
    return ProcessGone(f"process {pid} has ended", pid=pid)


def no_more_files(error: OSError, **details: Any) -> ProbeFailed:
    return ProbeFailed(
        f"the system gives no more file descriptors: {error.strerror}",
        remedy="Raise the limit of open files (ulimit -n): each process that is held needs one.",
        **details,
    )
