"""What ``runcoord init`` writes into a project, and what it leaves alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

TEMPLATES = Path(__file__).parent / "files"
OWN_TABLE, PYPROJECT = "runcoord.toml", "pyproject.toml"
WORKFLOW = PurePosixPath(".github/workflows/recovery.yml")
MAX_CONFIGURATION_BYTES = 1024 * 1024
"""A configuration file has some kilobytes; a larger one is not read."""


class CannotBegin(Exception):
    """Nothing was written. ``remedy`` says what to do."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.problem, self.remedy = problem, remedy


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file to be written, below the project. ``what`` says what it is for."""

    path: PurePosixPath
    text: str
    what: str


def new_files(project: Path, tests: PurePosixPath, *, workflow: bool) -> list[NewFile]:
    """The files of a start; raises :class:`CannotBegin` if the project has begun, or has one of them.

    In a project that has begun, with ``workflow``, it is the workflow alone. Nothing is written. ``tests``
    is the directory for subject and scenarios, relative to ``project``.
    """
    if tests.is_absolute() or ".." in tests.parts:
        raise CannotBegin(f"{tests} is not below the project", "Name a directory in it: tests/recovery.")
    files = list(_files(tests, workflow))
    table = _table_of(project)
    if table:
        files = [each for each in files if each.path == WORKFLOW]
    if not files:
        raise CannotBegin(
            f"{table}: this project has begun",
            "Fill in the subject that it names. --github adds a workflow; without the table one begins anew.",
        )
    there = [str(each.path) for each in files if os.path.lexists(project / each.path)]
    if there:
        them = "it" if len(there) == 1 else "them"
        elsewhere = "" if table else ", or begin elsewhere with --tests DIR"
        raise CannotBegin(f"there already: {', '.join(there)}", f"Move {them} away{elsewhere}.")
    return files


def _files(tests: PurePosixPath, workflow: bool) -> Iterator[NewFile]:
    meaning = {
        tests / "subject.py": ("subject.py.txt", "your coordinator as scenarios drive it: fill it in"),
        tests / "first.runcoord.yaml": ("first.runcoord.yaml.txt", "two first scenarios"),
        PurePosixPath(OWN_TABLE): ("table.toml.txt", "what the gate asks for"),
    }
    if workflow:
        meaning[WORKFLOW] = ("workflow.yml.txt", "the gate on GitHub: fill in how your project is installed")
    for path, (template, what) in meaning.items():
        text = (TEMPLATES / template).read_text("utf-8")
        values = {"@TESTS@": str(tests), "@CONFIGURATION@": OWN_TABLE, "@TABLE@": ""}
        for name, value in values.items():
            text = text.replace(name, value)
        yield NewFile(path, text, what)


def _table_of(project: Path) -> str:
    """Where the project has its table, in words; empty if it has none. A second one could not be meant."""
    if os.path.lexists(project / OWN_TABLE):
        return f"{OWN_TABLE} is there"
    path = project / PYPROJECT
    try:
        large = path.stat().st_size > MAX_CONFIGURATION_BYTES
        return (
            "" if large or b"[tool.runcoord" not in path.read_bytes() else f"{PYPROJECT} has [tool.runcoord]"
        )
    except OSError:
        return ""


def write(project: Path, files: list[NewFile]) -> None:
    """Write all of them, or none: raises ``OSError`` after removing what it wrote and the folders it made."""
    made: list[Path] = []
    try:
        for each in files:
            path = project / each.path
            for folder in reversed([path.parent, *path.parent.parents]):
                if not folder.exists():
                    folder.mkdir()
                    made.append(folder)
            with path.open("x", encoding="utf-8") as stream:  # never over what came meanwhile
                made.append(path)
                stream.write(each.text)
    except OSError:
        for path in reversed(made):
            if path.is_dir():
                path.rmdir()
            else:
                path.unlink(missing_ok=True)
        raise
