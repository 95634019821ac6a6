"""Values survive the way through JSON, and nothing of another form is taken for one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcoord._git.comparing import differences
from runcoord._git.configs import alike
from runcoord._git.records import NotTheForm, as_document, from_document
from runcoord._git.values import (
    Checkout,
    ConfigFile,
    Entry,
    Head,
    KeyValues,
    Kind,
    LockFile,
    Reading,
    SavedFile,
    State,
)

TEXT = st.text(max_size=20) | st.binary(max_size=10).map(lambda raw: raw.decode("utf-8", "surrogateescape"))
VALUES = st.lists(st.none() | st.sampled_from(["true", "false", "no", "", "1"]) | TEXT, max_size=4).map(tuple)
ENTRIES = st.builds(Entry, TEXT, st.sampled_from(Kind), st.integers(0, 2**64), st.integers(0, 2**64))
CONFIGS = st.builds(
    ConfigFile,
    path=TEXT,
    reading=st.sampled_from(Reading),
    kind=st.sampled_from(Kind),
    values=st.lists(st.builds(KeyValues, TEXT, VALUES), max_size=3).map(tuple),
    content=st.none() | st.binary(max_size=30),
)
STATES = st.builds(
    State,
    checkout=st.builds(Checkout, TEXT, ENTRIES, TEXT, ENTRIES),
    configs=st.lists(CONFIGS, max_size=2).map(tuple),
    heads=st.lists(st.builds(Head, TEXT, st.sampled_from(Reading), TEXT), max_size=2).map(tuple),
    reftable=st.booleans(),
)


@given(STATES)
def test_a_state_survives_the_way_through_json(state: State) -> None:
    assert from_document(State, json.loads(json.dumps(as_document(state)))) == state


@given(st.binary())
def test_any_bytes_survive(content: bytes) -> None:
    file = SavedFile("a", 0o644, content)
    assert from_document(SavedFile, json.loads(json.dumps(as_document(file)))) == file


@given(VALUES, VALUES)
def test_lists_are_alike_when_they_are_equal_but_for_keys_without_a_value(
    one: tuple[str | None, ...], other: tuple[str | None, ...]
) -> None:
    written = ["true" if each is None else each for each in one]
    assert alike(one, other) == (written == ["true" if each is None else each for each in other])
    assert alike(one, tuple(written))


CONFIG = ConfigFile("/r/config", Reading.READ, Kind.FILE, "", "/r/config", content=b"")
SAME = State(Checkout("/", Entry("/.git", Kind.DIRECTORY), "/r", Entry("/r", Kind.DIRECTORY)), "boot")


@given(VALUES, VALUES)
def test_a_key_differs_exactly_when_its_lists_are_not_alike(
    one: tuple[str | None, ...], other: tuple[str | None, ...]
) -> None:
    def state(values: tuple[str | None, ...], content: bytes) -> State:
        config = replace(CONFIG, values=(KeyValues("core.bare", values),), content=content)
        return replace(SAME, configs=(config,))

    found = differences(state(one, b"one\n"), state(other, b"other\n"))
    assert bool(found) is not alike(one, other)
    assert [(each.before, each.now) for each in found] == [(one, other)] * len(found)


LOCK = {"path": "/l", "device": 1, "inode": 2, "owner": 3, "size": 4, "modified": 5}


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {},
        {**LOCK, "device": "1"},
        {**LOCK, "device": True},
        {**LOCK, "device": 1.0},
        {**LOCK, "device": None},
        {**LOCK, "more": 1},
        {name: value for name, value in LOCK.items() if name != "size"},
    ],
)
def test_a_document_of_another_form_is_refused(document: Any) -> None:
    assert from_document(LockFile, LOCK) == LockFile("/l", 1, 2, 3, 4, 5)
    with pytest.raises(NotTheForm):
        from_document(LockFile, document)


@pytest.mark.parametrize(
    "content", ["x", {"base64": "?"}, {"text": 1}, {"text": "a", "base64": ""}, {"a": "b"}]
)
def test_content_that_is_neither_text_nor_base64_is_refused(content: Any) -> None:
    document = {**as_document(SavedFile("a", 0o644, b"x")), "content": content}
    with pytest.raises(NotTheForm):
        from_document(SavedFile, document)


def test_a_word_that_is_none_of_ours_is_refused() -> None:
    document = {**as_document(Head("/HEAD", Reading.READ)), "reading": "perhaps"}
    with pytest.raises(NotTheForm, match="reading"):
        from_document(Head, document)
