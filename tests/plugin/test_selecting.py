"""Choosing what runs, the ways that pytest users choose, and how runs are told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from plugin.conftest import Run
from plugin.scenario_files import PASSING, VARIANTS, failing, passing, together

pytest_plugins = ["pytester"]
Write = Callable[[str, str], Path]


@pytest.fixture
def five(write: Write) -> None:
    """Two files with five scenarios; the second and the fourth fail."""
    write("a.runcoord.yaml", together(passing("a1"), failing("a2"), passing("a3")))
    write("b.runcoord.yaml", together(failing("b1"), passing("b2")))


def ran(result: pytest.RunResult) -> list[str]:
    """Names of the scenarios that ran, in order."""
    lines = [line for line in result.outlines if "::" in line and ("PASSED" in line or "FAILED" in line)]
    return [line.split("::")[1] for line in lines if not line.startswith("FAILED")]


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["-k", "a2"], ["a2"]),
        (["-k", "not a2 and a.runcoord.yaml"], ["a1", "a3"]),
        (["a.runcoord.yaml::a3"], ["a3"]),
        (["a.runcoord.yaml::a1::default", "b.runcoord.yaml::b2::default"], ["a1", "b2"]),
        (["--deselect", "a.runcoord.yaml::a2", "a.runcoord.yaml"], ["a1", "a3"]),
        (["-x"], ["a1", "a2"]),
        (["--ignore=b.runcoord.yaml"], ["a1", "a2", "a3"]),
    ],
    ids=["-k", "-k-file", "scenario", "nodes", "deselect", "-x", "ignore"],
)
def test_what_was_chosen_runs_and_nothing_else(run: Run, arguments: list[str], names: list[str]) -> None:
    assert ran(run("-v", *arguments)) == names


@pytest.mark.usefixtures("five")
def test_a_node_id_that_is_not_there_stops_the_run(run: Run) -> None:
    assert run("a.runcoord.yaml::a9").ret == pytest.ExitCode.USAGE_ERROR
    assert run("a.runcoord.yaml::a1::sometimes").ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.usefixtures("five")
def test_last_failed_runs_exactly_those_that_failed(run: Run) -> None:
    assert ran(run("-v")) == ["a1", "a2", "a3", "b1", "b2"]
    assert ran(run("-v", "--lf")) == ["a2", "b1"]


@pytest.mark.usefixtures("five")
def test_failed_first_runs_those_that_failed_before_the_others(run: Run) -> None:
    run()
    assert ran(run("-v", "--ff")) == ["a2", "b1", "a1", "a3", "b2"]


@pytest.mark.usefixtures("five")
def test_stepwise_stops_at_a_failure_and_goes_on_from_there(run: Run) -> None:
    assert ran(run("-v", "--sw")) == ["a1", "a2"]
    assert ran(run("-v", "--sw")) == ["a2"]
    assert ran(run("-v", "--sw", "--sw-skip")) == ["a2", "a3", "b1"]


def test_last_failed_finds_one_variant_among_several(write: Write, run: Run) -> None:
    text = failing("both").replace(
        "steps:", "axes: {store: [memory, default], tz: [UTC, Asia/Tokyo]}\nsteps:"
    )
    write("a.runcoord.yaml", together(text, VARIANTS))
    assert run().parseoutcomes() == {"failed": 4, "passed": 2}
    assert run("a.runcoord.yaml::both::memory-UTC").parseoutcomes() == {"failed": 1}
    assert run("--lf").parseoutcomes() == {"failed": 4, "deselected": 2}


def test_files_run_in_the_order_in_which_they_are_given(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", passing("a1"))
    write("b.runcoord.yaml", passing("b1"))
    assert ran(run("-v", "b.runcoord.yaml", "a.runcoord.yaml")) == ["b1", "a1"]


def test_scenarios_run_among_python_tests(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", passing("a1"))
    write("test_a.py", "def test_python():\n    assert 1 + 1 == 2\n")
    assert run().parseoutcomes() == {"passed": 2}


def test_only_the_chosen_tiers_run_and_the_rest_is_deselected(write: Write, run: Run) -> None:
    text = PASSING.replace("steps:", "axes: {tier: [sim, real]}\nsteps:")
    write("a.runcoord.yaml", text)
    assert run("--runcoord-tier=sim").parseoutcomes() == {"passed": 1, "deselected": 1}
    write("runcoord.toml", 'tiers = ["sim"]\n')
    result = run()
    assert result.parseoutcomes() == {"passed": 1, "deselected": 1}
    result.stdout.fnmatch_lines(["runcoord *: *tier sim only*"])


def test_an_unknown_tier_stops_the_run_and_names_the_known_ones(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", PASSING)
    result = run("--runcoord-tier=simulated")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *'simulated' is no tier; the tiers are sim, real"])


# --- how runs are told ---


@pytest.mark.usefixtures("five")
def test_quiet_says_it_in_one_line_and_quieter_says_nothing(run: Run) -> None:
    quiet = run("-q", "--tb=no")
    [line] = [line for line in quiet.outlines if line.startswith("runcoord")]
    assert line == "runcoord: 5 scenarios in 5 variants: 3 passed, 2 failed"
    assert not any(line.startswith("runcoord") for line in run("-qq", "--tb=no").outlines)


@pytest.mark.usefixtures("five")
def test_verbose_shows_one_line_for_each_node(run: Run) -> None:
    run("-v").stdout.fnmatch_lines(
        ["a.runcoord.yaml::a1::default PASSED*", "a.runcoord.yaml::a2::default FAILED*"], consecutive=True
    )


@pytest.mark.usefixtures("five")
def test_durations_are_those_of_real_time(run: Run) -> None:
    result = run("--durations=0", "-vv")
    lines = [line for line in result.outlines if " call " in line and "::" in line]
    assert len(lines) == 5
    # The virtual hour of a suspend is not in it.
    assert all(float(line.split("s ")[0]) < 60 for line in lines)


# --- no pass without a run ---


@pytest.mark.usefixtures("five")
def test_scenarios_run_even_where_no_plugin_calls_functions(run: Run) -> None:
    result = run("-p", "no:python", "--tb=no")
    assert result.parseoutcomes() == {"passed": 3, "failed": 2}


def test_a_plugin_that_calls_the_function_itself_runs_the_scenario_once(write: Write, run: Run) -> None:
    write(
        "conftest.py",
        """
