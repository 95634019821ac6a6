"""What signals to ``runcoord run`` do: the first ends the run, a second one ends the grace."""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType
    from typing import Any, Self

    from runcoord._supervisor.command import CommandRun

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ToldToEnd(BaseException):
    """A signal came before there was a run that it could end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Signals:
    """Handles the signals that mean "end" while it is entered.

    One that this process was started to ignore stays ignored (``nohup``, a shell's background jobs). SIGCHLD
    is set to its default: where it is ignored, the exit status of a child cannot be had.
    """

    def __init__(self) -> None:
        self._command: CommandRun | None = None
        self._over = False
        self._before: dict[int, Callable[[int, FrameType | None], Any] | int | None] = {}
        self.first = 0
        """The first signal that came; 0 while none did."""

    def __enter__(self) -> Self:
        for number in ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._handle)
        if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
            self._before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def end(self, command: CommandRun) -> None:
        """From now on they end this command."""
        self._command = command

    def over(self) -> None:
        """The run has ended; what comes now changes nothing any more."""
        self._over = True

    def _handle(self, number: int, frame: FrameType | None) -> None:
        again, self.first = bool(self.first), self.first or number
        if self._over:
            return
        command = self._command
        if command is None or not command.accepted or (again and not command.began):
            raise ToldToEnd(self.first)
        from runcoord._supervisor.report import Cause  # loaded by now, with the command

        name = signal.Signals(number).name
        cause = Cause.STOPPED if number == signal.SIGINT else Cause.INTERRUPTED
        command.ask(cause, signal=number, why=f"told to end by {name} ({number})")


def occupy_standard_streams() -> None:
    """Put something at the numbers 0 to 2 where they are closed, so that no other file comes to stand there.

    The command finds them as unusable as they were: standard input can only be written and the other two only
    be read, as in GNU's coreutils, so each use of them fails.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            found = os.open(os.devnull, os.O_WRONLY if number == 0 else os.O_RDONLY)
            if found != number:
                os.dup2(found, number)
                os.close(found)
            os.set_inheritable(number, True)


def has_the_terminal() -> bool:
    """Whether standard input is the terminal that controls this process.

    Also in its background: a command that stays in the session is stopped when it reads what is typed there,
    as any job is, and one in a session of its own would take the keys away from the shell.
    """
    try:
        os.tcgetpgrp(0)
    except OSError:
        return False
    return True
