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
    write("runcoord.toml", entry("theirs") + entry("ours"))
    result = run("--runcoord-suite")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "suite = true" in result.stdout.str()


@pytest.mark.usefixtures("shipped")
def test_a_failure_of_the_suite_is_run_again_with_the_projects_configuration(write: Write, run: Run) -> None:
    write("pytest.ini", "[pytest]\naddopts = -p runcoord\n")
    write("runcoord.toml", "subject = 'pytest_runcoord.reference:Reference'\n")
    lines = run("--runcoord-suite").outlines
    [again] = [line for line in lines if line.startswith("Rerun: ")]
    assert again.startswith("Rerun: pytest -p runcoord -c pytest.ini ")
    assert summary(run(*again.split()[4:])).startswith("1 scenario in 1 variant: 1 failed\n")
