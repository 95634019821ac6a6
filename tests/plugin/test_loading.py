"""How the plugin gets loaded, what that costs, and that a run without it is not green."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest

import runcoord
from plugin.conftest import STRICT, SUBPROCESS_SECONDS, Run
from plugin.scenario_files import PASSING
from pytest_runcoord.plugin import OwnModules

pytest_plugins = ["pytester"]
Write = Callable[[str, str], Path]

HEAVY = (
    "click",
    "freezegun",
    "hypothesis",
    "psutil",
    "pyfakefs",
    "pytest_runcoord.collection",
    "pytest_runcoord.extending",
    "pytest_runcoord.hookspecs",
    "pytest_runcoord.judging",
    "pytest_runcoord.project_table",
    "pytest_runcoord.runner",
    "pytest_runcoord.subject_names",
    "pytest_runcoord.telling",
    "rich",
    "runcoord",
    "sqlite3",
    "yaml",
)
NEEDED_WITHOUT_METADATA = (
    "_pytest",
    "iniconfig",
    "packaging",
    "pluggy",
    "psutil",
    "py",
    "pygments",
    "pytest",
    "runcoord",
)
LISTS_MODULES = """
import json, sys
def pytest_unconfigure():
    print("MODULES", json.dumps(sorted(sys.modules)))
"""


def pytest_apart(
    directory: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs pytest in a process of its own, in exactly this environment."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=directory,
        env={**inherited, "COLUMNS": "80", **(environment or {})},
        capture_output=True,
        text=True,
        timeout=SUBPROCESS_SECONDS,
    )


def modules_after(result: subprocess.CompletedProcess[str]) -> set[str]:
    [line] = [line for line in result.stdout.splitlines() if line.startswith("MODULES ")]
    return set(json.loads(line.removeprefix("MODULES ")))


@pytest.mark.parametrize("github", ["", "true"])
def test_a_run_without_scenarios_loads_nothing_heavy(
    write: Write, pytester: pytest.Pytester, github: str
) -> None:
    write("conftest.py", LISTS_MODULES)
    write("test_a.py", "def test_a():\n    pass\n")
    write("pyproject.toml", "[project]\nname = 'x'\ndependencies = ['runcoord>=0.1']\n")
    environment = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "GITHUB_ACTIONS": github}
    result = pytest_apart(pytester.path, "-q", "-p", "runcoord", environment=environment)
    assert result.returncode == 0, result.stdout + result.stderr
    loaded = modules_after(result)
    assert "pytest_runcoord.gate" in loaded
    assert loaded & set(HEAVY) == set()


def test_a_run_with_a_scenario_loads_no_library_of_the_fixtures(
    write: Write, pytester: pytest.Pytester
) -> None:
    write("conftest.py", LISTS_MODULES)
    write("a.runcoord.yaml", PASSING)
    result = pytest_apart(
        pytester.path, "-q", "-p", "runcoord", environment={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    )
    assert result.returncode == 0, result.stdout + result.stderr
    loaded = modules_after(result)
    assert {"yaml", "runcoord", "pytest_runcoord.runner"} <= loaded
    assert loaded & {"freezegun", "hypothesis", "pyfakefs", "pytest_runcoord.fixtures"} == set()


@pytest.mark.parametrize("autoload", [True, False], ids=["autoload", "no-autoload"])
@pytest.mark.parametrize(
    ("arguments", "configuration", "variable"),
    [
        (["-p", "runcoord"], "", ""),
        ([], "addopts = -p runcoord", ""),
        ([], "", "runcoord"),
        (["-p", "runcoord"], "required_plugins = runcoord>=0.1", ""),
    ],
    ids=["-p", "addopts", "PYTEST_PLUGINS", "required_plugins"],
)
def test_the_plugin_is_loaded_once_however_it_is_named(
    write: Write,
    run_in: Callable[..., pytest.RunResult],
    monkeypatch: pytest.MonkeyPatch,
    autoload: bool,
    arguments: list[str],
    configuration: str,
    variable: str,
) -> None:
    write("a.runcoord.yaml", PASSING)
    write("pytest.ini", f"[pytest]\n{configuration}\n")
    if variable:
        monkeypatch.setenv("PYTEST_PLUGINS", variable)
    result = run_in(autoload, *arguments)
    if variable and not autoload and pytest.version_tuple < (9,):
        # There pytest looks for a module only, finds the library, and the guard in it stops the run.
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        return
    assert result.parseoutcomes() == {"passed": 1}
    assert sum(line.startswith("runcoord ") for line in result.outlines) == 1


@pytest.fixture
def run_in(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pytest.RunResult]:
    """Runs pytest with or without looking for installed plugins; those of others stay out."""
    others = ("asyncio", "cov", "hypothesispytest", "fakefs", "randomly", "timeout", "xdist", "anyio")
    blocked = [word for name in others for word in ("-p", f"no:{name}")]

    def run_in(autoload: bool, *arguments: str) -> pytest.RunResult:
        if autoload:
            monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
        return pytester.runpytest_inprocess(*STRICT, *(blocked if autoload else ()), *arguments)

    return run_in


def test_without_the_plugin_scenarios_are_not_collected(write: Write, pytester: pytest.Pytester) -> None:
    write("a.runcoord.yaml", PASSING)
    result = pytester.runpytest_inprocess("a.runcoord.yaml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_the_library_alone_is_not_taken_for_the_plugin(write: Write, pytester: pytest.Pytester) -> None:
    """Where the library can be imported and the distribution is not installed, pytest takes the library for
    a plugin without hooks: but for a guard in it, the run collects nothing of ours and is green."""
    write("test_a.py", "def test_a():\n    pass\n")
    write("a.runcoord.yaml", PASSING)
    library = pytester.path / "library"
    library.mkdir()
    # What pytest and the library need, without any metadata: so there is no entry point.
    for name in (
        "pytest",
        "_pytest",
        "py",
        "pluggy",
        "iniconfig",
        "packaging",
        "pygments",
        "runcoord",
        "psutil",
    ):
        found = _source_of(name)
        (library / found.name).symlink_to(found)
    result = subprocess.run(
        [sys.executable, "-S", "-m", "pytest", "-p", "runcoord"],
        cwd=pytester.path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(library), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=SUBPROCESS_SECONDS,
    )
    assert result.returncode == int(pytest.ExitCode.USAGE_ERROR), result.stdout + result.stderr
    assert "loaded the library, not its pytest plugin" in result.stderr
    assert "pip install" in result.stderr
    assert "passed" not in result.stdout


def _source_of(name: str) -> Path:
    """The folder of a package, the file of a module."""
    spec = find_spec(name)
    assert spec is not None, name
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    return Path(str(spec.origin))


def test_asserts_of_the_suite_for_stores_say_what_differs(write: Write, pytester: pytest.Pytester) -> None:
    """Without autoload pytest rewrites only what ``-p`` names; the suite for stores must not lose by that."""
    write(
        "test_a.py",
        """
