"""What the init of a stage knows of one process, and reads of it."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
from dataclasses import dataclass, field
from pathlib import Path

COOKIE = b"RUNCOORD_COOKIE="
GET_INFO = (3 << 30) | (72 << 16) | (0xFF << 8) | 11
"""The request to a pidfd that tells an exit code, also of one who is not our child, since Linux 6.15."""
INFO_EXIT = 8


@dataclass(slots=True, eq=False)
class Member:
    """A process of this namespace that belongs to the scenario."""

    number: int
    pid: int
    pidfd: int
    start: int
    label: str = ""
    cookies: str = ""
    gate: bool = False
    """It was not a puppet yet when it was first seen: a shim, or a command behind its gate."""
    status: int | None = None
    ended: bool = False
    ready: bool = False
    link: socket.socket | None = None
    heard: list[list[int]] = field(default_factory=list)
    """Signals that it reported, with their senders."""
    answers: dict[int, str] = field(default_factory=dict)
    seized: bool = False


def stat_of(pid: int) -> list[str]:
    """The fields of a process from its state on; none when it is not there."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return []
    return text[text.rindex(")") + 2 :].split()


def exit_code(pidfd: int) -> int | None:
    """How a process ended that somebody else has reaped; ``None`` where the kernel does not tell."""
    room = bytearray(struct.pack("<Q", INFO_EXIT) + bytes(64))
    try:
        fcntl.ioctl(pidfd, GET_INFO, room, True)
    except OSError as error:
        if error.errno in (errno.ENOTTY, errno.EINVAL, errno.ESRCH):
            return None
        raise
    mask = struct.unpack_from("<Q", room)[0]
    return os.waitstatus_to_exitcode(struct.unpack_from("<i", room, 60)[0]) if mask & INFO_EXIT else None


def environment_of(pid: int) -> dict[str, str]:
    """The environment that a process was executed with; empty where it cannot be read."""
    try:
        lines = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    pairs = (each.partition(b"=") for each in lines if b"=" in each)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def line_of(pid: int) -> str:
    """The line of cookies in the environment of a process; empty without, or where it cannot be read."""
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    found = next((each[len(COOKIE) :] for each in environment if each.startswith(COOKIE)), b"")
    return found.decode(errors="replace")
