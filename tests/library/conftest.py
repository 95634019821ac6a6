"""What the tests of a coordinator on the default store begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from runcoord.testing import ManualClock

from .default_store import Places


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def places(clock: ManualClock) -> Places:
    return Places(clock, "chat", "mail", "ops")
