"""Homes that are slow, and the others that are imported with them."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from runcoord import RunFolders, Settings
from runcoord._core import limits
from runcoord.testing import ManualClock

from .old_folders import Home, opened
from .watched_homes import WatchedHomes


def test_a_slow_home_ends_the_imports_of_a_sweep_and_the_next_one_begins_behind_it(tmp_path: Path) -> None:
    clock, homes = ManualClock(), WatchedHomes()
    all_of_them = [Home(tmp_path / f"home-{number}") for number in range(3)]
    for number, home in enumerate(all_of_them):
        home.folder(f"r{number}")

    def slow(kind: str, folder: str) -> None:
        if kind == "open":
            clock.advance(limits.IMPORTS_SECONDS)

    homes.before = slow
    settings = Settings(imports=tuple(RunFolders(str(home.path)) for home in all_of_them))
    with opened(tmp_path / "s.db", clock, homes=homes, settings=settings) as coordinator:
        for turn in range(4):
            reports = coordinator.recover().imports
            assert [report.root for report in reports] == [str(home.root) for home in all_of_them]
            reached = [not report.unfinished for report in reports]
            assert reached == [number == turn % 3 for number in range(3)]
            assert (
                sorted(run.run_id for run in coordinator.runs().runs)
                == [f"r{n}" for n in range(3)][: turn + 1]
            )
        homes.before = lambda kind, folder: None
        assert [report.known for report in coordinator.recover().imports] == [1, 1, 1]


def test_a_home_that_hangs_keeps_nothing_else_waiting_and_is_tried_again_when_it_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "HOME_SECONDS", 0.2)
    answers = threading.Event()
    homes, stuck, fine = WatchedHomes(), Home(tmp_path / "stuck"), Home(tmp_path / "fine")
    stuck.folder("late")
    fine.folder("good")

    def hang(kind: str, folder: str) -> None:
        if kind == "read" and folder == "late":
            assert answers.wait(60)

    homes.before = hang
    settings = Settings(imports=(RunFolders(str(stuck.path)), RunFolders(str(fine.path))))
    with opened(tmp_path / "s.db", ManualClock(), homes=homes, settings=settings) as coordinator:
        first = coordinator.recover().imports
        assert first[0].problem == "it did not answer within 0.2 s"
        assert (first[0].looked_at, first[1].imported) == (0, 1)
        again = coordinator.recover().imports
        assert again[0].problem == "an earlier look at it has not returned, so none was made"
        assert again[1].known == 1
        answers.set()
        deadline = time.monotonic() + 60
        while coordinator.recover().imports[0].problem is not None:
            assert time.monotonic() < deadline
        assert {run.run_id for run in coordinator.runs().runs} == {"late", "good"}
        assert len(coordinator.events().events) == 2
