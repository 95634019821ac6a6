"""Whatever a program does wrong is its own fault, at the line of the step, and the next scenario runs."""

from __future__ import annotations

import os
import select
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_runcoord.subjects import conversation, lines, program_errors
from pytest_runcoord.subjects.program import ProgramSubject
from pytest_runcoord.verdict import Verdict
from subjects.programs import CLAIM, CLOSE, COMPLETE, OPEN, children, failure, program, run

pytestmark = pytest.mark.real


def test_a_program_that_keeps_to_the_protocol_passes(tmp_path: Path) -> None:
    result = run(program(tmp_path))
    assert (result.verdict, result.failure) == (Verdict.PASSED, None)


DEATHS = {
    "before its hello": (
        "def hello(): sys.exit('no store')",
        OPEN,
        "ended by itself",
        "exit status 1",
        "no store",
    ),
    "in a verb": ("def on_claim(request): sys.exit(7)", CLAIM, "ended by itself", "exit status 7", ""),
    "by a signal": (
        "def on_claim(request): os.kill(os.getpid(), signal.SIGSEGV)",
        CLAIM,
        "ended by itself",
        "SIGSEGV",
        "",
    ),
    "with a stack trace": (
        "def on_claim(request): 1 / 0",
        CLAIM,
        "ended by itself",
        "exit status 1",
        "ZeroDivision",
    ),
    "between two verbs": (
        """
        def on_submit(request):
            write("r1", "accepted")
            answer(request)
            sys.exit(3)
        """,
        CLAIM,
        "ended by itself",
        "exit status 3",
        "",
    ),
    "in the middle of a line": (
        """
        def on_claim(request):
            raw(b'{"id": 3, "o')
            sys.exit(0)
        """,
        CLAIM,
        "ended by itself in the middle of a line",
        "exit status 0",
        'it wrote \'{"id": 3, "o\'',
    ),
    "when it closes": ("def on_close(request): sys.exit(4)", CLOSE, "ended by itself", "exit status 4", ""),
    "after it closed": (
        "def over(): sys.exit(5)",
        CLOSE,
        "answered 'close', and then failed",
        "exit status 5",
        "",
    ),
}


@pytest.mark.parametrize(("otherwise", "line", "problem", "how", "seen"), DEATHS.values(), ids=DEATHS)
def test_a_program_that_dies_is_told_with_how_it_ended_and_what_it_said_last(
    tmp_path: Path, otherwise: str, line: int, problem: str, how: str, seen: str
) -> None:
    found = failure(program(tmp_path, otherwise))
    assert found.line == line
    for each in (problem, how, seen):
        assert each in found.problem
    for each in (how, seen):
        assert each in found.seen


