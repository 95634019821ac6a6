"""What the end of a command comes to."""

from __future__ import annotations

from runcoord._core.ending import ending_text
from runcoord._core.model import Outcome
from runcoord._core.values import value
from runcoord._supervisor.report import Cause

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from runcoord.ports import Ending


@value
class Reasons:
    """What is known about the reason of an end, in words; empty where there are none."""

    given: str = ""
    """By who ends it."""
    asked: str = ""
    """By who asked for its end before."""
    broken: str = ""
    """What has failed of that which the run hangs on."""
    timeout: float | None = None
    """Seconds that it had."""


def verdict(cause: Cause, ending: Ending | None, reasons: Reasons) -> tuple[Outcome, str]:
    """The outcome to record, and its error."""
    why = reasons.given or reasons.asked
    if cause is Cause.ENDED and ending is not None:
        if ending.status == 0:
            return Outcome.COMPLETED, ""
        return Outcome.FAILED, ending_text(ending.status)
    if cause is Cause.TIMED_OUT:
        return Outcome.FAILED, f"timed out after {reasons.timeout:g} s"
    if cause is Cause.STOPPED:
        return Outcome.STOPPED, why or "stopped"
    if cause is Cause.BROKEN:
        failed = f"what its processes hang on has failed: {reasons.broken}"
        return Outcome.INTERRUPTED, reasons.given or failed
    if cause is Cause.LEASE_LOST:
        return Outcome.INTERRUPTED, "its lease was lost"
    return Outcome.INTERRUPTED, why or "runcoord was interrupted"
