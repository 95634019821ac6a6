"""Subjects whose verbs are coroutines, and whose tasks go on as scenarios let time pass."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from typing import Any

import pytest

from pytest_runcoord.subjects import SessionBase, Snapshot
from pytest_runcoord.verdict import Failure, FailureKind, Verdict
from subjects import async_toy
from subjects.async_toy import AsyncToy, AsyncToySession, AsyncToySubject, with_toy
from subjects.trying import LIFE, tried

HELD = """
steps:
  - open: w1
  - open: w2
  - submit: {run: r1, by: w1}
  - claim: {run: r1, by: w1, as: mine}
"""


def test_coroutines_are_driven_as_verbs_and_their_refusals_are_refusals() -> None:
    result = tried(LIFE, AsyncToySubject())
    assert result.verdict is Verdict.PASSED, result.failure


def test_a_heartbeat_of_its_own_keeps_a_lease_as_the_scenario_advances() -> None:
    result = tried(
        HELD
        + """
  - advance: 300s
  - claim: {run: r1, by: w2, refused: lease-held}
  - complete: {with: mine}
""",
        AsyncToySubject(),
    )
    assert result.verdict is Verdict.PASSED, result.failure


@pytest.mark.parametrize(
    "steps",
    [
        ["crash: w1", "advance: 91s"],
        ["pause: w1", "advance: 91s"],
        ["stall: {what: loop, by: w1, for: 91s}"],
    ],
)
def test_the_heart_of_an_owner_that_stands_still_does_not_beat(
    monkeypatch: pytest.MonkeyPatch, steps: list[str]
) -> None:
    monkeypatch.setattr(async_toy, "AWAY_SECONDS", 0)  # or its heartbeat would be back before w2 is
    result = tried(
        HELD
        + "".join(f"  - {step}\n" for step in steps)
        + """
  - claim: {run: r1, by: w2, as: theirs}
  - complete: {with: theirs}
""",
        AsyncToySubject(),
    )
    assert result.verdict is Verdict.PASSED, result.failure


def test_an_owner_that_was_paused_goes_on_where_it_was() -> None:
    result = tried(
        HELD
        + """
  - pause: w1
  - advance: 60s
  - resume: w1
  - advance: 80s
  - claim: {run: r1, by: w2, refused: lease-held}
  - complete: {with: mine}
""",
        AsyncToySubject(),
    )
    assert result.verdict is Verdict.PASSED, result.failure


def test_a_restarted_owner_has_a_heartbeat_anew_and_only_one() -> None:
    beats: list[tuple[str, float]] = []

    class Counted(AsyncToy):
        async def renew(self) -> None:
            beats.append((self.worker, self.now()))

    result = tried(
        """
steps:
  - open: w1
  - advance: 70s
  - restart: w1
  - advance: 70s
""",
        with_toy(Counted),
    )
    assert result.verdict is Verdict.PASSED, result.failure
    began = beats[0][1] - 30
    assert [(who, at - began) for who, at in beats] == [
        ("w1#1", 30),
        ("w1#1", 60),
        ("w1#2", 100),
        ("w1#2", 130),
    ]


def test_timers_of_several_owners_interleave_in_the_order_of_their_times() -> None:
    beats: list[tuple[str, int]] = []

    class Counted(AsyncToy):
        async def _beat(self) -> None:
            while True:
                await asyncio.sleep(20 if self.worker == "w1#1" else 30)
                beats.append((self.worker[:2], round(self.now()) % 100_000))

    result = tried("steps: [{open: w1}, {open: w2}, {advance: 90s}]", with_toy(Counted))
    assert result.verdict is Verdict.PASSED, result.failure
    began = beats[0][1] - 20
    in_turn = [("w1", 20), ("w2", 30), ("w1", 40), ("w1", 60), ("w2", 60), ("w1", 80), ("w2", 90)]
    assert sorted((at, who) for who, at in in_turn) == [(at - began, who) for who, at in beats[:7]]


def test_a_verb_that_waits_lets_timers_of_others_fire() -> None:
    class Slow(AsyncToy):
        async def done(self, job: Any, result: str) -> None:
            await asyncio.sleep(200)
            await super().done(job, result)

    result = tried(HELD + "  - complete: {with: mine}\n", with_toy(Slow))
    assert result.verdict is Verdict.PASSED, result.failure


def test_what_its_own_heartbeat_writes_is_not_the_doing_of_a_refused_verb(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(async_toy, "HEARTBEAT_SECONDS", 0.001)
    result = tried(
        """
