"""The engine of a teardown over a small table of processes: who is signalled, when, and what is reported."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.strategies import SOME
from runcoord import tear_down
from runcoord._core.limits import (
    DENIED_SECONDS,
    HELD_OF_GROUP,
    KILL_SECONDS,
    MAX_PROCESSES_REPORTED,
    SCAN_SECONDS,
)
from runcoord._core.teardown import report_from
from runcoord.errors import InvalidRequest, ProbeFailed
from runcoord.ports import (
    Fate,
    Found,
    Likeness,
    Membership,
    PinnedProcess,
    ProcessIdentity,
    Scan,
    Sighting,
    TeardownReport,
)
from small_table import CONT, GROUP, HERE, KILL, LEADER, RUN, TERM, Pin, Small, SmallTable

COOKIE_ONLY = frozenset({Found.COOKIE})


def torn_down(table: SmallTable, grace: float = 5.0, membership: Membership = RUN) -> TeardownReport:
    """Torn down by one that holds the leader, if there is one."""
    leaders = [each for each in table.everyone if each.pid == LEADER]
    leader = Pin(table, leaders[0]) if leaders else None
    report = tear_down(table, membership, grace=grace, clock=table.clock, sleeper=table, leader=leader)
    assert table.pins_open == 0, "every pin is closed"
    assert report_from(report.document()).document() == report.document()
    return report


def fates(report: TeardownReport) -> dict[int, Fate]:
    return {each.pid: each.fate for each in report.processes}


def test_members_are_asked_and_continued_and_their_end_is_waited_for() -> None:
    leader, helper = Small(LEADER, takes=1.0), Small(102, COOKIE_ONLY, takes=2.5)
    table = SmallTable(leader, helper)
    began = table.clock.monotonic()
    report = torn_down(table)
    assert table.sent(leader) == table.sent(helper) == [TERM, CONT]
    assert table.clock.monotonic() - began == pytest.approx(2.5)
    assert report.emptied
    assert fates(report) == {LEADER: Fate.ASKED, 102: Fate.ASKED}
    assert report.counted == 2
    assert report.left == ()


def test_one_that_ignores_being_asked_is_killed_after_the_grace() -> None:
    stubborn = Small(LEADER, takes=None)
    table = SmallTable(stubborn)
    began = table.clock.monotonic()
    report = torn_down(table, grace=2.0)
    assert stubborn.received[:2] == [(TERM, began), (CONT, began)]
    assert table.sent(stubborn)[2:] == [KILL]
    assert stubborn.received[2][1] == pytest.approx(began + 2.0)
    assert fates(report) == {LEADER: Fate.KILLED}
    assert report.emptied
    assert report.asking_seconds == pytest.approx(2.0)


def test_the_leader_ends_first_and_the_member_that_ignores_it_is_killed_all_the_same() -> None:
    table = SmallTable(Small(LEADER), Small(102, takes=None))
    report = torn_down(table, grace=1.0)
    assert fates(report) == {LEADER: Fate.ASKED, 102: Fate.KILLED}
    assert table.living() == []


def test_a_member_that_left_the_group_just_before_it_was_signalled_is_asked_by_itself() -> None:
    leaving = Small(102, takes=0.5)
    table = SmallTable(Small(LEADER, takes=1.0), leaving)
    table.leaving = [leaving]
    began = table.clock.monotonic()
    report = torn_down(table)
    assert table.sent(leaving) == [TERM, CONT]
    assert leaving.received[0][1] <= began + 0.5
    assert fates(report) == {LEADER: Fate.ASKED, 102: Fate.ASKED}


def test_a_stopped_member_hears_that_it_is_asked() -> None:
    stopped = Small(LEADER, takes=0.5, stopped=True)
    report = torn_down(SmallTable(stopped))
    assert fates(report) == {LEADER: Fate.ASKED}


def test_a_grace_of_zero_kills_at_once_and_asks_nobody() -> None:
    one, other = Small(LEADER), Small(102, COOKIE_ONLY)
    table = SmallTable(one, other)
    report = torn_down(table, grace=0)
    assert table.sent(one) == table.sent(other) == [KILL]
    assert fates(report) == {LEADER: Fate.KILLED, 102: Fate.KILLED}


def test_a_hurry_ends_the_grace() -> None:
    stubborn = Small(LEADER, takes=None)
    table = SmallTable(stubborn)
    began = table.clock.monotonic()
    report = tear_down(
        table,
        RUN,
        grace=60.0,
        clock=table.clock,
        sleeper=table,
        hurried=lambda: table.clock.monotonic() >= began + 3.0,
    )
    assert table.sent(stubborn) == [TERM, CONT, KILL]
    assert stubborn.received[-1][1] - began == pytest.approx(3.0, abs=0.5)
    assert fates(report) == {LEADER: Fate.KILLED}


def test_a_member_that_is_born_during_the_grace_is_asked_too() -> None:
    born = Small(103, COOKIE_ONLY, takes=0.5)
    table = SmallTable(Small(LEADER, takes=2.0))
    table.born_in_scan[1] = born
    report = torn_down(table)
    assert table.sent(born) == [TERM, CONT]
    assert fates(report) == {LEADER: Fate.ASKED, 103: Fate.ASKED}


def test_what_an_asked_member_starts_to_clean_up_is_asked_only_after_that_member_has_ended() -> None:
    member = Small(LEADER, takes=2.0)
    table = SmallTable(member)
    cleaner, its_child = Small(103, COOKIE_ONLY, parent=LEADER), Small(104, COOKIE_ONLY, parent=103)
    table.born_in_scan[1] = cleaner
    table.born_in_scan[2] = its_child
    began = table.clock.monotonic()
    report = torn_down(table)
    assert report.emptied
    assert began + 2.0 <= cleaner.received[0][1] <= began + 2.5
    assert its_child.received[0][1] >= began + 2.0
    assert fates(report) == {LEADER: Fate.ASKED, 103: Fate.ASKED, 104: Fate.ASKED}


def test_what_cleans_up_is_killed_with_everybody_else_after_the_grace() -> None:
    cleaner = Small(103, COOKIE_ONLY, takes=None, parent=LEADER)
    table = SmallTable(Small(LEADER, takes=None))
    table.born_in_scan[1] = cleaner
    report = torn_down(table, grace=1.0)
    assert table.sent(cleaner) == [KILL]
    assert fates(report) == {LEADER: Fate.KILLED, 103: Fate.KILLED}


def test_one_that_an_unfinished_scan_missed_is_no_newborn() -> None:
    late = Small(103, COOKIE_ONLY, takes=0.5, parent=LEADER)
    table = SmallTable(Small(LEADER, takes=2.0))
    table.born_in_scan[1] = late
    leader = table.everyone[0]
    seen = Sighting(leader.identity, leader.found, "S", "small")
    table.faulty_scan = lambda number: Scan((seen,), complete=False) if number == 1 else None
    began = table.clock.monotonic()
    torn_down(table)
    assert late.received[0][1] <= began + 0.5


def test_children_born_while_their_parents_die_are_killed_too() -> None:
    table = SmallTable(Small(LEADER, forks=3), Small(102, COOKIE_ONLY, forks=2))
    report = torn_down(table, grace=0)
    assert table.living() == []
    assert len(report.processes) == 7
    assert set(fates(report).values()) == {Fate.KILLED}


def test_a_child_born_behind_the_back_of_the_first_clean_scan_is_found_by_the_second() -> None:
    born = Small(103, COOKIE_ONLY, takes=None)
    table = SmallTable(Small(LEADER))
    table.born_in_scan[2] = born
    report = torn_down(table, grace=1.0)
    assert report.emptied
    assert table.living() == []


def test_one_that_was_handed_over_is_listed_and_not_signalled_and_neither_is_its_group() -> None:
    spared = Small(110, spared=True)
    member = Small(LEADER, takes=0.5)
    table = SmallTable(member, spared)
    report = torn_down(table)
    assert table.sent(spared) == []
    assert table.sent(member) == [TERM, CONT]
    assert fates(report) == {LEADER: Fate.ASKED, 110: Fate.SPARED}
    assert report.emptied
    assert report.left == ()


def test_strangers_outside_of_every_scan_are_never_signalled() -> None:
    stranger = Small(300, frozenset())
    table = SmallTable(Small(LEADER, takes=None), stranger)
    torn_down(table, grace=1.0)
    assert table.sent(stranger) == []
    assert table.lives(stranger)


def test_the_process_that_tears_down_is_never_signalled_even_if_a_scan_counts_it() -> None:
    own = Small(50, COOKIE_ONLY)
    table = SmallTable(Small(LEADER), own)
    report = torn_down(table)
    assert table.sent(own) == []
    assert any("tears down" in each for each in report.problems)


def test_one_that_must_not_be_signalled_is_named_denied_and_does_not_take_all_the_time() -> None:
    denied = Small(102, permitted=False)
    table = SmallTable(Small(LEADER), denied)
    began = table.clock.monotonic()
    report = torn_down(table, grace=2.0)
    assert not report.emptied
    assert fates(report) == {LEADER: Fate.ASKED, 102: Fate.DENIED}
    assert report.left[0].pid == 102
    assert report.left[0].signals == ("SIGTERM",), "the group was signalled, which hides who was not"
    assert table.clock.monotonic() - began <= 2.0 + DENIED_SECONDS + 0.6


def test_one_that_cannot_be_killed_is_named_with_its_state_within_the_bound() -> None:
    immortal = Small(LEADER, takes=None, dies=False)
    table = SmallTable(immortal)
    began = table.clock.monotonic()
    report = torn_down(table, grace=1.0)
    assert not report.emptied
    [left] = report.left
    assert (left.fate, left.state) == (Fate.SURVIVED, "D")
    assert "state D" in left.why
    assert table.clock.monotonic() - began <= 1.0 + KILL_SECONDS + 0.001


def test_scans_that_fail_prove_nothing_and_end_within_the_bound() -> None:
    member = Small(LEADER)
    table = SmallTable(member)
    table.faulty_scan = lambda number: ProbeFailed("/proc cannot be read")
    began = table.clock.monotonic()
    report = torn_down(table, grace=1.0)
    assert not report.emptied
    assert report.problems == ("/proc cannot be read",)
    assert table.sent(member) == []
    assert table.clock.monotonic() - began <= 1.0 + KILL_SECONDS + 0.001


def test_an_unfinished_scan_that_finds_nobody_is_no_clean_one() -> None:
    table = SmallTable(Small(LEADER))
    table.faulty_scan = lambda number: Scan(complete=False, problem="no time") if number % 2 else None
    report = torn_down(table, grace=1.0)
    assert not report.emptied
    assert table.living() == []


def test_slow_scans_lengthen_a_teardown_by_no_more_than_two_of_them() -> None:
    table = SmallTable(Small(LEADER, takes=None, dies=False))
    table.scan_takes = 60.0
    began = table.clock.monotonic()
    assert not torn_down(table, grace=3.0).emptied
    assert table.clock.monotonic() - began <= 3.0 + KILL_SECONDS + 2 * SCAN_SECONDS


def test_without_handles_nobody_is_signalled_and_those_that_live_are_named() -> None:
    member = Small(102, COOKIE_ONLY)
    table = SmallTable(member)
    table.pins_left = 0
    report = torn_down(table, grace=1.0)
    assert table.sent(member) == []
    assert fates(report) == {102: Fate.UNKNOWN}
    assert report.left[0].why == "no more handles"


def test_a_member_that_only_its_parent_proves_is_held_before_the_parent_is_signalled() -> None:
    child = Small(102, frozenset({Found.DESCENDANT}), takes=0.5, parent=LEADER)
    table = SmallTable(Small(LEADER), child)
    table.needs_parent = {102}
    report = torn_down(table)
    assert fates(report) == {LEADER: Fate.ASKED, 102: Fate.ASKED}
    assert table.living() == []


def test_of_a_group_the_oldest_are_held_where_orphans_stay_members(monkeypatch: pytest.MonkeyPatch) -> None:
    group = [Small(pid, takes=1.0, start=500 - pid) for pid in range(LEADER, LEADER + 3 * HELD_OF_GROUP)]
    table, held = SmallTable(*group), set[int]()
    pin = table.pin

    def noting(members: Membership, pid: int) -> PinnedProcess | None:
        if table.scans == 1:
            held.add(pid)
        return pin(members, pid)

    monkeypatch.setattr(table, "pin", noting)
    torn_down(table, membership=replace(RUN, ancestor=7))
    assert held == {each.pid for each in group[-HELD_OF_GROUP:]}
    assert table.living() == []


def test_one_that_could_not_be_held_and_is_no_member_any_more_is_not_called_ended() -> None:
    child = Small(102, frozenset({Found.DESCENDANT}), parent=LEADER)
    table = SmallTable(Small(LEADER), child)
    table.needs_parent = {102}
    table.pins_left = 1
    table.likeness[102] = Likeness.UNKNOWN
    report = torn_down(table)
    assert fates(report) == {LEADER: Fate.ASKED, 102: Fate.UNKNOWN}
    assert [each.pid for each in report.left] == [102]
    assert table.sent(child) == []


def test_few_handles_are_used_again_and_again() -> None:
    table = SmallTable(*(Small(pid, COOKIE_ONLY) for pid in range(102, 112)))
    table.pins_left = 3
    report = torn_down(table, grace=0)
    assert table.living() == []
    assert report.emptied
    assert set(fates(report).values()) == {Fate.KILLED}


def test_where_a_group_cannot_be_signalled_its_members_are_one_by_one() -> None:
    one, other = Small(LEADER, takes=0.5), Small(102, takes=0.5)
    table = SmallTable(one, other)
    table.group_signals = False
    report = torn_down(table)
    assert table.sent(one) == table.sent(other) == [TERM, CONT]
    assert report.problems == ()


@pytest.mark.parametrize(
    ("likeness", "fate"), [(Likeness.DIFFERENT, Fate.STRANGER), (Likeness.UNKNOWN, Fate.UNKNOWN)]
)
def test_a_recorded_pid_that_proves_nothing_is_reported_and_not_touched(
    likeness: Likeness, fate: Fate
) -> None:
    somebody = Small(120, frozenset())
    table = SmallTable(somebody)
    table.likeness[120] = likeness
    report = torn_down(table, membership=Membership(recorded=(ProcessIdentity(120, 1, HERE),)))
    assert fates(report) == {120: fate}
    assert table.sent(somebody) == []
    assert bool(report.left) == (fate is Fate.UNKNOWN)


def test_a_recorded_process_that_is_gone_is_reported_so() -> None:
    table = SmallTable()
    report = torn_down(table, membership=Membership(recorded=(ProcessIdentity(120, 1, HERE),)))
    assert fates(report) == {120: Fate.ENDED}
    assert report.emptied


def test_a_recorded_process_that_is_the_same_is_a_member_also_if_the_scan_missed_it() -> None:
    recorded = Small(120, frozenset(), takes=0.5)
    table = SmallTable(recorded)
    report = torn_down(table, membership=Membership(recorded=(recorded.identity,)))
    assert table.sent(recorded) == [TERM, CONT]
    assert fates(report) == {120: Fate.ASKED}
    assert report.emptied


def test_a_member_that_hides_after_it_was_held_is_still_one() -> None:
    hider = Small(102, COOKIE_ONLY, takes=None)
    table = SmallTable(hider)
    real = table.scan

    def hiding(members: Membership, seconds: float) -> Scan:
        scan = real(members, seconds)
        hider.found = frozenset()
        return scan

    table.scan = hiding  # type: ignore[method-assign]
    report = torn_down(table, grace=1.0)
    assert table.sent(hider) == [TERM, CONT, KILL]
    assert report.emptied


def test_nobody_to_end_is_an_empty_report_and_no_wait() -> None:
    table = SmallTable()
    began = table.clock.monotonic()
    report = torn_down(table)
    assert report == TeardownReport(emptied=True, rounds=2)
    assert table.clock.monotonic() == began


def test_more_processes_than_are_named_are_counted() -> None:
    many = [Small(1_000 + number) for number in range(MAX_PROCESSES_REPORTED + 50)]
    table = SmallTable(*many)
    report = torn_down(table, grace=0)
    assert report.counted == len(many)
    assert len(report.processes) == MAX_PROCESSES_REPORTED


@pytest.mark.parametrize("grace", [-1.0, 301.0, float("nan"), float("inf")])
def test_a_grace_out_of_range_is_refused_and_nobody_is_signalled(grace: float) -> None:
    member = Small(LEADER)
    table = SmallTable(member)
    with pytest.raises(InvalidRequest, match="grace"):
        torn_down(table, grace=grace)
    assert table.scans == 0
    assert table.sent(member) == []


smalls = st.builds(
    Small,
    pid=st.integers(2, 40).map(lambda number: 200 + number),
    found=st.sets(st.sampled_from([Found.GROUP, Found.COOKIE, Found.SESSION])).map(frozenset),
    takes=st.sampled_from([None, 0.0, 0.3, 4.0, 100.0]),
    dies=st.sampled_from([True, True, True, False]),
    permitted=st.sampled_from([True, True, True, False]),
    stopped=st.booleans(),
    spared=st.sampled_from([False, False, False, True]),
    forks=st.integers(0, 2),
)


@SOME
@given(
    st.lists(smalls, max_size=6, unique_by=lambda each: each.pid),
    st.sampled_from([0.0, 0.5, 5.0]),
    st.sampled_from([0, 2, 10_000]),
    st.sets(st.integers(1, 6)),
)
def test_whatever_processes_do_the_rules_of_a_teardown_hold(
    processes: list[Small], grace: float, pins: int, unfinished: set[int]
) -> None:
    table = SmallTable(Small(LEADER), *processes)
    table.pins_left = pins
    table.faulty_scan = lambda number: Scan(complete=False) if number in unfinished else None
    began = table.clock.monotonic()
    report = torn_down(table, grace=grace, membership=Membership(group=GROUP))
    assert table.clock.monotonic() - began <= grace + KILL_SECONDS + 0.001
    for each in table.everyone:
        sent = table.sent(each)
        if each.spared or not each.found:
            assert sent == []
        if KILL in sent:
            assert TERM not in sent[sent.index(KILL) :]
        if grace == 0:
            assert TERM not in sent
    left = [each for each in table.living() if each.found and not each.spared]
    if report.emptied:
        assert left == []
    assert {each.pid for each in left} <= {each.pid for each in report.left} or unfinished
