"""A subject that reads the time itself reads the world's, while a call into it is under way and only then."""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Callable
from datetime import datetime as imported_datetime
from time import sleep as imported_sleep
from time import time as imported_time
from typing import Any

import pytest

from engine.running import compiled
from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import variants
from pytest_runcoord.subjects import Answer
from pytest_runcoord.verdict import Verdict
from pytest_runcoord.world import World
from subjects.toy import ToySession, ToySubject
from subjects.trying import LIFE, tried

REAL_SECONDS = 5.0
"""More than any of these tests takes."""


def reading(read: Callable[[], Any], seen: list[Any]) -> ToySubject:
    """The toy, whose ``start`` reads the time."""

    class Session(ToySession):
        def start(self, lease: Any) -> Answer:
            seen.append((read(), self.world.clock.wall(), self.world.clock.monotonic()))
            return Answer()

    class Reading(ToySubject):
        session = Session
        patches_time = True

    return Reading()


TWICE = """
    steps:
      - open: w1
      - submit: {run: r1}
      - claim: {run: r1}
      - start: {run: r1}
      - advance: 30s
      - step: 1h
      - start: {run: r1}
"""


@pytest.mark.parametrize(
    ("read", "wall"),
    [
        (lambda: time.time(), True),
        (lambda: imported_time(), True),
        (lambda: time.time_ns() / 1e9, True),
        (lambda: datetime.datetime.now(datetime.UTC).timestamp(), True),
        (lambda: imported_datetime.now().timestamp(), True),  # noqa: DTZ005  which is what many do
        (lambda: imported_datetime.now(datetime.UTC).timestamp(), True),
        (lambda: time.clock_gettime(time.CLOCK_REALTIME), True),
        (lambda: time.clock_gettime_ns(time.CLOCK_REALTIME) / 1e9, True),
        (lambda: time.monotonic(), False),
        (lambda: time.monotonic_ns() / 1e9, False),
        (lambda: time.clock_gettime(time.CLOCK_MONOTONIC), False),
    ],
)
def test_every_way_to_read_the_time_reads_the_clock_of_the_world(
    read: Callable[[], float], wall: bool
) -> None:
    seen: list[Any] = []
    result = tried(TWICE, reading(read, seen))
    assert result.verdict is Verdict.PASSED, result.failure
    walls = [each[1] for each in seen]
    assert walls[1] - walls[0] == pytest.approx(3630.0)
    monotonics = [each[2] for each in seen]
    assert monotonics[1] - monotonics[0] == pytest.approx(30.0)
    assert [each[0] for each in seen] == pytest.approx(walls if wall else monotonics, abs=1e-3)


@pytest.mark.parametrize("wait", [lambda: time.sleep(20.0), lambda: imported_sleep(20.0)])
def test_a_sleep_lets_the_time_of_the_world_pass_and_nobody_waits(wait: Callable[[], None]) -> None:
    seen: list[Any] = []

    def read() -> float:
        before = time.monotonic()
        wait()
        return time.monotonic() - before

    began = time.monotonic()
    result = tried(LIFE, reading(read, seen))
    assert result.verdict is Verdict.PASSED, result.failure
    assert seen[0][0] == pytest.approx(20.0)
    assert time.monotonic() - began < REAL_SECONDS


@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_a_sleep_of_less_than_nothing_is_refused_as_the_real_one_does(seconds: float) -> None:
    result = tried(LIFE, reading(lambda: time.sleep(seconds), []))
    assert result.failure is not None
    assert result.failure.problem == (
        "the subject toy: start raised ValueError: sleep length must be non-negative"
    )


def test_everything_is_as_before_when_the_scenario_is_over_also_after_a_failure() -> None:
    before = (time.time, time.monotonic, time.sleep, time.clock_gettime, datetime.datetime, imported_sleep)

    def fails() -> None:
        raise RuntimeError

    assert tried(LIFE, reading(fails, [])).verdict is Verdict.FAILED
    assert tried(LIFE, reading(lambda: time.time(), [])).verdict is Verdict.PASSED
    after = (time.time, time.monotonic, time.sleep, time.clock_gettime, datetime.datetime, imported_sleep)
    assert after == before
    assert imported_datetime is datetime.datetime


def test_between_the_calls_the_time_is_the_real_one() -> None:
    seen: list[float] = []

    def attach(world: World) -> None:
        world.observers.append(lambda: seen.append(time.time()))

    scenario = compiled(LIFE)
    real = time.time()
    subject = reading(lambda: time.time(), [])
    result = run_variant(scenario, variants(scenario)[0], subject=subject, attach=attach)
    assert result.verdict is Verdict.PASSED, result.failure
    assert seen
    assert all(abs(each - real) < REAL_SECONDS for each in seen)


def test_another_thread_sees_real_time_and_sleeps_for_real() -> None:
    seen: list[Any] = []

    def read() -> float:
        found: list[float] = []
        thread = threading.Thread(target=lambda: found.append(time.time()))
        thread.start()
        thread.join()
        return found[0]

    real = time.time()
    result = tried(LIFE, reading(read, seen))
    assert result.verdict is Verdict.PASSED, result.failure
    assert abs(seen[0][0] - real) < REAL_SECONDS


def test_local_time_is_that_of_the_zone_of_the_scenario() -> None:
    seen: list[Any] = []
    body = LIFE + "    axes: {tz: [Asia/Tokyo]}\n"
    result = tried(body, reading(lambda: imported_datetime.now().hour, seen))  # noqa: DTZ005
    assert result.verdict is Verdict.PASSED, result.failure
    expected = datetime.datetime.fromtimestamp(seen[0][1], datetime.timezone(datetime.timedelta(hours=9)))
    assert seen[0][0] == expected.hour


def test_a_scenario_in_another_thread_than_the_first_sees_the_time_of_its_world_too() -> None:
    seen: list[Any] = []
    thread = threading.Thread(target=lambda: tried(LIFE, reading(lambda: time.time(), seen)))
    thread.start()
    thread.join()
    [(read, wall, _)] = seen
    assert read == pytest.approx(wall, abs=1e-3)
