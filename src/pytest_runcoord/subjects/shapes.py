"""What values in a line of JSON must be: each shape checks a value, and describes itself as JSON schema."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_runcoord._positions import did_you_mean

MAX_SHOWN = 60
"""Characters of a wrong value in a message."""


MAX_NAMED = 6
"""Words that are named where one of them is meant; where there are more, what they are is."""


class Misfit(Exception):
    """A value is not what it must be. ``problem`` says where and how."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.problem, self.remedy = problem, remedy


class Shape:
    """What a value must be. ``says`` names it in a message."""

    says = "any JSON value"

    def check(self, value: Any, at: str) -> None:
        """Raises :class:`Misfit` for what does not fit; ``at`` says where it stands."""

    def schema(self) -> dict[str, Any]:
        return {}

    def misfit(self, value: Any, at: str, remedy: str = "") -> Misfit:
        return Misfit(f"{at} is {shown(value)}, and must be {self.says}", remedy)


class Plain(Shape):
    """A value of one JSON type."""

    def __init__(self, says: str, kind: str, least: float | None = None) -> None:
        self.says, self.kind, self.least = says, kind, least

    def check(self, value: Any, at: str) -> None:
        kinds: dict[str, type | tuple[type, ...]] = {
            "string": str,
            "boolean": bool,
            "integer": int,
            "number": (int, float),
            "object": dict,
        }
        number = self.kind in ("integer", "number")
        wrong = not isinstance(value, kinds[self.kind]) or (number and isinstance(value, bool))
        if wrong or (number and not _possible(value, self.least)):
            raise self.misfit(value, at)

    def schema(self) -> dict[str, Any]:
        return {"type": self.kind} | ({} if self.least is None else {"minimum": self.least})


def _possible(value: float, least: float | None) -> bool:
    return math.isfinite(value) and (least is None or value >= least)


@dataclass(frozen=True)
class Constant(Shape):
    """One value and no other."""

    value: Any

    @property
    def says(self) -> str:  # type: ignore[override]  # of the value
        return json.dumps(self.value)

    def check(self, value: Any, at: str) -> None:
        if type(value) is not type(self.value) or value != self.value:
            raise self.misfit(value, at)

    def schema(self) -> dict[str, Any]:
        return {"const": self.value}


@dataclass(frozen=True)
class Word(Shape):
    """One of some words, or one that begins with ``own``, if that is given."""

    words: tuple[str, ...]
    what: str
    """What such a word is, as in "a moment"."""
    own: str = ""

    @property
    def says(self) -> str:  # type: ignore[override]  # of the words
        if len(self.words) > MAX_NAMED:
            return self.what
        return f"{', '.join(self.words[:-1])} or {self.words[-1]}" if self.words[1:] else self.words[0]

    def check(self, value: Any, at: str) -> None:
        if not isinstance(value, str) or not (value in self.words or self._is_own(value)):
            raise self.misfit(value, at, sentence(did_you_mean(str(value), self.words)))

    def _is_own(self, word: str) -> bool:
        return bool(self.own) and word.startswith(self.own)

    def schema(self) -> dict[str, Any]:
        known = {"enum": list(self.words)}
        return {"anyOf": [known, {"type": "string", "pattern": f"^{self.own}"}]} if self.own else known


@dataclass(frozen=True)
class OrNull(Shape):
    """A value, or null."""

    shape: Shape

    @property
    def says(self) -> str:  # type: ignore[override]  # of the other
        return f"{self.shape.says}, or null"

    def check(self, value: Any, at: str) -> None:
        if value is not None:
            self.shape.check(value, at)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.shape.schema(), {"type": "null"}]}


@dataclass(frozen=True)
class Either(Shape):
    """One of two, told apart by whether it is a table."""

    simple: Shape
    table: Shape

    @property
    def says(self) -> str:  # type: ignore[override]  # of both
        return f"{self.simple.says}, or {self.table.says}"

    def check(self, value: Any, at: str) -> None:
        (self.table if isinstance(value, dict) else self.simple).check(value, at)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.simple.schema(), self.table.schema()]}