def pytest_pyfunc_call(pyfuncitem):
    print("CALLING", pyfuncitem.name)
    pyfuncitem.obj()
    return True
""",
    )
    write("a.runcoord.yaml", together(passing("a1"), failing("a2")))
    result = run("-s", "--tb=no")
    assert result.parseoutcomes() == {"passed": 1, "failed": 1}
    assert sum("CALLING" in line for line in result.outlines) == 2
    assert "2 scenarios in 2 variants: 1 passed, 1 failed" in result.outlines


def test_an_item_that_runs_again_tells_only_what_its_last_run_found(write: Write, run: Run) -> None:
    write(
        "conftest.py",
        """
from _pytest.runner import runtestprotocol
def pytest_runtest_protocol(item, nextitem):
    runtestprotocol(item, nextitem=nextitem, log=False)
    item._initrequest()
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        item.ihook.pytest_runtest_logreport(report=report)
        if report.when == "call":
            names = [name for name, _ in report.user_properties]
            assert len(set(names)) == len(names)
    return True
""",
    )
    write("a.runcoord.yaml", together(passing("a1"), failing("a2")))
    result = run("--tb=no")
    assert result.parseoutcomes() == {"passed": 1, "failed": 1}
    assert "2 scenarios in 2 variants: 1 passed, 1 failed" in result.outlines
