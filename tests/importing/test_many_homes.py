"""Homes that are slow, and the others that are imported with them."""

from __future__ import annotations

from pathlib import Path

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
