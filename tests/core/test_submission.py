"""What is accepted, and when two submissions are the same."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.refusals import refusal_of
from core.strategies import SOME
from runcoord import Spec
from runcoord._core import limits
from runcoord._core.events import canonical_json
from runcoord._core.submission import (
    content_hash,
    make_spec,
    require_count,
    require_id,
    require_json,
    require_text,
)
from runcoord.errors import InvalidRequest

FIELDS: dict[str, Any] = {
    "destination": "",
    "agent": "",
    "task": "",
    "conversation_key": "",
    "group": "",
    "group_size": 0,
    "interruption_budget": 0,
}
ANY_TEXT = st.text(st.characters(), max_size=220)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def spec_of(payload: Any = None, **fields: Any) -> Spec:
    return make_spec(payload, **{**FIELDS, **fields})


def _can_be_stored(text: str) -> bool:
    return text == text.encode(errors="ignore").decode()


# --- hashes ---------------------------------------------------------------------------------------


@SOME
@given(JSON)
def test_the_same_payload_has_the_same_hash_in_whatever_order_it_was_written(payload: Any) -> None:
    assert content_hash(spec_of(payload), "r1", None) == content_hash(spec_of(_reversed(payload)), "r1", None)


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed(value[key]) for key in reversed(value)}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


OTHER = {
    "payload": '"other"',
    "destination": "mail",
    "agent": "eve",
    "task": "sum",
    "conversation_key": "c2",
    "group": "g2",
    "group_size": 3,
}
SPEC = Spec('{"n":1}', "chat", "ada", "count", "c1", "g1", 2, 1)


@pytest.mark.parametrize("field", OTHER)
def test_another_value_of_any_field_is_other_content(field: str) -> None:
    assert content_hash(replace(SPEC, **{field: OTHER[field]}), "r1", 1) != content_hash(SPEC, "r1", 1)


def test_another_run_id_or_another_budget_is_other_content() -> None:
    hashes = [content_hash(SPEC, run_id, budget) for run_id in ("", "r1", "r2") for budget in (None, 0, 1)]
    assert len(set(hashes)) == len(hashes)


def test_a_budget_that_was_left_to_the_settings_is_no_part_of_the_content() -> None:
    settings_changed = replace(SPEC, interruption_budget=7)
    assert content_hash(SPEC, "r1", None) == content_hash(settings_changed, "r1", None)


@SOME
@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_text_that_moves_from_one_field_to_the_next_is_other_content(a: str, b: str, c: str, d: str) -> None:
    first = content_hash(spec_of(destination=a, agent=b), "r1", None)
    second = content_hash(spec_of(destination=c, agent=d), "r1", None)
    assert (first == second) == ((a, b) == (c, d))


@SOME
@given(ANY_TEXT.filter(_can_be_stored), ANY_TEXT.filter(_can_be_stored), st.none() | st.integers(0, 100))
def test_the_hash_is_that_of_canonical_json_so_that_stored_ones_stay_valid(
    run_id: str, task: str, budget: int | None
) -> None:
    spec = replace(SPEC, task=task)
    texts = [run_id, spec.payload, "chat", "ada", task, "c1", "g1"]
    content = canonical_json([*texts, 2, budget]).encode()
    assert content_hash(spec, run_id, budget) == hashlib.sha256(content).hexdigest()


# --- canonical JSON -------------------------------------------------------------------------------


@SOME
@given(JSON)
def test_canonical_json_says_the_same_value_and_says_it_one_way(value: Any) -> None:
    text = canonical_json(value)
    assert json.loads(text) == value
    assert canonical_json(json.loads(text)) == text


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), {1: 2, "a": 3}, {("a",): 1}, b"bytes", {1, 2}, object(), 1j],
    ids=lambda value: type(value).__name__,
)
def test_what_json_cannot_say_is_refused_with_the_name_of_the_field(value: Any) -> None:
    with pytest.raises(InvalidRequest, match="payload cannot be written as JSON") as caught:
        spec_of(value)
    assert caught.value.remedy
    assert caught.value.details["field"] == "payload"


def test_a_payload_that_holds_itself_or_is_endlessly_deep_is_refused() -> None:
    circle: list[Any] = []
    circle.append(circle)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for payload in (circle, deep):
        with pytest.raises(InvalidRequest, match="payload cannot be written as JSON"):
            spec_of(payload)


@pytest.mark.parametrize("payload", ["\udc80", {"a": ["\ud800"]}, {"\udfff": 1}], ids=ascii)
def test_a_lone_surrogate_in_a_payload_is_refused(payload: Any) -> None:
    with pytest.raises(InvalidRequest, match="payload has a character that cannot be stored"):
        spec_of(payload)


def test_the_limit_of_a_payload_counts_bytes() -> None:
    fits = "ä" * ((limits.MAX_PAYLOAD_BYTES - 2) // 2)
    assert len(require_json("payload", fits).encode()) == limits.MAX_PAYLOAD_BYTES
    with pytest.raises(InvalidRequest, match=f"more than {limits.MAX_PAYLOAD_BYTES}") as caught:
        require_json("payload", fits + "a")
    assert caught.value.details["size"] == limits.MAX_PAYLOAD_BYTES + 1


# --- fields ---------------------------------------------------------------------------------------


@SOME
@given(ANY_TEXT)
def test_an_id_is_printable_text_that_is_one_component_of_a_path_or_is_refused(text: str) -> None:
    refusal = refusal_of(lambda: require_id("run_id", text))
    if refusal is not None:
        assert refusal.details["field"] == "run_id"
        assert refusal.remedy
        return
    assert require_id("run_id", text) == text
    assert 1 <= len(text) <= limits.MAX_ID_CHARACTERS
    assert text.isprintable()
    assert text not in (".", "..")
    assert not set(text) & set("/\\\0\n")
    text.encode()


@pytest.mark.parametrize("text", ["r1", "run 1", "läuft", "a:b@c", "日本", "x" * 200, "..."])
def test_ordinary_ids_are_accepted(text: str) -> None:
    assert require_id("run_id", text) == text


NO_IDS = ["", ".", "..", "a/b", "a\\b", "a\nb", "a\0b", "\u200e", "\ud800", "x" * 201]


@pytest.mark.parametrize("text", NO_IDS, ids=lambda text: ascii(text)[:20])
def test_ids_that_name_no_component_are_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        require_id("run_id", text)


@SOME
@given(st.text(st.characters(), max_size=12))
def test_text_is_accepted_if_it_fits_and_can_be_stored(text: str) -> None:
    storable = not any("\ud800" <= character <= "\udfff" for character in text)
    refusal = refusal_of(lambda: require_text("task", text, 10))
    assert (refusal is None) == (len(text) <= 10 and storable)


TEXTS = {
    "destination": limits.MAX_ID_CHARACTERS,
    "agent": limits.MAX_AGENT_CHARACTERS,
    "task": limits.MAX_TASK_CHARACTERS,
    "conversation_key": limits.MAX_CONVERSATION_KEY_CHARACTERS,
    "group": limits.MAX_ID_CHARACTERS,
}


@pytest.mark.parametrize("field", TEXTS)
def test_a_text_field_takes_its_limit_and_not_one_more(field: str) -> None:
    size = 1 if field == "group" else 0
    spec_of(**{field: "x" * TEXTS[field], "group_size": size})
    for value in ("x" * (TEXTS[field] + 1), "\udc80", 7, None, b"x"):
        with pytest.raises(InvalidRequest) as caught:
            spec_of(**{field: value, "group_size": size})
        assert caught.value.details["field"] == field
        assert caught.value.remedy


@SOME
@given(st.one_of(st.booleans(), st.floats(), st.text(max_size=3), st.none(), st.integers()))
def test_a_count_is_a_whole_number_within_its_bounds_and_no_truth_value(value: Any) -> None:
    refusal = refusal_of(lambda: require_count("interruption_budget", value, 0, 100))
    assert (refusal is None) == (type(value) is int and 0 <= value <= 100)
    assert refusal is None or refusal.remedy


@pytest.mark.parametrize("size", [1, -1, True, "0", 0.0, None], ids=repr)
def test_a_group_size_without_a_group_is_refused(size: Any) -> None:
    with pytest.raises(InvalidRequest, match="has no group"):
        spec_of(group="", group_size=size)


@pytest.mark.parametrize("size", [0, -1, limits.MAX_GROUP_SIZE + 1, True, 1.0, "1"], ids=repr)
def test_a_group_needs_a_size_within_its_limit(size: Any) -> None:
    with pytest.raises(InvalidRequest, match="group_size"):
        spec_of(group="g1", group_size=size)
