"""Looking at processes that others recorded: looks that do not return cost one thread each, once."""

from __future__ import annotations

import threading
import time
from typing import cast

import pytest

from pytest_runcoord.processes import Place, SimProcesses, SimTable
from runcoord._bounded import ThreadBounded
from runcoord._core import limits
from runcoord._core.cleanup import Found, Seen, Sight
from runcoord._core.records import RecordedProcess, Role, Terms
from runcoord._ending_trees import Trees
from runcoord._probing import Probes
from runcoord.ports import Membership, Message, PinnedProcess, Processes, ProcessIdentity, Scan
from runcoord.testing import ManualClock, ManualSleeper

DEADLINE = 10.0
"""Real seconds in which a thread must come to a named moment."""


class NoProbe:
    """Nothing happens to this incarnation."""

    def reach(self, moment: str, **data: object) -> None: ...

    def fault(self, verb: str) -> str | None:
        return None

    def hang(self) -> None: ...

    def send(self, message: Message) -> None: ...


class Hanging:
    """A table in which holding one process does not return before it is told to."""

    def __init__(self, inner: SimProcesses) -> None:
        self.inner = inner
        self.hangs_at = 0
        self.asked = 0
        self.go_on = threading.Event()
        self.returned = threading.Event()

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def open(self, identity: ProcessIdentity) -> PinnedProcess:
        if identity.pid != self.hangs_at:
            return self.inner.open(identity)
        self.asked += 1
        try:
            assert self.go_on.wait(DEADLINE)
            return self.inner.open(identity)
        finally:
            self.returned.set()

    def scan(self, members: Membership, seconds: float) -> Scan:
        self.asked += 1
        try:
            assert self.go_on.wait(DEADLINE)
            return self.inner.scan(members, seconds)
        finally:
            self.returned.set()


@pytest.fixture
def table() -> Hanging:
    clock = ManualClock()
    sim = SimTable(clock)
    own = sim.start("own", place=Place())
    return Hanging(SimProcesses(sim, own, NoProbe(), ManualSleeper(clock)))


def started(table: Hanging, label: str) -> ProcessIdentity:
    return table.inner.identity_of(table.inner.table.start(label, place=Place()))


def test_a_process_is_not_looked_at_again_while_a_look_at_it_has_not_returned(
    table: Hanging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "PROBE_SECONDS", 0.01)
    stuck, other = started(table, "stuck"), started(table, "other")
    table.hangs_at = stuck.pid
    probes = Probes(lambda: cast("Processes", table), ThreadBounded(most_abandoned=1))
    first, second = probes.look(stuck), probes.look(stuck)
    assert first.sight is second.sight is Sight.UNKNOWN
    assert first.why == "no answer from the system within 0.01 s"
    assert second.why == "an earlier look at it has not returned"
    assert table.asked == 1
    table.go_on.set()
    assert table.returned.wait(DEADLINE)
    monkeypatch.setattr(limits, "PROBE_SECONDS", DEADLINE)
    table.hangs_at = 0
    assert probes.look(other).sight is Sight.SAME


def test_a_process_is_looked_at_again_when_the_late_look_has_returned(
    table: Hanging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "PROBE_SECONDS", 0.01)
    stuck = started(table, "stuck")
    table.hangs_at = stuck.pid
    bounded = ThreadBounded()
    probes = Probes(lambda: cast("Processes", table), bounded)
    assert probes.look(stuck).sight is Sight.UNKNOWN
    table.go_on.set()
    assert table.returned.wait(DEADLINE)
    wait_for_threads()
    monkeypatch.setattr(limits, "PROBE_SECONDS", DEADLINE)
    assert probes.look(stuck).sight is Sight.SAME
    assert table.asked == 2


def wait_for_threads() -> None:
    """Until every bounded call has settled."""
    for thread in threading.enumerate():
        if thread.name == "runcoord-call":
            thread.join(DEADLINE)
            assert not thread.is_alive()


def test_a_scan_that_hangs_costs_a_sweep_its_bound_once_and_not_for_each_run(
    table: Hanging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SEARCH_SECONDS", 0.01)
    probes = Probes(lambda: cast("Processes", table), ThreadBounded())
    trees = Trees(probes, ManualClock(), ManualSleeper(ManualClock()))
    recorded = [
        Found(RecordedProcess("r1", 1, Role.LEADER, 1, identity, Terms(), recorded_at=1.0), Seen(Sight.SAME))
        for identity in (started(table, "one"), started(table, "two"))
    ]
    first, second = (trees.scan([each]) for each in recorded)
    assert (first, second) == (
        Scan(complete=False, problem="no answer from the system within 0.01 s"),
        Scan(complete=False, problem="an earlier look at all processes has not returned, so none was made"),
    )
    report = trees.tear_down(recorded)
    assert (report.emptied, report.problems) == (False, (second.problem,))
    assert table.asked == 1
    table.go_on.set()
    assert table.returned.wait(DEADLINE)
    monkeypatch.setattr(limits, "SEARCH_SECONDS", DEADLINE)
    until = time.monotonic() + DEADLINE
    while not (scan := trees.scan(recorded[:1])).complete and time.monotonic() < until:
        threading.Event().wait(0.01)  # the late look has yet to say that it is back
    assert [each.identity.pid for each in scan.members] == [recorded[0].process.identity.pid]
