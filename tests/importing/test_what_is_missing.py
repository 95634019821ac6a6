"""A folder counts as gone when it is known to be gone, and not because nobody could see it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runcoord import Coordinator, Settings
from runcoord._core import limits
from runcoord._core.run_folders import RunFolders
from runcoord._homes import listing
from runcoord.ports import SourceState
from runcoord.testing import ManualClock

from .old_folders import Home, events_of, opened

NO_TEXT = os.fsdecode(b"run\xff")
"""A name whose last byte is no text; it is listed behind everything that begins with ``run``."""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def states(coordinator: Coordinator) -> dict[str, SourceState]:
    with coordinator.store.view("look") as view:
        return {run.run_id: run.source.state for run in view.runs(limit=999) if run.source is not None}


@pytest.mark.parametrize("page", [1, 2, 3, 4])
def test_a_name_that_is_no_text_at_the_end_of_a_page_takes_no_folder_away(
    tmp_path: Path, clock: ManualClock, home: Home, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FOLDER_PAGE", page)
    names = ["runaway", "runner", "runs", "sun"]
    for name in names:
        home.folder(name)
    home.root.joinpath(NO_TEXT).mkdir()
    with opened(tmp_path / "s.db", clock) as coordinator:
        assert coordinator.import_folders(str(home.path)).imported == 4
        again = coordinator.import_folders(str(home.path))
        assert (again.imported, again.known, again.gone, again.refused_count) == (0, 4, 0, 1)
        assert states(coordinator) == dict.fromkeys(names, SourceState.OPEN)


@pytest.mark.parametrize("page", [1, 2, 3])
def test_a_folder_that_went_beside_a_name_that_is_no_text_is_noticed(
    tmp_path: Path, clock: ManualClock, home: Home, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FOLDER_PAGE", page)
    for name in ("run-1", "run-5", "sun"):
        home.folder(name)
    home.root.joinpath(NO_TEXT).mkdir()
    with opened(tmp_path / "s.db", clock) as coordinator:
        coordinator.import_folders(str(home.path))
        home.root.joinpath("run-5").rename(tmp_path / "elsewhere")
        assert coordinator.import_folders(str(home.path)).gone == 1
        assert states(coordinator)["run-5"] is SourceState.GONE


def test_a_root_that_is_emptied_between_two_sweeps_takes_no_folder_away(
    tmp_path: Path, clock: ManualClock, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FOLDER_PAGE", 2)
    names = home.folders(6)
    settings = Settings(imports=(RunFolders(str(home.path)),))
    with opened(tmp_path / "s.db", clock, settings=settings) as coordinator:
        coordinator.import_folders(str(home.path))
        monkeypatch.setattr(limits, "FOLDERS_PER_SWEEP", 1)
        home.folder("old-00000-new")
        [first] = coordinator.recover().imports
        assert first.unfinished, "the next one begins in the middle"
        before = events_of(coordinator)
        home.root.rename(tmp_path / "unmounted")
        home.root.mkdir()
        [second] = coordinator.recover().imports
        assert second.problem is not None
        assert "is its file system mounted?" in second.problem
        assert (second.gone, second.looked_at) == (0, 0)
        assert states(coordinator) == dict.fromkeys([*names, "old-00000-new"], SourceState.OPEN)
        assert events_of(coordinator) == before


def test_an_empty_root_is_not_believed_when_only_its_first_folders_were_gone_before(
    tmp_path: Path, clock: ManualClock, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "KNOWN_FOLDERS_READ", 2)
    names = home.folders(5)
    with opened(tmp_path / "s.db", clock) as coordinator:
        coordinator.import_folders(str(home.path))
        for name in names[:3]:
            (home.root / name).rename(tmp_path / name)
        assert coordinator.import_folders(str(home.path)).gone == 3
        for name in names[3:]:
            (home.root / name).rename(tmp_path / name)
        report = coordinator.import_folders(str(home.path))
        assert report.problem is not None
        assert report.gone == 0
        assert [states(coordinator)[name] for name in names[3:]] == [SourceState.OPEN] * 2


def test_a_folder_that_a_flood_of_entries_hides_is_not_gone(
    tmp_path: Path, clock: ManualClock, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = home.folders(6)
    with opened(tmp_path / "s.db", clock) as coordinator:
        coordinator.import_folders(str(home.path))
        monkeypatch.setattr(listing, "FOLDER_ENTRIES_LOOKED_AT", 3)
        report = coordinator.import_folders(str(home.path))
        assert report.problem is not None
        assert "some were not looked at" in report.problem
        assert (report.gone, report.known) == (0, 3)
        assert states(coordinator) == dict.fromkeys(names, SourceState.OPEN)


def test_a_redactor_that_fails_loses_no_name(tmp_path: Path, clock: ManualClock, home: Home) -> None:
    def failing(text: str) -> str:
        raise LookupError(text)

    home.folder("good")
    home.root.joinpath(NO_TEXT).mkdir()
    with opened(tmp_path / "s.db", clock) as coordinator:
        report = coordinator.import_folders(RunFolders(str(home.path), redact=failing))
        assert (report.imported, [each.name for each in report.refused]) == (1, ["run\\udcff"])
        [run] = coordinator.runs().runs
        assert (run.run_id, run.spec.task) == ("good", "")
