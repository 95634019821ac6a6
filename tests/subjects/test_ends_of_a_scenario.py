"""However a scenario with a subject ends, nothing of it is in force in the next one."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import pytest

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
