"""The protocol of holding a lease, row by row, on a manual clock."""

from __future__ import annotations

import threading

import pytest

from runcoord import Hold, Outcome, ThreadBounded
from runcoord._core import limits
from runcoord._heartbeat import MAX_REPORTS
from runcoord.errors import EffectsBlocked, WorkCancelled

from .holding import LEASE, RENEW, TRUST, Holding
from .hooks import Barrier

# --- held -----------------------------------------------------------------------------------------


def test_the_guard_passes_while_trust_lasts_and_reads_nothing_but_the_clock() -> None:
    holding = Holding()
    verbs = list(holding.store.verbs)
    for seconds in (0.0, 10.0, TRUST - 0.001):
        holding.advance_to(seconds)
        holding.heartbeat.guard()
        assert holding.heartbeat.hold is Hold.HELD
    assert holding.store.verbs == verbs


def test_trust_ends_before_the_lease_does_in_the_store() -> None:
    holding = Holding()
    holding.calls.told = ["hangs"]
    holding.advance_to(TRUST)
    assert holding.heartbeat.hold is Hold.DOUBTFUL
    assert holding.heartbeat.lease.until.remaining(holding.clock.now()) == pytest.approx(LEASE - TRUST)


def test_renewals_are_sent_at_their_interval_and_lengthen_the_lease_under_the_same_epoch() -> None:
    holding = Holding()
    epoch = holding.epoch
    holding.tick_until(10 * LEASE)
    assert holding.store.verbs.count("renew") == 10 * LEASE / RENEW
    assert holding.epoch == epoch
    assert holding.said == []
    holding.heartbeat.guard()


def test_wall_clock_steps_change_no_renewal() -> None:
    holding = Holding()
    for step in (3_600.0, -7_200.0, 86_400.0, -1e6):
        holding.clock.step(step)
        holding.tick_until(holding.clock.boottime() - holding.began + LEASE)
    assert holding.store.verbs.count("renew") == 4 * LEASE / RENEW
    assert holding.said == []


def test_trust_is_counted_from_when_the_renewal_was_sent_not_from_when_it_was_answered() -> None:
    holding = Holding()
    holding.advance_to(RENEW)
    holding.store.after["renew"] = lambda: holding.clock.advance(50.0)
    holding.heartbeat.tick()
    sent = holding.heartbeat.lease.sent
    assert sent == holding.began + RENEW
    assert holding.heartbeat.next_due() is not None
    holding.clock.advance(sent + TRUST - holding.clock.boottime() - 0.001)
    assert holding.heartbeat.hold is Hold.HELD
    holding.clock.advance(0.002)
    assert holding.heartbeat.hold is Hold.DOUBTFUL


def test_one_failed_renewal_is_tried_again_and_the_lease_is_kept() -> None:
    holding = Holding()
    epoch = holding.epoch
    holding.tick_until(RENEW - 0.001)
    holding.calls.told = ["fails"]
    holding.tick_until(RENEW)
    assert holding.heartbeat.next_due() == holding.began + RENEW + limits.RENEW_RETRY_SECONDS
    holding.heartbeat.guard()
    holding.tick_until(RENEW + limits.RENEW_RETRY_SECONDS)
    assert holding.said == ["renewal-failed"]
    assert holding.epoch == epoch
    assert holding.heartbeat.lease.until.remaining(holding.clock.now()) == LEASE


def test_what_nobody_foresaw_is_a_failed_renewal_and_no_lost_lease() -> None:
    holding = Holding()
    holding.advance_to(RENEW)
    holding.calls.told = ["breaks"]
    holding.heartbeat.tick()
    assert holding.said == ["renewal-failed"]
    holding.tick_until(RENEW + limits.RENEW_RETRY_SECONDS)
    assert holding.heartbeat.hold is Hold.HELD


