"""Seeded defects of when nothing may be put back, and of what is said when that fails."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import Any

import pytest

from defects.catalogue import Defect
from runcoord._git import checkouts, comparing, entries, reports, restoring, taking
from runcoord._git.locks import Held, Holding
from runcoord._git.values import Entry, Kind
from runcoord._supervisor import command, report
from runcoord._supervisor.keeping import Keeper, Kept
from runcoord._supervisor.starting import Launched
from runcoord.errors import GitStateUnsaved

Patch = pytest.MonkeyPatch

# --- git-dir-escapes ---


def _trusting(patch: Patch, trusted: Any) -> None:
    """Objections to what ``trusted`` says yes to, given the entry then and now, are not raised."""
    as_before = checkouts.is_as_before

    def lenient(before: Entry, now: Entry, boot: str) -> bool:
        return bool(as_before(before, now, boot) or trusted(before, now))

    patch.setattr(checkouts, "is_as_before", lenient)
    patch.setattr(checkouts, "_led_elsewhere", lambda before, entry: None)
    patch.setattr(comparing, "is_swapped", lambda old, new: False)
    patch.setattr(restoring._Restoration, "_require_writable", lambda self, config: None)


def _any_path_is_followed(patch: Patch) -> None:
    patch.setattr(restoring, "objections", lambda before, boot: [])
    _trusting(patch, lambda before, now: True)


def _relative_links_are_ours(patch: Patch) -> None:
    right = checkouts.objections

    def lenient(before: Any, boot: str) -> Any:
        link = entries.git_entry_at(before.entry.path)
        return [] if link.leads_to.startswith("..") else right(before, boot)

    patch.setattr(restoring, "objections", lenient)
    _trusting(patch, lambda before, now: False)


def _same_kind_is_the_same(patch: Patch) -> None:
    _trusting(patch, lambda before, now: now.kind is Kind.DIRECTORY and before.kind is now.kind)


def _any_owner_will_do(patch: Patch) -> None:
    _trusting(patch, lambda before, now: replace(now, owner=before.owner) == before)


def _refused_in_silence(patch: Patch) -> None:
    patch.setattr(Keeper, "snapshot_of", lambda self, launched, run_id, report: None)


# --- not-a-checkout ---


def _no_checkout_is_an_error(patch: Patch) -> None:
    found = checkouts.checkout_at

    def required(cwd: str) -> Any:
        checkout = found(cwd)
        if checkout is None:
            raise GitStateUnsaved(f"{cwd} is in no work tree", remedy="")
        return checkout

    patch.setattr(taking, "checkout_at", required)


def _no_checkout_is_a_problem(patch: Patch) -> None:
    restore = Keeper.restore

    def complaining(self: Keeper, launched: Launched) -> Kept:
        kept = restore(self, launched)
        return Kept(problems=("there is no snapshot",)) if launched.saved is None else kept

    patch.setattr(Keeper, "restore", complaining)


def _nothing_means_false(patch: Patch) -> None:
    restore = Keeper.restore

    def careless(self: Keeper, launched: Launched) -> Kept:
        if launched.saved is None:
            asked = ["git", "config", "core.bare", "false"]
            subprocess.run(asked, cwd=launched.prepared.directory, check=False, capture_output=True)
        return restore(self, launched)

    patch.setattr(Keeper, "restore", careless)


# --- restore-fails ---


def _failure_is_raised(patch: Patch) -> None:
    restore = Keeper.restore

    def strict(self: Keeper, launched: Launched) -> Kept:
        kept = restore(self, launched)
        if kept.report is not None and not kept.report.clean:
            raise RuntimeError("the git state could not be restored")
        return kept

    patch.setattr(Keeper, "restore", strict)


def _failure_is_masked(patch: Patch) -> None:
    own = report.CommandReport.exit_status.fget  # type: ignore[attr-defined]
    patch.setattr(
        report.CommandReport,
        "exit_status",
        property(lambda self: own(self) if self.clean else report.ExitStatus.UNCLEAN),
    )


def _said_to_be_restored(patch: Patch) -> None:
    patch.setattr(reports.RestoreReport, "settled", True)


def _any_lock_is_moved(patch: Patch) -> None:
    patch.setattr(restoring, "holding_of", lambda lock, roots: Holding(Held.NOBODY))


def _no_lock_is_moved(patch: Patch) -> None:
    patch.setattr(restoring, "holding_of", lambda lock, roots: Holding(Held.SOMEBODY, "there is a lock"))


def _untold(patch: Patch) -> None:
    patch.setattr(restoring, "_tell", lambda report: None)


def _nobody_else_counts(patch: Patch) -> None:
    patch.setattr(Keeper, "heed_others", lambda self, launched, verbs, run_id, holds: None)


def _every_end_restores(patch: Patch) -> None:
    end = command.CommandRun.end

    def again(self: command.CommandRun, cause: Any, **more: Any) -> Any:
        if self.report is not None and self.launched.saved is not None:
            restoring.restore(self.launched.saved)
        return end(self, cause, **more)

    patch.setattr(command.CommandRun, "end", again)


REFUSING: list[Defect] = [
    Defect(
        "git-dir-escapes",
        "The value is written through whatever .git leads to, into a foreign repository.",
        "git_value",
        _any_path_is_followed,
    ),
    Defect(
        "git-dir-escapes",
        "A link by a relative path is taken for the own one.",
        "git_value",
        _relative_links_are_ours,
        name="relative",
        scenario="git-dir-escapes-by-a-relative-path",
    ),
    Defect(
        "git-dir-escapes",
        "Any directory in the place of .git is taken for the one of before.",
        "git_value",
        _same_kind_is_the_same,
        name="another",
        scenario="git-dir-is-another-repository",
    ),
    Defect(
        "git-dir-escapes",
        "Whose repository it is by now does not matter.",
        "git_value",
        _any_owner_will_do,
        name="owner",
        scenario="git-dir-belongs-to-someone-else",
    ),
    Defect(
        "git-dir-escapes",
        "The refusal is told to nobody who looks into the store.",
        "caller-git-usable",
        _refused_in_silence,
        name="in-silence",
    ),
    Defect(
        "not-a-checkout",
        "A command outside of a checkout is refused.",
        "supervise",
        _no_checkout_is_an_error,
    ),
    Defect(
        "not-a-checkout",
        "That there is no snapshot counts as a problem.",
        "answer",
        _no_checkout_is_a_problem,
        name="a-problem",
    ),
    Defect(
        "not-a-checkout",
        "Nothing written down is restored as false.",
        "git_status",
        _nothing_means_false,
        name="false",
        scenario="it-becomes-a-checkout",
    ),
    Defect(
        "restore-fails",
        "A restoration that fails is raised, and the run never gets its outcome.",
        "settle",
        _failure_is_raised,
        name="raised",
    ),
    Defect(
        "restore-fails",
        "The status of the failed command is hidden by that of the clean-up.",
        "answer",
        _failure_is_masked,
        name="masked",
    ),
    Defect(
        "restore-fails",
        "It is called restored without having been looked at again.",
        "caller-git-usable",
        _said_to_be_restored,
        name="said-so",
        scenario="config-cannot-be-written",
    ),
    Defect(
        "restore-fails",
        "A lock is removed under the hands of who holds it.",
        "answer",
        _any_lock_is_moved,
        name="any-lock",
    ),
    Defect(
        "restore-fails",
        "A lock that a killed process left keeps the checkout broken.",
        "git_status",
        _no_lock_is_moved,
        name="stale-lock",
        scenario="a-lock-that-was-left-is-moved-aside",
    ),
    Defect("restore-fails", "A failed restoration is not logged.", "log", _untold, name="untold"),
    Defect(
        "restore-fails",
        "A second end of the run restores again.",
        "git_value",
        _every_end_restores,
        name="twice",
        scenario="restored-twice",
    ),
    Defect(
        "restore-fails",
        "A supervisor that stood still restores what recovery has restored, against what was set since.",
        "git_value",
        _nobody_else_counts,
        name="nobody-else",
        scenario="restored-by-somebody-else",
    ),
]
