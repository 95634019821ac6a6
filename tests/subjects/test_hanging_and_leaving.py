"""A subject that does not return, or leaves something behind, costs its own scenario only."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_runcoord.subjects import Timer
from pytest_runcoord.verdict import Verdict
from subjects.toy import ToySession, ToySubject
from subjects.trying import LIFE, LINES, Oops, bad_subject, broken, fault_of, tried

# --- hanging ---


def impatient(subject: ToySubject, seconds: float = 0.2) -> ToySubject:
    """With less patience than thirty seconds."""
    subject.verb_seconds = seconds
    return subject


def test_a_verb_that_hangs_is_ended_and_named() -> None:
    forever = threading.Event()
    failure = fault_of(impatient(broken("claim", forever.wait)), LINES["claim"], "claim")
    assert failure.problem == "the subject toy: claim did not return within 0.2 s of real time"
    assert "verb_seconds" in failure.remedy


def test_a_loop_that_catches_everything_is_ended_too() -> None:
    ends: list[BaseException] = []

    def stubborn() -> None:
        while len(ends) < 2:
            try:
                threading.Event().wait()
            except BaseException as error:  # noqa: BLE001  as it says
                ends.append(error)

    failure = fault_of(impatient(broken("complete", stubborn)), LINES["complete"], "complete")
    assert failure.problem == "the subject toy: complete did not return within 0.2 s of real time"
    assert len(ends) == 2


@pytest.mark.parametrize(("part", "line"), [("open", 5), ("snapshot", 5), ("finish", 10)])
def test_a_part_of_the_subject_itself_that_hangs_is_named(part: str, line: int) -> None:
    failure = fault_of(impatient(bad_subject(part, threading.Event().wait)), line, part)
    assert failure.problem == f"the subject toy: {part} did not return within 0.2 s of real time"


class Stuck:
    """A timer that never comes back."""

    def next_due(self) -> float:
        return 0.0

    def tick(self) -> None:
        threading.Event().wait()


def test_a_timer_that_hangs_is_named_at_the_step_in_which_time_passes() -> None:
    subject = impatient(broken("timers", lambda: [("poll", STUCK)]))
    failure = fault_of(subject, 6, "the timer 'poll'", "steps:\n  - open: w1\n  - advance: 1s\n")
    assert failure.problem == "the subject toy: the timer 'poll' did not return within 0.2 s of real time"


STUCK = Stuck()


def test_a_call_that_hangs_while_another_one_waits_is_the_one_that_is_named() -> None:
    """The bound of the outer call would end later, and is not the one that was used up."""

    class Waiting(ToySession):
        def start(self, lease: Any) -> None:
            self.world.sleeper.sleep(5.0)

        def timers(self) -> list[tuple[str, Timer]]:
            return [("poll", STUCK)] if self.owner.startswith("w2") else []

    class Subject(ToySubject):
        session = Waiting

    body = """
        steps:
          - open: w1
          - submit: {run: r1}
          - claim: {run: r1}
          - open: w2
          - start: {run: r1, by: w1}
        """
    failure = fault_of(impatient(Subject()), 9, "the timer 'poll'", body)
    assert "the timer 'poll' did not return" in failure.problem


def test_an_alarm_of_somebody_else_rings_in_the_middle_of_a_call_and_afterwards() -> None:
    rung: list[float] = []

    def ring(*_: object) -> None:
        rung.append(time.monotonic())

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        assert (
            tried(LIFE, broken("start", lambda: wait_for(lambda: len(rung) >= 2))).verdict is Verdict.PASSED
        )
        seen = len(rung)
        wait_for(lambda: len(rung) > seen)
        assert signal.getsignal(signal.SIGALRM) is ring
        assert signal.getitimer(signal.ITIMER_REAL)[1] == pytest.approx(0.05)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_an_alarm_of_somebody_else_that_raises_is_not_the_fault_of_the_subject() -> None:
    def ring(*_: object) -> None:
        pytest.fail("the test took too long")

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(pytest.fail.Exception, match="took too long"):
            tried(LIFE, broken("submit", threading.Event().wait))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_no_alarm_is_left_when_nobody_had_one() -> None:
    before = signal.getsignal(signal.SIGALRM)
    assert tried(LIFE).verdict is Verdict.PASSED
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def wait_for(condition: Callable[[], bool]) -> None:
    """Until it is so; a signal of the process ends the waiting for it. Five seconds at most."""
    end = time.monotonic() + 5.0
    while not condition():
        assert time.monotonic() < end
        threading.Event().wait(0.01)


# --- leaving something behind ---


@pytest.fixture
def release() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def test_a_thread_that_outlives_its_scenario_is_named(release: threading.Event) -> None:
    def begin() -> None:
        threading.Thread(target=release.wait, name="poller").start()

    failure = fault_of(broken("start", begin), LINES["close"], "leak")
    assert failure.problem == "the subject toy: left the thread 'poller' running"


def test_a_thread_that_ends_with_its_session_is_nobody_s_business(release: threading.Event) -> None:
    def begin() -> None:
        threading.Thread(target=release.wait, name="poller").start()

    subject = broken("start", begin)
    close = subject.session.close
    subject.session.close = lambda self: (release.set(), close(self))
    assert tried(LIFE, subject).verdict is Verdict.PASSED


def test_a_process_that_outlives_its_scenario_is_named_and_ended(release: threading.Event) -> None:
    begun: list[subprocess.Popen[bytes]] = []

    def begin() -> None:
        begun.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]))

    try:
        failure = fault_of(broken("start", begin), LINES["close"], "leak")
        assert f"left the process {begun[0].pid} (" in failure.problem
        assert " -c import" in failure.problem  # long lines are cut
        assert not Path(f"/proc/{begun[0].pid}").exists()
    finally:
        for each in begun:
            each.kill()
            each.wait()


def test_a_process_that_was_there_before_is_left_alone() -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as other:
        try:
            assert tried(LIFE).verdict is Verdict.PASSED
            assert other.poll() is None
        finally:
            other.kill()


def test_what_is_left_behind_does_not_hide_what_failed_before(release: threading.Event) -> None:
    def begin() -> None:
        threading.Thread(target=release.wait, name="poller").start()
        raise Oops("broken")

    assert "raised Oops" in fault_of(broken("start", begin), LINES["start"], "start").problem
