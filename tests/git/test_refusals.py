"""Where nothing may be written, nothing is; and the report says why."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from git.repositories import Place, as_nobody, contents, environment, repository
from runcoord._git import Agreement, GitSnapshot, Outcome, Result, What, drift

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")


def assert_refused(place: Place, snapshot: GitSnapshot, why: str, *watched: Path) -> None:
    before = contents(*watched)
    report = place.restored(snapshot)
    assert contents(*watched) == before
    assert report.outcome is Outcome.REFUSED
    assert report.changed == 0
    assert not report.settled
    [step] = report.steps
    assert (step.result, step.difference.what) == (Result.REFUSED, What.IDENTITY)
    assert why in step.difference.detail
    assert drift(snapshot, environ=place.environ).agreement is Agreement.BROKEN
    assert contents(*watched) == before


def test_a_git_directory_swapped_for_a_link_to_a_foreign_repository_is_refused(
    main: Place, tmp_path: Path
) -> None:
    foreign = repository(tmp_path / "foreign", main.environ)
    foreign.git("config", "core.bare", "true")
    snapshot = main.snapshot()
    shutil.rmtree(main.path / ".git")
    (main.path / ".git").symlink_to(foreign.path / ".git")
    assert_refused(main, snapshot, "was a directory and is symlink", main.path, foreign.path)


def test_a_git_directory_swapped_for_a_file_that_leads_out_is_refused(main: Place, tmp_path: Path) -> None:
    foreign = repository(tmp_path / "foreign", main.environ)
    foreign.git("config", "core.bare", "true")
    snapshot = main.snapshot()
    (main.path / ".git").rename(tmp_path / "put-away")
    (main.path / ".git").write_text("gitdir: ../foreign/.git\n")
    assert_refused(main, snapshot, "was a directory and is file", main.path, foreign.path)


def test_a_git_directory_swapped_for_another_directory_is_refused(main: Place, tmp_path: Path) -> None:
    foreign = repository(tmp_path / "foreign", main.environ)
    snapshot = main.snapshot()
    (main.path / ".git").rename(tmp_path / "put-away")
    (foreign.path / ".git").rename(main.path / ".git")
    main.git("config", "core.bare", "true")
    assert_refused(main, snapshot, "another one", main.path, tmp_path / "put-away")


def test_a_git_directory_that_is_gone_is_refused(main: Place) -> None:
    snapshot = main.snapshot()
    shutil.rmtree(main.path / ".git")
    assert_refused(main, snapshot, "was a directory and is absent", main.path)


def test_a_git_file_rewritten_to_lead_out_by_a_relative_path_is_refused(main: Place, tmp_path: Path) -> None:
    foreign = repository(tmp_path / "foreign", main.environ)
    linked = main.worktree("linked")
    snapshot = linked.snapshot()
    (linked.path / ".git").write_text("gitdir: ../foreign/.git\n")
    foreign.git("config", "core.bare", "true")
    assert_refused(linked, snapshot, "leads to gitdir: ../foreign/.git", linked.path, main.path, foreign.path)


def test_a_commondir_that_leads_out_is_refused(main: Place, tmp_path: Path) -> None:
    foreign = repository(tmp_path / "foreign", main.environ)
    linked = main.worktree("linked")
    snapshot = linked.snapshot()
    (main.path / ".git/worktrees/linked/commondir").write_text("../../../../foreign/.git\n")
    assert_refused(linked, snapshot, "is " + str(foreign.path), linked.path, main.path, foreign.path)


def test_a_link_that_was_one_from_the_start_and_leads_elsewhere_now_is_refused(
    main: Place, tmp_path: Path
) -> None:
    foreign = repository(tmp_path / "foreign", main.environ)
    foreign.git("config", "core.bare", "true")
    (main.path / ".git").rename(tmp_path / "moved.git")
    (main.path / ".git").symlink_to(tmp_path / "moved.git")
    snapshot = main.snapshot()
    (main.path / ".git").unlink()
    (main.path / ".git").symlink_to(foreign.path / ".git")
    assert_refused(main, snapshot, "", main.path, foreign.path, tmp_path / "moved.git")


def test_a_directory_above_the_repository_swapped_for_a_link_is_refused(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    mine = repository(tmp_path / "a" / "main", environ)
    foreign = repository(tmp_path / "b" / "main", environ)
    foreign.git("config", "core.bare", "true")
    snapshot = mine.snapshot()
    (tmp_path / "a").rename(tmp_path / "put-away")
    (tmp_path / "a").symlink_to(tmp_path / "b")
    before = contents(tmp_path / "put-away", tmp_path / "b")
    assert mine.restored(snapshot).outcome is Outcome.REFUSED
    assert contents(tmp_path / "put-away", tmp_path / "b") == before


def test_a_directory_above_the_repository_that_became_a_link_is_refused_though_it_leads_there_still(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    mine = repository(tmp_path / "a" / "main", environ)
    snapshot = mine.snapshot()
    mine.git("config", "core.bare", "true")
    (tmp_path / "a").rename(tmp_path / "moved")
    (tmp_path / "a").symlink_to(tmp_path / "moved")
    before = contents(tmp_path / "moved")
    report = mine.restored(snapshot)
    assert report.outcome is Outcome.REFUSED
    assert "a directory above it" in report.steps[0].difference.detail
    assert contents(tmp_path / "moved") == before


def test_git_is_not_asked_in_a_worktree_that_belongs_to_a_foreign_repository_now(
    main: Place, tmp_path: Path
) -> None:
    """Its config may name programs that git would run."""
    foreign = repository(tmp_path / "foreign", main.environ)
    linked = main.worktree("linked")
    snapshot = main.snapshot()
    (linked.path / ".git").unlink()
    (linked.path / ".git").symlink_to(foreign.path / ".git")
    before = contents(main.path, linked.path, foreign.path)
    report = main.restored(snapshot)
    assert contents(main.path, linked.path, foreign.path) == before
    assert report.outcome is Outcome.UNVERIFIED
    assert report.git_processes == 2
    assert any("another one" in each.difference.detail for each in report.steps)


def test_a_config_swapped_for_a_link_to_a_foreign_one_is_refused(main: Place, tmp_path: Path) -> None:
    foreign = repository(tmp_path / "foreign", main.environ)
    foreign.git("config", "core.bare", "true")
    snapshot = main.snapshot()
    (main.path / ".git" / "config").unlink()
    (main.path / ".git" / "config").symlink_to(foreign.path / ".git" / "config")
    before = contents(main.path, foreign.path)
    report = main.restored(snapshot)
    assert contents(main.path, foreign.path) == before
    assert report.outcome is Outcome.NOT_RESTORED
    assert (Result.REFUSED, What.IDENTITY) in [(each.result, each.difference.what) for each in report.steps]


def test_a_worktree_config_that_appeared_as_a_link_to_a_foreign_one_is_refused(
    main: Place, tmp_path: Path
) -> None:
    foreign = repository(tmp_path / "foreign", main.environ)
    foreign.git("config", "core.bare", "true")
    snapshot = main.snapshot()
    (main.path / ".git" / "config.worktree").symlink_to(foreign.path / ".git" / "config")
    before = contents(main.path, foreign.path)
    assert main.restored(snapshot).outcome is Outcome.NOT_RESTORED
    assert contents(main.path, foreign.path) == before


@as_root
@pytest.mark.parametrize("what", [".git", ".git-file"])
def test_a_git_directory_given_to_another_user_is_refused(main: Place, what: str) -> None:
    linked = main.worktree("linked")
    place = main if what == ".git" else linked
    snapshot = place.snapshot()
    main.git("config", "core.bare", "true")
    os.chown(place.path / ".git", 12345, -1)
    assert_refused(place, snapshot, "belongs to user 12345", main.path, linked.path)


@as_root
def test_a_repository_of_another_user_from_the_start_is_restored_by_its_files(main: Place) -> None:
    """git itself refuses to look into it ("dubious ownership"), before and after."""
    for path in (main.path, *main.path.rglob("*")):
        os.chown(path, 12345, 12345, follow_symlinks=False)
    assert "dubious ownership" in main.tried("status").stderr
    snapshot = main.snapshot()
    config = main.path / ".git" / "config"
    config.write_text(config.read_text().replace("bare = false", "bare = true"))
    report = main.restored(snapshot)
    assert report.outcome is Outcome.RESTORED
    assert "bare = false" in config.read_text()
    assert config.stat().st_uid == 12345
    trusted = Place(
        main.path, {**main.environ, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory"}
    )
    assert trusted.tried("status", GIT_CONFIG_VALUE_0="*").returncode == 0


@as_root
def test_a_work_tree_given_to_another_user_during_the_run_is_not_called_verified(main: Place) -> None:
    snapshot = main.snapshot()
    main.git("config", "core.bare", "true")
    os.chown(main.path, 12345, -1)
    report = main.restored(snapshot)
    assert report.outcome is Outcome.UNVERIFIED
    assert any("dubious ownership" in each.difference.detail for each in report.steps)
    assert "bare = false" in (main.path / ".git" / "config").read_text()


# --- what cannot be written ---


def test_a_config_that_cannot_be_written_is_reported_and_nothing_changes(open_to_all: Path) -> None:
    def told() -> Any:
        environ = environment(open_to_all / "home")
        place = repository(open_to_all / "main", environ)
        snapshot = place.snapshot()
        place.git("config", "core.bare", "true")
        (place.path / ".git").chmod(0o555)
        before = contents(open_to_all)
        reports = [place.restored(snapshot).document() for _ in range(2)]
        return {"reports": reports, "same": contents(open_to_all) == before}

    heard = as_nobody(told)
    assert heard["same"]
    for report in heard["reports"]:
        assert report["outcome"] == "not-restored"
        assert report["changed"] == 0
        [failed] = [step for step in report["steps"] if step["what"] == "config"]
        assert failed["result"] == "failed"
        assert "ermission denied" in failed["why"]


def test_a_config_that_could_not_be_read_is_not_taken_for_one_without_values(open_to_all: Path) -> None:
    def told() -> Any:
        place = repository(open_to_all / "main", environment(open_to_all / "home"))
        config = place.path / ".git" / "config"
        config.chmod(0)
        snapshot = place.snapshot()
        config.chmod(0o644)
        before = contents(place.path)
        report = place.restored(snapshot)
        return {"report": report.document(), "same": contents(place.path) == before}

    heard = as_nobody(told)
    assert heard["same"]
    assert heard["report"]["outcome"] != "restored"
    assert heard["report"]["outcome"] != "as-before"
    assert "unreadable" in [step["what"] for step in heard["report"]["steps"]]


# --- after a restart of the machine ---


def as_after_a_restart(snapshot: GitSnapshot) -> GitSnapshot:
    """The snapshot of an earlier boot, in which the file system had another number."""
    before = snapshot.before
    checkout = replace(
        before.checkout,
        entry=replace(before.checkout.entry, device=before.checkout.entry.device + 1),
        common=replace(before.checkout.common, device=before.checkout.common.device + 1),
    )
    return replace(snapshot, before=replace(before, boot="another boot", checkout=checkout))


def test_after_a_restart_the_number_of_the_file_system_is_not_compared(main: Place) -> None:
    snapshot = as_after_a_restart(main.snapshot())
    main.git("config", "core.bare", "true")
    assert main.restored(snapshot).outcome is Outcome.RESTORED
    assert main.works


def test_after_a_restart_another_directory_is_refused_nevertheless(main: Place, tmp_path: Path) -> None:
    foreign = repository(tmp_path / "foreign", main.environ)
    snapshot = as_after_a_restart(main.snapshot())
    (main.path / ".git").rename(tmp_path / "put-away")
    (foreign.path / ".git").rename(main.path / ".git")
    main.git("config", "core.bare", "true")
    assert_refused(main, snapshot, "another one", main.path, tmp_path / "put-away")


def test_within_one_boot_another_file_system_is_refused(main: Place) -> None:
    snapshot = main.snapshot()
    other = as_after_a_restart(snapshot)
    other = replace(other, before=replace(other.before, boot=snapshot.before.boot))
    assert_refused(main, other, "another one", main.path)
