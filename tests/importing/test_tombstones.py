"""After delivery a folder gets its tombstone, the one file ever written there; old ones go when asked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from runcoord import Coordinator, Layout, Outcome, RunFolders, Settings
from runcoord.errors import ResultUnreachable, UnknownRun
from runcoord.ports import Message, RefusalKind, SourceState
from runcoord.testing import ManualClock
from stores.private_mounts import run_mounted

from .old_folders import STARTED, Home, events_of, opened
from .watched_homes import WatchedHomes


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def homes() -> WatchedHomes:
    return WatchedHomes()


def take(message: Message) -> None:
    """A destination that accepts everything."""


def state_of(coordinator: Coordinator, run_id: str) -> SourceState:
    source = coordinator.run(run_id).source
    assert source is not None
    return source.state


def test_a_folder_gets_its_tombstone_after_its_event_was_delivered_and_not_before(
    tmp_path: Path, clock: ManualClock, home: Home
) -> None:
    home.folders(2)
    before = home.bytes()
    folders = RunFolders(str(home.path))
    with opened(tmp_path / "s.db", clock, chat=take) as coordinator:
        for _ in range(2):
            assert coordinator.import_folders(folders).tombstoned == 0
        assert home.bytes() == before
        coordinator.route("old-00001/finished", "chat")
        coordinator.deliver()
        assert coordinator.import_folders(folders).tombstoned == 1
        assert state_of(coordinator, "old-00001") is SourceState.CLOSED
        after = home.bytes()
        written = json.loads(after.pop("old-00001/tombstone.json"))
        assert (written["outcome"], written["cause"]) == ("interrupted", "runcoord")
        assert after == before
        rows = coordinator.store.counters.rows_written
        assert coordinator.import_folders(folders).tombstoned == 0
        assert coordinator.store.counters.rows_written == rows


def test_a_store_that_was_lost_imports_what_was_told_as_history(
    tmp_path: Path, clock: ManualClock, home: Home
) -> None:
    home.folders(2)
    folders = RunFolders(str(home.path), fallback="chat")
    told: list[str] = []
    settings = Settings(imports=(folders,))
    with opened(
        tmp_path / "s.db", clock, settings=settings, chat=lambda message: told.append(message.run_id)
    ) as coordinator:
        coordinator.recover()
        coordinator.recover()
    (tmp_path / "s.db").unlink()
    with opened(
        tmp_path / "s.db", clock, settings=settings, chat=lambda message: told.append(message.run_id)
    ) as coordinator:
        [report] = coordinator.recover().imports
        assert (report.history, report.imported, report.routed) == (2, 0, 0)
        assert coordinator.run("old-00000").outcome is Outcome.INTERRUPTED
        assert coordinator.events().events == []
    assert sorted(told) == ["old-00000", "old-00001"]


def test_a_tombstone_that_somebody_else_wrote_meanwhile_is_left_as_it_is_and_counts(
    tmp_path: Path, clock: ManualClock, home: Home
) -> None:
    folder = home.folder("r1")
    with opened(tmp_path / "s.db", clock, chat=take) as coordinator:
        coordinator.import_folders(RunFolders(str(home.path), fallback="chat"))
        coordinator.deliver()
        (folder / "tombstone.json").write_text("theirs")
        report = coordinator.import_folders(str(home.path))
        assert (report.tombstoned, report.tombstones_failed) == (0, 0)
        assert state_of(coordinator, "r1") is SourceState.CLOSED
        assert (folder / "tombstone.json").read_text() == "theirs"


def test_a_folder_whose_state_changed_after_the_look_gets_no_tombstone_in_this_pass(
    tmp_path: Path, clock: ManualClock, home: Home, homes: WatchedHomes
) -> None:
    folder = home.folder("r1")
    with opened(tmp_path / "s.db", clock, homes=homes, chat=take) as coordinator:
        coordinator.import_folders(RunFolders(str(home.path), fallback="chat"))
        coordinator.deliver()

        def swap(kind: str, name: str) -> None:
            if kind == "folder":
                shutil.move(folder, tmp_path / "theirs")
                home.folder("r1", task="another")
                homes.before = lambda kind, name: None

        homes.before = swap
        report = coordinator.import_folders(str(home.path))
        assert [each.kind for each in report.tombstone_failures] == ["swapped"]
        assert not (folder / "tombstone.json").exists()
        assert state_of(coordinator, "r1") is SourceState.OPEN


@pytest.mark.parametrize("kind", [RefusalKind.READ_ONLY, RefusalKind.FULL])
def test_where_the_file_system_takes_no_tombstone_one_is_tried_in_each_pass_and_the_import_goes_on(
    tmp_path: Path, clock: ManualClock, home: Home, homes: WatchedHomes, kind: RefusalKind
) -> None:
    home.folders(5)
    folders = RunFolders(str(home.path), fallback="chat")
    with opened(tmp_path / "s.db", clock, homes=homes, chat=take) as coordinator:
        coordinator.import_folders(folders)
        coordinator.deliver()
        homes.failing["create"] = kind
        home.folder("z-new")
        report = coordinator.import_folders(folders)
        assert (report.tombstones_failed, report.tombstoned, report.imported) == (1, 0, 1)
        assert [(each.name, each.kind) for each in report.tombstone_failures] == [("old-00000", kind.value)]
        assert homes.calls["create"] == 1
        homes.failing.clear()
        assert coordinator.import_folders(folders).tombstoned == 5


def test_a_tombstone_that_is_denied_keeps_no_other_folder_from_its_own(
    tmp_path: Path, clock: ManualClock, home: Home, homes: WatchedHomes
) -> None:
    home.folders(3)
    folders = RunFolders(str(home.path), fallback="chat")
    with opened(tmp_path / "s.db", clock, homes=homes, chat=take) as coordinator:
        coordinator.import_folders(folders)
        coordinator.deliver()
        homes.failing["create", "old-00000"] = RefusalKind.DENIED
        report = coordinator.import_folders(folders)
        assert (report.tombstones_failed, report.tombstoned) == (1, 2)


REAL = """
import json, os, sys
from runcoord import RunFolders, open_coordinator
home, store = sys.argv[1:3]
folders = RunFolders(home, fallback="chat")
with open_coordinator(store, destinations={"chat": lambda message: None}) as coordinator:
    first = coordinator.import_folders(folders)
    coordinator.deliver()
    second = coordinator.import_folders(folders)
