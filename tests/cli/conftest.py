"""A store in a folder of its own, planted on a clock that the test moves, and the command line on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.planting import Garden
from cli.shell import Shell
from runcoord import Ports
from runcoord.testing import CountingIds, ManualClock, ManualSleeper


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data" / "runs.db"


@pytest.fixture
def garden(path: Path, clock: ManualClock) -> Iterator[Garden]:
    planted = Garden(path, clock)
    with planted.coordinator:
        yield planted


@pytest.fixture
def shell(path: Path, clock: ManualClock) -> Shell:
    ports = Ports(clock=clock, ids=CountingIds(1_000), sleeper=ManualSleeper(clock))
    return Shell(path, ports)
