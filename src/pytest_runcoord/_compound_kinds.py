"""Kinds that are made of other kinds, and kinds whose values are steps."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from typing import Any, TypeAlias

from runcoord.values import value

from ._kinds import Count, Kind, Moment, Schema
from ._limits import MAX_LIST
from ._nodes import ListNode, MappingNode, Node, shape
from ._positions import ScenarioError, did_you_mean, shown
from ._scope import Scope, Vocabulary

Needs: TypeAlias = MappingOf[Any, str]
"""The capability that a value needs, by value."""


@value
class ListOf(Kind):
    """A list of values of one kind; the value is a tuple."""

    kind: Kind
    min: int = 0
    max: int = MAX_LIST
    shapes = frozenset({"list"})

    def parse(self, node: Node, scope: Scope) -> tuple[Any, ...]:
        if type(node) is not ListNode:
            raise scope.misfit(node, "a list", "write a list: [one, two]")
        if not self.min <= len(node.items) <= self.max:
            raise scope.wrong(
                node,
                f"the list has {len(node.items)} entries",
                f"write at least {self.min} and at most {self.max}",
            )
        parse = self.kind.parse
        return tuple([parse(each, scope) for each in node.items])

    def schema(self, vocabulary: Vocabulary) -> Schema:
        return {
            "type": "array",
            "minItems": self.min,
            "maxItems": self.max,
            "items": self.kind.schema(vocabulary),
        }

    def describe(self) -> str:
        return f"a list of values, each {self.kind.describe()}"


@value
class Mapping(Kind):
    """A mapping whose keys are ``names`` (usually a :class:`Name` that defines) and values of one kind."""

    kind: Kind
    names: Kind
    min: int = 1
    max: int = MAX_LIST
    shapes = frozenset({"mapping"})

    def parse(self, node: Node, scope: Scope) -> dict[str, Any]:
        if type(node) is not MappingNode:
            raise scope.misfit(node, "a mapping", f"write {{name: value}}, names: {self.names.describe()}")
        if not self.min <= len(node.entries) <= self.max:
            raise scope.wrong(
                node,
                f"the mapping has {len(node.entries)} entries",
                f"write at least {self.min} and at most {self.max}",
            )
        values = {}
        for key, each in node.entries.items():
            name = self.names.parse(node.key_node(key), scope)
            values[name] = self.kind.parse(each, scope)
        return values

    def schema(self, vocabulary: Vocabulary) -> Schema:
        return {
            "type": "object",
            "minProperties": self.min,
            "maxProperties": self.max,
            "propertyNames": self.names.schema(vocabulary),
            "additionalProperties": self.kind.schema(vocabulary),
        }

    def describe(self) -> str:
        return f"a mapping of {self.names.describe()} to {self.kind.describe()}"


@value
class Argument:
    """One key of a word or of a :class:`Record`: its kind and what it means.

    Absent it takes its ``default``, unless it is ``required``. A word may have one ``shorthand``: the
    argument that a value written directly after the word fills, ``crash: gw1`` for ``crash: {owner: gw1}``.

    A scenario that states it needs the capability ``needs``; where that is a mapping, only one that states
    one of its keys as the value.
    """

    name: str
    kind: Kind
    says: str
    required: bool = False
    default: Any = None
    shorthand: bool = False
    needs: str | Needs = ""

    def needed(self, value: Any) -> str:
        """The capability that a scenario needs which states this value; empty where that is none."""
        return self.needs if isinstance(self.needs, str) else self.needs.get(value, "")

    def all_needs(self) -> tuple[str, ...]:
        """Every capability that some value of it needs, each once, in order."""
        if isinstance(self.needs, str):
            return (self.needs,) if self.needs else ()
        return tuple(dict.fromkeys(self.needs.values()))

    def described(self) -> str:
        """What it means, and what stating it needs, as an editor shows it."""
        needs = self.says_needs()
        return f"{self.says} ({needs})" if needs else self.says

    def says_needs(self, mark: str = "") -> str:
        """What stating it needs, in words; each name between marks. Empty where nothing is needed."""
        if isinstance(self.needs, str):
            return f"needs {mark}{self.needs}{mark}" if self.needs else ""
        by_need = {each: [v for v, need in self.needs.items() if need == each] for each in self.all_needs()}
        return ", ".join(
            f"{' or '.join(f'{mark}{value}{mark}' for value in values)} needs {mark}{each}{mark}"
            for each, values in by_need.items()
        )


class Record(Kind):
    """A mapping with known keys; the value is a dict that has every one of them, defaults filled in."""

    __slots__ = ("arguments",)
    shapes = frozenset({"mapping"})

    def __init__(self, *arguments: Argument) -> None:
        self.arguments = {argument.name: argument for argument in arguments}

    def parse(self, node: Node, scope: Scope) -> dict[str, Any]:
        if type(node) is not MappingNode:
            raise scope.misfit(node, self.describe(), f"write a mapping with {', '.join(self.arguments)}")
        for key, each in node.entries.items():
            if key not in self.arguments:
                raise scope.wrong_key(each, f"unknown key {shown(key)}", did_you_mean(key, self.arguments))
        values = {}
        for name, argument in self.arguments.items():
            found = node.entries.get(name)
            if found is not None:
                values[name] = argument.kind.parse(found, scope)
                if argument.needs:
                    scope.need_stated(argument.needed(values[name]), found)
            elif argument.required:
                raise scope.wrong(node, f"'{name}' is missing", f"add {name}: {argument.kind.describe()}")
            else:
                values[name] = argument.default
        return values

    def schema(self, vocabulary: Vocabulary) -> Schema:
        return {
            "type": "object",
            "additionalProperties": False,
            "required": [name for name, argument in self.arguments.items() if argument.required],
            "properties": {
                name: {"description": argument.described(), **argument.kind.schema(vocabulary)}
                for name, argument in self.arguments.items()
            },
        }

    def describe(self) -> str:
        return f"a mapping with {', '.join(self.arguments)}"


class Either(Kind):
    """A value of one of several kinds; the first that fits is taken."""

    __slots__ = ("kinds",)

    def __init__(self, *kinds: Kind) -> None:
        self.kinds = kinds

    @property
    def shapes(self) -> frozenset[str]:
        return frozenset[str]().union(*(kind.shapes for kind in self.kinds))

    def parse(self, node: Node, scope: Scope) -> Any:
        found = shape(node)
        fitting = [kind for kind in self.kinds if found in kind.shapes]
        for kind in fitting[:-1]:
            # What a kind introduced before it failed is forgotten with it.
            names = {space: dict(known) for space, known in scope.names.items()}
            needed = dict(scope.capabilities)
            try:
                return kind.parse(node, scope)
            except ScenarioError:
                scope.names, scope.capabilities = names, needed
        if not fitting:
            raise scope.misfit(node, self.describe(), f"write {self.describe()}")
        try:
            return fitting[-1].parse(node, scope)
        except ScenarioError as error:
            if len(fitting) == 1:
                raise
            raise scope.wrong(
                node,
                f"{shown(str(getattr(node, 'written', found)))} fits none of what is accepted",
                f"write {self.describe()}",
            ) from error

    def schema(self, vocabulary: Vocabulary) -> Schema:
        return {"anyOf": [kind.schema(vocabulary) for kind in self.kinds]}

    def describe(self) -> str:
        return ", or ".join(kind.describe() for kind in self.kinds)


@value
class OneStep(Kind):
    """One step, as in the list of steps; the value is a compiled step."""

    shapes = frozenset({"mapping", "text"})

    def parse(self, node: Node, scope: Scope) -> Any:
        return scope.read_step(node, scope)

    def schema(self, vocabulary: Vocabulary) -> Schema:
        return {"$ref": "#/definitions/step"}

    def describe(self) -> str:
        return "a step"


@value
class Steps(Kind):
    """A list of steps that are done in order; the value is a tuple of compiled steps."""

    shapes = frozenset({"list"})

    def parse(self, node: Node, scope: Scope) -> tuple[Any, ...]:
        if type(node) is not ListNode or not node.items:
            raise scope.misfit(node, self.describe(), "write a list of steps, each '- verb: ...'")
        read_step = scope.read_step
        return tuple([read_step(each, scope) for each in node.items])

    def schema(self, vocabulary: Vocabulary) -> Schema:
        return {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/step"}}

    def describe(self) -> str:
        return "a list of steps"


@value
class Expectations(Kind):
    """A list of expectations that must hold at this moment; the value is a tuple of compiled expectations."""

    shapes = frozenset({"list"})

    def parse(self, node: Node, scope: Scope) -> tuple[Any, ...]:
        return scope.read_expectations(node)

    def schema(self, vocabulary: Vocabulary) -> Schema:
        return {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/expectation"}}

    def describe(self) -> str:
        return "a list of expectations"


@value
class CrashPoint:
    """Where to crash: at a named moment, or at the n-th effect of the step, counted from 1. One is None."""

    moment: str | None = None
    effect: int | None = None

    def __str__(self) -> str:
        return self.moment if self.moment is not None else f"effect {self.effect}"


@value
class CrashAt(Kind):
    """A moment by name, or ``{effect: n}``; the value is a :class:`CrashPoint`."""

    shapes = frozenset({"text", "mapping"})

    def parse(self, node: Node, scope: Scope) -> CrashPoint:
        if type(node) is MappingNode:
            scope.need("ports", node)
            return CrashPoint(effect=_EFFECT.parse(node, scope)["effect"])
        return CrashPoint(moment=Moment().parse(node, scope))

    def schema(self, vocabulary: Vocabulary) -> Schema:
        return {"anyOf": [Moment().schema(vocabulary), _EFFECT.schema(vocabulary)]}

    def describe(self) -> str:
        return "a name of a moment, or {effect: n} for the n-th effect of the step"


_EFFECT = Record(
    Argument("effect", Count(1, 100_000), "which effect of the step, counted from 1", required=True)
)
