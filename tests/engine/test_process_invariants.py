"""Each invariant about processes fails on a coordinator that breaks its rule, and counts its occasions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine.running import compiled
from pytest_runcoord.reference import Reference, ReferenceSession
from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import variants
from pytest_runcoord.subject import Answer, SubjectWorld
from pytest_runcoord.verdict import RunResult
from runcoord import Coordinator
from runcoord.errors import ProcessError
from runcoord.ports import Membership, PinnedProcess, ProcessIdentity

KILL = 9

ORPHANED = """
given: {machines: shared}
steps:
  - open: gw1
  - submit: r1
  - claim: {run: r1, by: gw1}
  - spawn: {run: r1, by: gw1, process: child}
  - crash: gw1
"""
RECYCLED = ORPHANED + "  - recycle_pid: {of: child, to: stranger, start: same-tick}\n"
SWEPT = """  - open: gw2
  - recover: {by: gw2}
expect: [run: {id: r1, outcome: interrupted}]
"""


class Broken(Reference):
    """The reference with another sweep."""

    def __init__(self, sweep: Callable[[Any], None]) -> None:
        super().__init__()
        self._sweep = sweep

    def open(self, owner: str, world: SubjectWorld) -> ReferenceSession:
        session = super().open(owner, world)
        return BrokenSession(session._coordinator, world, self._sweep)


class BrokenSession(ReferenceSession):
    def __init__(self, coordinator: Coordinator, world: SubjectWorld, sweep: Callable[[Any], None]) -> None:
        super().__init__(coordinator, world)
        self._sweep = sweep

    def recover(self) -> Answer:
        self._sweep(self)
        return super().recover()

    def recorded(self) -> list[ProcessIdentity]:
        found = []
        for run in self._coordinator.runs().runs:
            for each in self._coordinator.processes(run.run_id):
                assert isinstance(each.identity, ProcessIdentity)
                found.append(each.identity)
        return found

    def hold(self, identity: ProcessIdentity) -> PinnedProcess | None:  # type: ignore[override]
        try:
            return self._table().open(identity)
        except ProcessError:
            return None


def kills_whoever_has_the_pid(session: BrokenSession) -> None:
    for identity in session.recorded():
        pinned = session.hold(identity)
        if pinned is not None:
            pinned.signal(KILL)


def kills_what_is_proved_without_writing_it_down(session: BrokenSession) -> None:
    for identity in session.recorded():
        pinned = session._table().pin(Membership(identity.cookie), identity.pid)
        if pinned is not None:
            pinned.signal(KILL)


def does_nothing(session: BrokenSession) -> None:
    """As the reference."""


def tried(body: str, sweep: Callable[[Any], None] = does_nothing) -> RunResult:
    scenario = compiled(body)
    [variant] = variants(scenario)
    return run_variant(scenario, variant, subject=Broken(sweep))


def test_a_signal_to_whoever_has_the_pid_breaks_no_stranger_signalled() -> None:
    right = tried(RECYCLED + SWEPT)
    assert right.failure is None
    assert right.exercised["no-stranger-signalled"] > 0
    wrong = tried(RECYCLED + SWEPT, kills_whoever_has_the_pid)
    assert wrong.failure is not None
    assert wrong.failure.name == "no-stranger-signalled"
    assert "stranger" in wrong.failure.problem


def test_a_signal_that_was_not_written_down_breaks_audit_before_signal() -> None:
    right = tried(ORPHANED + SWEPT)
    assert right.failure is None
    assert right.exercised["audit-before-signal"] > 0
    wrong = tried(ORPHANED + SWEPT, kills_what_is_proved_without_writing_it_down)
    assert wrong.failure is not None
    assert wrong.failure.name == "audit-before-signal"


SPAWNED = """
given: {machines: shared}
steps:
  - open: gw1
  - submit: r1
  - claim: {run: r1, by: gw1}
  - spawn: {run: r1, by: gw1, process: child, shim: true}
"""


class ForgetsTheTree(Reference):
    """Its sessions say that a tree was emptied, and leave it running."""

    def open(self, owner: str, world: SubjectWorld) -> ReferenceSession:
        session = super().open(owner, world)

        def tear_down(launched: Any, grace: float | None = None, outcome: str = "") -> Answer:
            from runcoord.ports import TeardownReport

            report = TeardownReport(emptied=True)
            session._coordinator.complete(launched.lease, outcome, teardown=report)
            return Answer({"run": launched.lease.run_id, "epoch": launched.lease.epoch})

        session.tear_down = tear_down  # type: ignore[method-assign, assignment]
        return session


def test_an_outcome_over_a_tree_that_works_on_breaks_outcome_after_quiescence() -> None:
    body = (
        SPAWNED
        + "  - tear_down: {run: r1, by: gw1, outcome: failed}\nexpect: [run: {id: r1, outcome: failed}]\n"
    )
    right = tried(body)
    assert right.failure is None
    assert right.exercised["outcome-after-quiescence"] == 1
    scenario = compiled(body)
    [variant] = variants(scenario)
    wrong = run_variant(scenario, variant, subject=ForgetsTheTree())
    assert wrong.failure is not None
    assert wrong.failure.name == "outcome-after-quiescence"


def test_a_process_that_outlives_its_run_unnamed_breaks_no_orphan_left() -> None:
    body = (
        SPAWNED
        + """  - tear_down: {run: r1, by: gw1, outcome: failed}
  - stranger: {process: late, near: gw1}
expect: [run: {id: r1, outcome: failed}]
"""
    )
    scenario = compiled(body)
    [variant] = variants(scenario)
    right = run_variant(scenario, variant)
    assert right.failure is None
    assert right.exercised["no-orphan-left"] == 1

    # A process that comes to life after everything was recorded: nobody can see it at the outcome.
    from pytest_runcoord import process_world

    original = process_world.ProcessWorld.mend

    def late(self: process_world.ProcessWorld) -> None:
        original(self)
        self.find("late").run = "r1"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process_world.ProcessWorld, "mend", late)
        wrong = run_variant(scenario, variant)
    assert wrong.failure is not None
    assert wrong.failure.name == "no-orphan-left"


def kills_every_process_of_every_run(session: BrokenSession) -> None:
    [first, *others] = session.recorded()
    table = session._table()
    for identity in others:
        pinned = table.open(ProcessIdentity(identity.pid, identity.start, identity.habitat, "", first.cookie))
        pinned.signal(KILL)


def test_a_signal_to_a_process_of_another_run_breaks_nothing_of_others() -> None:
    two = """
given: {machines: shared}
steps:
  - open: gw1
  - submit: r1
  - submit: r2
  - claim: {run: r1, by: gw1}
  - claim: {run: r2, by: gw1}
  - spawn: {run: r1, by: gw1, process: child}
  - spawn: {run: r2, by: gw1, process: other}
  - crash: gw1
"""
    right = tried(two + SWEPT)
    assert right.failure is None
    assert right.exercised["nothing-of-others"] > 0
    wrong = tried(two + SWEPT, kills_every_process_of_every_run)
    assert wrong.failure is not None
    assert wrong.failure.name == "nothing-of-others"


def test_a_scenario_without_processes_does_not_count_as_an_occasion() -> None:
    result = tried("steps:\n  - open: gw1\n  - submit: r1\nexpect: [run: {id: r1, state: accepted}]\n")
    assert result.failure is None
    for name in ("no-stranger-signalled", "audit-before-signal", "no-orphan-left", "nothing-of-others"):
        assert result.exercised[name] == 0
