"""The coordinator's end of the socket to a shim, and the waking of whoever waits at it."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time

from runcoord._core.limits import LONGEST_WAIT_SECONDS
from runcoord._shim.control import Lines

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import Any


class Channel:
    """Sends orders to a shim and waits for what it says. One thread waits; anybody may wake it, or hurry."""

    def __init__(self, fd: int) -> None:
        """Takes the descriptor over. Raises ``OSError``; then it is closed."""
        try:
            self._wake_out, self._wake_in = os.pipe()
        except OSError:
            os.close(fd)
            raise
        os.set_blocking(fd, False)
        self._lines = Lines(fd)
        os.set_blocking(self._wake_out, False)
        os.set_blocking(self._wake_in, False)
        self._closed = False
        self._closing = threading.RLock()  # re-entered by a signal handler that wakes while this one closes

    @property
    def ended(self) -> bool:
        """The shim is gone, or has closed its end."""
        return self._lines.ended

    def say(self, message: dict[str, Any]) -> None:
        """Send an order; what there is no room for is sent while waiting."""
        self._lines.say(message)

    def messages(self, seconds: float) -> list[dict[str, Any]]:
        """What the shim says within this time; comes back at the first word, and when woken."""
        until = time.monotonic() + min(seconds, LONGEST_WAIT_SECONDS)
        while True:
            messages = self._lines.pull()
            if messages or self._lines.ended:
                return messages
            poll = select.poll()
            poll.register(self._wake_out, select.POLLIN)
            poll.register(self._lines.fd, select.POLLIN | (select.POLLOUT if self._lines.unsent else 0))
            ready = {fd for fd, _ in poll.poll(max(0.0, until - time.monotonic()) * 1000)}
            self._lines.push()
            if self._wake_out in ready:
                with contextlib.suppress(BlockingIOError):
                    while os.read(self._wake_out, 4096):
                        pass
                return self._lines.pull()
            if not ready and time.monotonic() >= until:
                return []

    def wake(self) -> None:
        """Let a wait return. Callable from a signal handler and from other threads."""
        with self._closing:
            if not self._closed:
                with contextlib.suppress(OSError):  # full: it will wake anyway
                    os.write(self._wake_in, b"w")

    def close(self) -> None:
        """The shim sees the end of the lifeline. Closing twice changes nothing."""
        with self._closing:
            if not self._closed:
                self._closed = self._lines.ended = True
                for fd in (self._lines.fd, self._wake_out, self._wake_in):
                    os.close(fd)
