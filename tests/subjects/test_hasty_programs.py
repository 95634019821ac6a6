"""A program that does not wait for what it asked, or for the next request, is told so."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_runcoord.subjects import conversation
from pytest_runcoord.subjects.program_errors import ProgramFault
from subjects.programs import SUBMIT, failure, program


def test_a_program_that_ended_by_itself_is_told_also_where_it_was_to_be_killed_anyway(tmp_path: Path) -> None:
    subject = program(tmp_path, "def on_open(request):\n    answer(request)\n    sys.exit(3)\n")
    talk = conversation.Conversation(subject.command)
    talk.child.write(b'{"id": 1, "verb": "open", "args": {"directory": "."}}')
    talk.child.read_line(5.0)
    assert talk.child.wait(5.0)
    with pytest.raises(ProgramFault, match="between two requests ended by itself"):
        talk.kill()
    assert talk.child.status == 3
    talk.kill()  # and once is enough


def test_a_program_that_goes_on_before_it_has_a_reply_is_told(tmp_path: Path) -> None:
    """Where it should have died it would have done more."""
    found = failure(
        program(
            tmp_path,
            """
            def on_submit(request):
                raw(b'{"moment": "after-commit"}\\n{"id": %d, "ok": {}}\\n' % request["id"])
            """,
        )
    )
    assert found.line == SUBMIT
    assert "submit went on before its question was answered" in found.problem
    assert "killed there" in found.remedy


def test_all_questions_of_a_request_share_its_time_and_that_is_what_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "ANSWER_SECONDS", 0.3)
    found = failure(program(tmp_path, "def on_submit(request):\n    while True: ask({'wait': 0})\n"))
    assert found.problem.startswith("the subject small: submit gave no answer within 0.3 s of real time")
