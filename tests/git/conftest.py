from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from git.repositories import Place, environment, repository


@pytest.fixture(scope="session", autouse=True)
def _git() -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return environment(tmp_path / "home")


@pytest.fixture
def main(tmp_path: Path, environ: dict[str, str]) -> Place:
    """The main work tree of a repository."""
    return repository(tmp_path / "main", environ)
