"""After a completed run the state is compared, and nothing is written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable

import pytest

from git.repositories import Place, contents
from runcoord._git import Agreement, What, drift


def nothing(main: Place) -> None:
    pass


def commits(main: Place) -> None:
    main.commit("more")


def other_branch(main: Place) -> None:
    main.git("checkout", "-q", "-b", "other")


def new_worktree(main: Place) -> None:
    main.worktree("child")


def removed_worktree(main: Place) -> None:
    main.git("worktree", "remove", "../linked")


def sparse(main: Place) -> None:
    main.git("sparse-checkout", "set", "--cone")


def bare(main: Place) -> None:
    main.git("config", "core.bare", "true")


def unregistered(main: Place) -> None:
    shutil.rmtree(main.path / ".git/worktrees/linked")


def no_repository(main: Place) -> None:
    shutil.rmtree(main.path / ".git")


def no_head(main: Place) -> None:
    (main.path / ".git/HEAD").write_text("")


@pytest.mark.parametrize(
    ("ran", "agreement", "what"),
    [
        (nothing, Agreement.AS_BEFORE, set()),
        (commits, Agreement.AS_BEFORE, set()),
        (other_branch, Agreement.DIFFERS, {What.HEAD}),
        (new_worktree, Agreement.DIFFERS, {What.WORKTREE_ADDED}),
        (sparse, Agreement.DIFFERS, {What.CONFIG}),
        (bare, Agreement.BROKEN, {What.CONFIG, What.BEHAVIOUR}),
        (unregistered, Agreement.BROKEN, {What.REGISTRATION, What.BEHAVIOUR}),
        (no_repository, Agreement.BROKEN, {What.IDENTITY}),
        (no_head, Agreement.BROKEN, {What.HEAD_DAMAGED, What.BEHAVIOUR}),
    ],
)
def test_what_a_completed_run_changed_is_told_and_left(
    main: Place, ran: Callable[[Place], None], agreement: Agreement, what: set[What]
) -> None:
    linked = main.worktree("linked")
    snapshot = main.snapshot()
    ran(main)
    before = contents(main.path, linked.path)
    report = drift(snapshot, environ=main.environ)
    assert contents(main.path, linked.path) == before
    assert (report.agreement, {each.what for each in report.differences}) == (agreement, what)
    assert report.works is (agreement in {Agreement.AS_BEFORE, Agreement.DIFFERS})
    assert json.loads(json.dumps(report.document()))["agreement"] == agreement.value


def test_a_worktree_that_the_run_removed_properly_breaks_nothing(main: Place) -> None:
    main.worktree("linked")
    snapshot = main.snapshot()
    removed_worktree(main)
    report = drift(snapshot, environ=main.environ)
    assert report.agreement is Agreement.DIFFERS
    assert {each.what for each in report.differences} == {What.WORKTREE_GONE}


def test_a_difference_says_the_values_before_and_now(main: Place) -> None:
    snapshot = main.snapshot()
    bare(main)
    [config] = [
        each for each in drift(snapshot, environ=main.environ).differences if each.what is What.CONFIG
    ]
    assert (config.key, config.before, config.now) == ("core.bare", ("false",), ("true",))
