"""Schema and reference page come from the registry; the schema accepts what the compiler accepts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_vocabulary import PATH, REGISTRY, small_registry

from pytest_runcoord.reference_page import reference_page
from pytest_runcoord.scenario import KEYS, Scenario, load_text
from pytest_runcoord.schema import schema
from pytest_runcoord.vocabulary import Registry, Word

jsonschema = pytest.importorskip("jsonschema", reason="comes with the extra 'dev'")

SCHEMA = schema(REGISTRY)
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)

# --- documents that are nearly right --------------------------------------------------------------
# Names are introduced before everything else, and what only the loader can know does not occur.

PREAMBLE: list[Any] = [{"open": "gw1"}, {"submit": {"run": "r1", "as": "old"}}]
NAMES = ["r1", "gw1", "old", "chat", "a b", "-x", "x" * 120, "accepts", "plain", "completed", "none"]
WORDS = ["90s", "-5s", "500ms", "1m30s", "90", "after-read", "lease-lost", "reboot", "quiet", "", " "]
NUMBERS = [0, 1, 5, 9, 10, -1, 90, 1.5, True, False, None]
LISTS: list[Any] = [[], ["r1"], ["r1"] * 4, [1], ["reboot"], [{"reboot": {}}], ["odd"], [["reboot"]]]
MAPPINGS: list[Any] = [{}, {"effect": 1}, {"effect": 0}, {"efect": 1}, {"sweeps": 2, "x": 1}, {"reboot": {}}]
VALUES: list[Any] = [*NAMES, *WORDS, *NUMBERS, *LISTS, *MAPPINGS]
SCALARS = st.sampled_from(VALUES)
RIGHT: dict[str, Any] = {
    "run": "r1",
    "id": "r1",
    "owner": "gw1",
    "to": "chat",
    "clocks": "3d",
    "wall": "-1h",
    "one": "r1",
    "two": 9,
    "at": "after-read",
    "for": "90s",
}
GOOD: dict[str, st.SearchStrategy[Any]] = {key: st.just(value) for key, value in RIGHT.items()} | {
    "by": st.just("gw1"),
    "with": st.just("old"),
    "destination": st.just("chat"),
    "lease": st.sampled_from(["90s", "0s", "1.5h"]),
    "wall": st.sampled_from(["-1h", "2s"]),
    "refused": st.just("lease-lost"),
    "crash_at": st.sampled_from(["after-commit", {"effect": 3}]),
    "quietly": st.booleans(),
    "payload": st.sampled_from([None, {"a": [1, "x"]}, "text", 3]),
    "group": st.just("anything"),
    "runs": st.just(["r1"]),
    "two": st.integers(1, 9),
    "for": st.sampled_from(["90s", 4, {"sweeps": 1}]),
    "outcome": st.just("completed"),
    "attempts": st.just(1),
    "count": st.just(2),
    "via": st.just("plain"),
}


def mapping_of(draw: st.DrawFn, keys: list[str], depth: int) -> dict[str, Any]:
    chosen = draw(st.lists(st.sampled_from([*keys, "by", "as", "odd"]), unique=True, max_size=4))
    return {key: value_of(draw, key, depth) for key in chosen}


def value_of(draw: st.DrawFn, key: str, depth: int) -> Any:
    if draw(st.integers(0, 9)) == 0:
        return draw(SCALARS)
    if key == "as":
        return draw(st.uuids()).hex
    if key == "step":
        return draw(entry_strategy("step", depth + 1))
    if key == "do":
        return draw(st.lists(entry_strategy("step", depth + 1), max_size=2))
    return draw(GOOD[key]) if key in GOOD else draw(SCALARS)


def entry_strategy(section: str, depth: int = 0) -> st.SearchStrategy[Any]:
    words = REGISTRY.steps if section == "step" else REGISTRY.expectations

    @st.composite
    def entry(draw: st.DrawFn) -> Any:
        names = [name for name in words if depth < 2 or name != "during"]
        name = draw(st.sampled_from([*names, "odd"]))
        form = draw(st.integers(0, 5))
        if name not in words or form == 0:
            return name
        word = words[name]
        if form == 1:
            return {name: draw(SCALARS)}
        if form == 2 and word.shorthand is not None:
            return {name: value_of(draw, word.shorthand.name, depth)}
        if form == 3:
            return {name: mapping_of(draw, word.keys, depth)}
        filled = {each.name: value_of(draw, each.name, depth) for each in word.required}
        return {name: filled | draw(st.just({}) | st.builds(lambda: mapping_of(draw, word.keys, depth)))}

    return entry()


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    document: dict[str, Any] = {
        "runcoord": 1,
        "scenario": "s",
        "says": "x",
        "given": {"destinations": {"chat": "accepts"}},
        "steps": [*PREAMBLE, *draw(st.lists(entry_strategy("step"), max_size=2))],
    }
    expect = draw(st.lists(entry_strategy("expectation"), max_size=1))
    if expect:
        document["expect"] = expect
    extra = {
        "tags": st.sampled_from([["slow"], [], ["a-b"], "slow", ["a", "b"]]),
        "origin": st.sampled_from([["R1"], [], "R1", [1]]),
        "needs": st.sampled_from([["leases"], ["lease"], [], "leases"]),
        "heal": st.sampled_from(["none", {"sweeps": 3}, {"sweeps": 0}, 3, {}]),
        "axes": st.sampled_from([{"store": ["memory"]}, {"store": []}, {"size": [1, 2]}, {"size": [0]}, {}]),
        "odd": SCALARS,
        "runcoord": st.sampled_from([1, 2, "1"]),
        "scenario": st.sampled_from(["s", "a b", "-x", 3]),
        "says": st.sampled_from(["x", " ", "x" * 501, 3]),
    }
    for key in draw(st.lists(st.sampled_from(sorted(extra)), unique=True, max_size=2)):
        document[key] = draw(extra[key])
    for key in draw(st.sampled_from([[], [], [], ["says"], ["steps"], ["runcoord"]])):
        document.pop(key, None)
    return document


#: What a schema cannot know: which names are introduced, and where.
ONLY_THE_LOADER = ("is used before anything introduces it", "is there already")


def agree(document: dict[str, Any]) -> bool:
    """Asserts that schema and compiler say the same of a document; gives what they say."""
    [found] = load_text(json.dumps(document), REGISTRY, PATH).scenarios
    if isinstance(found, Scenario):
        assert [error.message for error in VALIDATOR.iter_errors(document)] == [], document
        return True
    if not any(part in found.error.problem for part in ONLY_THE_LOADER):
        assert not VALIDATOR.is_valid(document), str(found.error)
    return False


@settings(max_examples=60)
@given(documents())
def test_the_schema_accepts_exactly_the_documents_that_the_compiler_accepts(document: dict[str, Any]) -> None:
    agree(document)


def document_with(section: str, entry: Any) -> dict[str, Any]:
    document: dict[str, Any] = {"runcoord": 1, "scenario": "s", "says": "x", "steps": PREAMBLE}
    document["given"] = {"destinations": {"chat": "accepts"}}
    if section == "given":
        return document | {"given": document["given"] | entry}
    if section == "expectation":
        return document | {"expect": [entry]}
    return document | {"steps": [*PREAMBLE, entry]}


def filled(word: Word) -> dict[str, Any]:
    steps: dict[str, Any] = {"step": "reboot", "do": ["reboot"]}
    values = RIGHT | steps
    return {each.name: values[each.name] for each in word.required}


EVERY_WORD = [*REGISTRY.steps.values(), *REGISTRY.expectations.values(), REGISTRY.givens["home"]]


@pytest.mark.parametrize("word", EVERY_WORD, ids=lambda word: f"{word.section}-{word.name}")
def test_schema_and_compiler_agree_on_each_word_with_one_value_of_every_shape(word: Word) -> None:
    right = filled(word)
    assert agree(document_with(word.section, {word.name: right}))
    if word.section != "given":
        agree(document_with(word.section, word.name))
    for value in VALUES:
        agree(document_with(word.section, {word.name: value}))
        for key in [*word.keys, "odd"]:
            agree(document_with(word.section, {word.name: right | {key: value}}))
    for key in right:
        fewer = {name: value for name, value in right.items() if name != key}
        assert not agree(document_with(word.section, {word.name: fewer}))


@pytest.mark.parametrize("key", [*KEYS, "odd"])
def test_schema_and_compiler_agree_on_each_key_of_a_scenario_with_every_shape(key: str) -> None:
    document = document_with("step", "reboot")
    for value in VALUES:
        agree(document | {key: value})
    agree({name: value for name, value in document.items() if name != key})


def test_the_schema_is_a_draft_7_schema_of_plain_values_and_the_same_each_time() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert json.dumps(SCHEMA) == json.dumps(schema(small_registry()))


def test_a_registry_without_words_has_a_valid_schema_that_accepts_no_scenario() -> None:
    empty = schema(Registry())
    jsonschema.Draft7Validator.check_schema(empty)
    document = {"runcoord": 1, "scenario": "s", "says": "x", "steps": ["reboot"]}
    assert not jsonschema.Draft7Validator(empty).is_valid(document)


def objects(fragment: Any) -> list[dict[str, Any]]:
    """Every schema that describes the keys of an object, below a fragment."""
    if isinstance(fragment, list):
        return [each for inner in fragment for each in objects(inner)]
    if not isinstance(fragment, dict):
        return []
    inner = [each for value in fragment.values() for each in objects(value)]
    return (
        [fragment, *inner] if isinstance(fragment.get("properties"), dict) and "type" in fragment else inner
    )


def test_every_key_is_explained_and_none_is_let_through() -> None:
    found = objects(SCHEMA)
    assert len(found) > 15
    for each in found:
        assert each["additionalProperties"] is False
        for name, fragment in each["properties"].items():
            assert fragment["description"], name


def test_the_reference_page_explains_every_word_argument_and_name() -> None:
    page = reference_page(REGISTRY)
    for words in (REGISTRY.steps, REGISTRY.givens, REGISTRY.expectations):
        for word in words.values():
            assert f"#### `{word.name}`\n\n{word.says}" in page
            for argument in word.arguments:
                assert f"| `{argument.name}`" in page
    for names in (
        REGISTRY.axes,
        REGISTRY.capabilities,
        REGISTRY.moments,
        REGISTRY.refusals,
        REGISTRY.options,
    ):
        for name in names:
            assert f"| `{name}` |" in page
    assert "```yaml\ndestinations: {chat: accepts}\n```" in page
    assert "| `run` *(direct)* | the run | a name of a run | required |" in page
    assert "Does claim. Needs the capability `leases`." in page
    assert "Does reboot. May stand alone." in page


def test_the_reference_page_is_sound_markdown_and_the_same_each_time() -> None:
    page = reference_page(REGISTRY)
    assert page == reference_page(small_registry())
    assert page.endswith("\n")
    assert "\n\n\n" not in page
    rows = [line for line in page.splitlines() if line.startswith("|")]
    tables = page.split("\n\n")
    for table in tables:
        if table.startswith("|"):
            assert len({line.replace("\\|", "").count("|") for line in table.splitlines()}) == 1
    assert len(rows) > 60


def test_a_bar_or_a_line_break_in_a_meaning_does_not_break_a_table() -> None:
    registry = Registry()
    registry.capability("c", says="one | two\nthree")
    assert "| `c` | one \\| two three |" in reference_page(registry)
