"""Seeded defects of what recovery does with the processes that others left running."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from defects.catalogue import Defect
from defects.processes_identity import IDENTITY
from defects.processes_mistaken import for_ever, kills_by_number
from defects.processes_records import RECORDS
from runcoord import _cleaning, _ending_trees
from runcoord._cleaning import Cleaned, Cleaner, _Attempt
from runcoord._coordinator import RunVerbs
from runcoord._core import cleanup
from runcoord._core.cleanup import Found, Sight
from runcoord._core.decision import Decision
from runcoord._core.model import Instant
from runcoord._core.records import Identity
from runcoord._core.teardown import Membership, TeardownReport
from runcoord._ending_trees import Trees
from runcoord._probing import Probes
from runcoord._supervisor.command import CommandRun
from runcoord.errors import StoreError

# --- orphans -------------------------------------------------------------------------------------


def _skips_processes(patch: pytest.MonkeyPatch) -> None:
    """A run with processes is taken over by every sweep, and nothing is done about it."""
    patch.setattr(Cleaner, "_carry_out", lambda self, attempt, cleaned: None)


def _ends_the_run_alone(patch: pytest.MonkeyPatch) -> None:
    """The run is ended as if the signals had been sent, and nobody looks whether that is so."""
    patch.setattr(_cleaning, "corrected", lambda report, found: report)
    patch.setattr(_cleaning, "summed_up", lambda found, report, hidden, **_: TeardownReport(emptied=True))
    patch.setattr(Trees, "tear_down", lambda self, found: TeardownReport(emptied=True))


def _finished_is_finished(patch: pytest.MonkeyPatch) -> None:
    """Recovery is about runs that have not ended."""
    clean = Cleaner.clean

    def unfinished(self: Cleaner, due: dict[str, str], *more: Any) -> Cleaned:
        with self._verbs.store.view("read-run") as view:
            runs = view.load_runs(list(due), [])
        return clean(self, {run.run_id: due[run.run_id] for run in runs if run.outcome is None}, *more)

    patch.setattr(Cleaner, "clean", unfinished)


def _names_only_what_is_recorded(patch: pytest.MonkeyPatch) -> None:
    """Where nobody can see who else belongs to a run, nobody is said to be left besides those recorded."""
    right = cleanup.summed_up
    patch.setattr(_cleaning, "summed_up", lambda found, report, hidden, **_: right(found, report, hidden))


def _signals_unaudited(patch: pytest.MonkeyPatch) -> None:
    def kill(self: Cleaner, attempt: _Attempt, cleaned: Cleaned) -> None:
        attempt.report = self._trees.tear_down(attempt.found)

    patch.setattr(Cleaner, "_kill", kill)


def _only_what_is_recorded(patch: pytest.MonkeyPatch) -> None:
    """What the run started besides is not looked for."""
    right = cleanup.membership

    def membership(found: Sequence[Found]) -> Membership:
        return replace(right(found), cookie="", ancestor=0)

    patch.setattr(_ending_trees, "membership", membership)


def _does_not_wait_for_the_shim(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_cleaning, "shims", lambda found: ())
    patch.setattr(cleanup, "shims", lambda found: ())


# --- looking -------------------------------------------------------------------------------------


def _tries_on_every_sweep(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(cleanup, "backoff", lambda attempt: 0.0)


def _looks_without_a_bound(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Probes, "call", lambda self, seconds, call: call(self.table))


def _a_look_that_fails_ends_the_sweep(patch: pytest.MonkeyPatch) -> None:
    right = Probes.look

    def look(self: Probes, identity: Identity) -> Any:
        seen = right(self, identity)
        if seen.sight is Sight.UNKNOWN:
            raise PermissionError(13, seen.why)
        return seen

    patch.setattr(Probes, "look", look)


# --- audits --------------------------------------------------------------------------------------


def _signals_although_unaudited(patch: pytest.MonkeyPatch) -> None:
    """That the intent could not be written is noted, and the signal sent."""
    right = Cleaner._kill

    def kill(self: Cleaner, attempt: _Attempt, cleaned: Cleaned) -> None:
        right(self, attempt, cleaned)
        if attempt.audit is None:
            attempt.report = self._trees.tear_down(attempt.found)

    patch.setattr(Cleaner, "_kill", kill)


def _a_failed_audit_ends_the_sweep(patch: pytest.MonkeyPatch) -> None:
    right = Cleaner._kill

    def kill(self: Cleaner, attempt: _Attempt, cleaned: Cleaned) -> None:
        right(self, attempt, cleaned)
        if attempt.audit is None:
            raise StoreError("the intent could not be written", remedy="Look at the store.")

    patch.setattr(Cleaner, "_kill", kill)


def _own_teardown_waits_for_the_store(patch: pytest.MonkeyPatch) -> None:
    """An owner ends its own tree only when it could write down that it is about to."""
    right = CommandRun._torn_down

    def torn_down(self: CommandRun) -> TeardownReport | None:
        self.execution.progress("about to end the tree")
        return right(self)

    patch.setattr(CommandRun, "_torn_down", torn_down)


def _nothing_of_what_may_be_written(patch: pytest.MonkeyPatch) -> None:
    """An intent of which nobody knows whether it was written stays without a result."""
    right = Cleaner._kill

    def kill(self: Cleaner, attempt: _Attempt, cleaned: Cleaned) -> None:
        right(self, attempt, cleaned)
        if attempt.unaudited:
            attempt.audit = None

    patch.setattr(Cleaner, "_kill", kill)


def _overtaken_says_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Cleaner, "_tell_late", lambda self, attempt: None)


def _no_result_after_the_intent(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Cleaner, "_told", lambda self, attempt: ())


def _sweeps_are_never_proved_dead(patch: pytest.MonkeyPatch) -> None:
    """An owner that acquired runs by recovery alone is not registered, so its death cannot be proved."""
    right = RunVerbs.registered

    def registered(self: RunVerbs, decision: Decision, now: Instant) -> Decision:
        taken = decision.run.cleanup is not None and decision.run.cleanup.attempts > 0
        return decision if taken else right(self, decision, now)

    patch.setattr(RunVerbs, "registered", registered)


RECOVERY = [
    *IDENTITY,
    *RECORDS,
    Defect(
        "orphan-outlives-crash",
        "Recovery skips runs with processes, and takes them over again with every sweep.",
        "converges",
        _skips_processes,
        scenario="orphan-under-timers",
    ),
    Defect(
        "orphan-outlives-crash",
        "Recovery ends the run and leaves its processes running.",
        "outcome-after-quiescence",
        _ends_the_run_alone,
        name="run-alone",
    ),
    Defect(
        "cleanup-pending-does-not-block",
        "What a finished run left running counts as dealt with, and lives on.",
        "no-orphan-left",
        _ends_the_run_alone,
        name="left-alone",
        scenario="clean-up-under-timers",
    ),
    Defect(
        "cleanup-pending-does-not-block",
        "Nobody deals with what a finished run left running.",
        "converges",
        _finished_is_finished,
        name="never-cleaned",
        scenario="clean-up-under-timers",
    ),
    Defect(
        "foreign-namespace",
        "What a process that cannot be seen has started is not said to be left.",
        "outcome-after-quiescence",
        _names_only_what_is_recorded,
        name="names-only-the-recorded",
    ),
    Defect(
        "orphan-outlives-crash",
        "Recovery kills without having written it down.",
        "audit-before-signal",
        _signals_unaudited,
        name="unaudited",
    ),
    Defect(
        "orphan-outlives-crash",
        "Where the shim was killed only what is recorded is killed, and the rest of the tree lives on.",
        "outcome-after-quiescence",
        _only_what_is_recorded,
        name="shim-killed",
        scenario="orphan-whose-shim-was-killed",
    ),
    Defect(
        "orphan-outlives-crash",
        "Recovery does not wait for the shim, and kills what is ended in order already.",
        "answer",
        _does_not_wait_for_the_shim,
        name="shim-lives",
        scenario="orphan-with-its-shim",
    ),
    Defect(
        "identity-unreadable-at-recovery",
        "What cannot be looked at is tried for ever.",
        "converges",
        for_ever(lambda patch: None),
        scenario="unreadable-under-timers",
    ),
    Defect(
        "identity-unreadable-at-recovery",
        "The lease is taken again with every sweep.",
        "rows",
        _tries_on_every_sweep,
        name="every-sweep",
    ),
    Defect(
        "identity-unreadable-at-recovery",
        "What cannot be looked at is killed by its number.",
        "no-stranger-signalled",
        kills_by_number,
        name="killed",
        scenario="unreadable-under-timers",
    ),
    Defect(
        "identity-unreadable-at-recovery",
        "A look that never returns is waited for.",
        "never-returns",
        _looks_without_a_bound,
        name="unbounded",
        scenario="looks-that-hang-or-are-denied",
    ),
    Defect(
        "identity-unreadable-at-recovery",
        "A look that fails ends the sweep for every run.",
        "recover",
        _a_look_that_fails_ends_the_sweep,
        name="ends-the-sweep",
        scenario="looks-that-hang-or-are-denied",
    ),
    Defect(
        "pid-recycled-during-audit",
        "What was checked before the audit is signalled by number after it.",
        "no-stranger-signalled",
        kills_by_number,
    ),
    Defect(
        "audit-fails",
        "Recovery signals although the intent could not be written.",
        "audit-before-signal",
        _signals_although_unaudited,
    ),
    Defect(
        "audit-fails",
        "One audit that fails ends the sweep for every run.",
        "recover",
        _a_failed_audit_ends_the_sweep,
        name="ends-the-sweep",
    ),
    Defect(
        "audit-fails",
        "An owner's own running tree is not ended when the store refuses a write.",
        "interrupt",
        _own_teardown_waits_for_the_store,
        name="own-tree",
        scenario="own-tree-needs-no-audit",
    ),
    Defect(
        "audit-fails",
        "A sweep that lost the run in the middle of a round never says what came of it.",
        "audit-before-signal",
        _overtaken_says_nothing,
        name="overtaken",
        scenario="audit-of-a-sweep-that-was-overtaken",
    ),
    Defect(
        "audit-fails",
        "An audit of which nobody knows whether it was written says for ever that its signals may be sent.",
        "audit-before-signal",
        _nothing_of_what_may_be_written,
        name="may-be-written",
        scenario="audit-that-may-be-written",
    ),
    Defect(
        "kill-not-permitted",
        "A process that may not be signalled keeps its run from ending, for ever.",
        "converges",
        for_ever(lambda patch: None),
        scenario="kill-not-permitted-under-timers",
    ),
    Defect(
        "kill-not-permitted",
        "Each attempt leaves a record of intent, and none of what came of it.",
        "audit-before-signal",
        _no_result_after_the_intent,
        name="no-result",
    ),
    Defect(
        "orphan-outlives-crash",
        "What a sweep that crashed took over waits until its time is up.",
        "process",
        _sweeps_are_never_proved_dead,
        name="sweep-crashed",
        scenario="orphan-of-a-sweep-that-crashed",
    ),
]
