"""The fixtures for run folders: what they make, and what they notice."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from plugin.conftest import Run
from pytest_runcoord.homes.fifos import FifoWatch
from pytest_runcoord.homes.fixtures import HOME, DataHome, FolderHarmed, RunFolders
from pytest_runcoord.homes.shapes import SHAPES
from pytest_runcoord.homes.spellings import SPELLINGS
from runcoord.testing import ManualClock

pytest_plugins = ["pytester"]


def everything(folders: RunFolders) -> set[str]:
    return {str(path.relative_to(folders.real)) for path in folders.real.rglob("*")}


def test_a_folder_has_a_state_file_of_its_run_dated_by_the_clock(
    runcoord_run_folders: RunFolders, runcoord_clock: ManualClock
) -> None:
    runcoord_clock.advance(1_000)
    path = runcoord_run_folders("r1", agent="builder", result="done", tombstone="completed")
    state = json.loads((path / "state.json").read_text("utf-8"))
    assert (state["id"], state["agent"]) == ("r1", "builder")
    assert state["started"] == runcoord_clock.wall() - 3_600
    assert json.loads((path / "tombstone.json").read_text("utf-8"))["outcome"] == "completed"
    assert (path / "result.txt").read_text("utf-8") == "done"
    assert path == Path(runcoord_run_folders.path) / "runs" / "r1"


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_can_be_made_and_is_good_or_bad(runcoord_run_folders: RunFolders, shape: str) -> None:
    runcoord_run_folders("r1", shape)
    assert (runcoord_run_folders.good == ["r1"]) is SHAPES[shape].fine
    assert (runcoord_run_folders.bad == ["r1"]) is not SHAPES[shape].fine
    assert os.path.lexists(runcoord_run_folders.root / "r1" / "state.json") is (shape != "missing")


@pytest.mark.parametrize("shape", [name for name, shape in SHAPES.items() if shape.fine])
def test_what_is_called_fine_is_json_with_the_right_id(runcoord_run_folders: RunFolders, shape: str) -> None:
    path = runcoord_run_folders("r1", shape) / "state.json"
    assert json.loads(path.read_bytes().decode("utf-8"))["id"] == "r1"


def test_a_shape_that_is_not_known_is_refused_and_makes_nothing(runcoord_run_folders: RunFolders) -> None:
    before = everything(runcoord_run_folders)
    with pytest.raises(ValueError, match="there is no shape 'tron'; there are good, torn"):
        runcoord_run_folders("r1", "tron")
    assert everything(runcoord_run_folders) == before
    runcoord_run_folders("r1")
    with pytest.raises(FileExistsError):
        runcoord_run_folders("r1")


@pytest.mark.parametrize("name", ["", ".", "..", "../aside", "a/b", "/"])
def test_a_name_that_leads_elsewhere_is_refused_and_nothing_is_made_or_removed_there(
    runcoord_run_folders: RunFolders, tmp_path: Path, name: str
) -> None:
    aside = tmp_path / "run-folders" / "homes" / HOME / "aside"
    aside.mkdir()
    (aside / "kept").write_text("of somebody else")
    runcoord_run_folders("r1")
    before = everything(runcoord_run_folders)
    for act in (
        runcoord_run_folders,
        runcoord_run_folders.link,
        runcoord_run_folders.swap,
        lambda run: runcoord_run_folders.odd(run, "folder"),
        lambda run: runcoord_run_folders.odd(run, "folder", "fifo"),
        runcoord_run_folders.hardlink,
    ):
        with pytest.raises(ValueError, match="is not the name of a folder in"):
            act(name)
    assert everything(runcoord_run_folders) == before


def test_hostile_folders_stand_beside_good_ones_and_are_all_bad(runcoord_run_folders: RunFolders) -> None:
    runcoord_run_folders("r1")
    made = runcoord_run_folders.hostile()
    assert runcoord_run_folders.good == ["r1"]
    assert runcoord_run_folders.bad == made
    assert sorted(os.listdir(runcoord_run_folders.root)) == sorted([*made, "r1"])  # noqa: PTH208
    runcoord_run_folders.check()


def test_what_changes_is_told_by_its_path_and_by_how(runcoord_run_folders: RunFolders) -> None:
    for run in ("r1", "r2", "r3"):
        runcoord_run_folders(run)
    root = runcoord_run_folders.root
    (root / "r1" / "tombstone.json").write_text("{}", "utf-8")
    (root / "r2" / "state.json").write_bytes((root / "r2" / "state.json").read_bytes()[:-1] + b"]")
    (root / "r3" / "state.json").unlink()
    assert runcoord_run_folders.changes() == {
        "runs/r1/tombstone.json": "new",
        "runs/r2/state.json": "changed",
        "runs/r3/state.json": "gone",
    }
    with pytest.raises(FolderHarmed, match="2 paths in the home are not as they were: runs/r2"):
        runcoord_run_folders.check(new=("tombstone.json",))


def test_an_edit_that_keeps_size_and_times_is_a_change_all_the_same(
    runcoord_run_folders: RunFolders,
) -> None:
    path = runcoord_run_folders("r1") / "state.json"
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"worker", b"wonder"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert runcoord_run_folders.changes() == {"runs/r1/state.json": "changed"}


@pytest.mark.parametrize("part", ["folder", "state", "tombstone", "result"])
def test_a_link_leads_to_something_outside_that_looks_right_and_can_be_recognised(
    runcoord_run_folders: RunFolders, part: str
) -> None:
    runcoord_run_folders("r1", result="mine", tombstone="completed")
    path = runcoord_run_folders.link("r1", part)
    assert path.is_symlink()
    target = path.resolve()
    assert not target.is_relative_to(runcoord_run_folders.real)
    file = target / "state.json" if part == "folder" else target
    assert runcoord_run_folders.canary in file.read_text("utf-8")
    assert runcoord_run_folders.bad == ([] if part == "result" else ["r1"])


def test_the_root_can_become_a_link_to_folders_of_the_same_names(runcoord_run_folders: RunFolders) -> None:
    runcoord_run_folders("r1")
    root = runcoord_run_folders.link_root()
    assert root.is_symlink()
    assert runcoord_run_folders.canary in (root / "r1" / "state.json").read_text("utf-8")


@pytest.mark.parametrize(
    ("kind", "is_it"), [("fifo", Path.is_fifo), ("socket", Path.is_socket), ("directory", Path.is_dir)]
)
def test_a_file_can_be_what_is_no_file(
    runcoord_run_folders: RunFolders, kind: str, is_it: Callable[[Path], bool]
) -> None:
    runcoord_run_folders("r1")
    assert is_it(runcoord_run_folders.odd("r1", "state", kind))
    assert runcoord_run_folders.bad == ["r1"]


def test_a_swapped_folder_is_another_real_one(runcoord_run_folders: RunFolders) -> None:
    before = runcoord_run_folders("r1").stat().st_ino
    runcoord_run_folders.swap("r1")
    assert (runcoord_run_folders.root / "r1").stat().st_ino != before


def test_the_data_home_is_the_same_directory_through_every_spelling(
    runcoord_data_home: DataHome, request: pytest.FixtureRequest
) -> None:
    runcoord_data_home("r1")
    assert runcoord_data_home.spelling in SPELLINGS
    assert Path(runcoord_data_home.path).resolve() == runcoord_data_home.real
    assert (Path(runcoord_data_home.path) / "runs" / "r1" / "state.json").is_file()
    same = runcoord_data_home.path == str(runcoord_data_home.real)
    assert same is (runcoord_data_home.spelling == "plain")


def test_a_test_with_the_data_home_runs_once_with_each_spelling(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile("def test_it(runcoord_data_home): assert runcoord_data_home.path")
    result = run("-v")
    result.assert_outcomes(passed=len(SPELLINGS))
    result.stdout.fnmatch_lines([f"*test_it?{spelling}? PASSED*" for spelling in SPELLINGS])


def test_a_test_that_writes_through_a_link_fails_at_its_end(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        """
        def test_it(runcoord_run_folders):
            runcoord_run_folders("r1")
            folder = runcoord_run_folders.link("r1")
            (folder / "tombstone.json").write_text("{}")
        """
    )
    result = run()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        ["*FolderHarmed: * paths outside of the home are not as they were: *tombstone*"]
    )


def test_who_waits_at_a_fifo_is_let_go_and_the_test_fails_at_its_end(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(
        """
        import pytest
        from pytest_runcoord.homes import fifos

        @pytest.fixture(autouse=True)
        def soon(monkeypatch):
            monkeypatch.setattr(fifos, "WAITING_SECONDS", 0.05)

        def test_reads(runcoord_run_folders):
            runcoord_run_folders("r1")
            fifo = runcoord_run_folders.odd("r1")
            assert fifo.read_text() == ""
            assert runcoord_run_folders.changes() == {}
        """
    )
    result = run()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*FolderHarmed: somebody waited at a FIFO*: runs/r1/state.json*"])


def test_who_opens_a_fifo_without_waiting_is_left_alone(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    watch = FifoWatch(after=60.0)
    watch.add(fifo)
    os.close(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK))
    watch.end()
    watch.end()
    assert watch.waited == []
    assert [each.name for each in threading.enumerate() if each.name == "runcoord-fifos"] == []
