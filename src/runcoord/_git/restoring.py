"""Putting a checkout's git state back, and comparing it without writing.

Everything that differs becomes exactly one kind of step: done, only reported, skipped, refused or failed. The
word "restored" is used only after the files were read again and git was asked again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from runcoord._git.calls import Git
from runcoord._git.checkouts import objections
from runcoord._git.comparing import BREAKS, PUT_BACK, differences
from runcoord._git.configs import write_values
from runcoord._git.entries import NotReadable, entry_at, sync
from runcoord._git.locks import Held, holding_of, move_aside
from runcoord._git.observing import files_now, with_behaviours
from runcoord._git.putting_back import (
    NothingLeft,
    NotOurs,
    give_back,
    put_config_bytes,
    put_head,
    put_registration,
    put_registration_file,
)
from runcoord._git.reports import (
    Agreement,
    Difference,
    DriftReport,
    Outcome,
    RestoreReport,
    Result,
    Step,
    What,
)
from runcoord._git.values import ConfigFile, GitSnapshot, Heard, Registration, State
from runcoord._log import INFO, WARNING, Log, say

_log = Log("runcoord.git")

#: What may come out of one step; each is caught there, so that it costs no other step.
_STEP_ERRORS = (OSError, NotReadable, ValueError)


def restore(snapshot: GitSnapshot, *, environ: Mapping[str, str] | None = None) -> RestoreReport:
    """Put the state of the snapshot back, and verify it. Never raises; the report says everything.

    To be called when no process of the run lives any more: one that does can undo it a moment later. A second
    call finds nothing to do and changes nothing. ``environ`` is what git is asked in, this process's own by
    default; what binds git to a repository is taken out of it.
    """
    began = time.monotonic()
    git = Git(os.environ if environ is None else environ)
    work = _Restoration(snapshot, git)
    try:
        outcome = work.carried_out()
    except Exception as error:  # noqa: BLE001 - the run's own failure must not be hidden by this one
        detail = f"{type(error).__name__}: {error}"
        work.note(Result.FAILED, Difference(What.FAULT, snapshot.before.checkout.top, detail=detail))
        outcome = Outcome.NOT_RESTORED
    top = snapshot.before.checkout.top
    steps = tuple(work.steps)
    seconds = time.monotonic() - began
    report = RestoreReport(snapshot.directory, top, outcome, steps, work.changed, git.processes, seconds)
    _tell(report)
    return report


def drift(snapshot: GitSnapshot, *, environ: Mapping[str, str] | None = None) -> DriftReport:
    """Compare the state now with the snapshot. Writes nothing, and never raises."""
    began = time.monotonic()
    git = Git(os.environ if environ is None else environ)
    before = snapshot.before
    try:
        found = [
            Difference(What.IDENTITY, path, detail=why)
            for path, why in objections(before.checkout, before.boot)
        ] or differences(before, with_behaviours(git, before, files_now(git, before)))
        agreement = _agreement(found)
    except Exception as error:  # noqa: BLE001 - a completed run must not fail by looking at it
        found = [Difference(What.FAULT, before.checkout.top, detail=f"{type(error).__name__}: {error}")]
        agreement = Agreement.UNKNOWN
    seconds = time.monotonic() - began
    report = DriftReport(
        snapshot.directory, before.checkout.top, agreement, tuple(found), git.processes, seconds
    )
    if agreement is not Agreement.AS_BEFORE:
        level = INFO if agreement is Agreement.DIFFERS else WARNING
        what = ",".join(sorted({each.what.value for each in found}))
        say(
            _log,
            level,
            "the git state is not as before",
            agreement=agreement.value,
            top=report.top,
            about=what,
        )
    return report


def _agreement(found: list[Difference]) -> Agreement:
    kinds = {each.what for each in found}
    if kinds & BREAKS:
        return Agreement.BROKEN
    if What.UNREADABLE in kinds:
        return Agreement.UNKNOWN
    return Agreement.DIFFERS if kinds else Agreement.AS_BEFORE


def _tell(report: RestoreReport) -> None:
    for step in report.steps:
        loud = step.result in {Result.REFUSED, Result.FAILED}
        say(
            _log,
            WARNING if loud else INFO,
            "git state",
            result=step.result.value,
            about=step.difference.what.value,
            path=step.difference.path,
            key=step.difference.key,
            why="; ".join(filter(None, (step.difference.detail, step.why))),
        )
    say(
        _log,
        INFO if report.settled else WARNING,
        "git state after the run",
        outcome=report.outcome.value,
        top=report.top,
        changed=report.changed,
    )


class _Restoration:
    """One restoration under way: its steps, and how many things it changed."""

    def __init__(self, snapshot: GitSnapshot, git: Git) -> None:
        self._snapshot, self._git = snapshot, git
        self._before = snapshot.before
        self._configs = {each.path: each for each in self._before.configs}
        self._registrations = {each.admin.path: each for each in self._before.registrations}
        self._without_index: list[Registration] = []
        self._now = self._before
        self._lock_unknown = self._attempted = self._repaired = False
        self.steps: list[Step] = []
        self.changed = 0

    def note(self, result: Result, difference: Difference, why: str = "") -> None:
        self.steps.append(Step(result, difference, why))

    def carried_out(self) -> Outcome:
        if self._objected():
            return Outcome.REFUSED
        self._now = files_now(self._git, self._before)
        self._repaired = self._is_repaired()
        for difference in differences(self._before, self._now):
            self._treat(difference)
        for registration in self._without_index:
            self._make_index(registration)
        if self._attempted:
            if self._objected():  # swapped in the middle: what was written is in the report
                return Outcome.NOT_RESTORED
            self._now = files_now(self._git, self._before)
        return self._judged(with_behaviours(self._git, self._before, self._now))

    def _objected(self) -> bool:
        found = objections(self._before.checkout, self._before.boot)
        for path, why in found:
            self.note(Result.REFUSED, Difference(What.IDENTITY, path, detail=why), "nothing is written here")
        return bool(found)

    def _is_repaired(self) -> bool:
        """True when git did not work in the caller's work tree at the snapshot, and does now.

        Then the snapshot holds what an earlier run broke, and somebody has put that right since.
        """
        top = self._before.checkout.top
        then = [each for each in self._before.behaviours if each.place == top]
        if any(each.works or each.heard is not Heard.ANSWERED for each in then):
            return False
        now = with_behaviours(self._git, replace(self._before, behaviours=tuple(then)), self._now)
        return bool(now.behaviours) and all(each.works for each in now.behaviours)

    # --- each kind of difference ---

    def _treat(self, difference: Difference) -> None:
        """One step. What cannot be put back is told; whatever fails costs this step alone."""
        ways: dict[What, Callable[[Difference], None]] = {
            What.CONFIG: self._put_values,
            What.CONFIG_DAMAGED: self._put_bytes,
            What.HEAD_DAMAGED: self._put_head,
            What.LOCK: self._move_lock,
            What.REGISTRATION: self._put_registration,
        }
        way = ways.get(difference.what)
        if way is None:
            self.note(_untreated(difference.what), difference)
            return
        self._attempted = True
        try:
            way(difference)
        except NothingLeft as error:
            self.note(Result.SKIPPED, difference, str(error))
        except NotOurs as error:
            self.note(Result.REFUSED, difference, str(error))
        except _STEP_ERRORS as error:
            self.note(Result.FAILED, difference, f"{type(error).__name__}: {error}")

    def _done(self, difference: Difference, why: str = "") -> None:
        self.changed += 1
        self.note(Result.DONE, difference, why)

    def _require_writable(self, config: ConfigFile) -> None:
        if self._repaired:
            raise NothingLeft("git did not work here at the snapshot, and does now; that is not undone")
        entry = entry_at(config.path)
        if config.path != config.resolved and entry.leads_to != config.leads_to:
            raise NotOurs(f"it is a {entry.kind.value} now")
        if os.path.realpath(config.path) != config.resolved:
            raise NotOurs(f"it leads to {os.path.realpath(config.path)} now")

    def _put_values(self, difference: Difference) -> None:
        config = self._configs[difference.path]
        self._require_writable(config)
        problem = write_values(self._git, config.resolved, difference.key, difference.before)
        if problem:
            self.note(Result.FAILED, difference, problem)
            return
        if config.owner >= 0:
            give_back(config.resolved, config.owner)
        sync(config.resolved)
        sync(os.path.dirname(config.resolved))  # noqa: PTH120
        self._done(difference)

    def _put_bytes(self, difference: Difference) -> None:
        config = self._configs[difference.path]
        self._require_writable(config)
        if config.content is None:
            raise NothingLeft("the snapshot does not hold its bytes")
        self._done(difference, put_config_bytes(config, config.content))

    def _put_head(self, difference: Difference) -> None:
        head = next(each for each in self._before.heads if each.path == difference.path)
        put_head(head, self._before.checkout.common.owner)
        self._done(difference, "HEAD was nothing that git accepts, so it is not moved by this")

    def _move_lock(self, difference: Difference) -> None:
        lock = next(each for each in self._now.locks if each.path == difference.path)
        places = [each.place for each in self._before.behaviours]
        holding = holding_of(lock, [self._before.checkout.common.path, *places])
        if holding.held is not Held.NOBODY:
            self._lock_unknown = self._lock_unknown or holding.held is Held.UNKNOWN
            self.note(Result.REFUSED, difference, f"held by {holding.held.value}: {holding.why}")
            return
        self._done(difference, f"held by nobody; moved aside to {move_aside(lock)}")

    def _put_registration(self, difference: Difference) -> None:
        if difference.key in {"gitdir", "commondir"}:
            registration = self._registrations[os.path.normpath(difference.path)]
            put_registration_file(self._snapshot, registration, difference.key)
            self._done(difference)
            return
        registration = self._registrations[difference.path]
        left_out = put_registration(self._snapshot, registration)
        if registration.has_index and not os.path.lexists(os.path.join(registration.admin.path, "index")):
            self._without_index.append(registration)
        self._done(difference, f"without {', '.join(left_out)}" if left_out else "")

    def _make_index(self, registration: Registration) -> None:
        """An index that was too large to copy is made anew from HEAD; only where there is none."""
        path = os.path.join(registration.admin.path, "index")
        difference = Difference(What.INDEX, path, registration.name, detail="it was not saved")
        [answer] = self._git.inside([(registration.place, ("read-tree", "HEAD"))])
        if answer.status == 0:
            self._done(difference, "made anew from HEAD; what was staged is not in it")
        else:
            self.note(Result.FAILED, difference, answer.says or answer.problem)

    # --- the result ---

    def _may_be_skipped(self) -> set[What]:
        """What may stay as it is without spoiling the result, when nothing is left to put back."""
        repaired = {What.CONFIG, What.CONFIG_DAMAGED} if self._repaired else set()
        return repaired | {What.REGISTRATION}

    def _judged(self, now: State) -> Outcome:
        """What is still different, and what that means. Adds a step for what has none yet."""
        treated = {_about(step.difference): step.result for step in self.steps}
        broken = unknown = False
        for difference in differences(self._before, now):
            result = treated.get(_about(difference))
            if result is Result.DONE:
                self.note(Result.FAILED, difference, "it was put back, and is not as before nevertheless")
            elif result is None:
                self.note(_untreated(difference.what), difference)
            if difference.what is What.LOCK:
                unknown = unknown or self._lock_unknown
            elif result is Result.SKIPPED and difference.what in self._may_be_skipped():
                continue  # nothing is left to put back: said, and nothing to verify
            elif difference.what in PUT_BACK | BREAKS:
                broken = True
            unknown = unknown or difference.what is What.UNREADABLE
        if broken or any(step.result is Result.FAILED for step in self.steps):
            return Outcome.NOT_RESTORED
        if unknown:
            return Outcome.UNVERIFIED
        return Outcome.RESTORED if self.changed else Outcome.AS_BEFORE


def _about(difference: Difference) -> tuple[What, str, str]:
    return difference.what, difference.path, difference.key


def _untreated(what: What) -> Result:
    """What becomes of a difference that nothing is done about."""
    if what is What.IDENTITY:
        return Result.REFUSED
    if what is What.UNREADABLE:
        return Result.SKIPPED
    return Result.FAILED if what in PUT_BACK | BREAKS else Result.REPORTED
