"""``runcoord schema`` and ``runcoord check``, which the pytest plugin contributes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from cli.shell import PROCESS_SECONDS, Shell
from pytest_runcoord.schema import schema
from pytest_runcoord.verbs import default_registry
from runcoord.cli.contributed import GROUP

GOOD = """\
runcoord: 1
scenario: s
says: It holds.
steps:
  - open: gw1
"""
BAD = GOOD.replace("- open: gw1", "- opne: gw1")


@pytest.fixture
def shell(path: Path) -> Shell:
    entries = [EntryPoint(name, f"pytest_runcoord.commands:{name}", GROUP) for name in ("check", "schema")]
    return replace(Shell(path), source=lambda: entries)


def test_the_help_shows_both_commands_without_loading_the_language_of_scenarios() -> None:
    code = (
        "import sys, pytest_runcoord.commands as found\n"
        "print(found.check.get_short_help_str(), found.schema.get_short_help_str(), file=sys.stderr)\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PROCESS_SECONDS, check=True
    )
    assert "Check scenario files" in done.stderr
    assert set(done.stdout.split()) & {"asyncio", "pytest", "rich", "yaml", "pytest_runcoord.verbs"} == set()


def test_the_schema_is_printed_or_written(shell: Shell, tmp_path: Path) -> None:
    wanted = schema(default_registry())
    assert shell("schema").document == wanted
    file = tmp_path / "schema.json"
    assert shell("schema", "-o", str(file)).out == ""
    assert json.loads(file.read_text("utf-8")) == wanted


def test_a_schema_that_cannot_be_written_is_an_error_with_its_place(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "nowhere" / "schema.json"
    answer = shell("schema", "-o", str(file))
    assert (answer.code, answer.out) == (1, "")
    assert str(file) in answer.err
    assert "No such file or directory" in answer.err


def test_good_files_are_counted(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "a.runcoord.yaml").write_text(GOOD, "utf-8")
    (tmp_path / "b.runcoord.yaml").write_text(f"{GOOD}---\n{GOOD.replace(': s', ': t')}", "utf-8")
    answer = shell("check", str(tmp_path))
    assert (answer.code, answer.out) == (0, "2 files, 3 scenarios, 3 variants: no faults\n")


def test_faults_are_named_with_their_place_and_the_other_files_are_checked(
    shell: Shell, tmp_path: Path
) -> None:
    wrong, broken = tmp_path / "a.runcoord.yaml", tmp_path / "b.runcoord.yaml"
    wrong.write_text(BAD, "utf-8")
    broken.write_text("runcoord: [\n", "utf-8")
    (tmp_path / "c.runcoord.yaml").write_text(GOOD, "utf-8")
    answer = shell("check", str(tmp_path))
    assert answer.code == 1
    first, second, last = answer.out.splitlines()
    assert first.startswith(f"{wrong}:5:5: ")
    assert "opne" in first
    assert second.startswith(f"{broken}:2:1: ")
    assert last == "3 files, 2 scenarios, 1 variant: 2 faults"
    document = shell("check", str(tmp_path), "--json").document
    assert (document["files"], document["scenarios"], document["variants"]) == (3, 2, 1)
    assert [(fault["path"], fault["line"], fault["scenario"]) for fault in document["faults"]] == [
        (str(wrong), 5, "s"),
        (str(broken), 2, ""),
    ]


def test_all_faults_of_a_scenario_are_named(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "a.runcoord.yaml"
    file.write_text(BAD.replace("opne", "opne: gw1\n  - advance: 3\n  - rebot"), "utf-8")
    *faults, last = shell("check", str(file)).out.splitlines()
    assert [line.removeprefix(f"{file}:").split(":")[0] for line in faults] == ["5", "6", "7"]
    assert last == "1 file, 1 scenario, 0 variants: 3 faults"


@pytest.mark.parametrize("named", [False, True], ids=["below", "named"])
def test_a_file_with_the_other_ending_of_yaml_is_a_fault(shell: Shell, tmp_path: Path, named: bool) -> None:
    file = tmp_path / "a.runcoord.yml"
    file.write_text(GOOD, "utf-8")
    answer = shell("check", str(file if named else tmp_path))
    told = "pytest collects scenarios from *.runcoord.yaml only (rename it to a.runcoord.yaml)"
    assert answer.out.splitlines() == [f"{file}:1:1: {told}", "1 file, 1 scenario, 1 variant: 1 fault"]
    assert answer.code == 1


def test_a_directory_without_scenarios_is_no_success(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    answer = shell("check", str(tmp_path / "empty"))
    assert (answer.code, answer.out) == (2, "")
    assert "has no *.runcoord.yaml below it" in answer.err
