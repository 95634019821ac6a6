"""Kinds of simple values: each reads one value, describes itself, and gives its JSON schema.

A kind is a frozen dataclass with three methods: ``parse(node, scope)`` gives the value or raises
:class:`~pytest_runcoord._positions.ScenarioError` at its line and column, ``schema(vocabulary)`` gives the
draft-07 fragment that accepts the same values, ``describe()`` says in a few words what to write. ``shapes``
names the shapes of values that it can accept at all, which is how :class:`Either` chooses. A project may
write kinds of its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from runcoord.values import value

from ._limits import (
    MAX_COUNT,
    MAX_DURATION_SECONDS,
    MAX_NAME_CHARACTERS,
    MAX_TEXT_CHARACTERS,
)
from ._nodes import ListNode, MappingNode, Node, ScalarNode
from ._positions import ScenarioError, did_you_mean, shown
from ._scope import Scope, Vocabulary

Schema = dict[str, Any]

ALL_SHAPES = frozenset({"text", "number", "flag", "null", "list", "mapping"})

NAME_PATTERN = rf"^[A-Za-z0-9_][A-Za-z0-9_.-]{{0,{MAX_NAME_CHARACTERS - 1}}}$"
_NAME = re.compile(NAME_PATTERN.removesuffix("$") + r"\Z")
_NAME_REMEDY = (
    f"use letters, digits, '_', '.' and '-', not first '.' or '-', at most {MAX_NAME_CHARACTERS} characters"
)


class Kind:
    """What an argument accepts. See the module for what a kind of one's own has to do."""

    __slots__ = ()

    @property
    def shapes(self) -> frozenset[str]:
        """The shapes of values that it can accept at all."""
        return ALL_SHAPES

    def parse(self, node: Node, scope: Scope) -> Any:
        """The value, or :class:`ScenarioError` at its place."""
        raise NotImplementedError

    def schema(self, vocabulary: Vocabulary) -> Schema:
        """A JSON schema (draft-07) that accepts what :meth:`parse` accepts, as far as a schema can say it."""
        raise NotImplementedError

    def describe(self) -> str:
        """What to write, in a few words that begin with an article."""
        raise NotImplementedError


def text_of(node: Node) -> str | None:
    """The text of a node; None for every other value."""
    if type(node) is ScalarNode and type(node.value) is str:
        return node.value
    return None


@value
class Text(Kind):
    """Text of a bounded length in characters; not only blanks, unless ``may_be_empty``."""

    max_length: int = MAX_TEXT_CHARACTERS
    may_be_empty: bool = False
    shapes = frozenset({"text"})

    def parse(self, node: Node, scope: Scope) -> str:
        text = text_of(node)
        if text is None:
            raise scope.not_text(node, self.describe())
        if len(text) > self.max_length:
            raise scope.wrong(
                node, f"the text has {len(text)} characters", f"at most {self.max_length} are allowed"
            )
        if not self.may_be_empty and not text.strip():
            raise scope.wrong(node, "the text is empty", "write at least one word")
        return text

    def schema(self, vocabulary: Vocabulary) -> Schema:
        schema: Schema = {"type": "string", "maxLength": self.max_length}
        return schema if self.may_be_empty else schema | {"pattern": r"\S"}

    def describe(self) -> str:
        return f"a text of at most {self.max_length} characters"


