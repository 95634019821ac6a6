"""Lines of JSON between a shim and its coordinator, over one socket that is also the lifeline."""

from __future__ import annotations

import os

from runcoord._core.limits import MAX_CONTROL_LINE_BYTES

TYPE_CHECKING = False  # that of typing, which is not loaded for the process that a run hangs on
if TYPE_CHECKING:
    from typing import Any

PIECE_BYTES = 65536


class Lines:
    """One end of the socket, as a descriptor that does not block. Reads and writes what is possible."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.ended = False
        """The other end is closed: nobody is there any more."""
        self._incoming = b""
        self._outgoing = b""

    @property
    def unsent(self) -> bool:
        return bool(self._outgoing) and not self.ended

    def say(self, message: dict[str, Any]) -> None:
        """Send a message, as soon as there is room."""
        import json  # late: the socket is made before the shim is started

        self._outgoing += json.dumps(message).encode() + b"\n"
        self.push()

    def push(self) -> None:
        """Send what there is room for."""
        while self._outgoing and not self.ended:
            try:
                sent = os.write(self.fd, self._outgoing[:PIECE_BYTES])
            except BlockingIOError:
                return
            except OSError:
                self.ended = True
                return
            self._outgoing = self._outgoing[sent:]

    def pull(self) -> list[dict[str, Any]]:
        """Messages that have come. What is no message is left out: it is nobody's order."""
        while not self.ended:
            try:
                piece = os.read(self.fd, PIECE_BYTES)
            except BlockingIOError:
                break
            except OSError:
                piece = b""
            self.ended = not piece or len(self._incoming) > MAX_CONTROL_LINE_BYTES
            self._incoming += piece
        *lines, self._incoming = self._incoming.split(b"\n")
        if not lines:
            return []
        import json

        messages = []
        for line in lines:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict):
                messages.append(message)
        return messages
