"""A run whose shim is gone: what is left of it is ended within bounds."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from pytest_runcoord.processes import Place, SignalSent, SimProcesses, SimTable
from runcoord import Orphans, ThreadBounded
from runcoord._core.teardown import WITHOUT_SHIM
from runcoord._launching import orphans as module
from runcoord.ports import Fate, LaunchOrder, Membership, PinnedProcess, Scan
from runcoord.testing import ManualClock
from running.simulated import Quiet, Sleeper

COOKIE = "c0" * 16


class Stuck(SimProcesses):
    """A table of which no scan returns until it is let go."""

    let_go: threading.Event

    def scan(self, members: Membership, seconds: float) -> Scan:
        assert self.let_go.wait(30)
        return super().scan(members, seconds)


@pytest.fixture
def let_go() -> Iterator[threading.Event]:
    made = threading.Event()
    yield made
    made.set()


def orphans(let_go: threading.Event) -> tuple[Orphans, list[SignalSent], PinnedProcess]:
    clock, signals = ManualClock(), list[SignalSent]()
    table = SimTable(clock)
    table.signal_watchers.append(signals.append)
    own = table.start("gw", place=Place(host="here"), environment={}, name="gateway")
    leader = table.start("child", parent=own, environment={"RUNCOORD_COOKIE": COOKIE})
    table.new_session(leader)
    processes = Stuck(table, own, Quiet(), Sleeper(clock, table), by="gw")
    processes.let_go = let_go
    pin = processes.open(processes.identify(leader.pid, COOKIE))
    order = LaunchOrder(("sleep",), "/bin/sleep", "/", {}, COOKIE)
    made = Orphans(
        processes,
        order,
        shim=None,
        leader=pin,
        clock=clock,
        sleeper=Sleeper(clock, table),
        bounded=ThreadBounded(),
        hurried=lambda: False,
    )
    return made, signals, pin


def test_a_look_that_never_returns_costs_a_bounded_time_and_says_that_nobody_knows_who_is_left(
    let_go: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WITHOUT_SHIM_SECONDS", 0.1)
    made, signals, _ = orphans(let_go)
    report = made.tear_down(0.0)
    assert not report.emptied
    assert [(each.pid, each.fate) for each in report.left] == [(0, Fate.UNKNOWN)]
    assert report.problems[0] == WITHOUT_SHIM
    assert signals == []


def test_a_teardown_that_its_caller_left_is_waited_for_by_the_next_call(let_go: threading.Event) -> None:
    made, signals, pin = orphans(let_go)
    first = threading.Thread(target=made.tear_down, args=(0.0,))
    first.start()
    let_go.set()
    report = made.tear_down(0.0)
    first.join(30)
    assert made.tear_down(0.0) is report
    assert report.emptied
    assert pin.ended()
    assert [(each.number, each.way) for each in signals] == [(9, "pin")]
