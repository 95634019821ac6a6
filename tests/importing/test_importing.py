"""Run folders become runs, once; what cannot be read is named, and stops nobody."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from library.default_store import damage
from runcoord import Coordinator, EventState, Outcome, RunFolders, Settings, State
from runcoord._core import limits
from runcoord.errors import InvalidConfiguration, InvalidRequest, KeyConflict
from runcoord.ports import RefusalKind, SourceState
from runcoord.testing import ManualClock

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


def everything(coordinator: Coordinator) -> object:
    with coordinator.store.view("look") as view:
        return view.runs(limit=999), view.events(limit=999), view.refused_folders(limit=999)


def test_a_folder_without_a_tombstone_ends_as_interrupted_with_one_held_event(
    tmp_path: Path, clock: ManualClock, home: Home
) -> None:
    home.folder("r1", result="half of it")
    before = home.bytes()
    with opened(tmp_path / "s.db", clock) as coordinator:
        report = coordinator.import_folders(str(home.path))
        assert (report.imported, report.history, report.held, report.looked_at) == (1, 0, 1, 1)
        assert (report.root, report.problem, report.unfinished) == (str(home.root), None, False)
        run = coordinator.run("r1")
        assert (run.state, run.outcome, run.started_at) == (State.FINISHED, Outcome.INTERRUPTED, STARTED)
        assert (run.spec.destination, run.spec.conversation_key, run.cleanup) == ("", "", None)
        assert run.source is not None
        assert (run.source.state, run.source.claims.pid) == (SourceState.OPEN, 4_242)
        [event] = coordinator.events().events
        assert (event.event_id, event.state, event.destination) == ("r1/finished", EventState.HELD, "")
        assert "'dashboard:main' is not trusted" in event.reason
        source = json.loads(event.body)["source"]
        assert source["folder"] == str(home.root / "r1")
        assert source["result"] == {"file": "result.txt", "size": 10}
        assert source["claims"]["destination"] == "dashboard:main"
    assert home.bytes() == before


def test_a_folder_with_a_tombstone_is_history_of_which_nobody_is_told(
    tmp_path: Path, clock: ManualClock, home: Home
) -> None:
    home.folder("r1", tombstone={"outcome": "completed", "died": STARTED + 9, "cause": "done"})
    with opened(tmp_path / "s.db", clock) as coordinator:
        report = coordinator.import_folders(RunFolders(home.path, fallback="chat"))  # type: ignore[arg-type]
        assert (report.history, report.imported, report.routed) == (1, 0, 0)
        run = coordinator.run("r1")
        assert (run.outcome, run.finished_at) == (Outcome.COMPLETED, STARTED + 9)
        assert coordinator.events().events == []


def test_importing_again_changes_nothing_and_tells_nobody_again(
    tmp_path: Path, clock: ManualClock, home: Home
) -> None:
    home.folders(3)
    (home.root / "bad").mkdir()
    with opened(tmp_path / "s.db", clock) as coordinator:
        coordinator.import_folders(str(home.path))
        before, rows = everything(coordinator), coordinator.store.counters.rows_written
        report = coordinator.import_folders(str(home.path))
        assert (report.known, report.imported, report.refused_count) == (3, 0, 1)
        assert everything(coordinator) == before
        assert coordinator.store.counters.rows_written == rows


def test_every_bad_folder_is_named_with_its_reason_and_the_good_ones_are_imported(
    tmp_path: Path, clock: ManualClock, home: Home
) -> None:
    home.folder("good")
    home.folder("other-id", id="somebody-else")
    (home.root / "empty").mkdir()
    (home.root / "file").write_text("x")
    (home.root / "linked").symlink_to(home.root / "good")
    torn = home.folder("torn")
    (torn / "state.json").write_text('{"id": "to')
    with opened(tmp_path / "s.db", clock) as coordinator:
        report = coordinator.import_folders(str(home.path))
        refused = {each.name: each.kind for each in report.refused}
        assert refused == {"empty": "missing", "file": "not-a-directory", "linked": "link"}
        assert {each.name for each in report.corrupt} == {"other-id", "torn"}
        assert all(each.reason for each in (*report.refused, *report.corrupt))
        assert (report.imported, report.refused_count, report.corrupt_count) == (1, 3, 2)
        assert [run.run_id for run in coordinator.runs().runs] == ["good"]


def test_who_asks_for_an_import_is_named_more_folders_than_a_sweep_names(
    tmp_path: Path, clock: ManualClock, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FOLDERS_NAMED_WHEN_ASKED", limits.FOLDERS_NAMED + 2)
    for number in range(limits.FOLDERS_NAMED + 5):
        (home.root / f"bad{number:02}").mkdir()
    settings = Settings(imports=(RunFolders(str(home.path)),))
    with opened(tmp_path / "s.db", clock, settings=settings) as coordinator:
        [swept] = coordinator.recover().imports
        asked = coordinator.import_folders(str(home.path))
        assert (len(swept.refused), swept.refused_count) == (20, 25)
        assert (len(asked.refused), asked.refused_count) == (22, 25)


def test_a_refused_folder_is_read_again_when_it_changed_and_only_then(
    tmp_path: Path, clock: ManualClock, home: Home, homes: WatchedHomes
) -> None:
    torn = home.folder("r1")
    good = (torn / "state.json").read_text()
    (torn / "state.json").write_text("{")
    with opened(tmp_path / "s.db", clock, homes=homes) as coordinator:
        coordinator.import_folders(str(home.path))
        reads = homes.calls["read"]
        again = coordinator.import_folders(str(home.path))
        assert (homes.calls["read"], again.corrupt_count) == (reads, 1)
        assert [each.reason for each in again.corrupt] != [""]
        (torn / "state.json").write_text(good)
        mended = coordinator.import_folders(str(home.path))
        assert (mended.imported, mended.corrupt_count) == (1, 0)
        with coordinator.store.view("look") as view:
            assert view.refused_folders(limit=9) == []


def test_what_may_pass_by_itself_is_tried_by_every_pass_and_written_once(
    tmp_path: Path, clock: ManualClock, home: Home, homes: WatchedHomes
) -> None:
    home.folders(2)
    homes.failing["read", "old-00000"] = RefusalKind.UNREADABLE
    with opened(tmp_path / "s.db", clock, homes=homes) as coordinator:
        first = coordinator.import_folders(str(home.path))
        assert (first.imported, first.refused_count) == (1, 1)
        rows, reads = coordinator.store.counters.rows_written, homes.calls["read"]
        second = coordinator.import_folders(str(home.path))
        assert (second.known, second.refused_count) == (1, 1)
        assert coordinator.store.counters.rows_written == rows
        assert homes.calls["read"] > reads
        homes.failing.clear()
        assert coordinator.import_folders(str(home.path)).imported == 1


def test_a_known_folder_whose_state_changed_is_named_once_and_its_run_stays(
    tmp_path: Path, clock: ManualClock, home: Home, homes: WatchedHomes
) -> None:
    home.folder("r1")
    home.folder("r2")
    with opened(tmp_path / "s.db", clock, homes=homes) as coordinator:
        coordinator.import_folders(str(home.path))
        run, rows, reads = coordinator.run("r1"), coordinator.store.counters.rows_written, homes.calls["read"]
        (home.root / "r1" / "state.json").write_text('{"id": "r1", "task": "something else"}')
        report = coordinator.import_folders(str(home.path))
        assert (report.changed, report.known, report.imported) == (["r1"], 2, 0)
        assert coordinator.store.counters.rows_written == rows + 1
        assert homes.calls["read"] == reads
        after = coordinator.run("r1")
        assert (after.spec, after.outcome, after.created_at) == (run.spec, run.outcome, run.created_at)
        assert coordinator.import_folders(str(home.path)).changed == []


def test_a_known_folder_that_became_a_link_is_refused_and_counted_once(
    tmp_path: Path, clock: ManualClock, home: Home
) -> None:
    home.folders(3)
    with opened(tmp_path / "s.db", clock) as coordinator:
        coordinator.import_folders(str(home.path))
        shutil.move(home.root / "old-00001", tmp_path / "moved")
        (home.root / "old-00001").symlink_to(tmp_path / "moved")
        for changed in (["old-00001"], []):
            report = coordinator.import_folders(str(home.path))
            assert (report.known, report.refused_count, report.looked_at) == (2, 1, 3)
            assert report.changed == changed


def test_a_folder_with_the_id_of_a_live_run_is_known_and_changes_nothing_of_it(
    tmp_path: Path, clock: ManualClock, home: Home, homes: WatchedHomes
) -> None:
    home.folder("r1", result="not yours")
    with opened(tmp_path / "s.db", clock, homes=homes) as coordinator:
        coordinator.submit(run_id="r1", destination="chat")
        lease = coordinator.claim("r1")
        coordinator.start(lease)
        before = everything(coordinator)
        report = coordinator.import_folders(str(home.path))
        assert (report.known, report.imported) == (1, 0)
        assert everything(coordinator) == before
        assert homes.calls["folder"] == homes.calls["read"] == 0
        coordinator.complete(lease, "completed")


def test_the_id_of_an_imported_run_is_taken(tmp_path: Path, clock: ManualClock, home: Home) -> None:
    home.folder("r1")
    with opened(tmp_path / "s.db", clock) as coordinator:
        coordinator.import_folders(str(home.path))
        before = everything(coordinator)
        with pytest.raises(KeyConflict):
            coordinator.submit(run_id="r1", destination="chat")
        assert everything(coordinator) == before


def test_a_row_that_cannot_be_written_is_left_out_and_named_and_the_others_are_imported(
    tmp_path: Path, clock: ManualClock, home: Home
) -> None:
    home.folders(5)
    with opened(tmp_path / "s.db", clock) as coordinator:
        coordinator.submit(run_id="other", destination="chat")
        coordinator.stop("other")
        damage(tmp_path / "s.db", "UPDATE events SET event_id = 'old-00002/finished'")
        report = coordinator.import_folders(str(home.path))
        assert report.imported == 4
        assert [each.name for each in report.refused] == ["old-00002"]
        assert "cannot be written" in report.refused[0].reason
        assert coordinator.run("old-00003").outcome is Outcome.INTERRUPTED


@pytest.mark.parametrize(
    "settings",
    [{"home": ""}, {"home": "a\0b"}, {"home": "h", "prune_after": -1.0}, {"home": "h", "fallback": 3}],
)
def test_run_folders_that_make_no_sense_are_refused_before_anything_is_looked_at(
    settings: dict[str, object],
) -> None:
    with pytest.raises(InvalidConfiguration, match="of run folders"):
        RunFolders(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("imports", ["/home", ("/home",), [RunFolders("/home")], RunFolders("/home")])
def test_settings_take_a_tuple_of_run_folders_only(imports: object) -> None:
    with pytest.raises(InvalidConfiguration, match="tuple of RunFolders"):
        Settings(imports=imports)  # type: ignore[arg-type]


# --- routing --------------------------------------------------------------------------------------


def test_the_configured_destination_gets_the_events_and_not_the_one_that_the_folder_names(
    tmp_path: Path, clock: ManualClock, home: Home
) -> None:
    home.folder("r1", parent_session="attacker")
    told: dict[str, list[str]] = {"chat": [], "attacker": []}
    places = {name: lambda message, name=name: told[name].append(message.run_id) for name in told}
    with opened(tmp_path / "s.db", clock, **places) as coordinator:
        report = coordinator.import_folders(RunFolders(str(home.path), fallback="chat"))
        assert (report.routed, report.held) == (1, 0)
        coordinator.deliver()
    assert told == {"chat": ["r1"], "attacker": []}


def test_a_flood_of_folders_is_held_beyond_a_number_and_told_in_one_digest(
    tmp_path: Path, clock: ManualClock, home: Home
) -> None:
    most = limits.ROUTED_IMPORTS_PER_SWEEP
    home.folders(most + 7)
    told: list[str] = []
    folders = RunFolders(str(home.path), fallback="chat")
    with opened(
        tmp_path / "s.db",
        clock,
        settings=Settings(operator="ops", imports=(folders,)),
        chat=lambda message: told.append(message.event_id),
        ops=lambda message: told.append(message.event_id),
    ) as coordinator:
        report = coordinator.recover()
        [imported] = report.imports
        assert (imported.imported, imported.routed, imported.held) == (most + 7, most, 7)
        assert len([each for each in told if each.startswith("digest/")]) == 1
        assert len(told) == most + 1
        held = coordinator.events(states=[EventState.HELD]).events
        assert {event.destination for event in held} == {"chat"}
        assert "more folders in one pass" in held[0].reason
        assert coordinator.recover().digest is False


def test_a_held_event_is_routed_by_the_operator_with_the_same_id_and_body(
    tmp_path: Path, clock: ManualClock, home: Home
) -> None:
    home.folder("r1")
    told: list[tuple[str, bytes]] = []
    with opened(
        tmp_path / "s.db", clock, chat=lambda message: told.append((message.event_id, message.body))
    ) as coordinator:
        coordinator.import_folders(str(home.path))
        body = coordinator.events().events[0].body
        with pytest.raises(InvalidRequest, match="no destination"):
            coordinator.route("r1/finished", "")
        assert events_of(coordinator) == {"r1/finished": "held"}
        assert coordinator.route("r1/finished", "chat").state is EventState.PENDING
        coordinator.deliver()
    assert told == [("r1/finished", body.encode())]


# --- sweeps ---------------------------------------------------------------------------------------


def test_each_sweep_imports_a_bounded_number_and_goes_on_where_the_last_one_ended(
    tmp_path: Path, clock: ManualClock, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FOLDERS_PER_SWEEP", 100)
    monkeypatch.setattr(limits, "FOLDER_PAGE", 60)
    names = home.folders(250)
    with opened(
        tmp_path / "s.db", clock, settings=Settings(imports=(RunFolders(str(home.path)),))
    ) as coordinator:
        seen = []
        while (report := coordinator.recover().imports[0]).unfinished:
            seen.append(report.imported)
            assert 0 < report.imported <= 100 + limits.FOLDERS_READ_AT_ONCE
        assert sum(seen) + report.imported == 250
        assert len(seen) >= 1
        with coordinator.store.view("look") as view:
            assert view.known_runs(names) == set(names)
        whole = coordinator.recover().imports[0]
        assert (whole.known, whole.imported, whole.unfinished) == (250, 0, False)


def test_an_import_that_failed_is_tried_again_by_the_next_sweep_and_other_homes_go_on(
    tmp_path: Path, clock: ManualClock, home: Home
) -> None:
    home.folder("r1")
    gone = tmp_path / "not-there"
    settings = Settings(imports=(RunFolders(str(gone)), RunFolders(str(home.path))))
    with opened(tmp_path / "s.db", clock, settings=settings) as coordinator:
        first, second = coordinator.recover().imports
        assert first.problem is not None
        assert (first.looked_at, second.imported, second.problem) == (0, 1, None)
        Home(gone).folder("r2")
        first, second = coordinator.recover().imports
        assert (first.imported, first.problem, second.known) == (1, None, 1)


def test_an_empty_report_means_that_it_looked(tmp_path: Path, clock: ManualClock, home: Home) -> None:
    with opened(tmp_path / "s.db", clock) as coordinator:
        report = coordinator.import_folders(str(home.path))
        assert (report.problem, report.looked_at, report.root) == (None, 0, str(home.root))
        assert coordinator.import_folders(str(home.path / "nowhere")).problem is not None


@pytest.mark.parametrize("call", ["open", "list"])
def test_a_root_that_cannot_be_looked_at_is_a_problem_and_changes_nothing(
    tmp_path: Path, clock: ManualClock, home: Home, homes: WatchedHomes, call: str
) -> None:
    home.folders(2)
    with opened(tmp_path / "s.db", clock, homes=homes) as coordinator:
        coordinator.import_folders(str(home.path))
        before = everything(coordinator)
        homes.failing[call] = RefusalKind.UNREADABLE
        report = coordinator.import_folders(str(home.path))
        assert report.problem == f"unreadable: {call} fails"
        assert (report.gone, everything(coordinator)) == (0, before)


# --- folders that go ------------------------------------------------------------------------------


def test_the_row_of_a_folder_that_is_gone_says_so_and_may_be_pruned_then(
    tmp_path: Path, clock: ManualClock, home: Home
) -> None:
    home.folder("r1", tombstone={"outcome": "completed"})
    home.folder("r2", tombstone={"outcome": "completed"})
    with opened(tmp_path / "s.db", clock, settings=Settings(prune_after=10.0)) as coordinator:
        coordinator.import_folders(str(home.path))
        clock.advance(100.0)
        assert coordinator.recover().pruned == 0
        shutil.rmtree(home.root / "r1")
        assert coordinator.import_folders(str(home.path)).gone == 1
        assert coordinator.recover().pruned == 1
        assert [run.run_id for run in coordinator.runs().runs] == ["r2"]


def test_an_empty_root_of_which_folders_are_known_is_taken_for_a_disk_that_is_not_mounted(
    tmp_path: Path, clock: ManualClock, home: Home
) -> None:
    home.folders(2)
    with opened(tmp_path / "s.db", clock) as coordinator:
        coordinator.import_folders(str(home.path))
        before = everything(coordinator)
        shutil.move(home.root, tmp_path / "unmounted")
        home.root.mkdir()
        report = coordinator.import_folders(str(home.path))
        assert report.problem is not None
        assert "mounted" in report.problem
        assert (report.gone, everything(coordinator)) == (0, before)


def test_a_folder_that_comes_back_is_known_and_not_imported_again(
    tmp_path: Path, clock: ManualClock, home: Home
) -> None:
    home.folders(2)
    with opened(tmp_path / "s.db", clock) as coordinator:
        coordinator.import_folders(str(home.path))
        shutil.move(home.root / "old-00000", tmp_path / "away")
        assert coordinator.import_folders(str(home.path)).gone == 1
        shutil.move(tmp_path / "away", home.root / "old-00000")
        report = coordinator.import_folders(str(home.path))
        assert (report.known, report.imported, report.gone) == (2, 0, 0)
        source = coordinator.run("old-00000").source
        assert source is not None
        assert source.state is SourceState.OPEN
        assert len(coordinator.events().events) == 2


def test_a_refused_folder_that_is_gone_is_forgotten(tmp_path: Path, clock: ManualClock, home: Home) -> None:
    home.folder("r1")
    (home.root / "bad").mkdir()
    with opened(tmp_path / "s.db", clock) as coordinator:
        coordinator.import_folders(str(home.path))
        (home.root / "bad").rmdir()
        report = coordinator.import_folders(str(home.path))
        assert (report.refused_count, report.gone) == (0, 0)
        with coordinator.store.view("look") as view:
            assert view.refused_folders(limit=9) == []
