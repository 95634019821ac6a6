"""What the tests of pictures and of the page share: entries of a history, a project, a browser."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from report.browser import Browser, program

SECONDS = 120.0
"""Far more than a run takes; a hang fails here."""
Runs = Callable[..., subprocess.CompletedProcess[str]]


def run_in(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "runcoord", "-p", "no:cacheprovider", *arguments],
        cwd=directory,
        env={**inherited, "COLUMNS": "80", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@pytest.fixture
def run_pytest(tmp_path: Path) -> Runs:
    """Runs pytest with the plugin and nothing else in ``tmp_path``, in a process of its own."""
    return partial(run_in, tmp_path)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A real browser; without one the test is skipped."""
    path = program()
    if path is None:
        pytest.skip("no Chromium is installed here (on Debian: apt-get install chromium)")
    with Browser(path, tmp_path_factory.mktemp("profile")) as browser:
        yield browser
