"""Seeded defects of ending a tree: who is found, who is signalled, and when it counts as gone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from defects.catalogue import Defect
from defects.processes_mistaken import looked_for
from pytest_runcoord.processes import Life, SimProcess, membership, pinned, port, shim
from pytest_runcoord.processes.pinned import SimPinned
from pytest_runcoord.processes.port import SimProcesses
from pytest_runcoord.processes.shim import SimShim
from runcoord import _teardown as engine
from runcoord._core import teardown_plan
from runcoord._core.teardown import Scan, Scope, TeardownReport
from runcoord._core.teardown_ledger import ASKING, Ledger
from runcoord._core.teardown_plan import Phase, TeardownPlan
from runcoord.ports import Look, Membership, PinnedProcess, ProcessIdentity

Patch = pytest.MonkeyPatch
Teardown = engine._Teardown
MINUTE = 60.0


def _taken_for_gone(patch: Patch, when: Callable[[Teardown], bool]) -> None:
    """From then on whoever is left counts as gone."""
    scan = Teardown._scan

    def blind(self: Teardown) -> Scan:
        found = scan(self)
        if not when(self):
            return found
        self._ledger.present.clear()
        return Scan()

    patch.setattr(Teardown, "_scan", blind)


# --- leader-exits-first ---


def _the_leader_alone(patch: Patch) -> None:
    def leader_ended(work: Teardown) -> bool:
        return work._plan.rounds > 0 and work._leader is not None and work._leader.ended()

    _taken_for_gone(patch, leader_ended)


def _the_grace_is_the_leaders(patch: Patch) -> None:
    tear_down = engine.tear_down

    def hasty(processes: Any, members: Membership, *, leader: PinnedProcess, **more: Any) -> TeardownReport:
        return tear_down(processes, members, leader=leader, **{**more, "hurried": leader.ended})

    patch.setattr(shim, "tear_down", hasty)


# --- group-killed-after-reap ---


def _reaps_at_once(patch: Patch) -> None:
    changed = SimShim._changed

    def eager(self: SimShim, process: SimProcess) -> None:
        changed(self, process)
        if process is self.leader and process.life is Life.ZOMBIE:
            self.table.reap(process)

    patch.setattr(SimShim, "_changed", eager)


def _group_by_number(patch: Patch) -> None:
    def signal_group(self: SimProcesses, leader: SimPinned, number: int) -> None:
        for each in self.table.here(leader.process.place):
            if each.group == leader.process.pid and not each.ended:
                self.send(each, number, "group", leader.claimed)

    patch.setattr(SimProcesses, "signal_group", signal_group)


# --- ignores-sigterm ---


def _asked_is_gone(patch: Patch) -> None:
    _taken_for_gone(patch, lambda work: work._seconds() >= work._plan.grace > 0)


def _stopped_ones_hear_nothing(patch: Patch) -> None:
    patch.setitem(engine._IN_PHASE, Phase.ASK, (ASKING,))


def _zero_is_the_default(patch: Patch) -> None:
    tear_down = engine.tear_down
    patch.setattr(
        shim, "tear_down", lambda *args, grace, **more: tear_down(*args, grace=grace or 5.0, **more)
    )


def _waits_without_a_bound(patch: Patch) -> None:
    patch.setattr(TeardownPlan, "_killing_left", lambda self, scan, seconds, beyond: 10 * MINUTE - seconds)


# --- escapee ---


def _the_group_alone(patch: Patch) -> None:
    looked_for(patch, scope=Scope.GROUP)


def _no_descendants(patch: Patch) -> None:
    patch.setattr(membership, "_descend", lambda open_ends, seen, there, never: None)


def _no_cookie(patch: Patch) -> None:
    looked_for(patch, cookie="")


def _refused_is_gone(patch: Patch) -> None:
    corrected, refused = Teardown._corrected, set[int]()

    def without(self: Teardown, scan: Scan) -> Scan:
        refused.update(self._ledger.beyond_reach())
        for key in [key for key in self._pins if key[0] in refused]:
            self._pins.pop(key).close()
        found = corrected(self, scan)
        return replace(found, members=tuple(m for m in found.members if m.identity.pid not in refused))

    patch.setattr(Teardown, "_corrected", without)


# --- forks-while-dying ---


def _one_pass(patch: Patch) -> None:
    _taken_for_gone(patch, lambda work: work._plan.kill_since is not None)


def _newborn_unnamed(patch: Patch) -> None:
    report = Ledger.report

    def without(self: Ledger, **more: Any) -> TeardownReport:
        self.unseen = ""
        return report(self, **more)

    patch.setattr(Ledger, "report", without)


def _one_empty_scan(patch: Patch) -> None:
    patch.setattr(teardown_plan, "CLEAN_SCANS", 1)


# --- zombie-is-dead ---


def _zombies_are_waited_for(patch: Patch) -> None:
    patch.setattr(SimPinned, "ended", lambda self: self.process.life is Life.REAPED)


def _zombies_own(patch: Patch) -> None:
    compared = pinned.compared

    def alive(seen_by: Any, process: SimProcess, recorded: ProcessIdentity) -> Look:
        look = compared(seen_by, process, recorded)
        return replace(look, ended=look.ended and process.life is not Life.ZOMBIE)

    patch.setattr(pinned, "compared", alive)


def _state_z_is_dead(patch: Patch) -> None:
    among = membership.members_among
    patch.setattr(
        port,
        "members_among",
        lambda processes, members, **how: among([p for p in processes if p.state != "Z"], members, **how),
    )


TEARDOWN: list[Defect] = [
    Defect(
        "leader-exits-first",
        "When the leader has obeyed TERM the rest counts as gone, and is not killed.",
        "outcome-after-quiescence",
        _the_leader_alone,
    ),
    Defect(
        "leader-exits-first",
        "The grace ends with the leader, so that a member that cleans up is killed.",
        "took",
        _the_grace_is_the_leaders,
        name="grace-of-the-leader",
        scenario="the-grace-is-everybodys",
    ),
    Defect(
        "group-killed-after-reap",
        "The leader is reaped as soon as it has ended, and its number is used for the group afterwards.",
        "no-stranger-signalled",
        _reaps_at_once,
    ),
    Defect(
        "group-killed-after-reap",
        "A group is signalled by its number, whoever leads it now.",
        "no-stranger-signalled",
        _group_by_number,
        name="by-number",
        scenario="the-group-of-a-reaped-command-is-known-by-its-pin-alone",
    ),
    Defect(
        "ignores-sigterm",
        "After the grace whoever was asked counts as gone.",
        "outcome-after-quiescence",
        _asked_is_gone,
    ),
    Defect(
        "ignores-sigterm",
        "A stopped process is asked and not continued, so that it hears nothing.",
        "process",
        _stopped_ones_hear_nothing,
        name="no-continue",
    ),
    Defect(
        "ignores-sigterm",
        "A grace of zero is taken for none given.",
        "took",
        _zero_is_the_default,
        name="zero-is-default",
        scenario="a-grace-of-zero-kills-at-once",
    ),
    Defect(
        "ignores-sigterm",
        "One that cannot be killed is waited for without a bound.",
        "took",
        _waits_without_a_bound,
        name="unbounded",
        scenario="what-nothing-ends-is-waited-for-within-a-bound",
    ),
    Defect(
        "escapee",
        "The group is all there is, so whoever leaves it is never found.",
        "outcome-after-quiescence",
        _the_group_alone,
    ),
    Defect(
        "escapee",
        "Parents are not looked at, so one without its environment is never found.",
        "outcome-after-quiescence",
        _no_descendants,
        name="no-parents",
    ),
    Defect(
        "escapee",
        "Cookies are not looked at, so orphans of a killed shim are never found.",
        "outcome-after-quiescence",
        _no_cookie,
        name="no-cookie",
        scenario="without-its-shim-the-cookie-finds-them",
    ),
    Defect(
        "escapee",
        "A refused signal counts as nobody being there.",
        "outcome-after-quiescence",
        _refused_is_gone,
        name="refused-is-gone",
        scenario="what-cannot-be-caught-is-named",
    ),
    Defect(
        "forks-while-dying",
        "Everybody is killed in one pass; whoever was born during it lives on.",
        "outcome-after-quiescence",
        _one_pass,
    ),
    Defect(
        "forks-while-dying",
        "Where it does not converge only those that were seen are named.",
        "outcome-after-quiescence",
        _newborn_unnamed,
        name="newborn-unnamed",
        scenario="a-fork-without-end-is-named",
    ),
    Defect(
        "forks-while-dying",
        "One scan that finds nobody is taken for proof.",
        "outcome-after-quiescence",
        _one_empty_scan,
        name="one-empty-scan",
        scenario="one-empty-scan-proves-nothing",
    ),
    Defect("zombie-is-dead", "A zombie is waited for until it is reaped.", "took", _zombies_are_waited_for),
    Defect(
        "zombie-is-dead",
        "An owner that is a zombie counts as alive, and keeps its lease.",
        "run",
        _zombies_own,
        name="ownership",
        scenario="a-zombie-holds-no-lease",
    ),
    Defect(
        "zombie-is-dead",
        "Whatever is in state Z counts as dead, also with threads that run.",
        "outcome-after-quiescence",
        _state_z_is_dead,
        name="state-z",
        scenario="not-everything-in-state-z-is-dead",
    ),
]
