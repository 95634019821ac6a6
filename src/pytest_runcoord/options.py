"""What a pytest run was asked for: command line before the project's table, checked before anything runs."""

from __future__ import annotations

import inspect
import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_runcoord.table_file import MAX_REQUIRED, TIERS, ProjectTable, files_with_it

if TYPE_CHECKING:
    from pytest_runcoord.known_failures import KnownFailures

REFERENCE = "reference coordinator"
NO_SUBJECT = "reference"
"""What leads back to it, where the table has a subject."""
SUBJECT_VALUES = ("name", "capabilities")
"""Looked for on the object, since a class may set them as it is made."""
BY_OPTION, BY_TABLE = "--runcoord-require", "min_scenarios"


class Options:
    """The effective settings of one run. Raises :class:`pytest.UsageError` for what cannot be meant."""

    def __init__(self, config: pytest.Config) -> None:
        self.table = table = read_table(config.rootpath)
        self.suite_alone = bool(config.getoption("runcoord_suite"))
        self.suite: Path | None = suite_directory() if self.suite_alone or table.suite else None
        self.tiers_by_option = bool(config.getoption("runcoord_tier"))
        self.tiers = _tiers(config, "runcoord_tier") or table.tiers
        self.required_tiers_by_option = bool(config.getoption("runcoord_require_tier"))
        self.required_tiers = _tiers(config, "runcoord_require_tier") or table.required_tiers
        self.required, self.required_by = _required(config, table.min_scenarios)
        self.report = _path(config, "runcoord_report", "directory")
        self.json = _path(config, "runcoord_json", "file")
        self.annotations = (
            config.getoption("runcoord_annotations") or os.environ.get("GITHUB_ACTIONS") == "true"
        )
        given = str(config.getoption("runcoord_subject") or "").strip()
        named = given or table.subject
        self.subject_name = "" if named == NO_SUBJECT else named
        directory = config.invocation_params.dir if given else config.rootpath
        name = self.subject_name
        self._subject_class = _subject(name, directory, config) if name else None
        self.subject_version = _said(self._subject_class, "version")
        of_another = given == NO_SUBJECT and bool(table.subject)  # known failures are those of a subject
        self.known = _known(() if of_another else table.known_failures, self.subject_version)

    @property
    def foreign(self) -> bool:
        """Whether scenarios run on a subject, and not on the reference coordinator."""
        return self._subject_class is not None

    def new_subject(self) -> Any:
        """A subject for one scenario, ``None`` for the reference coordinator."""
        found = self._subject_class
        if found is None:
            return None
        subject = _made(found) if isinstance(found, type) else found
        for name in SUBJECT_VALUES:
            try:
                getattr(subject, name)
            except AttributeError:
                pytest.fail(f"the runcoord subject {self.subject_name!r} has no {name!r}", pytrace=False)
            except Exception:  # noqa: BLE001  whoever runs it says so
                pass
        return subject

    def header(self) -> str:
        """What runs on what, for the head of the report."""
        parts = [f"scenarios on {self.subject_name or f'the {REFERENCE}'}"]
        if self.subject_version:
            parts[0] += f", {self.subject_version}"
        if self.tiers:
            parts.append(f"tier {', '.join(self.tiers)} only")
        if self.required_tiers:
            parts.append(f"tier {', '.join(self.required_tiers)} required")
        if self.suite is not None:
            parts.append(f"suite {self.suite}")
        if self.required:
            parts.append(f"at least {self.required} required by {self.required_by}")
        if self.known is not None:
            count = len(self.known.entries)
            parts.append(f"{count} known failure{'' if count == 1 else 's'}")
        return "; ".join(parts)

    def able(self) -> str:
        """What the subject can be asked for, for the head of the report; empty where only a run can tell."""
        can = _capabilities(self._subject_class)
        if can is None:
            return ""
        name = _said(self._subject_class, "name") or self.subject_name
        return f"{name} can: {', '.join(sorted(can)) or 'nothing that scenarios ask for'}"


