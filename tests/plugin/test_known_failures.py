"""Failures that the project's table lists as known: what is shown, and what wrong entries come to."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from plugin.conftest import Run
from plugin.scenario_files import FAILING, PASSING, failing, passing, together
from plugin.test_gate import summary

pytest_plugins = ["pytester"]
Write = Callable[[str, str], Path]

TODAY = datetime.now(UTC).date()
LATER, OVER = TODAY + timedelta(days=30), TODAY - timedelta(days=1)


def entry(scenario: str, **more: object) -> str:
    """One entry of a file runcoord.toml."""
    values = {"scenario": scenario, "by": "maria", "why": "the library does so", "until": LATER, **more}
    lines = [f"{name} = {f'{value}' if name == 'until' else f'{value!r}'}" for name, value in values.items()]
    return "\n".join(["[[known_failures]]", *(line for line in lines if not line.endswith("= None")), ""])


@pytest.fixture
def two(write: Write) -> None:
    write("a.runcoord.yaml", together(PASSING, FAILING))


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(
    "name",
    [
        "never-refused",
        "never-refused::default",
        "a.runcoord.yaml::never-refused",
        "a.runcoord.yaml::never-refused::default",
    ],
)
def test_a_known_failure_is_xfailed_with_who_accepted_it_and_why(write: Write, run: Run, name: str) -> None:
    write("runcoord.toml", entry(name))
    result = run("-rx")
    assert result.parseoutcomes() == {"passed": 1, "xfailed": 1}
    assert result.ret == pytest.ExitCode.OK
    assert summary(result).startswith("2 scenarios in 2 variants: 1 passed, 1 xfailed\n")
    result.stdout.fnmatch_lines(
        [f"XFAIL a.runcoord.yaml::never-refused::default - known failure, accepted by maria until {LATER}: *"]
    )
    result.stdout.fnmatch_lines(["runcoord *; 1 known failure"])


@pytest.mark.usefixtures("two")
def test_a_known_failure_counts_as_a_scenario_that_ran(write: Write, run: Run) -> None:
    write("runcoord.toml", "min_scenarios = 2\n" + entry("never-refused"))
    assert run().ret == pytest.ExitCode.OK


@pytest.mark.usefixtures("two")
def test_a_known_failure_that_passes_fails_and_says_to_remove_the_entry(write: Write, run: Run) -> None:
    write("runcoord.toml", entry("never-refused") + entry("plain-life"))
    result = run()
    assert result.parseoutcomes() == {"failed": 1, "xfailed": 1}
    assert "a.runcoord.yaml:1: passes, and is listed as a known failure" in result.outlines
    result.stdout.fnmatch_lines(["E   remove the known failure at runcoord.toml:6; accepted by maria *"])
    assert summary(result).startswith("2 scenarios in 2 variants: 1 failed, 1 xfailed\n")


@pytest.mark.usefixtures("two")
def test_an_entry_that_is_over_lets_the_failure_count(write: Write, run: Run) -> None:
    write("runcoord.toml", entry("never-refused", until=OVER))
    result = run()
    assert result.parseoutcomes() == {"passed": 1, "failed": 1}
    result.stdout.fnmatch_lines(["E   the known failure at runcoord.toml:1 was accepted until*"])
    write("runcoord.toml", entry("never-refused", until=TODAY))
    assert run().parseoutcomes() == {"passed": 1, "xfailed": 1}


@pytest.mark.usefixtures("two")
def test_failing_by_something_else_is_no_known_failure(write: Write, run: Run) -> None:
    write("runcoord.toml", entry("never-refused", failed_by="invariant one-outcome"))
    result = run()
    assert result.parseoutcomes() == {"passed": 1, "failed": 1}
    assert "by expectation refused" in result.stdout.str()
    write("runcoord.toml", entry("never-refused", failed_by="expectation refused"))
    assert run().parseoutcomes() == {"passed": 1, "xfailed": 1}


VERSIONED = """\
from pytest_runcoord.reference import Reference

class Versioned(Reference):
    name = "queue"
    version = "queue 1.4"
