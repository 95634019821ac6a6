"""The lines between the harness and a program as a JSON schema, from the tables that they are checked by."""

from __future__ import annotations

from typing import Any

from pytest_runcoord.subjects.program_protocol import (
    ANSWERS,
    DEADLINE,
    EVENT_SEEN,
    HELLO,
    MESSAGE,
    NOW,
    PROTOCOL,
    QUESTIONS,
    RUN_SEEN,
    VALUES,
)
from pytest_runcoord.subjects.program_verbs import OWN_VERB, VERBS, request_of
from pytest_runcoord.subjects.shapes import Table

PARTS = (NOW, DEADLINE, VALUES, RUN_SEEN, EVENT_SEEN, MESSAGE)
"""What stands at several places, and is defined once."""
DRAFT = "http://json-schema.org/draft-07/schema#"


def lines_schema() -> dict[str, Any]:
    """The schema (draft-07) of every line. ``definitions`` has each kind of line by its own name, and what a
    verb gives as ``ok:VERB``; the whole schema fits any line of either side."""
    lines: dict[str, Table] = {"hello": HELLO}
    lines |= {f"request:{verb.name}": request_of(verb) for verb in VERBS.values()}
    lines["request:own"] = request_of(OWN_VERB)
    lines |= {f"answer:{kind}": table for kind, table in ANSWERS.items()}
    lines |= {f"question:{each.name}": each.line for each in QUESTIONS.values()}
    for each in QUESTIONS.values():
        for number, reply in enumerate(each.replies, 1):
            lines[f"reply:{each.name}" + (f":{number}" if len(each.replies) > 1 else "")] = reply
    values = {f"ok:{verb.name}": verb.answer for verb in VERBS.values()}
    return {
        "$schema": DRAFT,
        "title": f"Lines of the runcoord program protocol, version {PROTOCOL}",
        "anyOf": [{"$ref": f"#/definitions/{name}"} for name in lines],
        "definitions": {name: table.schema() for name, table in (lines | values).items()}
        | {part.defined: part.definition() for part in PARTS},
    }