def test_renewals_that_fail_until_trust_ends_are_followed_by_one_attempt_to_acquire_again() -> None:
    holding = Holding()
    epoch = holding.epoch
    renewals = int((TRUST - RENEW) / limits.RENEW_RETRY_SECONDS) + 1
    holding.calls.told = [
        *["calls"] * int(RENEW / limits.STOP_POLL_SECONDS - 1),
        *["fails"] * 2 * renewals,
    ]
    while holding.heartbeat.hold is Hold.HELD:
        due = holding.heartbeat.next_due()
        assert due is not None
        holding.clock.advance(max(0.0, due - holding.clock.boottime()))
        if holding.heartbeat.hold is Hold.HELD:
            holding.heartbeat.tick()
    assert holding.clock.boottime() == pytest.approx(holding.began + TRUST)
    holding.calls.told = []
    holding.heartbeat.tick()
    assert holding.heartbeat.hold is Hold.HELD
    assert holding.epoch == epoch + 1
    assert holding.said[-1] == "reacquired"
    holding.heartbeat.guard()


def test_a_renewal_that_hangs_gives_up_at_its_bound_and_never_after_trust_has_ended() -> None:
    holding = Holding()
    holding.advance_to(RENEW)
    holding.calls.told = ["hangs"]
    holding.heartbeat.tick()
    assert holding.calls.bounds[-1] == limits.RENEW_CALL_SECONDS
    holding.advance_to(TRUST - 3.0)
    holding.calls.told = ["hangs"]
    holding.heartbeat.tick()
    assert holding.calls.bounds[-1] == pytest.approx(3.0)
    assert holding.heartbeat.hold is Hold.DOUBTFUL


def test_a_renewal_that_landed_though_nobody_answered_does_no_harm() -> None:
    holding = Holding()
    epoch = holding.epoch
    holding.advance_to(RENEW)
    holding.calls.told = ["lands"]
    holding.heartbeat.tick()
    assert holding.said == ["renewal-failed"]
    holding.tick_until(5 * LEASE)
    assert holding.epoch == epoch
    assert holding.heartbeat.hold is Hold.HELD


def test_a_renewal_that_comes_too_late_acquires_the_lease_again_in_the_same_tick() -> None:
    holding = Holding()
    epoch = holding.epoch
    holding.advance_to(RENEW)
    holding.store.before["renew"] = lambda: holding.clock.advance(LEASE)
    holding.heartbeat.tick()
    assert holding.epoch == epoch + 1
    assert holding.said == ["reacquired"]
    holding.heartbeat.guard()


def test_a_renewal_that_is_refused_cancels_the_work_before_its_next_effect() -> None:
    holding = Holding()
    holding.advance_to(LEASE + 1)
    assert holding.rival.recover().interrupted == 1
    with pytest.raises(WorkCancelled, match="no longer the newest") as caught:
        holding.heartbeat.guard()
    assert caught.value.remedy
    assert holding.said == ["lease-lost"]
    assert holding.heartbeat.next_due() is None


def test_a_takeover_that_the_holder_does_not_know_of_is_found_by_the_next_renewal() -> None:
    """The wall clock of another host went mad; the rival believes that the lease ran out."""
    holding = Holding()
    run = holding.data.runs["r1"]
    assert run.lease is not None
    holding.rival.clock = type(holding.clock)(wall=holding.clock.wall() + 500, boot_id="elsewhere")
    assert holding.rival.recover().interrupted == 1
    holding.heartbeat.guard()
    holding.tick_until(RENEW)
    with pytest.raises(WorkCancelled):
        holding.heartbeat.guard()
    assert holding.said == ["lease-lost"]


# --- doubtful -------------------------------------------------------------------------------------


def test_after_a_suspend_the_sole_owner_goes_on_under_a_new_epoch_at_its_next_effect() -> None:
    holding = Holding()
    epoch = holding.epoch
    holding.clock.suspend(100 * LEASE)
    holding.heartbeat.guard()
    assert holding.epoch == holding.heartbeat.lease.epoch == epoch + 1
    assert holding.said == ["reacquired"]


def test_after_a_suspend_an_owner_with_a_rival_has_no_further_effect() -> None:
    holding = Holding()
    holding.clock.suspend(100 * LEASE)
    holding.rival.recover()
    with pytest.raises(WorkCancelled):
        holding.heartbeat.guard()


