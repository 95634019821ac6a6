"""One word of the vocabulary, and what a word must fulfil before it is registered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from runcoord.values import value

from ._compound_kinds import Argument, CrashAt, Either, ListOf, Mapping, Record
from ._kinds import Flag, Kind, Name, Refusal

Section = Literal["step", "given", "expectation"]

_WORD = re.compile(r"[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*\Z")

STANDARD_OPTIONS: tuple[Argument, ...] = (
    Argument("refused", Refusal(), "the refusal that must come; being accepted is then the failure"),
    Argument(
        "may_refuse", Flag(), "being refused is as right as being accepted; what counts is what is then so"
    ),
    Argument("by", Name("owner"), "the owner that does it"),
    Argument("with", Name("handle"), "the handle to use, from an earlier step that says 'as'"),
    Argument("crash_at", CrashAt(), "where in this step its owner crashes"),
    Argument("as", Name("handle", defines=True, once=True), "a name for what this step gives, for later"),
)
"""Options that a step may take, in the order in which they are read. 'as' is last: a step cannot use
what it gives."""


class VocabularyError(Exception):
    """A word cannot be registered as declared. Nothing was registered. Says which word and what to change."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of the language and the function attached to it.

    ``key`` are, for an expectation, the arguments that say what it is about: two expectations with the same
    key must not contradict each other.
    """

    section: Section
    name: str
    group: str
    says: str
    capability: str | None
    arguments: tuple[Argument, ...]
    options: tuple[Argument, ...]
    value: Kind | None
    key: tuple[str, ...]
    example: str
    function: Callable[..., Any] | None
    shorthand: Argument | None = field(init=False)
    required: tuple[Argument, ...] = field(init=False)
    defaults: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        shorthands = [each for each in self.arguments if each.shorthand]
        object.__setattr__(self, "shorthand", shorthands[0] if shorthands else None)
        object.__setattr__(self, "required", tuple(each for each in self.arguments if each.required))
        object.__setattr__(self, "defaults", {each.name: each.default for each in self.arguments})

    @property
    def keys(self) -> list[str]:
        """All keys that a mapping after the word may have."""
        return [each.name for each in (*self.arguments, *self.options)]


@value
class Axis:
    """Something that a scenario is run with several values of; ``default`` holds where it is not named."""

    name: str
    kind: Kind
    says: str
    default: Any


def from_where(word: Word) -> str:
    """Who registered a word, for a message."""
    module = getattr(word.function, "__module__", None)
    return f", by {module}.{getattr(word.function, '__qualname__', '?')}" if module else ""


def check_name(what: str, name: str) -> None:
    """Words are lower case with ``_`` or ``-`` between their parts."""
    if _WORD.match(name) is None:
        raise VocabularyError(f"{what} '{name}': use lower case letters, digits, and '_' or '-' between them")


def check_arguments(
    what: str, arguments: tuple[Argument, ...], value: Kind | None, options: tuple[str, ...]
) -> None:
    """That the arguments of one word are complete and agree with each other."""
    if value is not None and arguments:
        raise VocabularyError(f"{what}: declare either 'value' or 'arguments', not both")
    seen: set[str] = set(options)
    for each in arguments:
        check_name(f"{what}: argument", each.name)
        if not each.says.strip():
            raise VocabularyError(f"{what}: argument '{each.name}' has an empty 'says'")
        if each.name in seen:
            raise VocabularyError(f"{what}: '{each.name}' is declared twice, as an argument or an option")
        if each.required and each.default is not None:
            raise VocabularyError(f"{what}: argument '{each.name}' is required, so it can have no default")
        seen.add(each.name)
    shorthands = [each for each in arguments if each.shorthand]
    if len(shorthands) > 1:
        raise VocabularyError(f"{what}: '{shorthands[1].name}' is a second shorthand; only one can be")
    if shorthands and "mapping" in shorthands[0].kind.shapes and len(shorthands[0].kind.shapes) == 1:
        raise VocabularyError(
            f"{what}: the shorthand '{shorthands[0].name}' is a mapping, which would be read as arguments; "
            "declare the word with 'value' instead"
        )


def needed_within(kind: Kind) -> Iterator[str]:
    """Every capability that something stated inside of a value of this kind needs."""
    if isinstance(kind, ListOf):
        yield from needed_within(kind.kind)
    elif isinstance(kind, Mapping):
        yield from needed_within(kind.names)
        yield from needed_within(kind.kind)
    elif isinstance(kind, Either):
        for each in kind.kinds:
            yield from needed_within(each)
    elif isinstance(kind, Record):
        for argument in kind.arguments.values():
            yield from argument.all_needs()
            yield from needed_within(argument.kind)


def introduces(kind: Kind, space: str) -> bool:
    """Whether a value of this kind can introduce a name of the space."""
    if isinstance(kind, Name):
        return kind.defines and kind.space == space
    if isinstance(kind, ListOf):
        return introduces(kind.kind, space)
    if isinstance(kind, Mapping):
        return introduces(kind.names, space) or introduces(kind.kind, space)
    if isinstance(kind, Either):
        return any(introduces(each, space) for each in kind.kinds)
    if isinstance(kind, Record):
        return any(introduces(each.kind, space) for each in kind.arguments.values())
    return False
