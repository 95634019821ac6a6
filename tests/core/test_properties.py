"""What holds for every run, every request and every moment."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.refusals import refusal_of
from core.strategies import MANY, SOME, deadlines, instants, requests_for, runs
from runcoord import Deadline, EventKind, Instant, Run, State
from runcoord._core import requests as ask
from runcoord._core.decide import decide
from runcoord._core.limits import MAX_LEASE_SECONDS
from runcoord.errors import Refused
from runcoord.ports import Cleanup, CleanupState

# --- decisions ------------------------------------------------------------------------------------


@SOME
@given(st.data(), runs(), instants)
def test_a_decision_keeps_what_must_never_change(data: st.DataObject, run: Run, now: Instant) -> None:
    require_decided_well(run, data.draw(requests_for(run)), now)


@pytest.mark.soak
@MANY
@given(st.data(), runs(), instants)
def test_a_decision_keeps_what_must_never_change_many_times(
    data: st.DataObject, run: Run, now: Instant
) -> None:
    require_decided_well(run, data.draw(requests_for(run)), now)


def require_decided_well(run: Run, request: ask.Request, now: Instant) -> None:
    before = copy.deepcopy(run)
    refusal = refusal_of(lambda: decide(run, request, now))
    if refusal is not None:
        assert run == before
        assert refusal.remedy
        return
    decision = decide(run, request, now)
    after = decision.run
    assert run == before
    assert after.epoch >= run.epoch
    assert (after.run_id, after.spec, after.created_at, after.line) == (
        run.run_id,
        run.spec,
        run.created_at,
        run.line,
    )
    assert after.version == run.version + decision.changed
    assert decision.changed or after is run
    if run.state is State.FINISHED:
        # What it left running may be dealt with afterwards; nothing else changes, and nothing more is told.
        assert replace(after, version=0, cleanup=None) == replace(run, version=0, cleanup=None)
        assert not decision.changed or run.cleanup is not None
        assert decision.event is None
        assert decision.successor is None
    if run.stop_requested_at is not None and run.state is not State.FINISHED is after.state:
        assert after.outcome == "stopped"
    assert (after.lease is not None) == (after.state in (State.CLAIMED, State.RUNNING))
    assert (after.outcome is not None) == (after.state is State.FINISHED) == (after.finished_at is not None)
    if after.state in (State.CLAIMED, State.RUNNING):
        assert after.owner
        assert after.epoch >= 1
    if after.owner != run.owner and after.owner:
        assert after.epoch > run.epoch
    require_cleanup_kept(run.cleanup, after)


def require_cleanup_kept(before: Cleanup | None, run: Run) -> None:
    after = run.cleanup
    assert before is None or after is not None
    if after is None:
        return
    pending = after.state is CleanupState.PENDING
    assert (after.due is not None) == (run.state is State.FINISHED and pending)
    assert bool(after.survivors) == (after.state is CleanupState.SURVIVED) or after == before
    if before is not None:
        for name in ("processes", "teardowns", "rounds", "attempts"):
            assert getattr(after, name) >= getattr(before, name)


@SOME
@given(st.data(), runs(), instants)
def test_an_ending_has_one_event_and_nothing_else_but_a_note_has_one(
    data: st.DataObject, run: Run, now: Instant
) -> None:
    request = data.draw(requests_for(run))
    try:
        decision = decide(run, request, now)
    except Refused:
        return
    ended = decision.changed and decision.run.state is State.FINISHED is not run.state
    if ended:
        assert decision.event is not None
        assert decision.event.kind is EventKind.FINISHED
    elif isinstance(request, ask.Publish):
        assert decision.event is not None
        assert decision.event.kind is EventKind.NOTE
    else:
        assert decision.event is None


@SOME
@given(st.data(), runs(), instants)
def test_a_decision_depends_on_its_values_alone(data: st.DataObject, run: Run, now: Instant) -> None:
    request = data.draw(requests_for(run))

    def answer() -> object:
        try:
            return decide(copy.deepcopy(run), request, now)
        except Refused as refusal:
            return refusal.code, str(refusal)

    assert answer() == answer()


@SOME
@given(st.data(), runs(), instants)
def test_every_acquisition_takes_a_new_epoch_and_every_older_handle_is_refused(
    data: st.DataObject, run: Run, now: Instant
) -> None:
    request = data.draw(requests_for(run))
    try:
        after = decide(run, request, now).run
    except Refused:
        return
    acquired = isinstance(request, ask.Claim | ask.Reacquire) or (
        isinstance(request, ask.Recover) and after.outcome != run.outcome
    )
    if isinstance(request, ask.TakeOver):
        acquired = after.owner != run.owner or after.epoch != run.epoch
        assert acquired == (run.state is State.RUNNING and after.version != run.version)
    assert after.epoch == run.epoch + acquired


@SOME
@given(runs(), instants, st.floats(0.1, 3600.0))
def test_a_live_lease_of_another_is_never_taken(run: Run, now: Instant, seconds: float) -> None:
    live = run.lease is not None and not run.lease.passed(now)
    try:
        decide(run, ask.Claim("somebody-new", seconds), now)
    except Refused:
        return
    assert not live


@SOME
@given(runs(), instants)
def test_recovery_ends_only_started_runs_whose_lease_ran_out(run: Run, now: Instant) -> None:
    decision = decide(run, ask.Recover("sweeper", "r2"), now)
    lease = run.lease
    expired = run.state is State.RUNNING and lease is not None and lease.passed(now)
    expired = expired and run.cleanup is None  # whose processes are recorded is taken over
    assert (decision.run.outcome is not None) == (run.outcome is not None or expired)
    if decision.changed and not expired:  # cut down to the longest lease
        assert decision.run.lease == Deadline.after(now, MAX_LEASE_SECONDS)
        assert lease is not None
        assert lease.remaining(now, math.inf) > MAX_LEASE_SECONDS
    assert decide(decision.run, ask.Recover("sweeper", "r2"), now).changed is False


@SOME
@given(runs(), instants)
def test_an_unfinished_run_belongs_to_exactly_one_part(run: Run, now: Instant) -> None:
    """Claimable, live-leased (for at most the longest lease, after one sweep), or recoverable."""
    swept = decide(run, ask.Recover("sweeper", "r2"), now).run
    swept = decide(swept, ask.TakeOver("sweeper", 120.0), now).run
    if swept.state is State.FINISHED:
        return
    lease = swept.lease
    claimable = swept.state is State.ACCEPTED or (
        swept.state is State.CLAIMED and lease is not None and lease.passed(now)
    )
    live = lease is not None and not lease.passed(now)
    assert claimable + live == 1
    if live:
        assert lease is not None
        if lease.boot_id != now.boot_id:
            assert lease.remaining(now, math.inf) <= MAX_LEASE_SECONDS


# --- deadlines ------------------------------------------------------------------------------------

STEP = st.floats(-1e8, 1e8)


@SOME
@given(instants, st.floats(0, MAX_LEASE_SECONDS), st.floats(0, 1e5), STEP)
def test_on_one_boot_neither_a_clock_step_nor_a_suspend_moves_a_deadline(
    made: Instant, seconds: float, later: float, step: float
) -> None:
    """Boottime counts a suspend; whatever the wall clock says does not matter."""
    deadline = Deadline.after(made, seconds)
    now = Instant(made.wall + later, made.boottime + later, made.boot_id)
    stepped = Instant(now.wall + step, now.boottime, now.boot_id)
    assert deadline.remaining(now) == deadline.remaining(stepped)
    assert deadline.passed(now) == deadline.passed(stepped)
    assert math.isclose(deadline.remaining(now), seconds - later, abs_tol=1e-6)
    assert not deadline.implausible(stepped)


@SOME
@given(deadlines, instants, st.floats(0, 1e6))
def test_on_another_boot_wall_time_decides_and_is_believed_within_a_cap(
    deadline: Deadline, now: Instant, boottime: float
) -> None:
    other = Instant(now.wall, now.boottime, "another boot")
    assert deadline.remaining(other) == min(deadline.wall - now.wall, MAX_LEASE_SECONDS)
    assert deadline.remaining(other) == deadline.remaining(Instant(now.wall, boottime, "another boot"))
    assert deadline.implausible(other) == (deadline.wall - now.wall > MAX_LEASE_SECONDS)


@SOME
@given(deadlines, instants, st.floats(0.1, 1e6))
def test_a_deadline_has_passed_when_nothing_remains_and_never_more_than_the_cap_does(
    deadline: Deadline, now: Instant, cap: float
) -> None:
    assert deadline.passed(now) == (deadline.remaining(now, cap) <= 0)
    assert deadline.remaining(now, cap) <= cap


@SOME
@given(deadlines, instants, st.floats(0, 1e6))
def test_a_deadline_that_passed_stays_passed_while_clocks_move_forward(
    deadline: Deadline, now: Instant, seconds: float
) -> None:
    later = Instant(now.wall + seconds, now.boottime + seconds, now.boot_id)
    assert deadline.passed(later) >= deadline.passed(now)
    assert deadline.remaining(later) <= deadline.remaining(now)