print(json.dumps([first.imported, second.known, second.tombstoned, second.tombstones_failed,
                  second.tombstone_failures[0].kind, sorted(os.listdir(home + "/runs/old-00000"))]))
"""


@pytest.mark.real
def test_a_home_on_a_file_system_that_cannot_be_written_is_imported_all_the_same(
    tmp_path: Path, home: Home
) -> None:
    home.folders(3)
    mount = 'mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"'
    seen = run_mounted(mount, REAL, home.path, tmp_path / "s.db")
    assert seen == [3, 3, 0, 1, "read-only", ["state.json"]]


@pytest.mark.real
def test_a_home_on_a_full_disk_is_imported_and_no_torn_tombstone_is_left(tmp_path: Path, home: Home) -> None:
    home.folders(3)
    copy = tmp_path / "copy"
    home.path.rename(copy)
    home.path.mkdir()
    mount = (
        'mount -t tmpfs -o size=128k none "$1"; cp -r "$3"/. "$1"/;'
        ' dd if=/dev/zero of="$1/fill" bs=4k 2>/dev/null || true'
    )
    seen = run_mounted(mount, REAL, home.path, tmp_path / "s.db", copy)
    assert seen == [3, 3, 0, 1, "full", ["state.json"]]


# --- pruning --------------------------------------------------------------------------------------


def test_old_folders_with_tombstones_are_removed_when_that_is_asked_for_and_no_others(
    tmp_path: Path, clock: ManualClock, home: Home
) -> None:
    home.folder("history", tombstone={"outcome": "completed", "died": STARTED})
    home.folder("recent", tombstone={"outcome": "completed", "died": clock.wall() - 5})
    home.folder("under-way")
    (home.root / "bad").mkdir()
    with opened(tmp_path / "s.db", clock, chat=take) as coordinator:
        coordinator.import_folders(str(home.path))
        before = home.bytes()
        assert coordinator.import_folders(str(home.path)).pruned == 0
        assert home.bytes() == before
        report = coordinator.import_folders(RunFolders(str(home.path), prune_after=60.0))
        assert (report.pruned, report.gone, report.prunings_failed) == (1, 0, 0)
        assert sorted(path.name for path in home.root.iterdir()) == ["bad", "recent", "under-way"]
        assert state_of(coordinator, "history") is SourceState.GONE
        assert coordinator.import_folders(str(home.path)).gone == 0


def test_a_folder_whose_event_is_not_delivered_is_not_removed_however_old_it_is(
    tmp_path: Path, clock: ManualClock, home: Home
) -> None:
    home.folder("r1", tombstone={"died": STARTED}, result="all of it")
    folders = RunFolders(str(home.path), prune_after=60.0)
    with opened(tmp_path / "s.db", clock, chat=take) as coordinator:
        assert coordinator.import_folders(folders).imported == 1
        clock.advance(1_000.0)
        assert coordinator.import_folders(folders).pruned == 0
        coordinator.route("r1/finished", "chat")
        coordinator.deliver()
        assert coordinator.import_folders(folders).pruned == 1
        assert events_of(coordinator) == {"r1/finished": "delivered"}


def test_a_folder_that_cannot_be_removed_is_named_and_tried_again(
    tmp_path: Path, clock: ManualClock, home: Home, homes: WatchedHomes
) -> None:
    for name in ("r1", "r2"):
        home.folder(name, tombstone={"outcome": "completed", "died": STARTED})
    folders = RunFolders(str(home.path), prune_after=60.0)
    with opened(tmp_path / "s.db", clock, homes=homes) as coordinator:
        coordinator.import_folders(folders)
        homes.failing["remove", "r1"] = RefusalKind.DENIED
        report = coordinator.import_folders(folders)
        assert (report.pruned, [each.name for each in report.pruning_failures]) == (1, ["r1"])
        homes.failing.clear()
        assert coordinator.import_folders(folders).pruned == 1


# --- results --------------------------------------------------------------------------------------


def test_a_result_is_read_from_where_it_is_and_marked_when_there_is_more(
    tmp_path: Path, clock: ManualClock, home: Home
) -> None:
    home.folder("r1", result="caf\u00e9 and more")
    home.folder("r2")
    with opened(tmp_path / "s.db", clock) as coordinator:
        coordinator.import_folders(str(home.path))
        whole = coordinator.read_result("r1")
        assert (whole.text, whole.size, whole.truncated) == ("caf\u00e9 and more", 14, False)
        assert whole.where == str(home.root / "r1" / "result.txt")
        cut = coordinator.read_result("r1", limit=4)
        assert (cut.text, cut.size, cut.truncated) == ("caf", 14, True)
        assert coordinator.read_result("r2").text == ""
        with pytest.raises(UnknownRun):
            coordinator.read_result("nobody")


@pytest.mark.parametrize("below", [".", "runs", "a/b/c"])
def test_a_result_is_found_from_the_home_wherever_the_folders_are_below_it(
    tmp_path: Path, clock: ManualClock, below: str
) -> None:
    home = Home(tmp_path / "home")
    home.folder("r1", result="mine")
    root = home.path / below
    if not root.exists():
        root.parent.mkdir(parents=True)
        home.root.rename(root)
    folders = RunFolders(str(home.path if below != "." else home.root), layout=Layout(root=below))
    with opened(tmp_path / "s.db", clock) as coordinator:
        assert coordinator.import_folders(folders).imported == 1
        assert coordinator.read_result("r1").text == "mine"


def test_the_result_of_an_ordinary_run_comes_from_the_store(tmp_path: Path, clock: ManualClock) -> None:
    with opened(tmp_path / "s.db", clock) as coordinator:
        coordinator.submit(run_id="r1", destination="chat")
        lease = coordinator.claim("r1")
        coordinator.start(lease)
        coordinator.complete(lease, "completed", result="all is well")
        result = coordinator.read_result("r1")
        assert (result.text, result.size, result.truncated, result.where) == ("all is well", 11, False, "")


def linked_result(home: Home, outside: Path) -> None:
    (home.root / "r1" / "result.txt").unlink()
    (home.root / "r1" / "result.txt").symlink_to(outside / "result.txt")


def linked_folder(home: Home, outside: Path) -> None:
    shutil.move(home.root / "r1", home.path / "aside")
    (home.root / "r1").symlink_to(outside)


def linked_root(home: Home, outside: Path) -> None:
    (outside / "r1").symlink_to(outside)
    home.root.rename(home.path / "aside")
    home.root.symlink_to(outside)


def removed(home: Home, outside: Path) -> None:
    (home.root / "r1" / "result.txt").unlink()


@pytest.mark.parametrize("swap", [linked_result, linked_folder, linked_root, removed])
def test_a_result_is_not_read_through_a_link_out_of_the_home(
    tmp_path: Path, clock: ManualClock, home: Home, swap: object
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "result.txt").write_text("secret")
    home.folder("r1", result="mine")
    with opened(tmp_path / "s.db", clock) as coordinator:
        coordinator.import_folders(str(home.path))
        swap(home, outside)  # type: ignore[operator]
        with pytest.raises(ResultUnreachable) as caught:
            coordinator.read_result("r1")
        assert "secret" not in str(caught.value)
        assert str(home.root) in str(caught.value)
