"""A method or an argument that is nearly one of a verb is a fault: what is missing is skipped in silence."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_runcoord.subject import Session
from pytest_runcoord.subjects import SessionBase, SubjectWorld
from pytest_runcoord.subjects.misspelt import slip_of
from pytest_runcoord.verdict import Verdict
from subjects.toy import Job, ToySession, ToySubject
from subjects.trying import LIFE, fault_of, tried


def method(self: Any, *args: Any, **fields: Any) -> None: ...


def having(*names: str) -> type[SessionBase]:
    """A session that has nothing but these methods."""
    return type("Written", (SessionBase,), dict.fromkeys(names, method))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("claimnext", "claim_next"),
        ("submitt", "submit"),
        ("relase", "release"),
        ("compelte", "complete"),
        ("ClaimNext", "claim_next"),
        ("abandone", "abandon"),
        ("submot", "submit"),
    ],
)
def test_a_method_that_is_nearly_a_verb_is_named_with_the_verb(written: str, meant: str) -> None:
    wrong = slip_of(having(written))
    assert wrong is not None
    assert wrong.problem == f"has the method {written!r}, which is no verb"
    assert wrong.remedy.startswith(f"did you mean {meant!r}?")


@pytest.mark.parametrize(
    "written", ["claims", "completed", "released", "router", "clone", "state", "put", "_claimnext", "stat"]
)
def test_a_method_of_its_own_is_not_taken_for_a_verb(written: str) -> None:
    assert slip_of(having(written)) is None


def test_a_method_beside_the_verb_that_it_is_nearly_is_one_of_its_own() -> None:
    assert slip_of(having("submit", "submitt")) is None


def test_what_a_project_inherits_from_another_class_of_its_own_is_looked_at_too() -> None:
    class Between(having("claimnext")):  # type: ignore[misc]
        pass

    assert slip_of(Between) is not None


class MisspeltSession(ToySession):
    def complete(self, lease: Job, reslt: str = "") -> None:
        self.toy.done(lease, reslt)


class Misspelt(ToySubject):
    session = MisspeltSession


def test_an_argument_that_is_nearly_one_of_its_verb_is_a_fault_before_the_first_step() -> None:
    failure = fault_of(Misspelt(), 1, "session")
    assert failure.problem == (
        "the subject toy: session has complete with the argument 'reslt', which is none of it"
    )
    assert failure.remedy == "did you mean 'result'?"


def test_the_name_of_the_lease_and_arguments_of_its_own_are_free() -> None:
    class Free(ToySession):
        def complete(self, leas: Job, result: str = "", resultant: str = "", again: bool = False) -> None:
            self.toy.done(leas, result)

    assert slip_of(Free) is None
    assert tried(LIFE, type("Other", (ToySubject,), {"session": Free})()).verdict is Verdict.PASSED


def test_a_scenario_that_would_be_skipped_for_what_is_misspelt_fails() -> None:
    class Nextless(ToySubject):
        session = type("Nextless", (ToySession,), {"claimnext": method})

    body = "steps:\n  - open: w1\n  - submit: {run: r1}\n  - claim_next: {by: w1, as: job}\n"
    assert tried(body, ToySubject()).verdict is Verdict.SKIPPED
    failure = fault_of(Nextless(), 1, "session", body)
    assert "'claimnext'" in failure.problem


def test_a_session_that_a_subject_opens_otherwise_is_looked_at_when_it_is_opened() -> None:
    class Opening(ToySubject):
        capabilities = ToySubject().capabilities

        def open(self, owner: str, world: SubjectWorld) -> Session:
            opened: Session = MisspeltSession(owner, world)
            return opened

    failure = fault_of(Opening(), 5, "session")
    assert "'reslt'" in failure.problem