@pytest.mark.parametrize("word", ["fails", "hangs", "breaks"])
def test_one_bounded_attempt_to_acquire_again_and_then_the_work_is_cancelled(word: str) -> None:
    holding = Holding()
    epoch = holding.epoch
    holding.advance_to(TRUST)
    holding.calls.told = [word]
    holding.heartbeat.tick()
    assert holding.calls.bounds[-1] == limits.RENEW_CALL_SECONDS
    assert holding.heartbeat.hold is Hold.CANCELLED
    assert holding.said == ["lease-lost"]
    assert holding.epoch == epoch
    with pytest.raises(WorkCancelled):
        holding.heartbeat.guard()


def test_an_attempt_that_landed_though_nobody_answered_still_cancels_the_work() -> None:
    """The holder cannot know; the run is ended by recovery when that lease has run out."""
    holding = Holding()
    epoch = holding.epoch
    holding.advance_to(TRUST)
    holding.calls.told = ["lands"]
    holding.heartbeat.tick()
    assert (holding.heartbeat.hold, holding.epoch) == (Hold.CANCELLED, epoch + 1)
    holding.clock.advance(LEASE)
    assert holding.rival.recover().interrupted == 1


def test_while_another_thread_is_acquiring_again_effects_are_blocked_and_nobody_waits() -> None:
    holding = Holding(bounded=ThreadBounded())
    barrier = Barrier()
    holding.store.before["reacquire"] = barrier
    holding.advance_to(TRUST)
    ticking = threading.Thread(target=holding.heartbeat.tick)
    ticking.start()
    barrier.wait_for_arrival()
    try:
        with pytest.raises(EffectsBlocked, match="may have been lost") as caught:
            holding.heartbeat.guard()
        assert caught.value.remedy
        assert holding.heartbeat.next_due() == holding.clock.boottime() + limits.RENEW_RETRY_SECONDS
        holding.heartbeat.tick()  # nothing: one attempt is under way
    finally:
        barrier.open()
        ticking.join()
    holding.heartbeat.guard()
    assert holding.store.verbs.count("reacquire") == 1


def test_while_a_renewal_hangs_effects_go_on_until_trust_ends_and_not_longer() -> None:
    holding = Holding(bounded=ThreadBounded())
    barrier = Barrier()
    holding.store.before["renew"] = barrier
    holding.advance_to(RENEW)
    ticking = threading.Thread(target=holding.heartbeat.tick)
    ticking.start()
    barrier.wait_for_arrival()
    try:
        holding.advance_to(TRUST - 1)
        holding.heartbeat.guard()
        holding.advance_to(TRUST)
        with pytest.raises(EffectsBlocked):
            holding.heartbeat.guard()
    finally:
        barrier.open()
        ticking.join()
    # It was answered after all, by a store that still knew the lease: trust counts from then.
    holding.heartbeat.guard()
    assert holding.said == []


# --- stopping -------------------------------------------------------------------------------------


def test_a_stop_is_seen_by_the_next_look_and_cancels_the_next_effect() -> None:
    holding = Holding()
    holding.rival.stop("r1", "enough")
    holding.heartbeat.guard()
    holding.tick_until(limits.STOP_POLL_SECONDS)
    with pytest.raises(WorkCancelled, match="a stop was asked for"):
        holding.heartbeat.guard()
    assert holding.heartbeat.stop_requested
    assert holding.said == ["stop-requested"]


def test_a_look_for_a_stop_writes_nothing() -> None:
    holding = Holding()
    rows = holding.store.counters.rows_written
    holding.tick_until(RENEW - 0.001)
    assert holding.store.verbs.count("read-run") == int(RENEW / limits.STOP_POLL_SECONDS) - 1
    assert holding.store.counters.rows_written == rows


def test_a_renewal_tells_of_a_stop_too() -> None:
    holding = Holding()
    holding.calls.told = ["fails"] * 14
    holding.rival.stop("r1", "enough")
    holding.tick_until(RENEW)
    assert holding.said == ["stop-requested"]


def test_the_lease_is_renewed_until_the_work_has_noticed_the_stop() -> None:
    holding = Holding()
    holding.rival.stop("r1", "enough")
    holding.tick_until(10 * LEASE)
    assert holding.heartbeat.hold is Hold.HELD
    assert holding.said == ["stop-requested"]
    assert holding.rival.recover().stopped == 0


