"""What one process of a simulated table sees of the others, through the port of the reference."""

from __future__ import annotations

import dataclasses

import pytest

from engine.seeing_processes import COOKIE, KILL, TERM, Seen
from pytest_runcoord.processes import Handled, Ignored, Place, Sight
from runcoord.errors import InvalidRequest, ProbeFailed, ProcessGone, SignalDenied
from runcoord.ports import Found, Likeness, Membership, Scope

# --- identity ---


def test_a_recorded_process_is_the_same_by_its_handle() -> None:
    seen = Seen()
    child = seen.child()
    recorded = seen.processes.identify(child.pid, COOKIE)
    pinned = seen.processes.open(recorded)
    assert pinned.look(recorded).likeness is Likeness.SAME
    assert pinned.identity == dataclasses.replace(recorded, cookie="")


def test_a_recycled_pid_with_the_same_start_tick_is_another_process_by_its_handle() -> None:
    seen = Seen()
    child = seen.child()
    recorded = seen.processes.identify(child.pid, COOKIE)
    seen.table.exit(child)
    seen.table.start("stranger", pid=child.pid, start=child.start)
    assert seen.processes.open(recorded).look(recorded).likeness is Likeness.DIFFERENT


def test_without_handles_pid_and_start_prove_nothing_and_the_cookie_proves() -> None:
    seen = Seen(handles=False)
    child = seen.child()
    recorded = seen.processes.identify(child.pid, COOKIE)
    assert seen.processes.open(recorded).look(recorded).likeness is Likeness.SAME
    seen.table.exit(child)
    seen.table.start("stranger", pid=child.pid, start=child.start)
    assert seen.processes.open(recorded).look(recorded).likeness is Likeness.UNKNOWN


def test_without_handles_another_start_is_another_process() -> None:
    seen = Seen(handles=False)
    child = seen.child()
    recorded = seen.processes.identify(child.pid, COOKIE)
    seen.table.exit(child)
    seen.clock.advance(1)
    seen.table.start("stranger", pid=child.pid)
    assert seen.processes.open(recorded).look(recorded).likeness is Likeness.DIFFERENT


def test_a_record_of_another_namespace_or_host_is_unknown() -> None:
    seen = Seen(handles=False)
    child = seen.child()
    recorded = seen.processes.identify(child.pid, COOKIE)
    for elsewhere in (Place(host="h2"), Place(pid_namespace="p2"), Place(time_namespace="t2")):
        other = dataclasses.replace(
            recorded,
            habitat=dataclasses.replace(
                recorded.habitat,
                host=elsewhere.host,
                pid_namespace=elsewhere.pid_namespace,
                time_namespace=elsewhere.time_namespace,
            ),
        )
        with pytest.raises(ProbeFailed):
            seen.processes.open(other)
        assert seen.processes.open(recorded).look(other).likeness is Likeness.UNKNOWN


def test_a_time_namespace_shifts_start_values() -> None:
    here, there = Seen(), Seen(place=Place(time_namespace="time-2", time_offset=1000.0))
    assert (
        there.processes.identify(there.child().pid).start
        == here.processes.identify(here.child().pid).start + 100_000
    )


@pytest.mark.parametrize("pid", [0, 1, -1, 2**31, True])
def test_numbers_that_are_no_pid_of_a_run_are_never_opened(pid: int) -> None:
    seen = Seen()
    recorded = dataclasses.replace(seen.processes.identify(seen.child().pid), pid=pid)
    with pytest.raises(InvalidRequest):
        seen.processes.open(recorded)


@pytest.mark.parametrize("sight", [Sight.NOTHING, Sight.DENIED])
def test_a_process_that_cannot_be_looked_at_is_told_apart_from_one_that_is_gone(sight: Sight) -> None:
    seen = Seen()
    child = seen.child()
    recorded = seen.processes.identify(child.pid)
    pinned = seen.processes.open(recorded)
    child.sight = sight
    with pytest.raises(ProbeFailed):
        seen.processes.identify(child.pid)
    with pytest.raises(ProbeFailed):
        seen.processes.open(recorded)
    with pytest.raises(ProbeFailed):
        pinned.look(recorded)


# --- pinned processes ---


def test_a_pinned_process_that_ended_is_never_signalled_whoever_has_its_pid() -> None:
    seen = Seen()
    child = seen.child()
    pinned = seen.processes.open(seen.processes.identify(child.pid))
    seen.table.exit(child, 42)
    stranger = seen.table.start("stranger", pid=child.pid, start=child.start)
    with pytest.raises(ProcessGone):
        pinned.signal(KILL)
    assert not stranger.ended
    assert pinned.exit_status() == 42


def test_a_signal_that_is_not_permitted_says_so() -> None:
    seen = Seen()
    child = seen.child(denies=None)
    pinned = seen.processes.open(seen.processes.identify(child.pid))
    with pytest.raises(SignalDenied):
        pinned.signal(TERM)
    assert not child.ended


def test_a_group_is_signalled_in_one_step_also_after_its_leader_was_reaped() -> None:
    seen = Seen()
    leader = seen.child("leader")
    members = [seen.table.start(f"m{n}", parent=leader) for n in range(3)]
    pinned = seen.processes.open(seen.processes.identify(leader.pid))
    seen.table.exit(leader)
    seen.processes.signal_group(pinned, KILL)
    assert [member.status for member in members] == [-KILL] * 3
    with pytest.raises(ProcessGone):
        seen.processes.signal_group(pinned, KILL)


