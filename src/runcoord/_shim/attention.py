"""What a shim listens to: its coordinator, signals, and the ends of processes, all in one wait."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Iterator, Sequence

from runcoord._shim.control import Lines

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
"""Signals that mean: end the run."""
OF_THE_TERMINAL = (signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
"""Signals that the terminal sends to the group of the command, in which the shim is too."""


class Attention:
    """Waits for any of them, and counts what came."""

    def __init__(self, control: int, coordinator: int, *, terminal: bool) -> None:
        """``coordinator`` is a pidfd, or -1."""
        os.set_blocking(control, False)
        self.lines = Lines(control)
        self._coordinator = coordinator
        self.child_ended = True
        """Some child ended or stopped since this was last set to false; it may have before we listened."""
        self.endings = 0
        """Signals that mean the end of the run."""
        self.interruptions = 0
        """How often the interrupt key of the handed-on terminal was pressed."""
        self._terminal = terminal
        self._gone = False
        self._wake_out, self._wake_in = os.pipe()
        os.set_blocking(self._wake_out, False)
        os.set_blocking(self._wake_in, False)
        self._take_signals()

    def _take_signals(self) -> None:
        signal.set_wakeup_fd(self._wake_in, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, self._on_child)
        for number in ENDING:
            # One that was ignored from the beginning (nohup) stays so.
            if number == signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._on_ending)
        for number in OF_THE_TERMINAL if self._terminal else ():
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    @property
    def alone(self) -> bool:
        """The coordinator is gone. What it said before may still have to be heard."""
        return self.lines.ended or self._gone

    def _on_child(self, number: int, frame: object) -> None:
        self.child_ended = True

    def _on_ending(self, number: int, frame: object) -> None:
        if number == signal.SIGINT and self._terminal:
            self.interruptions += 1
        else:
            self.endings += 1

    @contextlib.contextmanager
    def deaf_to_children(self) -> Iterator[None]:
        """Not woken by each of a thousand children that end at once, where their ends are seen otherwise."""
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCHLD,))
        try:
            yield
        finally:
            self.child_ended = True
            signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGCHLD,))

    def wait(self, seconds: float | None, ends: Sequence[int] = ()) -> list[int]:
        """Wait for anything, or for one of the processes with the pidfds ``ends``; gives those that ended."""
        poll = select.poll()
        for fd in ends:
            poll.register(fd, select.POLLIN)
        poll.register(self._wake_out, select.POLLIN)
        if not self.lines.ended:
            poll.register(self.lines.fd, select.POLLIN | (select.POLLOUT if self.lines.unsent else 0))
        if self._coordinator >= 0 and not self._gone:
            poll.register(self._coordinator, select.POLLIN)
        ready = [fd for fd, _ in poll.poll(None if seconds is None else max(0.0, seconds) * 1000)]
        if self._wake_out in ready:
            ready.remove(self._wake_out)
            self._drain()
        if self._coordinator in ready:
            ready.remove(self._coordinator)
            self._gone = True
        if self.lines.fd in ready:
            ready.remove(self.lines.fd)
            self.lines.push()
        return ready

    def _drain(self) -> None:
        try:
            while os.read(self._wake_out, 4096):
                pass
        except BlockingIOError:
            pass
