"""Where something of the project's table stands, and what is said of what cannot be meant there."""

from __future__ import annotations

from pathlib import Path

import pytest

from runcoord.values import value


@value
class Place:
    """A place in a configuration file. ``line`` counts from 1 and is 0 where it is not known."""

    path: Path
    shown: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.shown}:{self.line}" if self.line else self.shown


def mistake(place: Place, problem: str, remedy: str) -> pytest.UsageError:
    """The table cannot be meant; nothing was run."""
    return pytest.UsageError(f"{place}: {problem} ({remedy}). Nothing was run.")
