"""What an import costs grows with what is new: rows, statements and opened folders, counted."""

from __future__ import annotations

from pathlib import Path

from library.default_store import many_done
from runcoord import Coordinator, ImportReport, RunFolders, Settings
from runcoord._core import limits
from runcoord.testing import ManualClock

from .old_folders import STARTED, Home, opened
from .watched_homes import WatchedHomes

FEW, MANY = 10, 10_000
OPENING = ("folder", "read", "create", "remove")


class Work:
    """What one import did."""

    def __init__(self, coordinator: Coordinator, homes: WatchedHomes, home: Home) -> None:
        counters = coordinator.store.counters
        before = counters.statements, counters.rows_written, counters.commits, homes.calls.copy()
        self.report: ImportReport = coordinator.import_folders(str(home.path))
        self.statements = counters.statements - before[0]
        self.rows = counters.rows_written - before[1]
        self.commits = counters.commits - before[2]
        self.calls = homes.calls - before[3]
        self.opened = sum(self.calls[each] for each in OPENING)


def test_rows_written_are_the_new_folders_and_their_events(tmp_path: Path) -> None:
    home, homes = Home(tmp_path / "home"), WatchedHomes()
    home.folders(20)
    for number in range(7):
        home.folder(f"history-{number}", tombstone={"outcome": "completed", "died": STARTED})
    for number in range(5):
        (home.root / f"bad-{number}").mkdir()
    with opened(tmp_path / "s.db", ManualClock(), homes=homes) as coordinator:
        first = Work(coordinator, homes, home)
        # A run and its event each; a run each; one for each refused folder.
        assert first.rows == 20 * 2 + 7 + 5
        assert first.commits == 1
        home.folders(3, "more")
        second = Work(coordinator, homes, home)
        assert second.rows == 3 * 2
        # Two files of each new folder; the refused ones are looked at.
        assert (second.calls["folder"], second.calls["read"], second.calls["mark"]) == (3, 6, 5)


def test_a_pass_over_known_folders_writes_no_row_and_opens_nothing(tmp_path: Path) -> None:
    seen = {}
    for count in (100, 1_000):
        home, homes = Home(tmp_path / f"home-{count}"), WatchedHomes()
        home.folders(count)
        with opened(tmp_path / f"{count}.db", ManualClock(), homes=homes) as coordinator:
            coordinator.import_folders(str(home.path))
            again = Work(coordinator, homes, home)
            assert (again.rows, again.commits, again.opened) == (0, 0, 0)
            assert again.report.known == count
            seen[count] = again.statements
    pages = -(-1_000 // limits.FOLDER_PAGE)
    assert seen == {100: 4, 1_000: 4 * pages}


def test_one_changed_folder_of_many_writes_one_row_and_is_not_read(tmp_path: Path) -> None:
    home, homes = Home(tmp_path / "home"), WatchedHomes()
    names = home.folders(200)
    with opened(tmp_path / "s.db", ManualClock(), homes=homes) as coordinator:
        coordinator.import_folders(str(home.path))
        (home.root / names[77] / "state.json").write_text("{}")
        again = Work(coordinator, homes, home)
        assert (again.rows, again.commits, again.opened) == (1, 1, 0)
        assert again.report.changed == [names[77]]


def test_known_folders_are_found_by_one_look_each_whatever_else_is_in_the_store(tmp_path: Path) -> None:
    seen = []
    for others in (FEW, MANY):
        home, homes = Home(tmp_path / f"home-{others}"), WatchedHomes()
        home.folders(10)
        with opened(tmp_path / f"{others}.db", ManualClock(), homes=homes) as coordinator:
            many_done(coordinator, others)
            first, second = Work(coordinator, homes, home), Work(coordinator, homes, home)
            assert (first.report.imported, second.report.known) == (10, 10)
            seen.append([(each.statements, each.rows, each.commits, each.calls) for each in (first, second)])
    assert seen[0] == seen[1]


def test_a_sweep_without_homes_costs_nothing_for_them(tmp_path: Path) -> None:
    homes, clock = WatchedHomes(), ManualClock()
    with opened(tmp_path / "s.db", clock, homes=homes) as coordinator:
        report = coordinator.recover()
        assert (report.imports, dict(homes.calls)) == ([], {})


def test_a_sweep_over_known_folders_writes_nothing(tmp_path: Path) -> None:
    home, homes, clock = Home(tmp_path / "home"), WatchedHomes(), ManualClock()
    home.folders(50)
    settings = Settings(imports=(RunFolders(str(home.path)),), operator="ops")
    with opened(
        tmp_path / "s.db", clock, homes=homes, settings=settings, ops=lambda message: None
    ) as coordinator:
        coordinator.recover()
        rows, opened_before = coordinator.store.counters.rows_written, homes.calls["folder"]
        for _ in range(3):
            clock.advance(60.0)
            assert coordinator.recover().imports[0].known == 50
        assert coordinator.store.counters.rows_written == rows
        assert homes.calls["folder"] == opened_before


def test_no_transaction_of_an_import_writes_more_than_a_batch(tmp_path: Path) -> None:
    home, homes = Home(tmp_path / "home"), WatchedHomes()
    folders = limits.IMPORT_BATCH + 10
    home.folders(folders)
    with opened(tmp_path / "s.db", ManualClock(), homes=homes) as coordinator:
        work = Work(coordinator, homes, home)
        assert work.rows == 2 * folders
        assert work.commits == 3
