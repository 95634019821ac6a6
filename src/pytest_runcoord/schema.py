"""The JSON schema of scenario files, draft-07, for editors: completion, explanation, and errors while typing.

It is generated from the registry that the loader reads with, so both know the same words. A schema cannot
say everything: that a name was introduced above, that expectations agree, that names in a file differ, and
that axes make no more variants than allowed is checked by the loader alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ._kinds import Schema, enumeration
from ._limits import MAX_AXIS_VALUES, MAX_EXPECTATIONS, MAX_STEPS
from .scenario import HEADER, VERSION
from .vocabulary import Argument, Registry, Word

DRAFT = "http://json-schema.org/draft-07/schema#"

#: A schema that accepts nothing, for a list of words that is empty.
NEVER: Schema = {"not": {}}


def schema(registry: Registry) -> Schema:
    """A schema of one document, as plain JSON types; the same registry gives the same text each time."""
    return {
        "$schema": DRAFT,
        "title": "runcoord scenario",
        "description": "A story of runs, faults and expectations, executed by pytest.",
        "type": "object",
        "additionalProperties": False,
        "required": ["runcoord", "scenario", "says", "steps"],
        "properties": _properties(registry),
        "definitions": {
            "step": _entry(registry.steps, "a step", registry),
            "expectation": _entry(registry.expectations, "an expectation", registry),
            "moment": _closed(registry.moments),
            "refusal": _closed(registry.refusals),
            "capability": _closed(registry.capabilities),
        },
    }


def _properties(registry: Registry) -> Schema:
    header = {each.name: _described(each.says, each.kind.schema(registry)) for each in HEADER}
    own = {
        "runcoord": _described("version of the language", {"const": VERSION}),
        "needs": _described(
            "capabilities that a subject must have, beside those of the words that are used",
            {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/capability"}},
        ),
        "given": _described(
            "what holds before the first step",
            _mapping({name: _body(word, registry) for name, word in registry.givens.items()}),
        ),
        "steps": _described(
            "what is done and what happens, in order",
            {
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_STEPS,
                "items": {"$ref": "#/definitions/step"},
            },
        ),
        "expect": _described(
            "what must be so at the end",
            {
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_EXPECTATIONS,
                "items": {"$ref": "#/definitions/expectation"},
            },
        ),
        "axes": _described(
            "what the scenario is run with several values of; every combination is a test",
            _mapping(
                {name: _axis(axis.says, axis.kind.schema(registry)) for name, axis in registry.axes.items()}
            ),
        ),
    }
    return {**own, **header}


def _axis(says: str, values: Schema) -> Schema:
    return {
        "description": says,
        "type": "array",
        "minItems": 1,
        "maxItems": MAX_AXIS_VALUES,
        "uniqueItems": True,
        "items": values,
    }


def _mapping(properties: Mapping[str, Schema]) -> Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "minProperties": 1,
        "properties": dict(properties),
    }


def _closed(meanings: Mapping[str, str]) -> Schema:
    return enumeration(dict(meanings)) if meanings else NEVER


def _described(says: str, fragment: Schema) -> Schema:
    # Beside a $ref draft-07 ignores everything else, so the reference is wrapped.
    if "$ref" in fragment:
        return {"description": says, "allOf": [fragment]}
    return {"description": says, **fragment}


def _entry(words: Mapping[str, Word], what: str, registry: Registry) -> Schema:
    """An entry of a list of words: a mapping with exactly one of them, or one that may stand alone."""
    if not words:
        return NEVER
    one = {**_mapping({name: _body(word, registry) for name, word in words.items()}), "maxProperties": 1}
    alone = {name: word.says for name, word in words.items() if may_stand_alone(word)}
    forms = [one, enumeration(alone)] if alone else [one]
    return {"description": f"{what}: one word and what belongs to it", "anyOf": forms}


def may_stand_alone(word: Word) -> bool:
    """Whether a word can be written without anything after it."""
    return word.value is None and not word.required


def _body(word: Word, registry: Registry) -> Schema:
    """What stands after the word."""
    says = f"{word.says} (needs {word.capability})" if word.capability else word.says
    if word.value is not None:
        return _described(says, word.value.schema(registry))
    forms = [_arguments(word, registry)]
    shorthand = word.shorthand
    if shorthand is not None and not [each for each in word.required if each is not shorthand]:
        forms.append(_short(shorthand, registry))
    return {"description": says, **forms[0]} if len(forms) == 1 else {"description": says, "anyOf": forms}


def _short(argument: Argument, registry: Registry) -> Schema:
    # A mapping after a word is always its arguments, and nothing after it is an omission.
    return {
        "description": argument.described(),
        "allOf": [argument.kind.schema(registry), {"not": {"type": ["object", "null"]}}],
    }


def _arguments(word: Word, registry: Registry) -> Schema:
    keys: Iterable[Argument] = (*word.arguments, *word.options)
    fragment: Schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {each.name: _argument(each, registry) for each in keys},
    }
    if word.required:
        fragment["required"] = [each.name for each in word.required]
    options = {each.name for each in word.options}
    if {"as", "refused"} <= options:
        fragment["not"] = {"required": ["as", "refused"]}
    return fragment


def _argument(argument: Argument, registry: Registry) -> Schema:
    fragment = _described(argument.described(), argument.kind.schema(registry))
    default: Any = argument.default
    return (
        fragment
        if default is None or not isinstance(default, str | int | bool)
        else fragment | {"default": default}
    )
