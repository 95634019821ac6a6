"""An error that has no name among the refusals yet is told with what to do about it."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_runcoord.subjects import send
from pytest_runcoord.verdict import Failure, Verdict
from subjects.test_deliveries import Outbox, OutboxSubject
from subjects.toy import ToySubject
from subjects.trying import LINES, Oops, broken, fault_of, raising, tried


class NotMine(Exception):
    """A refusal that somebody forgot to name."""


@pytest.mark.parametrize(
    ("verb", "code"), [("submit", "key-conflict"), ("claim", "lease-held"), ("complete", "lease-lost")]
)
def test_an_exception_that_is_missing_in_refusals_is_told_with_the_line_that_names_it(
    verb: str, code: str
) -> None:
    failure = fault_of(broken(verb, raising(NotMine("r1"))), LINES[verb], verb)
    assert failure.problem == f"the subject toy: {verb} raised NotMine: r1"
    assert failure.remedy == (
        f"If this means no, name it in the refusals of the subject: refusals = {{NotMine: '{code}'}}, "
        "or whichever refusal it is."
    )


def test_the_line_that_the_remedy_gives_is_a_remedy() -> None:
    class Named(ToySubject):
        session = broken("complete", raising(NotMine("r1"))).session
        refusals = {**ToySubject.refusals, NotMine: "lease-lost"}  # noqa: RUF012

    body = """
    steps:
      - open: w1
      - submit: {run: r1}
      - claim: {run: r1, as: job}
      - complete: {with: job, refused: lease-lost}
    heal: none
    """
    assert tried(body, Named()).verdict is Verdict.PASSED


@pytest.mark.parametrize("error", [TypeError("of a bug"), AttributeError("of a bug"), SystemExit(3)])
def test_an_error_of_a_program_is_not_said_to_be_a_refusal(error: BaseException) -> None:
    failure = fault_of(broken("claim", raising(error)), LINES["claim"], "claim")
    assert failure.remedy == ""


def test_what_is_no_verb_has_no_refusals() -> None:
    failure = fault_of(broken("close", raising(Oops("broken"))), LINES["close"], "close")
    assert failure.remedy == ""


class Careless(Outbox):
    """It does not look at how a destination takes an event."""

    def deliver(self) -> dict[str, Any]:
        for run, event in self.events.items():
            send(self.world, event.destination, event=event.event_id, run=run, body=event.body)
        return {}


class Broken(Outbox):
    def deliver(self) -> dict[str, Any]:
        raise ConnectionError("the socket of its own")


def delivered(session: type[Outbox], behaviour: str) -> Failure:
    body = f"""
        given: {{destinations: {{chat: {behaviour}}}}}
        steps:
          - open: w1
          - submit: {{run: r1, destination: chat}}
          - claim: {{run: r1, as: job}}
          - complete: {{with: job}}
          - deliver
        """

    class Subject(OutboxSubject):
        pass

    Subject.session = session
    failure = tried(body, Subject()).failure
    assert failure is not None
    return failure


@pytest.mark.parametrize("behaviour", ["down", "raises"])
def test_an_error_of_a_destination_is_told_as_not_now(behaviour: str) -> None:
    failure = delivered(Careless, behaviour)
    assert "deliver raised" in failure.problem
    assert failure.remedy == (
        "The destination of the scenario raised this: one that is down or fails means 'not now'. Catch it, "
        "keep the event, and try again later."
    )


def test_an_error_of_its_own_in_a_delivery_is_not_taken_for_that_of_a_destination() -> None:
    failure = delivered(Broken, "accepts")
    assert "deliver raised ConnectionError: the socket of its own" in failure.problem
    assert failure.remedy == ""
