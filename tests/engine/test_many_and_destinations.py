"""Many rounds of the same steps, and destinations that take their time."""

from __future__ import annotations

import pytest

from engine.running import run
from pytest_runcoord.verdict import FailureKind, Verdict


def test_each_round_has_runs_of_its_own_and_later_rounds_find_them_again() -> None:
    result = run("""
        given: {destinations: {chat: accepts}}
        steps:
          - open: gw1
          - many: {count: 3, do: [submit: {run: crowd, destination: chat}, claim: crowd]}
          - expect: [{runs: {count: 3, state: claimed}}]
          - many: {count: 2, do: [start: crowd, complete: {run: crowd, result: done}]}
          - stop: {run: crowd, refused: unknown-run}
        expect:
          - runs: {count: 2, outcome: completed}
          - runs: {count: 1, state: claimed}
    """)
    assert result.verdict is Verdict.PASSED, result.failure
    assert result.exercised["result-kept"] >= 2


def test_a_round_that_fails_points_at_its_step_and_names_the_run_of_the_round() -> None:
    result = run("""
        steps:
          - open: gw1
          - submit: crowd.2
          - claim: crowd.2
          - start: crowd.2
          - many:
              count: 3
              do:
                - submit: crowd
                - claim: crowd
    """)
    assert result.failure is not None
    assert (result.failure.kind, result.failure.name, result.failure.line) == (FailureKind.STEP, "claim", 13)
    assert result.failure.step == "claim: {run: crowd.2}"


@pytest.mark.parametrize(
    ("inside", "problem"),
    [("recover", "names no run"), ("many: {count: 2, do: [submit: r1]}", "names no run")],
)
def test_a_round_only_holds_steps_about_a_run(inside: str, problem: str) -> None:
    result = run(f"""
        steps:
          - open: gw1
          - many: {{count: 2, do: [{inside}]}}
        expect:
          - runs: 0
    """)
    assert result.failure is not None
    assert (result.failure.name, result.failure.line) == ("scenario", 6)
    assert problem in result.failure.problem


def test_invariants_look_when_the_rounds_are_done() -> None:
    result = run("""
        given: {destinations: {chat: accepts}}
        steps:
          - open: gw1
          - many: {count: 2, do: [submit: {run: crowd, destination: chat}, stop: crowd]}
          - deliver
    """)
    assert result.exercised["delivered-to-someone"] == 2


def test_a_destination_that_takes_longer_than_its_caller_waits_accepts_when_nobody_listens() -> None:
    result = run("""
        given: {destinations: {chat: {takes: 1m}}}
        steps:
          - open: gw1
          - submit: {run: r1, destination: chat}
          - stop: r1
          - deliver
          - expect:
              - took: {least: 10s, most: 10s}
              - delivered: {run: r1, to: chat, offers: 1, copies: 0}
          - advance: 49s
          - expect: [{delivered: {run: r1, to: chat, copies: 0}}]
          - advance: 1s
          - expect: [{delivered: {run: r1, to: chat, copies: 1}}]
    """)
    assert result.verdict is Verdict.PASSED, result.failure


def test_the_behaviour_of_a_destination_may_be_for_one_run_and_for_a_number_of_times() -> None:
    result = run("""
        given: {destinations: {chat: {is: down, only: r1, times: 2}}}
        steps:
          - open: gw1
          - submit: {run: r1, destination: chat}
          - submit: {run: r2, destination: chat}
          - stop: r1
          - stop: r2
          - deliver
          - expect:
              - event: {run: r1, state: pending}
              - event: {run: r2, state: delivered}
          - advance: 1s
          - deliver
          - expect: [{event: {run: r1, state: pending, attempt: 2}}]
          - advance: 2s
          - deliver
        expect:
          - event: {run: r1, state: delivered, attempt: 3}
    """)
    assert result.verdict is Verdict.PASSED, result.failure


@pytest.mark.parametrize(
    ("behaviour", "status"), [("down", "failed"), ("raises", "failed"), ("refuses", "refused")]
)
def test_the_history_tells_a_destination_that_refuses_from_one_that_failed(
    behaviour: str, status: str
) -> None:
    result = run(f"""
        given: {{destinations: {{chat: {behaviour}}}}}
        steps:
          - open: gw1
          - submit: {{run: r1, destination: chat}}
          - stop: r1
          - deliver
        expect: [runs: 2]
    """)
    assert result.verdict is Verdict.FAILED
    assert [line.status for line in result.history if line.what == "send to chat"] == [status]
