"""What the name of a subject means: a class in a module or in a file, a program, or what a plugin knows."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_runcoord._positions import nearest
from pytest_runcoord.modules import module_named, module_of_file

SUBJECT_METHODS = ("open", "refusal", "snapshot", "finish")
PROGRAM = "program:"
FORMS = "module:Class, path/to/file.py:Class, or program: COMMAND"


def load_subject(name: str, directory: Path | None = None, config: pytest.Config | None = None) -> Any:
    """The class (or ready object) that ``name`` means; raises :class:`pytest.UsageError`.

    Files are looked for from ``directory``: the project's for a name in its configuration, else where
    pytest was started. With ``config`` a name without a colon is asked of the plugins.
    """
    directory = Path.cwd() if directory is None else directory
    if name.startswith(PROGRAM):
        from pytest_runcoord.subjects.program import program_subject

        return program_subject(name, directory)
    place, colon, path = name.rpartition(":") if ".py:" in name else name.partition(":")
    if not colon and config is not None:
        found = _asked_for(name, config)
    elif not (place and colon and path):
        raise pytest.UsageError(f"the runcoord subject {name!r} is not of the form {FORMS}")
    else:
        what = f"the runcoord subject {name!r}"
        is_file = place.endswith(".py")
        module = module_of_file(what, directory / place) if is_file else module_named(what, place)
        found = _inside(name, module, path)
    for method in SUBJECT_METHODS:
        if not callable(getattr(found, method, None)):
            raise pytest.UsageError(
                f"the runcoord subject {name!r} has no method {method!r}; "
                f"pytest_runcoord.subject.Subject says what each of {', '.join(SUBJECT_METHODS)} does"
            )
    return found


def _inside(name: str, module: ModuleType, path: str) -> Any:
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            near = nearest(part, _classes(found))
            meant = f"; did you mean {near!r}?" if near else ""
            raise pytest.UsageError(
                f"the runcoord subject {name!r} is not there: {found!r} has no {part!r}{meant}"
            )
        found = getattr(found, part)
    return found


def _classes(found: Any) -> list[str]:
    """Names of what could be meant: classes, first of all those that are subjects."""
    kinds = [name for name, each in vars(found).items() if isinstance(each, type)]
    whole = [name for name in kinds if all(hasattr(vars(found)[name], each) for each in SUBJECT_METHODS)]
    return whole or kinds


def _asked_for(name: str, config: pytest.Config) -> Any:
    """What a plugin gives for a name."""
    from pytest_runcoord.extending import subject_named

    found = subject_named(config, name)
    if found is None:
        raise pytest.UsageError(
            f"the runcoord subject {name!r} is not of the form {FORMS}, and no plugin knows it by "
            "pytest_runcoord_subject"
        )
    return found
