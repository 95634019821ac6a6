"""A coordinator that knows nothing of the harness is driven through a small subject."""

from __future__ import annotations

from engine.running import compiled
from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import variants
from pytest_runcoord.verdict import FailureKind, RunResult, Verdict
from subjects.toy import ToySubject

LIFE = """
    steps:
      - open: w1
      - submit: {run: r1}
      - claim: {run: r1, as: job}
      - start: {with: job}
      - complete: {with: job, result: done}
      - claim: {run: r1, refused: lease-held}
    expect:
      - run: {id: r1, outcome: completed, result: done}
"""


def tried(body: str, subject: object | None = None) -> RunResult:
    scenario = compiled(body)
    return run_variant(scenario, variants(scenario)[0], subject=subject or ToySubject())  # type: ignore[arg-type]


def test_a_lease_is_any_object_and_comes_back_to_the_verbs_that_need_it() -> None:
    result = tried(LIFE)
    assert result.verdict is Verdict.PASSED, result.failure


def test_an_expired_lease_is_taken_over_and_the_older_owner_refused() -> None:
    result = tried("""
        steps:
          - open: w1
          - open: w2
          - submit: {run: r1, by: w1}
          - claim: {run: r1, by: w1, as: old}
          - claim: {run: r1, by: w2, refused: lease-held}
          - advance: 91s
          - claim: {run: r1, by: w2, as: new}
          - complete: {with: old, refused: lease-lost}
          - complete: {with: new}
    """)
    assert result.verdict is Verdict.PASSED, result.failure


class Silent(ToySubject):
    """Has no name for its refusals."""

    refusals = {}  # noqa: RUF012


def test_what_it_raises_and_does_not_name_as_a_refusal_is_its_fault_by_name() -> None:
    result = tried(
        """
        steps:
          - open: w1
          - submit: {run: r1}
          - claim: {run: r1}
          - claim: {run: r1}
    """,
        Silent(),
    )
    assert result.failure is not None
    assert (result.failure.kind, result.failure.name) == (FailureKind.SUBJECT, "claim"), result.failure
    assert result.failure.problem == "the subject toy: claim raised Taken: r1"


def test_a_payload_that_a_subject_does_not_take_is_left_out_and_the_history_says_so() -> None:
    body = """
        steps:
          - open: w1
          - submit: {run: r1, payload: {n: 7}}
          - submit: {run: r2}
          - claim: {run: r1, refused: lease-held}
        heal: none
    """
    result = tried(body, ToySubject())
    submits = [line.detail for line in result.history if line.what == "submit"]
    assert ["not_taken=payload" in each for each in submits] == [True, False]
