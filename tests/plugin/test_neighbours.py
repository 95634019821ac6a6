"""Together with the plugins that projects have, one at a time and all at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from plugin.conftest import Run
from plugin.scenario_files import FAILING, FAILING_LINE, PASSING, passing, together

pytest_plugins = ["pytester"]
Write = Callable[[str, str], Path]

#: Names that ``-p`` takes, with the module that must be there and what else the run needs.
NEIGHBOURS = {
    "asyncio": ("pytest_asyncio", ["-o", "asyncio_default_fixture_loop_scope=function"]),
    "timeout": ("pytest_timeout", ["--timeout=60"]),
    "randomly": ("pytest_randomly", []),
    "hypothesispytest": ("hypothesis", []),
    "fakefs": ("pyfakefs", []),
}

PYTHON_TESTS = """
def test_python():
    assert True
"""


@pytest.fixture
def mixed(write: Write) -> None:
    write("a.runcoord.yaml", together(passing("one"), FAILING, passing("three")))
    write("test_a.py", PYTHON_TESTS)


@pytest.mark.usefixtures("mixed")
@pytest.mark.parametrize("name", NEIGHBOURS)
def test_scenarios_run_and_fail_at_their_line_beside_another_plugin(run_apart: Run, name: str) -> None:
    module, arguments = NEIGHBOURS[name]
    pytest.importorskip(module)
    result = run_apart("-p", name, *arguments)
    assert result.parseoutcomes() == {"passed": 3, "failed": 1}
    line = passing("one").count("\n") + 1 + FAILING_LINE
    result.stdout.fnmatch_lines([f"a.runcoord.yaml:{line}: claim was accepted*"])


@pytest.mark.usefixtures("mixed")
def test_scenarios_run_beside_all_of_them_at_once_and_over_two_workers(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("xdist", "pytest_cov", *(module for module, _ in NEIGHBOURS.values())):
        pytest.importorskip(module)
    # All that is installed, as in most projects; -p beside that changes nothing.
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    result = pytester.runpytest_subprocess(
        "-p",
        "runcoord",
        "-n2",
        "--cov=.",
        "--timeout=60",
        "-o",
        "asyncio_default_fixture_loop_scope=function",
        "--junit-xml=junit.xml",
        timeout=120,
    )
    assert result.parseoutcomes() == {"passed": 3, "failed": 1}
    line = passing("one").count("\n") + 1 + FAILING_LINE
    result.stdout.fnmatch_lines([f"a.runcoord.yaml:{line}: claim was accepted*"])
    result.stdout.fnmatch_lines(["3 scenarios in 3 variants: 2 passed, 1 failed"])
    assert 'name="runcoord_scenarios_run" value="3"' in (pytester.path / "junit.xml").read_text("utf-8")


def test_coverage_of_the_code_that_scenarios_drive_is_measured(write: Write, run_apart: Run) -> None:
    pytest.importorskip("pytest_cov")
    write(
        "driven.py",
        """
from pytest_runcoord.reference import Reference

class Driven(Reference):
    def open(self, owner, world):
        return super().open(owner, world)
""",
    )
    write("pytest.ini", "[pytest]\npythonpath = .\n")
    write("a.runcoord.yaml", PASSING)
    result = run_apart("-p", "pytest_cov", "--cov=driven", "--runcoord-subject=driven:Driven")
    assert result.parseoutcomes() == {"passed": 1}
    # Loaded before coverage begins: the line inside the method is what was driven.
    result.stdout.re_match_lines([r"driven\.py\s+\d+\s+\d+\s+\d+%"])


def test_the_order_that_randomly_chooses_is_honoured(write: Write, run_apart: Run) -> None:
    pytest.importorskip("pytest_randomly")
    write("a.runcoord.yaml", together(*(passing(f"s{number}") for number in range(8))))
    orders = set()
    for seed in ("1", "2", "3"):
        result = run_apart("-p", "randomly", "-v", "-p", "no:cacheprovider", f"--randomly-seed={seed}")
        assert result.parseoutcomes() == {"passed": 8}
        orders.add(tuple(line.split("::")[1] for line in result.outlines if "PASSED" in line))
    assert len(orders) > 1


def test_a_timeout_of_the_timeout_plugin_ends_a_scenario_that_hangs(write: Write, run_apart: Run) -> None:
    pytest.importorskip("pytest_timeout")
    write(
        "hanging.py",
        """
import threading
from pytest_runcoord.reference import Reference

class Hanging(Reference):
    def open(self, owner, world):
        threading.Event().wait(60)
""",
    )
    write("pytest.ini", "[pytest]\npythonpath = .\n")
    write("a.runcoord.yaml", PASSING)
    result = run_apart("-p", "timeout", "--timeout=1", "--runcoord-subject=hanging:Hanging")
    assert result.parseoutcomes() == {"failed": 1}


def test_a_fake_file_system_around_a_scenario_does_not_take_its_text_away(
    write: Write, run_apart: Run
) -> None:
    pytest.importorskip("pyfakefs")
    write("a.runcoord.yaml", together(FAILING.replace("steps:", "axes: {store: [memory]}\nsteps:")))
    write(
        "conftest.py",
        """
import pytest
@pytest.fixture(autouse=True)
def faked(fs):
    fs.create_dir("/dev/shm")
""",
    )
    result = run_apart("-p", "fakefs")
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(["> 10 |   - claim: *"])
