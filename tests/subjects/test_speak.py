"""``runcoord speak``: what it says of a program that is right, and of one that is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_runcoord.commands import speak
from pytest_runcoord.subjects.speaking import one_life
from subjects.programs import program

pytestmark = pytest.mark.real


def said_of(directory: Path, otherwise: str = "", *options: str) -> Result:
    words = program(directory, otherwise).command.words
    return CliRunner().invoke(speak, [*options, "--", *words])


def test_a_program_that_keeps_to_the_protocol_is_shown_with_what_it_can_and_did(tmp_path: Path) -> None:
    result = said_of(tmp_path, 'HELLO["capabilities"] = ["runs"]')
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0] == "small 2 speaks version 1 of the protocol"
    assert "ok        gw1: claim r1" in lines
    assert "ok        gw1: crash" in lines
    assert lines[-1] == "It keeps to the protocol."


def test_the_whole_conversation_is_shown_where_that_is_asked_for(tmp_path: Path) -> None:
    result = said_of(tmp_path, 'HELLO["capabilities"] = ["runs"]', "--lines")
    assert '  > {"id": 2, "verb": "submit", "args": {"run": "r1"}' in result.output
    assert '  < {"id": 2, "ok": {"run": "r1"}}' in result.output


def test_what_is_wrong_is_said_with_the_last_lines_and_all_of_standard_error(tmp_path: Path) -> None:
    result = said_of(
        tmp_path, "def on_claim(request):\n    for each in range(20): print(each, file=sys.stderr)\n    1/0"
    )
    assert result.exit_code == 1
    assert "WRONG: the subject small: claim ended by itself (exit status 1" in result.output
    assert '  > {"id": 3, "verb": "claim"' in result.output
    assert "    0\n    1\n" in result.output
    assert "ZeroDivisionError" in result.output


def test_an_outcome_that_is_not_kept_is_wrong_too(tmp_path: Path) -> None:
    result = said_of(tmp_path, 'HELLO["capabilities"] = ["runs"]\ndef on_complete(request): answer(request)')
    assert result.exit_code == 1
    assert "It keeps to the protocol" not in result.output
    assert "r1" in result.output.partition("WRONG:")[2]


def test_what_does_not_even_begin_is_wrong(tmp_path: Path) -> None:
    result = CliRunner().invoke(speak, ["--", "no-such-program", "--an-option"])
    assert result.exit_code == 1
    assert "cannot be executed: No such file" in result.output
    result = said_of(tmp_path, "def hello(): sys.exit('no database')")
    assert result.exit_code == 1
    assert "    no database" in result.output


def test_a_program_without_runs_is_opened_killed_and_closed(tmp_path: Path) -> None:
    result = said_of(tmp_path, 'HELLO["capabilities"] = []')
    assert result.exit_code == 0, result.output
    assert "ok        gw2: close" in result.output


def test_it_gives_the_same_as_data(tmp_path: Path) -> None:
    from types import SimpleNamespace

    words = program(tmp_path, "def on_claim(request): 1/0").command.words
    result = CliRunner().invoke(speak, ["--", *words], obj=SimpleNamespace(json=True))
    said = json.loads(result.output)
    assert said["name"] == "small"
    assert said["steps"][-1] == {"what": "gw1: claim r1", "status": "failed"}
    assert "ZeroDivisionError: division by zero" in said["fault"]["stderr"]
    assert said["lines"][-1]["who"] == "asked"


def test_the_life_has_a_step_for_what_the_program_can() -> None:
    assert "renew" not in one_life({"runs"})
    assert "renew: {with: first}" in one_life({"runs", "leases", "renewal"})
