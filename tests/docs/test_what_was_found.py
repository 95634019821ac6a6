"""The page of findings says what the examples list as known failures, and examples keep to their form."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from source_tree import ROOT

EXAMPLES = ROOT / "examples"
NAMES = sorted(each.parent.name for each in EXAMPLES.glob("*/pyproject.toml"))
SECONDS = 60.0
SUBJECT_LINES = 150
"""Lines of a subject that are not blank: more is no example for somebody who writes the first one."""
PROGRAM_LINES = 200
"""The same for a program, which has the loop over its lines as well."""
ACCOUNT = "A finding.\ncalls: put, get\npromised: something\nhappens: another thing,\n  really\ndo: this"


def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("what_was_found", ROOT / "docs" / "what_was_found.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def table_of(name: str) -> dict[str, Any]:
    table = tomllib.loads((EXAMPLES / name / "pyproject.toml").read_text("utf-8"))["tool"]["runcoord"]
    assert isinstance(table, dict)
    return table


def example(tmp_path: Path, *entries: tuple[str, str]) -> Path:
    lines = ["[tool.runcoord]"]
    for scenario, why in entries:
        lines += ["[[tool.runcoord.known_failures]]", f'scenario = "{scenario}"', 'revision = "library 1.2"']
        lines.append(f'why = """{why}"""')
    path = tmp_path / "library" / "pyproject.toml"
    path.parent.mkdir()
    path.write_text("\n".join(lines), "utf-8")
    return path


def test_the_page_is_current() -> None:
    command = [sys.executable, str(ROOT / "docs" / "what_was_found.py")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", ""), (
        "run: python docs/what_was_found.py --write"
    )


def test_a_scenario_that_fails_for_the_same_reason_stands_beside_the_account(tmp_path: Path) -> None:
    made = maker()
    configuration = example(tmp_path, ("second", "same: first. It looks so."), ("first", ACCOUNT))
    [finding] = made.library(configuration).findings
    assert finding.scenarios == ["first", "second"]
    assert finding.parts["happens"] == "another thing, really"
    tables = made.tables([made.library(configuration)])
    assert "| library 1.2 | A finding. | `first`, `second` |" in tables
    assert "### library 1.2\n\n**A finding.**\n\n| Red in | `first`, `second` |\n" in tables
    assert "| Promised | something |\n| Happens | another thing, really |\n" in tables


@pytest.mark.parametrize(
    "why",
    [
        "It is so.",
        ACCOUNT.replace("promised: something\n", ""),
        ACCOUNT.replace("A finding.\n", ""),
        ACCOUNT.replace("do: this", "do:"),
        "same: another. It looks so.",
        "same: first.",
    ],
)
def test_an_entry_without_a_whole_account_is_refused_by_its_name(tmp_path: Path, why: str) -> None:
    made = maker()
    with pytest.raises(made.Unaccounted, match=r"library: .*first"):
        made.tables([made.library(example(tmp_path, ("first", why)))])


@pytest.mark.parametrize("name", NAMES)
def test_an_example_pins_its_library_and_shows_its_findings_without_runcoord(name: str) -> None:
    where = EXAMPLES / name
    pins = [
        line
        for line in (where / "requirements.txt").read_text("utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    assert pins
    assert all(re.fullmatch(r"[\w.-]+(\[[\w,-]+\])?==[\w.]+", pin) for pin in pins)
    alone = (where / "tests" / "test_by_the_library_alone.py").read_text("utf-8")
    assert not re.search(r"^\s*(import|from) (pytest_)?runcoord", alone, re.MULTILINE)
    assert (where / "README.md").is_file()


@pytest.mark.parametrize("name", NAMES)
def test_the_subject_of_an_example_uses_what_authors_may_use(name: str) -> None:
    subject = table_of(name)["subject"]
    is_program = subject.startswith("program:")
    file = subject.split()[-1] if is_program else subject.partition(":")[0]
    text = (EXAMPLES / name / file).read_text("utf-8")
    used = set(re.findall(r"^\s*(?:import|from) ((?:pytest_)?runcoord[\w.]*)", text, re.MULTILINE))
    assert used == (set() if is_program else {"pytest_runcoord.subjects"})
    assert len([line for line in text.splitlines() if line.strip()]) <= (
        PROGRAM_LINES if is_program else SUBJECT_LINES
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_known_failure_of_an_example_is_for_the_version_that_is_pinned(name: str) -> None:
    table = table_of(name)
    pins = (EXAMPLES / name / "requirements.txt").read_text("utf-8").splitlines()
    for entry in table.get("known_failures", []):
        library, version = entry["revision"].split()
        assert f"{library}=={version}" in pins


def test_there_are_examples() -> None:
    assert {"litequeue", "persist_queue"} <= set(NAMES)
