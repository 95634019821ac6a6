"""Handing the terminal to a run's tree, and taking it back."""

from __future__ import annotations

import contextlib
import os
import signal
import termios
from collections.abc import Iterator
from typing import Any, Self


class Terminal:
    """The controlling terminal of this process, opened for as long as a tree may have it.

    Taking it back also puts its modes back, which a program that is killed leaves as it had them.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._modes: list[Any] | None = None
        self._handed_to = 0

    @classmethod
    def open(cls) -> Self | None:
        """``None`` where this process has no controlling terminal."""
        try:
            return cls(os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY))
        except OSError:
            return None

    def in_foreground(self) -> bool:
        """Whether this process may use the terminal now."""
        try:
            return os.tcgetpgrp(self._fd) == os.getpgrp()
        except OSError:
            return False

    def hand_to(self, group: int) -> None:
        """Let a group of this session have it. Changes nothing when this process does not have it itself, as
        a job in the background."""
        if self.in_foreground():
            with contextlib.suppress(OSError, termios.error):
                self._modes = termios.tcgetattr(self._fd)
            with contextlib.suppress(OSError):
                os.tcsetpgrp(self._fd, group)
                self._handed_to = group

    @property
    def handed(self) -> bool:
        """Whether it was handed on, and not taken back since."""
        return bool(self._handed_to)

    def take_back(self) -> None:
        """Only if it is where it was handed to: a shell may have given it to somebody else meanwhile."""
        group, self._handed_to = self._handed_to, 0
        if not group:
            return
        with contextlib.suppress(OSError, termios.error), _unstopped():
            if os.tcgetpgrp(self._fd) == group:
                os.tcsetpgrp(self._fd, os.getpgrp())
                if self._modes is not None:
                    termios.tcsetattr(self._fd, termios.TCSADRAIN, self._modes)

    def close(self) -> None:
        self.take_back()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


@contextlib.contextmanager
def _unstopped() -> Iterator[None]:
    """A process in the background that sets the terminal is stopped, unless it blocks that signal."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
