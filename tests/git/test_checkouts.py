"""What counts as a checkout, and how its repository is found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from git.repositories import Place, contents, repository
from runcoord._git import take


def test_outside_of_any_checkout_there_is_no_snapshot_no_error_and_nothing_written(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    before = contents(tmp_path)
    assert take(tmp_path, tmp_path / "snapshot", environ=environ) is None
    assert contents(tmp_path) == before


@pytest.mark.parametrize("inside", [".git", ".git/hooks", ".git/objects"])
def test_inside_of_the_repository_itself_is_no_work_tree(main: Place, tmp_path: Path, inside: str) -> None:
    assert take(main.path / inside, tmp_path / "snapshot", environ=main.environ) is None
    assert not (tmp_path / "snapshot").exists()


def test_a_directory_that_is_gone_is_no_checkout(tmp_path: Path, environ: dict[str, str]) -> None:
    assert take(tmp_path / "gone", tmp_path / "snapshot", environ=environ) is None


def test_a_bare_repository_is_no_checkout(tmp_path: Path, environ: dict[str, str]) -> None:
    tmp_path.joinpath("r.git").mkdir()
    Place(tmp_path / "r.git", environ).git("init", "-q", "--bare")
    assert take(tmp_path / "r.git", tmp_path / "snapshot", environ=environ) is None


@pytest.mark.parametrize("text", ["gitdir: ../gone/.git\n", "nonsense\n", ""])
def test_a_git_file_that_leads_nowhere_is_no_checkout(
    tmp_path: Path, environ: dict[str, str], text: str
) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / ".git").write_text(text)
    assert take(tmp_path / "w", tmp_path / "snapshot", environ=environ) is None


def test_a_directory_below_the_top_leads_to_the_same_checkout(main: Place, tmp_path: Path) -> None:
    below = main.path / "a" / "b"
    below.mkdir(parents=True)
    taken = take(below, tmp_path / "snapshot", environ=main.environ)
    assert taken is not None
    assert taken.before.checkout.top == str(main.path)


@pytest.mark.parametrize("variable", ["GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE"])
def test_variables_of_the_environment_lead_to_no_other_repository(
    main: Place, tmp_path: Path, variable: str
) -> None:
    other = repository(tmp_path / "other", main.environ)
    misled = {**main.environ, variable: str(other.path / ".git")}
    taken = take(main.path, tmp_path / "snapshot", environ=misled)
    assert taken is not None
    assert taken.before.checkout.common.path == str(main.path / ".git")
    assert [each.toplevel for each in taken.before.behaviours] == [str(main.path)]


def test_a_linked_worktree_leads_to_the_common_repository(main: Place, tmp_path: Path) -> None:
    linked = main.worktree("linked")
    checkout = linked.snapshot().before.checkout
    assert checkout.top == str(linked.path)
    assert checkout.git_dir == str(main.path / ".git" / "worktrees" / "linked")
    assert checkout.common.path == str(main.path / ".git")


def test_a_repository_apart_from_its_work_tree_is_found(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / "w").mkdir()
    place = Place(tmp_path / "w", environ)
    place.git("init", "-q", "-b", "main", f"--separate-git-dir={tmp_path / 'elsewhere'}")
    place.commit()
    assert place.snapshot().before.checkout.common.path == str(tmp_path / "elsewhere")


def test_a_snapshot_changes_nothing_in_the_checkout(main: Place, tmp_path: Path) -> None:
    linked = main.worktree("linked")
    os.utime(main.path / "file")  # a plain `git status` would refresh the index now
    before = contents(main.path, linked.path)
    main.snapshot()
    assert contents(main.path, linked.path) == before


def test_a_large_work_tree_is_not_read_by_the_questions_to_git(main: Place) -> None:
    """A filter of the config is a program of the repository; it must not run before the run does."""
    ran = main.path.parent / "ran"
    main.git("config", "filter.x.clean", f"touch {ran}; cat")
    (main.path / ".gitattributes").write_text("file filter=x\n")
    (main.path / "file").write_text("other\n")
    main.git("config", "core.fsmonitor", f"touch {ran}")
    main.snapshot()
    assert not ran.exists()
