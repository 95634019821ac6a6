"""What a program has for an answer is bounded, in time and in what it writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_runcoord.subjects import conversation, lines
from pytest_runcoord.subjects.calling import VERB_SECONDS
from subjects.programs import CLAIM, CLOSE, OPEN, SUBMIT, failure, program, run

pytestmark = pytest.mark.real


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds of real time are short: they are what is waited for."""
    monkeypatch.setattr(conversation, "ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(conversation, "START_SECONDS", 1.0)
    monkeypatch.setattr(conversation, "SHUTDOWN_SECONDS", 0.5)
    monkeypatch.setattr(lines, "EXIT_SECONDS", 0.2)


NEVER = {
    "no answer": (
        "def on_claim(request): signal.pause()",
        CLAIM,
        "gave no answer within 0.5 s of real time",
    ),
    "no hello": ("def hello(): signal.pause()", OPEN, "gave no answer within 1 s of real time"),
    "half an answer": (
        """
        def on_claim(request):
            raw(b'{"id": 3, ')
            signal.pause()
        """,
        CLAIM,
        "gave no answer within 0.5 s of real time (it wrote '{\"id\": 3, '",
    ),
    "closed output": (
        """
        def on_claim(request):
            os.close(1)
            signal.pause()
        """,
        CLAIM,
        "closed its standard output and lives on",
    ),
    "no end": ("def over(): signal.pause()", CLOSE, "lives on 0.5 s after the end of its standard input"),
}


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize(("otherwise", "line", "problem"), NEVER.values(), ids=NEVER)
def test_a_program_that_never_answers_is_ended_after_a_bounded_time(
    tmp_path: Path, otherwise: str, line: int, problem: str
) -> None:
    found = failure(program(tmp_path, otherwise))
    assert found.line == line
    assert problem in found.problem
    assert "it was running, and was killed" in found.seen


def test_a_flood_of_complaints_ends_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "FLOOD_BYTES", 100_000)
    found = failure(program(tmp_path, "def on_claim(request):\n    while True: print('no', file=sys.stderr)"))
    assert found.line == CLAIM
    assert "wrote more than 100,000 bytes to its standard error" in found.problem


def test_much_that_is_said_on_standard_error_blocks_nothing(tmp_path: Path) -> None:
    otherwise = """
    def on_claim(request):
        sys.stderr.write("x" * 1_000_000)
        answer(request, handle={"mine": "r1"})
    """
    result = run(program(tmp_path, otherwise))
    assert result.failure is None


def test_a_flood_of_lines_that_nobody_asked_for_is_told(tmp_path: Path) -> None:
    found = failure(program(tmp_path, "def on_submit(request):\n    while True: print('x' * 80, flush=True)"))
    assert found.line == SUBMIT
    assert "not JSON" in found.problem


def test_a_snapshot_may_have_thousands_of_rows(tmp_path: Path) -> None:
    otherwise = """
    def on_snapshot(request):
        rows = [{"run_id": f"r{each}", "state": "accepted", "result": "x" * 1000} for each in range(1, 3001)]
        answer(request, runs=rows, events=[])
    """
    subject = program(tmp_path, otherwise)
    result = run(subject, "steps:\n  - open: gw1\n  - submit: r1\nexpect:\n  - run: r1\nheal: none\n")
    assert result.failure is None


@pytest.mark.parametrize("size", [70_000, 400_000])
def test_a_long_request_reaches_a_program_that_says_much_before_it_reads(tmp_path: Path, size: int) -> None:
    otherwise = """
    HELLO["capabilities"].append("results")
    def on_claim(request):
        answer(request, handle={"mine": "r1"})
        sys.stderr.write("x" * 300_000)  # more than the pipe holds, before the next request is read
    def on_complete(request):
        length = len(request["args"]["result"])
        say({"id": request["id"], "refused": "invalid-request", "message": str(length)})
    """
    body = """
steps:
  - open: gw1
  - submit: r1
  - claim: r1
  - complete: {run: r1, result: {repeat: x, times: SIZE}}
heal: none
"""
    result = run(program(tmp_path, otherwise), body.replace("SIZE", str(size)))
    assert result.failure is not None
    assert result.failure.seen == f"invalid-request: {size}"


def test_a_program_is_told_of_before_the_guard_of_all_subjects_runs_out() -> None:
    assert (
        conversation.START_SECONDS + conversation.ANSWER_SECONDS < VERB_SECONDS
    )  # told by us, not by the guard