steps:
  - open: w1
  - submit: {run: r1}
  - claim: {run: r1}
  - claim: {run: r1, refused: lease-held}
""",
        AsyncToySubject(),
    )
    assert result.verdict is Verdict.PASSED, result.failure


# --- faults ---


def fault_of(body: str, subject: AsyncToySubject) -> Failure:
    """What a bad subject ends its scenario with. The scenario after it, on a good one, passes."""
    failure = tried(body, subject).failure
    assert failure is not None
    assert failure.kind is FailureKind.SUBJECT, failure
    after = tried(LIFE, AsyncToySubject())
    assert after.verdict is Verdict.PASSED, after.failure
    return failure


def test_a_heartbeat_that_fails_is_a_fault_by_name_at_the_step_under_way() -> None:
    class Fails(AsyncToy):
        async def renew(self) -> None:
            raise OSError("the wire is cut")

    failure = fault_of(HELD + "  - advance: 29s\n  - advance: 5s\n", with_toy(Fails))
    told = (
        "the subject async toy: the timer 'loop' saw the task 'heartbeat' end with OSError: the wire is cut"
    )
    assert failure.problem.startswith(f"{told} (at async_toy.py:")
    assert failure.step == "advance: {for: 5.0}"


def test_a_verb_that_waits_for_what_never_comes_is_a_fault_by_its_name() -> None:
    class Deadlocked(AsyncToy):
        async def take(self, job: str) -> Any:
            await self.lock.acquire()
            return await super().take(job)

    failure = fault_of(HELD, with_toy(Deadlocked))
    assert failure.name == "claim"
    assert "claim waits for what never comes" in failure.problem
    assert "async_toy.py" in failure.problem


def test_a_loop_without_a_pause_is_a_fault_by_its_name() -> None:
    class Spins(AsyncToy):
        async def _beat(self) -> None:
            while True:
                await asyncio.sleep(0)

    failure = fault_of("steps: [{open: w1}]", with_toy(Spins))
    assert "goes round without time passing, in the task 'heartbeat'" in failure.problem


def test_a_task_that_outlives_close_is_a_fault_by_its_name() -> None:
    class Leaks(AsyncToy):
        async def stop(self) -> None:
            self.toy.db.close()

    failure = fault_of("steps: [{open: w1}, {close: w1}]", with_toy(Leaks))
    assert failure.name == "close"
    assert "close left a task running: 'heartbeat' (async_toy.py" in failure.problem


def test_an_owner_that_is_left_open_is_closed_by_the_harness_and_held_to_it() -> None:
    class Leaks(AsyncToy):
        async def stop(self) -> None:
            self.toy.db.close()

    assert "close left a task running" in fault_of("steps: [{open: w1}]", with_toy(Leaks)).problem


def test_a_start_up_that_fails_is_a_fault_of_it() -> None:
    class Fails(AsyncToy):
        async def start(self) -> None:
            raise OSError("no such table")

    failure = fault_of("steps: [{open: w1}]", with_toy(Fails))
    assert "start_up raised OSError: no such table" in failure.problem


def test_a_verb_that_ends_the_process_is_a_fault_and_the_run_goes_on() -> None:
    class Exits(AsyncToy):
        async def put(self, job: str) -> None:
            sys.exit(3)

    assert "submit raised SystemExit: 3" in fault_of(HELD, with_toy(Exits)).problem
    assert tried(LIFE, AsyncToySubject()).verdict is Verdict.PASSED


def test_a_task_that_ends_the_process_is_a_fault_too() -> None:
    class Exits(AsyncToy):
        async def renew(self) -> None:
            sys.exit(3)

    failure = fault_of(HELD + "  - advance: 30s\n", with_toy(Exits))
    assert "the timer 'loop' raised SystemExit: 3" in failure.problem


def test_a_verb_that_hangs_for_real_in_a_coroutine_is_ended() -> None:
    class Hangs(AsyncToy):
        async def put(self, job: str) -> None:
            threading.Event().wait()

    subject = with_toy(Hangs)
    subject.verb_seconds = 0.2  # type: ignore[attr-defined]
    assert "submit did not return within 0.2 s of real time" in fault_of(HELD, subject).problem


def test_asking_an_owner_in_the_middle_of_its_own_step_is_a_mistake_of_the_scenario() -> None:
    class Announces(AsyncToySession):
        async def submit(self, run: str) -> None:
            self.world.probe.reach("after-commit")

    class Subject(AsyncToySubject):
        session = Announces
        promises = ("moments",)
        moments = ("after-commit",)

    result = tried(
        """
