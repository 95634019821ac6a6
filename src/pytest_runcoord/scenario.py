"""Scenario files as values: read, checked, compiled, and split into their variants. Nothing is run here.

:func:`load_file` and :func:`load_text` read a whole file. A file that cannot be read at all raises
:class:`ScenarioFileError`; a scenario that is wrong becomes an :class:`InvalidScenario` with its errors,
so that the other scenarios of the file still run. The words come from a
:class:`~pytest_runcoord.vocabulary.Registry`; how to add one is written there.

The keys of a scenario are a part of the language that no registry changes: ``runcoord``, ``scenario``,
``says``, ``origin``, ``tags``, ``needs``, ``given``, ``steps``, ``expect``, ``axes``, ``heal``.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ._compile import Compiler
from ._compound_kinds import Argument, Either, ListOf, Record
from ._faults import Faults
from ._forms import (
    AnyScenario,
    AxisChoice,
    Clause,
    Expectation,
    Given,
    InvalidScenario,
    Scenario,
    ScenarioFile,
    Step,
    Variant,
)
from ._kinds import NAME_PATTERN, Choice, Count, Kind, Name, Text
from ._limits import (
    DEFAULT_HEAL_SWEEPS,
    MAX_AXIS_VALUES,
    MAX_HEAL_SWEEPS,
    MAX_SAYS_CHARACTERS,
    MAX_VARIANTS,
)
from ._nodes import ListNode, MappingNode, Node, ScalarNode
from ._positions import Position, ScenarioError, ScenarioFileError, did_you_mean, nearest, shown
from ._scenario_text import decode, read_bytes
from ._scope import Scope
from ._strict_yaml import Document, read_documents
from .vocabulary import Registry

__all__ = [
    "HEADER",
    "KEYS",
    "VERSION",
    "AnyScenario",
    "AxisChoice",
    "Clause",
    "Expectation",
    "Given",
    "InvalidScenario",
    "Position",
    "Scenario",
    "ScenarioError",
    "ScenarioFile",
    "ScenarioFileError",
    "Step",
    "Variant",
    "compile_document",
    "load_file",
    "load_text",
    "variants",
]

VERSION = 1
"""The version of the language that is read here, the value of ``runcoord``."""

#: What a part of a variant's name cannot have; '-' stands between the parts.
_UNFIT = re.compile(r"[^A-Za-z0-9_.]+")
_TAG = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class _Tag(Kind):
    """A pytest mark: an identifier."""

    __slots__ = ()

    def parse(self, node: Node, scope: Scope) -> str:
        text = Text(100).parse(node, scope)
        if _TAG.match(text) is None:
            raise scope.wrong(node, f"{shown(text)} is not a tag", "use letters, digits and '_'")
        return text

    def schema(self, vocabulary: object) -> dict[str, Any]:
        return {"type": "string", "maxLength": 100, "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}

    def describe(self) -> str:
        return "a tag, an identifier as pytest marks have"


HEADER: tuple[Argument, ...] = (
    Argument(
        "scenario",
        Name("scenario", free=True),
        "its name, unique in the file and part of the test's id",
        required=True,
    ),
    Argument("says", Text(MAX_SAYS_CHARACTERS), "one sentence: what must hold", required=True),
    Argument("origin", ListOf(Text(200)), "where the failure was seen: findings, issues", default=()),
    Argument("tags", ListOf(_Tag()), "marks that pytest selects by: pytest -m TAG", default=()),
    Argument(
        "heal",
        Either(
            Record(Argument("sweeps", Count(1, MAX_HEAL_SWEEPS), "how many sweeps", required=True)),
            Choice({"none": "nothing is asked after the last step"}),
        ),
        "within how many recovery sweeps after the last step, without faults, everything must have converged",
    ),
)
"""The keys that are read by a kind alone."""

KEYS = ("runcoord", "scenario", "says", "origin", "tags", "needs", "given", "steps", "expect", "axes", "heal")
"""All keys of a scenario, in the order in which they are best written."""


def load_file(path: Path, registry: Registry, *, shown_as: str | None = None) -> ScenarioFile:
    """Reads a file; ``shown_as`` is its path in positions and messages, by default ``path`` itself.

    Raises :class:`ScenarioFileError` where it cannot be read at all.
    """
    name = str(path) if shown_as is None else shown_as
    return load_text(read_bytes(path, name), registry, name)


def load_text(data: bytes | str, registry: Registry, path: str) -> ScenarioFile:
    """Reads the content of a file, see :func:`load_file`."""
    text = decode(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data, path)
    taken: dict[str, int] = {}
    scenarios = [
        _unique(_compiled(document, registry, path), document, taken)
        for document in read_documents(text, path)
    ]
    return ScenarioFile(path, text, tuple(scenarios))


def _compiled(document: Document, registry: Registry, path: str) -> AnyScenario:
    try:
        if document.error is not None:
            raise document.error
        return compile_document(document.root, registry, path)
    except ScenarioError as error:
        return InvalidScenario(_name_in(document), document.position, error)


def _name_in(document: Document) -> str:
    """The scenario's name where it can be told, else ``document-N``."""
    root = document.root
    found = root.entries.get("scenario") if isinstance(root, MappingNode) else None
    name = found.value if isinstance(found, ScalarNode) else None
    if isinstance(name, str) and re.match(NAME_PATTERN.removesuffix("$") + r"\Z", name):
        return name
    return f"document-{document.number}"


