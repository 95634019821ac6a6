"""What a subject does wrong is its fault, by its name, at the line of the step; and the run goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_runcoord.subjects import (
    Answer,
    EventSeen,
    RunSeen,
    SessionBase,
    Snapshot,
    SubjectBase,
    SubjectWorld,
)
from pytest_runcoord.verdict import Verdict
from subjects.toy import Job, NotYours, ToySession, ToySubject
from subjects.trying import (
    LIFE,
    LINES,
    Cancelled,
    Oops,
    bad_subject,
    broken,
    fault_of,
    giving,
    raising,
    tried,
)

# --- raising ---


@pytest.mark.parametrize("verb", list(LINES)[1:])
def test_a_verb_that_raises_what_is_no_refusal_is_named_with_its_line(verb: str) -> None:
    failure = fault_of(broken(verb, raising(Oops("broken"))), LINES[verb], verb)
    assert failure.problem == f"the subject toy: {verb} raised Oops: broken"
    assert "trying.py" in failure.seen
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


def test_a_verb_that_takes_something_else_is_named_with_what_it_takes() -> None:
    def claim(self: Any, job: str) -> None: ...

    class Bad(ToySubject):
        session = type("Bad", (ToySession,), {"claim": claim})

    failure = fault_of(Bad(), LINES["claim"], "claim")
    assert failure.problem == (
        "the subject toy: claim takes (job: 'str') -> 'None', which does not fit: "
        "missing a required argument: 'job'"
    )
    assert "parameters of these names" in failure.remedy


def test_a_type_error_inside_of_a_verb_is_what_it_raised() -> None:
    def claim(self: Any, run: str) -> Any:
        return len(5)  # type: ignore[arg-type]

    class Bad(ToySubject):
        session = type("Bad", (ToySession,), {"claim": claim})

    failure = fault_of(Bad(), LINES["claim"], "claim")
    assert "claim raised TypeError: object of type 'int' has no len()" in failure.problem


def test_a_verb_with_a_yield_is_named_since_nothing_of_it_has_run() -> None:
    def submit(self: Any, run: str) -> Iterator[None]:
        yield

    class Bad(ToySubject):
        session = type("Bad", (ToySession,), {"submit": submit})

    failure = fault_of(Bad(), LINES["submit"], "submit")
    assert failure.problem == "the subject toy: submit gave a generator, of which nothing has run"


@pytest.mark.parametrize("part", ["timers", "counters"])
def test_a_coroutine_that_is_no_verb_is_named(part: str) -> None:
    async def method(self: Any) -> None: ...

    class Bad(ToySubject):
        session = type("Bad", (ToySession,), {part: method})

    failure = fault_of(Bad(), 4, part, "steps: [{open: w1}, {advance: 1s}]")
    assert failure.problem == f"the subject toy: {part} gave a coroutine"


def test_a_table_that_changes_after_it_was_shown_hides_nothing() -> None:
    class Live(SessionBase):
        def submit(self, run: str) -> None:
            rows = self.world.shared.setdefault("rows", {})
            rows[run] = RunSeen(run, "finished", "completed")

        def claim(self, run: str) -> str:
            self.world.shared["rows"][run] = RunSeen(run, "finished", "failed")
            return run

        def complete(self, lease: str) -> None: ...

    class Subject(SubjectBase):
        name = "live"
        session = Live

        def snapshot(self, world: SubjectWorld) -> Snapshot:
            return Snapshot(world.shared.setdefault("rows", {}), {})

    result = tried("steps: [{open: w1}, {submit: {run: r1}}, {claim: {run: r1}}]", Subject())
    assert result.failure is not None
    assert result.failure.name == "one-outcome"


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
