"""The sweep on the default store: what it ends, what it leaves, bad rows, and what one start call does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runcoord import EventState, Outcome, Settings, State
from runcoord._core import limits
from runcoord.testing import ManualClock

from .default_store import Places, damage, ended, many_running, opened, running

EXPIRED = 91.0


# --- what is ended --------------------------------------------------------------------------------


def test_started_runs_end_as_interrupted_or_as_they_were_asked_to_and_others_stay(
    path: Path, clock: ManualClock
) -> None:
    with opened(path, clock) as coordinator:
        running(coordinator, "lost")
        running(coordinator, "stopping")
        coordinator.stop("stopping", "enough")
        running(coordinator, "again", interruption_budget=1)
        coordinator.submit(run_id="accepted")
        coordinator.submit(run_id="claimed")
        coordinator.claim("claimed")
        clock.advance(EXPIRED)
        running(coordinator, "live")
        report = coordinator.recover()
        assert (report.interrupted, report.stopped, report.retried) == (2, 1, 1)
        seen = {run.run_id: run.outcome or run.state for run in coordinator.runs().runs}
        retry = coordinator.run("again").retried_as
        assert seen == {
            "lost": Outcome.INTERRUPTED,
            "stopping": Outcome.STOPPED,
            "again": Outcome.INTERRUPTED,
            "accepted": State.ACCEPTED,
            "claimed": State.CLAIMED,
            "live": State.RUNNING,
            retry: State.ACCEPTED,
        }
        assert coordinator.recover().interrupted == 0
        # Never executed again by itself but as a new run; what was claimed and not begun is claimable.
        found = [lease.run_id for lease in iter(coordinator.claim_next, None)]
        assert sorted(found) == sorted(["accepted", "claimed", retry])


def test_a_retry_is_kept_as_long_as_the_run_that_it_answers_for(
    path: Path, clock: ManualClock, places: Places
) -> None:
    places.moods["chat"] = "refuses"
    with opened(path, clock, places, settings=Settings(prune_after=3_600.0)) as coordinator:
        running(coordinator, "r1")
        clock.advance(EXPIRED)
        coordinator.recover()
        places.moods["chat"] = "takes"
        retry = coordinator.retry("r1").run_id
        coordinator.stop(retry)
        coordinator.deliver()
        clock.advance(3_601.0)
        assert coordinator.recover().pruned == 0, "the first one's event is held"
        again = coordinator.retry("r1")
        assert (again.run_id, again.replayed) == (retry, True)

        coordinator.replay("r1/finished")
        assert coordinator.recover().pruned == 2
        assert coordinator.runs().runs == []


def test_an_explicit_retry_carries_the_count_of_interruptions_on(path: Path, clock: ManualClock) -> None:
    with opened(path, clock) as coordinator:
        running(coordinator, "r1", interruption_budget=1)
        clock.advance(EXPIRED)
        coordinator.recover()
        second = coordinator.run("r1").retried_as
        coordinator.start(coordinator.claim(second))
        clock.advance(EXPIRED)
        assert coordinator.recover().retried == 0
        third = coordinator.retry(second).run_id
        run = coordinator.run(third)
        assert (run.line, run.retry_of, run.interruptions) == ("r1", second, 2)
        assert coordinator.retry(second).replayed


def test_a_lease_of_another_boot_beyond_the_longest_is_cut_and_then_runs_out(
    path: Path, clock: ManualClock
) -> None:
    with opened(path, clock) as coordinator:
        running(coordinator, "r1")
        coordinator.submit(run_id="r2")
        coordinator.claim("r2")
    clock.reboot(1.0)
    clock.step(-86_400.0)
    with opened(path, clock) as coordinator:
        report = coordinator.recover()
        assert (report.capped, report.interrupted) == (2, 0)
        assert coordinator.recover().capped == 0
        clock.advance(limits.MAX_LEASE_SECONDS)
        assert coordinator.recover().interrupted == 1
        assert coordinator.claim("r2").epoch == 2


def test_a_sweep_is_bounded_and_says_that_there_is_more(
    path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SWEEP_PAGES", 2)
    monkeypatch.setattr(limits, "RECOVERY_PAGE", 3)
    with opened(path, clock) as coordinator:
        many_running(coordinator, clock, 8, seconds=0.0)
        reports = [coordinator.recover() for _ in range(3)]
        assert [(report.interrupted, report.unfinished) for report in reports] == [
            (6, True),
            (2, False),
            (0, False),
        ]


# --- bad rows -------------------------------------------------------------------------------------

DAMAGE = {
    "an unknown state": "UPDATE runs SET state = 'paused' WHERE run_id = ?",
    "an unknown outcome": "UPDATE runs SET outcome = 'fine' WHERE run_id = ?",
    "no lease": "UPDATE runs SET lease_boot = NULL WHERE run_id = ?",
    "a lease that is no time": "UPDATE runs SET lease_wall = 'soon' WHERE run_id = ?",
    "an epoch that is text": "UPDATE runs SET epoch = 'one' WHERE run_id = ?",
    "an epoch that cannot rise": "UPDATE runs SET epoch = 9223372036854775807 WHERE run_id = ?",
    "a version that cannot rise": "UPDATE runs SET version = 9223372036854775807 WHERE run_id = ?",
    "text that is no UTF-8": "UPDATE runs SET task = CAST(x'ff' AS TEXT) WHERE run_id = ?",
}


@pytest.mark.parametrize("what", DAMAGE)
def test_one_damaged_run_among_three_hundred_is_named_and_the_others_are_recovered(
    path: Path, clock: ManualClock, what: str
) -> None:
    with opened(path, clock) as coordinator:
        ids = many_running(coordinator, clock, 300, seconds=0.0)
        damage(path, DAMAGE[what], ids[100])
        report = coordinator.recover()
        assert (report.interrupted, report.bad_count) == (299, 1)
        assert [(row.table, row.key) for row in report.bad] == [("runs", ids[100])]
        again = coordinator.recover()
        assert (again.interrupted, again.bad_count) == (0, 1)


def test_a_damaged_run_that_waits_to_be_claimed_is_named_and_the_next_one_is_claimed(
    path: Path, clock: ManualClock
) -> None:
    with opened(path, clock) as coordinator:
        for number in range(3):
            coordinator.submit(run_id=f"r{number}")
        damage(path, "UPDATE runs SET epoch = -1 WHERE run_id = 'r0'")
        assert coordinator.recover().bad_count == 1
        lease = coordinator.claim_next()
        assert lease is not None
        assert lease.run_id == "r1"


@pytest.mark.parametrize("bad", [limits.CLAIM_CANDIDATES, limits.RECOVERY_BATCH + 5])
def test_rows_that_cannot_be_read_at_the_head_of_the_queue_stop_no_run_behind_them(
    path: Path,
    clock: ManualClock,
    places: Places,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    bad: int,
) -> None:
    with opened(path, clock, places) as coordinator:
        for number in range(bad):
            coordinator.submit(run_id=f"bad-{number}")
        coordinator.submit(run_id="good")
        damage(path, "UPDATE runs SET epoch = -1 WHERE run_id LIKE 'bad-%'")
        lease = coordinator.claim_next()
        assert lease is not None
        assert lease.run_id == "good"
        assert len(caplog.records) <= limits.CLAIM_CANDIDATES + 2
        assert coordinator.claim_next() is None
        clock.advance(EXPIRED)
        monkeypatch.setattr(limits, "CLAIM_LOOKED_AT", bad)
        assert coordinator.claim_next() is None, "it does not look at more than its limit"


def test_many_damaged_rows_are_counted_and_the_first_are_named(path: Path, clock: ManualClock) -> None:
    with opened(path, clock) as coordinator:
        many_running(coordinator, clock, limits.BAD_ROWS_NAMED + 5, seconds=0.0)
        damage(path, "UPDATE runs SET epoch = -1")
        report = coordinator.recover()
        assert (report.bad_count, len(report.bad)) == (limits.BAD_ROWS_NAMED + 5, limits.BAD_ROWS_NAMED)


def test_a_damaged_group_keeps_none_of_its_members_from_ending(path: Path, clock: ManualClock) -> None:
    with opened(path, clock) as coordinator:
        leases = [running(coordinator, f"r{number}", group="g", group_size=3) for number in range(3)]
        damage(path, "UPDATE groups SET size = 0")
        assert coordinator.complete(leases[0], "completed").run.outcome is Outcome.COMPLETED
        assert coordinator.stop("r1").outcome is None
        clock.advance(EXPIRED)
        report = coordinator.recover()
        assert (report.interrupted, report.stopped) == (1, 1)
        assert [(row.table, row.key) for row in report.bad] == [("groups", "g")]
        ids = [event.event_id for event in coordinator.events().events]
        assert sorted(ids) == ["r0/finished", "r1/finished", "r2/finished"]


# --- groups ---------------------------------------------------------------------------------------


def summary(coordinator: object, group: str = "g") -> dict[str, object]:
    event_id = f"group/{group}/finished"
    found = [event for event in coordinator.events().events if event.event_id == event_id]  # type: ignore[attr-defined]
    assert len(found) == 1
    body: dict[str, object] = json.loads(found[0].body)
    return body


def test_a_group_whose_members_end_in_one_batch_is_summed_up_once(path: Path, clock: ManualClock) -> None:
    with opened(path, clock) as coordinator:
        for number in range(5):
            running(coordinator, f"r{number}", group="g", group_size=5)
        coordinator.stop("r3")
        clock.advance(EXPIRED)
        coordinator.recover()
        body = summary(coordinator)
        assert (body["interrupted"], body["stopped"], body["successful"]) == (4, 1, False)


def test_a_member_that_is_retried_by_itself_is_counted_when_its_retry_ends(
    path: Path, clock: ManualClock
) -> None:
    with opened(path, clock) as coordinator:
        running(coordinator, "r1", group="g", group_size=2, interruption_budget=1)
        coordinator.complete(running(coordinator, "r2", group="g", group_size=2), "completed")
        clock.advance(EXPIRED)
        coordinator.recover()
        assert [event for event in coordinator.events().events if event.kind == "group.finished"] == []
        retry = coordinator.claim(coordinator.run("r1").retried_as)
        coordinator.start(retry)
        coordinator.complete(retry, "completed")
        body = summary(coordinator)
        assert (body["completed"], body["interrupted"], body["successful"]) == (2, 0, True)


def test_an_explicit_retry_stands_outside_of_the_group_which_was_summed_up(
    path: Path, clock: ManualClock
) -> None:
    with opened(path, clock) as coordinator:
        coordinator.complete(running(coordinator, "r1", group="g", group_size=1), "failed")
        before = summary(coordinator)
        retry = coordinator.retry("r1").run_id
        assert coordinator.run(retry).spec.group == ""
        lease = coordinator.claim(retry)
        coordinator.start(lease)
        coordinator.complete(lease, "completed")
        assert summary(coordinator) == before


# --- one start call -------------------------------------------------------------------------------


def test_the_start_call_recovers_delivers_tells_the_operator_and_prunes(
    path: Path, clock: ManualClock, places: Places
) -> None:
    with opened(path, clock, places) as crashed:
        ended(crashed, "old")
        crashed.deliver()
        places.taken.clear()
        clock.advance(10_000.0)
        running(crashed, "lost")
        ended(crashed, "nowhere", "")
    clock.advance(EXPIRED)
    settings = Settings(operator="ops", prune_after=3_600.0)
    with opened(path, clock, places, settings=settings) as successor:
        report = successor.startup()
        assert (report.interrupted, report.pruned, report.digest) == (1, 1, True)
        assert report.drain.delivered == 2
        assert places.ids("chat") == ["lost/finished"]
        assert len(places.ids("ops")) == 1
        assert [event.state for event in successor.events(states=[EventState.PENDING]).events] == []


def test_a_sweep_beside_a_live_owner_and_a_second_sweep_change_nothing(
    path: Path, clock: ManualClock, places: Places
) -> None:
    with opened(path, clock, places) as coordinator, opened(path, clock, places) as other:
        running(coordinator, "r1")
        before = coordinator.runs()
        for _ in range(3):
            report = other.recover()
            assert (report.interrupted, report.capped, report.bad_count) == (0, 0, 0)
        assert coordinator.runs() == before
        assert other.store.counters.rows_written == 0
