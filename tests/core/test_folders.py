"""What the files of a run folder mean, whoever wrote them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.credentials import SECRET, TOKENS
from core.strategies import SOME
from runcoord import Outcome, Run, Spec, State
from runcoord._core import limits
from runcoord._core.folders import (
    CorruptFolder,
    FolderState,
    Tombstone,
    name_problem,
    read_state,
    read_tombstone,
    shown_name,
    tombstone_bytes,
)
from runcoord._core.layouts import RUN_FOLDERS, Layout, StateKeys
from runcoord._core.redaction import REDACTED, redacted
from runcoord.ports import Claims

NOW = 1_800_000_000.0
GOOD = {
    "id": "run-1",
    "agent": "researcher",
    "task": "Look into it",
    "conversation_key": "subagent:a1",
    "parent_session": "dashboard:main",
    "started": NOW - 500,
    "updated_at": NOW - 100,
    "pid": 4242,
    "pid_recorded_at": NOW - 499.5,
}


def state_of(document: object, folder: str = "run-1", **how: Any) -> FolderState:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return read_state(data, folder, how.get("layout", RUN_FOLDERS), how.get("redact", redacted), NOW)


def tombstone_of(document: object, layout: Layout = RUN_FOLDERS) -> Tombstone:
    return read_tombstone(json.dumps(document).encode(), layout, redacted, NOW)


def test_a_state_file_gives_what_it_says_and_its_routing_as_claims() -> None:
    assert state_of(GOOD) == FolderState(
        "run-1",
        "researcher",
        "Look into it",
        NOW - 500,
        NOW - 100,
        Claims("dashboard:main", "subagent:a1", 4242, NOW - 499.5),
        (),
    )


def test_only_the_id_is_needed_and_null_is_absent() -> None:
    nothing = FolderState("run-1", "", "", None, None, Claims(), ())
    assert state_of({"id": "run-1"}) == nothing
    assert state_of(dict.fromkeys(GOOD) | {"id": "run-1"}) == nothing


def test_what_the_layout_does_not_name_is_ignored() -> None:
    assert state_of(GOOD | {"secret": SECRET, "nested": {"a": [1, {"b": None}]}}) == state_of(GOOD)


@pytest.mark.parametrize(
    ("run_id", "why"),
    [
        (None, "missing"),
        (1, "not text"),
        (["run-1"], "not text"),
        ("run-2", "is not the folder's name"),
        ("", "is not the folder's name"),
        ("RUN-1", "upper and lower case"),
        ("run-1\n", "is not the folder's name"),
        ("../run-1", "is not the folder's name"),
    ],
)
def test_a_document_of_another_run_is_corrupt(run_id: object, why: str) -> None:
    with pytest.raises(CorruptFolder, match=why):
        state_of(GOOD | {"id": run_id})


def test_an_id_in_another_form_of_accents_is_told_apart() -> None:
    with pytest.raises(CorruptFolder, match="accents"):
        state_of({"id": "caf\u00e9"}, "cafe\u0301")


def test_a_torn_file_is_corrupt_and_named() -> None:
    with pytest.raises(CorruptFolder, match=RUN_FOLDERS.state_file):
        state_of(b'{"id": "run-1", "ag')
    with pytest.raises(CorruptFolder, match=RUN_FOLDERS.tombstone_file):
        read_tombstone(b'{"died": 1', RUN_FOLDERS, redacted, NOW)


BAD_FIELDS: dict[str, list[object]] = {
    "agent": [1, True, ["a"], {"a": 1}],
    "task": [0, False, [], {}],
    "conversation_key": [7, ["x"]],
    "parent_session": [7, {"x": 1}],
    "started": ["1", True, [], -1, -1e308, 1e308, NOW + 2 * 86_400, 10**300, math.inf, -math.inf],
    "updated_at": ["now", -0.1, 1e300],
    "pid": ["1", 1.0, True, 0, -1, 2**22 + 1, 10**30],
    "pid_recorded_at": [{}, -5, 10**20],
}
CASES = [(key, bad) for key, every in BAD_FIELDS.items() for bad in every]


@pytest.mark.parametrize(
    ("key", "bad"), CASES, ids=[f"{key}-{index}" for index, (key, _) in enumerate(CASES)]
)
def test_a_bad_field_is_left_out_and_noted_and_the_others_stay(key: str, bad: object) -> None:
    data = json.dumps(GOOD | {key: bad}).replace("Infinity", "1e999").encode()
    seen = state_of(data)
    without = state_of({name: given for name, given in GOOD.items() if name != key})
    assert replace(seen, notes=()) == without
    [note] = seen.notes
    assert note.startswith(f"{key} is left out: ")


def test_a_time_a_little_ahead_of_the_clock_is_believed() -> None:
    assert state_of(GOOD | {"updated_at": NOW + 3_600}).updated == NOW + 3_600


LIMITS = {
    "agent": limits.MAX_AGENT_CHARACTERS,
    "task": limits.MAX_TASK_CHARACTERS,
    "conversation_key": limits.MAX_CONVERSATION_KEY_CHARACTERS,
    "parent_session": limits.MAX_ID_CHARACTERS,
}


def text_of(state: FolderState, key: str) -> str:
    claims = state.claims
    return {
        "agent": state.agent,
        "task": state.task,
        "conversation_key": claims.conversation_key,
        "parent_session": claims.destination,
    }[key]


@pytest.mark.parametrize("key", LIMITS)
def test_a_long_text_is_cut_to_its_limit_and_noted(key: str) -> None:
    seen = state_of(GOOD | {key: "x" * 900_000})
    assert text_of(seen, key) == "x" * LIMITS[key]
    assert seen.notes == (f"{key} is cut to {LIMITS[key]} characters",)
    seen = state_of(GOOD | {key: "x" * LIMITS[key]})
    assert text_of(seen, key) == "x" * LIMITS[key]
    assert seen.notes == ()


@pytest.mark.parametrize("key", LIMITS)
@pytest.mark.parametrize("kind", TOKENS)
def test_every_text_is_redacted(key: str, kind: str) -> None:
    seen = state_of(GOOD | {key: f"subagent:{TOKENS[kind]}"})
    assert text_of(seen, key).startswith("subagent:")
    assert TOKENS[kind] not in repr(seen)


@pytest.mark.parametrize("key", LIMITS)
@pytest.mark.parametrize("offset", [-20, -3, 0, 5])
def test_a_credential_across_the_cut_leaves_nothing(key: str, offset: int) -> None:
    token = TOKENS["github"]
    for at in (LIMITS[key], LIMITS[key] * limits.REDACTION_WINDOW):
        seen = text_of(state_of(GOOD | {key: "y" * (at + offset - 1) + " " + token + " z" * 5_000}), key)
        assert "ghp_" not in seen
        assert len(seen) <= LIMITS[key]


def test_text_that_redaction_brings_nearer_is_not_cut_within_a_credential() -> None:
    size = limits.MAX_TASK_CHARACTERS * limits.REDACTION_WINDOW
    filler = (TOKENS["openai"] + " ") * (size // (len(TOKENS["openai"]) + 1) - 1)
    text = filler + " " * (size - len(filler) - 10) + TOKENS["github"] + "tail"
    seen = state_of(GOOD | {"task": text}).task
    assert REDACTED in seen
    assert "ghp_" not in seen


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("a\0b", "a\\x00b"),
        ("a\rb\x7f\x9b", "a\\rb\\x7f\\x9b"),
        ("a\tb\nc", "a\tb\nc"),
        ("a\ud800b", "a\\ud800b"),
        ("a\u202eb\u2066", "a\\u202eb\\u2066"),
        ("\u00e4 \u4e2d \U0001f469\u200d\U0001f52c", "\u00e4 \u4e2d \U0001f469\u200d\U0001f52c"),
    ],
)
def test_control_characters_are_made_visible(text: str, shown: str) -> None:
    seen = state_of(GOOD | {"task": text})
    assert seen.task == shown
    seen.task.encode()


def broken(text: str) -> str:
    raise RuntimeError(text)


@pytest.mark.parametrize("redact", [broken, lambda text: None, lambda text: text.encode()])
def test_a_redactor_that_fails_leaves_texts_out_and_loses_no_run(redact: Any) -> None:
    seen = state_of(GOOD, redact=redact)
    assert (seen.agent, seen.task, seen.claims.destination) == ("", "", "")
    assert seen.started == GOOD["started"]
    assert [note.partition(" ")[0] for note in seen.notes] == [
        "parent_session",
        "conversation_key",
        "agent",
        "task",
    ]


def test_another_redactor_takes_the_place_of_the_usual_one() -> None:
    seen = state_of(GOOD | {"task": "ask Bob"}, redact=lambda text: text.replace("Bob", "somebody"))
    assert seen.task == "ask somebody"


def test_a_redactor_that_makes_text_longer_does_not_lift_the_limit() -> None:
    seen = state_of(GOOD, redact=lambda text: text * 10_000)
    assert len(seen.agent) == limits.MAX_AGENT_CHARACTERS


VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.lists(st.integers())
)


@SOME
@given(st.dictionaries(st.sampled_from([key for key in GOOD if key != "id"]), VALUES))
def test_whatever_the_fields_are_the_state_is_within_its_limits(document: dict[str, Any]) -> None:
    data = json.dumps(document | {"id": "run-1"}).replace("Infinity", "1e999").encode()
    seen = state_of(data)
    for key, most in LIMITS.items():
        text = text_of(seen, key)
        assert len(text) <= most
        text.encode()
    for time in (seen.started, seen.updated, seen.claims.pid_recorded_at):
        assert time is None or (type(time) is float and 0 <= time <= NOW + limits.MAX_CLOCK_SKEW_SECONDS)
    assert seen.claims.pid is None or 0 < seen.claims.pid <= limits.MAX_PID
    assert len(seen.notes) <= len(GOOD)


# --- tombstones ---


def test_a_tombstone_says_how_and_when_it_ended() -> None:
    document = {"died": NOW - 50, "outcome": "failed", "cause": "crash", "detail": "exit status 3"}
    assert tombstone_of(document) == Tombstone(Outcome.FAILED, NOW - 50, "crash: exit status 3", ())


@pytest.mark.parametrize("absent", [{}, {"outcome": None}, {"outcome": ""}])
def test_a_tombstone_without_an_outcome_names_none(absent: dict[str, object]) -> None:
    assert tombstone_of(absent | {"cause": "restart"}) == Tombstone(None, None, "restart", ())


@pytest.mark.parametrize("word", ["won", "COMPLETED", "completed ", 1, True, ["completed"], {"a": 1}])
def test_an_unknown_word_means_interrupted_and_is_noted(word: object) -> None:
    seen = tombstone_of({"outcome": word})
    assert seen.outcome is Outcome.INTERRUPTED
    [note] = seen.notes
    assert note.startswith("outcome is no outcome")


def test_the_text_of_a_tombstone_is_redacted_and_cut() -> None:
    seen = tombstone_of({"outcome": "failed", "cause": TOKENS["aws"], "detail": "y" * 900_000})
    assert seen.error.startswith(f"{REDACTED}: yyy")
    assert len(seen.error) == limits.MAX_ERROR_CHARACTERS


RUN = Run(
    "run-1", Spec(), NOW - 9, line="run-1", state=State.FINISHED, finished_at=NOW - 1.5, error="it broke"
)


@pytest.mark.parametrize("outcome", Outcome)
def test_a_tombstone_that_was_written_is_read_as_history_of_the_same_outcome(outcome: Outcome) -> None:
    data = tombstone_bytes(replace(RUN, outcome=outcome), RUN_FOLDERS)
    seen = read_tombstone(data, RUN_FOLDERS, redacted, NOW)
    assert seen == Tombstone(outcome, NOW - 1.5, "runcoord: it broke", ())
    assert data.endswith(b"}\n")


def test_another_layout_has_other_keys_and_words() -> None:
    layout = Layout(
        state=StateKeys(run_id="name", agent="who", destination=""),
        outcomes=(
            ("ok", Outcome.COMPLETED),
            ("bad", Outcome.FAILED),
            ("off", Outcome.STOPPED),
            ("cut", Outcome.INTERRUPTED),
        ),
    )
    seen = state_of({"name": "run-1", "who": "x", "parent_session": "y", "": "z"}, layout=layout)
    assert (seen.agent, seen.claims.destination) == ("x", "")
    assert tombstone_of({"outcome": "ok"}, layout).outcome is Outcome.COMPLETED
    assert b'"outcome":"bad"' in tombstone_bytes(replace(RUN, outcome=Outcome.FAILED), layout)


# --- names ---


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "run-1",
        "A b",
        "x" * 200,
        "caf\u00e9",
        "run.json",
        ".hidden",
        "-x",
        "3f786850e387550fdab836ed7e6dc881de23001b",
    ],
)
def test_a_plain_name_can_be_an_id(name: str) -> None:
    assert name_problem(name) is None
    assert shown_name(name) == name


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "characters"),
        (".", "characters"),
        ("..", "characters"),
        ("a/b", "characters"),
        ("a\\b", "characters"),
        ("a\nb", "characters"),
        ("a\x1bb", "characters"),
        ("\u202e", "characters"),
        ("x" * 201, "longer than 200"),
        ("a\udcff", "UTF-8"),
        (TOKENS["aws"], "credential"),
        ("run-" + TOKENS["github"], "credential"),
    ],
)
def test_a_name_that_cannot_be_an_id_has_one_reason(name: str, why: str) -> None:
    problem = name_problem(name)
    assert problem is not None
    assert why in problem
    shown_name(name).encode()


def test_names_that_are_credentials_are_shown_without_them_and_told_apart() -> None:
    one, other = shown_name(TOKENS["aws"]), shown_name(TOKENS["aws-session"])
    assert TOKENS["aws"] not in one
    assert one.startswith(REDACTED)
    assert one != other


@SOME
@given(st.text(max_size=260))
def test_no_name_does_anything_else(name: str) -> None:
    problem = name_problem(name)
    assert problem is None or problem.startswith("its name ")
    shown_name(name).encode()