import sys
from _pytest.assertion.rewrite import AssertionRewritingHook
import runcoord.testing.contract

def test_a():
    assert isinstance(runcoord.testing.contract.__loader__, AssertionRewritingHook)
""",
    )
    result = pytest_apart(
        pytester.path, "-q", "-p", "runcoord", environment={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_no_asserts_of_its_own_modules_are_rewritten_and_other_finders_still_find_them(
    write: Write, pytester: pytest.Pytester
) -> None:
    """Rewriting reads and hashes the source at each import, which nobody who uses the plugin gains from."""
    write(
        "conftest.py",
        """
import atexit
import sys

class Watching:
    asked = []

    def find_spec(self, name, path, target=None):
        self.asked.append(name)

sys.meta_path.insert(0, Watching())

atexit.register(lambda: print("LEFT", [type(each).__name__ for each in sys.meta_path]))
""",
    )
    write(
        "test_a.py",
        """
import sys
from _pytest.assertion.rewrite import AssertionRewritingHook
import pytest_runcoord.runner
import runcoord

def test_a():
    own = [name for name in sys.modules if name.startswith(("pytest_runcoord.", "runcoord."))]
    rewritten = {name for name in own if isinstance(sys.modules[name].__loader__, AssertionRewritingHook)}
    assert "pytest_runcoord.gate" in own and "runcoord._assembly" in own
    assert rewritten <= {"pytest_runcoord.plugin", *(name for name in own if ".testing" in name)}
    asked = next(finder.asked for finder in sys.meta_path if type(finder).__name__ == "Watching")
    assert "pytest_runcoord.runner" in asked
""",
    )
    result = pytest_apart(pytester.path, "-q", "-s", "-p", "runcoord")
    assert result.returncode == 0, result.stdout + result.stderr
    [left] = [line for line in result.stdout.splitlines() if line.startswith("LEFT")]
    assert "OwnModules" not in left
    assert "Watching" in left


def test_its_own_modules_are_found_past_a_finder_of_the_kind_that_python_3_4_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Old:
        def find_module(self, name: str, path: object = None) -> None: ...

    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    own = OwnModules(None)
    sys.meta_path.insert(1, Old())  # type: ignore[arg-type]
    found = own.find_spec("runcoord.errors", list(runcoord.__path__))
    assert found is not None
    assert found.name == "runcoord.errors"


def test_the_help_names_every_option(run: Run) -> None:
    text = run("--help").stdout.str()
    for word in ("--runcoord-suite", "--runcoord-subject", "--runcoord-tier", "--runcoord-require"):
        assert word in text


def test_the_fixtures_are_listed_with_what_they_give(run: Run, write: Write) -> None:
    write("test_a.py", "def test_a():\n    pass\n")
    lines = run("--fixtures", "-q").outlines
    for name in FIXTURES:
        [at] = [index for index, line in enumerate(lines) if line.startswith(f"{name} -- ")]
        assert lines[at + 1].startswith("    ")
        assert len(lines[at + 1].strip()) > 20


FIXTURES = (
    "runcoord_clock",
    "runcoord_coordinator",
    "runcoord_crashed_lease",
    "runcoord_destination",
    "runcoord_freeze",
    "runcoord_scenario",
    "runcoord_stalled_renewals",
    "runcoord_tz_drift",
)
