"""The simulated process table behaves as Linux does where recovery and teardown look."""

from __future__ import annotations

import pytest

from engine.seeing_processes import CONT, COOKIE, KILL, STOP, TERM, Seen
from pytest_runcoord.processes import Handled, Ignored, Life, NumberTaken, Place, SimTable, TableFull
from runcoord.testing import ManualClock

# --- families ---


def test_a_child_has_the_group_session_environment_and_run_of_its_parent() -> None:
    seen = Seen()
    parent = seen.child()
    child = seen.table.start("grandchild", parent=parent)
    assert (child.group, child.session, child.run) == (parent.pid, parent.pid, "r1")
    assert child.environment == {"RUNCOORD_COOKIE": COOKIE}
    assert child.environment is not parent.environment


def test_an_orphan_comes_to_the_nearest_living_subreaper() -> None:
    seen = Seen()
    shim = seen.child("shim", subreaper=True)
    middle = seen.table.start("middle", parent=shim)
    orphan = seen.table.start("orphan", parent=middle)
    seen.table.exit(middle)
    assert orphan.parent is shim
    seen.table.exit(shim, -KILL)
    assert orphan.parent is seen.table.init(seen.place)


def test_a_zombie_keeps_its_pid_until_its_parent_asks() -> None:
    seen = Seen()
    seen.own.reaps_after = None
    child = seen.child()
    seen.table.exit(child, 3)
    assert (child.life, child.state) == (Life.ZOMBIE, "Z")
    assert seen.table.at(seen.place, child.pid) is child
    assert seen.table.reap(child) == 3
    assert seen.table.at(seen.place, child.pid) is None


def test_an_init_that_reaps_late_keeps_the_pid_taken_until_then() -> None:
    seen = Seen()
    seen.table.init(seen.place).reaps_after = 2.0
    child = seen.child()
    seen.table.exit(seen.own)
    seen.table.exit(child)
    seen.clock.advance(1.9)
    assert seen.table.at(seen.place, child.pid) is child
    seen.clock.advance(0.1)
    assert seen.table.at(seen.place, child.pid) is None


def test_a_process_whose_first_thread_ended_looks_like_a_zombie_and_is_alive() -> None:
    seen = Seen()
    child = seen.child(first_thread_ended=True, threads=2)
    assert child.state == "Z"
    assert not child.ended
    assert not seen.processes.open(seen.processes.identify(child.pid)).ended()


# --- numbers ---


def test_a_pid_is_used_again_only_when_no_process_group_or_session_has_the_number() -> None:
    seen = Seen()
    leader = seen.child()
    member = seen.table.start("member", parent=leader)
    seen.table.exit(leader)
    with pytest.raises(NumberTaken):
        seen.table.start("stranger", pid=leader.pid)
    assert seen.table.at(seen.place, leader.pid) is None
    seen.table.exit(member)
    stranger = seen.table.start("stranger", pid=leader.pid, start=leader.start)
    assert (stranger.pid, stranger.start) == (leader.pid, leader.start)
    assert stranger.serial != leader.serial


def test_numbers_begin_again_after_the_last_and_pass_over_those_in_use() -> None:
    clock = ManualClock()
    table = SimTable(clock, pids=(500, 503))
    first = [table.start(f"p{n}") for n in range(4)]
    table.exit(first[1])
    assert table.start("following").pid == 501
    with pytest.raises(TableFull):
        table.start("one too many")


def test_a_start_value_is_the_tick_in_which_the_process_was_born() -> None:
    seen = Seen()
    seen.clock.advance(0.009)
    first = seen.child("first")
    seen.clock.advance(0.001)
    second = seen.child("second")
    assert (first.start, second.start) == (100_000, 100_001)


def test_a_reboot_ends_everything_and_numbers_begin_again() -> None:
    seen = Seen()
    child = seen.child()
    seen.clock.reboot()
    assert list(seen.table.living()) == []
    assert child.ended
    assert seen.table.at(seen.place, child.pid) is None
    again = [seen.table.start("gw1"), seen.table.start("another")]
    assert again[1].pid == child.pid


def test_places_have_numbers_of_their_own() -> None:
    table = SimTable(ManualClock())
    here, there = table.start("here"), table.start("there", place=Place(pid_namespace="pid-2"))
    assert here.pid == there.pid
    assert table.at(here.place, here.pid) is here


# --- signals ---


def test_term_ends_a_process_that_does_nothing_about_it_with_minus_the_number() -> None:
    seen = Seen()
    child = seen.child()
    assert seen.table.send(child, TERM, by="gw1") == "sent"
    assert (child.ended, child.status) == (True, -TERM)


def test_an_ignored_signal_does_nothing_and_kill_cannot_be_ignored() -> None:
    seen = Seen()
    child = seen.child(dispositions={TERM: Ignored(), KILL: Ignored()})
    seen.table.send(child, TERM, by="gw1")
    assert not child.ended
    seen.table.send(child, KILL, by="gw1")
    assert child.status == -KILL


def test_a_handler_ends_its_process_after_its_time() -> None:
    seen = Seen()
    child = seen.child(dispositions={TERM: Handled(1.5, status=7)})
    seen.table.send(child, TERM, by="gw1")
    seen.clock.advance(1.4)
    assert child in list(seen.table.living())
    seen.clock.advance(0.1)
    assert list(seen.table.living()) == [seen.own]
    assert child.status == 7


def test_a_handler_does_not_go_on_while_the_machine_sleeps() -> None:
    seen = Seen()
    child = seen.child(dispositions={TERM: Handled(1.0)})
    seen.table.send(child, TERM, by="gw1")
    seen.clock.suspend(3600)
    assert child in list(seen.table.living())


def test_a_stopped_process_hears_term_only_after_cont_and_kill_at_once() -> None:
    seen = Seen()
    first, second = seen.child("first"), seen.child("second")
    for child in (first, second):
        seen.table.send(child, STOP, by="gw1")
        seen.table.send(child, TERM, by="gw1")
        assert (child.ended, child.state) == (False, "T")
    seen.table.send(first, CONT, by="gw1")
    assert first.status == -TERM
    seen.table.send(second, KILL, by="gw1")
    assert second.status == -KILL


def test_an_uninterruptible_process_dies_when_its_wait_is_over() -> None:
    seen = Seen()
    child = seen.child(unkillable=True)
    seen.table.send(child, KILL, by="gw1")
    assert (child.ended, child.state) == (False, "D")
    seen.table.release(child)
    assert child.status == -KILL


def test_a_program_executed_by_a_process_forgets_handlers_and_keeps_what_is_ignored() -> None:
    seen = Seen()
    child = seen.child(dispositions={TERM: Handled(1.0), 1: Ignored()})
    seen.table.execute(child, environment={})
    assert child.dispositions == {1: Ignored()}
    assert child.environment == {}


def test_init_is_not_killed_by_what_it_does_not_handle() -> None:
    seen = Seen()
    init = seen.table.init(seen.place)
    seen.table.send(init, KILL, by="gw1")
    assert not init.ended


def test_every_signal_is_told_to_the_watchers_also_one_that_is_denied_or_too_late() -> None:
    seen = Seen()
    child = seen.child(denies=frozenset({TERM}))
    seen.table.send(child, TERM, by="gw1")
    seen.table.send(child, KILL, by="gw1", claimed=COOKIE)
    seen.table.send(child, KILL, by="gw1")
    assert [(each.signal, each.result, each.claimed) for each in seen.signals] == [
        ("SIGTERM", "denied", ""),
        ("SIGKILL", "sent", COOKIE),
        ("SIGKILL", "gone", ""),
    ]
    assert child.status == -KILL