def _capabilities(subject: Any) -> Collection[str] | None:
    """Those that a class shows without being made; ``None`` where it does not."""
    if not isinstance(subject, type):
        return None
    from pytest_runcoord.subjects.base import SubjectBase

    said: Any = inspect.getattr_static(subject, "capabilities", None)
    if issubclass(subject, SubjectBase) and said is SubjectBase.capabilities:
        try:
            said = SubjectBase.capabilities.fget(subject)
        except Exception:  # noqa: BLE001  whoever runs it says so
            return None
    return said if isinstance(said, frozenset | set) and all(isinstance(each, str) for each in said) else None


def _made(kind: type) -> Any:
    """A subject of this class; one that cannot be made fails its test, and no other."""
    from pytest_runcoord.subjects.calling import Calls
    from pytest_runcoord.world_errors import SubjectFault

    try:
        return Calls(kind.__name__).make("__init__", kind)
    except SubjectFault as fault:
        pytest.fail("\n".join(each for each in (str(fault), fault.seen) if each), pytrace=False)


def read_table(rootpath: Path) -> ProjectTable:
    """The table of the project at ``rootpath``; raises :class:`pytest.UsageError`."""
    try:
        of_pyproject, alone = files_with_it(rootpath)
    except OSError as error:
        raise pytest.UsageError(
            f"{error.filename}: cannot be read: {error.strerror or error}. Nothing was run."
        ) from None
    if of_pyproject is None and alone is None:
        return ProjectTable()
    from pytest_runcoord.project_table import table_of

    return table_of(rootpath, of_pyproject, alone)


def suite_directory() -> Path:
    """Where the shipped scenarios are: inside the installed package, or beside ``src`` in a checkout."""
    package = Path(__file__).resolve().parent
    candidates = (package / "scenarios", package.parents[1] / "scenarios")
    for each in candidates:
        if each.is_dir():
            return each
    raise pytest.UsageError(
        f"--runcoord-suite: the shipped scenarios are neither in {candidates[0]} nor in {candidates[1]}. "
        "Install the distribution again."
    )


def _subject(name: str, directory: Path, config: pytest.Config) -> Any:
    from pytest_runcoord.subject_names import load_subject

    return load_subject(name, directory, config)


def _known(entries: tuple[Any, ...], version: str) -> KnownFailures | None:
    if not entries:
        return None
    from pytest_runcoord.known_failures import KnownFailures

    return KnownFailures(entries, version)


def _said(subject: Any, name: str) -> str:
    """A text that a subject has without being made, or asked: one out of process would be started for it."""
    if subject is None:
        return ""
    value = inspect.getattr_static(subject, name, "")
    return " ".join(value.split()) if isinstance(value, str) else ""


def _path(config: pytest.Config, option: str, what: str) -> Path | None:
    """A file or directory of the command line, from where pytest was started."""
    given = config.getoption(option)
    if given is None:
        return None
    if not str(given).strip():
        raise pytest.UsageError(f"--{option.replace('_', '-')}: the name of the {what} is empty")
    return config.invocation_params.dir / str(given)


def _tiers(config: pytest.Config, option: str) -> tuple[str, ...]:
    words = [word for each in config.getoption(option) or [] for word in str(each).replace(",", " ").split()]
    for word in words:
        if word not in TIERS:
            raise pytest.UsageError(
                f"--{option.replace('_', '-')}: {word!r} is no tier; the tiers are {', '.join(TIERS)}"
            )
    return tuple(each for each in TIERS if each in words)


def _required(config: pytest.Config, by_table: int) -> tuple[int, str]:
    given = config.getoption("runcoord_require")
    if given is None:
        return by_table, BY_TABLE
    text = str(given or "0").strip()
    if not (text.isascii() and text.isdigit() and int(text) <= MAX_REQUIRED):
        raise pytest.UsageError(f"{BY_OPTION}: {text!r} is not a whole number from 0 to {MAX_REQUIRED}")
    return int(text), BY_OPTION
