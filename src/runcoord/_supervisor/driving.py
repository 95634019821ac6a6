"""The thin edge: a command driven by real time, with a thread for its lease."""

from __future__ import annotations

import contextlib

from runcoord import _spans as spans
from runcoord._supervisor.command import CommandRun
from runcoord._supervisor.report import Cause, CommandReport
from runcoord._ticker import Ticker


class _Heart:
    """What the thread ticks: the lease and the moments that are due, never the end of the run."""

    def __init__(self, command: CommandRun) -> None:
        self._command = command

    def next_due(self) -> float | None:
        return self._command.next_due()

    def tick(self) -> None:
        self._command.beat()


def drive(command: CommandRun) -> CommandReport:
    """Run it from its beginning to its outcome. Whatever is thrown into this (Ctrl-C, the exit of the
    program) ends the run as interrupted, and is raised again when nothing of it is left; a second one ends
    the grace.
    """
    with spans.span("runcoord.run") as span:
        run = command.begin()
        span.say(run=run.run_id)
        ticker = Ticker(_Heart(command), command.shop.verbs.clock, f"runcoord-command-{run.run_id[:40]}")
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(ticker)
            except RuntimeError as error:  # the system gives no thread: a limit on processes is reached
                report = command.end(Cause.BROKEN, why=f"nothing can keep its lease: {error}")
            else:
                report = _until_its_end(command)
        outcome = report.run.outcome
        span.say(
            cause=report.cause.value,
            outcome=outcome.value if outcome is not None else "",
            status=report.exit_status,
            clean=report.clean,
        )
    return report


def _until_its_end(command: CommandRun) -> CommandReport:
    try:
        while (cause := command.cause()) is None:
            command.wait()
    except BaseException as thrown:
        command.end(Cause.INTERRUPTED, why=f"its caller was interrupted: {type(thrown).__name__}")
        raise
    return command.end(cause)
