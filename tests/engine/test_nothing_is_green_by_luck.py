"""Scenarios that used to pass although what they say does not hold, or was never tried."""

from __future__ import annotations

import pytest

from engine.running import refused, run
from pytest_runcoord.verdict import FailureKind, RunResult, Verdict

FINISHED = """
    given:
      destinations: {chat: accepts}
    steps:
      - open: gw1
      - submit: {run: r1, destination: chat}
      - execute: {run: r1, as: job}
      - finish: {with: job, outcome: failed, error: boom}
    expect:
      - EXPECTED
"""


def failure_of(result: RunResult, kind: FailureKind, name: str, line: int) -> None:
    assert result.verdict is Verdict.FAILED
    assert result.failure is not None
    assert (result.failure.kind, result.failure.name, result.failure.line) == (kind, name, line)


@pytest.mark.parametrize(
    ("expected", "seen"),
    [
        ("delivered: {run: r1, to: chat, has: {outcom: null}}", "no outcom, only "),
        ("event: {run: r1, has: {outcom: null}}", "no outcom, only "),
        ("answer: {of: submit, has: {outcom: null}}", "no outcom, only "),
        ("run: {id: r1, error: ''}", 'error "boom"'),
        ("delivered: {run: r1, to: chat, has: {error: ''}}", 'error "boom"'),
        ("delivered: {run: r1, to: chat, has: {late: 0}}", "late false"),
        ("delivered: {run: r1, to: chat, has: {elapsed: false}}", "elapsed 0.0"),
    ],
)
def test_what_is_not_there_is_nothing_that_holds(expected: str, seen: str) -> None:
    result = run(FINISHED.replace("EXPECTED", expected))
    failure_of(result, FailureKind.EXPECTATION, "expect", 12)
    assert result.failure is not None
    assert result.failure.seen.startswith(seen)


def test_a_value_that_is_null_is_still_expected_as_null() -> None:
    assert run(FINISHED.replace("EXPECTED", "answer: {of: submit, has: {outcome: null}}")).failure is None


def test_a_report_that_no_holder_makes_cannot_be_expected_to_be_missing() -> None:
    wrong = refused(FINISHED.replace("EXPECTED", "hold: {handle: job, never_reported: [lease-lots]}"))
    assert wrong.error.position.line == 12
    assert "lease-lost" in wrong.error.remedy


def test_a_fault_that_no_call_met_fails_at_its_step() -> None:
    result = run("""
        steps:
          - open: gw1
          - submit: r1
          - fault: {on: renew, is: hang}
          - claim: r1
    """)
    failure_of(result, FailureKind.MOMENT, "fault", 7)


def test_a_fault_that_some_call_met_is_enough_of_it() -> None:
    result = run("""
        steps:
          - open: gw1
          - fault: {on: claim, is: full, times: 9}
          - submit: r1
          - claim: {run: r1, refused: store-full}
    """)
    assert result.failure is None


@pytest.mark.parametrize("zone", ["Mars/Olympus", "Asia/Tokio", "../../etc/passwd", "Nonsense9"])
def test_a_time_zone_that_this_machine_does_not_know_is_not_taken_for_utc(zone: str) -> None:
    result = run(f"""
        steps:
          - open: gw1
          - tz: {zone}
    """)
    failure_of(result, FailureKind.STEP, "scenario", 6)
    assert result.failure is not None
    assert repr(zone) in result.failure.problem


@pytest.mark.parametrize("harm", ["lose_row: r1", "damage: {run: r1}"])
def test_harm_to_a_run_that_the_store_does_not_have_is_a_mistake(harm: str) -> None:
    result = run(f"""
        steps:
          - open: gw1
          - submit: {{run: r1, crash_at: before-commit}}
          - {harm}
    """)
    failure_of(result, FailureKind.STEP, "scenario", 7)
