"""Handing the terminal to a run's tree, and taking it back."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import termios
import threading
from collections.abc import Iterator

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
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

    def offer(self, group: int) -> None:
        """Hand it on from the beginning, but not in front of a pipe: what reads there, such as a pager, is
        in our group and needs the terminal. A command that turns out to need it too is stopped by the system
        when it uses it, and gets it then.
        """
        if not _writes_into_a_pipe():
            self.hand_to(group)

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


def _writes_into_a_pipe() -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(1).st_mode)
    except OSError:
        return False


def stop_this_job() -> None:
    """Stop this process and its group, as the terminal does with a job: the shell that waits for a pipeline,
    or for a script that we are a part of, sees a stop only when all of it has stopped.

    One signal for all, us among them, and at its default: a continuing that comes before we have stopped
    takes it back. Stopping the others first and then ourselves would come after a quick ``fg``, for good.

    Not SIGSTOP: where nobody could continue this process the system does not stop it.
    """
    if signal.getsignal(signal.SIGTSTP) is signal.SIG_IGN:
        return
    if threading.current_thread() is threading.main_thread():
        os.kill(0, signal.SIGTSTP)
    else:  # the system would hand that to the main thread, and this one would go on for a while
        signal.pthread_kill(threading.get_ident(), signal.SIGTSTP)


@contextlib.contextmanager
def _unstopped() -> Iterator[None]:
    """A process in the background that sets the terminal is stopped, unless it blocks that signal."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