GARBAGE = {
    "no JSON": ("def on_claim(request): print('claiming', flush=True)", "not JSON", "it wrote 'claiming'"),
    "no number": ("def on_claim(request): raw(b'{\"id\": NaN}\\n')", "not JSON", "NaN"),
    "a number without end": ("def on_claim(request): raw(b'{\"id\": 1e999}\\n')", "not JSON", "1e999"),
    "half a pair": (
        'def on_claim(request): raw(b\'{"id": 3, "error": "\\\\ud800"}\\n\')',
        "half of a surrogate pair",
        "ud800",
    ),
    "a name twice": ('def on_claim(request): raw(b\'{"id": 3, "id": 3}\\n\')', "not JSON", ""),
    "a deep list": ("def on_claim(request): raw(b'[' * 100_000 + b'\\n')", "not JSON", "'[[["),
    "a list": ("def on_claim(request): say([1])", "no JSON object", "'[1]'"),
    "no UTF-8": ('def on_claim(request): raw(b\'{"id": "\\xff"}\\n\')', "not UTF-8 (byte 9", "\\xff"),
    "an endless line": (
        "def on_claim(request): raw(b'x' * (lines_limit + 2))".replace(
            "lines_limit", str(lines.MAX_LINE_BYTES)
        ),
        "a line of more than 1,048,576 bytes",
        "'xxx",
    ),
    "another id": (
        "def on_claim(request): say({'id': 99, 'ok': {}})",
        "answered request 99, and was asked 3",
        '"id": 99',
    ),
    "an answer twice": (
        """
        def on_submit(request):
            write("r1", "accepted")
            answer(request)
            answer(request)
        """,
        "answered request 2, and was asked 3|wrote a line that nobody asked for",
        "",
    ),
    "an unknown line": ("def on_claim(request): say({'okay': {}})", "no answer and no question", "okay"),
    "an unknown field": (
        "def on_claim(request): say({'id': 3, 'ok': {}, 'nextdue': 1})",
        'the line has an unknown field "nextdue"',
        "",
    ),
    "an unknown value": (
        "def on_claim(request): answer(request, epok=1)",
        "'ok' has an unknown field \"epok\"",
        "",
    ),
    "a wrong type": (
        "def on_claim(request): answer(request, epoch='one')",
        "'epoch' in 'ok' is \"one\", and must be a whole number, 0 or more",
        "",
    ),
    "an unknown moment": (
        "def on_claim(request): ask({'moment': 'after-comit'})",
        "'moment' is \"after-comit\", and must be a moment",
        "",
    ),
    "an unknown refusal": (
        "def on_claim(request): say({'id': 3, 'refused': 'lease-hold'})",
        "'refused' is \"lease-hold\", and must be a refusal",
        "",
    ),
    "an error": (
        "def on_claim(request): say({'id': 3, 'error': 'disk full'})",
        "could not be handled: disk full",
        "",
    ),
    "endless questions": (
        """
        def on_claim(request):
            while True:
                ask({'moment': 'after-commit'})
        """,
        "asked more than 10,000 questions",
        "",
    ),
}


@pytest.mark.parametrize(("otherwise", "problem", "seen"), GARBAGE.values(), ids=GARBAGE)
def test_what_cannot_be_meant_is_told_with_what_was_read(
    tmp_path: Path, otherwise: str, problem: str, seen: str
) -> None:
    found = failure(program(tmp_path, otherwise))
    assert found.line == CLAIM
    assert any(each in found.problem for each in problem.split("|")), found.problem
    assert seen in found.problem


@pytest.mark.parametrize(
    ("said", "near"),
    [("'moment': 'after-comit'", "'after-commit'"), ("'id': 3, 'refused': 'lease-hold'", "'lease-held'")],
)
def test_the_nearest_word_is_named(tmp_path: Path, said: str, near: str) -> None:
    found = failure(program(tmp_path, f"def on_claim(request): say({{{said}}})"))
    assert near in found.remedy


def test_another_version_of_the_protocol_is_refused(tmp_path: Path) -> None:
    found = failure(program(tmp_path, "HELLO['runcoord'] = 2"))
    assert found.line == OPEN
    assert "speaks version 2 of the protocol, and this is version 1" in found.problem


def test_a_capability_that_no_program_can_have_is_refused(tmp_path: Path) -> None:
    found = failure(program(tmp_path, "HELLO['capabilities'] = ['runs', 'threads']"))
    assert '"threads", and must be a capability that a program can have' in found.problem


def test_a_program_that_says_other_things_of_itself_later_is_told(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    found = failure(
        program(
            tmp_path,
            f"""
            def hello():
                if os.path.exists({str(mark)!r}):
                    HELLO['version'] = '3'
                open({str(mark)!r}, 'w').close()
                say(HELLO)
            """,
        )
    )
    assert "says other things of itself than when it was first started" in found.problem


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (["no-such-program"], "cannot be executed: No such file"),
        (["."], "cannot be executed: Permission denied"),
    ],
)
def test_what_cannot_be_executed_is_told_at_the_first_step(
    tmp_path: Path, command: list[str], problem: str
) -> None:
    subject = ProgramSubject(command, tmp_path)
    found = failure(subject)
    assert found.line == OPEN
    assert command[0] in found.problem
    assert problem in found.problem
    assert failure(subject).problem == found.problem  # and again in the next scenario