steps:
  - open: w1
  - during:
      step: {submit: {run: r1, by: w1}}
      at: after-commit
      do: [{submit: {run: r2, by: w1}}]
""",
        Subject(),
    )
    assert result.failure is not None
    assert "in the middle of a step" in result.failure.problem, result.failure


# --- crashes ---


def test_nothing_of_a_dead_owner_writes_anything_before_the_verdict() -> None:
    wrote: list[str] = []

    class CleansUp(AsyncToy):
        async def _beat(self) -> None:
            try:
                await super()._beat()
            except asyncio.CancelledError:
                wrote.append("cancelled")
                raise
            finally:
                wrote.append("finally")
                self.toy.db.execute("UPDATE jobs SET state = 'done', result = 'by the dead'")
                self.toy.db.close()

        def __del__(self) -> None:
            wrote.append("__del__")

    class Subject(AsyncToySubject):
        session = type("Session", (AsyncToySession,), {"toy_class": CleansUp, "abandon": SessionBase.abandon})

        def snapshot(self, world: Any) -> Snapshot:
            gc.collect()
            assert wrote == [], wrote
            return super().snapshot(world)

    result = tried(
        """
steps:
  - open: w1
  - submit: {run: r1}
  - claim: {run: r1}
  - crash: w1
  - advance: 300s
  - open: w2
  - claim: {run: r1, by: w2}
  - crash: w2
""",
        Subject(),
    )
    assert result.verdict is Verdict.PASSED, result.failure
    gc.collect()
    assert sorted(wrote) == ["__del__", "__del__", "finally", "finally"]


def test_clean_up_of_the_dead_that_hangs_is_bounded() -> None:
    class Hangs(AsyncToy):
        async def _beat(self) -> None:
            try:
                await super()._beat()
            finally:
                threading.Event().wait()

    subject = with_toy(Hangs)
    subject.verb_seconds = 0.2  # type: ignore[attr-defined]
    failure = fault_of("steps: [{open: w1}, {crash: w1}]", subject)
    assert "did not return within 0.2 s of real time" in failure.problem


def test_a_crash_at_a_moment_of_a_port_is_the_end_of_its_coroutines() -> None:
    wrote: list[str] = []

    class Announces(AsyncToySession):
        async def complete(self, lease: Any, result: str = "") -> None:
            asyncio.create_task(self.later())  # noqa: RUF006
            self.world.probe.reach("after-commit")
            wrote.append("went on")

        async def later(self) -> None:
            wrote.append("later")

    class Subject(AsyncToySubject):
        session = Announces
        promises = ("moments",)
        moments = ("after-commit",)

    result = tried(HELD + "  - complete: {with: mine, crash_at: after-commit}\n", Subject())
    assert result.verdict is Verdict.PASSED, result.failure
    assert wrote == []
