"""The snapshot is on disk before the work begins, and whoever comes next can read it."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from git.repositories import PATIENCE, Place, contents
from runcoord._core import limits
from runcoord._git import Absence, GitSnapshot, NoSnapshot, Outcome, load
from runcoord.errors import GitStateUnsaved

TAKES_BREAKS_AND_DIES = """
import os, signal, subprocess, sys
from runcoord._git import take
taken = take(sys.argv[1], sys.argv[2], environ=os.environ)
subprocess.run(["git", "config", "core.bare", "true"], cwd=sys.argv[1], check=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
LOADS_AND_RESTORES = """
import json, os, sys
from runcoord._git import load, restore
print(json.dumps(restore(load(sys.argv[1]), environ=os.environ).document()))
"""


def in_a_process(place: Place, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env=place.environ,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_the_next_coordinator_restores_what_a_killed_one_saved_once(main: Place, tmp_path: Path) -> None:
    linked = main.worktree("linked")
    directory = str(tmp_path / "snapshot")
    died = in_a_process(main, TAKES_BREAKS_AND_DIES, str(linked.path), directory)
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert not main.works
    reports = [json.loads(in_a_process(main, LOADS_AND_RESTORES, directory).stdout) for _ in range(2)]
    assert [report["outcome"] for report in reports] == ["restored", "as-before"]
    assert main.works
    assert linked.works


def test_what_is_loaded_equals_what_was_taken(main: Place) -> None:
    main.worktree("linked")
    config = main.path / ".git" / "config"
    config.write_bytes(config.read_bytes() + b"[a]\n\tb = \xff\xfe\n")
    snapshot = main.snapshot()
    assert load(snapshot.directory) == snapshot


def test_names_that_are_not_utf_8_survive(environ: dict[str, str], tmp_path: Path, main: Place) -> None:
    path = tmp_path / os.fsdecode(b"w\xff")
    main.git("worktree", "add", "-q", "-b", "odd", str(path))
    snapshot = main.snapshot()
    assert load(snapshot.directory) == snapshot
    main.git("config", "core.bare", "true")
    assert main.restored(snapshot).outcome is Outcome.RESTORED
    json.dumps(snapshot.document())


def test_only_its_owner_can_read_a_snapshot(main: Place) -> None:
    main.worktree("linked")
    directory = Path(main.snapshot().directory)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in directory.iterdir()} == {0o600}


def test_everything_is_durable_before_the_manifest_has_its_name(
    main: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order of the system calls: every file synced, then the rename, then the directory synced."""
    main.worktree("linked")
    calls: list[str] = []
    real_sync, real_rename = os.fsync, Path.rename

    def fsync(descriptor: int) -> None:
        calls.append("fsync " + Path(f"/proc/self/fd/{descriptor}").readlink().name)
        real_sync(descriptor)

    def rename(self: Path, target: Path) -> Path:
        calls.append(f"rename {target.name}")
        return real_rename(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "rename", rename)
    main.snapshot()
    assert calls == [
        f"fsync {main.path.parent.name}",
        "fsync index-0",
        "fsync manifest.unfinished",
        "rename manifest.json",
        "fsync snapshot",
    ]


def test_a_second_snapshot_in_the_same_directory_is_refused_and_the_first_one_stays(main: Place) -> None:
    snapshot = main.snapshot()
    main.git("config", "core.bare", "true")
    before = contents(Path(snapshot.directory))
    with pytest.raises(GitStateUnsaved, match="there is a git snapshot already"):
        main.snapshot()
    assert contents(Path(snapshot.directory)) == before
    assert load(snapshot.directory) == snapshot


def test_a_directory_that_cannot_be_written_is_an_error_that_names_it(main: Place, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    before = contents(tmp_path)
    with pytest.raises(GitStateUnsaved, match="could not be saved") as caught:
        main.snapshot(tmp_path / "file" / "snapshot")
    assert contents(tmp_path) == before
    assert caught.value.details["path"] == str(tmp_path / "file" / "snapshot")


def test_what_a_crash_left_of_an_unfinished_snapshot_is_no_snapshot_and_in_nobodys_way(main: Place) -> None:
    main.worktree("linked")
    directory = main.path.parent / "snapshot"
    directory.mkdir()
    (directory / "manifest.unfinished").write_text("{half")
    (directory / "index-0").write_text("half")
    found = load(directory)
    assert isinstance(found, NoSnapshot)
    assert found.why is Absence.MISSING
    assert load(main.snapshot().directory) == main_snapshot(directory)


def main_snapshot(directory: Path) -> GitSnapshot:
    found = load(directory)
    assert isinstance(found, GitSnapshot)
    return found


def test_no_directory_is_no_snapshot(tmp_path: Path) -> None:
    found = load(tmp_path / "gone")
    assert isinstance(found, NoSnapshot)
    assert (found.why, found.directory) == (Absence.MISSING, str(tmp_path / "gone"))


def cut(text: str) -> str:
    return text[:-40]


def other_value(text: str) -> str:
    return text.replace('"values":["false"]', '"values":["true"]')


def no_json(text: str) -> str:
    return "\x00" * len(text)


def another_form(text: str) -> str:
    return '{"format":1,"sha256":"","before":[]}'


def deep(text: str) -> str:
    return "[" * 100_000


def empty(text: str) -> str:
    return ""


def no_format(text: str) -> str:
    return text.replace('"format":1', '"format":"1"')


@pytest.mark.parametrize("damage", [cut, other_value, no_json, another_form, deep, empty, no_format])
def test_a_damaged_manifest_is_a_value_that_says_so_and_no_exception(
    main: Place, damage: Callable[[str], str]
) -> None:
    manifest = Path(main.snapshot().directory) / "manifest.json"
    manifest.write_text(damage(manifest.read_text()))
    before = contents(main.path.parent)
    found = load(manifest.parent)
    assert isinstance(found, NoSnapshot)
    assert found.why is Absence.DAMAGED
    assert str(manifest) in found.problem
    assert found.remedy
    assert contents(main.path.parent) == before
    json.dumps(found.document())


def test_a_manifest_of_a_newer_runcoord_is_told_apart_from_a_damaged_one(main: Place) -> None:
    manifest = Path(main.snapshot().directory) / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"format":1', '"format":2'))
    found = load(manifest.parent)
    assert isinstance(found, NoSnapshot)
    assert found.why is Absence.TOO_NEW


@pytest.mark.parametrize("what", ["directory", "fifo", "link", "large"])
def test_a_manifest_that_is_no_plain_file_of_a_fair_size_is_not_read(
    tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = tmp_path / "manifest.json"
    if what == "directory":
        manifest.mkdir()
    elif what == "fifo":
        os.mkfifo(manifest)
    elif what == "link":
        manifest.symlink_to("/dev/zero")
    else:
        monkeypatch.setattr(limits, "GIT_MANIFEST_BYTES", 10)
        manifest.write_text("x" * 11)
    found = load(tmp_path)
    assert isinstance(found, NoSnapshot)
    assert found.why is Absence.DAMAGED