def _unique(scenario: AnyScenario, document: Document, taken: dict[str, int]) -> AnyScenario:
    """A name that is taken makes a scenario invalid, under another name: both are shown, none is lost."""
    name = scenario.name
    if name not in taken:
        taken[name] = _name_line(document)
        return scenario
    other = next(
        each
        for each in (
            f"{name[:80]}.document-{document.number}{'_' * count}" for count in range(len(taken) + 1)
        )
        if each not in taken
    )
    taken[other] = _name_line(document)
    if isinstance(scenario, InvalidScenario):
        return InvalidScenario(other, scenario.position, scenario.error)
    assert isinstance(document.root, MappingNode)
    node = document.root.entries["scenario"]
    error = ScenarioError(
        Position(scenario.position.path, node.line, node.column),
        f"the scenario '{name}' is there already, in line {taken[name]}",
        "give it another name",
    )
    return InvalidScenario(other, scenario.position, error)


def _name_line(document: Document) -> int:
    root = document.root
    found = root.entries.get("scenario") if isinstance(root, MappingNode) else None
    return document.position.line if found is None else found.line


def compile_document(node: Node, registry: Registry, path: str) -> Scenario:
    """The compiled form of one document. Raises :class:`ScenarioError` for the first thing that is wrong;
    everything else that is stands in its ``others``."""
    compiler = Compiler(registry, path)
    scope = compiler.scope
    if not isinstance(node, MappingNode):
        raise scope.misfit(node, "a scenario", "write a mapping that begins with 'runcoord: 1'")
    entries = node.entries
    _check_version(node, scope)
    faults = Faults(scope)
    meant = set()
    for key, entry in entries.items():
        if key not in KEYS:
            meant.add(nearest(key, KEYS))
            faults.note(scope.wrong_key(entry, f"unknown key {shown(key)}", did_you_mean(key, KEYS)))
    header: dict[str, Any] = {}
    for argument in HEADER:
        found = entries.get(argument.name)
        if found is not None:
            header[argument.name] = faults.tried(argument.kind.parse, found, scope)
        elif argument.required and argument.name not in meant:
            faults.note(_missing(node, scope, argument.name, argument.says))
        else:
            header[argument.name] = argument.default
    faults.tried(_read_needs, entries.get("needs"), registry, scope)
    given = faults.tried(_read_given, entries.get("given"), registry, compiler, faults)
    if "steps" not in entries and "steps" not in meant:
        faults.note(_missing(node, scope, "steps", "what is done and what happens, in order"))
    written = faults.tried(_list, entries["steps"], scope, "steps") if "steps" in entries else None
    steps = faults.each(compiler.step, written or (), scope)
    expect = faults.tried(compiler.expectations, entries["expect"], faults) if "expect" in entries else ()
    axes = faults.tried(_read_axes, entries.get("axes"), registry, scope)
    faults.end()
    heal = header["heal"]
    return Scenario(
        name=header["scenario"],
        position=Position(path, node.line, node.column),
        says=header["says"],
        origin=header["origin"],
        tags=header["tags"],
        needs=scope.capabilities,
        moments=scope.moments,
        given=given,
        steps=steps,
        expect=expect,
        axes=axes,
        defaults={name: axis.default for name, axis in registry.axes.items()},
        heal_sweeps=DEFAULT_HEAL_SWEEPS if heal is None else 0 if heal == "none" else heal["sweeps"],
    )


def _missing(node: Node, scope: Scope, key: str, meaning: str) -> ScenarioError:
    return scope.wrong(node, f"the scenario lacks '{key}', {meaning}", f"add a line '{key}: ...'")


