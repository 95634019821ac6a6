"""However a scenario with a subject ends, nothing of it is in force in the next one."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from engine.running import compiled
from pytest_runcoord.incarnation import Life
from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import variants
from pytest_runcoord.verdict import Verdict
from pytest_runcoord.world import World
from subjects.toy import ToySession, ToySubject
from subjects.trying import LINES, broken, fault_of, raising, tried


@pytest.mark.parametrize(
    ("end", "raised"),
    [
        (lambda: pytest.skip("not here"), pytest.skip.Exception),
        (lambda: pytest.fail("never"), pytest.fail.Exception),
        (raising(KeyboardInterrupt()), KeyboardInterrupt),
    ],
)
def test_what_ends_the_ending_of_a_scenario_leaves_no_patched_time(
    end: Callable[[], None], raised: type[BaseException]
) -> None:
    class Session(ToySession):
        def abandon(self) -> None:
            end()

    class Subject(ToySubject):
        session = Session
        patches_time = True

    before = time.time, time.sleep, time.clock_gettime
    with pytest.raises(raised):
        tried("steps: [{open: w1}, {submit: {run: r1}}]\nheal: none\n", Subject())
    assert (time.time, time.sleep, time.clock_gettime) == before


def test_a_loop_that_catches_its_end_again_and_again_is_ended_where_it_handles_it() -> None:
    traced = sys.gettrace()
    tries = 0

    def stubborn() -> None:
        nonlocal tries
        while tries < 10:
            try:
                time.sleep(60)
            except BaseException:  # noqa: BLE001  as it says
                tries += 1

    subject = broken("claim", stubborn)
    subject.verb_seconds = 0.1
    failure = fault_of(subject, LINES["claim"], "claim")
    assert failure.problem == "the subject toy: claim did not return within 0.1 s of real time"
    assert tries < 10
    assert sys.gettrace() is traced


def catches(then: Callable[[], str]) -> ToySubject:
    """The toy, whose worker goes on when it dies right after its claim is stored."""

    class Session(ToySession):
        def claim(self, run: str, lease: float = 90.0) -> Any:
            job = super().claim(run, lease)
            try:
                self.world.probe.reach("after-commit")
            except BaseException:  # noqa: BLE001  as it says
                return then()
            return job

    class Subject(ToySubject):
        session = Session
        promises = (*ToySubject.promises, "moments")
        moments = ("after-commit",)

    return Subject()


@pytest.mark.parametrize(
    "then", [lambda: "no job, and nobody hears of it", raising(OSError("lost")), raising(SystemExit(1))]
)
def test_a_worker_that_catches_its_own_death_says_nothing_of_it(then: Callable[[], str]) -> None:
    scenario = compiled(
        """
        steps:
          - open: w1
          - submit: {run: r1}
          - claim: {run: r1, by: w1, crash_at: after-commit}
          - open: w2
          - claim: {run: r1, by: w2, refused: lease-held}
        heal: none
        """
    )
    [variant] = variants(scenario)
    worlds: list[World] = []
    result = run_variant(scenario, variant, subject=catches(then), attach=worlds.append)
    assert result.verdict is Verdict.PASSED, result.failure
    [first, second] = [each for each in worlds[0].history.entries if each.what == "claim"]
    assert (first.status, second.status) == ("crashed", "refused")
    assert "run" not in first.data


@pytest.mark.parametrize("then", [lambda: "", raising(OSError("lost")), raising(SystemExit(1))])
def test_a_timer_that_catches_the_death_of_its_worker_says_nothing_of_it(then: Callable[[], str]) -> None:
    beats: list[str] = []

    class Beat:
        def __init__(self, session: ToySession) -> None:
            self.session = session

        def next_due(self) -> float:
            return self.session.world.clock.boottime() + 10.0

        def tick(self) -> None:
            try:
                self.session.world.probe.reach("after-commit")
            except BaseException:  # noqa: BLE001  as it says
                beats.append("caught")
                then()

    class Session(ToySession):
        def timers(self) -> list[tuple[str, Any]]:
            return [("beat", Beat(self))]

    class Subject(ToySubject):
        session = Session
        promises = (*ToySubject.promises, "moments", "announces-writes")
        moments = ("after-commit",)

    body = """
        steps:
          - open: w1
          - during:
              step: {advance: 11s}
              at: after-commit
              do: [{crash: w1}]
          - open: w2
        heal: none
        """
    result = tried(body, Subject())
    assert result.verdict is Verdict.PASSED, result.failure
    assert beats == ["caught"]


@pytest.mark.parametrize("then", [lambda: "", raising(OSError("lost")), raising(SystemExit(1))])
def test_a_worker_that_catches_its_death_while_it_closes_has_crashed(then: Callable[[], str]) -> None:
    class Session(ToySession):
        def close(self) -> None:
            try:
                self.world.probe.reach("after-commit")
            except BaseException:  # noqa: BLE001  as it says
                then()
            super().close()

    class Subject(ToySubject):
        session = Session
        promises = (*ToySubject.promises, "moments")
        moments = ("after-commit",)

    scenario = compiled(
        """
        steps:
          - open: w1
          - during:
              step: {close: w1}
              at: after-commit
              do: [{crash: w1}]
        heal: none
        """
    )
    [variant] = variants(scenario)
    worlds: list[World] = []
    result = run_variant(scenario, variant, subject=Subject(), attach=worlds.append)
    assert result.verdict is Verdict.PASSED, result.failure
    [worker] = worlds[0].incarnations
    assert worker.life is Life.CRASHED
    [closing] = [each for each in worlds[0].history.entries if each.what == "close"]
    assert closing.status == "crashed"


class Wrapped(Exception):
    """What some libraries make of whatever ends them."""


@pytest.mark.parametrize("answers", [True, False])
def test_a_verb_that_makes_something_else_of_its_end_has_hung(answers: bool) -> None:
    def claim() -> None:
        try:
            time.sleep(60)
        except BaseException as error:
            if not answers:
                raise Wrapped from error

    subject = broken("claim", claim)
    subject.verb_seconds = 0.1
    assert "did not return within 0.1 s" in fault_of(subject, LINES["claim"], "claim").problem
