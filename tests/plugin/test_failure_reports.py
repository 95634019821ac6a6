"""What a failure shows, in every way in which pytest shows failures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from plugin.conftest import Run
from plugin.scenario_files import FAILING, FAILING_LINE, LITTLE_SUBJECT, PASSING, VARIANTS, WRONG, together

pytest_plugins = ["pytester"]
Write = Callable[[str, str], Path]

MESSAGE = "claim was accepted (expected: refused as lease-held)"


def shown(result: pytest.RunResult, first: str) -> list[str]:
    """The lines of the report, from the one that begins with ``first`` to the one that tells how to rerun."""
    lines = result.outlines
    begin = next(index for index, line in enumerate(lines) if line.startswith(first))
    end = next(index for index, line in enumerate(lines) if line.startswith("Rerun: "))
    return [line.rstrip() for line in lines[begin : end + 1]]


@pytest.fixture
def failing(write: Write) -> str:
    write("a.runcoord.yaml", FAILING)
    return f"a.runcoord.yaml:{FAILING_LINE}: {MESSAGE}"


def test_a_failure_shows_place_lines_expected_seen_history_and_rerun_in_this_order(
    failing: str, run: Run
) -> None:
    result = run()
    lines = shown(result, failing)
    assert lines[:9] == [
        failing,
        "",
        "   6 |   - submit: {run: r1}",
        "   7 |   - advance: 5s",
        "   8 |   - suspend: 1h",
        ">  9 |   - claim: {run: r1, by: gw1, lease: 90s, refused: lease-held}",
        "     |     ^",
        "  10 |   - advance: 1s",
        "",
    ]
    assert lines[9:12] == [
        "E   says:     A first claim is refused.",
        "E   expected: refused as lease-held",
        "E   seen:     accepted",
    ]
    assert lines[-1] == "Rerun: pytest -p runcoord a.runcoord.yaml::never-refused::default"
    timeline = lines[14 : lines.index("", 14)]
    assert timeline[0] == "Timeline, complete; seconds since the start:"
    assert timeline[1].split() == ["time", "line", "around", "gw1", "store"]
    assert timeline[-2].split()[:4] == [">", "3605", ":9", "✘"]
    history = lines[lines.index("", 14) + 1 : -2]
    assert history[0].startswith("History, ")
    # The suspend moved two of the clocks and not the third, so there are two columns of time.
    assert history[1].split()[:4] == ["wall=boot", "mono", "line", "actor"]
    marked = [line for line in history if line.startswith(">")]
    assert marked
    assert all(line.split()[1:4] == ["3605", "5", ":9"] for line in marked)
    assert "Traceback" not in result.stdout.str()
    assert "site-packages" not in result.stdout.str()


@pytest.mark.parametrize("width", [60, 80, 140])
def test_every_line_of_the_report_fits_the_terminal(
    failing: str, run: Run, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = shown(run(), failing)
    # Lines that are not to be broken: the place, the file's own, a command to copy, the caption.
    kept = ("Rerun", "History", "a.runcoord.yaml:")
    ours = [line for line in lines if " | " not in line and not line.startswith(kept)]
    assert len(ours) > 8
    assert [line for line in ours if len(line) > width] == []


def test_colours_change_nothing_but_the_colours(failing: str, run: Run) -> None:
    plain = shown(run("--color=no"), failing)
    coloured = run("--color=yes")
    text = coloured.stdout.str()
    assert "\x1b[31mE   expected: refused as lease-held\x1b[0m" in text.replace("\x1b[1m", "")
    stripped = _without_colour(text).splitlines()
    begin = stripped.index(failing)
    assert [line.rstrip() for line in stripped[begin : begin + len(plain)]] == plain


def _without_colour(text: str) -> str:
    import re

    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("option", ["-q", "-v", "-vv", "--tb=long", "--tb=auto"])
def test_the_report_is_the_same_under_these_options(failing: str, run: Run, option: str) -> None:
    assert shown(run(option), failing) == shown(run(), failing)


def test_a_short_traceback_leaves_out_the_lines_around_and_most_history(failing: str, run: Run) -> None:
    lines = shown(run("--tb=short"), failing)
    assert not any(" | " in line for line in lines)
    assert any(line.startswith("E   step:     claim: {") for line in lines)
    assert any(line.startswith("History, the last 4 of ") for line in lines)


def test_with_two_more_v_the_whole_history_is_shown(write: Write, run: Run) -> None:
    steps = "".join("  - advance: 1s\n" for _ in range(20))
    write(
        "long.runcoord.yaml",
        f"runcoord: 1\nscenario: long\nsays: It waits.\nsteps:\n{steps}expect: [runs: 1]\n",
    )
    run().stdout.fnmatch_lines(["Timeline, the last 16 of 21 rows; *", "History, the last 6 of 20 lines; *"])
    run("-vv").stdout.fnmatch_lines(["Timeline, complete; *", "History, complete; *"])


def test_a_line_traceback_is_the_place_and_the_problem(failing: str, run: Run) -> None:
    result = run("--tb=line")
    assert failing in result.outlines
    assert not any(line.startswith(("E  ", "History")) for line in result.outlines)


def test_without_traceback_the_summary_still_says_what_happened(failing: str, run: Run) -> None:
    result = run("--tb=no", "-rf")
    result.stdout.fnmatch_lines(["FAILED a.runcoord.yaml::never-refused::default - claim was accepted (*"])
    assert failing not in result.outlines


def test_a_full_trace_shows_the_code_of_the_harness(failing: str, run: Run) -> None:
    run("--full-trace").stdout.fnmatch_lines(["*run_scenario*", "*ScenarioFailed*"])


def test_a_report_from_a_worker_of_xdist_is_the_same_and_as_wide_as_the_terminal(
    failing: str, run: Run, run_apart: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert shown(run_apart("-p", "xdist", "-n2"), failing) == shown(run(), failing)


def test_what_was_captured_and_is_no_text_passes_a_worker_of_xdist_as_escapes(
    failing: str, write: Write, run_apart: Run
) -> None:
    write(
        "conftest.py",
        "import logging, pytest\n"
        "@pytest.hookimpl(wrapper=True)\n"
        "def pytest_runtest_call(item):\n"
        "    logging.getLogger('x').warning('it said \\udcff')\n"
        "    return (yield)\n",
    )
    result = run_apart("-p", "xdist", "-n1")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*it said \\udcff*"])


def test_a_failure_in_a_folder_names_the_path_from_where_pytest_was_started(write: Write, run: Run) -> None:
    write("deep/down/a.runcoord.yaml", FAILING)
    lines = shown(run(), f"deep/down/a.runcoord.yaml:{FAILING_LINE}: ")
    assert lines[-1] == "Rerun: pytest -p runcoord deep/down/a.runcoord.yaml::never-refused::default"


def test_the_rerun_command_runs_that_node_and_no_other(write: Write, run: Run) -> None:
    write("a b/a.runcoord.yaml", together(PASSING, FAILING, VARIANTS))
    import shlex

    command = next(line for line in run().outlines if line.startswith("Rerun: "))
    arguments = shlex.split(command.removeprefix("Rerun: pytest -p runcoord "))
    assert run(*arguments).parseoutcomes() == {"failed": 1}


def test_a_second_scenario_of_a_file_fails_at_its_own_line_and_shows_no_line_of_the_first(
    write: Write, run: Run
) -> None:
    write("a.runcoord.yaml", together(PASSING, WRONG))
    offset = PASSING.count("\n") + 1
    lines = shown(run(), f"a.runcoord.yaml:{offset + 5}: ")
    assert any(line.endswith("scenario: misspelt") for line in lines)
    assert not any("expect" in line for line in lines)


def test_the_variant_that_failed_is_named(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", FAILING + "axes: {tz: [UTC, Asia/Tokyo]}\n")
    result = run("-rf")
    assert result.parseoutcomes() == {"failed": 2}
    result.stdout.fnmatch_lines(
        [
            "*never-refused (Asia-Tokyo)*",
            "E   variant: *tz Asia/Tokyo*",
            "FAILED a.runcoord.yaml::never-refused::Asia-Tokyo - *",
        ]
    )


# --- JUnit, and what reads reports ---


def junit(pytester: pytest.Pytester) -> tuple[ElementTree.Element, dict[str, ElementTree.Element]]:
    root = ElementTree.parse(pytester.path / "junit.xml").getroot()
    suite = root if root.tag == "testsuite" else root[0]
    return suite, {str(case.get("classname")): case for case in suite.iter("testcase")}


def properties(element: ElementTree.Element) -> dict[str, str]:
    found = [
        (str(each.get("name")), str(each.get("value"))) for each in element.iterfind("properties/property")
    ]
    assert len(dict(found)) == len(found), "a property is there twice"
    return dict(found)


def test_a_junit_file_has_the_report_and_names_scenario_variant_line_and_invariants(
    pytester: pytest.Pytester, write: Write, run: Run
) -> None:
    write("little.py", LITTLE_SUBJECT)
    write("a.runcoord.yaml", together(PASSING, FAILING, WRONG))
    run("--junit-xml=junit.xml")
    suite, cases = junit(pytester)
    assert properties(suite) == {
        "runcoord_scenarios_run": "2",
        "runcoord_subject": "reference",
        "runcoord_gate": "passed",
    }
    passed = properties(cases["a.runcoord.yaml.plain-life"])
    assert passed["runcoord_scenario"] == "plain-life"
    assert passed["runcoord_variant"] == "default"
    assert passed["runcoord_line"] == "1"
    assert passed["runcoord_verdict"] == "passed"
    assert "one-outcome=" in passed["runcoord_invariants"]
    case = cases["a.runcoord.yaml.never-refused"]
    failed = properties(case)
    failing_line = PASSING.count("\n") + 1 + FAILING_LINE
    assert failed["runcoord_line"] == str(PASSING.count("\n") + 2)
    assert failed["runcoord_failed_line"] == str(failing_line)
    assert failed["runcoord_failed_by"] == "expectation refused"
    failure = case.find("failure")
    assert failure is not None
    assert failure.get("message") == MESSAGE
    assert f"a.runcoord.yaml:{failing_line}: {MESSAGE}" in str(failure.text)
    assert "E   expected: refused as lease-held" in str(failure.text)
    assert "\x1b" not in str(failure.text)
    assert properties(cases["a.runcoord.yaml.misspelt"])["runcoord_verdict"] == "invalid"


def test_reports_carry_plain_values_and_the_line_of_the_step_for_annotations(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", together(FAILING, PASSING))
    write(
        "conftest.py",
        """
import json
def pytest_runtest_logreport(report):
    assert json.loads(json.dumps(report.user_properties)) == [list(each) for each in report.user_properties]
    assert report.location[1] is not None
    if report.failed:
        crash = report.longrepr.reprcrash
        print("ANNOTATE", crash.path, crash.lineno, crash.message)
""",
    )
    result = run("-s")
    assert result.parseoutcomes() == {"failed": 1, "passed": 1}
    result.stdout.fnmatch_lines([f"*ANNOTATE a.runcoord.yaml {FAILING_LINE} {MESSAGE}"])


def test_the_report_is_plain_text_where_pytest_has_no_classes_for_it(
    write: Write, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.runcoord.yaml", FAILING)
    write("b.runcoord.yaml", "a: [\n")
    structured = shown(run("a.runcoord.yaml"), "a.runcoord.yaml:")
    monkeypatch.setattr("pytest_runcoord.report.STRUCTURED", False)
    plain = shown(run("a.runcoord.yaml"), "a.runcoord.yaml:")
    assert plain == [line.removeprefix("E   ") for line in structured]
    run("b.runcoord.yaml").stdout.re_match_lines([r"b\.runcoord\.yaml:\d+:\d+: "])
