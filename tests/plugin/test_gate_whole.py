"""What is required of a run of everything: invariants, the suite beside, entries that are about nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from plugin.conftest import Run
from plugin.scenario_files import FAILING, PASSING, failing, passing, together
from plugin.test_gate import summary
from plugin.test_known_failures import OVER, entry

pytest_plugins = ["pytester"]
Write = Callable[[str, str], Path]


@pytest.fixture
def two(write: Write) -> None:
    write("pytest.ini", "[pytest]\n")
    write("a.runcoord.yaml", together(PASSING, FAILING))


def told(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if line.startswith("runcoord: ")]


# --- invariants ---


@pytest.mark.usefixtures("two")
def test_a_required_invariant_that_was_never_exercised_fails_the_run_by_name(write: Write, run: Run) -> None:
    known = entry("never-refused")
    write("runcoord.toml", f"required_invariants = ['one-outcome', 'stop-wins']\n{known}")
    result = run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    [line] = [line for line in told(result) if "required" in line]
    assert line.startswith("runcoord: the invariant stop-wins is required, and was never exercised: ")
    assert line.endswith("(runcoord.toml:1)")
    write("runcoord.toml", f"required_invariants = ['one-outcome']\n{known}")
    assert run().ret == pytest.ExitCode.OK


@pytest.mark.usefixtures("two")
def test_a_required_invariant_says_nothing_of_a_part(write: Write, run: Run) -> None:
    write("runcoord.toml", "required_invariants = ['stop-wins']\n")
    assert run("-k", "plain").ret == pytest.ExitCode.OK
    assert run("--runcoord-tier=sim", "-k", "plain").ret == pytest.ExitCode.OK
    assert run("a.runcoord.yaml::plain-life").ret == pytest.ExitCode.OK


@pytest.mark.usefixtures("two")
def test_an_unknown_invariant_stops_the_run_with_the_nearest_name(write: Write, run: Run) -> None:
    write("runcoord.toml", "required_invariants = ['stop-win']\n")
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: runcoord.toml:1: 'stop-win' is no invariant (did you mean 'stop-wins'?). Nothing was run."]
    )


def test_invariants_are_counted_over_all_workers(write: Write, run_apart: Run) -> None:
    for letter in "abcd":
        write(f"{letter}.runcoord.yaml", passing(letter))
    write("pytest.ini", "[pytest]\n")
    write("runcoord.toml", "required_invariants = ['one-outcome', 'stop-wins']\nmin_scenarios = 5\n")
    result = run_apart("-p", "xdist", "-n2")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    lines = told(result)
    assert lines[0] == "runcoord: 4 scenarios ran, at least 5 are required by min_scenarios (runcoord.toml:2)"
    assert lines[1].startswith("runcoord: the invariant stop-wins is required")
    assert len(lines) == 2


# --- known failures of everything ---


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("never-refusd", "Did you mean 'never-refused'?"),
        ("never-refused::sim", "Variants of never-refused: default."),
        ("b.runcoord.yaml::never-refused", "The scenario never-refused is in a.runcoord.yaml."),
        ("unheard-of", "Remove the entry, or correct the name."),
    ],
)
def test_an_entry_that_is_about_nothing_fails_a_run_of_everything(
    write: Write, run: Run, name: str, remedy: str
) -> None:
    write("runcoord.toml", entry("never-refused") + entry(name))
    result = run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.parseoutcomes() == {"passed": 1, "xfailed": 1}
    line = f"runcoord: the known failure '{name}' is about nothing that was collected (runcoord.toml:6)"
    at = result.outlines.index(line)
    assert result.outlines[at + 1] == f"  {remedy}"
    assert run("-k", "never").ret == pytest.ExitCode.OK


def test_an_entry_is_about_a_variant_that_is_left_out_by_its_tier(write: Write, run: Run) -> None:
    write("pytest.ini", "[pytest]\n")
    write("a.runcoord.yaml", PASSING.replace("steps:", "axes: {tier: [sim, real]}\nsteps:"))
    write("runcoord.toml", 'tiers = ["sim"]\n' + entry("plain-life::real"))
    assert run().ret == pytest.ExitCode.OK


def test_what_workers_collected_is_known_where_it_is_judged(write: Write, run_apart: Run) -> None:
    for letter in "abc":
        write(f"{letter}.runcoord.yaml", failing(letter))
    write("pytest.ini", "[pytest]\n")
    write("runcoord.toml", "".join(entry(letter) for letter in "abc"))
    assert run_apart("-p", "xdist", "-n2").ret == pytest.ExitCode.OK
    write("runcoord.toml", "".join(entry(letter) for letter in "abcd"))
    result = run_apart("-p", "xdist", "-n2")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert any(line.startswith("runcoord: the known failure 'd' is about nothing") for line in told(result))


@pytest.mark.usefixtures("two")
def test_the_summary_names_every_known_failure_with_its_reason(write: Write, run: Run) -> None:
    table = entry("never-refused") + entry("plain-life", until=OVER)
    write("runcoord.toml", table)
    lines = told(run())
    assert any(
        line.startswith("runcoord: known failure never-refused: accepted by maria until ")
        and line.endswith(": the library does so")
        for line in lines
    )
    assert any(line.startswith("runcoord: known failure plain-life: over; accepted by ") for line in lines)


# --- the suite beside the project's own ---


@pytest.fixture
def shipped(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = pytester.path.parent / f"{pytester.path.name}-installed" / "scenarios"
    directory.mkdir(parents=True)
    (directory / "s.runcoord.yaml").write_text(failing("theirs"), "utf-8")
    monkeypatch.setattr("pytest_runcoord.options.suite_directory", lambda: directory)
    monkeypatch.setattr("pytest_runcoord.judging.suite_directory", lambda: directory)
    return directory


@pytest.mark.usefixtures("shipped")
def test_a_project_may_ask_for_the_suite_beside_its_own(write: Write, run: Run) -> None:
    write("pytest.ini", "[pytest]\ntestpaths = tests\n")
    write("tests/a.runcoord.yaml", passing("ours"))
    write("runcoord.toml", "suite = true\nmin_scenarios = 2\n" + entry("theirs"))
    result = run()
    assert result.parseoutcomes() == {"passed": 1, "xfailed": 1}
    assert result.ret == pytest.ExitCode.OK
    assert run("tests").parseoutcomes() == {"passed": 1}
    assert run("--runcoord-suite").parseoutcomes() == {"xfailed": 1}


@pytest.mark.usefixtures("shipped")
def test_an_entry_about_the_suite_is_no_mistake_in_a_run_without_it(write: Write, run: Run) -> None:
    write("pytest.ini", "[pytest]\ntestpaths = tests\n")
    write("tests/a.runcoord.yaml", passing("ours"))
    write("runcoord.toml", entry("theirs"))
    assert run().ret == pytest.ExitCode.OK
    result = run("--runcoord-suite")
    assert result.ret == pytest.ExitCode.OK
    assert result.parseoutcomes() == {"xfailed": 1}


@pytest.mark.usefixtures("shipped")
def test_the_suite_alone_is_not_red_for_a_known_failure_of_the_projects_own(write: Write, run: Run) -> None:
    write("tests/a.runcoord.yaml", failing("ours"))
    write("runcoord.toml", "suite = true\n" + entry("theirs") + entry("ours"))
    result = run("--runcoord-suite")
    assert result.parseoutcomes() == {"xfailed": 1}
    assert result.ret == pytest.ExitCode.OK
    told = "runcoord: 1 known failure is about scenarios that --runcoord-suite alone does not run"
    assert told in result.outlines
    assert run().parseoutcomes() == {"xfailed": 2}
    # One that is about nothing at all is as red as ever.
    write("runcoord.toml", entry("theirs") + entry("ours") + entry("nobodys"))
    result = run("--runcoord-suite")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "the known failure 'nobodys' is about nothing that was collected" in result.stdout.str()
    assert "'ours' is about nothing" not in result.stdout.str()
    assert "suite = true" in result.stdout.str()


@pytest.mark.usefixtures("shipped")
def test_a_failure_of_the_suite_is_run_again_with_the_projects_configuration(write: Write, run: Run) -> None:
    write("pytest.ini", "[pytest]\naddopts = -p runcoord\n")
    write("runcoord.toml", "subject = 'pytest_runcoord.reference:Reference'\n")
    lines = run("--runcoord-suite").outlines
    [again] = [line for line in lines if line.startswith("Rerun: ")]
    assert again.startswith("Rerun: pytest -p runcoord -c pytest.ini ")
    assert summary(run(*again.split()[4:])).startswith("1 scenario in 1 variant: 1 failed\n")


# --- what must not be green ---


@pytest.mark.parametrize(
    "addopts",
    ["tests", "-k one", "--deselect=b.runcoord.yaml::x", "--runcoord-tier=sim", "tests/a.runcoord.yaml::one"],
)
def test_what_stands_in_addopts_does_not_switch_the_gate_off(write: Write, run: Run, addopts: str) -> None:
    write("tests/a.runcoord.yaml", PASSING.replace("plain-life", "one"))
    write("runcoord.toml", "min_scenarios = 2\n")
    write("pytest.ini", f"[pytest]\naddopts = {addopts}\n")
    result = run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "1 scenario ran, at least 2 are required" in result.stdout.str()


def test_the_folder_of_the_project_as_a_path_is_everything(write: Write, run: Run) -> None:
    path = write("runcoord.toml", "min_scenarios = 2\n")
    write("a.runcoord.yaml", PASSING)
    write("sub/b.runcoord.yaml", PASSING)
    write("pytest.ini", "[pytest]\n")
    path.write_text("min_scenarios = 3\n")
    assert run(".").ret == pytest.ExitCode.TESTS_FAILED
    assert run(str(path.parent)).ret == pytest.ExitCode.TESTS_FAILED
    assert run("sub").ret == pytest.ExitCode.OK
    assert run("-qk", "plain").ret == pytest.ExitCode.OK


def test_what_is_not_looked_at_of_a_part_is_said(write: Write, run: Run) -> None:
    write("runcoord.toml", 'required_invariants = ["stale-owner-refused"]\n')
    write("a.runcoord.yaml", PASSING)
    result = run("-k", "plain")
    assert result.ret == pytest.ExitCode.OK
    assert "runcoord: required_invariants were not checked, because -k chose a part" in result.outlines


@pytest.mark.parametrize("table", ["runcoord.toml", "pyproject.toml"])
def test_scenarios_that_ran_without_the_table_above_them_fail_the_run(
    write: Write, run: Run, table: str
) -> None:
    write(
        table, "min_scenarios = 1\n" if table == "runcoord.toml" else "[tool.runcoord]\nmin_scenarios = 1\n"
    )
    write("tests/a.runcoord.yaml", PASSING)
    write("ci/pytest.ini", "[pytest]\n")
    for arguments in (("-c", "ci/pytest.ini"), ("--rootdir=tests", "tests/a.runcoord.yaml")):
        result = run(*arguments)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines(["runcoord: scenarios ran without this table: *"])
    write("ci/runcoord.toml", "")
    assert run("-c", "ci/pytest.ini").ret == pytest.ExitCode.OK


def test_a_table_of_another_project_is_nobodys_business(write: Write, run: Run) -> None:
    write("runcoord.toml", "min_scenarios = 1\n")
    write("mine/.git", "gitdir: elsewhere\n")
    write("mine/pytest.ini", "[pytest]\n")
    write("mine/a.runcoord.yaml", PASSING)
    assert run("mine").ret == pytest.ExitCode.OK


def test_a_table_in_a_file_that_has_only_pytests_own_is_said_to_be_unread(write: Write, run: Run) -> None:
    write("ci.toml", "[tool.pytest.ini_options]\n[tool.runcoord]\nmin_scenarios = 9\n")
    write("a.runcoord.yaml", PASSING)
    result = run("-c", "ci.toml")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["runcoord: scenarios ran without this table: *(*ci.toml)"])


SKIPS = """\
import pytest

