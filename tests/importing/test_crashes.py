"""Killed at any effect of an import, the next one goes on: one run and one event for each folder."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from runcoord import EventState, RunFolders, open_coordinator
from runcoord._core import limits
from runcoord._importer import saving
from runcoord.errors import Happened, StoreError
from runcoord.ports import SourceState

from .old_folders import STARTED, Home

PROGRAM = Path(__file__).with_name("killed_importer.py")
FOLDERS = 3


def killed(store: Path, home: Path, at: int, prune: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROGRAM), str(store), str(home), str(at), str(prune)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def arranged(place: Path) -> Home:
    home = Home(place / "home")
    home.folders(FOLDERS)
    home.folder("history", tombstone={"outcome": "completed", "died": STARTED})
    (home.root / "bad").mkdir()
    return home


def effects(place: Path, prune: float) -> int:
    done = killed(place / "whole.db", arranged(place).path, -1, prune)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def holds(place: Path, at: int, prune: float) -> None:
    home = arranged(place)
    before = home.bytes()
    died = killed(place / "s.db", home.path, at, prune)
    assert died.returncode == -signal.SIGKILL, died.stderr
    told: list[str] = []
    with open_coordinator(
        place / "s.db", destinations={"chat": lambda message: told.append(message.run_id)}
    ) as coordinator:
        folders = RunFolders(str(home.path), fallback="chat", prune_after=prune or None)
        for _ in range(3):
            coordinator.startup()  # the deliveries of the dead one are due at once
            assert coordinator.import_folders(folders).problem is None
        runs = {run.run_id: run.source for run in coordinator.runs().runs}
        assert len(runs) == FOLDERS + 1
        closed = SourceState.GONE if prune else SourceState.CLOSED
        assert {name: source.state for name, source in runs.items() if source} == dict.fromkeys(runs, closed)
        events = coordinator.events().events
        assert Counter(event.run_id for event in events) == dict.fromkeys(set(runs) - {"history"}, 1)
        assert {event.state for event in events} == {EventState.DELIVERED}
        with coordinator.store.view("look") as view:
            assert [each.name for each in view.refused_folders(limit=9)] == ["bad"]
    earlier = Path(f"{place / 's.db'}.told")
    heard = told + (earlier.read_text().split() if earlier.exists() else [])
    assert set(heard) == set(runs) - {"history"}
    if prune:
        assert [path.name for path in home.root.iterdir()] == ["bad"]
        return
    after = home.bytes()
    graves = {f"{name}/tombstone.json" for name in runs} - {"history/tombstone.json"}
    assert {name for name in after if name not in before} == graves
    assert {name: after[name] for name in before} == before


@pytest.mark.real
@pytest.mark.parametrize("prune", [0.0, 0.000_001], ids=["kept", "pruned"])
def test_an_import_that_was_killed_at_some_effects_goes_on(tmp_path: Path, prune: float) -> None:
    count = effects(tmp_path / "whole", prune)
    assert count >= 6 + 2 * FOLDERS
    for at in range(0, count, 3):
        holds(tmp_path / str(at), at, prune)
        shutil.rmtree(tmp_path / str(at))


@pytest.mark.real
@pytest.mark.soak
@pytest.mark.parametrize("prune", [0.0, 0.000_001], ids=["kept", "pruned"])
def test_an_import_that_was_killed_at_any_effect_goes_on(tmp_path: Path, prune: float) -> None:
    for at in range(effects(tmp_path / "whole", prune)):
        holds(tmp_path / str(at), at, prune)
        shutil.rmtree(tmp_path / str(at))


def test_a_store_that_fails_after_some_folders_were_imported_does_not_say_that_nothing_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FOLDER_PAGE", 2)
    monkeypatch.setattr(saving, "IMPORT_BATCH", 2)
    home, store, moved = Home(tmp_path / "home"), tmp_path / "s.db", tmp_path / "moved.db"
    home.folders(6)

    def take_away(looked_at: int, listed: int) -> None:
        del listed
        if looked_at == 4:
            store.rename(moved)

    with open_coordinator(store) as coordinator:
        with pytest.raises(StoreError, match=r"may have happened.*stays: import again") as failed:
            coordinator.import_folders(str(home.path), progress=take_away)
        assert failed.value.happened is Happened.MAYBE
        moved.rename(store)
        assert 0 < len(coordinator.runs().runs) < 6
        coordinator.import_folders(str(home.path))
        assert len(coordinator.runs().runs) == 6


def test_a_store_that_fails_before_any_folder_was_imported_says_that_nothing_happened(tmp_path: Path) -> None:
    home, store, moved = Home(tmp_path / "home"), tmp_path / "s.db", tmp_path / "moved.db"
    home.folders(1)
    with open_coordinator(store) as coordinator:
        store.rename(moved)
        with pytest.raises(StoreError) as failed:
            coordinator.import_folders(str(home.path))
        assert failed.value.happened is Happened.NO
        moved.rename(store)
        assert coordinator.runs().runs == []
