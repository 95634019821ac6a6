"""docs/reference/command-line.md says what the program does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from cli.command_line_page import PAGE, page_with_generated_part
from cli.planting import Garden
from cli.shell import Shell
from runcoord._supervisor.report import ExitStatus
from runcoord.cli.failures import Exit
from runcoord.ports import RefusalKind

TEXT = PAGE.read_text("utf-8")


def section(title: str) -> str:
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#+ |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert found, f"the page has no section {title!r}"
    return found.group(1)


def keys(title: str) -> set[str]:
    """The keys in the first column of a section's table."""
    return set(re.findall(r"^\| `(\w+)` \|", section(title), re.MULTILINE))


def test_the_help_texts_on_the_page_are_those_of_the_program() -> None:
    assert page_with_generated_part(TEXT) == TEXT, "run: python tests/cli/command_line_page.py"


def test_the_page_explains_every_exit_code() -> None:
    assert re.findall(r"^\| (\d+) \|", section("Exit codes"), re.MULTILINE) == [
        str(int(code)) for code in Exit
    ]


def test_the_page_explains_every_exit_code_of_run() -> None:
    listed = re.findall(r"^\| (\d+) \|", section("Exit codes of `run`"), re.MULTILINE)
    assert listed == [str(int(code)) for code in ExitStatus]


def imported_home(tmp_path: Path) -> Path:
    """A home with a good folder and an empty one."""
    home = tmp_path / "home"
    for name in ("from-a-folder", "empty"):
        (home / "runs" / name).mkdir(parents=True)
    (home / "runs" / "from-a-folder" / "state.json").write_text('{"id": "from-a-folder"}')
    (home / "runs" / "from-a-folder" / "result.txt").write_text("done")
    return home


@pytest.fixture
def documents(garden: Garden, shell: Shell, tmp_path: Path) -> dict[str, Any]:
    """A document of each command, on a store where everything has a value."""
    garden.everything()
    garden.running("grouped", group="g", group_size=2)
    garden.sql("UPDATE runs SET state = 'dreaming' WHERE run_id = 'held'")
    return {
        "runs": shell("--json", "runs").document,
        "show": shell("--json", "show", "grouped").document,
        "events": shell("--json", "events", "--held").document,
        "waiting": shell("--json", "events", "--state", "pending").document,
        "stop": shell("--json", "stop", "stopping").document,
        "sweep": shell("--json", "recover").document,
        "import": shell("--json", "import", str(imported_home(tmp_path))).document,
        "imported": shell("--json", "show", "from-a-folder").document,
        "error": shell("--json", "show", "nobody").error,
        "result": shell("--json", "show", "completed", "--result").document,
    }


def test_the_keys_on_the_page_are_those_of_the_documents(documents: dict[str, Any]) -> None:
    run, event = documents["runs"]["runs"][0], documents["events"]["events"][0]
    assert set(run) == keys("A run in a list")
    assert set(documents["show"]) - set(run) == keys("One run")
    assert set(event) == keys("An event")
    assert set(documents["stop"]) == keys("A stop")
    assert set(documents["sweep"]) == keys("A sweep")
    assert set(documents["import"]) == keys("An import")
    assert set(documents["runs"]["bad"][0]) == keys("A row that cannot be read")
    assert set(documents["error"]) == keys("An error")


def test_the_keys_of_lists_and_of_inner_objects_are_named_on_the_page(documents: dict[str, Any]) -> None:
    inner = [
        documents["runs"],
        documents["events"],
        documents["result"],
        documents["show"]["lease"],
        documents["show"]["group_members"],
        documents["waiting"]["events"][0]["due"],
        documents["imported"]["source"],
        documents["imported"]["source"]["result"],
        documents["imported"]["source"]["claims"],
    ]
    for key in (key for each in inner for key in each):
        assert f"`{key}`" in section("JSON") + section("A run in a list") + section("One run") + section(
            "An event"
        )


def test_the_kinds_of_refused_folders_are_named_on_the_page(documents: dict[str, Any]) -> None:
    assert set(documents["import"]["refused"][0]) == {"name", "kind", "reason"}
    for kind in RefusalKind:
        if kind not in {RefusalKind.EXISTS, RefusalKind.READ_ONLY, RefusalKind.FULL, RefusalKind.UNSUPPORTED}:
            assert f"`{kind}`" in section("An import")
