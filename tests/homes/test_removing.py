"""A folder that is removed while somebody fills it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runcoord import open_homes
from runcoord.ports import FolderRefused, RefusalKind

DIRECTORIES, CAME = 4, 3


def test_no_more_is_removed_than_was_there_at_the_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "runs" / "r1"
    inner = [folder / f"d{number}" for number in range(DIRECTORIES)]
    for directory in inner:
        directory.mkdir(parents=True)
        (directory / "file").touch()
    (folder / "tombstone.json").write_text("{}")
    there = 2 * DIRECTORIES + 1
    removed: list[str] = []
    real = os.unlink

    def unlink(path: str, *, dir_fd: int | None = None) -> None:
        if not removed:
            here = os.readlink(f"/proc/self/fd/{dir_fd}")
            for directory in inner:
                for number in range(CAME if str(directory) != here else 0):
                    (directory / f"new{number}").touch()
        removed.append(path)
        real(path, dir_fd=dir_fd)

    with open_homes().open(str(tmp_path), "runs") as root:
        monkeypatch.setattr(os, "unlink", unlink)
        with pytest.raises(FolderRefused) as caught:
            root.remove("r1", 1_000, ("tombstone.json",))
    assert caught.value.kind is RefusalKind.SWAPPED
    assert "entries came into it meanwhile" in caught.value.reason
    assert len(removed) <= there
    assert (folder / "tombstone.json").read_text() == "{}", "what is last is there still"
