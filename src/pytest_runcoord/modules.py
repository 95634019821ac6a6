"""Modules of a project that are named to runcoord: by import, or by the file that they are in."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from hashlib import blake2b
from pathlib import Path
from types import ModuleType

import pytest


def module_named(what: str, module: str) -> ModuleType:
    """Import a module by its name; raises :class:`pytest.UsageError`, which says of ``what``."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise pytest.UsageError(
            f"{what} cannot be imported: {error}. pytest itself looks for it in the "
            "folders of its setting pythonpath, and with 'python -m pytest' in the current folder."
        ) from error
    except Exception as error:
        raise pytest.UsageError(_raised(what, error)) from error


def module_of_file(what: str, path: Path) -> ModuleType:
    """A file as a module under a name of its own: no other is taken for it, or hidden by it.

    Raises :class:`pytest.UsageError`, which says of ``what``.
    """
    path = path.resolve()
    if not path.is_file():
        raise pytest.UsageError(f"{what} cannot be imported: there is no file {path}")
    unique = f"runcoord_{path.stem}_{blake2b(bytes(path), digest_size=4).hexdigest()}"
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
        raise pytest.UsageError(_raised(what, error, path)) from error
    return module


def _raised(what: str, error: Exception, path: Path | None = None) -> str:
    """What an import raised, with the last place in the file itself, where there is one."""
    lines = [error.lineno] if isinstance(error, SyntaxError) and error.lineno else []
    trace = error.__traceback__
    while trace is not None and path is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    at = f", at line {lines[-1]} of it" if lines else ""
    said = " ".join(str(error).split())
    return f"{what} cannot be imported: {type(error).__name__}: {said}{at}"
