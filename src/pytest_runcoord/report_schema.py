"""The JSON report of a run: its fields, what each means, and the schema (draft-07) that says so to machines.

Every field is always there; what is not known, or does not apply, is null. A reader should pass over fields
that it does not know: new ones may come with the same version, none goes or changes its meaning without
another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_runcoord.known_failures import Known, Standing

VERSION = 1

Schema = dict[str, Any]
Fields = dict[str, tuple[Schema, str]]

_TEXT: Schema = {"type": "string"}
_MAYBE_TEXT: Schema = {"type": ["string", "null"]}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_LINE: Schema = {"type": ["integer", "null"], "minimum": 1}
_NAMES: Schema = {"type": "array", "items": _TEXT}


def _one_of(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}


def _many(name: str) -> Schema:
    return {"type": "array", "items": {"$ref": f"#/definitions/{name}"}}


def _part(name: str) -> Schema:
    return {"$ref": f"#/definitions/{name}"}


VERDICTS = ("passed", "failed", "xfailed", "skipped", "unknown", "invalid", "error")

PARTS: dict[str, tuple[str, Fields]] = {
    "subject": (
        "What the scenarios ran on.",
        {
            "name": (_TEXT, "what it calls itself, or as it was asked for if nothing ran"),
            "asked_for": (_TEXT, "as it was asked for; `reference` for the reference coordinator"),
            "version": (_MAYBE_TEXT, "what the subject says of itself"),
            "capabilities": ({"type": ["array", "null"], "items": _TEXT}, "what it can; null if nothing ran"),
            "lacks": (_many("lack"), "what scenarios were skipped for"),
        },
    ),
    "lack": (
        "A capability that the subject lacks.",
        {
            "capability": (
                _TEXT,
                "its name; `the moment NAME` for one that it does not announce",
            ),
            "variants": (_COUNT, "variants that were skipped for it"),
            "alone": (_COUNT, "of these, those that were skipped for nothing else"),
        },
    ),
    "versions": (
        "What ran.",
        {
            "runcoord": (_TEXT, "of the distribution"),
            "pytest": (_TEXT, "of pytest"),
            "python": (_TEXT, "of Python"),
        },
    ),
    "selection": (
        "What was chosen.",
        {
            "narrowed_by": (_MAYBE_TEXT, "what on the command line chose a part only: `-k`, `a path`, …"),
            "tiers": (_NAMES, "the tiers whose variants ran; empty for all"),
            "suite": ({"type": "boolean"}, "whether the scenarios that come with runcoord were in it"),
            "left_out": (
                {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
                "variants deselected for what they choose: only the reference has it (`store memory`)",
            ),
        },
    ),
    "counts": (
        "Sums.",
        {
            "scenarios": (_COUNT, "scenarios that there were reports on"),
            "scenarios_run": (_COUNT, "of those, with a variant that came to a verdict: what minimums count"),
            "variants": (_COUNT, "tests; the rest says how many of them came to what"),
            **{name: (_COUNT, f"variants with the verdict `{name}`") for name in VERDICTS},
        },
    ),
    "variant": (
        "One test.",
        {
            "node": (_TEXT, "pytest's node id"),
            "file": (_TEXT, "the file, as the node id names it"),
            "scenario": (_TEXT, "its name"),
            "variant": (_TEXT, "its name; `default` without axes"),
            "declared_at": (_LINE, "line at which the scenario begins"),
            "verdict": (
                _one_of(*VERDICTS),
                (
                    "`xfailed`: failed as a known failure says; `unknown` is a failure; `invalid`: the "
                    "scenario is wrong; `error`: something around it failed"
                ),
            ),
            "tier": ({"type": ["string", "null"], "enum": ["sim", "real", None]}, "null if it did not run"),
            "seconds": ({"type": "number", "minimum": 0}, "real time that it took"),
            "failed_by": (_MAYBE_TEXT, "kind and name: `invariant stale-owner-refused`"),
            "message": (_MAYBE_TEXT, "the failure in one line"),
            "line": (_LINE, "of the step or expectation that failed"),
            "column": (_LINE, "the same"),
            "missing": (_NAMES, "capabilities that it was skipped for"),
            "skipped": (_MAYBE_TEXT, "why it was skipped otherwise"),
            "known_failure": (_MAYBE_TEXT, "what `known_failures` has as `scenario` for it"),
            "known_failure_is": (
                {
                    "type": ["string", "null"],
                    "enum": [*map(str, Known), None],
                },
                "what the entry came to here",
            ),
            "exercised": (
                {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
                "invariants that had occasion to fail in it, and how often",
            ),
        },
    ),
    "invariant": (
        "One invariant.",
        {
            "id": (_TEXT, "its name"),
            "says": (_TEXT, "what must always be so"),
            "exercised": (_COUNT, "how often it had occasion to fail, over all variants"),
            "watched": ({"type": "boolean"}, "false: the subject lacks what it needs, or nothing ran"),
            "required": ({"type": "boolean"}, "whether the project requires that it was exercised"),
            "own": ({"type": "boolean"}, "whether it is the project's own"),
        },
    ),
    "known_failure": (
        "One entry of the project's table.",
        {
            "scenario": (_TEXT, "what it is about, as written"),
            "by": (_TEXT, "who accepted it"),
            "why": (_TEXT, "the reason"),
            "until": (_MAYBE_TEXT, "the last day, as `2027-03-31`"),
            "revision": (_MAYBE_TEXT, "the version of the subject that it is for"),
            "failed_by": (_MAYBE_TEXT, "what it must fail by"),
            "at": (_TEXT, "file and line"),
            "standing": (_one_of(*map(str, Standing)), "whether it counts in this run"),
            "nodes": (_NAMES, "the tests that it is about"),
        },
    ),
    "place": (
        "A file that could not be read.",
        {
            "path": (_TEXT, "as shown to the reader"),
            "line": (_LINE, "where"),
            "message": (_TEXT, "what is wrong"),
        },
    ),
    "reason": (
        "Why the run as a whole is not green.",
        {
            "kind": (
                _one_of(
                    "min-scenarios",
                    "required-tier",
                    "required-invariant",
                    "unmatched-known-failure",
                    "ambiguous-known-failure",
                    "hidden-failure",
                    "unread-table",
                    "ended-early",
                    "hook",
                    "report",
                ),
                "what was not as it must be",
            ),
            "message": (_TEXT, "in one line"),
            "remedy": (_MAYBE_TEXT, "what to do"),
            "path": (_MAYBE_TEXT, "the configuration file that asks for it"),
            "line": (_LINE, "where in it"),
        },
    ),
    "gate": (
        "Whether the run is green as a whole, beside its single tests.",
        {
            "verdict": (_one_of("passed", "failed", "not-judged"), "`failed` makes the exit code 1"),
            "not_judged": (_MAYBE_TEXT, "why what the project requires of everything was not looked at"),
            "reasons": (_many("reason"), "empty unless it failed"),
        },
    ),
    "bite": (
        "One boundary fault of `--runcoord-bite`.",
        {
            "fault": (_TEXT, "its name"),
            "says": (_TEXT, "what is wrong with a subject that has it"),
            "verdict": (
                _one_of("red", "green", "never-met", "no-green-variant", "skipped"),
                "`red` is good: the gate noticed it",
            ),
            "reason": (_MAYBE_TEXT, "why it is not red"),
            "accepted": (_MAYBE_TEXT, "who accepted, until when and why, that it is not"),
            "variant": (_MAYBE_TEXT, "what turned red: the node of the variant"),
            "kind": (_MAYBE_TEXT, "by what: `invariant`, `expectation`, …"),
            "by": (_MAYBE_TEXT, "the name of that"),
            "path": (_MAYBE_TEXT, "where"),
            "line": (_LINE, "the same"),
            "tried": (_COUNT, "variants that it was tried on"),
            "of": (_COUNT, "variants in which it could show"),
            "met": (_COUNT, "variants that met it and stayed green"),
            "seconds": ({"type": "number", "minimum": 0}, "real time"),
        },
    ),
}

DOCUMENT: Fields = {
    "runcoord_report": ({"type": "integer", "enum": [VERSION]}, "version of this format"),
    "made": ({"type": "string", "format": "date-time"}, "when, in UTC"),
    "versions": (_part("versions"), "what ran"),
    "subject": (_part("subject"), "what the scenarios ran on"),
    "selection": (_part("selection"), "what was chosen"),
    "counts": (_part("counts"), "sums"),
    "variants": (_many("variant"), "every test, by node id"),
    "invariants": (_many("invariant"), "every invariant, by id"),
    "known_failures": (_many("known_failure"), "every entry, as listed"),
    "unreadable": (_many("place"), "scenario files that could not be read"),
    "gate": (_part("gate"), "whether the run is green as a whole"),
    "bite": (
        {"type": ["array", "null"], "items": _part("bite")},
        "with `--runcoord-bite`: what came of faults",
    ),
    "exit_code": (_COUNT, "pytest's, as it stood when the report was written"),
}


def report_schema() -> Schema:
    """The JSON schema (draft-07) of a report."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Report of a run of runcoord scenarios",
        **_object(DOCUMENT, "What came of one run of pytest."),
        "definitions": {name: _object(fields, says) for name, (says, fields) in PARTS.items()},
    }


def _object(fields: Fields, says: str) -> Schema:
    return {
        "description": says,
        "type": "object",
        "additionalProperties": False,
        "required": list(fields),
        "properties": {
            name: {"description": meaning, "allOf": [schema]}
            if "$ref" in schema
            else {**schema, "description": meaning}
            for name, (schema, meaning) in fields.items()
        },
    }


def described() -> Iterator[tuple[str, str, list[list[str]]]]:
    """For the reference: name, meaning and rows of every part, the document first."""
    yield "The report", "", [_row(name, *field) for name, field in DOCUMENT.items()]
    for name, (says, fields) in PARTS.items():
        yield name, says, [_row(each, *field) for each, field in fields.items()]


def _row(name: str, schema: Schema, says: str) -> list[str]:
    return [f"`{name}`", _kind(schema), says]


def _kind(schema: Schema) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.replace('_', '-')})"
    if "enum" in schema and len(schema["enum"]) > 1:
        return ", ".join("null" if each is None else f"`{each}`" for each in schema["enum"])
    kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    inside = f" of {_kind(schema['items'])}" if "items" in schema else ""
    words = {"string": "text", "integer": "number", "array": f"list{inside}", "object": "mapping of numbers"}
    return " or ".join(words.get(each, each) for each in kinds)
