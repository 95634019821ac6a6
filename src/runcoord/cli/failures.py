"""Exit codes, and what is said about an error; the one place that decides which error gives which code."""

from __future__ import annotations

import enum

from runcoord import Happened, Refused, RuncoordError
from runcoord._core.values import field, value
from runcoord.errors import UnknownRun

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import click


class Exit(enum.IntEnum):
    """What the process's exit code says. Part of the interface."""

    DONE = 0
    REFUSED = 1
    USAGE = 2
    STORE_NO = 3
    STORE_MAYBE = 4
    SOMETHING_LEFT = 5
    INTERNAL = 70
    INTERRUPTED = 130
    PIPE_CLOSED = 141


MEANINGS: Mapping[Exit, str] = {
    Exit.DONE: "done",
    Exit.REFUSED: "refused by a rule; nothing was changed",
    Exit.USAGE: "the command line was not understood",
    Exit.STORE_NO: "the store, or the file of a result, cannot be used; nothing was changed",
    Exit.STORE_MAYBE: "the store failed, and the change may have happened",
    Exit.SOMETHING_LEFT: "done, but not all of it: unreadable rows, folders not imported, a stop not noticed",
    Exit.INTERNAL: "a fault of runcoord itself",
    Exit.INTERRUPTED: "interrupted (Ctrl-C)",
    Exit.PIPE_CLOSED: "the reader of the output went away",
}


@value
class Failure:
    """An error as it is told to the user."""

    code: str
    """Stable name, for programs."""
    problem: str
    exit: Exit | int
    remedy: str = ""
    happened: Happened = Happened.NO
    details: Mapping[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """What ``--json`` writes to standard error."""
        return {
            "code": self.code,
            "problem": self.problem,
            "remedy": self.remedy,
            "happened": self.happened.value,
            "details": dict(self.details),
        }


class OutputFailed(Exception):
    """The output could not be written, for another reason than a closed pipe."""


def failure_of(error: RuncoordError) -> Failure:
    """What an error of the library comes to here."""
    if isinstance(error, Refused):
        code = Exit.REFUSED
    else:
        code = Exit.STORE_MAYBE if error.happened is Happened.MAYBE else Exit.STORE_NO
    return Failure(error.code, error.problem, code, error.remedy, error.happened, error.details)


def unknown_failure(error: UnknownRun, store: str) -> Failure:
    """A run that is not there; ``store`` is where it was looked for, which is mostly what is wrong."""
    found = failure_of(error)
    remedy = f"Looked in the store {store}. {found.remedy}".rstrip()
    details = {**found.details, "store": store}
    return Failure(found.code, found.problem, found.exit, remedy, found.happened, details)


def usage_failure(error: click.UsageError) -> Failure:
    """A command line that was not understood."""
    path = error.ctx.command_path if error.ctx is not None else "runcoord"
    return Failure("usage-error", error.format_message(), Exit.USAGE, f"See: {path} --help")


def click_failure(error: click.ClickException) -> Failure:
    """Another error that a command raised in click's manner; its exit code is its own."""
    return Failure("error", error.format_message(), error.exit_code)


def interrupted(changes: bool) -> Failure:
    """Ctrl-C. ``changes``: whether a change may have been under way."""
    happened = Happened.MAYBE if changes else Happened.NO
    return Failure("interrupted", "interrupted", Exit.INTERRUPTED, happened=happened)


def output_failure(error: OutputFailed, changes: bool) -> Failure:
    """The answer was lost on its way. ``changes``: whether the command was one that changes something."""
    return Failure(
        "output-failed",
        f"the output could not be written completely: {error}",
        Exit.SOMETHING_LEFT,
        "To see what was changed: runcoord runs" if changes else "",
        Happened.MAYBE if changes else Happened.NO,
    )


def internal_failure(error: BaseException, trace: str) -> Failure:
    """A fault of this program. The trace is for those who mend it."""
    return Failure(
        "internal-error",
        f"runcoord failed unexpectedly: {type(error).__name__}: {error}",
        Exit.INTERNAL,
        "Please report this with the lines above.",
        Happened.MAYBE,
        {"trace": trace.splitlines()},
    )
