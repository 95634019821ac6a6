"""HEAD is reported, and never moved; only one that is nothing at all is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from git.repositories import Place, contents
from runcoord._git import Agreement, Outcome, Result, What, drift


def head(place: Place) -> str:
    return (place.path / ".git" / "HEAD").read_text()


def test_a_head_that_moved_is_reported_and_stays_where_it_is(main: Place) -> None:
    snapshot = main.snapshot()
    main.git("checkout", "-q", "-b", "made-during-the-run")
    before = contents(main.path)
    report = main.restored(snapshot)
    assert contents(main.path) == before
    assert report.outcome is Outcome.AS_BEFORE
    [step] = report.steps
    assert (step.result, step.difference.what) == (Result.REPORTED, What.HEAD)
    assert step.difference.before == ("ref: refs/heads/main",)
    assert step.difference.now == ("ref: refs/heads/made-during-the-run",)


def test_a_head_that_moved_stays_when_other_things_are_restored(main: Place) -> None:
    linked = main.worktree("linked")
    snapshot = main.snapshot()
    linked.git("checkout", "-q", "--detach")
    main.git("checkout", "-q", "-b", "made")
    main.git("config", "core.bare", "true")
    assert main.restored(snapshot).outcome is Outcome.RESTORED
    assert main.git("symbolic-ref", "HEAD") == "refs/heads/made"
    assert linked.tried("symbolic-ref", "-q", "HEAD").returncode == 1


@pytest.mark.parametrize(
    "damage", ["", "nonsense\n", "ref: ", None], ids=["empty", "nonsense", "cut", "gone"]
)
def test_a_head_that_git_does_not_accept_is_put_back(main: Place, damage: str | None) -> None:
    path = main.path / ".git" / "HEAD"
    snapshot = main.snapshot()
    path.unlink()
    if damage is not None:
        path.write_text(damage)
    assert not main.works
    assert drift(snapshot, environ=main.environ).agreement is Agreement.BROKEN
    report = main.restored(snapshot)
    assert report.outcome is Outcome.RESTORED
    assert head(main) == "ref: refs/heads/main\n"
    assert main.works
    assert main.restored(snapshot).outcome is Outcome.AS_BEFORE


def test_a_head_that_was_a_symbolic_link_is_one_again(main: Place) -> None:
    path = main.path / ".git" / "HEAD"
    path.unlink()
    path.symlink_to("refs/heads/main")
    snapshot = main.snapshot()
    path.unlink()
    assert main.restored(snapshot).outcome is Outcome.RESTORED
    assert path.readlink() == Path("refs/heads/main")


def test_a_head_that_became_a_symbolic_link_to_elsewhere_is_put_back_and_nothing_there_is_written(
    main: Place, tmp_path: Path
) -> None:
    path, elsewhere = main.path / ".git" / "HEAD", tmp_path / "elsewhere"
    elsewhere.write_text("ref: refs/heads/main\n")
    snapshot = main.snapshot()
    path.unlink()
    path.symlink_to(elsewhere)
    assert not main.works
    assert main.restored(snapshot).outcome is Outcome.RESTORED
    assert not path.is_symlink()
    assert elsewhere.read_text() == "ref: refs/heads/main\n"
    assert main.works


def test_a_damaged_head_of_a_linked_worktree_is_put_back(main: Place) -> None:
    linked = main.worktree("linked")
    snapshot = main.snapshot()
    (main.path / ".git/worktrees/linked/HEAD").write_text("")
    assert not linked.works
    assert main.restored(snapshot).outcome is Outcome.RESTORED
    assert linked.works


def test_a_locked_head_is_not_written(main: Place) -> None:
    snapshot = main.snapshot()
    (main.path / ".git" / "HEAD").write_text("")
    (main.path / ".git" / "HEAD.lock").write_text("held")
    before = contents(main.path)
    report = main.restored(snapshot)
    assert contents(main.path) == before
    assert report.outcome is Outcome.NOT_RESTORED
    assert Result.FAILED in [
        each.result for each in report.steps if each.difference.what is What.HEAD_DAMAGED
    ]


def test_a_branch_that_two_work_trees_share_after_the_run_is_reported(main: Place) -> None:
    """While the main checkout is bare, git does not count it, and lets another one check out its branch."""
    linked = main.worktree("linked")
    snapshot = main.snapshot()
    main.git("config", "core.bare", "true")
    linked.git("checkout", "-q", "main")
    report = main.restored(snapshot)
    assert report.outcome is Outcome.RESTORED
    [step] = [each for each in report.steps if each.difference.what is What.SHARED_BRANCH]
    assert step.result is Result.REPORTED
    assert step.difference.key == "refs/heads/main"
    assert linked.git("symbolic-ref", "HEAD") == "refs/heads/main"
