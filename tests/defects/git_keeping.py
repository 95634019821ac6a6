"""Seeded defects of what is kept on disk for a crash, and of what is looked at after a success."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import Any

import pytest

from defects.catalogue import Defect
from runcoord import _cleaning, _recoverer
from runcoord._core.records import Snapshot
from runcoord._git import reports, restoring
from runcoord._putting_back import put_back
from runcoord._supervisor.keeping import Keeper, Kept

Patch = pytest.MonkeyPatch

# --- snapshot-survives-crash ---


def _in_memory_alone(patch: Patch) -> None:
    beginning = Keeper.beginning
    patch.setattr(Keeper, "beginning", lambda self, launched: replace(beginning(self, launched), snapshot=""))


def _recovery_restores_nothing(patch: Patch) -> None:
    patch.setattr(_cleaning, "_must_put_back", lambda run, snapshot, status: False)


def _only_where_nobody_knows_how_it_ended(patch: Patch) -> None:
    must = _cleaning._must_put_back
    patch.setattr(
        _cleaning,
        "_must_put_back",
        lambda run, snapshot, status: status is None and must(run, snapshot, status),
    )


def _at_every_sweep(patch: Patch) -> None:
    sweep = _recoverer.Recoverer.sweep
    kept: list[Snapshot] = []

    def eager(self: _recoverer.Recoverer, **more: Any) -> Any:
        for each in kept:
            put_back(each)
        return sweep(self, **more)

    def keeping(snapshot: Snapshot) -> Snapshot:
        copy = f"{snapshot.directory}.copy"
        shutil.copytree(snapshot.directory, copy)
        kept.append(replace(snapshot, directory=copy))
        return put_back(snapshot)

    patch.setattr(_cleaning, "put_back", keeping)
    patch.setattr(_recoverer.Recoverer, "sweep", eager)


def _broken_is_the_original(patch: Patch) -> None:
    patch.setattr(restoring._Restoration, "_is_repaired", lambda self: False)


def _thrown_away_at_once(patch: Patch) -> None:
    patch.setattr(Keeper, "forget_unless_stored", lambda self, launched, error: self.forget(launched))


def _taken_for_ever(patch: Patch) -> None:
    patch.setattr(Keeper, "untouched", lambda self, launched, run_id: None)


def _as_it_looked_before(patch: Patch) -> None:
    patch.setattr("runcoord._core.process_rules.require_not_stopped", lambda run: None)


# --- success-touches-nothing ---


def _success_is_restored_too(patch: Patch) -> None:
    patch.setattr(Keeper, "compare", Keeper.restore)


def _success_is_not_compared(patch: Patch) -> None:
    patch.setattr(Keeper, "compare", lambda self, launched: Kept())


def _a_recovered_success_is_not_compared(patch: Patch) -> None:
    patch.setattr(_cleaning, "compared", lambda snapshot: snapshot)


def _drift_is_a_failure(patch: Patch) -> None:
    patch.setattr(
        reports.DriftReport, "works", property(lambda self: self.agreement is reports.Agreement.AS_BEFORE)
    )


KEEPING: list[Defect] = [
    Defect(
        "snapshot-survives-crash",
        "What was written down is thrown away though the run may be in the store.",
        "git_report",
        _thrown_away_at_once,
        name="thrown-away",
        scenario="nobody-knows-whether-it-was-stored",
    ),
    Defect(
        "snapshot-survives-crash",
        "The snapshot is known to the process that took it alone.",
        "git_report",
        _in_memory_alone,
    ),
    Defect(
        "snapshot-survives-crash",
        "Recovery ends the run, and leaves the checkout.",
        "caller-git-usable",
        _recovery_restores_nothing,
        name="left-so",
    ),
    Defect(
        "snapshot-survives-crash",
        "Recovery leaves the checkout where it is known how the command ended.",
        "caller-git-usable",
        _only_where_nobody_knows_how_it_ended,
        name="known-end",
        scenario="crash-while-the-tree-is-ended",
    ),
    Defect(
        "snapshot-survives-crash",
        "Every sweep restores it again, against what somebody has set since.",
        "git_value",
        _at_every_sweep,
        name="every-sweep",
    ),
    Defect(
        "snapshot-survives-crash",
        "A later run takes the broken state for the original, and puts that back.",
        "git_status",
        _broken_is_the_original,
        name="broken-original",
        scenario="a-later-run-does-not-take-the-broken-state-for-the-original",
    ),
    Defect(
        "snapshot-survives-crash",
        "Recovery takes for a success what was stopped since it looked.",
        "caller-git-usable",
        _as_it_looked_before,
        name="last-moment",
        scenario="recovery-meets-a-stop-at-the-last-moment",
    ),
    Defect(
        "success-touches-nothing",
        "The state is put back after a success, too.",
        "git_value",
        _success_is_restored_too,
    ),
    Defect(
        "success-touches-nothing",
        "After a success nobody looks: the checkout is left bare in silence.",
        "git_report",
        _success_is_not_compared,
        name="in-silence",
    ),
    Defect(
        "success-touches-nothing",
        "Where its coordinator died nobody looks, and what was written down is thrown away.",
        "git_report",
        _a_recovered_success_is_not_compared,
        name="recovered",
        scenario="a-success-that-is-recovered",
    ),
    Defect(
        "success-touches-nothing",
        "A new branch or worktree makes a success unclean.",
        "answer",
        _drift_is_a_failure,
        name="any-drift",
        scenario="harmless-drift-is-reported",
    ),
    Defect(
        "success-touches-nothing",
        "Of a command that never began the store says for ever that its checkout is to be dealt with.",
        "git_report",
        _taken_for_ever,
        name="never-began",
        scenario="a-command-that-never-began",
    ),
]
