"""The exit status that a command's end comes to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runcoord import Outcome, Run, Spec, State
from runcoord._git import Agreement, Difference, DriftReport, RestoreReport, What
from runcoord._git import Outcome as Restored
from runcoord._supervisor.git_state import GitReport
from runcoord._supervisor.report import Cause, CommandReport
from runcoord.ports import Ending, Fate, ProcessReport, TeardownReport


def run_that(outcome: Outcome) -> Run:
    return Run("r1", Spec(), 0.0, line="r1", state=State.FINISHED, outcome=outcome)


EMPTY = TeardownReport(emptied=True)
LEFT = TeardownReport(emptied=False, processes=(ProcessReport(7, Fate.SURVIVED),))
UNSEEN = TeardownReport(emptied=False)
MOVED = GitReport(DriftReport("d", "top", Agreement.DIFFERS, (Difference(What.HEAD, "HEAD"),)))
BARE = GitReport(DriftReport("d", "top", Agreement.BROKEN, (Difference(What.CONFIG, "config", "core.bare"),)))
BROKEN = GitReport(RestoreReport("d", "top", Restored.NOT_RESTORED), "d")

GOOD = CommandReport(run_that(Outcome.COMPLETED), Cause.ENDED, Ending(0), teardown=EMPTY)
BAD = CommandReport(run_that(Outcome.FAILED), Cause.ENDED, Ending(3), teardown=EMPTY)


@pytest.mark.parametrize(
    ("report", "status"),
    [
        (GOOD, 0),
        (BAD, 3),
        (replace(BAD, ending=Ending(-9)), 137),
        (replace(GOOD, teardown=LEFT), 120),
        (replace(GOOD, teardown=UNSEEN), 120),
        (replace(GOOD, teardown=None), 120),
        (replace(GOOD, git=MOVED), 0),
        (replace(GOOD, git=BARE), 120),
        (replace(GOOD, recorded=False), 125),
        (replace(GOOD, run=run_that(Outcome.STOPPED)), 121),
        # What went wrong afterwards never hides how the command ended.
        (replace(BAD, teardown=LEFT, git=BROKEN, recorded=False), 3),
        (replace(BAD, cause=Cause.TIMED_OUT, ending=None), 124),
        (replace(BAD, cause=Cause.TIMED_OUT, ending=None, teardown=LEFT), 124),
        (replace(BAD, cause=Cause.STOPPED, ending=None), 121),
        (replace(BAD, cause=Cause.STOPPED, ending=None, signal=2), 130),
        (replace(BAD, cause=Cause.INTERRUPTED, ending=None, signal=15), 143),
        (replace(BAD, cause=Cause.INTERRUPTED, ending=None), 130),
        (replace(BAD, cause=Cause.LEASE_LOST, ending=None), 125),
        (replace(BAD, cause=Cause.BROKEN, ending=None), 125),
    ],
)
def test_the_first_thing_that_went_wrong_decides(report: CommandReport, status: int) -> None:
    assert report.exit_status == status


def test_a_moved_head_is_no_damage_and_a_bare_checkout_is() -> None:
    assert (MOVED.clean, BARE.clean, BROKEN.clean) == (True, False, False)
    assert list(BARE.remarks(5)) == ["git: top does not work as before: core.bare config"]
    assert list(BROKEN.remarks(5)) == [
        "git: top is not as it was before",
        "git: what was written down before is kept in d",
    ]
