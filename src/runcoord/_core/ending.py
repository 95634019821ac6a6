"""How a run ends, whoever ends it."""

from __future__ import annotations

from runcoord._core.decision import Decision
from runcoord._core.events import finished_event
from runcoord._core.evolving import evolved
from runcoord._core.limits import MAX_ERROR_CHARACTERS
from runcoord._core.model import CleanupState, Deadline, Instant, Outcome, Run, State
from runcoord._core.texts import storable
from runcoord.errors import WorkCancelled

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import Any

INTERRUPTED_ERROR = "interrupted: its owner ended or lost its lease before the run finished"


def finished(run: Run, outcome: Outcome, error: str, now: Instant, **more: Any) -> Run:
    """The run as it has ended. Where its processes are not dealt with, recovery may do that once the lease,
    which ends here, would have run out."""
    cleanup = more.pop("cleanup", run.cleanup)
    if cleanup is not None and cleanup.state is CleanupState.PENDING:
        cleanup = evolved(cleanup, due=run.lease or Deadline.after(now, 0.0))
    return evolved(
        run,
        state=State.FINISHED,
        version=run.version + 1,
        outcome=outcome,
        error=error,
        finished_at=now.wall,
        lease=None,
        cleanup=cleanup,
        **more,
    )


def left_behind(
    run: Run, now: Instant, retry_id: str, *, exit_status: int | None = None, **more: Any
) -> Decision:
    """End a started run that nobody owns any more.

    A stop that was noted wins. Else, where the command is known to have ended by itself, its exit status
    says how; else the run was interrupted, and is retried as ``retry_id`` within its budget.
    """
    reported, again = None, False
    if exit_status is not None:
        reported = Outcome.FAILED if exit_status else Outcome.COMPLETED
    outcome, error = reported or Outcome.INTERRUPTED, ending_text(exit_status)
    if run.stop_requested_at is not None:
        outcome, error = Outcome.STOPPED, run.stop_reason
    elif reported is None:
        again = run.spec.interruption_budget > 0
    spent = again and run.interruptions >= run.spec.interruption_budget
    if spent:
        error = (
            f"{INTERRUPTED_ERROR}; not retried: {run.interruptions + 1} interruptions in its line, "
            f"{run.spec.interruption_budget} automatic retries allowed"
        )
    more.update(reported=reported, exit_status=exit_status)
    retried_as = retry_id if again and not spent else run.retried_as
    after = finished(run, outcome, error, now, retried_as=retried_as, **more)
    successor = retry_of(after, retry_id, now) if again and not spent else None
    return Decision(after, True, finished_event(after, now), successor)


def require_not_stopped(run: Run) -> None:
    """Refuse to record a success of a run that was stopped meanwhile; the stop wins."""
    if run.stop_requested_at is not None:
        raise WorkCancelled(
            f"run {run.run_id!r} was stopped meanwhile, so it has not succeeded",
            remedy="Undo what only a success keeps, then end it; the stop wins.",
            run=run.run_id,
        )


SIGNAL_NAMES = {
    1: "SIGHUP",
    2: "SIGINT",
    3: "SIGQUIT",
    6: "SIGABRT",
    8: "SIGFPE",
    9: "SIGKILL",
    11: "SIGSEGV",
    13: "SIGPIPE",
    14: "SIGALRM",
    15: "SIGTERM",
}
"""Signals whose numbers are the same on every Unix, which no other's are: a record may be read elsewhere."""


def ending_text(exit_status: int | None) -> str:
    """The error of a run that ended so, as ``Popen.returncode`` has it; empty for success."""
    if exit_status is None:
        return INTERRUPTED_ERROR
    if exit_status < 0:
        name = SIGNAL_NAMES.get(-exit_status)
        return f"ended by {name} ({-exit_status})" if name else f"ended by signal {-exit_status}"
    return f"exit status {exit_status}" if exit_status else ""


def retry_of(run: Run, run_id: str, now: Instant) -> Run:
    """A new run with the inputs of ``run``, linked to it; counts an interruption along the line."""
    return Run(
        run_id,
        run.spec,
        now.wall,
        line=run.line,
        retry_of=run.run_id,
        interruptions=run.interruptions + (run.outcome is Outcome.INTERRUPTED),
        lineage=run.lineage,
        depth=run.depth,
    )


def bounded_error(text: str) -> str:
    """Error text within its limit: an outcome is never lost because its explanation is long, or odd."""
    return storable(text)[:MAX_ERROR_CHARACTERS]
