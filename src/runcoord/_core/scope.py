"""How far a teardown reaches."""

from __future__ import annotations

import enum


class Scope(enum.StrEnum):
    """How far a teardown reaches."""

    TREE = "tree"
    """Everything that can be found of the run: group, session, descendants, cookie."""
    GROUP = "group"
    """The process group of the run's first process alone."""
