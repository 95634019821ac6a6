"""A project of its own for each test, in which pytest runs with the plugin and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

# Kept loaded, so that runs in this process need not load the engine again and again.
import pytest_runcoord.collection
import pytest_runcoord.from_python  # noqa: F401

COLUMNS = "80"
SPEAKS_TO_PYTEST = (
    "BUILD_NUMBER",
    "CI",
    "FORCE_COLOR",
    "GITHUB_ACTIONS",
    "GITHUB_WORKSPACE",
    "NO_COLOR",
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "PY_COLORS",
)
SUBPROCESS_SECONDS = 120.0
"""Far more than any of these runs takes; a hang fails here and not at the end of the whole suite."""

STRICT = ("-W", "error", "-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning")
"""A warning fails a run; but for the one that comes from running pytest inside of pytest."""

Run = Callable[..., pytest.RunResult]


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What else is installed, and how the tests themselves are run, changes nothing in the runs they make."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("COLUMNS", COLUMNS)
    for name in SPEAKS_TO_PYTEST:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def write(pytester: pytest.Pytester) -> Callable[[str, str], Path]:
    """Writes a file of the project: ``write("a.runcoord.yaml", text)``."""

    def write(name: str, text: str) -> Path:
        path = pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    return write


@pytest.fixture
def run(pytester: pytest.Pytester) -> Run:
    """Runs pytest in this process with ``-p runcoord``; a warning fails the run."""

    def run(*arguments: str) -> pytest.RunResult:
        return pytester.runpytest_inprocess("-p", "runcoord", *STRICT, *arguments)

    return run


@pytest.fixture
def run_apart(pytester: pytest.Pytester) -> Run:
    """The same in a process of its own."""

    def run_apart(*arguments: str) -> pytest.RunResult:
        return pytester.runpytest_subprocess("-p", "runcoord", *arguments, timeout=SUBPROCESS_SECONDS)

    return run_apart