"""


@pytest.mark.parametrize("revision", ["1.4", "queue 1.4"])
@pytest.mark.usefixtures("two")
def test_an_entry_for_this_revision_counts(write: Write, run: Run, revision: str) -> None:
    write("queue_subject.py", VERSIONED)
    table = 'subject = "queue_subject.py:Versioned"\n'
    write("runcoord.toml", table + entry("never-refused", revision=revision, until=None))
    result = run()
    assert result.parseoutcomes() == {"passed": 1, "xfailed": 1}
    result.stdout.fnmatch_lines(["runcoord *: scenarios on queue_subject.py:Versioned, queue 1.4; *"])


@pytest.mark.usefixtures("two")
def test_an_entry_for_another_revision_is_left_aside_and_a_failure_says_so(write: Write, run: Run) -> None:
    write("queue_subject.py", VERSIONED)
    table = 'subject = "queue_subject.py:Versioned"\n'
    entries = entry("never-refused", revision="1.3") + entry("plain-life", revision="1.3")
    write("runcoord.toml", table + entries)
    result = run()
    assert result.parseoutcomes() == {"passed": 1, "failed": 1}
    result.stdout.fnmatch_lines(["E   the known failure at runcoord.toml:2 is for 1.3 only, *"])


UNVERSIONED = VERSIONED.replace('    version = "queue 1.4"\n', "")


@pytest.mark.usefixtures("two")
def test_an_entry_that_ends_with_a_revision_does_not_count_where_the_subject_says_none(
    write: Write, run: Run
) -> None:
    write("queue_subject.py", UNVERSIONED)
    table = 'subject = "queue_subject.py:Versioned"\n'
    write("runcoord.toml", table + entry("never-refused", revision="1.4", until=None))
    result = run("--runcoord-json=out.json")
    assert result.parseoutcomes() == {"passed": 1, "failed": 1}
    said = " ".join(" ".join(result.outlines).replace("E   ", "").split())
    assert "is for 1.4, and the subject says no version, so it would never end: let the subject have" in said
    assert "known failure never-refused: without an end; accepted by maria for 1.4" in said
    [known] = json.loads(Path("out.json").read_text("utf-8"))["known_failures"]
    assert known["standing"] == "endless"
    write("runcoord.toml", table + entry("never-refused", revision="1.4"))
    assert run().parseoutcomes() == {"passed": 1, "xfailed": 1}


@pytest.mark.usefixtures("two")
def test_the_summary_says_of_an_entry_what_the_workers_of_xdist_came_to(
    write: Write, run: Run, run_apart: Run
) -> None:
    """Only they have met a subject that says its version when it is made."""
    said = "    @property\n    def version(self):\n        return 'queue 1.4'\n"
    write("queue_subject.py", VERSIONED.replace('    version = "queue 1.4"\n', said))
    table = 'subject = "queue_subject.py:Versioned"\n'
    write("runcoord.toml", table + entry("never-refused", revision="1.4", until=None))
    alone = "runcoord: known failure never-refused: accepted by maria for 1.4: *"
    for result in (run(), run_apart("-p", "xdist", "-n1")):
        assert result.parseoutcomes() == {"passed": 1, "xfailed": 1}
        result.stdout.fnmatch_lines([alone])


@pytest.mark.usefixtures("two")
def test_with_runxfail_nothing_is_known(write: Write, run: Run) -> None:
    write("runcoord.toml", entry("never-refused") + entry("plain-life"))
    result = run("--runxfail")
    assert result.parseoutcomes() == {"passed": 1, "failed": 1}
    assert summary(result).startswith("2 scenarios in 2 variants: 1 passed, 1 failed\n")


def test_known_failures_are_the_same_under_xdist(write: Write, run_apart: Run) -> None:
    for letter in "abc":
        write(f"{letter}.runcoord.yaml", together(passing(f"{letter}1"), failing(f"{letter}2")))
    write("runcoord.toml", "".join(entry(f"{letter}2") for letter in "abc"))
    result = run_apart("-p", "xdist", "-n2")
    assert result.parseoutcomes() == {"passed": 3, "xfailed": 3}
    assert summary(result).startswith("6 scenarios in 6 variants: 3 passed, 3 xfailed\n")


LATE = """\
from pytest_runcoord.reference import Reference

class Late(Reference):
    name = "queue"

    @property
    def version(self):
        return "queue 1.4"
"""


@pytest.mark.usefixtures("two")
def test_of_entries_for_several_revisions_that_counts_which_the_subject_says_late(
    write: Write, run: Run
) -> None:
    write("late.py", LATE)
    both = [entry(name, revision=each) for name in ("never-refused", "plain-life") for each in ("1.3", "1.4")]
    write("runcoord.toml", 'subject = "late.py:Late"\n' + "".join(both))
    result = run("--runcoord-json=out.json")
    assert result.parseoutcomes() == {"xfailed": 1, "failed": 1}
    assert "passes, and is listed as a known failure" in result.stdout.str()


def test_an_entry_accepts_no_failure_of_another_file_that_has_the_same_name(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", FAILING)
    write("runcoord.toml", entry("never-refused"))
    assert run().ret == pytest.ExitCode.OK
    write("b.runcoord.yaml", FAILING)
    result = run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    line = "is about scenarios in a.runcoord.yaml, b.runcoord.yaml (runcoord.toml:1)"
    assert f"runcoord: the known failure 'never-refused' {line}" in result.outlines
    each = [entry(f"{file}.runcoord.yaml::never-refused") for file in "ab"]
    write("runcoord.toml", "".join(each))
    assert run().ret == pytest.ExitCode.OK


@pytest.mark.usefixtures("two")
def test_texts_of_an_entry_are_shown_on_one_line_without_control_characters(write: Write, run: Run) -> None:
    write("runcoord.toml", entry("never-refused").replace("'maria'", '"ma\\u001b[2J\\nria"'))
    output = run().stdout.str()
    assert f"accepted by ma\N{REPLACEMENT CHARACTER}[2J ria until {LATER}" in output
    assert "\x1b" not in output


@pytest.mark.usefixtures("two")
def test_a_subject_that_cannot_be_opened_is_no_known_failure_unless_that_is_accepted(
    write: Write, run: Run
) -> None:
    subject = 'subject = "program: sh -c exit"\n'
    write("runcoord.toml", subject + entry("never-refused") + entry("plain-life", failed_by="subject hello"))
    result = run()
    assert result.parseoutcomes() == {"failed": 1, "xfailed": 1}
    said = " ".join(result.stdout.str().replace("\nE   ", " ").split())
    assert "and this came by subject hello: look at it anew" in said
