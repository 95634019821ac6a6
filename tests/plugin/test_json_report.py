"""``--runcoord-json``: what is written, by its schema, and when it cannot be."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from plugin.conftest import Run
from plugin.scenario_files import (
    DELIVERING,
    FAILING,
    FAILING_LINE,
    PASSING,
    UNREADABLE,
    VARIANTS,
    WRONG,
    WRONG_LINE,
    together,
)
from plugin.test_known_failures import LATER, VERSIONED, entry
from pytest_runcoord.commands import schema
from pytest_runcoord.report_schema import DOCUMENT, PARTS, report_schema
from pytest_runcoord.whole_files import write_whole

pytest_plugins = ["pytester"]
Write = Callable[[str, str], Path]
JSON = "--runcoord-json=out/report.json"
SUBJECT = (
    VERSIONED
    + """\
    capabilities = Reference.capabilities - {"outbox"}
"""
)


@pytest.fixture
def project(write: Write) -> Path:
    """Something of everything: what passes, fails, is wrong, is known, is skipped; and a gate that fails."""
    write("pytest.ini", "[pytest]\n")
    write("queue_subject.py", SUBJECT)
    write("a.runcoord.yaml", together(PASSING, FAILING, WRONG))
    write("b.runcoord.yaml", together(FAILING.replace("never-refused", "known-one"), DELIVERING))
    table = "subject = 'queue_subject.py:Versioned'\nrequired_invariants = ['stop-wins', 'one-outcome']\n"
    write("runcoord.toml", table + entry("known-one", revision="1.4") + entry("gone"))
    return write("test_a.py", "def test_a():\n    pass\n").parent


def report_in(directory: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((directory / "out" / "report.json").read_text("utf-8"))
    jsonschema.validate(found, report_schema(), format_checker=jsonschema.FormatChecker())
    return found


def variant(report: dict[str, Any], scenario: str) -> dict[str, Any]:
    [found] = [each for each in report["variants"] if each["scenario"] == scenario]
    return dict(found)


def test_the_report_has_everything_and_is_what_the_schema_says(project: Path, run: Run) -> None:
    result = run(JSON)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert f"runcoord: report in {project / 'out' / 'report.json'}" in result.outlines
    report = report_in(project)
    assert report["subject"]["name"] == "queue"
    assert report["subject"]["asked_for"] == "queue_subject.py:Versioned"
    assert report["subject"]["version"] == "queue 1.4"
    assert "runs" in report["subject"]["capabilities"]
    assert {"capability": "outbox", "variants": 1, "alone": 1} in report["subject"]["lacks"]
    counts = {name: count for name, count in report["counts"].items() if count}
    expected = {"passed": 1, "failed": 1, "xfailed": 1, "skipped": 1, "invalid": 1}
    assert counts == {"scenarios": 5, "scenarios_run": 3, "variants": 5, **expected}
    failed = variant(report, "never-refused")
    line = PASSING.count("\n") + 1 + FAILING_LINE
    assert (failed["verdict"], failed["line"], failed["column"]) == ("failed", line, 5)
    assert failed["failed_by"] == "expectation refused"
    assert failed["message"] == "claim was accepted (expected: refused as lease-held)"
    assert failed["exercised"]["epoch-rises"] == 1
    wrong = variant(report, "misspelt")
    assert wrong["verdict"] == "invalid"
    assert wrong["line"] == PASSING.count("\n") + FAILING.count("\n") + 2 + WRONG_LINE
    known = variant(report, "known-one")
    assert (known["verdict"], known["known_failure"]) == ("xfailed", "known-one")
    assert known["known_failure_is"] == "expected"
    skipped = variant(report, "told-once")
    assert skipped["verdict"] == "skipped"
    assert "outbox" in skipped["missing"]


def test_the_report_has_invariants_known_failures_and_why_the_gate_is_red(project: Path, run: Run) -> None:
    run(JSON)
    report = report_in(project)
    invariants = {each["id"]: each for each in report["invariants"]}
    assert invariants["one-outcome"]["exercised"] > 0
    assert invariants["one-outcome"]["required"]
    assert not invariants["stop-wins"]["exercised"]
    assert [each["scenario"] for each in report["known_failures"]] == ["known-one", "gone"]
    met = report["known_failures"][0]
    assert met["nodes"] == ["b.runcoord.yaml::known-one::default"]
    assert (met["by"], met["until"], met["standing"]) == ("maria", str(LATER), "applies")
    assert report["gate"]["verdict"] == "failed"
    reasons = [(each["kind"], each["path"], each["line"]) for each in report["gate"]["reasons"]]
    assert reasons == [
        ("required-invariant", "runcoord.toml", 2),
        ("unmatched-known-failure", "runcoord.toml", 9),
    ]
    assert report["exit_code"] == 1
    assert report["bite"] is None


def test_under_xdist_the_report_is_the_same(project: Path, run: Run, run_apart: Run) -> None:
    run(JSON)
    alone = report_in(project)
    run_apart("-p", "xdist", "-n2", JSON)
    spread = report_in(project)
    for report in (alone, spread):
        del report["made"]
        for each in report["variants"]:
            del each["seconds"]
    assert spread == alone


def test_a_part_is_said_to_be_one_and_is_not_judged(project: Path, run: Run) -> None:
    assert run(JSON, "-k", "plain").ret == pytest.ExitCode.OK
    report = report_in(project)
    assert report["selection"]["narrowed_by"] == "-k"
    assert report["gate"] == {"verdict": "not-judged", "not_judged": "-k chose a part", "reasons": []}
    assert report["exit_code"] == 0


def test_variants_are_each_there_with_their_tier(write: Write, run: Run) -> None:
    directory = write("a.runcoord.yaml", VARIANTS).parent
    run(JSON)
    found = [(each["variant"], each["tier"]) for each in report_in(directory)["variants"]]
    assert found == [("default", "sim"), ("memory", "sim")]


def test_a_file_that_cannot_be_read_is_in_the_report(write: Write, run: Run) -> None:
    directory = write("a.runcoord.yaml", UNREADABLE).parent
    assert run(JSON).ret == pytest.ExitCode.INTERRUPTED
    report = report_in(directory)
    [unreadable] = report["unreadable"]
    assert unreadable["path"] == "a.runcoord.yaml"
    assert unreadable["line"] in (2, 3)
    assert report["gate"]["verdict"] == "not-judged"
    assert report["exit_code"] == 2


def test_a_run_without_scenarios_writes_a_report_that_says_so(write: Write, run: Run) -> None:
    directory = write("test_a.py", "def test_a():\n    pass\n").parent
    assert run(JSON).ret == pytest.ExitCode.OK
    report = report_in(directory)
    assert report["variants"] == []
    assert report["subject"]["capabilities"] is None


def test_a_file_that_cannot_be_written_stops_the_run_before_it_begins(write: Write, run: Run) -> None:
    directory = write("a.runcoord.yaml", PASSING).parent
    write("taken", "a file")
    (directory / "folder").mkdir()
    for given, problem in {
        "folder": "--runcoord-json: * is a directory. Nothing was run.",
        "taken/out.json": "--runcoord-json: * is no directory that can be written: *",
        "": "--runcoord-json: the name of the file is empty",
        300 * "x": "--runcoord-json: * cannot be written: *",
    }.items():
        result = run(f"--runcoord-json={given}")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"ERROR: {problem}"])
        assert "passed" not in result.stdout.str()
    assert (directory / "taken").read_text("utf-8") == "a file"


def test_a_report_that_cannot_be_written_at_the_end_fails_the_run(write: Write, run: Run) -> None:
    write("test_a.py", "import shutil\ndef test_a():\n    shutil.rmtree('out'); open('out', 'w').close()\n")
    result = run(JSON)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "the report could not be written to" in result.stdout.str()


def test_an_old_report_stays_whole_and_nothing_else_is_left_beside_it(write: Write, run: Run) -> None:
    directory = write("a.runcoord.yaml", PASSING).parent
    run(JSON)
    run(JSON)
    assert [path.name for path in (directory / "out").iterdir()] == ["report.json"]
    assert report_in(directory)["counts"]["passed"] == 1


def test_a_report_takes_the_place_of_nothing_but_a_file(write: Write, run: Run) -> None:
    directory = write("a.runcoord.yaml", PASSING).parent
    os.mkfifo(directory / "pipe")
    result = run("--runcoord-json=pipe")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --runcoord-json: *pipe is no plain file. Nothing was run."])
    assert (directory / "pipe").is_fifo()
    with pytest.raises(OSError, match="no plain file"):
        write_whole(directory / "pipe", "x")
    assert (directory / "pipe").is_fifo()


def test_a_report_is_written_where_a_link_leads(write: Write, run: Run) -> None:
    directory = write("a.runcoord.yaml", PASSING).parent
    (directory / "link.json").symlink_to("kept/report.json")
    assert run("--runcoord-json=link.json").ret == pytest.ExitCode.OK
    assert (directory / "link.json").is_symlink()
    assert json.loads((directory / "kept/report.json").read_text("utf-8"))["exit_code"] == 0


def test_the_exit_code_in_the_report_is_that_of_the_run_whatever_fails_last(write: Write, run: Run) -> None:
    directory = write("a.runcoord.yaml", PASSING).parent
    write(
        "conftest.py",
        "import shutil\ndef pytest_sessionfinish():\n    shutil.rmtree('html'); open('html', 'w').close()\n",
    )
    result = run(JSON, "--runcoord-report=html")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert report_in(directory)["exit_code"] == 1


def test_collecting_alone_writes_nothing(write: Write, run: Run) -> None:
    directory = write("a.runcoord.yaml", PASSING).parent
    run(JSON, "--collect-only")
    assert not (directory / "out").exists()


def test_the_schema_is_one_and_is_what_the_command_prints() -> None:
    found = report_schema()
    jsonschema.Draft7Validator.check_schema(found)
    result = CliRunner().invoke(schema, ["--report"])
    assert json.loads(result.output) == found


def test_a_report_that_lacks_a_field_or_has_another_is_against_the_schema(write: Write, run: Run) -> None:
    directory = write("a.runcoord.yaml", PASSING).parent
    run(JSON)
    report = report_in(directory)
    for name in DOCUMENT:
        less = {key: value for key, value in report.items() if key != name}
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(less, report_schema())
    report["variants"][0]["verdict"] = "fine"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(report, report_schema())


def test_every_field_of_the_report_says_what_it_means() -> None:
    for fields in (DOCUMENT, *(fields for _, fields in PARTS.values())):
        assert all(says for _, says in fields.values())
