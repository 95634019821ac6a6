"""The keys that make a checkout usable go back to exactly the values they had; nothing else is touched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from git.repositories import Place, contents, outcomes, repository
from runcoord._git import Outcome, Result, What

HOOK = '#!/bin/sh\nd=$(mktemp -d); cd "$d"; git init -q; rm -rf "$d"\n'


def flip(place: Place) -> None:
    place.git("config", "core.bare", "true")


def with_real_hook(main: Place, name: str) -> None:
    hook = main.path / ".git" / "hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(HOOK)
    hook.chmod(0o755)


# --- core.bare ---


def test_core_bare_left_true_goes_back_and_git_works_again(main: Place) -> None:
    snapshot = main.snapshot()
    flip(main)
    assert not main.works
    report = main.restored(snapshot)
    assert report.outcome is Outcome.RESTORED
    assert report.settled
    assert main.config()["core.bare"] == ["false"]
    assert main.works


def test_git_init_in_a_hook_of_a_linked_worktree_is_undone_and_the_commit_is_kept(main: Place) -> None:
    """The real writer: a hook run from a linked worktree inherits GIT_DIR, so its ``git init`` makes the
    caller's repository bare."""
    linked = main.worktree("linked", "side")
    with_real_hook(main, "pre-commit")
    snapshot = main.snapshot()
    linked.commit("made-during-the-run")
    commit = linked.git("rev-parse", "HEAD")
    assert main.config()["core.bare"] == ["true"]
    assert not main.works
    report = main.restored(snapshot)
    assert report.outcome is Outcome.RESTORED
    assert [each.difference.what for each in report.steps if each.result is Result.DONE] == [What.CONFIG]
    assert main.works
    assert linked.works
    assert linked.git("rev-parse", "HEAD") == commit
    assert main.git("rev-parse", "side") == commit


def test_a_caller_in_a_linked_worktree_gets_its_main_checkout_back_too(main: Place) -> None:
    linked = main.worktree("linked", "side")
    with_real_hook(main, "pre-commit")
    snapshot = linked.snapshot()
    linked.commit("more")
    assert not main.works
    assert linked.restored(snapshot).outcome is Outcome.RESTORED
    assert main.works
    assert linked.works


def test_git_init_bare_under_an_inherited_git_dir_is_undone(main: Place, tmp_path: Path) -> None:
    snapshot = main.snapshot()
    main.git("init", "-q", "--bare", GIT_DIR=str(main.path / ".git"))
    assert not main.works
    assert main.restored(snapshot).outcome is Outcome.RESTORED
    assert main.works


