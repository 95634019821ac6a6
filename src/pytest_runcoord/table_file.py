"""Whether a project has a table of runcoord's, and what it holds; loaded with the plugin, so it is cheap.

Every run of pytest in the project pays for this: nothing is parsed, and no more is loaded, unless the table
seems to be there. Reading it is :mod:`pytest_runcoord.project_table`.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_runcoord.known_failures import KnownFailure
    from pytest_runcoord.project_place import Place

PYPROJECT, OWN_FILE = "pyproject.toml", "runcoord.toml"
TIERS = ("sim", "real")
MAX_REQUIRED = 1_000_000
"""Scenarios that a run may be required to have; more is a slip of the keyboard."""
MAX_FILE_BYTES = 1024 * 1024
"""A configuration file has some kilobytes; more is no configuration."""
_TABLE = b"[tool.runcoord"
_NAMES = (b"tool.runcoord", b"runcoord", b"tool")
_SPELLING = b" \t\"'[]"
"""What may stand around the parts of a name in TOML."""


class ProjectTable:
    """The table of one project; every key is as if not given where it is not there."""

    def __init__(
        self, place: Place | None = None, lines: Mapping[str, int] | None = None, **keys: Any
    ) -> None:
        self.place = place
        """None where there is no table."""
        self._lines = lines or {}
        self.subject: str = keys.get("subject", "")
        self.tiers: tuple[str, ...] = keys.get("tiers", ())
        self.required_tiers: tuple[str, ...] = keys.get("required_tiers", ())
        self.min_scenarios: int = keys.get("min_scenarios", 0)
        self.required_invariants: tuple[str, ...] = keys.get("required_invariants", ())
        self.suite: bool = keys.get("suite", False)
        self.known_failures: tuple[KnownFailure, ...] = keys.get("known_failures", ())

    def at(self, key: str) -> Place | None:
        """Where a key stands."""
        if self.place is None:
            return None
        from pytest_runcoord.project_place import Place

        return Place(self.place.path, self.place.shown, self._lines.get(key, self.place.line))


def files_with_it(rootpath: Path) -> tuple[bytes | None, bytes | None]:
    """What ``pyproject.toml`` and ``runcoord.toml`` of a project hold; ``None`` for one that is not there, or
    that has no table for sure. Raises ``OSError`` for one that cannot be read."""
    of_pyproject = _bytes(rootpath / PYPROJECT)
    if of_pyproject is not None and not may_have_it(of_pyproject):
        of_pyproject = None
    return of_pyproject, _bytes(rootpath / OWN_FILE)


def _bytes(path: Path) -> bytes | None:
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_FILE_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            raise OSError(errno.ENOENT, "it is a link to what is not there", str(path)) from None
        return None


def may_have_it(data: bytes) -> bool:
    """Also under ``[tool]``, inline, with blanks or in quotation marks: rare, and not to be passed over. Nor
    is a file that is too long to be read to its end."""
    if _TABLE in data or len(data) > MAX_FILE_BYTES:
        return True
    if b"runcoord" not in data:
        return False
    for line in data.splitlines():
        if b"runcoord" in line:
            name = line.partition(b"#")[0].partition(b"=")[0].translate(None, _SPELLING)
            if name in _NAMES or name.startswith((b"tool.runcoord.", b"runcoord.")):
                return True
    return False
