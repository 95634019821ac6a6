"""What a simulated scenario's store begins as."""

from __future__ import annotations

import stat
from pathlib import Path

from pytest_runcoord.empty_store import begin_empty
from runcoord import open_coordinator


def test_it_is_byte_for_byte_what_the_documented_opening_creates(tmp_path: Path) -> None:
    created, begun = tmp_path / "created.db", tmp_path / "begun.db"
    open_coordinator(created).close()
    begin_empty(begun)
    assert begun.read_bytes() == created.read_bytes()
    assert stat.S_IMODE(begun.stat().st_mode) == stat.S_IMODE(created.stat().st_mode)


def test_the_documented_opening_finds_nothing_to_do(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    begin_empty(path)
    before = path.read_bytes()
    with open_coordinator(path, create=False) as coordinator:
        assert coordinator.runs().runs == []
        assert path.read_bytes() == before
        coordinator.submit(run_id="r1")
    assert path.read_bytes() != before


def test_what_is_there_already_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with open_coordinator(path) as coordinator:
        coordinator.submit(run_id="r1")
    before = path.read_bytes()
    begin_empty(path)
    assert path.read_bytes() == before
