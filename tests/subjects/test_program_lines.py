"""The lines themselves: their schema, what fits, and the tables that all of it comes from."""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_runcoord.subject import CAPABILITIES, EventSeen, RunSeen
from pytest_runcoord.subjects.base import CAPABILITY_METHODS
from pytest_runcoord.subjects.conversation import number_of
from pytest_runcoord.subjects.lines import MAX_STDERR_BYTES, MAX_STDERR_LINES, Tail
from pytest_runcoord.subjects.program import ProgramSubject
from pytest_runcoord.subjects.program_protocol import (
    ANSWERS,
    BY_ITSELF,
    EVENT_SEEN,
    HELLO,
    IN_PROCESS,
    QUESTIONS,
    RUN_SEEN,
    VALUES,
    kind_of,
)
from pytest_runcoord.subjects.program_schema import lines_schema
from pytest_runcoord.subjects.program_verbs import VERBS, asked_of, request_of
from pytest_runcoord.subjects.shapes import Misfit
from source_tree import ROOT
from subjects.programs import run

SCHEMA = lines_schema()


def fits(name: str, line: Any) -> bool:
    whole = {"$ref": f"#/definitions/{name}", "definitions": SCHEMA["definitions"]}
    return bool(jsonschema.Draft7Validator(whole).is_valid(line))


def test_the_schema_is_one() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)


@pytest.mark.real
def test_every_line_of_a_whole_scenario_fits_the_schema(tmp_path: Path) -> None:
    lines: list[tuple[str, dict[str, Any]]] = []
    program = ROOT / "tests" / "subjects" / "coordinator_program.py"
    subject = ProgramSubject(
        [sys.executable, str(program)], ROOT, lambda who, line: lines.append((who, json.loads(line)))
    )
    body = """
given: {destinations: {chat: accepts}}
steps:
  - open: gw1
  - submit: {run: r1, destination: chat}
  - claim: r1
  - start: r1
  - claim: {run: r1, refused: already-started}
  - advance: 31s
  - complete: r1
  - deliver
expect:
  - delivered: {run: r1, to: chat, count: 1}
"""
    result = run(subject, body)
    assert result.failure is None
    seen = set()
    for who, line in lines:
        if who == "asked" and "verb" in line:
            name = f"request:{line['verb']}"
        elif who == "asked":
            assert jsonschema.Draft7Validator(SCHEMA).is_valid(line), line
            continue
        elif "runcoord" in line:
            name = "hello"
        elif (kind := kind_of(line, ANSWERS)) is not None:
            name = f"answer:{kind}"
            if kind == "ok":
                assert fits("ok:submit", line["ok"]) or fits("ok:snapshot", line["ok"]), line
        else:
            name = f"question:{kind_of(line, QUESTIONS)}"
        assert fits(name, line), (name, line)
        seen.add(name)
    assert {
        "hello",
        "request:submit",
        "answer:ok",
        "answer:refused",
        "question:moment",
        "question:send",
    } <= seen


# --- the checks and the schema agree ---------------------------------------------------------------

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(-2, 2)
    | st.sampled_from(["a", "no", "after-commit"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["id", "ok", "x_a"]), inner, max_size=2)
    ),
    max_leaves=4,
)
TABLES = {"hello": HELLO} | {f"answer:{name}": table for name, table in ANSWERS.items()}
TABLES |= {f"question:{name}": each.line for name, each in QUESTIONS.items()}
TABLES |= {"ok:submit": VALUES}
RIGHT: dict[str, dict[str, Any]] = {
    "hello": {"runcoord": 1, "name": "n", "capabilities": ["runs"], "moments": ["after-commit"]},
    "answer:ok": {"id": 1, "ok": {}, "next_due": {"renew": None, "sweep": 3.5}},
    "answer:refused": {"id": 1, "refused": "lease-held", "happened": "no", "next_due": 2},
    "answer:error": {"id": 1, "error": "x"},
    "question:moment": {"moment": "after-commit"},
    "question:wait": {"wait": 0.5},
    "question:fault": {"fault": "claim", "bound": 1},
    "question:new_id": {"new_id": "run"},
    "question:send": {
        "send": {"event": "e", "run": "r", "destination": "d", "body": "", "attempt": 1},
        "patience": 5,
    },
    "ok:submit": {"run": "r1", "state": "accepted", "outcome": None, "epoch": 1, "x_own": [1]},
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_fits_both(name: str) -> None:
    TABLES[name].check(RIGHT[name], "")
    assert fits(name, RIGHT[name])


def checked(name: str, line: dict[str, Any]) -> bool:
    """Whether the line is taken once it was read."""
    try:
        TABLES[name].check(json.loads(json.dumps(line), parse_float=number_of), "")
    except Misfit:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "number"), [("2.0", 2), ("-0.0", 0), ("2.5", 2.5), ("1e3", 1000), ("1e300", 1e300)]
)
def test_a_whole_number_is_one_however_it_is_written(text: str, number: float) -> None:
    read = number_of(text)
    assert (read, type(read)) == (number, type(number))


@given(name=st.sampled_from(sorted(RIGHT)), data=st.data())
def test_a_line_with_something_else_in_it_fits_both_or_neither(name: str, data: st.DataObject) -> None:
    line = dict(RIGHT[name])
    field = data.draw(st.sampled_from([*TABLES[name].fields, "unknown", "x_own"]))
    if field in line and data.draw(st.booleans()):
        del line[field]
    else:
        line[field] = data.draw(JSON)
    assert checked(name, line) is fits(name, line), line


# --- the tables ------------------------------------------------------------------------------------


def test_a_snapshot_says_nothing_that_is_no_field_of_one() -> None:
    assert set(RUN_SEEN.fields) <= {each.name for each in fields(RunSeen)}
    assert set(EVENT_SEEN.fields) == {each.name for each in fields(EventSeen)}


def test_every_verb_of_a_capability_that_a_program_can_have_is_there() -> None:
    beside = IN_PROCESS | BY_ITSELF
    wanted = {
        method.partition("(")[0]
        for capability, methods in CAPABILITY_METHODS.items()
        if capability not in beside
        for method in methods
    }
    assert wanted <= set(VERBS)
    assert beside <= set(CAPABILITIES)
    assert all(verb.capability in CAPABILITIES for verb in VERBS.values() if verb.capability)


def test_every_program_is_asked_for_four_verbs_and_others_by_its_capabilities() -> None:
    assert asked_of([]) == ["open", "close", "snapshot", "tick"]
    assert asked_of(["runs", "renewal"])[4:] == ["submit", "claim", "renew", "complete"]


def test_what_has_a_handle_is_asked_with_it() -> None:
    assert "with" in request_of(VERBS["complete"]).fields
    assert "with" not in request_of(VERBS["claim"]).fields


# --- the end of standard error ---------------------------------------------------------------------


@given(st.lists(st.binary(max_size=3000), max_size=12))
def test_of_what_is_said_the_end_is_kept_within_its_bounds(parts: list[bytes]) -> None:
    tail = Tail()
    for part in parts:
        tail.add(part)
    lines = tail.lines()
    assert len(lines) <= MAX_STDERR_LINES
    assert len("\n".join(lines)) <= 8 * MAX_STDERR_BYTES  # a tab may be eight blanks
    assert all(each.isprintable() for each in lines)


def test_the_last_lines_are_those_that_are_kept() -> None:
    tail = Tail()
    for number in range(100):
        tail.add(f"line {number}\n".encode())
    assert tail.lines() == [f"line {number}" for number in range(60, 100)]