@pytest.fixture(autouse=True)
def not_here(request):
    if request.node.name == "real":
        pytest.skip("no time")
"""


def test_a_required_tier_that_a_fixture_skips_fails_the_run(write: Write, run: Run) -> None:
    both = PASSING + "axes: {tier: [sim, real]}\n"
    write("a.runcoord.yaml", together(both, both.replace("plain-life", "another")))
    write("conftest.py", SKIPS.replace('"real"', '"real" and "another" in request.node.nodeid'))
    assert run().parseoutcomes() == {"passed": 3, "skipped": 1}
    write("runcoord.toml", 'required_tiers = ["real"]\n')
    result = run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["runcoord: skipped by a mark or a fixture, although *: *another::real *"])


def test_a_failure_that_a_mark_hides_fails_a_project_with_a_table(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", together(PASSING, FAILING))
    write(
        "conftest.py",
        "import pytest\ndef pytest_collection_modifyitems(items):\n"
        "    [item.add_marker(pytest.mark.xfail) for item in items]\n",
    )
    assert run().ret == pytest.ExitCode.OK
    write("runcoord.toml", "")
    result = run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    line = "runcoord: a failure is hidden, as by a mark: a.runcoord.yaml::never-refused::default"
    assert line in result.outlines


def test_the_gate_alone_cannot_be_switched_off(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", PASSING)
    result = run("-p", "no:runcoord-gate", "--runcoord-require=9")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "without its gate a run would be green whatever ran" in result.stderr.str()


def test_a_report_that_nobody_would_write_is_an_error_of_use(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", PASSING)
    result = run("-p", "no:runcoord-telling", "--runcoord-json=out.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "it writes the report that --runcoord-json asks for" in result.stderr.str()
    assert not Path("out.json").exists()
    assert run("-p", "no:runcoord-telling").ret == pytest.ExitCode.OK


def test_a_run_that_was_started_below_the_project_is_a_part(
    pytester: pytest.Pytester, write: Write, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("pytest.ini", "[pytest]\ntestpaths = tests\n")
    write("tests/one/a.runcoord.yaml", passing("a"))
    write("tests/two/b.runcoord.yaml", failing("b"))
    write("runcoord.toml", "min_scenarios = 2\n" + entry("b"))
    assert run().ret == pytest.ExitCode.OK
    monkeypatch.chdir(pytester.path / "tests" / "one")
    result = run()
    assert result.ret == pytest.ExitCode.OK
    assert "because the folder that pytest was started in chose a part" in result.stdout.str()


@pytest.mark.usefixtures("shipped")
def test_a_path_beside_the_suite_is_a_part(write: Write, run: Run) -> None:
    write("pytest.ini", "[pytest]\n")
    write("one/a.runcoord.yaml", passing("a"))
    write("two/b.runcoord.yaml", failing("b"))
    write("runcoord.toml", entry("theirs") + entry("b"))
    assert run("--runcoord-suite", "one").ret == pytest.ExitCode.OK


def test_what_fails_around_a_scenario_that_passed_is_counted_as_a_failure(write: Write, run: Run) -> None:
    write("pytest.ini", "[pytest]\n")
    write("a.runcoord.yaml", passing("a"))
    write(
        "conftest.py",
        "import pytest\n\ndef pytest_collection_modifyitems(items):\n"
        "    items[0].add_marker(pytest.mark.xfail(strict=True, reason='it fails'))\n",
    )
    result = run("--runcoord-annotations", "--runcoord-json=r.json")
    assert result.parseoutcomes() == {"failed": 1}
    assert summary(result).startswith("1 scenario in 1 variant: 1 failed\n")


def test_a_run_that_is_ended_early_is_not_green(write: Write, run: Run) -> None:
    write("runcoord.toml", "min_scenarios = 1\n")
    write("a.runcoord.yaml", PASSING)
    write("b.runcoord.yaml", FAILING)
    write(
        "conftest.py",
        "import pytest\ndef pytest_runtest_setup(item):\n"
        "    if item.nodeid[0] == 'b':\n        pytest.exit('enough', returncode=0)\n",
    )
    result = run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "runcoord: the run was ended early, with exit code 0, by Exit: enough" in result.outlines


@pytest.mark.parametrize("look", ["--fixtures", "--fixtures-per-test", "--cache-show"])
def test_what_only_shows_something_is_not_judged(write: Write, run: Run, look: str) -> None:
    write("runcoord.toml", "min_scenarios = 1\n")
    write("a.runcoord.yaml", PASSING)
    assert run(look).ret == pytest.ExitCode.OK


def test_a_subject_cannot_have_its_scenario_expected_to_fail(write: Write, run: Run) -> None:
    write(
        "mine.py",
        "import pytest\nfrom pytest_runcoord.reference import Reference\n\nclass Mine(Reference):\n"
        "    def snapshot(self, world):\n        pytest.xfail('later')\n",
    )
    write("a.runcoord.yaml", PASSING)
    result = run("--runcoord-subject=mine.py:Mine")
    assert result.parseoutcomes() == {"failed": 1}
    assert "snapshot raised XFailed: later" in result.stdout.str()


def test_a_run_that_tries_faults_says_why_it_judges_no_scenario(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", PASSING)
    write("runcoord.toml", "min_scenarios = 3\nrequired_invariants = ['stop-wins']\n")
    result = run("--runcoord-bite", "-k", "owner-changed")
    why = "--runcoord-bite tries faults, and judges no scenario"
    told = [line for line in result.outlines if line.startswith("runcoord: ")]
    assert told == [
        f"runcoord: min_scenarios asks for 3 scenarios; not checked, because {why}",
        f"runcoord: required_invariants were not checked, because {why}",
    ]