@dataclass(frozen=True)
class NumberOr(Shape):
    """A number, or one of some words for what no number in JSON says."""

    number: Plain
    words: Word

    @property
    def says(self) -> str:  # type: ignore[override]  # of both
        return f"{self.number.says}, or {self.words.says}"

    def check(self, value: Any, at: str) -> None:
        (self.words if isinstance(value, str) else self.number).check(value, at)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.number.schema(), self.words.schema()]}


@dataclass(frozen=True)
class ListOf(Shape):
    """A list."""

    shape: Shape
    most: int

    @property
    def says(self) -> str:  # type: ignore[override]  # of the members
        return f"a list of at most {self.most:,}"

    def check(self, value: Any, at: str) -> None:
        if not isinstance(value, list) or len(value) > self.most:
            raise self.misfit(value, at)
        for number, each in enumerate(value, 1):
            self.shape.check(each, f"entry {number} of {at}")

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": self.shape.schema(), "maxItems": self.most}


@dataclass(frozen=True)
class TableOf(Shape):
    """A table whose names are free."""

    shape: Shape
    most: int

    @property
    def says(self) -> str:  # type: ignore[override]  # of the values
        return f"a table of {self.shape.says}"

    def check(self, value: Any, at: str) -> None:
        if not isinstance(value, dict) or len(value) > self.most:
            raise self.misfit(value, at)
        for name, each in value.items():
            self.shape.check(each, f"{name!r} in {at}")

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": self.shape.schema(), "maxProperties": self.most}


@dataclass(frozen=True)
class Field:
    """One name of a table."""

    name: str
    shape: Shape
    says: str
    required: bool = False


class Table(Shape):
    """A table with known names. Others are refused, but for those that begin with ``own``, if it is given.

    ``defined`` is the name under which a schema defines it once, where it stands at several places.
    """

    def __init__(self, *fields: Field, own: str = "", defined: str = "") -> None:
        self.fields: Mapping[str, Field] = {each.name: each for each in fields}
        self.own, self.defined = own, defined
        self.says = f"a table of {', '.join(self.fields)}"

    def check(self, value: Any, at: str) -> None:
        if not isinstance(value, dict):
            raise self.misfit(value, at)
        for name, each in value.items():
            known = self.fields.get(name)
            if known is not None:
                known.shape.check(each, f"{name!r} in {at}" if at else f"{name!r}")
            elif not (self.own and name.startswith(self.own)):
                where = at or "the line"
                raise Misfit(
                    f"{where} has an unknown field {shown(name)}", sentence(did_you_mean(name, self.fields))
                )
        missing = [each.name for each in self.fields.values() if each.required and each.name not in value]
        if missing:
            raise Misfit(f"{at or 'the line'} lacks {missing[0]!r}", f"Add {missing[0]!r}.")

    def schema(self) -> dict[str, Any]:
        return {"$ref": f"#/definitions/{self.defined}"} if self.defined else self.definition()

    def definition(self) -> dict[str, Any]:
        """The whole schema, also where it is defined elsewhere."""
        made: dict[str, Any] = {
            "type": "object",
            "properties": {
                each.name: _described(each.says, each.shape.schema()) for each in self.fields.values()
            },
            "additionalProperties": False,
        }
        if self.own:
            made["patternProperties"] = {f"^{self.own}": {}}
        required = [each.name for each in self.fields.values() if each.required]
        return made | ({"required": required} if required else {})


def _described(says: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A schema with its description; nothing may stand beside a reference."""
    return {"description": says, **({"allOf": [schema]} if "$ref" in schema else schema)}


def sentence(text: str) -> str:
    """A remedy as a message says it."""
    return text[:1].upper() + text[1:]


def shown(value: Any) -> str:
    """A value in a message."""
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


def words(what: str, known: Iterable[str], own: str = "") -> Word:
    """One of these words, or one that begins with ``own``."""
    return Word(tuple(known), what, own)


ANYTHING = Shape()
TEXT = Plain("a text", "string")
FLAG = Plain("true or false", "boolean")
COUNT = Plain("a whole number, 0 or more", "integer", 0)
NUMBER = Plain("a number", "number")
SECONDS = Plain("a number of seconds, 0 or more", "number", 0)
ANY_TABLE = Plain("a table", "object")
