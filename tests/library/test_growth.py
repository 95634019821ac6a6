"""Work grows with what is asked, not with what is stored: statements, rows and commits, counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path

import pytest

from runcoord import Coordinator, Settings
from runcoord.testing import ManualClock

from .default_store import Places, many_done, many_running, many_waiting, opened

FEW, MANY = 10, 10_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


class Work:
    """What the store of one coordinator did for one call after the other."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._counters = coordinator.store.counters
        self.of: dict[str, tuple[int, ...]] = {}

    def count(self, name: str, call: Callable[[], object]) -> object:
        before = astuple(self._counters)
        answer = call()
        self.of[name] = tuple(after - was for after, was in zip(astuple(self._counters), before, strict=True))
        return answer


def life_of(coordinator: Coordinator) -> dict[str, tuple[int, ...]]:
    """Statements, rows and commits of every verb, in the order of a run's life."""
    work = Work(coordinator)
    work.count("submit", lambda: coordinator.submit({"n": 1}, run_id="r1", key="k1", destination="chat"))
    work.count(
        "submit again", lambda: coordinator.submit({"n": 1}, run_id="r1", key="k1", destination="chat")
    )
    lease = coordinator.claim("r1")
    work.count("release", lambda: coordinator.release(lease))
    held = work.count("claim next", coordinator.claim_next)
    work.count("start", lambda: coordinator.start(held))  # type: ignore[arg-type]
    work.count("renew", lambda: coordinator.renew(held))  # type: ignore[arg-type]
    work.count("progress", lambda: coordinator.progress(held, "half"))  # type: ignore[arg-type]
    work.count("publish", lambda: coordinator.publish(held, {}))  # type: ignore[arg-type]
    again = work.count("reacquire", lambda: coordinator.reacquire(held))  # type: ignore[arg-type]
    work.count("complete", lambda: coordinator.complete(again.lease, "failed"))  # type: ignore[attr-defined]
    work.count("deliver", coordinator.deliver)
    work.count("retry", lambda: coordinator.retry("r1"))
    work.count("stop", lambda: coordinator.stop(coordinator.run("r1").retried_as))
    work.count("run", lambda: coordinator.run("r1"))
    work.count("runs", lambda: coordinator.runs(limit=5))
    work.count("events", lambda: coordinator.events(limit=5))
    work.count("sweep", coordinator.recover)
    return work.of


def test_every_verb_costs_the_same_beside_ten_and_beside_ten_thousand_finished_runs(
    tmp_path: Path, clock: ManualClock
) -> None:
    seen = {}
    for count in (FEW, MANY):
        places = Places(clock, "chat")
        with opened(tmp_path / f"{count}.db", clock, places) as coordinator:
            many_done(coordinator, count)
            seen[count] = life_of(coordinator)
    assert seen[FEW] == seen[MANY]
    assert {name: seen[FEW][name][2] for name in ONE_COMMIT} == dict.fromkeys(ONE_COMMIT, 1)
    reading = ["submit again", "run", "runs", "events"]
    assert {name: seen[FEW][name][1:] for name in reading} == dict.fromkeys(reading, (0, 0))


ONE_COMMIT = [
    "submit",
    "release",
    "claim next",
    "start",
    "renew",
    "progress",
    "publish",
    "reacquire",
    "complete",
    "retry",
    "stop",
]


def test_an_idle_sweep_writes_nothing_and_costs_the_same_over_ten_and_over_ten_thousand_live_runs(
    tmp_path: Path, clock: ManualClock
) -> None:
    seen = {}
    for count in (FEW, MANY):
        places = Places(clock, "chat")
        settings = Settings(operator="ops", prune_after=1e9)
        with opened(tmp_path / f"{count}.db", clock, places, settings=settings) as coordinator:
            many_running(coordinator, clock, count, seconds=3_000.0)
            work = Work(coordinator)
            work.count("sweep", coordinator.recover)
            seen[count] = work.of["sweep"]
    assert seen[FEW] == seen[MANY]
    _, rows, commits = seen[MANY]
    assert (rows, commits) == (0, 0)


@pytest.mark.parametrize("expired", [10, 400])
def test_recovering_some_of_many_writes_in_proportion_to_some(
    tmp_path: Path, clock: ManualClock, expired: int
) -> None:
    with opened(tmp_path / "runs.db", clock) as coordinator:
        many_running(coordinator, clock, 5_000, seconds=3_000.0)
        many_running(coordinator, clock, expired, seconds=0.0, name="lost")
        work = Work(coordinator)
        report = work.count("sweep", coordinator.recover)
        assert report.interrupted == expired  # type: ignore[attr-defined]
        _, rows, commits = work.of["sweep"]
        # The run and its event each; and a commit for a batch of them.
        assert rows == 2 * expired
        assert commits == -(-expired // 256)


def test_a_thousand_waiting_events_are_delivered_by_one_sweep(tmp_path: Path, clock: ManualClock) -> None:
    places = Places(clock, "chat")
    with opened(tmp_path / "runs.db", clock, places) as coordinator:
        many_waiting(coordinator, clock, 1_000)
        report = coordinator.recover()
        assert (report.drain.delivered, report.drain.unfinished) == (1_000, False)


def test_a_life_is_exactly_five_durable_commits_by_hand_and_through_the_executor(
    tmp_path: Path, clock: ManualClock
) -> None:
    """Submit, claim, start, complete with the event and its first attempt, acknowledge."""
    places = Places(clock, "chat")
    with opened(tmp_path / "runs.db", clock, places) as coordinator:
        counters = coordinator.store.counters
        assert counters.commits == 0
        coordinator.submit(run_id="r1", destination="chat")
        lease = coordinator.claim("r1")
        coordinator.start(lease)
        made = coordinator.complete(lease, "completed").delivery
        assert made is not None
        coordinator.acknowledge(made)
        assert counters.commits == 5
        coordinator.submit(run_id="r2", destination="chat")
        coordinator.execute("r2", lambda execution: "done")
        assert counters.commits == 10
        assert places.ids() == ["r2/finished"]
        coordinator.recover()
        assert counters.commits == 10
