"""What the name of a subject means: a class in a module or in a file, a program, or what a plugin knows."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from hashlib import blake2b
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

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
        module = _of_file(name, directory / place) if place.endswith(".py") else _of_module(name, place)
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
            raise pytest.UsageError(f"the runcoord subject {name!r} is not there: {found!r} has no {part!r}")
        found = getattr(found, part)
    return found


def _of_module(name: str, module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise pytest.UsageError(
            f"the runcoord subject {name!r} cannot be imported: {error}. pytest itself looks for it in the "
            "folders of its setting pythonpath, and with 'python -m pytest' in the current folder."
        ) from error
    except Exception as error:
        raise pytest.UsageError(_raised(name, error)) from error


def _of_file(name: str, path: Path) -> ModuleType:
    """A file as a module of its own name: no other of that name is taken for it, or hidden by it."""
    path = path.resolve()
    if not path.is_file():
        raise pytest.UsageError(f"the runcoord subject {name!r} cannot be imported: there is no file {path}")
    unique = f"runcoord_subject_{path.stem}_{blake2b(bytes(path), digest_size=4).hexdigest()}"
    if unique in sys.modules:
        return sys.modules[unique]
    spec = importlib.util.spec_from_file_location(unique, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[unique] = module  # classes in it must be found by pickle, and by dataclasses
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[unique]
        raise pytest.UsageError(_raised(name, error, path)) from error
    return module


def _raised(name: str, error: Exception, path: Path | None = None) -> str:
    """What an import raised, with the last place in the subject's own file, where there is one."""
    lines = []
    if isinstance(error, SyntaxError) and error.lineno:
        lines = [error.lineno]
    trace = error.__traceback__
    while trace is not None and path is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    at = f", at line {lines[-1]} of it" if lines else ""
    said = " ".join(str(error).split())
    return f"the runcoord subject {name!r} cannot be imported: {type(error).__name__}: {said}{at}"


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
