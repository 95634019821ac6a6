"""Linked worktrees: their registration goes back, and those made during the run are kept."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from git.repositories import Place, contents, outcomes
from runcoord._core import limits
from runcoord._git import Agreement, Outcome, Result, What, drift


def admin(main: Place, name: str = "linked") -> Path:
    return main.path / ".git" / "worktrees" / name


def registered(main: Place) -> list[str]:
    listed = main.git("worktree", "list", "--porcelain").splitlines()
    return [line.removeprefix("worktree ") for line in listed if line.startswith("worktree ")]


def test_a_deleted_registration_is_put_back_with_what_was_staged(main: Place) -> None:
    linked = main.worktree("linked")
    (linked.path / "staged").write_text("staged\n")
    linked.git("add", "staged")
    saved = contents(admin(main))
    snapshot = main.snapshot()
    shutil.rmtree(admin(main))
    assert not linked.works
    report = main.restored(snapshot)
    assert report.outcome is Outcome.RESTORED
    assert linked.works
    assert linked.git("status", "--porcelain") == "A  staged"
    assert {path: content for path, content in contents(admin(main)).items() if path in saved} == saved
    assert main.restored(snapshot).outcome is Outcome.AS_BEFORE


def test_the_last_registration_is_put_back_though_git_removed_their_directory(main: Place) -> None:
    linked = main.worktree("linked")
    snapshot = main.snapshot()
    shutil.rmtree(admin(main).parent)
    assert main.restored(snapshot).outcome is Outcome.RESTORED
    assert linked.works


def test_a_registration_pruned_while_its_worktree_was_moved_away_is_put_back(
    main: Place, tmp_path: Path
) -> None:
    linked = main.worktree("linked")
    snapshot = main.snapshot()
    linked.path.rename(tmp_path / "away")
    main.git("worktree", "prune")
    (tmp_path / "away").rename(linked.path)
    assert not admin(main).exists()
    assert main.tried("worktree", "repair", str(linked.path)).returncode != 0 or not linked.works
    assert main.restored(snapshot).outcome is Outcome.RESTORED
    assert linked.works


def test_the_callers_own_registration_is_put_back(main: Place) -> None:
    linked = main.worktree("linked")
    snapshot = linked.snapshot()
    shutil.rmtree(admin(main))
    assert linked.restored(snapshot).outcome is Outcome.RESTORED
    assert linked.works
    assert linked.restored(snapshot).outcome is Outcome.AS_BEFORE


def test_the_registration_and_core_bare_go_back_together(main: Place) -> None:
    main.git("config", "extensions.worktreeConfig", "true")
    linked = main.worktree("linked")
    linked.git("config", "--worktree", "user.name", "in the worktree")
    snapshot = linked.snapshot()
    main.git("config", "core.bare", "true")
    shutil.rmtree(admin(main))
    assert linked.restored(snapshot).outcome is Outcome.RESTORED
    assert main.works
    assert linked.works
    assert linked.git("config", "user.name") == "in the worktree"


def test_worktrees_and_commits_made_during_the_run_are_kept(main: Place) -> None:
    linked = main.worktree("linked")
    snapshot = main.snapshot()
    child = main.worktree("child")
    child.commit("from-the-child")
    commit = child.git("rev-parse", "HEAD")
    main.git("config", "core.bare", "true")
    shutil.rmtree(admin(main))
    report = main.restored(snapshot)
    assert report.outcome is Outcome.RESTORED
    assert sorted(registered(main)) == sorted(str(each.path) for each in (main, linked, child))
    assert child.works
    assert main.git("rev-parse", "child") == commit
    added = [each for each in report.steps if each.difference.what is What.WORKTREE_ADDED]
    assert [(each.result, each.difference.key) for each in added] == [(Result.REPORTED, "child")]


def test_a_worktree_removed_together_with_its_directory_is_reported_and_not_registered_again(
    main: Place,
) -> None:
    linked = main.worktree("linked")
    snapshot = main.snapshot()
    main.git("worktree", "remove", str(linked.path))
    before = contents(main.path)
    report = main.restored(snapshot)
    assert contents(main.path) == before
    assert report.outcome is Outcome.AS_BEFORE
    assert outcomes(report) == [(Result.REPORTED, What.WORKTREE_GONE)]


def test_a_locked_worktree_on_a_drive_that_is_away_gets_its_registration_back(
    main: Place, tmp_path: Path
) -> None:
    linked = main.worktree("linked")
    main.git("worktree", "lock", str(linked.path))
    linked.path.rename(tmp_path / "away")
    snapshot = main.snapshot()
    shutil.rmtree(admin(main))
    assert main.restored(snapshot).outcome is Outcome.RESTORED
    (tmp_path / "away").rename(linked.path)
    assert linked.works


def test_a_directory_that_belongs_to_another_repository_now_is_not_registered(
    main: Place, tmp_path: Path
) -> None:
    linked = main.worktree("linked")
    snapshot = main.snapshot()
    main.git("worktree", "remove", str(linked.path))
    linked.path.mkdir()
    linked.git("init", "-q", "-b", "main")
    before = contents(main.path, linked.path)
    report = main.restored(snapshot)
    assert contents(main.path, linked.path) == before
    assert report.outcome is Outcome.NOT_RESTORED
    [step] = [each for each in report.steps if each.difference.what is What.REGISTRATION]
    assert step.result is Result.REFUSED


def test_a_directory_of_registrations_swapped_for_a_link_is_not_written_into(
    main: Place, tmp_path: Path
) -> None:
    main.worktree("linked")
    snapshot = main.snapshot()
    admin(main).parent.rename(tmp_path / "away")
    (tmp_path / "foreign").mkdir()
    admin(main).parent.symlink_to(tmp_path / "foreign")
    before = contents(main.path, tmp_path / "foreign", tmp_path / "away")
    report = main.restored(snapshot)
    assert contents(main.path, tmp_path / "foreign", tmp_path / "away") == before
    assert report.outcome is Outcome.NOT_RESTORED
    assert Result.REFUSED in [
        each.result for each in report.steps if each.difference.what is What.REGISTRATION
    ]


@pytest.mark.parametrize("name", ["gitdir", "commondir"])
@pytest.mark.parametrize("how", ["gone", "empty"])
@pytest.mark.parametrize("caller", ["main", "linked"])
def test_a_file_that_makes_a_directory_a_registration_is_put_back(
    main: Place, name: str, how: str, caller: str
) -> None:
    linked = main.worktree("linked")
    place = main if caller == "main" else linked
    content = (admin(main) / name).read_bytes()
    snapshot = place.snapshot()
    if how == "gone":
        (admin(main) / name).unlink()
    else:
        (admin(main) / name).write_bytes(b"")
    assert place.restored(snapshot).outcome is Outcome.RESTORED
    assert (admin(main) / name).read_bytes() == content
    assert linked.works


def test_a_worktree_that_was_moved_properly_stays_where_it_is(main: Place, tmp_path: Path) -> None:
    linked = main.worktree("linked")
    snapshot = main.snapshot()
    main.git("worktree", "move", str(linked.path), str(tmp_path / "moved"))
    before = contents(main.path, tmp_path / "moved")
    report = main.restored(snapshot)
    assert contents(main.path, tmp_path / "moved") == before
    assert report.outcome is Outcome.AS_BEFORE
    kinds = {each.difference.what: each.result for each in report.steps}
    assert kinds == {What.REGISTRATION_MOVED: Result.REPORTED, What.WORKTREE_GONE: Result.REPORTED}


def test_an_index_too_large_to_copy_is_made_anew_from_head(
    main: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked = main.worktree("linked")
    monkeypatch.setattr(limits, "GIT_INDEX_BYTES", 10)
    snapshot = main.snapshot()
    assert any("index" in what for each in snapshot.before.registrations for what in each.unsaved)
    shutil.rmtree(admin(main))
    report = main.restored(snapshot)
    assert report.outcome is Outcome.RESTORED
    assert linked.works
    assert linked.git("status", "--porcelain") == ""
    assert What.INDEX in [each.difference.what for each in report.steps]


def test_a_damaged_copy_of_an_index_is_not_used(main: Place) -> None:
    linked = main.worktree("linked")
    snapshot = main.snapshot()
    copy = Path(snapshot.directory) / "index-0"
    copy.write_bytes(b"x" + copy.read_bytes()[1:])
    shutil.rmtree(admin(main))
    assert main.restored(snapshot).outcome is Outcome.RESTORED
    assert linked.git("status", "--porcelain") == ""


def test_a_restoration_that_was_interrupted_in_the_middle_is_finished_by_the_next(main: Place) -> None:
    linked = main.worktree("linked")
    snapshot = main.snapshot()
    shutil.rmtree(admin(main))
    staged = main.path / ".git" / "runcoord-putting-back-linked"
    staged.mkdir()
    (staged / "HEAD").write_text("half")
    assert main.restored(snapshot).outcome is Outcome.RESTORED
    assert not os.path.lexists(staged)
    assert linked.works


def test_more_worktrees_than_are_saved_are_never_called_verified(
    main: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        main.worktree(name)
    monkeypatch.setattr(limits, "GIT_WORKTREES", 2)
    snapshot = main.snapshot()
    assert len(snapshot.before.registrations) == 2
    before = contents(main.path)
    assert main.restored(snapshot).outcome is Outcome.UNVERIFIED
    assert drift(snapshot, environ=main.environ).agreement is Agreement.UNKNOWN
    assert contents(main.path) == before
