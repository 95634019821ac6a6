"""Whatever a subject says, a report can show it and a pipe between processes takes it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_runcoord.subjects import RunSeen, Snapshot
from pytest_runcoord.verdict import RunResult
from pytest_runcoord.world_errors import printable
from subjects.trying import LINES, Oops, bad_subject, broken, fault_of, giving, raising, tried

HALF = "caf\udce9"
"""What a file name in Latin-1 is read as."""


def test_what_a_terminal_obeys_or_no_pipe_takes_is_written_out() -> None:
    assert printable("a\x1b[31m\0\udc80é漢\nb") == "a\\x1b[31m\\x00\\udc80é漢\nb"


def test_an_error_is_told_without_what_a_terminal_obeys() -> None:
    failure = fault_of(
        broken("claim", raising(Oops(f"{HALF} \x1b[2J" + "x" * 100_000))), LINES["claim"], "claim"
    )
    assert failure.problem.startswith("the subject toy: claim raised Oops: caf\\udce9 \\x1b[2Jxxx")
    assert len(failure.problem) < 400


def test_an_error_whose_text_ends_the_program_is_told_by_its_type() -> None:
    class Ends(Exception):
        def __str__(self) -> str:
            raise SystemExit(3)

    assert (
        "Ends: (its text cannot be had"
        in fault_of(broken("claim", raising(Ends())), LINES["claim"], "claim").problem
    )


@pytest.mark.parametrize("value", [HALF, [HALF], {HALF: 1}, 2**63, [-(2**63)], 10**5000], ids=range(6))
def test_values_that_cannot_be_carried_are_named(value: Any) -> None:
    failure = fault_of(broken("submit", giving({"name": value})), LINES["submit"], "submit")
    assert failure.problem.startswith("the subject toy: submit gave name = ")
    assert "Unicode" in failure.expected


@pytest.mark.parametrize(
    "row",
    [
        RunSeen(HALF, "accepted"),
        RunSeen("r1", "accepted", owner=HALF),
        RunSeen("r1", "accepted", epoch=2**63),
    ],
)
def test_a_snapshot_that_cannot_be_carried_is_named(row: RunSeen) -> None:
    seen = Snapshot({row.run_id: row}, {})
    fault_of(bad_subject("snapshot", giving(seen)), LINES["open"], "snapshot")


def _strings(result: RunResult) -> list[str]:
    assert result.failure is not None
    assert result.picture is not None
    told = json.dumps([result.picture.as_json(), result.as_json()], ensure_ascii=False)
    return [told, *(line.detail for line in result.history)]


def test_a_value_that_a_terminal_obeys_is_in_no_history_and_no_picture() -> None:
    result = tried(
        "steps: [{open: w1}, {submit: {run: r1}}]", broken("submit", giving({"name": "\x1b[31m", "on": "\0"}))
    )
    for text in _strings(result):
        assert text.isprintable()
    assert any("\\x1b" in line.detail for line in result.history)
