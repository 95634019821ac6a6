"""Without a fault the boundary is not there: what is behind it is judged as if it stood bare."""

from __future__ import annotations

import pytest

from bite.scenarios_tried import shipped
from engine.running import compiled
from pytest_runcoord.bite import Asked, Boundary, BoundaryFault, FaultySubject, StandIn
from pytest_runcoord.bite.choosing import Candidate
from pytest_runcoord.bite.trying import Trials
from pytest_runcoord.reference import Reference
from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import variants
from pytest_runcoord.subject import Answer, Snapshot, Subject
from pytest_runcoord.verdict import Verdict
from subjects.toy import ToySession, ToySubject
from subjects.trying import LIFE, tried

SAMPLE = 40


def sample() -> list[Candidate]:
    every = shipped()
    return list(every[:: len(every) // SAMPLE][:SAMPLE])


def nothing(boundary: type[Boundary] = Boundary) -> BoundaryFault:
    """A fault that is none."""
    return BoundaryFault("none", "Nothing.", frozenset(), lambda subject: FaultySubject(subject, boundary()))


class Looks(Boundary):
    """Looks at everything, and changes nothing of it."""

    def call(self, asked: Asked) -> Answer:
        self.look(asked.session)
        return asked.go()

    def snapshot(self, seen: Snapshot) -> Snapshot:
        return Snapshot(dict(seen.runs), dict(seen.events), seen.rows_written, seen.bad, seen.refused)


@pytest.mark.parametrize("candidate", sample(), ids=[each.name.rpartition("/")[2] for each in sample()])
@pytest.mark.parametrize("boundary", [Boundary, Looks])
def test_a_boundary_that_changes_nothing_changes_no_verdict_and_hides_nothing(
    candidate: Candidate, boundary: type[Boundary]
) -> None:
    trials = Trials([candidate], lambda: None, Reference.capabilities, "runcoord")
    bare = run_variant(candidate.scenario, candidate.variant)
    behind, met = trials.with_fault(candidate, nothing(boundary))
    assert (behind.verdict, behind.failure) == (bare.verdict, bare.failure)
    assert behind.exercised == bare.exercised
    assert met == 0


def test_the_sample_is_as_large_as_it_says() -> None:
    assert len(sample()) == SAMPLE


def test_a_subject_of_somebody_else_passes_behind_it() -> None:
    wrapped: list[Subject] = []

    def around(subject: Subject) -> Subject:
        wrapped.append(FaultySubject(subject, Boundary()))
        return wrapped[0]

    scenario = compiled(LIFE)
    [variant] = variants(scenario)
    result = run_variant(scenario, variant, subject=ToySubject(), around=around)
    assert result.verdict is Verdict.PASSED, result.failure
    assert wrapped[0].name == "toy"
    assert result.exercised == tried(LIFE).exercised


STOPPED_MEANWHILE = LIFE.replace("- start", "- pause: w1\n      - resume: w1\n      - start")


def test_a_subject_of_somebody_else_that_stands_still_is_told_and_asked_no_verb() -> None:
    told: list[str] = []

    class Standing(ToySession):
        def pause(self) -> None:
            told.append("pause")

        def resume(self) -> None:
            told.append("resume")

    class StandingSubject(ToySubject):
        session = Standing

    scenario = compiled(STOPPED_MEANWHILE)
    [variant] = variants(scenario)
    around = FaultySubject
    result = run_variant(
        scenario, variant, subject=StandingSubject(), around=lambda subject: around(subject, Looks())
    )
    assert result.verdict is Verdict.PASSED, result.failure
    assert told == ["pause", "resume"]


def test_a_verb_with_a_handle_that_was_never_given_succeeds_and_asks_nobody() -> None:
    def never(*given: object, **args: object) -> Answer:
        raise AssertionError("the subject was asked")

    asked = Asked(None, "complete", {}, StandIn("r1", 3), never)  # type: ignore[arg-type]
    assert asked.go().values == {"run": "r1", "epoch": 3}
