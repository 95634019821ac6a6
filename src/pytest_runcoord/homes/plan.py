"""What a scenario says of its homes, and of what is to be imported from them."""

from __future__ import annotations

from typing import Any

from pytest_runcoord.homes.shapes import ROOT
from runcoord.values import record, value

HOMES, OUTSIDE = "homes", "outside"
"""Directories of a scenario: its homes, and what lies outside of them."""
HOME = "home"
"""The home of a scenario that names none."""

IMPORT = "import_folders"
SWEEPING = frozenset({"recover", "startup"})
IMPORTING = frozenset({IMPORT, *SWEEPING})
"""Verbs that import, or may."""
READING = frozenset({*IMPORTING, "read_result"})
"""Verbs that read in homes."""


@record
class HomePlan:
    """What ``given`` says of homes."""

    via: str = ""
    """How the home is spelled; the axis says it otherwise."""
    also: tuple[str, ...] = ()
    """Further homes."""
    root: str = ROOT


@value
class Import:
    """What one import is asked to do."""

    home: str
    """The path, as it is spelled."""
    root: str = ROOT
    fallback: str = ""
    prune_after: float | None = None

    def plain(self) -> dict[str, Any]:
        """As plain values, which a verb can be asked with."""
        return {
            "home": self.home,
            "root": self.root,
            "fallback": self.fallback,
            "prune_after": self.prune_after,
        }
