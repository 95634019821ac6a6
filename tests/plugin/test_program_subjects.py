"""A program named on the command line or in the project's table, under pytest."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from plugin.conftest import Run
from subjects.programs import GOOD, MAIN

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.real
Write = Callable[[str, str], Path]

SCENARIOS = """
runcoord: 1
scenario: goes-well
says: A run is worked off.
steps:
  - open: gw1
  - submit: r1
  - claim: r1
  - complete: r1
heal: none
---
runcoord: 1
scenario: dies
says: A run that no program survives.
steps:
  - open: gw1
  - submit: deadly
  - claim: deadly
heal: none
---
runcoord: 1
scenario: needs-more
says: A run is stopped.
steps:
  - open: gw1
  - submit: r1
  - stop: r1
heal: none
"""
DEADLY = """
def on_claim(request):
    if request["args"]["run"] == "deadly":
        sys.exit("it is deadly")
    answer(request, handle={"mine": request["args"]["run"]})
"""


COMMAND = f"{sys.executable} -S small.py"
OPTION = f"--runcoord-subject=program: {COMMAND}"


@pytest.fixture(autouse=True)
def _project(write: Write) -> None:
    write("tried.runcoord.yaml", SCENARIOS.lstrip())
    write("small.py", GOOD + DEADLY + MAIN)


def test_the_run_goes_on_after_a_program_that_died_and_names_it_at_the_line_of_the_step(run: Run) -> None:
    done = run("-rs", OPTION)
    done.assert_outcomes(passed=1, failed=1, skipped=1)
    done.stdout.fnmatch_lines(
        ["tried.runcoord.yaml:17: the subject small: claim ended by itself (exit status 1*"]
    )
    done.stdout.fnmatch_lines(["*it is deadly*"])
    done.stdout.fnmatch_lines(["*small lacks stop*"])


def test_a_program_of_the_project_s_table_is_started_in_the_project(
    write: Write, run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("runcoord.toml", f'subject = "program: {COMMAND}"\n')
    monkeypatch.chdir(pytester.mkdir("elsewhere"))
    done = run(f"--rootdir={pytester.path}", str(pytester.path), "-k", "well")
    done.assert_outcomes(passed=1, deselected=2)


def test_workers_of_xdist_drive_programs_of_their_own(run_apart: Run) -> None:
    done = run_apart("-p", "xdist.plugin", "-n", "2", OPTION)
    done.assert_outcomes(passed=1, failed=1, skipped=1)


@pytest.mark.parametrize("name", ["program:", "program: 'python"])
def test_a_name_without_a_command_line_stops_the_run_before_anything_runs(run: Run, name: str) -> None:
    done = run("--runcoord-subject", name)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["ERROR: the runcoord subject *is no program: *"])
    assert "Traceback" not in done.stderr.str()


def test_a_program_that_cannot_be_executed_fails_each_scenario_at_its_first_step(run: Run) -> None:
    done = run("--runcoord-subject=program: ./not-there", "--tb=line")
    done.assert_outcomes(failed=3)
    text = done.stdout.str()
    assert "tried.runcoord.yaml:5: the subject ./not-there: open cannot be executed: No such file" in text
