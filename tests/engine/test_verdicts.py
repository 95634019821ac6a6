"""What a scenario's verdict is, and where its failure points."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from engine.running import refused, run, run_all
from pytest_runcoord import runner, timekeeper
from pytest_runcoord.verdict import FailureKind, RunResult, Verdict


def failure_of(result: RunResult, kind: FailureKind, name: str, line: int) -> None:
    assert result.verdict is Verdict.FAILED
    assert result.failure is not None
    assert (result.failure.kind, result.failure.name, result.failure.line) == (kind, name, line)


def test_a_step_that_is_refused_unexpectedly_fails_at_its_line_and_says_how_to_expect_it() -> None:
    result = run("""
        steps:
          - open: gw1
          - submit: r1
          - claim: {run: r1, as: first}
          - open: gw2
          - claim: {run: r1, by: gw2}
    """)
    failure_of(result, FailureKind.STEP, "claim", 9)
    assert result.failure is not None
    assert result.failure.remedy == "If that is right, say so: refused: lease-held"
    assert "held by 'gw1#1' for another 90.0 s" in result.failure.seen


def test_a_step_that_is_accepted_though_it_must_be_refused_fails() -> None:
    result = run("""
        steps:
          - open: gw1
          - submit: {run: r1, refused: key-conflict}
    """)
    failure_of(result, FailureKind.EXPECTATION, "refused", 6)


def test_a_step_that_is_refused_for_another_reason_fails() -> None:
    result = run("""
        steps:
          - open: gw1
          - submit: r1
          - claim: r1
          - complete: {run: r1, refused: lease-lost}
    """)
    failure_of(result, FailureKind.EXPECTATION, "refused", 8)
    assert result.failure is not None
    assert result.failure.seen.startswith("not-started")


def test_an_expectation_that_does_not_hold_shows_expected_and_seen() -> None:
    result = run("""
        steps:
          - open: gw1
          - submit: r1
        expect:
          - run: {id: r1, state: running, epoch: 3}
    """)
    failure_of(result, FailureKind.EXPECTATION, "expect", 8)
    assert result.failure is not None
    assert result.failure.expected == 'state "running", epoch 3'
    assert result.failure.seen == 'state "accepted", epoch 0'


def test_a_moment_that_is_never_reached_fails_the_step_that_waits_for_it() -> None:
    result = run("""
        steps:
          - open: gw1
          - submit: {run: r1, crash_at: after-claim}
    """)
    failure_of(result, FailureKind.MOMENT, "after-claim", 6)


def test_a_failing_step_inside_during_points_at_its_own_line() -> None:
    result = run("""
        steps:
          - open: gw1
          - during:
              step: {submit: {run: r1, by: gw1}}
              at: before-accept
              do:
                - claim: {run: r1, by: gw1, refused: lease-held}
    """)
    failure_of(result, FailureKind.EXPECTATION, "refused", 10)


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        (["open: gw1", "open: gw1"], "gw1 is open already"),
        (["open: gw1", "crash: gw1", "submit: {run: r1, by: gw1}"], "gw1 is crashed"),
        (["open: gw1", "open: gw2", "submit: r1"], "say 'by': 2 owners are open (gw1, gw2)"),
        (["open: gw1", "submit: r1", "start: r1"], "gw1 has no lease on r1"),
        (
            ["open: gw1", "submit: r1", "claim: {run: r1, as: h}", "restart: gw1", "renew: {with: h}"],
            "earlier start",
        ),
        (["open: gw1", "submit: r1", "claim: {run: r1, as: h}", "effect: {with: h}"], "'h' is a lease"),
        (["open: gw1", "pause: gw1", "submit: {run: r1, by: gw1}"], "gw1 is paused"),
        (["open: gw1", "resume: gw1"], "gw1 is alive, not paused"),
        (["lock: 1s"], "open an owner first"),
        (["open: gw1", "submit: r1", "damage: {run: r1, column: colour}"], "runs have no column 'colour'"),
    ],
)
def test_a_step_that_makes_no_sense_in_the_world_fails_with_a_sentence(
    steps: list[str], problem: str
) -> None:
    result = run("steps:\n" + "\n".join(f"  - {step}" for step in steps))
    assert result.verdict is Verdict.FAILED
    assert result.failure is not None
    assert (result.failure.kind, result.failure.line) == (FailureKind.STEP, 4 + len(steps))
    assert problem in result.failure.problem


@pytest.mark.parametrize(
    ("steps", "remedy"),
    [
        (["open: gw1", "open: gw2", "submit: r1"], "Add 'by: gw1', or whoever does this step."),
        (["open: gw1", "pause: gw1", "submit: {run: r1, by: gw1}"], "Write 'resume: gw1' above this step."),
        (["open: gw1", "crash: gw1", "submit: {run: r1, by: gw1}"], "Write 'open: gw1' above this step"),
        (["open: gw1", "submit: r1", "execute: {run: r1, as: h}", "publish: {with: h}"], "by 'claim'"),
        (["open: gw1", "submit: r1", "claim: {run: r1, as: h}", "effect: {with: h}"], "by 'execute'"),
    ],
)
def test_a_step_that_makes_no_sense_in_the_world_has_a_remedy_of_its_own(
    steps: list[str], remedy: str
) -> None:
    result = run("steps:\n" + "\n".join(f"  - {step}" for step in steps))
    assert result.failure is not None
    assert remedy in result.failure.remedy


def test_an_unknown_run_or_owner_is_refused_before_anything_runs() -> None:
    wrong = refused("""
        steps:
          - open: gw1
          - submit: r1
          - claim: {run: r2, by: gw1}
    """)
    assert (wrong.error.position.line, wrong.error.position.column) == (7, 18)
    assert "r2" in wrong.error.problem
    assert "r1" in wrong.error.remedy
    wrong = refused("""
        steps:
          - open: gw1
          - submit: {run: r1, by: gw11}
    """)
    assert wrong.error.position.line == 6
    assert "gw1" in wrong.error.remedy


def test_contradictory_expectations_are_refused_and_both_lines_are_named() -> None:
    wrong = refused("""
        steps:
          - open: gw1
          - submit: r1
        expect:
          - run: {id: r1, outcome: completed}
          - run: {id: r1, outcome: failed}
    """)
    assert wrong.error.position.line == 9
    assert "line 8" in wrong.error.problem


def test_a_scenario_whose_timers_never_get_done_ends_at_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    from runcoord._heartbeat import Heartbeat

    monkeypatch.setattr(Heartbeat, "tick", lambda self: None)
    result = run("""
        steps:
          - open: gw1
          - submit: r1
          - execute: {run: r1, as: job}
          - advance: 31s
    """)
    failure_of(result, FailureKind.BOUND, "bound", 8)
    assert result.failure is not None
    assert "for ever" in result.failure.problem


def test_a_scenario_that_advances_for_ever_ends_at_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timekeeper, "MAX_TICKS", 2_000)  # as many as there are take ten seconds
    result = run("""
        steps:
          - open: gw1
          - submit: r1
          - execute: {run: r1, as: job}
          - advance: 3000d
    """)
    failure_of(result, FailureKind.BOUND, "bound", 8)


def test_a_call_that_never_returns_is_a_failure_and_not_a_wait() -> None:
    result = run("""
        steps:
          - open: gw1
          - fault: {on: accept, is: hang}
          - submit: r1
    """)
    failure_of(result, FailureKind.BOUND, "never-returns", 7)


def test_a_subject_that_raises_nonsense_is_at_fault_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from runcoord import Coordinator

    def broken(self: Coordinator, run_id: str, **_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(Coordinator, "claim", broken)
    result = run("""
        steps:
          - open: gw1
          - submit: r1
          - claim: r1
    """)
    failure_of(result, FailureKind.SUBJECT, "claim", 7)
    assert result.failure is not None
    assert "ZeroDivisionError: oops" in result.failure.problem


def test_a_missing_capability_is_a_skip_that_names_it() -> None:
    from engine.running import compiled
    from pytest_runcoord.reference import Reference
    from pytest_runcoord.runner import run_variant
    from pytest_runcoord.scenario import variants

    class Small(Reference):
        name = "small"
        capabilities = frozenset({"runs", "ports"})

    scenario = compiled("steps: [{open: gw1}, {submit: r1}, {stop: r1}, {recover: {by: gw1}}]")
    result = run_variant(scenario, variants(scenario)[0], subject=Small())
    assert result.verdict is Verdict.SKIPPED
    assert result.missing == ("recovery", "stop")
    assert result.skipped == "small lacks recovery, stop"
    assert result.exercised == {}


def test_a_variant_that_makes_no_sense_is_skipped_with_its_reason() -> None:
    results = run_all("""
        steps: [{open: gw1}, {submit: r1}]
        axes: {store: [memory], tier: [real]}
    """)
    assert [result.verdict for result in results] == [Verdict.SKIPPED]
    assert results[0].skipped == "the real tier runs the reference on its default store"


def test_the_history_of_a_failure_has_every_clock() -> None:
    result = run("""
        steps:
          - open: gw1
          - submit: r1
          - suspend: 2h
          - step: -1h
          - stop: {run: r1, refused: lease-held}
    """)
    assert result.failure is not None
    [last] = [line for line in result.history if line.what == "stop"]
    assert (last.status, last.step) == ("ok", 9)
    assert (last.at.wall, last.at.monotonic, last.at.boottime) == (3600.0, 0.0, 7200.0)


def test_nothing_is_left_behind_after_a_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_scratch", lambda: tmp_path)
    before = (threading.active_count(), os.environ.get("TZ"))
    result = run("""
        steps:
          - open: gw1
          - tz: Asia/Tokyo
          - submit: r1
          - crash: gw1
    """)
    assert result.verdict is Verdict.PASSED
    assert result.moments["after-accept"] == 1
    assert (threading.active_count(), os.environ.get("TZ")) == before
    assert list(tmp_path.iterdir()) == []
