"""What ``runcoord run`` says and exits with at the end, beside what the command itself said."""

from __future__ import annotations

from signal import Signals

from runcoord._core.model import Outcome
from runcoord._supervisor.report import Cause, CommandReport, ExitStatus
from runcoord.cli.failures import Failure
from runcoord.cli.run_signals import ToldToEnd
from runcoord.cli.wording import counted
from runcoord.errors import (
    CommandNotExecutable,
    CommandNotFound,
    DirectoryUnusable,
    InvalidConfiguration,
    InvalidRequest,
    LaunchFailed,
    Refused,
    RuncoordError,
)

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

NAMED = 5
"""Processes and differences that are named in lines; the report has all."""


def failure_of_run(error: ToldToEnd | RuncoordError | OSError) -> Failure:
    """What kept a command from beginning, with the exit status for it."""
    if isinstance(error, ToldToEnd):
        told = f"told to end by {Signals(error.number).name} ({error.number}) before the command began"
        return Failure("interrupted", told, 128 + error.number)
    if isinstance(error, OSError):
        return _system_failure(error)
    return Failure(error.code, error.problem, _status_of(error), error.remedy, error.happened, error.details)


def _system_failure(error: OSError) -> Failure:
    """The system refused something that runcoord itself needs, such as a file descriptor."""
    what = f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
    return Failure("system-error", f"runcoord itself failed: {what}", ExitStatus.FAILED_ITSELF)


def _status_of(error: RuncoordError) -> int:
    if isinstance(error, CommandNotFound):
        return ExitStatus.NOT_FOUND
    if isinstance(error, CommandNotExecutable | DirectoryUnusable):
        return ExitStatus.NOT_EXECUTABLE
    if isinstance(error, LaunchFailed) and error.details.get("stage") in ("executable", "directory"):
        return ExitStatus.NOT_EXECUTABLE
    if isinstance(error, InvalidRequest | InvalidConfiguration):
        return ExitStatus.FAILED_ITSELF
    return ExitStatus.REFUSED if isinstance(error, Refused) else ExitStatus.FAILED_ITSELF


def remarks(report: CommandReport, timeout: float | None) -> Iterator[str]:
    """What is worth saying about an end; nothing about a good one, or a plain failure of the command."""
    if report.cause is Cause.TIMED_OUT:
        yield f"timed out after {timeout:g} s" if timeout is not None else "timed out"
    elif report.cause is Cause.STOPPED and report.run.stop_reason:
        yield _stopped(report.run.stop_reason)
    elif report.cause in (Cause.STOPPED, Cause.INTERRUPTED, Cause.BROKEN):
        yield report.run.error or report.cause.value
    elif report.cause is Cause.LEASE_LOST:
        yield "the run was taken over, or its store could not be reached for too long; the command was ended"
    elif report.recorded and report.run.outcome is Outcome.STOPPED:
        yield "the run was stopped before its end could be recorded; that stands"
    yield from report.problems
    yield from _left(report)
    if report.git is not None:
        yield from report.git.remarks(NAMED)


def _stopped(reason: str) -> str:
    """The reason is its caller's; that this is why the command ended must be said beside it."""
    return reason if reason.startswith("stopped") else f"stopped: {reason}"


def _left(report: CommandReport) -> Iterator[str]:
    teardown = report.teardown
    if teardown is None:
        return
    for each in teardown.left[:NAMED]:
        what = " ".join(part for part in (f"({each.name})" if each.name else "", each.why) if part)
        yield f"still running, as far as can be told: pid {each.pid} {what}".rstrip()
    more = len(teardown.left) - NAMED
    if more > 0:
        yield f"and {counted(more, 'more process', 'more processes')}"
    if not teardown.emptied and not teardown.left:
        why = "; ".join(teardown.problems[:NAMED])
        yield "it could not be seen that no process of it is left" + (f": {why}" if why else "")


def document(report: CommandReport) -> dict[str, Any]:
    """The report as JSON types."""
    run = report.run
    return {
        "run": run.run_id,
        "outcome": run.outcome.value if run.outcome is not None else None,
        "error": run.error,
        "cause": report.cause.value,
        "status": report.ending.status if report.ending is not None else None,
        "signal": report.signal or None,
        "exit_status": int(report.exit_status),
        "recorded": report.recorded,
        "clean": report.clean,
        "teardown": report.teardown.document() if report.teardown is not None else None,
        "git": report.git.document() if report.git is not None else None,
        "problems": list(report.problems),
    }
