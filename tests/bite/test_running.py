"""``--runcoord-bite`` as pytest users meet it: what runs, how it is chosen, and what is said."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from bite.scenarios_tried import BLIND, TOOTHLESS
from plugin.conftest import Run
from plugin.scenario_files import PASSING, WRONG
from pytest_runcoord.bite.faults import FAULTS
from pytest_runcoord.report_schema import report_schema

pytest_plugins = ["pytester"]
Write = Callable[[str, str], Path]

CHOSEN = "result-dropped or late-renewal-accepted"
KEEPS_ITS_RESULT = PASSING.replace("complete: {with: mine}", "complete: {with: mine, result: done}")


@pytest.fixture
def keeping(write: Write) -> None:
    """A project in which one fault of two turns something red."""
    write("kept.runcoord.yaml", KEEPS_ITS_RESULT)


@pytest.mark.usefixtures("keeping")
def test_each_fault_is_an_item_that_passes_where_the_gate_turns_red(run: Run) -> None:
    result = run("--runcoord-bite", "-k", "result-dropped", "-v")
    result.assert_outcomes(passed=1, deselected=len(FAULTS))
    result.stdout.fnmatch_lines(
        [
            f"runcoord bite: {len(FAULTS)} boundary faults in place of the scenarios, tier sim",
            "bite::result-dropped PASSED*",
            "red  result-dropped  result-kept  kept.runcoord.yaml:11",
            "1 boundary fault: 1 red*",
        ]
    )
    assert result.ret == pytest.ExitCode.OK


@pytest.mark.usefixtures("keeping")
def test_a_toothless_suite_fails_for_each_fault_that_it_lets_pass(run: Run, write: Write) -> None:
    write("kept.runcoord.yaml", TOOTHLESS)
    result = run("--runcoord-bite", "-k", CHOSEN)
    result.assert_outcomes(failed=2, deselected=len(FAULTS) - 1)
    result.stdout.fnmatch_lines(
        [
            "no scenario gave it occasion: none that runs on this subject uses any of: result",
            "  the fault:    The result with which a run ends is not kept.",
            "  expected:     one of these turns red: result-kept",
            "  what to do:   Write a scenario in which it would show (complete)*",
            "NEVER-MET  result-dropped  * no scenario gave it occasion*",
            "2 boundary faults: 2 never-met*",
            "FAILED bite::result-dropped - *no scenario gave it occasion*",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_the_gate_that_stays_green_is_the_finding(run: Run, write: Write) -> None:
    write("blind.runcoord.yaml", BLIND)
    result = run("--runcoord-bite", "-k", "destination-guessed")
    result.assert_outcomes(failed=1, deselected=len(FAULTS))
    result.stdout.fnmatch_lines(
        [
            "the gate stays green: 1 variant met the fault, and none turned red",
            "  met by:       blind.runcoord.yaml::nothing-much::default",
            "GREEN  destination-guessed *the gate stays green*",
        ]
    )


@pytest.mark.usefixtures("keeping")
def test_what_runs_can_be_chosen_and_stopped_as_other_tests(run: Run) -> None:
    run("--runcoord-bite", "-k", CHOSEN, "--deselect", "bite::result-dropped").assert_outcomes(
        failed=1, deselected=len(FAULTS)
    )
    stopped = run("--runcoord-bite", "-x")
    assert stopped.parseoutcomes()["failed"] == 1
    again = run("--runcoord-bite", "--lf", "-v")
    again.assert_outcomes(failed=2, deselected=len(FAULTS) - 1)


@pytest.mark.usefixtures("keeping")
def test_collecting_lists_faults_and_runs_none(run: Run) -> None:
    result = run("--runcoord-bite", "--collect-only", "-q")
    listed = [line for line in result.outlines if line.startswith("bite::")]
    assert listed == [f"bite::{each.name}" for each in FAULTS]
    result.stdout.no_fnmatch_line("*boundary fault*red*")


@pytest.mark.usefixtures("keeping")
def test_quiet_runs_say_it_in_one_line(run: Run) -> None:
    result = run("--runcoord-bite", "-q", "-k", CHOSEN)
    result.stdout.fnmatch_lines(["runcoord bite: 2 boundary faults: 1 red, 1 never-met"])
    result.stdout.no_fnmatch_line("red *result-dropped*")


@pytest.mark.usefixtures("keeping")
def test_several_processes_give_the_same_table(run_apart: Run) -> None:
    result = run_apart("-p", "xdist", "-n", "2", "--runcoord-bite", "-k", CHOSEN)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "red        result-dropped         result-kept  kept.runcoord.yaml:11",
            "NEVER-MET  late-renewal-accepted *",
            "2 boundary faults: 1 red, 1 never-met*",
        ]
    )


@pytest.mark.usefixtures("keeping")
def test_junit_files_say_what_turned_red_and_where(run: Run, pytester: pytest.Pytester) -> None:
    run("--runcoord-bite", "-k", "result-dropped", "--junitxml=out.xml")
    [case] = ElementTree.parse(pytester.path / "out.xml").iter("testcase")
    assert (case.get("classname"), case.get("name")) == ("bite", "result-dropped")
    said = {each.get("name"): each.get("value") for each in case.iter("property")}
    assert said == {
        "runcoord_bite": "red",
        "runcoord_bite_by": "result-kept",
        "runcoord_bite_at": "kept.runcoord.yaml:11",
    }


@pytest.mark.usefixtures("keeping")
def test_other_tests_are_left_out_and_wrong_scenarios_fail(run: Run, write: Write) -> None:
    write("test_other.py", "def test_other():\n    raise AssertionError\n")
    write("wrong.runcoord.yaml", WRONG)
    result = run("--runcoord-bite", "-k", "result-dropped or misspelt")
    result.assert_outcomes(passed=1, failed=1, deselected=len(FAULTS) + 1)
    result.stdout.fnmatch_lines(["FAILED wrong.runcoord.yaml::misspelt::invalid*"])


@pytest.mark.usefixtures("keeping")
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["test_nothing.py"], "*no scenario was collected in the tier sim*"),
        (["--runcoord-report=out"], "*--runcoord-bite and --runcoord-report*"),
        (["--runcoord-tier", "real"], "*runs in the tier sim, and only real is asked for*"),
        (["--runcoord-require", "2"], "*--runcoord-require: 1 scenarios were collected*at least 2*"),
    ],
    ids=["no-scenario", "report", "tier", "too-few"],
)
def test_what_cannot_be_meant_is_an_error_of_use(
    run: Run, write: Write, arguments: list[str], problem: str
) -> None:
    write("test_nothing.py", "def test_nothing():\n    pass\n")
    result = run("--runcoord-bite", *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([problem])


def test_without_scenarios_several_processes_are_not_green_either(run_apart: Run, write: Write) -> None:
    write("test_nothing.py", "def test_nothing():\n    pass\n")
    result = run_apart("-p", "xdist", "-n", "2", "--runcoord-bite")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.usefixtures("keeping")
def test_a_minimum_that_is_met_is_no_hindrance(run: Run) -> None:
    run("--runcoord-bite", "-k", "result-dropped", "--runcoord-require", "1").assert_outcomes(
        passed=1, deselected=len(FAULTS)
    )


def test_a_coordinator_of_somebody_else_is_tried_at_the_same_boundary(run: Run, write: Write) -> None:
    write(
        "taken.runcoord.yaml",
        "runcoord: 1\nscenario: taken\nsays: A job that is taken is not given to another worker.\nsteps:\n"
        "  - open: w1\n  - open: w2\n  - submit: {run: r1, by: w1}\n  - claim: {run: r1, by: w1}\n"
        "  - claim: {run: r1, by: w2, may_refuse: true}\n",
    )
    result = run(
        "--runcoord-bite",
        "--runcoord-subject",
        "subjects.toy:ToySubject",
        "-k",
        "lease-stolen or stop-ignored",
    )
    result.assert_outcomes(passed=1, skipped=1, deselected=len(FAULTS) - 1)
    result.stdout.fnmatch_lines(
        [
            "skipped  stop-ignored *toy lacks stop",
            "red      live-lease-stolen  live-lease-kept  taken.runcoord.yaml:9",
            "2 boundary faults: 1 red, 1 skipped in *s",
        ]
    )


OWN = """
from pytest_runcoord.bite import Boundary, BoundaryFault, fault

