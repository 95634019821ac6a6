"""``runcoord init``: what a project begins with runs as it is, and nothing that is there is touched."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from plugin.conftest import STRICT, SUBPROCESS_SECONDS
from pytest_runcoord.commands import init
from pytest_runcoord.starting.project import TEMPLATES

FILES = ("runcoord.toml", "tests/recovery/first.runcoord.yaml", "tests/recovery/subject.py")
LONGEST_LINE = 110


def begin(*arguments: str) -> Result:
    return CliRunner().invoke(init, list(arguments), prog_name="runcoord init")


def files_in(directory: Path) -> list[str]:
    return sorted(str(each.relative_to(directory)) for each in directory.rglob("*") if each.is_file())


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


def pytest_in(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "runcoord", *STRICT[:2], *arguments],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=SUBPROCESS_SECONDS,
        check=False,
    )


def test_what_is_written_runs_as_it_is(project: Path) -> None:
    answer = begin(str(project))
    assert answer.exit_code == 0
    assert files_in(project) == sorted(FILES)
    assert all(name in answer.output for name in FILES)
    ran = pytest_in(project)
    assert ran.returncode == 0, ran.stdout
    assert "2 scenarios in 2 variants: 2 passed" in ran.stdout
    assert "scenarios on tests/recovery/subject.py:Subject" in ran.stdout


def test_no_shipped_scenario_that_it_can_be_asked_for_fails_on_the_placeholder(project: Path) -> None:
    begin(str(project))
    ran = pytest_in(project, "--runcoord-suite", "-q")
    assert ran.returncode == 0, ran.stdout
    assert " passed, " in ran.stdout


def test_a_fault_put_into_the_placeholder_turns_a_scenario_red(project: Path) -> None:
    begin(str(project))
    subject = project / "tests/recovery/subject.py"
    text = subject.read_text("utf-8")
    fenced = (
        "WHERE run = ? AND state = 'claimed' AND epoch = ?\",\n            (result, claim.run, claim.epoch)"
    )
    assert fenced in text
    subject.write_text(text.replace(fenced, 'WHERE run = ?",\n            (result, claim.run)'), "utf-8")
    ran = pytest_in(project)
    assert ran.returncode == 1
    assert "first.runcoord.yaml:16: stale-owner-refused: " in ran.stdout


def test_what_is_to_be_filled_in_is_marked_and_names_the_files_as_they_are(project: Path) -> None:
    begin(str(project), "--tests", "checks/durable")
    text = (project / "checks/durable/subject.py").read_text("utf-8")
    assert text.count("FILL IN") > 8
    assert "pytest -p runcoord checks/durable" in text
    assert 'subject = "checks/durable/subject.py:Subject"' in (project / "runcoord.toml").read_text("utf-8")
    assert not any(mark in each for each in files_in(project) for mark in ("@", "recovery"))
    for path in project.rglob("*.*"):
        assert "@TESTS@" not in path.read_text("utf-8")
    assert pytest_in(project).returncode == 0


def test_a_workflow_is_written_where_it_is_asked_for(project: Path) -> None:
    assert begin(str(project), "--github").exit_code == 0
    text = (project / ".github/workflows/recovery.yml").read_text("utf-8")
    assert "pytest -p runcoord" in text
    assert "@" not in text.replace("actions/checkout@", "").replace("actions/setup-python@", "").replace(
        "actions/upload-artifact@", ""
    )


def test_a_project_that_has_begun_gets_the_workflow_alone(project: Path) -> None:
    begin(str(project))
    subject = project / "tests/recovery/subject.py"
    subject.write_text("filled in")
    answer = begin(str(project), "--github")
    assert answer.exit_code == 0
    assert files_in(project) == sorted([*FILES, ".github/workflows/recovery.yml"])
    assert subject.read_text() == "filled in"
    assert "Then fill in" not in answer.output
    again = begin(str(project), "--github")
    assert again.exit_code == 2
    assert "recovery.yml. Move it away. Nothing was written." in " ".join(again.output.split())


@pytest.mark.parametrize("name", FILES)
def test_where_one_of_the_files_is_there_none_is_written(project: Path, name: str) -> None:
    path = project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to("nowhere")
    answer = begin(str(project))
    assert answer.exit_code == 2
    assert name in answer.output
    assert "--tests" in answer.output if name != "runcoord.toml" else "has begun" in answer.output
    assert files_in(project) == []
    assert path.is_symlink()


def test_a_project_that_has_begun_is_left_alone(project: Path) -> None:
    text = '[project]\nname = "x"\n\n[tool.runcoord]\nmin_scenarios = 1\n'
    (project / "pyproject.toml").write_text(text)
    answer = begin(str(project))
    assert answer.exit_code == 2
    assert "has begun" in answer.output
    assert files_in(project) == ["pyproject.toml"]
    assert (project / "pyproject.toml").read_text() == text


@pytest.mark.parametrize("tests", ["/etc/x", "../elsewhere", "a/../../b"])
def test_files_outside_of_the_project_are_refused(project: Path, tests: str) -> None:
    answer = begin(str(project), "--tests", tests)
    assert answer.exit_code == 2
    assert "not below the project" in answer.output
    assert files_in(project.parent) == []


def test_what_was_begun_is_taken_back_where_a_file_cannot_be_written(project: Path) -> None:
    (project / ".github").write_text("a file")
    answer = begin(str(project), "--github")
    assert answer.exit_code == 1
    assert "nothing was written" in answer.output
    assert files_in(project) == [".github"]
    assert not (project / "tests").exists()


def test_a_project_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    answer = begin(str(tmp_path / "nowhere"))
    assert answer.exit_code == 2
    assert files_in(tmp_path) == []


def test_lines_of_what_is_written_are_not_too_long() -> None:
    templates = list(TEMPLATES.iterdir())
    assert len(templates) == 4
    for each in templates:
        assert max(map(len, each.read_text("utf-8").splitlines())) <= LONGEST_LINE, each.name


def test_as_json_the_files_are_named(project: Path) -> None:
    class Session:
        json = True

    answer = CliRunner().invoke(init, [str(project)], obj=Session())
    assert json.loads(answer.output) == {"written": [FILES[2], FILES[1], FILES[0]]}
