"""One home, and the ways to spell the path to it. An importer finds the same folders through each."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

SPELLINGS: dict[str, str] = {
    "plain": "an absolute path without links",
    "symlinked": "the home itself is a symbolic link",
    "symlinked-ancestor": "a directory above it is a symbolic link",
    "relative": "a path from the working directory",
    "trailing-slash": "with a slash at its end",
}
"""How a home can be spelled."""


def _plain(base: Path, real: Path) -> str:
    return str(real)


def _symlinked(base: Path, real: Path) -> str:
    link = base / f"{real.name}-link"
    link.symlink_to(real)
    return str(link)


def _symlinked_ancestor(base: Path, real: Path) -> str:
    link = base / f"{real.name}-above"
    link.symlink_to(real.parent)
    return str(link / real.name)


def _relative(base: Path, real: Path) -> str:
    return os.path.relpath(real)


def _trailing_slash(base: Path, real: Path) -> str:
    return f"{real}/"


_SPELL: dict[str, Callable[[Path, Path], str]] = {
    "plain": _plain,
    "symlinked": _symlinked,
    "symlinked-ancestor": _symlinked_ancestor,
    "relative": _relative,
    "trailing-slash": _trailing_slash,
}


def spelled(base: Path, real: Path, spelling: str) -> str:
    """A path to ``real``, spelled so; links that this needs are made in ``base``, which is not ``real``.

    Raises ``KeyError`` for a spelling that is not among :data:`SPELLINGS`.
    """
    return _SPELL[spelling](base, real)
