"""What the files of a run folder may have in them: good ones, and every hostile shape that has a name.

Knows nothing of the library: another project's importer is shown the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from runcoord.values import value

ROOT = "runs"
"""Name of the directory that run folders are in."""
STATE, TOMBSTONE, RESULT = "state.json", "tombstone.json", "result.txt"
FILES = {"state": STATE, "tombstone": TOMBSTONE, "result": RESULT}
"""What scenarios call the files of a folder."""

HUGE_BYTES = 3 * 1024 * 1024
"""A state file of this size is over every sensible limit, and quickly written."""
LONG_CHARACTERS = 900_000
"""Characters of a name that an agent once gave itself; the file stays below a megabyte."""
DEPTH = 100_000
"""Lists inside of each other, in 200 kB: a parser that recurses does not survive it."""
AGE_SECONDS = 3_600.0
"""How long ago the run of a folder began, where nothing is said."""
PID = 4_242
ID_CHARACTERS = 200
FAR = -1.0e308
"""A time that no calendar has."""

SECRETS = {
    "aws": "AKIA" + "QWERTYUIOPASDFGH",
    "github": "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345",
    "bearer": "Authorization: Bearer " + "abcdef0123456789.ABCDEF0123456789",
    "url": "https://deploy:" + "hunter2hunter2" + "@git.example.org/x.git",
    "password": "password=" + "correct-horse-battery",
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
}
"""Made-up credentials, by kind. They are put together so that no scanner takes this file for a leak."""
KEPT_SECRET = {
    "bearer": "abcdef0123456789.ABCDEF0123456789",
    "url": "hunter2hunter2",
    "password": "correct-horse-battery",
}
"""The part of a credential that must not come out again, where not the whole of it is secret."""


def can_be_id(name: str) -> bool:
    """Whether a folder of this name can be that of a run. Others may be shown otherwise than they are."""
    fits = 0 < len(name) <= ID_CHARACTERS and ".." not in name and not any(each in name for each in "/\\")
    return fits and name.isprintable()


def secret_parts() -> tuple[str, ...]:
    """What of :data:`SECRETS` must never come up anywhere."""
    return tuple(KEPT_SECRET.get(name, text) for name, text in SECRETS.items())


def state_of(run: str, now: float, said: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The fields of a good state file; ``said`` replaces some, and leaves out what it maps to ``...``."""
    began = now - AGE_SECONDS
    fields: dict[str, Any] = {
        "id": run,
        "agent": "worker",
        "task": f"the task of {run}"[:200],
        "conversation_key": "",
        "parent_session": "",
        "started": began,
        "updated_at": began + 60.0,
        "pid": PID,
        "pid_recorded_at": began,
    }
    fields |= said or {}
    return {name: value for name, value in fields.items() if value is not ...}


def tombstone_of(now: float, outcome: str = "completed", cause: str = "", detail: str = "") -> dict[str, Any]:
    """The fields of a tombstone that somebody else wrote."""
    return {"died": now - 60.0, "outcome": outcome, "cause": cause, "detail": detail}


def as_bytes(fields: Any) -> bytes:
    """As an ordinary program writes it."""
    return json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogatepass")


@value
class Shape:
    """One shape of a JSON file. ``fine``: what is not good in it does not make the folder a bad one."""

    says: str
    write: Callable[[dict[str, Any]], bytes]
    fine: bool = False
    whole: bool = True
    """It can be a tombstone too."""


def _with(**fields: Any) -> Callable[[dict[str, Any]], bytes]:
    return lambda good: as_bytes({**good, **fields})


def _silly_times(good: dict[str, Any]) -> bytes:
    times = {"started": FAR, "updated_at": 1.0e308, "pid_recorded_at": -1, "died": FAR}
    return as_bytes(good | {name: value for name, value in times.items() if name in good})


def _wrong_types(good: dict[str, Any]) -> bytes:
    wrong = {
        "agent": ["worker"],
        "task": {"text": "x"},
        "conversation_key": 7,
        "parent_session": False,
        "started": "yesterday",
        "updated_at": None,
        "pid": "4242",
        "pid_recorded_at": [],
        "died": "yesterday",
        "cause": 3,
        "detail": [],
    }
    return as_bytes(good | {name: value for name, value in wrong.items() if name in good})


