"""A place for runs, and that nothing of them is left when a test ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from running.real_runs import Place, until

linux_only = pytest.mark.real


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A directory with a store of its own; afterwards no process that was started there lives."""
    made = Place(tmp_path / "place")
    yield made
    until(lambda: not made.alive(), f"still alive: {made.alive()}")