class Forgets(Boundary):
    def call(self, asked):
        if asked.verb == "start":
            self.meet()
        return asked.go()

def pytest_runcoord_faults():
    return [fault("forgets", "It forgets.", Forgets, needs="runs", caught_by="run")]
"""


@pytest.mark.usefixtures("keeping")
def test_faults_of_a_project_are_tried_too(run: Run, write: Write) -> None:
    write("conftest.py", OWN)
    result = run("--runcoord-bite", "-k", "forgets")
    result.assert_outcomes(failed=1, deselected=len(FAULTS) + 1)
    result.stdout.fnmatch_lines(["the gate stays green: 1 variant met the fault, and none turned red"])


@pytest.mark.usefixtures("keeping")
@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("3", "gave 3 (give a list of BoundaryFault)"),
        ("['stop']", "gave 'stop', which is no BoundaryFault (see pytest_runcoord.bite)"),
        (
            "[BoundaryFault('a b', 'It.', frozenset(), print)]",
            "*: the name 'a b' is not made of letters*",
        ),
        ("[BoundaryFault('ab', ' ', frozenset(), print)]", "*: 'ab' does not say what the subject does"),
        ("[BoundaryFault('ab', 'It.', frozenset(), 3)]", "*: 'ab': wrap is 3, which cannot be called"),
        (
            "[BoundaryFault('ab', 'It.', frozenset({'stopp'}), print)]",
            "*: 'ab' needs 'stopp', which is no capability; did you mean 'stop'?",
        ),
        (
            "[BoundaryFault('stop-ignored', 'It.', frozenset(), print)]",
            "gave a fault named 'stop-ignored', and there is one already, of runcoord",
        ),
    ],
)
def test_what_is_no_fault_stops_the_run_with_the_name_of_who_gave_it(
    run: Run, write: Write, given: str, problem: str
) -> None:
    write("conftest.py", OWN.replace('[fault("forgets"', f'{given} or [fault("forgets"'))
    result = run("--runcoord-bite")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*conftest.py:10: the hook pytest_runcoord_faults {problem}*"])


@pytest.mark.usefixtures("keeping")
def test_a_fault_that_cannot_be_put_in_fails_alone(run: Run, write: Write) -> None:
    write(
        "conftest.py",
        OWN.replace(
            '[fault("forgets"',
            '[BoundaryFault("breaks", "It.", frozenset(), lambda s: 1 / 0), fault("forgets"',
        ),
    )
    result = run("--runcoord-bite", "-k", "breaks or result-dropped")
    result.assert_outcomes(passed=1, failed=1, deselected=len(FAULTS) + 1)
    result.stdout.fnmatch_lines(
        ["the fault cannot be put in: its 'wrap' raised ZeroDivisionError: division by zero"]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*trying.py*")


ACCEPTED = """
[[tool.runcoord.known_failures]]
scenario = "bite::late-renewal-accepted"
by = "the maintainers"
why = "renewing late is allowed here"
until = {until}
"""


def flowing(result: pytest.RunResult) -> str:
    """What was printed, without its line breaks."""
    return " ".join(" ".join(result.outlines).split())


@pytest.mark.usefixtures("keeping")
def test_a_fault_that_is_accepted_for_a_while_is_an_expected_failure(run: Run, write: Write) -> None:
    write("pyproject.toml", ACCEPTED.format(until="2999-12-31"))
    result = run("--runcoord-bite", "-k", CHOSEN)
    result.assert_outcomes(passed=1, xfailed=1, deselected=len(FAULTS) - 1)
    result.stdout.fnmatch_lines(
        [
            "accepted  late-renewal-accepted  never-met, accepted by the maintainers until 2999-12-31:*",
            "2 boundary faults: 1 red, 1 accepted in *s",
        ]
    )
    assert result.ret == pytest.ExitCode.OK


@pytest.mark.usefixtures("keeping")
def test_the_acceptance_of_a_fault_ends_on_its_day(run: Run, write: Write) -> None:
    write("pyproject.toml", ACCEPTED.format(until="2020-12-31"))
    result = run("--runcoord-bite", "-k", CHOSEN)
    result.assert_outcomes(passed=1, failed=1, deselected=len(FAULTS) - 1)
    assert "renewing late is allowed here; its time is over (pyproject.toml:2)." in flowing(result)


@pytest.mark.usefixtures("keeping")
def test_a_fault_accepted_for_a_revision_is_not_where_the_subject_says_none(run: Run, write: Write) -> None:
    write("pyproject.toml", ACCEPTED.replace("until = {until}", 'revision = "1.4"'))
    result = run("--runcoord-bite", "-k", CHOSEN)
    result.assert_outcomes(passed=1, failed=1, deselected=len(FAULTS) - 1)
    assert "it has no end, since the subject says no version (pyproject.toml:2)." in flowing(result)


@pytest.mark.usefixtures("keeping")
def test_an_accepted_fault_that_turns_something_red_fails_until_its_entry_is_removed(
    run: Run, write: Write
) -> None:
    write(
        "pyproject.toml",
        ACCEPTED.format(until="2999-12-31").replace("late-renewal-accepted", "result-dropped"),
    )
    result = run("--runcoord-bite", "-k", "result-dropped")
    result.assert_outcomes(failed=1, deselected=len(FAULTS))
    result.stdout.fnmatch_lines(["a scenario turns red by the fault now"])
    assert "Remove the entry (pyproject.toml:2)." in flowing(result)


@pytest.mark.usefixtures("keeping")
def test_accepting_what_is_no_fault_is_an_error_of_use_and_matters_to_no_other_run(
    run: Run, write: Write
) -> None:
    write("pyproject.toml", ACCEPTED.format(until="2999-12-31").replace("late-renewal", "late-renewl"))
    result = run("--runcoord-bite")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*'bite::late-renewl-accepted' names no fault*'late-renewal-accepted'*"])
    run().assert_outcomes(passed=1)


def test_a_project_as_it_is_begun_bites_or_says_what_it_lacks(
    run_apart: Run, pytester: pytest.Pytester
) -> None:
    begun = pytester.run(sys.executable, "-m", "runcoord", "init")
    assert begun.ret == 0, begun.errlines
    result = run_apart("--runcoord-bite", "--runcoord-suite", "-q")
    assert result.ret == pytest.ExitCode.OK, result.outlines
    outcomes = result.parseoutcomes()
    assert outcomes["passed"] >= 10
    assert outcomes.keys() <= {"passed", "skipped", "deselected"}


@pytest.mark.usefixtures("keeping")
def test_a_json_report_has_what_came_of_each_fault(run: Run, write: Write, pytester: pytest.Pytester) -> None:
    write("pyproject.toml", ACCEPTED.format(until="2999-12-31"))
    run("--runcoord-bite", "-k", f"{CHOSEN} or stop-ignored", "--runcoord-json", "out.json")
    report = json.loads((pytester.path / "out.json").read_text("utf-8"))
    jsonschema.validate(report, report_schema())
    told = {each["fault"]: (each["verdict"], each["by"], bool(each["accepted"])) for each in report["bite"]}
    assert told == {
        "result-dropped": ("red", "result-kept", False),
        "stop-ignored": ("never-met", None, False),
        "late-renewal-accepted": ("never-met", None, True),
    }
    assert report["exit_code"] == pytest.ExitCode.TESTS_FAILED