def _text_fields(good: dict[str, Any], text: str) -> dict[str, Any]:
    return good | {name: text for name in ("agent", "task", "conversation_key", "detail") if name in good}


def _duplicate(good: dict[str, Any]) -> bytes:
    name = "id" if "id" in good else "outcome"
    return as_bytes(good)[:-1] + b', "%s": "another"}' % name.encode()


def _not_a_number(good: dict[str, Any]) -> bytes:
    name = "started" if "started" in good else "died"
    return as_bytes(good | {name: 0.25}).replace(b": 0.25", b": NaN")


def _infinite(good: dict[str, Any]) -> bytes:
    return _not_a_number(good).replace(b"NaN", b"-Infinity")


SHAPES: dict[str, Shape] = {
    "good": Shape("a good one", as_bytes, fine=True),
    "torn": Shape("its writer died in the middle", lambda good: as_bytes(good)[: len(as_bytes(good)) // 2]),
    "empty": Shape("no bytes at all", lambda good: b""),
    "blank": Shape("nothing but blanks", lambda good: b" \n\n"),
    "huge": Shape("three megabytes of good JSON", lambda good: as_bytes(good | {"more": "x" * HUGE_BYTES})),
    "deep": Shape(
        "lists inside each other, 100,000 deep",
        lambda good: as_bytes(good)[:-1] + b', "more": ' + b"[" * DEPTH + b"]" * DEPTH + b"}",
    ),
    "nan": Shape("NaN, which JSON does not have", _not_a_number),
    "infinity": Shape("-Infinity, which JSON does not have", _infinite),
    "duplicate-key": Shape("a key that is there twice, with two values", _duplicate),
    "bad-utf8": Shape("bytes that are no UTF-8", lambda good: as_bytes(good)[:-1] + b', "more": "\xff\xfe"}'),
    "utf-16": Shape("UTF-16", lambda good: json.dumps(good).encode("utf-16")),
    "nul": Shape("zero bytes behind the end", lambda good: as_bytes(good) + b"\0" * 4_096),
    "trailing": Shape("something behind the end", lambda good: as_bytes(good) + b'{"id": "another"}'),
    "list": Shape("a list instead of an object", lambda good: as_bytes([good])),
    "number": Shape("a number instead of an object", lambda good: b"12"),
    "huge-number": Shape(
        "a number of 100,000 digits", lambda good: as_bytes(good)[:-1] + b', "pid": ' + b"9" * 100_000 + b"}"
    ),
    "other-id": Shape("the id of another run", _with(id="another"), whole=False),
    "no-id": Shape("no id", lambda good: as_bytes({k: v for k, v in good.items() if k != "id"}), whole=False),
    "id-no-text": Shape("an id that is no text", _with(id=7), whole=False),
    "missing": Shape("there is no such file", lambda good: b""),
    "silly-times": Shape("times that no calendar has", _silly_times, fine=True),
    "wrong-types": Shape("values of other types than expected", _wrong_types, fine=True),
    "bare": Shape(
        "nothing but the id, or the outcome",
        lambda good: as_bytes({k: v for k, v in good.items() if k in ("id", "outcome")}),
        fine=True,
    ),
    "long-fields": Shape(
        "a name of 900,000 characters",
        lambda good: as_bytes(good | {"agent" if "agent" in good else "detail": "n" * LONG_CHARACTERS}),
        fine=True,
    ),
    "controls": Shape(
        "control characters, escape sequences and directions of writing in its texts",
        lambda good: as_bytes(_text_fields(good, "a\x1b[31mb\x00c\r\nd\u202ee\x7f")),
        fine=True,
    ),
    "surrogates": Shape(
        "halves of characters in its texts",
        lambda good: json.dumps(_text_fields(good, "a\ud800b\udfffc")).encode(),
        fine=True,
    ),
    "secrets": Shape(
        "made-up credentials in its texts",
        lambda good: as_bytes(_text_fields(good, " ".join(SECRETS.values()))),
        fine=True,
    ),
}
"""Every shape by its name. Those that are not ``fine`` must be refused, named, and tried again only when they
changed."""


def bad_shapes() -> list[str]:
    """The names of those that are no good, in order."""
    return [name for name, shape in SHAPES.items() if not shape.fine]
