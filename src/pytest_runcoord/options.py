"""What a pytest run was asked for: command line before configuration file, checked before anything runs."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

TIERS = ("sim", "real")
REFERENCE = "reference coordinator"
SUBJECT_METHODS = ("open", "refusal", "snapshot", "finish")
SUBJECT_VALUES = ("name", "capabilities")
"""Looked for on the object, since a class may set them as it is made."""
MAX_REQUIRED = 1_000_000
"""Scenarios that a run may be required to have; more is a slip of the keyboard."""


class Options:
    """The effective settings of one run. Raises :class:`pytest.UsageError` for what cannot be meant."""

    def __init__(self, config: pytest.Config) -> None:
        self.suite: Path | None = suite_directory() if config.getoption("runcoord_suite") else None
        self.tiers = _tiers(config, "runcoord_tier", "runcoord_tier")
        self.required_tiers = _tiers(config, "runcoord_require_tier", "runcoord_required_tiers")
        self.required, self.required_by = _required(config)
        self.report = _directory(config, "runcoord_report")
        self.subject_name = _text(config, "runcoord_subject")
        self._subject_class = load_subject(self.subject_name) if self.subject_name else None

    def new_subject(self) -> Any:
        """A subject for one scenario, ``None`` for the reference coordinator."""
        found = self._subject_class
        if found is None:
            return None
        subject = found() if isinstance(found, type) else found
        for name in SUBJECT_VALUES:
            if not hasattr(subject, name):
                pytest.fail(f"the runcoord subject {self.subject_name!r} has no {name!r}", pytrace=False)
        return subject

    def header(self) -> str:
        """What runs on what, for the head of the report."""
        parts = [f"scenarios on {self.subject_name or f'the {REFERENCE}'}"]
        if self.tiers:
            parts.append(f"tier {', '.join(self.tiers)} only")
        if self.required_tiers:
            parts.append(f"tier {', '.join(self.required_tiers)} required")
        if self.suite is not None:
            parts.append(f"suite {self.suite}")
        if self.required:
            parts.append(f"at least {self.required} required by {self.required_by}")
        return "; ".join(parts)


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


def load_subject(name: str) -> Any:
    """The class (or ready object) that ``module:Class`` names; raises :class:`pytest.UsageError`."""
    module_name, colon, path = name.partition(":")
    if not (module_name and colon and path):
        raise pytest.UsageError(f"the runcoord subject {name!r} is not of the form module:Class")
    try:
        found: Any = importlib.import_module(module_name)
    except ImportError as error:
        raise pytest.UsageError(
            f"the runcoord subject {name!r} cannot be imported: {error}. pytest itself looks for it in the "
            "folders of its setting pythonpath, and with 'python -m pytest' in the current folder."
        ) from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise pytest.UsageError(f"the runcoord subject {name!r} is not there: {found!r} has no {part!r}")
        found = getattr(found, part)
    for method in SUBJECT_METHODS:
        if not callable(getattr(found, method, None)):
            raise pytest.UsageError(
                f"the runcoord subject {name!r} has no method {method!r}; "
                f"pytest_runcoord.subject.Subject says what each of {', '.join(SUBJECT_METHODS)} does"
            )
    return found


def _text(config: pytest.Config, name: str) -> str:
    return str(config.getoption(name) or config.getini(name) or "").strip()


def _directory(config: pytest.Config, option: str) -> Path | None:
    """A directory of the command line, from where pytest was started."""
    given = config.getoption(option)
    if given is None:
        return None
    if not str(given).strip():
        raise pytest.UsageError(f"--{option.replace('_', '-')}: the name of the directory is empty")
    return config.invocation_params.dir / str(given)


def _tiers(config: pytest.Config, option: str, setting: str) -> tuple[str, ...]:
    given = config.getoption(option) or config.getini(setting) or []
    words = [word for each in given for word in str(each).replace(",", " ").split()]
    for word in words:
        if word not in TIERS:
            raise pytest.UsageError(f"runcoord: {word!r} is no tier; the tiers are {', '.join(TIERS)}")
    return tuple(each for each in TIERS if each in words)


def _required(config: pytest.Config) -> tuple[int, str]:
    given, by = config.getoption("runcoord_require"), "--runcoord-require"
    if given is None:
        given, by = config.getini("runcoord_min_scenarios"), "runcoord_min_scenarios"
    text = str(given or "0").strip()
    if not (text.isascii() and text.isdigit() and int(text) <= MAX_REQUIRED):
        raise pytest.UsageError(f"{by}: {text!r} is not a whole number from 0 to {MAX_REQUIRED}")
    return int(text), by
