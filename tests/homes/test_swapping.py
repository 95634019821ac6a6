"""Files that become others between two calls of the system, at the very moment that helps most."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from homes.masking import without_held_directories
from runcoord._homes import open_homes
from runcoord.ports import FolderRefused, RefusalKind

LIMIT = 1_000


@contextmanager
def around_opening(before: Callable[[], object], after: Callable[[], object]) -> Iterator[None]:
    """``before`` and ``after`` happen around each opening of the state file."""
    real = os.open

    def opening(path: Any, *how: Any, **where: Any) -> int:
        if not os.fspath(path).endswith("state.json"):
            return real(path, *how, **where)
        before()
        try:
            return real(path, *how, **where)
        finally:
            after()

    opening.__name__ = "open"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", opening)
        yield


@pytest.fixture(params=["held", "by path"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "home" / "runs" / "r1"
    path.mkdir(parents=True)
    (path / "state.json").write_bytes(b"inside")
    (tmp_path / "outside").write_bytes(b"secret")
    if request.param == "held":
        yield path
    else:
        with without_held_directories():
            yield path


def read(folder: Path) -> bytes | None:
    with open_homes().open(str(folder.parent.parent), "runs") as root, root.folder("r1") as opened:
        found = opened.read("state.json", LIMIT)
    return None if found is None else found.data


def test_a_hard_link_that_is_there_only_while_it_is_opened_is_not_read(folder: Path) -> None:
    state, spare, outside = folder / "state.json", folder / "spare", folder.parents[2] / "outside"

    def put() -> None:
        state.rename(spare)
        os.link(outside, state)

    def take_away() -> None:
        state.unlink()
        spare.rename(state)

    with around_opening(put, take_away), pytest.raises(FolderRefused) as refused:
        read(folder)
    assert refused.value.kind is RefusalKind.SWAPPED
    assert outside.stat().st_nlink == 1
    assert read(folder) == b"inside"


def test_a_link_that_is_there_only_while_it_is_opened_is_not_read(folder: Path) -> None:
    state, spare, outside = folder / "state.json", folder / "spare", folder.parents[2] / "outside"

    def put() -> None:
        state.rename(spare)
        state.symlink_to(outside)

    def take_away() -> None:
        state.unlink()
        spare.rename(state)

    with around_opening(put, take_away), pytest.raises(FolderRefused) as refused:
        read(folder)
    assert refused.value.kind in {RefusalKind.LINK, RefusalKind.SWAPPED}


@pytest.mark.parametrize("there", [True, False])
def test_a_folder_that_is_a_link_only_while_it_is_opened_may_be_tried_again(
    tmp_path: Path, there: bool
) -> None:
    folder = tmp_path / "home" / "runs" / "r1"
    folder.mkdir(parents=True)
    (folder / "state.json").write_bytes(b"inside")
    spare, real = tmp_path / "spare", os.open

    def opening(path: Any, *how: Any, **where: Any) -> int:
        if path != "r1":
            return real(path, *how, **where)
        folder.rename(spare)
        folder.symlink_to(spare)
        try:
            return real(path, *how, **where)
        finally:
            folder.unlink()
            if there:
                spare.rename(folder)

    opening.__name__ = "open"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", opening)
        with pytest.raises(FolderRefused) as refused:
            read(folder)
    assert refused.value.kind is RefusalKind.SWAPPED
    assert refused.value.kind.passing


def test_a_fifo_that_is_there_only_while_it_is_opened_is_not_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "runs" / "r1"
    folder.mkdir(parents=True)
    state, spare = folder / "state.json", folder / "spare"
    state.write_bytes(b"inside")

    def put() -> None:
        state.rename(spare)
        os.mkfifo(state)

    with around_opening(put, lambda: None), pytest.raises(FolderRefused) as refused:
        read(folder)
    assert refused.value.kind is RefusalKind.NOT_REGULAR


def test_a_file_that_is_written_anew_while_it_is_opened_is_read_as_it_is_then(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "runs" / "r1"
    folder.mkdir(parents=True)
    state, new = folder / "state.json", folder / "new"
    state.write_bytes(b"old")
    new.write_bytes(b"newer")
    with around_opening(lambda: None, lambda: new.exists() and new.replace(state)):
        assert read(folder) == b"newer"


def test_a_file_that_goes_while_it_is_opened_is_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "runs" / "r1"
    folder.mkdir(parents=True)
    state = folder / "state.json"
    state.write_bytes(b"old")
    with around_opening(lambda: state.unlink(missing_ok=True), lambda: None):
        assert read(folder) is None
