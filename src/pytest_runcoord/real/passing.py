"""Messages between the parts of the real tier: one JSON value a packet, with open files beside it."""

from __future__ import annotations

import array
import json
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

LARGEST = 160 * 1024
"""Bytes of one message: a few hundred processes with all that is known of them; sockets carry that much."""
MOST_FILES = 4
"""Open files beside one message."""


class Hung(Exception):
    """The other side is gone."""


@dataclass(frozen=True, slots=True)
class Packet:
    """One message, and the descriptors that came with it, which are the receiver's to close."""

    value: dict[str, Any]
    files: tuple[int, ...] = ()


def pair() -> tuple[socket.socket, socket.socket]:
    """Two connected ends."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * LARGEST)
    return ours, theirs


def put(end: socket.socket, value: dict[str, Any], files: Sequence[int] = ()) -> None:
    """Send. Raises :class:`Hung`."""
    beside = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
    try:
        end.sendmsg([json.dumps(value).encode("utf-8", "surrogatepass")], beside)
    except OSError as error:
        raise Hung(str(error)) from error


def take(end: socket.socket) -> Packet:
    """Receive. Raises :class:`Hung` at the end, and ``TimeoutError`` by the socket's own timeout."""
    room = socket.CMSG_SPACE(MOST_FILES * array.array("i").itemsize)
    try:
        data, beside, _, _ = end.recvmsg(LARGEST, room, socket.MSG_CMSG_CLOEXEC)
    except TimeoutError:
        raise
    except OSError as error:
        raise Hung(str(error)) from error
    files = array.array("i")
    for level, kind, content in beside:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            files.frombytes(content[: len(content) - len(content) % files.itemsize])
    if not data:
        for each in files:
            os.close(each)
        raise Hung("the other side has closed its end")
    return Packet(json.loads(data.decode("utf-8", "surrogatepass")), tuple(files))