# --- members of a run ---


def test_a_scan_finds_members_by_group_session_descent_and_cookie() -> None:
    seen = Seen()
    shim = seen.table.start("shim", parent=seen.own, subreaper=True)
    seen.table.new_session(shim)
    leader = seen.table.start("leader", parent=shim, environment={"RUNCOORD_COOKIE": f"{'0' * 32}:{COOKIE}"})
    seen.table.new_group(leader)
    plain = seen.table.start("plain", parent=leader)
    cleared = seen.table.start("cleared", parent=leader, environment={})
    seen.table.new_session(cleared)
    elsewhere = seen.table.start("elsewhere", environment={"RUNCOORD_COOKIE": COOKIE})
    seen.table.start("stranger", environment={"RUNCOORD_COOKIE": "cd" * 16})
    scan = seen.processes.scan(
        Membership(COOKIE, group=leader.pid, session=shim.pid, ancestor=shim.pid), seconds=1.0
    )
    assert scan.complete
    assert {each.identity.pid: each.found for each in scan.members} == {
        shim.pid: {Found.SESSION},
        leader.pid: {Found.GROUP, Found.SESSION, Found.DESCENDANT},
        plain.pid: {Found.GROUP, Found.SESSION, Found.DESCENDANT},
        cleared.pid: {Found.DESCENDANT},
        elsewhere.pid: {Found.COOKIE},
    }


def test_the_scope_of_a_group_is_the_group_alone() -> None:
    seen = Seen()
    leader = seen.child("leader")
    member = seen.table.start("member", parent=leader)
    escaped = seen.table.start("escaped", parent=leader)
    seen.table.new_session(escaped)
    scan = seen.processes.scan(Membership(COOKIE, group=leader.pid, scope=Scope.GROUP), 1.0)
    assert {each.identity.pid for each in scan.members} == {leader.pid, member.pid}


def test_what_was_handed_over_is_listed_with_its_descendants_and_no_member() -> None:
    seen = Seen()
    leader = seen.child("leader")
    daemon = seen.table.start(
        "daemon",
        parent=leader,
        environment={"RUNCOORD_COOKIE": COOKIE, "RUNCOORD_HANDED_OVER": COOKIE},
    )
    helper = seen.table.start("helper", parent=daemon)
    scan = seen.processes.scan(Membership(COOKIE, spared=COOKIE), 1.0)
    assert {each.identity.pid for each in scan.members} == {leader.pid}
    assert {each.identity.pid for each in scan.spared} == {daemon.pid, helper.pid}


def test_a_zombie_is_no_member_and_its_own_process_is_none() -> None:
    seen = Seen()
    seen.own.reaps_after = None
    seen.own.environment["RUNCOORD_COOKIE"] = COOKIE
    seen.table.exit(seen.child())
    assert seen.processes.scan(Membership(COOKIE), 1.0).members == ()


def test_an_environment_that_is_closed_is_counted() -> None:
    seen = Seen()
    seen.child(environment_closed=True)
    scan = seen.processes.scan(Membership(COOKIE), 1.0)
    assert (scan.members, scan.unreadable) == ((), 1)


def test_a_child_born_behind_the_back_of_a_scan_is_seen_by_the_next() -> None:
    seen = Seen()
    seen.child(forks_on_scan=1)
    counts = [len(seen.processes.scan(Membership(COOKIE), 1.0).members) for _ in range(3)]
    assert counts == [1, 2, 2]


def test_a_member_is_pinned_only_as_long_as_it_is_one() -> None:
    seen = Seen()
    child = seen.child()
    members = Membership(COOKIE)
    assert seen.processes.pin(members, child.pid) is not None
    seen.table.exit(child)
    seen.table.start("stranger", pid=child.pid, start=child.start)
    assert seen.processes.pin(members, child.pid) is None


@pytest.mark.parametrize("fault", ["nothing", "denied", "hangs"])
def test_a_table_that_cannot_be_read_gives_a_scan_that_proves_nothing(fault: str) -> None:
    seen = Seen()
    seen.child()
    seen.table.scan_fault = fault
    scan = seen.processes.scan(Membership(COOKIE), 2.0)
    assert not scan.complete
    assert scan.problem


# --- waiting ---


def test_a_wait_ends_when_the_last_of_them_ends_and_not_later() -> None:
    seen = Seen()
    quick, slow = (seen.child(f"c{n}", dispositions={TERM: Handled(float(n))}) for n in (1, 3))
    pinned = [seen.processes.open(seen.processes.identify(each.pid)) for each in (quick, slow)]
    for each in pinned:
        each.signal(TERM)
    began = seen.clock.monotonic()
    seen.processes.wait(pinned, 10.0)
    assert seen.clock.monotonic() - began == pytest.approx(3.0)


def test_a_wait_for_one_that_does_not_end_takes_its_whole_time() -> None:
    seen = Seen()
    child = seen.child(dispositions={TERM: Ignored()})
    pinned = seen.processes.open(seen.processes.identify(child.pid))
    began = seen.clock.monotonic()
    seen.processes.wait([pinned], 5.0)
    assert seen.clock.monotonic() - began == pytest.approx(5.0)
    assert not pinned.ended()


def test_a_wait_for_nobody_returns_at_once() -> None:
    seen = Seen()
    began = seen.clock.monotonic()
    seen.processes.wait([], 5.0)
    assert seen.clock.monotonic() == began
