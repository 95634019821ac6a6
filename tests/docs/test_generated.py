"""The generated pages of the reference, and the schema beside the scenarios, are what the code says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import runcoord
from pytest_runcoord.verbs import default_registry
from runcoord.errors import refusal_codes, store_error_codes
from source_tree import ROOT

REFERENCE = ROOT / "docs" / "reference"
GENERATE = [sys.executable, str(ROOT / "docs" / "generate.py")]
SECONDS = 120.0
"""Far more than it takes; only a fault takes that long."""


def generate(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*GENERATE, *arguments], cwd=cwd, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def test_the_generated_pages_and_the_schema_are_current() -> None:
    result = generate()
    assert (result.returncode, result.stdout, result.stderr) == (0, "", ""), (
        "run: python docs/generate.py --write"
    )


def test_another_argument_is_refused() -> None:
    result = generate("--wirte")
    assert result.returncode == 2
    assert "usage" in result.stderr


def text(name: str) -> str:
    return (REFERENCE / name).read_text("utf-8")


def test_every_public_name_of_the_library_is_on_its_page() -> None:
    page = text("library.md")
    for name in runcoord.__all__:
        assert name.startswith("__") or re.search(rf"^### `{name}`$|^\| `{name}` \|", page, re.MULTILINE), (
            name
        )


def test_every_code_is_on_the_page_of_errors() -> None:
    page = text("errors.md")
    for code in [*refusal_codes(), *store_error_codes()]:
        assert f"| `{code}` |" in page


def test_every_limit_has_a_meaning() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \|.*\| ([^|]*) \|$", text("limits.md"), re.MULTILINE)
    assert len(rows) > 50
    assert [name for name, meaning in rows if not meaning.strip()] == []


def test_every_setting_has_a_meaning() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `[^|]*` \| (.*) \|$", text("settings.md"), re.MULTILINE)
    assert [name for name, _ in rows] == runcoord.Settings.names()
    assert all(meaning.strip() for _, meaning in rows)


def test_no_docstring_leaves_markup_of_another_kind_on_a_page() -> None:
    for path in sorted(REFERENCE.glob("*.md")):
        assert not re.search(
            r":\w+:`|``[^`]", re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.M | re.S)
        )


def test_the_schema_is_where_the_shipped_scenarios_say_that_it_is() -> None:
    schema = ROOT / "scenarios" / "runcoord.schema.json"
    assert json.loads(schema.read_text("utf-8"))["title"] == "runcoord scenario"
    for path in sorted((ROOT / "scenarios").rglob("*.runcoord.yaml")):
        first = path.read_text("utf-8").partition("\n")[0]
        named = first.removeprefix("# yaml-language-server: $schema=")
        assert (path.parent / named).resolve() == schema, f"{path.name} begins with {first!r}"


def test_every_word_is_on_the_page_of_the_language() -> None:
    registry, page = default_registry(), text("scenario-language.md")
    for word in (*registry.steps, *registry.givens, *registry.expectations):
        assert f"\n#### `{word}`\n" in page
    for name in (*registry.axes, *registry.moments, *registry.refusals, *registry.capabilities):
        assert f"\n| `{name}` |" in page


def test_the_plugin_reads_no_variable_of_its_own_from_the_environment() -> None:
    package = ROOT / "src" / "pytest_runcoord"
    readers = [
        path.name
        for path in package.rglob("*.py")
        if path.parent.name != "real" and re.search(r"\bos\.environ|getenv", path.read_text("utf-8"))
    ]
    # Words about time zones set TZ for a scenario and put it back; a simulated child gets a copy of it all.
    # The environments of owners are worn for the time of a verb. The tier real hands all of it on.
    # A fault of the bite test takes the depth of a run away for a call. Annotations are for a job on GitHub.
    # What a subject changed in all of it is put back.
    assert set(readers) == {
        *("popen.py", "time.py", "environments.py", "checkouts.py"),
        *("commands.py", "options.py", "telling.py", "leaks.py"),
    }
