"""Seeded defects of ending a tree: who is to be left alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import pytest

from defects.catalogue import Defect
from defects.processes_mistaken import kills_by_number, looked_for
from pytest_runcoord.processes import SimProcess, launching, membership, port
from pytest_runcoord.processes.launching import SimTree
from pytest_runcoord.processes.membership import Members
from runcoord import _ending_trees
from runcoord._core import cleanup as cleanups
from runcoord._core.lineage import CookieLine
from runcoord._core.teardown import Fate, Found, Scope, TeardownReport
from runcoord._launching.orphans import Orphans
from runcoord._supervisor import preparing
from runcoord.ports import Membership, PinnedProcess

Patch = pytest.MonkeyPatch


def _found(patch: Patch, more: Callable[[list[SimProcess], Members], None]) -> None:
    """Whoever looks for members finds others besides."""
    among = membership.members_among

    def found(processes: Collection[SimProcess], members: Membership, **how: Any) -> Members:
        seen = among(processes, members, **how)
        there = [each for each in processes if not each.ended and each.pid not in how["never"]]
        more(there, seen)
        return seen

    patch.setattr(port, "members_among", found)


# --- bystanders-untouched ---


def _by_name(patch: Patch) -> None:
    def namesakes(there: list[SimProcess], seen: Members) -> None:
        names = {each.name for each in seen.found}
        for each in there:
            if each.name in names:
                seen.found.setdefault(each, {Found.COOKIE})

    _found(patch, namesakes)


def _everything_of_the_user(patch: Patch) -> None:
    def theirs(there: list[SimProcess], seen: Members) -> None:
        for each in there:
            if any(each.user == other.user for other in list(seen.found)):
                seen.found.setdefault(each, {Found.SESSION})

    _found(patch, theirs)


def _the_whole_lineage(patch: Patch) -> None:
    first: set[str] = set()

    def relatives(there: list[SimProcess], seen: Members) -> None:
        first.update(each.cookies[0] for each in seen.found if each.cookies)
        for each in there:
            if each.cookies and each.cookies[0] in first:
                seen.found.setdefault(each, {Found.COOKIE})

    _found(patch, relatives)


# --- teardown-twice ---


def _again(patch: Patch) -> None:
    tear_down = SimTree.tear_down

    def anew(self: SimTree, grace: float) -> TeardownReport:
        self._report = self._shim.report = self._shim._fiber = None
        return tear_down(self, grace)

    patch.setattr(launching.SimTree, "tear_down", anew)


def _recovery_kills_by_number(patch: Patch) -> None:
    kills_by_number(patch)


# --- nested-and-spared ---


def _own_cookie_alone(patch: Patch) -> None:
    patch.setattr(preparing, "extended", lambda line, cookie: CookieLine((cookie,)))


def _nobody_is_spared(patch: Patch) -> None:
    patch.setattr(membership, "handed_over", lambda process, cookie: False)


def _only_the_marked_one_is_spared(patch: Patch) -> None:
    def spare(members: Membership, seen: Members) -> None:
        for process in list(seen.found):
            line = process.environment
            own = process.parent is None or process.parent.environment.get("RUNCOORD_HANDED_OVER") is None
            if own and line.get("RUNCOORD_HANDED_OVER") == members.spared:
                seen.spared[process] = seen.found.pop(process)

    patch.setattr(membership, "_spare", spare)


def _recovery_spares_nobody(patch: Patch) -> None:
    members = cleanups.membership
    patch.setattr(_ending_trees, "membership", lambda found: replace(members(found), spared=""))


def _recovery_ends_the_recorded_alone(patch: Patch) -> None:
    members = cleanups.membership

    def few(found: Sequence[cleanups.Found]) -> Membership:
        all_of_them = members(found)
        return all_of_them if all_of_them.scope is Scope.TREE else replace(all_of_them, former_group=0)

    patch.setattr(_ending_trees, "membership", few)


def _the_group_is_killed_unseen(patch: Patch) -> None:
    def kill(self: Orphans, report: TeardownReport, leader: PinnedProcess) -> TeardownReport:
        if all(each.fate is not Fate.SPARED for each in report.processes):
            self._signalled_group(leader)
        return report

    patch.setattr(Orphans, "_with_the_group", kill)


def _the_group_is_left_to_itself(patch: Patch) -> None:
    patch.setattr(Orphans, "_with_the_group", lambda self, report, leader: report)


def _any_marker_spares(patch: Patch) -> None:
    patch.setattr(
        membership, "handed_over", lambda process, cookie: "RUNCOORD_HANDED_OVER" in process.environment
    )


def _always_the_whole_tree(patch: Patch) -> None:
    looked_for(patch, scope=Scope.TREE)


SPARING: list[Defect] = [
    Defect(
        "bystanders-untouched",
        "Processes are found by the name of their program.",
        "no-stranger-signalled",
        _by_name,
    ),
    Defect(
        "bystanders-untouched",
        "Everything of the same user is ended.",
        "no-stranger-signalled",
        _everything_of_the_user,
        name="whole-user",
    ),
    Defect(
        "bystanders-untouched",
        "All runs of a lineage count as one.",
        "nothing-of-others",
        _the_whole_lineage,
        name="whole-lineage",
        scenario="runs-of-one-lineage-are-not-one-another",
    ),
    Defect("teardown-twice", "A second teardown begins anew.", "signals", _again),
    Defect(
        "nested-and-spared",
        "A run in a run has its own cookie alone.",
        "outcome-after-quiescence",
        _own_cookie_alone,
    ),
    Defect(
        "nested-and-spared",
        "What was handed over is swept like the rest.",
        "nothing-of-others",
        _nobody_is_spared,
        name="nobody-spared",
        scenario="what-was-handed-over-is-spared",
    ),
    Defect(
        "nested-and-spared",
        "What was handed over is spared, and its children are not.",
        "nothing-of-others",
        _only_the_marked_one_is_spared,
        name="children-swept",
        scenario="what-was-handed-over-is-spared",
    ),
    Defect(
        "nested-and-spared",
        "A scope that was limited to the group is not heeded.",
        "process",
        _always_the_whole_tree,
        name="scope",
        scenario="a-group-scope-ends-the-group-alone",
    ),
    Defect(
        "nested-and-spared",
        "Of a run that was limited to its group recovery ends the recorded processes alone.",
        "outcome-after-quiescence",
        _recovery_ends_the_recorded_alone,
        name="recorded-alone",
        scenario="recovery-ends-the-group-alone-too",
    ),
    Defect(
        "nested-and-spared",
        "The command's group is killed where it cannot be seen that somebody in it was handed over.",
        "nothing-of-others",
        _the_group_is_killed_unseen,
        name="killed-unseen",
        scenario="without-its-shim-who-was-handed-over-is-spared",
    ),
    Defect(
        "nested-and-spared",
        "Where somebody in the command's group was handed over, nobody of it is ended who has no cookie.",
        "outcome-after-quiescence",
        _the_group_is_left_to_itself,
        name="group-left",
        scenario="without-its-shim-the-others-of-its-group-end",
    ),
    Defect(
        "teardown-twice",
        "Recovery signals whoever has the number of a command that was torn down.",
        "no-stranger-signalled",
        _recovery_kills_by_number,
        name="recovery-by-number",
        scenario="recovery-does-not-repeat-it",
    ),
    Defect(
        "nested-and-spared",
        "Recovery does not know what was handed over.",
        "nothing-of-others",
        _recovery_spares_nobody,
        name="recovery",
        scenario="recovery-spares-it-too",
    ),
    Defect(
        "nested-and-spared",
        "What any run has handed over is spared by all.",
        "outcome-after-quiescence",
        _any_marker_spares,
        name="any-marker",
        scenario="who-hands-over-spares-from-itself-alone",
    ),
]