def test_a_work_tree_left_behind_by_git_init_is_undone(main: Place, tmp_path: Path) -> None:
    """With GIT_WORK_TREE set the same writer leaves ``core.worktree``: status works, in another directory."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    snapshot = main.snapshot()
    here = Place(elsewhere, main.environ)
    here.git("init", "-q", GIT_DIR=str(main.path / ".git"), GIT_WORK_TREE=str(elsewhere))
    assert main.config()["core.worktree"] == [str(elsewhere)]
    assert main.git("rev-parse", "--show-toplevel") == str(elsewhere)
    assert main.restored(snapshot).outcome is Outcome.RESTORED
    assert "core.worktree" not in main.config()
    assert main.works


@pytest.mark.parametrize(
    ("at_first", "later"),
    [
        ([], ["true"]),
        ([], ["true", "true"]),
        (["false"], ["true", "false", "true"]),
        (["no"], ["true"]),
        (["off", "no"], ["true"]),
        (["false", "no"], []),
        (["false"], []),
        (["yes", "false"], ["true"]),
    ],
)
def test_the_exact_list_of_values_goes_back(main: Place, at_first: list[str], later: list[str]) -> None:
    def become(values: list[str]) -> None:
        main.tried("config", "--unset-all", "core.bare")
        for value in values:
            main.git("config", "--add", "core.bare", value)

    become(at_first)
    snapshot = main.snapshot()
    become(later)
    report = main.restored(snapshot)
    assert report.outcome is Outcome.RESTORED
    assert main.config().get("core.bare", []) == at_first


@pytest.mark.parametrize("written", ["[core]\n\tbare\n", "[core]\n\tbare =\n"])
def test_a_key_without_a_value_or_with_an_empty_one_goes_back_to_the_same_meaning(
    main: Place, written: str
) -> None:
    linked = main.worktree("linked")  # works in either case
    main.git("config", "--unset", "core.bare")
    config = main.path / ".git" / "config"
    config.write_text(config.read_text() + written)
    meaning = main.tried("config", "--type=bool", "core.bare").stdout
    snapshot = linked.snapshot()
    main.git("config", "core.bare", "true" if "=" in written else "false")
    assert linked.restored(snapshot).outcome is Outcome.RESTORED
    assert main.tried("config", "--type=bool", "core.bare").stdout == meaning
    assert linked.restored(snapshot).outcome is Outcome.AS_BEFORE


def test_a_rightly_bare_main_repository_with_a_linked_worktree_stays_bare(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    source = repository(tmp_path / "source", environ)
    source.git("clone", "-q", "--bare", str(source.path), str(tmp_path / "r.git"))
    bare = Place(tmp_path / "r.git", environ)
    linked = bare.worktree("linked")
    snapshot = linked.snapshot()
    assert linked.restored(snapshot).outcome is Outcome.AS_BEFORE
    bare.git("config", "core.bare", "false")
    assert linked.restored(snapshot).outcome is Outcome.RESTORED
    assert bare.git("config", "core.bare") == "true"
    assert linked.works


def test_a_checkout_that_is_bare_at_the_start_is_not_repaired_by_its_own_snapshot(main: Place) -> None:
    """An earlier crash left it so: only the snapshot of that earlier run knows better."""
    earlier = main.snapshot()
    flip(main)
    later = main.snapshot(main.path.parent / "later")
    assert main.restored(later).outcome is Outcome.AS_BEFORE
    assert main.config()["core.bare"] == ["true"]
    assert main.restored(earlier).outcome is Outcome.RESTORED
    assert main.works


def test_a_snapshot_of_a_broken_checkout_does_not_break_it_again(main: Place) -> None:
    """Two runs at once: the second began while the first had broken the checkout, and ends after it was put
    right."""
    first = main.snapshot()
    flip(main)
    second = main.snapshot(main.path.parent / "second")
    assert main.restored(first).outcome is Outcome.RESTORED
    before = contents(main.path)
    report = main.restored(second)
    assert contents(main.path) == before
    assert report.outcome is Outcome.AS_BEFORE
    assert outcomes(report) == [(Result.SKIPPED, What.CONFIG), (Result.REPORTED, What.REPAIRED)]
    assert main.works


def test_a_misleading_environment_at_the_restoration_leads_to_no_other_repository(
    main: Place, tmp_path: Path
) -> None:
    other = repository(tmp_path / "other", main.environ)
    snapshot = main.snapshot()
    flip(main)
    before = contents(other.path)
    misled = Place(main.path, {**main.environ, "GIT_DIR": str(other.path / ".git"), "GIT_CONFIG": "/x"})
    assert misled.restored(snapshot).outcome is Outcome.RESTORED
    assert contents(other.path) == before
    assert main.works


# --- other files and keys ---


@pytest.mark.parametrize("flipped", ["main", "linked"])
def test_a_flip_in_the_config_of_one_worktree_is_undone(main: Place, flipped: str) -> None:
    main.git("config", "extensions.worktreeConfig", "true")
    linked = main.worktree("linked")
    snapshot = main.snapshot()
    place = main if flipped == "main" else linked
    place.git("config", "--worktree", "core.bare", "true")
    assert not place.works
    assert main.restored(snapshot).outcome is Outcome.RESTORED
    assert main.works
    assert linked.works


def test_a_flip_that_breaks_the_linked_worktrees_as_well_is_undone(main: Place) -> None:
    main.git("config", "extensions.worktreeConfig", "true")
    linked = main.worktree("linked")
    snapshot = main.snapshot()
    flip(main)
    assert not main.works
    assert not linked.works
    assert main.restored(snapshot).outcome is Outcome.RESTORED
    assert main.works
    assert linked.works


def test_an_extension_that_git_does_not_know_is_taken_out_again(main: Place) -> None:
    snapshot = main.snapshot()
    main.git("config", "extensions.fromTheFuture", "1")
    main.git("config", "core.repositoryformatversion", "1")
    assert not main.works
    assert main.restored(snapshot).outcome is Outcome.RESTORED
    assert main.config()["core.repositoryformatversion"] == ["0"]
    assert main.works


def test_a_submodule_gets_its_own_config_back_with_its_work_tree(tmp_path: Path, main: Place) -> None:
    inner = repository(tmp_path / "inner", main.environ)
    main.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "sub")
    main.git("commit", "-q", "-m", "sub")
    sub = Place(main.path / "sub", main.environ)
    snapshot = sub.snapshot()
    sub.git("config", "core.bare", "true")
    sub.git("config", "--unset", "core.worktree")
    report = sub.restored(snapshot)
    assert report.outcome is Outcome.RESTORED
    assert sub.works
    assert main.works
    assert sub.git("config", "core.worktree") == "../../../sub"


def test_a_git_directory_that_was_a_symbolic_link_from_the_start_is_restored(main: Place) -> None:
    moved = main.path.parent / "moved.git"
    (main.path / ".git").rename(moved)
    (main.path / ".git").symlink_to(moved)
    snapshot = main.snapshot()
    flip(main)
    assert main.restored(snapshot).outcome is Outcome.RESTORED
    assert (main.path / ".git").is_symlink()
    assert main.works


def test_a_config_that_was_a_symbolic_link_from_the_start_stays_one(main: Place, tmp_path: Path) -> None:
    config, kept = main.path / ".git" / "config", tmp_path / "kept-elsewhere"
    config.rename(kept)
    config.symlink_to(kept)
    snapshot = main.snapshot()
    flip(main)
    assert main.restored(snapshot).outcome is Outcome.RESTORED
    assert config.is_symlink()
    assert main.works


def test_other_keys_remotes_and_branches_made_during_the_run_are_kept(main: Place) -> None:
    snapshot = main.snapshot()
    main.git("remote", "add", "origin", "https://example.org/x")
    main.git("branch", "made")
    main.git("config", "branch.made.remote", "origin")
    flip(main)
    assert main.restored(snapshot).outcome is Outcome.RESTORED
    assert main.config()["remote.origin.url"] == ["https://example.org/x"]
    assert main.config()["branch.made.remote"] == ["origin"]
    assert main.git("branch", "--list", "made").strip() == "made"


def test_a_repository_that_was_converted_keeps_the_keys_that_describe_it(main: Place) -> None:
    """Format keys without the files that they speak of would lose every ref."""
    snapshot = main.snapshot()
    (main.path / ".git" / "reftable").mkdir()
    main.git("config", "core.repositoryformatversion", "1")
    main.git("config", "extensions.refstorage", "reftable")
    before = contents(main.path)
    report = main.restored(snapshot)
    assert contents(main.path) == before
    kinds = {each.difference.key: each.result for each in report.steps if each.difference.what is What.FORMAT}
    assert kinds == {
        "core.repositoryformatversion": Result.REPORTED,
        "extensions.refstorage": Result.REPORTED,
    }


# --- damaged configs ---


def emptied(config: Path) -> None:
    config.write_bytes(b"")


def cut_off(config: Path) -> None:
    config.write_bytes(config.read_bytes()[:-15])


def unparsable(config: Path) -> None:
    config.write_bytes(b"[core\n\x00 bare = tr")


def removed(config: Path) -> None:
    config.unlink()


@pytest.mark.parametrize("damage", [emptied, cut_off, unparsable, removed])
def test_a_damaged_config_gets_its_bytes_back_and_what_was_there_is_kept(
    main: Place, damage: Callable[[Path], None]
) -> None:
    main.git("remote", "add", "origin", "https://example.org/x")
    config = main.path / ".git" / "config"
    content = config.read_bytes()
    snapshot = main.snapshot()
    damage(config)
    found = config.read_bytes() if config.exists() else None
    report = main.restored(snapshot)
    assert report.outcome is Outcome.RESTORED
    assert config.read_bytes() == content
    kept = [each.read_bytes() for each in config.parent.glob("config.damaged-*")]
    assert kept == ([] if found is None else [found])
    assert main.works
    assert main.restored(snapshot).outcome is Outcome.AS_BEFORE


def test_a_config_that_lost_the_section_of_its_last_branch_is_not_taken_for_damaged(main: Place) -> None:
    main.git("branch", "old")
    main.git("config", "branch.old.remote", "origin")
    snapshot = main.snapshot()
    main.git("branch", "-q", "-D", "old")
    assert "branch.old.remote" not in main.config()
    before = contents(main.path)
    assert main.restored(snapshot).outcome is Outcome.AS_BEFORE
    assert contents(main.path) == before


def test_a_config_that_could_not_be_parsed_at_the_start_is_left_alone(main: Place) -> None:
    unparsable(main.path / ".git" / "config")
    snapshot = main.snapshot()
    (main.path / ".git" / "config").write_bytes(b"[core\n other")
    before = contents(main.path)
    report = main.restored(snapshot)
    assert report.outcome is Outcome.UNVERIFIED
    assert contents(main.path) == before


# --- once and again ---


def test_a_second_restoration_changes_nothing_and_says_so(main: Place) -> None:
    linked = main.worktree("linked")
    snapshot = main.snapshot()
    flip(main)
    main.restored(snapshot)
    before = contents(main.path, linked.path)
    report = main.restored(snapshot)
    assert report.outcome is Outcome.AS_BEFORE
    assert report.changed == 0
    assert report.steps == ()
    assert contents(main.path, linked.path) == before


def test_a_restoration_without_a_difference_writes_nothing(main: Place) -> None:
    snapshot = main.snapshot()
    before = contents(main.path.parent)
    assert main.restored(snapshot).outcome is Outcome.AS_BEFORE
    assert contents(main.path.parent) == before