@value
class Name(Kind):
    """A name of one space, such as ``run``, ``owner``, ``destination``, ``handle``, ``process``.

    With ``defines`` it is introduced here, again and again if need be (the same run may be submitted twice),
    or only ``once``. Otherwise it must have been introduced above, unless it is ``free``: then only its
    characters are checked, for what a scenario may name without its being there. A name that ``also`` this
    other space has will do too.
    """

    space: str
    defines: bool = False
    free: bool = False
    once: bool = False
    also: str = ""
    shapes = frozenset({"text"})

    def parse(self, node: Node, scope: Scope) -> str:
        name = node.value if type(node) is ScalarNode else None
        if type(name) is not str:
            raise scope.not_text(node, self.describe())
        if self.also and name in scope.names.get(self.also, ()):
            return name
        known = scope.names.get(self.space)
        if known is not None and name in known:
            if self.once:
                raise scope.wrong(
                    node,
                    f"{self.space} {shown(name)} is there already, since line {known[name]}",
                    "choose another name",
                )
            return name
        if _NAME.match(name) is None:
            raise scope.wrong(node, f"{shown(name)} is not a name", _NAME_REMEDY)
        if self.defines:
            scope.introduce(self.space, name, node.line)
        elif not self.free and self.space not in scope.excused and scope.certain:
            assert isinstance(node, ScalarNode)
            raise scope.unknown_name(node, self.space)
        return name

    def schema(self, vocabulary: Vocabulary) -> Schema:
        return {"type": "string", "pattern": NAME_PATTERN}

    def describe(self) -> str:
        article = "an" if self.space[:1] in "aeiou" else "a"
        other = f" or {self.also}" if self.also else ""
        said = f"{article} {self.space}{other}"
        return f"a new name for {said}" if self.once else f"a name of {said}"


UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
"""Units of durations, in seconds."""

_DURATION = re.compile(r"(-?[0-9]{1,15}(?:\.[0-9]{1,9})?)(ms|s|m|h|d)\Z")


@value
class Duration(Kind):
    """A length of time with its unit, ``500ms``, ``90s``, ``1.5h``; the value is a float in seconds.

    Negative ones are refused unless ``may_be_negative``, for clocks that are set back.
    """

    may_be_negative: bool = False
    shapes = frozenset({"text"})

    def parse(self, node: Node, scope: Scope) -> float:
        text = text_of(node)
        found = _DURATION.match(text) if text is not None else None
        if found is None:
            raise self._misfit(node, scope)
        seconds = float(found[1]) * UNITS[found[2]]
        if seconds < 0 and not self.may_be_negative:
            raise scope.wrong(node, f"the duration {shown(text)} is negative", "write one of zero or more")
        if abs(seconds) > MAX_DURATION_SECONDS:
            raise scope.wrong(
                node,
                f"the duration {shown(text)} is too long",
                f"at most {MAX_DURATION_SECONDS / UNITS['d']:.0f}d are allowed",
            )
        return seconds

    def _misfit(self, node: Node, scope: Scope) -> ScenarioError:
        if isinstance(node, ScalarNode) and type(node.value) in (int, float):
            seconds = f"{node.written}s"
            example = seconds if _DURATION.match(seconds) else "90s"
            return scope.wrong(
                node,
                f"the duration {node.written} has no unit",
                f"write {example} for seconds; units are {', '.join(UNITS)}",
            )
        return scope.misfit(
            node, self.describe(), f"write a number and its unit: {', '.join(UNITS)}, as in 90s"
        )

    def schema(self, vocabulary: Vocabulary) -> Schema:
        sign = "-?" if self.may_be_negative else ""
        return {"type": "string", "pattern": rf"^{sign}[0-9]{{1,15}}(\.[0-9]{{1,9}})?(ms|s|m|h|d)$"}

    def describe(self) -> str:
        sign = " or -1h" if self.may_be_negative else ""
        return f"a duration such as 90s or 500ms{sign}"


@value
class Count(Kind):
    """A whole number within bounds that are both included."""

    min: int = 0
    max: int = MAX_COUNT
    shapes = frozenset({"number"})

    def parse(self, node: Node, scope: Scope) -> int:
        value = node.value if type(node) is ScalarNode else None
        if type(value) is not int:
            raise scope.misfit(node, self.describe(), f"write {self.describe()}")
        if not self.min <= value <= self.max:
            raise scope.wrong(node, f"{shown(value)} is out of range", f"write {self.describe()}")
        return value

    def schema(self, vocabulary: Vocabulary) -> Schema:
        return {"type": "integer", "minimum": self.min, "maximum": self.max}

    def describe(self) -> str:
        return f"a whole number from {self.min} to {self.max}"


