"""Seeded defects of what is around the end of a tree: when it is swept, how long, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from defects.catalogue import Defect
from pytest_runcoord.processes.launching import SimTree
from pytest_runcoord.processes.shim import SHIM, SimShim
from runcoord import _cleaning, _teardown
from runcoord._core import cleanup as cleanups
from runcoord._core import decide, process_rules
from runcoord._core.cleanup import Found, Seen, Sight
from runcoord._core.model import Cleanup, CleanupState, Outcome
from runcoord._core.records import RecordedProcess
from runcoord._core.teardown import TeardownReport
from runcoord._core.teardown_plan import TeardownPlan
from runcoord._launching.orphans import Orphans
from runcoord._log import say
from runcoord._supervisor import command
from runcoord._supervisor.command import CommandRun
from runcoord._supervisor.report import Cause, CommandReport, status_of
from runcoord.errors import ProcessGone
from runcoord.ports import Ending

Patch = pytest.MonkeyPatch
FIXED_WAIT_SECONDS = 5.0


# --- pipe-holder ---


def _waits_for_the_end_of_output(patch: Patch) -> None:
    wait = SimTree.wait

    def drained(self: SimTree, seconds: float) -> Ending | None:
        ending, shim = wait(self, seconds), self._shim
        holders = [each for each in shim.table.living() if each.run == shim.process.run and each.name != SHIM]
        return None if holders else ending

    patch.setattr(SimTree, "wait", drained)


def _drains_for_a_fixed_time(patch: Patch) -> None:
    torn_down = CommandRun._torn_down

    def late(self: CommandRun) -> TeardownReport | None:
        found = torn_down(self)
        if found is not None and found.counted:
            self.tree._sleeper.sleep(FIXED_WAIT_SECONDS)  # type: ignore[attr-defined]
        return found

    patch.setattr(CommandRun, "_torn_down", late)


def _members_left_are_a_failure(patch: Patch) -> None:
    recorded = CommandRun._recorded

    def failed(
        self: CommandRun, cause: Cause, ending: Ending | None, teardown: TeardownReport, *verdict: Any
    ) -> CommandReport:
        if teardown.counted:
            verdict = (Outcome.FAILED, "its output was held open")
        return recorded(self, cause, ending, teardown, *verdict)

    patch.setattr(CommandRun, "_recorded", failed)


# --- group-already-gone ---


def _gone_is_an_error(patch: Patch) -> None:
    signal = _teardown._Teardown._signal

    def noted(self: Any, key: Any, name: str) -> None:
        try:
            self._pins[key].signal(0)
        except ProcessGone as error:
            self._ledger.problem(str(error))
        signal(self, key, name)

    patch.setattr(_teardown._Teardown, "_signal", noted)


def _refused_is_not_told(patch: Patch) -> None:
    patch.setattr(command, "say", lambda log, level, what, **fields: None)


def _names_are_logged(patch: Patch) -> None:
    tell = CommandRun._tell

    def telling(self: CommandRun, report: CommandReport) -> None:
        for each in report.teardown.left if report.teardown is not None else ():
            say(command.log, 30, "not permitted", program=each.name)
        tell(self, report)

    patch.setattr(CommandRun, "_tell", telling)


# --- success-is-swept ---


def _swept_unless(patch: Patch, skips: Any) -> None:
    torn_down = CommandRun._torn_down

    def sometimes(self: CommandRun) -> TeardownReport | None:
        return TeardownReport(emptied=True) if skips(self) else torn_down(self)

    patch.setattr(CommandRun, "_torn_down", sometimes)


def _only_after_failures(patch: Patch) -> None:
    _swept_unless(patch, lambda run: run.tree.wait(0) == Ending(0))


def _not_after_failures(patch: Patch) -> None:
    _swept_unless(patch, lambda run: (run.tree.wait(0) or Ending(0)).status > 0)


def _not_after_timeouts(patch: Patch) -> None:
    _swept_unless(patch, lambda run: run._passed(run._deadline))


def _not_after_stops(patch: Patch) -> None:
    _swept_unless(patch, lambda run: run.execution.heartbeat.stop_requested)


def _not_after_signals(patch: Patch) -> None:
    _swept_unless(patch, lambda run: run._asked is not None)


def _status_of_the_sweep(patch: Patch) -> None:
    def status(self: CommandReport) -> int:
        swept = self.teardown is not None and self.teardown.counted
        return 128 + 15 if swept or self.ending is None else status_of(self.ending.status)

    patch.setattr(CommandReport, "exit_status", property(status))


def _lifeline_unheard(patch: Patch) -> None:
    patch.setattr(SimShim, "coordinator_is_gone", lambda self: None)


# --- cleanup-failure-does-not-mask ---


def _survivors_decide_the_outcome(patch: Patch) -> None:
    recorded = CommandRun._recorded

    def masked(
        self: CommandRun, cause: Cause, ending: Ending | None, teardown: TeardownReport, *verdict: Any
    ) -> CommandReport:
        if teardown.left:
            verdict = (Outcome.INTERRUPTED, "its processes could not be ended")
        return recorded(self, cause, ending, teardown, *verdict)

    patch.setattr(CommandRun, "_recorded", masked)


def _unclean_before_failed(patch: Patch) -> None:
    status = CommandReport.exit_status

    def masked(self: CommandReport) -> int:
        return status.__get__(self) if self.clean else 120

    patch.setattr(CommandReport, "exit_status", property(masked))


def _survivors_are_not_told(patch: Patch) -> None:
    def settled(cleanup: Cleanup, report: TeardownReport) -> Cleanup:
        return replace(cleanups.settled(cleanup, report), state=CleanupState.DONE, survivors=(), unnamed=0)

    patch.setattr(process_rules, "settled", settled)
    patch.setattr(decide, "settled", settled, raising=False)


def _only_the_seen_are_named(patch: Patch) -> None:
    patch.setattr(TeardownPlan, "unseen", "")
    patch.setattr(Orphans, "_with_the_group", lambda self, report, leader: report)


def _looks_without_a_bound(patch: Patch) -> None:
    patch.setattr(Orphans, "tear_down", Orphans._once)


def _success_with_survivors_is_plain(patch: Patch) -> None:
    patch.setattr(CommandReport, "clean", True)


# --- outcome-after-quiescence ---


def _does_not_wait(patch: Patch) -> None:
    def begun(self: SimTree, grace: float) -> TeardownReport:
        self._shim.begin_teardown(grace)
        return TeardownReport(emptied=True)

    patch.setattr(SimTree, "tear_down", begun)


def _records_first(patch: Patch) -> None:
    torn_down = CommandRun._torn_down

    def late(self: CommandRun) -> TeardownReport | None:
        self.execution.finish(Outcome.FAILED, error="timed out")
        return torn_down(self)

    patch.setattr(CommandRun, "_torn_down", late)


def _a_living_shim_is_enough(patch: Patch) -> None:
    look = _cleaning.Cleaner._look

    def trusting(self: _cleaning.Cleaner, recorded: list[RecordedProcess]) -> list[Found]:
        found = look(self, recorded)
        return [replace(each, seen=Seen(Sight.GONE)) for each in found] if cleanups.shims(found) else found

    patch.setattr(_cleaning.Cleaner, "_look", trusting)


def _last_words_about_survivors_are_ignored(patch: Patch) -> None:
    patch.setattr(
        _cleaning, "handed_on", lambda report, told, gone: report or (told if told.emptied else None)
    )


def _other_ends(name: str, says: str, breaks: Any) -> Defect:
    return Defect(
        "success-is-swept",
        says,
        "outcome-after-quiescence",
        breaks,
        name=name,
        scenario="every-other-end-is-swept-too",
    )


SWEEPING: list[Defect] = [
    Defect(
        "pipe-holder",
        "The command has ended only when nobody holds its output any more.",
        "answer",
        _waits_for_the_end_of_output,
    ),
    Defect(
        "pipe-holder",
        "When somebody was left, output is drained for a fixed time.",
        "took",
        _drains_for_a_fixed_time,
        name="fixed-wait",
    ),
    Defect(
        "pipe-holder",
        "A success whose output was held open is recorded as a failure.",
        "answer",
        _members_left_are_a_failure,
        name="failure",
    ),
    Defect(
        "group-already-gone",
        "One that has ended meanwhile is reported as an error.",
        "report",
        _gone_is_an_error,
        scenario="one-that-ends-meanwhile-is-no-error",
    ),
    Defect(
        "group-already-gone",
        "A signal that is not permitted is not told.",
        "log",
        _refused_is_not_told,
        name="untold",
        scenario="other-errors-are-told-in-numbers",
    ),
    Defect(
        "group-already-gone",
        "What could not be signalled is logged by its name.",
        "unlogged",
        _names_are_logged,
        name="names",
        scenario="other-errors-are-told-in-numbers",
    ),
    Defect(
        "success-is-swept",
        "Only what failed is swept.",
        "outcome-after-quiescence",
        _only_after_failures,
    ),
    _other_ends("not-after-failures", "A command that failed is not swept.", _not_after_failures),
    _other_ends("not-after-timeouts", "What is timed out is not swept.", _not_after_timeouts),
    _other_ends("not-after-stops", "What was stopped is not swept.", _not_after_stops),
    _other_ends("not-after-signals", "What a signal ends is not swept.", _not_after_signals),
    Defect(
        "success-is-swept",
        "The status is that of the sweep, not that of the command.",
        "answer",
        _status_of_the_sweep,
        name="status-of-the-sweep",
    ),
    Defect(
        "success-is-swept",
        "Nobody sweeps when the supervisor is killed.",
        "process",
        _lifeline_unheard,
        name="lifeline-unheard",
        scenario="the-death-of-its-supervisor-is-swept-too",
    ),
    Defect(
        "cleanup-failure-does-not-mask",
        "A failed clean-up decides the outcome, whatever the command did.",
        "answer",
        _survivors_decide_the_outcome,
    ),
    Defect(
        "cleanup-failure-does-not-mask",
        "The status of a failed clean-up hides that of the command.",
        "answer",
        _unclean_before_failed,
        name="status",
    ),
    Defect(
        "cleanup-failure-does-not-mask",
        "The failure is kept, and the failed clean-up is told nobody.",
        "outcome-after-quiescence",
        _survivors_are_not_told,
        name="survivors-untold",
    ),
    Defect(
        "cleanup-failure-does-not-mask",
        "A success that left somebody behind is like any other.",
        "answer",
        _success_with_survivors_is_plain,
        name="plain-success",
        scenario="a-success-with-survivors-is-no-plain-success",
    ),
    Defect(
        "cleanup-failure-does-not-mask",
        "Where nobody can be read only the one that was recorded is named.",
        "outcome-after-quiescence",
        _only_the_seen_are_named,
        name="unseen-unnamed",
        scenario="one-named-survivor-does-not-mask-the-unseen",
    ),
    Defect(
        "cleanup-failure-does-not-mask",
        "Without its shim a run is ended with looks that nothing bounds.",
        "never-returns",
        _looks_without_a_bound,
        name="unbounded",
        scenario="without-its-shim-a-look-never-returns",
    ),
    Defect(
        "outcome-after-quiescence",
        "The tree is told to end, and the outcome recorded at once.",
        "outcome-after-quiescence",
        _does_not_wait,
    ),
    Defect(
        "outcome-after-quiescence",
        "The outcome is recorded, and then the tree is ended.",
        "process",
        _records_first,
        name="records-first",
        scenario="a-retry-starts-only-then",
    ),
    Defect(
        "outcome-after-quiescence",
        "Recovery takes a living shim for the end of the tree.",
        "outcome-after-quiescence",
        _a_living_shim_is_enough,
        name="recovery",
        scenario="recovery-waits-for-a-shim-that-still-ends-its-tree",
    ),
    Defect(
        "outcome-after-quiescence",
        "Whom a shim had to leave, by its last words, counts as gone when recovery finds nobody.",
        "outcome-after-quiescence",
        _last_words_about_survivors_are_ignored,
        name="last-words-ignored",
        scenario="whom-a-shim-had-to-leave-is-named",
    ),
]
