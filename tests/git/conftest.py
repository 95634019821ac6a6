from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
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


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A directory that an ordinary user can reach, which pytest's own need not be."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o777)
    yield path
    for each in path.rglob("*"):
        if each.is_dir() and not each.is_symlink():
            each.chmod(0o755)
    shutil.rmtree(path)
