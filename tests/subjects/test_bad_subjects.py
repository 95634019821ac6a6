"""What a subject does wrong is its fault, by its name, at the line of the step; and the run goes on."""

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

from pytest_runcoord.subjects import Answer, EventSeen, RunSeen, Snapshot
from pytest_runcoord.verdict import Verdict
from subjects.toy import Job, NotYours, ToySession, ToySubject
from subjects.trying import LIFE, LINES, fault_of, tried


class Oops(Exception):
    pass


class Cancelled(BaseException):
    """As some libraries end their work."""


def broken(verb: str, act: Callable[[], Any]) -> ToySubject:
    """The toy, one method of whose sessions does this instead."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return act()

    class Broken(ToySubject):
        session = type("BrokenSession", (ToySession,), {verb: method})
        capabilities = frozenset(ToySubject().capabilities)

    return Broken()


def bad_subject(part: str, act: Callable[[], Any]) -> ToySubject:
    """The toy, one part of whose subject does this instead."""

    def method(self: Any, *args: Any) -> Any:
        return act()

    value = property(method) if part in ("name", "capabilities", "version") else method
    made: ToySubject = type("Bad", (ToySubject,), {part: value})()
    return made


def raising(error: BaseException) -> Callable[[], Any]:
    def act() -> Any:
        raise error

    return act


def giving(value: Any) -> Callable[[], Any]:
    return lambda: value


# --- raising ---


@pytest.mark.parametrize("verb", list(LINES)[1:])
def test_a_verb_that_raises_what_is_no_refusal_is_named_with_its_line(verb: str) -> None:
    failure = fault_of(broken(verb, raising(Oops("broken"))), LINES[verb], verb)
    assert failure.problem == f"the subject toy: {verb} raised Oops: broken"
    assert "test_bad_subjects.py" in failure.seen
    assert failure.seen.endswith("in act")


@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit(), Cancelled("by itself")])
def test_what_an_ordinary_except_does_not_see_is_its_fault_too(error: BaseException) -> None:
    failure = fault_of(broken("claim", raising(error)), LINES["claim"], "claim")
    assert f"raised {type(error).__name__}" in failure.problem


def test_an_interrupt_of_the_user_is_not_taken_for_its_fault() -> None:
    with pytest.raises(KeyboardInterrupt):
        tried(LIFE, broken("claim", raising(KeyboardInterrupt())))
    assert tried(LIFE).verdict is Verdict.PASSED


def test_a_subject_that_skips_skips_the_test() -> None:
    with pytest.raises(pytest.skip.Exception):
        tried(LIFE, broken("claim", lambda: pytest.skip("not here")))
    assert tried(LIFE).verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("part", "line"), [("open", LINES["open"]), ("snapshot", LINES["open"]), ("finish", LINES["close"])]
)
def test_a_part_of_the_subject_itself_that_raises_is_named(part: str, line: int) -> None:
    failure = fault_of(bad_subject(part, raising(Oops("broken"))), line, part)
    assert failure.problem == f"the subject toy: {part} raised Oops: broken"


def test_a_refusal_that_raises_is_named_in_place_of_the_error_that_it_was_asked_about() -> None:
    class Bad(ToySubject):
        session = broken("claim", raising(NotYours("r1"))).session

        def refusal(self, error: BaseException) -> str | None:
            raise Oops("refusal")

    failure = fault_of(Bad(), LINES["claim"], "refusal")
    assert failure.problem == "the subject toy: refusal raised Oops: refusal"


@pytest.mark.parametrize("part", ["name", "capabilities", "version"])
def test_a_subject_that_cannot_say_what_it_is_fails_before_its_first_step(part: str) -> None:
    failure = fault_of(bad_subject(part, raising(Oops("broken"))), 1, part)
    assert failure.problem.endswith(f": {part} raised Oops: broken")


@pytest.mark.parametrize("part", ["timers", "counters"])
def test_what_the_world_asks_of_every_session_may_not_raise_either(part: str) -> None:
    body = "steps: [{open: w1}, {advance: 1s}]"
    failure = fault_of(broken(part, raising(Oops("broken"))), 4, part, body)
    assert failure.problem == f"the subject toy: {part} raised Oops: broken"


def test_abandoning_may_not_raise_when_a_crash_is_all_that_a_scenario_does() -> None:
    body = "steps:\n  - open: w1\n  - crash: w1\n"
    assert fault_of(broken("abandon", raising(Oops("broken"))), 6, "abandon", body).name == "abandon"


def test_abandoning_may_not_raise_when_the_scenario_ends_without_closing() -> None:
    body = "steps:\n  - open: w1\n  - submit: {run: r1}\nheal: none\n"
    assert fault_of(broken("abandon", raising(Oops("broken"))), 6, "abandon", body).name == "abandon"


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


# --- nonsense ---


@pytest.mark.parametrize(
    ("verb", "value", "says"),
    [
        ("claim", True, "gave True"),
        ("claim", None, "gave None"),
        ("submit", False, "gave False"),
        ("complete", False, "gave False"),
        ("claim", {"run": 5}, "gave run = 5"),
        ("claim", Answer({"run": "r1", "epoch": "1"}), "gave epoch = '1'"),
        ("claim", Job("r1", -1), "gave epoch = -1"),
        ("claim", Job("r1", True), "gave epoch = True"),
        ("submit", {1: "one"}, "gave a value named 1"),
        ("submit", {"when": object}, "gave when = <class 'object'>"),
        ("submit", Answer("r1"), "gave an Answer with 'r1'"),  # type: ignore[arg-type]
    ],
)
def test_a_verb_that_gives_nonsense_is_named_with_what_it_gave(verb: str, value: Any, says: str) -> None:
    failure = fault_of(broken(verb, giving(value)), LINES[verb], verb)
    assert failure.problem.startswith(f"the subject toy: {verb} {says}")
    assert failure.expected


class Unprintable:
    epoch = "none"

    def __repr__(self) -> str:
        raise Oops("repr")


def test_what_cannot_even_be_shown_is_named_by_its_type() -> None:
    failure = fault_of(broken("submit", giving({"when": Unprintable()})), LINES["submit"], "submit")
    assert "when = <Unprintable whose repr raises Oops>" in failure.problem


@pytest.mark.parametrize("value", [None, True, object()])
def test_what_is_opened_must_be_a_session(value: Any) -> None:
    failure = fault_of(bad_subject("open", giving(value)), LINES["open"], "open")
    assert "which has no close and no abandon and no timers and no counters" in failure.problem


@pytest.mark.parametrize(
    ("seen", "says"),
    [
        (None, "gave None"),
        (Snapshot([], {}), "has runs = []"),  # type: ignore[arg-type]
        (Snapshot({"r1": "waiting"}, {}), "has 'waiting' among its runs"),  # type: ignore[dict-item]
        (Snapshot({"r1": RunSeen("r2", "accepted")}, {}), "has the run 'r1' under the id 'r2'"),
        (Snapshot({"r1": RunSeen("r1", "waiting")}, {}), "has the run 'r1' with state = 'waiting'"),
        (Snapshot({"r1": RunSeen("r1", "accpted")}, {}), "has the run 'r1' with state = 'accpted'"),
        (Snapshot({"r1": RunSeen("r1", "finished")}, {}), "has the run 'r1' as finished with outcome None"),
        (Snapshot({"r1": RunSeen("r1", "finished", "done")}, {}), "has the run 'r1' with outcome = 'done'"),
        (
            Snapshot({"r1": RunSeen("r1", "claimed", epoch=None)}, {}),  # type: ignore[arg-type]
            "has the run 'r1' with epoch = None",
        ),
        (
            Snapshot({"r1": RunSeen("r1", "claimed", lease=90.0)}, {}),  # type: ignore[arg-type]
            "has the run 'r1' with lease = 90.0",
        ),
        (
            Snapshot({}, {"e1": EventSeen("e1", "r1", state="sent")}),
            "has the event 'e1' with state = 'sent'",
        ),
    ],
)
def test_a_snapshot_of_nonsense_is_named_with_what_is_wrong_in_it(seen: Any, says: str) -> None:
    failure = fault_of(bad_subject("snapshot", giving(seen)), LINES["open"], "snapshot")
    assert failure.problem == f"the subject toy: snapshot {says}"


def test_a_word_that_is_nearly_right_gets_the_right_one_as_a_remedy() -> None:
    seen = Snapshot({"r1": RunSeen("r1", "accpted")}, {})
    failure = fault_of(bad_subject("snapshot", giving(seen)), LINES["open"], "snapshot")
    assert failure.remedy == "did you mean 'accepted'?"


@pytest.mark.parametrize(
    ("code", "remedy"),
    [("lease_lost", "did you mean 'lease-lost'?"), (5, ""), (True, ""), ("any", "known: ")],
)
def test_a_refusal_without_a_name_that_scenarios_know_is_a_fault(code: Any, remedy: str) -> None:
    class Bad(ToySubject):
        session = broken("claim", raising(NotYours("r1"))).session
        refusals = {NotYours: code}  # noqa: RUF012

    failure = fault_of(Bad(), LINES["claim"], "refusal")
    assert (
        failure.problem == f"the subject toy: refusal gave {code!r} for NotYours('r1'), which is no refusal"
    )
    assert failure.remedy.startswith(remedy)


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ("runs", "is 'runs'"),
        (5, "is 5"),
        ({"runs", 5}, "is {"),
        ({"runz"}, "has 'runz', which is none"),
    ],
)
def test_capabilities_that_are_none_are_named(said: Any, says: str) -> None:
    failure = fault_of(bad_subject("capabilities", giving(said)), 1, "capabilities")
    assert f"capabilities {says}" in failure.problem


class Ticking:
    """A timer that does as it is told."""

    def __init__(self, due: Any, act: Callable[[], Any]) -> None:
        self.due, self.act = due, act

    def next_due(self) -> Any:
        return self.due

    def tick(self) -> Any:
        self.due = None
        return self.act()


@pytest.mark.parametrize(
    ("timers", "verb", "says"),
    [
        (None, "timers", "gave None"),
        ([Ticking(None, print)], "timers", "gave <subjects.test_bad_subjects.Ticking object"),
        ([("renew", object())], "timers", "gave 'renew' without next_due"),
        ([("renew", Ticking("soon", print))], "the timer 'renew'", "is due at 'soon'"),
        ([("renew", Ticking(float("nan"), print))], "the timer 'renew'", "is due at nan"),
        ([("renew", Ticking(0.0, raising(Oops("late"))))], "the timer 'renew'", "raised Oops: late"),
    ],
)
def test_a_timer_that_is_none_is_named(timers: Any, verb: str, says: str) -> None:
    failure = fault_of(broken("timers", giving(timers)), 4, verb, "steps: [{open: w1}, {advance: 1s}]")
    assert failure.problem.startswith(f"the subject toy: {verb} {says}")


class Rows:
    rows_written = "many"


def test_counters_that_count_nothing_are_named() -> None:
    failure = fault_of(broken("counters", Rows), LINES["open"], "counters")
    assert "gave rows_written = 'many'" in failure.problem


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
    subject.session.close = lambda self: release.set()
    assert tried(LIFE, subject).verdict is Verdict.PASSED


def test_a_process_that_outlives_its_scenario_is_named_and_ended(release: threading.Event) -> None:
    begun: list[subprocess.Popen[bytes]] = []

    def begin() -> None:
        begun.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]))

    try:
        failure = fault_of(broken("start", begin), LINES["close"], "leak")
        assert f"left the process {begun[0].pid} (" in failure.problem
        assert "time.sleep(60)" in failure.problem
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