def test_a_program_that_failed_once_is_not_waited_for_again(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    subject = program(tmp_path, f"def hello():\n    open({str(starts)!r}, 'a').write('x')\n    sys.exit(1)")
    failure(subject)
    failure(subject)
    assert starts.read_text() == "x"


def test_processes_that_are_left_behind_are_told_and_ended(tmp_path: Path) -> None:
    number = tmp_path / "number"
    found = failure(
        program(
            tmp_path,
            f"""
            def on_claim(request):
                left = subprocess.Popen(["sleep", "60"])
                open({str(number)!r}, 'w').write(str(left.pid))
                answer(request, handle={{"mine": "r1"}})
            """,
        )
    )
    assert found.line == CLOSE
    assert "left 1 process behind, which were ended" in found.problem
    assert _is_gone(int(number.read_text()))


def test_what_a_crashed_program_left_is_ended_with_the_scenario(tmp_path: Path) -> None:
    number = tmp_path / "number"
    subject = program(
        tmp_path,
        f"""
        def on_open(request):
            left = subprocess.Popen(["sleep", "60"])
            open({str(number)!r}, 'w').write(str(left.pid))
            answer(request)
        def on_snapshot(request):
            answer(request, runs=[], events=[])
        """,
    )
    result = run(subject, "steps:\n  - open: gw1\n  - crash: gw1\nheal: none\n")
    assert result.failure is None
    assert _is_gone(int(number.read_text()))


def _is_gone(pid: int) -> bool:
    """Whether a process has ended. Its parent is gone, so somebody else reaps it, perhaps a little later."""
    try:
        held = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([held], [], [], 5.0)[0])
    finally:
        os.close(held)


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.mark.parametrize("otherwise", ["def on_complete(request): 1 / 0", "def hello(): sys.exit(1)"])
def test_nothing_of_a_bad_program_is_left_and_the_next_scenario_runs(tmp_path: Path, otherwise: str) -> None:
    before, known = open_files(), children()
    failure(program(tmp_path, otherwise))
    assert open_files() == before
    assert children() <= known
    assert run(program(tmp_path)).verdict is Verdict.PASSED


def test_a_program_ignoring_the_polite_signals_is_killed_all_the_same(tmp_path: Path) -> None:
    subject = program(tmp_path, "for each in (2, 15, 1):\n    signal.signal(each, signal.SIG_IGN)")
    result = run(subject, "steps:\n  - open: gw1\n  - crash: gw1\n  - open: gw1\nheal: none\n")
    assert result.failure is None


def test_a_step_says_complete_for_the_program_and_is_told_by_its_name(tmp_path: Path) -> None:
    found = failure(program(tmp_path, "def on_complete(request): 1 / 0"))
    assert found.line == COMPLETE
    assert found.problem.startswith(
        "the subject small: complete ended by itself (exit status 1; ZeroDivisionError"
    )


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=st.binary(max_size=200) | st.text('{}[]":,1enrul\n\\', max_size=60).map(str.encode))
def test_whatever_a_program_says_first_it_is_told_as_its_fault(tmp_path: Path, said: bytes) -> None:
    (tmp_path / "said").write_bytes(said)
    with pytest.raises(program_errors.ProgramFault) as caught:
        conversation.Conversation(conversation.Command(("cat", "said"), tmp_path))
    assert str(caught.value).startswith("the subject cat said: hello ")


def test_a_program_that_somebody_else_reaped_is_told_and_its_number_left_alone(tmp_path: Path) -> None:
    """As in a process that waits for all of its children, or has SIGCHLD ignored."""
    (tmp_path / "said").write_bytes(b"")
    child = lines.Child(("cat", "said"), tmp_path)
    os.waitid(os.P_PID, child.pid, os.WEXITED)
    assert child.wait(0.0)
    assert child.how_it_ended() == "ended, and somebody else was told how"
    assert child.left_behind() == []
    with pytest.raises(lines.LineFault, match="ended by itself"):
        child.read_line(5.0)
    child.let_go()