@value
class Flag(Kind):
    """``true`` or ``false``."""

    shapes = frozenset({"flag"})

    def parse(self, node: Node, scope: Scope) -> bool:
        value = node.value if type(node) is ScalarNode else None
        if type(value) is not bool:
            raise scope.misfit(node, self.describe(), "write true or false, without quotes")
        return value

    def schema(self, vocabulary: Vocabulary) -> Schema:
        return {"type": "boolean"}

    def describe(self) -> str:
        return "true or false"


class Choice(Kind):
    """One of a few words. ``words`` is a mapping of words to their meanings, or only the words."""

    __slots__ = ("meanings",)
    shapes = frozenset({"text"})

    def __init__(self, words: dict[str, str] | Iterable[str]) -> None:
        self.meanings = dict(words) if isinstance(words, dict) else dict.fromkeys(words, "")

    def parse(self, node: Node, scope: Scope) -> str:
        text = text_of(node)
        if text is None:
            raise scope.misfit(node, self.describe())
        if text not in self.meanings:
            raise scope.wrong(
                node, f"{shown(text)} is not among the words for this", did_you_mean(text, self.meanings)
            )
        return text

    def schema(self, vocabulary: Vocabulary) -> Schema:
        return enumeration(self.meanings)

    def describe(self) -> str:
        return (
            f"one of {', '.join(self.meanings)}"
            if len(self.meanings) > 1
            else f"the word {next(iter(self.meanings))}"
        )


def enumeration(meanings: dict[str, str]) -> Schema:
    """A closed list of words; editors show the meaning of each."""
    schema: Schema = {"type": "string", "enum": list(meanings)}
    if any(meanings.values()):
        schema["markdownEnumDescriptions"] = list(meanings.values())
    return schema


@value
class Moment(Kind):
    """The name of an effect, from the closed list. The world's ports announce it."""

    shapes = frozenset({"text"})

    def parse(self, node: Node, scope: Scope) -> str:
        scope.need("moments", node)
        moment = _from_list(node, scope, "moment", scope.vocabulary.moments)
        scope.moments.setdefault(moment, scope.at(node))
        return moment

    def schema(self, vocabulary: Vocabulary) -> Schema:
        return {"$ref": "#/definitions/moment"}

    def describe(self) -> str:
        return "a name of a moment"


@value
class Refusal(Kind):
    """The name of a refusal, from the closed list."""

    shapes = frozenset({"text"})

    def parse(self, node: Node, scope: Scope) -> str:
        return _from_list(node, scope, "refusal", scope.vocabulary.refusals)

    def schema(self, vocabulary: Vocabulary) -> Schema:
        return {"$ref": "#/definitions/refusal"}

    def describe(self) -> str:
        return "a name of a refusal"


def _from_list(node: Node, scope: Scope, what: str, known: Iterable[str]) -> str:
    text = text_of(node)
    if text is None:
        raise scope.misfit(node, f"a name of a {what}", did_you_mean("", known))
    if text not in known:
        raise scope.wrong(node, f"there is no {what} {shown(text)}", did_you_mean(text, known))
    return text


@value
class Json(Kind):
    """Any value that JSON has too: for payloads and results. Gives new plain objects each time."""

    def parse(self, node: Node, scope: Scope) -> Any:
        if type(node) is ScalarNode:
            value = node.value
            if type(value) is float and not math.isfinite(value):
                raise scope.wrong(
                    node, f"JSON has no number {shown(node.written)}", "write it as text, quoted"
                )
            return value
        if type(node) is ListNode:
            return [self.parse(each, scope) for each in node.items]
        assert isinstance(node, MappingNode)
        return {key: self.parse(each, scope) for key, each in node.entries.items()}

    def schema(self, vocabulary: Vocabulary) -> Schema:
        return {}

    def describe(self) -> str:
        return "any plain value"
