"""Which files and scenarios become which nodes, and what a wrong one becomes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from plugin.conftest import Run
from plugin.scenario_files import (
    PASSING,
    UNREADABLE,
    VARIANTS,
    WRONG,
    WRONG_LINE,
    passing,
    together,
)

pytest_plugins = ["pytester"]
Write = Callable[[str, str], Path]


def collected(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line]


def test_a_file_gives_a_node_for_each_scenario_and_below_it_one_for_each_variant(
    write: Write, run: Run
) -> None:
    write("a.runcoord.yaml", together(PASSING, VARIANTS))
    assert collected(run("--collect-only", "-q")) == [
        "a.runcoord.yaml::plain-life::default",
        "a.runcoord.yaml::two-stores::memory",
        "a.runcoord.yaml::two-stores::default",
    ]


def test_only_files_with_the_whole_suffix_are_collected(write: Write, run: Run) -> None:
    for name in ("a.yaml", "runcoord.yaml", "c.runcoord.yaml.txt", "test_d.yaml"):
        write(name, PASSING)
    result = run()
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert result.parseoutcomes() == {}


@pytest.mark.parametrize("named", [(), ("below/b.runcoord.yml",)], ids=["found", "named"])
def test_the_other_ending_of_yaml_is_an_error_and_not_passed_over(
    write: Write, run: Run, named: tuple[str, ...]
) -> None:
    write("a.runcoord.yaml", PASSING)
    write("below/b.runcoord.yml", PASSING)
    result = run(*named)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    told = "b.runcoord.yml: scenarios are collected from *.runcoord.yaml only (rename it to b.runcoord.yaml)"
    assert told in result.outlines
    assert "Traceback" not in result.stdout.str()


def test_a_file_that_was_named_but_is_no_scenario_file_stops_the_run(write: Write, run: Run) -> None:
    write("finding.yaml", PASSING)
    assert run("finding.yaml").ret == pytest.ExitCode.USAGE_ERROR


def test_the_tree_shows_each_scenario_with_the_sentence_that_it_says(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", PASSING)
    result = run("--collect-only", "-v")
    result.stdout.fnmatch_lines(
        [
            "*<ScenarioFile a.runcoord.yaml>",
            "*<ScenarioNode plain-life>",
            "*<VariantItem default>",
            "*A run is submitted, claimed, started and completed.",
        ]
    )


def test_a_file_that_cannot_be_read_is_one_error_with_line_and_column_and_no_traceback(
    write: Write, run: Run
) -> None:
    write("bad.runcoord.yaml", UNREADABLE)
    write("good.runcoord.yaml", PASSING)
    result = run("--continue-on-collection-errors", "-rE")
    assert result.parseoutcomes() == {"errors": 1, "passed": 1}
    text = result.stdout.str()
    result.stdout.re_match_lines([r"bad\.runcoord\.yaml:3:6: .+ \(.+\)$", r"> 3 \| steps: \[\]"])
    assert "Traceback" not in text
    assert "pytest_runcoord" not in text
    # The summary names the problem, not only the file.
    result.stdout.re_match_lines([r"ERROR bad\.runcoord\.yaml - .*breaks off.*"])


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"", "empty"), (b"runcoord: 1\nscenario: \xff\n", "UTF-8"), (b"\x00" * 20, "cannot be seen")],
    ids=["empty", "not-utf-8", "binary"],
)
def test_other_unreadable_files_are_errors_too_and_the_rest_still_runs(
    pytester: pytest.Pytester, write: Write, run: Run, content: bytes, problem: str
) -> None:
    (pytester.path / "bad.runcoord.yaml").write_bytes(content)
    write("good.runcoord.yaml", PASSING)
    result = run("--continue-on-collection-errors")
    assert result.parseoutcomes() == {"errors": 1, "passed": 1}
    result.stdout.re_match_lines([rf"bad\.runcoord\.yaml:\d+:.*{problem}.*"])


def test_a_scenario_that_is_wrong_is_one_failing_test_at_its_line_and_the_others_run(
    write: Write, run: Run
) -> None:
    write("a.runcoord.yaml", together(PASSING, WRONG, VARIANTS))
    result = run("-rf")
    assert result.parseoutcomes() == {"failed": 1, "passed": 3}
    line = PASSING.count("\n") + 1 + WRONG_LINE
    result.stdout.fnmatch_lines(
        [
            f"a.runcoord.yaml:{line}: unknown step 'opne'",
            f"> {line} |   - opne: gw1",
            "E   remedy: did you mean 'open'?",
            "FAILED a.runcoord.yaml::misspelt::invalid - unknown step 'opne'",
        ]
    )
    assert "Traceback" not in result.stdout.str()


def test_a_scenario_with_several_faults_tells_them_all(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", WRONG + "expect: [quite]\n")
    result = run()
    line = WRONG.count("\n") + 1
    result.stdout.fnmatch_lines([f"E   also a.runcoord.yaml:{line}:10: unknown expectation 'quite' (*"])


@pytest.mark.parametrize("tag", ["skip", "xfail", "usefixtures"])
def test_a_tag_by_which_pytest_would_change_what_runs_is_refused(write: Write, run: Run, tag: str) -> None:
    write("a.runcoord.yaml", passing("tagged", tag))
    result = run()
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(
        [f"a.runcoord.yaml:*: the tag '{tag}' is a mark by which pytest changes what runs"]
    )


def test_tags_are_marks_and_need_no_registration_even_when_marks_are_strict(write: Write, run: Run) -> None:
    write(
        "a.runcoord.yaml", together(passing("one", "lease, slow"), passing("two", "lease"), passing("three"))
    )
    assert run("--strict-markers", "-m", "lease").parseoutcomes() == {"passed": 2, "deselected": 1}
    assert run("--strict-markers", "-m", "lease and not slow").parseoutcomes() == {
        "passed": 1,
        "deselected": 2,
    }


def test_a_tag_that_the_project_registered_itself_keeps_its_description(write: Write, run: Run) -> None:
    write("pytest.ini", "[pytest]\nmarkers = lease: about leases\n")
    write("a.runcoord.yaml", passing("one", "lease"))
    assert run("--strict-markers", "-m", "lease").parseoutcomes() == {"passed": 1}


def test_a_folder_of_files_gives_ids_with_the_folder(write: Write, run: Run) -> None:
    write("scenarios/leases/a.runcoord.yaml", PASSING)
    assert collected(run("scenarios", "--collect-only", "-q")) == [
        "scenarios/leases/a.runcoord.yaml::plain-life::default"
    ]


def test_names_with_dots_and_dashes_are_shown_as_they_are(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", passing("v1.2-plain_life"))
    run("-v").stdout.fnmatch_lines(["a.runcoord.yaml::v1.2-plain_life::default PASSED*"])


# --- living with fixtures ---


@pytest.mark.parametrize("scope", ["function", "class", "module", "package", "session"])
def test_autouse_fixtures_of_every_scope_apply_to_scenarios(write: Write, run: Run, scope: str) -> None:
    write(
        "conftest.py",
        f"""
