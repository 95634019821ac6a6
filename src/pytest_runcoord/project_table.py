"""``[tool.runcoord]`` of ``pyproject.toml``, or ``runcoord.toml``: what a project asks, read strictly.

The file is that of pytest's rootdir; whether there is any is seen by :mod:`pytest_runcoord.table_file`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pytest_runcoord.project_place import Place, mistake
from pytest_runcoord.table_file import MAX_FILE_BYTES, MAX_REQUIRED, OWN_FILE, PYPROJECT, TIERS, ProjectTable

TABLE = "tool.runcoord"

KEYS: dict[str, tuple[str, str]] = {
    "subject": (
        "text",
        (
            "the coordinator that scenarios run on, instead of the reference: `module:Class`, "
            "`path/to/file.py:Class` (from this file), `program: command line`, or a name that a plugin "
            "knows; `reference` is the reference"
        ),
    ),
    "tiers": ("list of `sim`, `real`", "only variants of these tiers run"),
    "required_tiers": (
        "list of `sim`, `real`",
        "a variant of such a tier that is skipped fails, and so does a whole selection without any",
    ),
    "min_scenarios": (
        f"number up to {MAX_REQUIRED:,}",
        "a whole selection in which fewer scenarios ran to a verdict fails",
    ),
    "required_invariants": (
        "list of ids",
        "invariants of which each must have had occasion to fail at least once in a whole selection",
    ),
    "suite": (
        "true or false",
        "the scenarios that come with runcoord run too, beside the project's own, when no paths are given",
    ),
    "known_failures": ("array of tables", "failures that are known and accepted for a while"),
}
"""Keys of the table, with their values and meaning; the reference is written from it."""


def table_of(rootpath: Path, of_pyproject: bytes | None, alone: bytes | None) -> ProjectTable:
    """The table, from what the two files that may have it hold; raises :class:`pytest.UsageError`."""
    inside, own = rootpath / PYPROJECT, rootpath / OWN_FILE
    found = None if of_pyproject is None else _of_pyproject(inside, of_pyproject)
    if alone is None:
        return ProjectTable() if found is None else _table(inside, *found)
    if found is not None:
        raise mistake(
            Place(inside, PYPROJECT, _line_of_table(found[1])),
            f"the table [{TABLE}] is here, and {OWN_FILE} stands beside it",
            "keep one of them",
        )
    return _table(own, _parsed(own, alone), alone.decode("utf-8"))


def _of_pyproject(path: Path, data: bytes) -> tuple[dict[str, Any], str] | None:
    tool = _parsed(path, data).get("tool")
    if not isinstance(tool, dict) or "runcoord" not in tool:
        return None
    text = data.decode("utf-8")
    if not isinstance(tool["runcoord"], dict):
        raise mistake(Place(path, PYPROJECT), f"{TABLE} is no table", f"write [{TABLE}]")
    return tool["runcoord"], text


def _parsed(path: Path, data: bytes) -> dict[str, Any]:
    import tomllib

    place = Place(path, path.name)
    if len(data) > MAX_FILE_BYTES:
        raise mistake(place, f"has more than {MAX_FILE_BYTES} bytes", "make it smaller")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise mistake(
            Place(path, path.name, line), "is not UTF-8", "save the file with that encoding"
        ) from None
    if text.startswith("\N{ZERO WIDTH NO-BREAK SPACE}"):
        remedy = "save the file as UTF-8 without one"
        raise mistake(place, "begins with a byte order mark, which TOML does not have", remedy)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"\s*\(at line (\d+), column (\d+)\)\Z", str(error))
        said = str(error)[: at.start()] if at else str(error)
        if at:
            place = Place(path, path.name, int(at[1]))
        raise mistake(place, f"is no TOML: {said[:1].lower()}{said[1:]}", "correct the file") from None


# --- keys ---


def _table(path: Path, values: dict[str, Any], text: str) -> ProjectTable:
    from pytest_runcoord.toml_lines import lines_of

    own = path.name == OWN_FILE
    lines = lines_of(text, "" if own else TABLE)
    place = Place(path, path.name, 0 if own else _line_of_table(text))

    def at(key: str) -> Place:
        return Place(path, path.name, lines.get(key, place.line))

    for key in values:
        if key not in KEYS:
            raise mistake(at(key), f"[{TABLE}] has no key {key!r}", _remedy(key, KEYS, own))
    found: dict[str, Any] = {}
    for key, check in _CHECKS.items():
        if key in values:
            problem = check(values[key])
            if problem:
                raise mistake(at(key), f"{key} = {values[key]!r}: {problem}", f"give {KEYS[key][0]}")
            found[key] = tuple(values[key]) if isinstance(values[key], list) else values[key]
    if "known_failures" in values:
        from pytest_runcoord.known_failures import entries

        header = "known_failures" if own else f"{TABLE}.known_failures"
        found["known_failures"] = entries(values["known_failures"], at, header)
    for key in ("tiers", "required_tiers"):
        found[key] = tuple(each for each in TIERS if each in found.get(key, ()))
    return ProjectTable(place, lines, **found)


def _remedy(key: str, known: Iterable[str], own: bool) -> str:
    from pytest_runcoord._positions import did_you_mean

    if own and key == "tool":
        return f"in {OWN_FILE} the keys stand at the top, without [{TABLE}]"
    return did_you_mean(key, known)


def _line_of_table(text: str) -> int:
    from pytest_runcoord.toml_lines import lines_of

    return lines_of(text, "").get(TABLE, 0)


def _text(value: object) -> str:
    return "" if isinstance(value, str) and value.strip() else "it is no text"


def _tier_list(value: object) -> str:
    return _words(value) or next(
        (f"{each!r} is no tier" for each in value if each not in TIERS),  # type: ignore[attr-defined]
        "",
    )


def _words(value: object) -> str:
    if not isinstance(value, list) or not all(isinstance(each, str) and each.strip() for each in value):
        return "it is no list of words"
    twice = next((each for each in value if value.count(each) > 1), None)
    return "" if twice is None else f"{twice!r} is in it twice"


def _number(value: object) -> str:
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_REQUIRED
    return "" if whole else f"it is no whole number from 0 to {MAX_REQUIRED}"


def _truth(value: object) -> str:
    return "" if isinstance(value, bool) else "it is neither true nor false"


_CHECKS: dict[str, Callable[[object], str]] = {
    "subject": _text,
    "tiers": _tier_list,
    "required_tiers": _tier_list,
    "min_scenarios": _number,
    "required_invariants": _words,
    "suite": _truth,
}
