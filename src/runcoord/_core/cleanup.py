"""What recovery does with the processes of a run, and what is known of them in the end."""

from __future__ import annotations

from runcoord._core.evolving import evolved
from runcoord._core.limits import MAX_SURVIVOR_CHARACTERS, SURVIVORS_NAMED
from runcoord._core.model import Cleanup, CleanupState, Instant, Survivor
from runcoord._core.records import Teardown
from runcoord._core.teardown import Fate, TeardownReport
from runcoord._core.texts import storable


def settled(cleanup: Cleanup, report: TeardownReport) -> Cleanup:
    """What is known after this teardown, by which the run's processes count as dealt with."""
    left = report.left
    survivors = [Survivor(each.pid, _short(each.name), each.fate.value, _short(each.why)) for each in left]
    if not survivors and not report.emptied:
        why = "; ".join(report.problems) or "it could not be seen that nothing is left"
        survivors = [Survivor(None, "", Fate.UNKNOWN.value, _short(why))]
    return evolved(
        cleanup,
        state=CleanupState.SURVIVED if survivors else CleanupState.DONE,
        teardowns=cleanup.teardowns + 1,
        due=None,
        survivors=tuple(survivors[:SURVIVORS_NAMED]),
        unnamed=max(0, len(survivors) - SURVIVORS_NAMED),
    )


def torn_down(run_id: str, after: Cleanup, report: TeardownReport, now: Instant) -> Teardown:
    """The row that keeps the report."""
    return Teardown(run_id, after.teardowns, report, now.wall)


def _short(text: str) -> str:
    return storable(text)[:MAX_SURVIVOR_CHARACTERS]