def _check_version(node: MappingNode, scope: Scope) -> None:
    found = node.entries.get("runcoord")
    if found is None:
        near = did_you_mean("runcoord", node.entries, "")
        remedy = "add a first line 'runcoord: 1'"
        raise scope.wrong(
            node,
            "the scenario does not say which version of the language it is written in",
            f"{remedy} in place of {near[13:-1]}" if near.startswith("did you mean") else remedy,
        )
    if not isinstance(found, ScalarNode) or type(found.value) is not int:
        raise scope.misfit(found, "the version of the language", f"write runcoord: {VERSION}")
    if found.value != VERSION:
        raise scope.wrong(
            found,
            f"the scenario is written for version {found.value}, this runcoord reads version {VERSION}",
            f"install a runcoord that reads it, or rewrite it for version {VERSION}",
        )


def _list(node: Node, scope: Scope, key: str) -> list[Node]:
    if type(node) is not ListNode:
        raise scope.misfit(node, f"a list of {key}", "write one entry in each line, beginning with '- '")
    if not node.items:
        raise scope.wrong(node, f"the list of {key} is empty", "add an entry")
    return node.items


def _read_needs(node: Node | None, registry: Registry, scope: Scope) -> None:
    if node is None:
        return
    for each in _list(node, scope, "needs"):
        name = Text(100).parse(each, scope)
        if name not in registry.capabilities:
            raise scope.wrong(
                each, f"there is no capability {shown(name)}", did_you_mean(name, registry.capabilities)
            )
        scope.capabilities.setdefault(name, scope.at(each))


def _read_given(
    node: Node | None, registry: Registry, compiler: Compiler, faults: Faults
) -> tuple[Given, ...]:
    if node is None:
        return ()
    scope = compiler.scope
    if not isinstance(node, MappingNode) or not node.entries:
        raise scope.misfit(node, "a mapping", "write one entry in each line, 'word: ...'")
    given = []
    for name, body in node.entries.items():
        word = registry.givens.get(name)
        if word is None:
            unknown = f"unknown given {shown(name)}"
            faults.note(scope.wrong_key(body, unknown, did_you_mean(name, registry.givens)))
        else:
            given.append(faults.tried(compiler.clause, Given, word, body, body.key_mark or body.mark))
    return tuple(given)


def _read_axes(node: Node | None, registry: Registry, scope: Scope) -> Mapping[str, tuple[AxisChoice, ...]]:
    axes: dict[str, tuple[AxisChoice, ...]] = {}
    if node is None:
        return axes
    if not isinstance(node, MappingNode) or not node.entries:
        raise scope.misfit(node, "a mapping", "write the axes as in {store: [memory, sqlite]}")
    for name, values in node.entries.items():
        axis = registry.axes.get(name)
        if axis is None:
            raise scope.wrong_key(values, f"unknown axis {shown(name)}", did_you_mean(name, registry.axes))
        choices: dict[str, AxisChoice] = {}
        if isinstance(values, ListNode) and len(values.items) > MAX_AXIS_VALUES:
            raise scope.wrong(values, f"the axis has more than {MAX_AXIS_VALUES} values", "leave some out")
        for each in _list(values, scope, f"values of '{name}'"):
            value = axis.kind.parse(each, scope)
            label = str(value)
            if not label.isalnum() or not label.isascii():
                label = _UNFIT.sub("-", label).strip("-.") or "value"
            if label in choices:
                raise scope.wrong(each, f"{shown(value)} is the same variant as one before it", "remove one")
            choices[label] = AxisChoice(value, label)
        axes[name] = tuple(choices.values())
    count = math.prod(map(len, axes.values()))
    if count > MAX_VARIANTS:
        raise scope.wrong_key(
            node, f"the axes make {count} variants, at most {MAX_VARIANTS} are allowed", "leave values out"
        )
    if len(axes) > 1 and len(set(map(_variant_name, itertools.product(*axes.values())))) != count:
        raise scope.wrong_key(node, "two variants have the same name", "leave out one of the values")
    return axes


def _variant_name(choices: tuple[AxisChoice, ...]) -> str:
    return "-".join(each.label for each in choices)


def variants(scenario: Scenario) -> list[Variant]:
    """All variants, the first axis varying slowest; one named ``default`` where there are no axes.

    ``choices`` has every axis of the registry: those that the scenario does not name at their defaults.
    """
    if not scenario.axes:
        return [Variant("default", dict(scenario.defaults))]
    found = []
    for choice in itertools.product(*scenario.axes.values()):
        values = dict(zip(scenario.axes, (each.value for each in choice), strict=True))
        found.append(Variant(_variant_name(choice), {**scenario.defaults, **values}))
    return found
