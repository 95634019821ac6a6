"""The order of a teardown, on what scans may see in any order and at any time."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.strategies import SOME
from runcoord._core.limits import CLEAN_SCANS, DENIED_SECONDS, TEARDOWN_MAX_PAUSE_SECONDS, TEARDOWN_ROUNDS
from runcoord._core.teardown import Found, Scan, Sighting
from runcoord._core.teardown_plan import NextStep, Phase, TeardownPlan
from runcoord.ports import Habitat, ProcessIdentity

HERE = Habitat("host", "boot", "pid:[1]", "time:[1]", "test")
KILL_SECONDS = 10.0
BORN_PER_TURN = 3


def seeing(*pids: int, complete: bool = True) -> Scan:
    members = (Sighting(ProcessIdentity(pid, 1, HERE), frozenset({Found.COOKIE})) for pid in pids)
    return Scan(tuple(members), complete=complete)


@dataclass(frozen=True)
class Turn:
    """What one scan sees, and how long all took since the one before, above the wait that was advised."""

    scan: Scan
    took: float
    hurry: bool


turns = st.builds(
    Turn,
    scan=st.builds(
        lambda pids, complete: seeing(*pids, complete=complete),
        st.sets(st.integers(2, 9), max_size=BORN_PER_TURN),
        st.booleans(),
    ),
    took=st.sampled_from([0.0, 0.001, 0.3, 2.0]),
    hurry=st.sampled_from([False, False, False, True]),
)
graces = st.sampled_from([0.0, 0.5, 5.0, 300.0])


def played(grace: float, plan: TeardownPlan, story: list[Turn]) -> list[tuple[float, Turn, NextStep]]:
    """What the plan said, until it was done or the story was over; the last scan of it repeats."""
    said: list[tuple[float, Turn, NextStep]] = []
    seconds = 0.0
    for number in range(TEARDOWN_ROUNDS + 1):
        turn = story[min(number, len(story) - 1)]
        if turn.hurry:
            plan.hurry()
        seconds += turn.took if number < len(story) else 0.0
        step = plan.next_step(turn.scan, seconds)
        said.append((seconds, turn, step))
        if step.phase is Phase.DONE:
            return said
        seconds += step.wait
    raise AssertionError("it was not done after all rounds")


@SOME
@given(graces, st.lists(turns, min_size=1, max_size=30))
def test_a_teardown_ends_within_its_bound_whatever_scans_see(grace: float, story: list[Turn]) -> None:
    plan = TeardownPlan(grace, KILL_SECONDS)
    *_, (seconds, _, last) = played(grace, plan, story)
    assert last.phase is Phase.DONE
    assert seconds <= grace + KILL_SECONDS + sum(turn.took for turn in story)


@SOME
@given(graces, st.lists(turns, min_size=1, max_size=30))
def test_asking_comes_before_killing_and_never_after_it(grace: float, story: list[Turn]) -> None:
    phases = [step.phase for _, _, step in played(grace, TeardownPlan(grace, KILL_SECONDS), story)]
    order = [Phase.ASK, Phase.KILL, Phase.DONE]
    with_somebody = [
        step.phase
        for _, turn, step in played(grace, TeardownPlan(grace, KILL_SECONDS), story)
        if turn.scan.members
    ]
    assert with_somebody == sorted(with_somebody, key=order.index)
    if grace == 0:
        assert Phase.ASK not in phases


@SOME
@given(graces, st.lists(turns, min_size=1, max_size=30))
def test_nobody_is_killed_before_the_grace_is_over_or_somebody_hurries(
    grace: float, story: list[Turn]
) -> None:
    hurried = False
    for seconds, turn, step in played(grace, TeardownPlan(grace, KILL_SECONDS), story):
        hurried = hurried or turn.hurry
        if step.phase is Phase.KILL and turn.scan.members:
            assert hurried or seconds >= grace


@SOME
@given(graces, st.lists(turns, min_size=1, max_size=30))
def test_a_hurry_ends_the_asking_at_once(grace: float, story: list[Turn]) -> None:
    hurried = False
    for _, turn, step in played(grace, TeardownPlan(grace, KILL_SECONDS), story):
        hurried = hurried or turn.hurry
        assert not (hurried and step.phase is Phase.ASK)


@SOME
@given(graces, st.lists(turns, min_size=1, max_size=30))
def test_only_complete_scans_in_a_row_that_find_nobody_count_as_emptied(
    grace: float, story: list[Turn]
) -> None:
    plan = TeardownPlan(grace, KILL_SECONDS)
    scans = [turn.scan for _, turn, _ in played(grace, plan, story)]
    clean = [scan.complete and not scan.members for scan in scans]
    assert plan.emptied == (len(clean) >= CLEAN_SCANS and all(clean[-CLEAN_SCANS:]))
    for number in range(len(clean) - CLEAN_SCANS):
        assert not all(clean[number : number + CLEAN_SCANS]), "it went on after it was proved empty"


@SOME
@given(graces, st.lists(turns, min_size=1, max_size=30))
def test_no_wait_is_longer_than_the_longest_pause_or_than_what_is_left(
    grace: float, story: list[Turn]
) -> None:
    plan = TeardownPlan(grace, KILL_SECONDS)
    for seconds, _, step in played(grace, plan, story):
        assert 0 <= step.wait <= TEARDOWN_MAX_PAUSE_SECONDS
        if step.phase is Phase.ASK:
            assert seconds + step.wait <= grace + 1e-9


def test_two_clean_scans_follow_one_another_without_a_pause() -> None:
    plan = TeardownPlan(5.0)
    assert plan.next_step(seeing(), 0.0) == NextStep(Phase.ASK, 0.0)
    assert plan.next_step(seeing(), 0.0) == NextStep(Phase.DONE)
    assert plan.emptied


def test_a_member_between_two_clean_scans_makes_them_count_anew() -> None:
    plan = TeardownPlan(0.0)
    plan.next_step(seeing(), 0.0)
    assert plan.next_step(seeing(7), 0.0).phase is Phase.KILL
    assert plan.next_step(seeing(), 0.1).phase is Phase.KILL
    assert plan.next_step(seeing(), 0.1).phase is Phase.DONE
    assert plan.emptied


def test_pauses_grow_while_nobody_new_is_seen_and_shrink_for_a_newborn() -> None:
    plan = TeardownPlan(100.0)
    waits = [plan.next_step(seeing(7), 0.0).wait for _ in range(8)]
    assert waits[0] < waits[1] < waits[2]
    assert waits[-1] == TEARDOWN_MAX_PAUSE_SECONDS
    assert plan.next_step(seeing(7, 8), 0.0).wait == pytest.approx(waits[0], rel=0.1)


def test_those_that_cannot_be_signalled_are_waited_for_a_shorter_time() -> None:
    plan = TeardownPlan(0.0, KILL_SECONDS)
    beyond = frozenset({7})
    assert plan.next_step(seeing(7), 0.0, beyond).phase is Phase.KILL
    assert plan.next_step(seeing(7), DENIED_SECONDS - 0.1, beyond).phase is Phase.KILL
    assert plan.next_step(seeing(7, 8), DENIED_SECONDS + 0.1, beyond).phase is Phase.KILL
    assert plan.next_step(seeing(7), DENIED_SECONDS + 0.1, beyond).phase is Phase.DONE
    assert not plan.emptied


def test_a_clock_that_stands_still_does_not_keep_it_going_for_ever() -> None:
    plan = TeardownPlan(5.0)
    steps = [plan.next_step(seeing(7), 0.0).phase for _ in range(TEARDOWN_ROUNDS)]
    assert Phase.DONE not in steps[:-1]
    assert steps[-1] is Phase.DONE


def test_members_that_no_scan_saw_before_leave_open_whether_there_are_more() -> None:
    plan = TeardownPlan(0.0, KILL_SECONDS)
    assert plan.next_step(seeing(2), 0.0).phase is Phase.KILL
    plan.next_step(seeing(2), 1.0)
    assert plan.unseen == ""
    assert plan.next_step(seeing(2, 3), KILL_SECONDS).phase is Phase.DONE
    assert not plan.emptied
    assert "did not converge" in plan.unseen


def test_a_scan_that_did_not_come_to_its_end_leaves_open_who_is_left() -> None:
    plan = TeardownPlan(0.0, KILL_SECONDS)
    plan.next_step(seeing(2, complete=False), 0.0)
    assert plan.next_step(seeing(complete=False), KILL_SECONDS).phase is Phase.DONE
    assert "could not be read" in plan.unseen
    plan.next_step(seeing(), KILL_SECONDS)
    plan.next_step(seeing(), KILL_SECONDS)
    assert plan.unseen == ""
