"""``examples/run`` says what it runs; what it installs is run by ``.ci/run`` only."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from source_tree import ROOT

SECONDS = 60.0


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "examples" / "run"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)


def test_an_example_that_is_not_there_is_refused_before_anything_is_installed(tmp_path: Path) -> None:
    result = run("litequeue", "litequeu", "--into", str(tmp_path))
    assert result.returncode == 2
    assert result.stderr.startswith("no such example: litequeu. There are: ")
    assert "litequeue" in result.stderr.partition("There are: ")[2]
    assert list(tmp_path.iterdir()) == []


def test_a_misspelt_option_is_refused() -> None:
    result = run("--in-to", "x")
    assert result.returncode == 2
    assert "--in-to" in result.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the executable bit is one of a checkout")
def test_it_can_be_started_as_a_program() -> None:
    assert (ROOT / "examples" / "run").stat().st_mode & 0o100
