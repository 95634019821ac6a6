"""Files and functions of the source stay small, and module names say what is in them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from source_tree import SOURCE, functions, planted

FILE_LINES = 400
FUNCTION_LINES = 70
EMPTY_NAMES = frozenset({"common", "helper", "helpers", "misc", "util", "utils"})


@dataclass(frozen=True)
class Exemption:
    """One file or function that may be longer for a while; past its date it counts as any other."""

    lines: int
    until: date
    why: str


#: Key: what a finding names, ``runcoord/x.py`` or ``runcoord/x.py::Class.method``.
LONGER_FOR_NOW: Mapping[str, Exemption] = {}


def too_long(source: Path, exemptions: Mapping[str, Exemption], today: date) -> list[str]:
    findings = []
    for path in sorted(source.rglob("*.py")):
        name = path.relative_to(source).as_posix()
        text = path.read_text("utf-8")
        sizes = [(name, len(text.splitlines()), FILE_LINES)]
        sizes += [(f"{name}::{at}", lines, FUNCTION_LINES) for at, lines in functions(ast.parse(text))]
        for what, lines, limit in sizes:
            exemption = exemptions.get(what)
            if exemption is not None and today <= exemption.until:
                limit = exemption.lines
            if lines > limit:
                findings.append(f"{what} has {lines} lines, the limit is {limit}: split it at a noun")
    return findings


def empty_names(source: Path) -> list[str]:
    found = sorted(path for path in source.rglob("*") if path.suffix in {"", ".py"})
    return [
        f"{path.relative_to(source).as_posix()} says nothing about what is in it"
        for path in found
        if path.stem.strip("_").lower() in EMPTY_NAMES
    ]


def today() -> date:
    return datetime.now(UTC).date()


def test_no_file_and_no_function_is_too_long() -> None:
    assert too_long(SOURCE, LONGER_FOR_NOW, today()) == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert empty_names(SOURCE) == []


def test_long_files_and_functions_are_found(tmp_path: Path) -> None:
    method = "class A:\n    def f(self):\n" + "        pass\n" * FUNCTION_LINES
    planted(tmp_path, {"a.py": method, "b.py": "x = 1\n" * (FILE_LINES + 1), "c.py": "x = 1\n" * FILE_LINES})
    findings = too_long(tmp_path, {}, date(2026, 1, 1))
    assert [finding.partition(",")[0] for finding in findings] == [
        "a.py::A.f has 71 lines",
        "b.py has 401 lines",
    ]


def test_an_exemption_holds_up_to_its_own_limit_and_its_date(tmp_path: Path) -> None:
    planted(tmp_path, {"b.py": "x = 1\n" * (FILE_LINES + 1)})
    exempt = {"b.py": Exemption(FILE_LINES + 1, until=date(2026, 1, 31), why="to show it")}
    assert too_long(tmp_path, exempt, date(2026, 1, 31)) == []
    assert len(too_long(tmp_path, exempt, date(2026, 2, 1))) == 1
    assert (
        len(too_long(tmp_path, {"b.py": Exemption(400, date(2026, 1, 31), "too low")}, date(2026, 1, 1))) == 1
    )


@pytest.mark.parametrize("name", ["utils.py", "_helpers.py", "misc/__init__.py", "pkg/common.py"])
def test_a_name_that_says_nothing_is_found(tmp_path: Path, name: str) -> None:
    planted(tmp_path, {name: "", "pkg/leases.py": ""})
    assert len(empty_names(tmp_path)) == 1
