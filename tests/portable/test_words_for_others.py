"""Words and skips that coordinators of others are judged with."""

from __future__ import annotations

import pytest

from engine.running import compiled
from portable.humble import Humble
from portable.queues import Queue
from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import variants
from pytest_runcoord.subject import Subject
from pytest_runcoord.verdict import FailureKind, RunResult, Verdict


def tried(body: str, subject: Subject | None = None) -> RunResult:
    scenario = compiled(body)
    return run_variant(scenario, variants(scenario)[0], subject=subject)


HELD = """
steps:
  - open: gw1
  - open: gw2
  - submit: {run: r1, by: gw1}
  - claim: {run: r1, by: gw1}
  - claim: {run: RUN, by: gw2, HOW}
"""


def held(how: str, run: str = "r1") -> RunResult:
    return tried(HELD.replace("HOW", how).replace("RUN", run))


def test_any_refusal_will_do_where_any_is_said_and_being_accepted_will_not() -> None:
    assert held("refused: any").verdict is Verdict.PASSED
    accepted = tried("steps: [{open: gw1}, {submit: {run: r1, refused: any}}]")
    assert accepted.failure is not None
    assert (accepted.failure.name, accepted.failure.expected) == ("refused", "refused, whatever the name")


def test_a_step_that_may_be_refused_passes_either_way_and_another_fault_is_still_one() -> None:
    assert held("may_refuse: true").verdict is Verdict.PASSED
    assert tried("steps: [{open: gw1}, {submit: {run: r1, may_refuse: true}}]").verdict is Verdict.PASSED
    assert held("may_refuse: false").verdict is Verdict.FAILED


WORK = """
steps:
  - open: gw1
  - many: {count: 3, do: [submit: {run: job, by: gw1}]}
  - work_off: {by: gw1, most: 2}
  - expect:
      - answer: {of: work_off, has: {runs: [job.1, job.2]}}
      - runs: {count: 1, state: accepted}
  - work_off: gw1
expect:
  - answer: {of: work_off, has: {runs: [job.3]}}
  - runs: {count: 3, outcome: completed}
""".replace("work_off: gw1\n", "work_off: {by: gw1}\n")


@pytest.mark.parametrize(
    "subject", [None, Queue(), Humble("runs", "claim-next")], ids=["reference", "queue", "humble"]
)
def test_work_is_claimed_begun_and_completed_until_nothing_is_left(subject: Subject | None) -> None:
    result = tried(WORK, subject)
    assert result.verdict is Verdict.PASSED, result.failure


def test_a_queue_that_gives_out_the_same_for_ever_comes_to_an_end() -> None:
    class Endless(Queue):
        name = "endless"

        def __init__(self) -> None:
            super().__init__()
            self.session.complete = lambda self, lease, outcome: self.db.execute(
                "UPDATE jobs SET state = 'waiting'"
            )

    result = tried("steps: [{open: gw1}, {submit: r1}, {work_off: {by: gw1}}]", Endless())
    assert result.verdict is Verdict.FAILED
    assert result.failure is not None
    assert result.failure.kind is FailureKind.BOUND
    assert "gw1 was given more than 1000 runs" in result.failure.problem


@pytest.mark.parametrize(
    ("step", "missing"),
    [("crash_at: before-claim", ()), ("crash_at: after-claim", ("the moment after-claim",))],
)
def test_a_moment_that_a_subject_does_not_announce_is_missing_by_its_name(
    step: str, missing: tuple[str, ...]
) -> None:
    class Announcing(Humble):
        moments = frozenset({"before-claim"})

    body = f"steps: [{{open: gw1}}, {{submit: r1}}, {{claim: {{run: r1, by: gw1, {step}}}}}]"
    result = tried(body, Announcing("runs", "moments"))
    assert result.missing == missing
    assert result.verdict is (Verdict.SKIPPED if missing else Verdict.PASSED), result.failure


def test_what_waits_in_an_outbox_is_delivered_in_healing_where_a_sweep_does_not() -> None:
    body = """
        given: {destinations: {chat: accepts}}
        steps:
          - open: gw1
          - submit: {run: r1, destination: chat}
          - claim: r1
          - start: r1
          - complete: r1
    """
    able = ("runs", "claim-next", "outbox", "recovery", "interruption")
    result = tried(body, Humble(*able))
    assert result.verdict is Verdict.PASSED, result.failure
    assert result.exercised["converges"]