def test_a_stop_while_the_lease_is_in_doubt_cancels_and_does_not_block() -> None:
    holding = Holding()
    holding.rival.stop("r1", "enough")
    holding.tick_until(limits.STOP_POLL_SECONDS)
    holding.advance_to(TRUST)
    with pytest.raises(WorkCancelled):
        holding.heartbeat.guard()


@pytest.mark.parametrize("word", ["fails", "hangs", "breaks"])
def test_a_look_that_fails_changes_nothing_and_is_made_again(word: str) -> None:
    holding = Holding()
    holding.rival.stop("r1", "enough")
    holding.calls.told = [word]
    holding.advance_to(limits.STOP_POLL_SECONDS)
    holding.heartbeat.tick()
    assert holding.said == []
    holding.heartbeat.guard()
    holding.tick_until(4 * limits.STOP_POLL_SECONDS + limits.RENEW_CALL_SECONDS)
    assert holding.said == ["stop-requested"]


def test_a_look_that_hangs_never_holds_up_a_renewal() -> None:
    holding = Holding()
    holding.advance_to(RENEW - 1.0)
    holding.calls.told = ["hangs"]
    holding.heartbeat.tick()
    assert holding.calls.bounds[-1] == pytest.approx(1.0)
    holding.heartbeat.tick()
    assert holding.store.verbs[-1] == "renew"
    assert holding.heartbeat.lease.sent == pytest.approx(holding.began + RENEW)


# --- ended ----------------------------------------------------------------------------------------


def test_when_the_work_is_over_nothing_is_renewed_and_no_effect_passes() -> None:
    holding = Holding()
    holding.heartbeat.end()
    assert holding.heartbeat.next_due() is None
    verbs = list(holding.store.verbs)
    holding.clock.advance(RENEW)
    holding.heartbeat.tick()
    assert holding.store.verbs == verbs
    with pytest.raises(WorkCancelled, match="it was completed"):
        holding.heartbeat.guard()


def test_a_lost_lease_stays_lost_when_the_work_ends() -> None:
    holding = Holding()
    holding.advance_to(LEASE)
    holding.rival.recover()
    holding.heartbeat.tick()
    holding.heartbeat.end()
    assert holding.heartbeat.hold is Hold.CANCELLED


def test_to_find_the_run_finished_by_its_own_completion_is_no_loss() -> None:
    """The completion is committed, and the heartbeat renews before the work is told of it."""
    holding = Holding()
    holding.heartbeat.completing()
    holding.mine.complete(holding.heartbeat.lease, Outcome.COMPLETED)
    holding.advance_to(RENEW)
    holding.heartbeat.tick()
    assert holding.heartbeat.hold is Hold.ENDED
    assert holding.said == []


def test_to_find_the_run_finished_by_somebody_else_is_a_loss() -> None:
    holding = Holding()
    holding.mine.complete(holding.heartbeat.lease, Outcome.FAILED, error="by another thread")
    holding.advance_to(RENEW)
    holding.heartbeat.tick()
    assert holding.heartbeat.hold is Hold.CANCELLED
    assert holding.said == ["lease-lost"]


def test_an_answer_that_comes_after_the_end_is_of_no_interest() -> None:
    holding = Holding(bounded=ThreadBounded())
    barrier = Barrier()
    holding.store.before["renew"] = barrier
    holding.advance_to(RENEW)
    ticking = threading.Thread(target=holding.heartbeat.tick)
    ticking.start()
    barrier.wait_for_arrival()
    holding.heartbeat.end()
    barrier.open()
    ticking.join()
    assert holding.heartbeat.hold is Hold.ENDED


def test_reports_are_bounded() -> None:
    holding = Holding()
    for _ in range(MAX_REPORTS + 50):
        holding.calls.told = ["fails"]
        holding.advance_to(RENEW)
        holding.heartbeat._renew(holding.clock.boottime())
    assert len(holding.heartbeat.reports) == MAX_REPORTS
