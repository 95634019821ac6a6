"""The outbox on the default store: held events and their digest, timers, pruning."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runcoord import Coordinator, EventState, Settings
from runcoord._core import limits
from runcoord.errors import InvalidRequest, KeyConflict, StoreError, UnknownEvent
from runcoord.ports import Ports
from runcoord.testing import ManualClock, ManualSleeper

from .default_store import Places, ended, opened, running, states
from .hooks import HookedStore

# --- held events and the operator -----------------------------------------------------------------


def operated(path: Path, clock: ManualClock, places: Places) -> Coordinator:
    return opened(path, clock, places, settings=Settings(operator="ops"))


def test_the_operator_is_told_once_of_everything_that_is_held(
    path: Path, clock: ManualClock, places: Places
) -> None:
    places.moods["mail"] = "refuses"
    with operated(path, clock, places) as coordinator:
        for number in range(limits.DIGEST_EVENTS_NAMED + 5):
            ended(coordinator, f"r{number:02d}", ["mail", "", "gone"][number % 3])
        assert coordinator.recover().digest
        [digest] = [message for message in places.taken if message.destination == "ops"]
        body = json.loads(digest.body)
        assert (body["held"], len(body["events"]), body["unnamed"]) == (25, limits.DIGEST_EVENTS_NAMED, 5)
        reasons = {"no such room", "no destination", "no destination 'gone' is configured"}
        assert {event["reason"] for event in body["events"]} == reasons
        for _ in range(3):
            clock.advance(60.0)
            assert not coordinator.recover().digest
        ended(coordinator, "new", "")
        assert coordinator.recover().digest
        assert json.loads(places.taken[-1].body)["held"] == 1


def test_a_digest_that_nobody_takes_is_held_and_begets_no_digest(
    path: Path, clock: ManualClock, places: Places
) -> None:
    places.moods["ops"] = "refuses"
    with operated(path, clock, places) as coordinator:
        ended(coordinator, "r1", "")
        assert coordinator.recover().digest
        for _ in range(3):
            clock.advance(400.0)
            assert not coordinator.recover().digest
        kinds = [event.kind for event in coordinator.events(states=[EventState.HELD]).events]
        assert sorted(kinds) == ["held.digest", "run.finished"]


def test_without_an_operator_nothing_is_written_about_held_events(
    path: Path, clock: ManualClock, places: Places
) -> None:
    with opened(path, clock, places) as coordinator:
        ended(coordinator, "r1", "")
        rows = coordinator.store.counters.rows_written
        assert not coordinator.recover().digest
        assert coordinator.store.counters.rows_written == rows


def test_a_held_event_that_is_held_again_is_told_of_again(
    path: Path, clock: ManualClock, places: Places
) -> None:
    places.moods["mail"] = "refuses"
    with operated(path, clock, places) as coordinator:
        ended(coordinator, "r1", "mail")
        assert coordinator.recover().digest
        coordinator.replay("r1/finished")
        assert coordinator.recover().digest


@pytest.mark.parametrize(
    ("event_id", "destination", "error"),
    [
        ("nobody/finished", "", UnknownEvent),
        ("sent/finished", "", InvalidRequest),
        ("held/finished", "", InvalidRequest),
        ("held/finished", "x" * 201, InvalidRequest),
        ("held/finished", "\ud800", InvalidRequest),
    ],
    ids=["unknown", "not held", "no destination", "too long", "no text"],
)
def test_a_replay_that_makes_no_sense_is_refused_and_changes_nothing(
    path: Path,
    clock: ManualClock,
    places: Places,
    event_id: str,
    destination: str,
    error: type[Exception],
) -> None:
    with opened(path, clock, places) as coordinator:
        ended(coordinator, "sent")
        ended(coordinator, "held", "")
        coordinator.deliver()
        before = coordinator.events()
        with pytest.raises(error):
            coordinator.replay(event_id, destination=destination)
        assert coordinator.events() == before


# --- timers ---------------------------------------------------------------------------------------


def test_the_next_drain_is_planned_for_when_an_event_falls_due(
    path: Path, clock: ManualClock, places: Places
) -> None:
    places.moods["chat"] = "is down"
    with opened(path, clock, places) as coordinator:
        ended(coordinator, "r1")
        waits = []
        for _ in range(4):
            due = coordinator.maintenance.next_due()
            waits.append(due - clock.boottime())
            clock.advance(waits[-1])
            coordinator.maintenance.tick()
        assert waits == pytest.approx([1.0, 1.0, 2.0, 4.0])
        assert len(places.offered) == 4


def test_a_store_that_fails_leaves_the_timer_to_the_next_sweep(
    path: Path, clock: ManualClock, places: Places
) -> None:
    def fails() -> None:
        raise StoreError("the store failed", remedy="Try again.")

    store = HookedStore()
    ports = Ports(clock=clock, sleeper=ManualSleeper(clock), wrap_store=store.around)
    with opened(path, clock, places, ports=ports) as coordinator:
        ended(coordinator, "r1")
        store.before["dispatch"] = fails
        clock.advance(1.0)
        coordinator.maintenance.tick()
        assert coordinator.maintenance.next_due() == pytest.approx(
            clock.boottime() - 1.0 + coordinator.settings.sweep
        )
        store.before.clear()
        clock.advance(coordinator.settings.sweep)
        coordinator.maintenance.tick()
        assert places.ids() == ["r1/finished"]


# --- pruning --------------------------------------------------------------------------------------


def test_pruning_takes_old_runs_that_are_done_and_delivered_and_nothing_else(
    path: Path, clock: ManualClock, places: Places
) -> None:
    places.moods["mail"] = "refuses"
    with opened(path, clock, places, settings=Settings(prune_after=3_600.0)) as coordinator:
        ended(coordinator, "done", key="k1")
        ended(coordinator, "held", "mail")
        coordinator.submit(run_id="waiting", destination="chat")
        running(coordinator, "working", destination="chat")
        assert coordinator.recover().pruned == 0
        clock.advance(3_601.0)
        ended(coordinator, "fresh")
        report = coordinator.recover()
        assert (report.pruned, report.interrupted) == (1, 1)
        assert [run.run_id for run in coordinator.runs().runs] == ["held", "waiting", "working", "fresh"]
        assert "done/finished" not in states(coordinator)


def test_pruning_takes_groups_without_runs_and_digests_once_they_are_delivered(
    path: Path, clock: ManualClock, places: Places
) -> None:
    places.moods["mail"] = "refuses"
    settings = Settings(prune_after=3_600.0, operator="ops")
    with opened(path, clock, places, settings=settings) as coordinator:
        for number in range(2):
            ended(coordinator, f"done-{number}", group="done", group_size=2)
            ended(coordinator, f"held-{number}", ["chat", "mail"][number], group="held", group_size=2)
        report = coordinator.recover()
        assert (report.digest, report.pruned, report.pruned_summaries) == (True, 0, 0)
        clock.advance(3_601.0)
        report = coordinator.recover()
        assert (report.pruned, report.pruned_summaries) == (3, 2)
        assert states(coordinator) == {"held-1/finished": "held", "group/held/finished": "delivered"}
        with pytest.raises(KeyConflict, match="group 'held' is complete"):
            coordinator.submit(run_id="late", destination="chat", group="held", group_size=2)
        ended(coordinator, "anew", group="done", group_size=1)
        assert "group/done/finished" in states(coordinator)


def test_many_digests_are_pruned_in_batches_of_bounded_size(
    path: Path, clock: ManualClock, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "PRUNE_BATCH", 3)
    with opened(path, clock, places, settings=Settings(prune_after=3_600.0)) as coordinator:
        for number in range(7):
            ended(coordinator, f"r{number}", group=f"g{number}", group_size=1)
        coordinator.deliver()
        clock.advance(3_601.0)
        commits = coordinator.store.counters.commits
        report = coordinator.recover()
        assert (report.pruned, report.pruned_summaries) == (7, 7)
        assert coordinator.store.counters.commits - commits == 6
        commits = coordinator.store.counters.commits
        assert coordinator.recover().pruned_summaries == 0
        assert coordinator.store.counters.commits == commits


def test_a_key_is_forgotten_with_its_run_and_then_a_repetition_is_new_work(
    path: Path, clock: ManualClock, places: Places
) -> None:
    """Documented at ``prune_after``: it is to be longer than anybody repeats a submission."""
    with opened(path, clock, places, settings=Settings(prune_after=3_600.0)) as coordinator:
        ended(coordinator, "r1", key="k1")
        coordinator.deliver()
        assert coordinator.submit(run_id="r1", key="k1", destination="chat").replayed
        clock.advance(3_601.0)
        coordinator.recover()
        assert not coordinator.submit(run_id="r1", key="k1", destination="chat").replayed