import pytest
@pytest.fixture(autouse=True, scope="{scope}")
def around(request):
    print("BEFORE", request.scope, request.node.name)
    yield
    print("AFTER", request.scope)
""",
    )
    write("a.runcoord.yaml", PASSING)
    result = run("-s")
    assert result.parseoutcomes() == {"passed": 1}
    result.stdout.fnmatch_lines([f"*BEFORE {scope} *", f"*AFTER {scope}*"])


def test_a_fixture_that_asks_for_the_function_and_its_module_finds_them(write: Write, run: Run) -> None:
    write(
        "conftest.py",
        """
import pytest
@pytest.fixture(autouse=True)
def around(request):
    assert request.module.__name__ == "a"
    assert request.function.__name__ == "plain-life"
    assert "submitted" in request.function.__doc__
    assert request.cls is None
    assert request.node.funcargs == {}
""",
    )
    write("a.runcoord.yaml", PASSING)
    assert run().parseoutcomes() == {"passed": 1}


def test_the_text_of_a_failure_is_there_even_if_a_fixture_takes_the_file_away(write: Write, run: Run) -> None:
    path = write("a.runcoord.yaml", WRONG)
    write(
        "conftest.py",
        f"""
import os, pytest
@pytest.fixture(autouse=True)
def elsewhere():
    os.remove({str(path)!r})
""",
    )
    run().stdout.fnmatch_lines([f"> {WRONG_LINE} |   - opne: gw1"])


def test_a_skip_mark_from_a_conftest_skips_with_the_line_of_the_scenario(write: Write, run: Run) -> None:
    write(
        "conftest.py",
        """
import pytest
def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.skip(reason="not today"))
""",
    )
    write("a.runcoord.yaml", PASSING)
    result = run("-rs")
    assert result.parseoutcomes() == {"skipped": 1}
    result.stdout.fnmatch_lines(["SKIPPED *not today"])


def test_an_xfail_mark_from_a_conftest_is_honoured(write: Write, run: Run) -> None:
    write(
        "conftest.py",
        """
import pytest
def pytest_collection_modifyitems(items):
    items[0].add_marker(pytest.mark.xfail(reason="known"))
""",
    )
    write("a.runcoord.yaml", WRONG)
    assert run().parseoutcomes() == {"xfailed": 1}
