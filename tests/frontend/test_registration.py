"""What may be registered, what is refused at once, and what a registry knows afterwards."""

# ruff: noqa: E501 (the tables read best with one case in a line)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from small_vocabulary import PATH, small_registry, steps

from pytest_runcoord.scenario import InvalidScenario, Scenario, load_text
from pytest_runcoord.vocabulary import (
    Argument,
    Choice,
    Count,
    Either,
    Json,
    Kind,
    ListOf,
    Mapping,
    Name,
    Record,
    Registry,
    Text,
    VocabularyError,
)


def word(*args: object) -> None:
    """Stands for the function of a word."""


def declare(registry: Registry, name: str = "w", **changes: Any) -> None:
    said: dict[str, Any] = {"group": "g", "says": "It is said."} | changes
    registry.step(name, **said)(word)


TEXT = Argument("a", Text(), "an a")

REFUSED: dict[str, tuple[Callable[[Registry], Any], str]] = {
    "a step twice": (lambda r: declare(r, "claim"), "step 'claim' is registered already, by small_vocabulary"),
    "a given twice": (lambda r: r.given("home", group="g", says="x")(word), "given 'home' is registered already"),
    "an expectation twice": (lambda r: r.expectation("run", group="g", says="x")(word), "'run' is registered"),
    "a capability twice": (lambda r: r.capability("leases", says="x"), "capability 'leases' is registered already"),
    "a moment twice": (lambda r: r.moment("after-read", says="x"), "moment 'after-read' is registered already"),
    "a refusal twice": (lambda r: r.refusal("lease-lost", says="x"), "refusal 'lease-lost' is registered already"),
    "an axis twice": (lambda r: r.axis("store", Text(), says="x"), "axis 'store' is registered already"),
    "an option twice": (lambda r: r.option(Argument("by", Text(), "x")), "option 'by' is registered already"),
    "a step that says nothing": (lambda r: declare(r, says=" "), "step 'w': 'says' is empty"),
    "a step without group": (lambda r: declare(r, group=""), "step 'w': 'group' is empty"),
    "a capability that says nothing": (lambda r: r.capability("c", says=""), "capability 'c': 'says' is empty"),
    "an argument that says nothing": (
        lambda r: declare(r, arguments=[Argument("a", Text(), "")]), "step 'w': argument 'a' has an empty 'says'",
    ),
    "an argument twice": (lambda r: declare(r, arguments=[TEXT, TEXT]), "'a' is declared twice"),
    "an argument that is an option too": (
        lambda r: declare(r, arguments=[Argument("by", Text(), "x")], options=["by"]), "'by' is declared twice",
    ),
    "a required argument with a default": (
        lambda r: declare(r, arguments=[Argument("a", Text(), "x", required=True, default="y")]),
        "'a' is required, so it can have no default",
    ),
    "two shorthands": (
        lambda r: declare(r, arguments=[Argument(n, Text(), "x", shorthand=True) for n in ("a", "b")]),
        "'b' is a second shorthand",
    ),
    "a mapping as shorthand": (
        lambda r: declare(r, arguments=[Argument("a", Record(TEXT), "x", shorthand=True)]),
        "the shorthand 'a' is a mapping, which would be read as arguments",
    ),
    "value and arguments": (lambda r: declare(r, arguments=[TEXT], value=Text()), "either 'value' or 'arguments'"),
    "an unknown capability": (lambda r: declare(r, capability="lease"), "did you mean 'leases'?"),
    "an unknown option": (lambda r: declare(r, options=["bye"]), "no option 'bye'; did you mean 'by'?"),
    "an unknown key": (
        lambda r: r.expectation("w", group="g", says="x", key=["b"], arguments=[TEXT])(word),
        "key 'b' is none of its arguments",
    ),
    "a required option": (lambda r: r.option(Argument("a", Text(), "x", required=True)), "neither required nor"),
    "a name in capitals": (lambda r: declare(r, "Claim"), "step 'Claim': use lower case letters"),
    "a name with blanks": (lambda r: declare(r, "a b"), "step 'a b': use lower case letters"),
    "an argument in capitals": (
        lambda r: declare(r, arguments=[Argument("A", Text(), "x")]), "argument 'A': use lower case",
    ),
}  # fmt: skip


def known(registry: Registry) -> list[list[str]]:
    tables = (registry.steps, registry.givens, registry.expectations, registry.axes, registry.capabilities)
    return [list(each) for each in (*tables, registry.moments, registry.refusals, registry.options)]


@pytest.mark.parametrize(("register", "message"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_registration_is_refused_at_once_and_changes_nothing(
    register: Callable[[Registry], Any], message: str
) -> None:
    registry = small_registry()
    with pytest.raises(VocabularyError, match=None) as raised:
        register(registry)
    assert message in str(raised.value)
    assert known(registry) == known(small_registry())


def test_a_declaration_that_is_attached_later_cannot_replace_a_word() -> None:
    registry = Registry()
    attach = registry.step("w", group="g", says="One.")
    declare(registry, says="Two.")
    with pytest.raises(VocabularyError, match="registered already"):
        attach(word)
    assert registry.steps["w"].says == "Two."


def test_the_decorator_gives_the_function_back_and_keeps_it_with_the_word() -> None:
    registry = Registry()
    assert registry.step("w", group="g", says="x")(word) is word
    assert registry.steps["w"].function is word


def test_a_copy_takes_further_words_without_changing_the_original() -> None:
    original = small_registry()
    other = original.copy()
    assert known(other) == known(original)
    declare(other, "downstream")
    other.refusal("too-late", says="x", excuses=["owner"])
    assert known(original) == known(small_registry())
    for registry, kind in ((other, Scenario), (original, InvalidScenario)):
        [found] = load_text(
            steps("- downstream\n- claim: {run: r, refused: unknown-run}"), registry, PATH
        ).scenarios
        assert isinstance(found, kind)
    assert other.excused_by("too-late") == {"owner"}
    assert other.excused_by("unknown-run") == {"run"}


def test_an_option_of_ones_own_can_be_taken_by_words() -> None:
    registry = Registry()
    registry.option(Argument("patience", Count(1, 9), "how often it is tried"))
    declare(registry, options=["patience"])
    [found] = load_text(steps("- w: {patience: 3}"), registry, PATH).scenarios
    assert isinstance(found, Scenario)
    assert found.steps[0].options == {"patience": 3}


def test_the_views_of_a_registry_cannot_be_written() -> None:
    with pytest.raises(TypeError):
        small_registry().steps["x"] = small_registry().steps["claim"]  # type: ignore[index]


NEW = Name("thing", defines=True)


@pytest.mark.parametrize(
    "kind",
    [NEW, ListOf(NEW), Mapping(Json(), names=NEW), Mapping(NEW, names=Text()), Either(Count(), NEW),
     Record(Argument("a", NEW, "x"))],
)  # fmt: skip
def test_a_remedy_knows_every_word_that_introduces_a_name(kind: Kind) -> None:
    registry = Registry()
    declare(registry, "maker", arguments=[Argument("a", kind, "x")])
    registry.given("things", group="g", says="x", value=kind)(word)
    declare(
        registry, "user", arguments=[Argument("a", Name("thing"), "x"), Argument("b", Choice(["c"]), "x")]
    )
    assert registry.introducers("thing") == ["maker", "given.things"]
