"""Git state of the directory that a command runs in: put back after a failure, compared after a success."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from runcoord import Outcome
from runcoord.ports import SnapshotState
from running.real_runs import LIFE, Place, finished, report_of, until

GIT = shutil.which("git")

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="runs commands on Linux"),
    pytest.mark.skipif(GIT is None, reason="git is not installed"),
]

IDENTITY = ("-c", "user.name=A", "-c", "user.email=a@example.org")


def git(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    assert GIT is not None
    return subprocess.run(
        [GIT, *IDENTITY, *words], cwd=directory, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture
def checkout(place: Place) -> Place:
    """The place, with its working directory a checkout of one commit."""
    assert git(place.work, "init", "-q", "-b", "main").returncode == 0
    assert git(place.work, "commit", "-q", "--allow-empty", "-m", "first").returncode == 0
    return place


BREAK = "git config core.bare true"


@pytest.mark.parametrize(
    ("script", "options", "code"),
    [(f"{BREAK}; exit 3", [], 3), (f"{BREAK}; sleep {LIFE}", ["--timeout", "0.5"], 124)],
    ids=["failed", "timed-out"],
)
def test_a_checkout_that_a_failed_run_broke_works_again(
    checkout: Place, script: str, options: list[str], code: int
) -> None:
    done = checkout.run("sh", "-c", script, options=options)
    assert done.code == code
    assert git(checkout.work, "status").returncode == 0
    assert f"runcoord: git: put back in {checkout.work}: core.bare (true after" in done.err.replace(
        "false before, ", ""
    ).replace("core.bare (false before, true", "core.bare (true")
    assert checkout.folders == []
    run_id = checkout.only_run().run_id
    assert "put back: core.bare" in checkout("show", run_id).out
    with checkout.coordinator() as coordinator:
        snapshot = coordinator.snapshot(run_id)
    assert snapshot is not None
    assert snapshot.state is SnapshotState.RESTORED


def test_it_is_put_back_after_a_signal_and_after_a_stop(checkout: Place) -> None:
    script = f"{BREAK}; touch ready; sleep {LIFE}"
    process = checkout.begin("run", "--run-id", "r1", "--", "sh", "-c", script)
    until((checkout.work / "ready").exists)
    process.send_signal(signal.SIGTERM)
    assert finished(process).code == 143
    assert git(checkout.work, "status").returncode == 0
    (checkout.work / "ready").unlink()
    process = checkout.begin("run", "--run-id", "r2", "--", "sh", "-c", script)
    until((checkout.work / "ready").exists)
    assert checkout("stop", "r2").code == 5
    assert finished(process).code == 121
    assert git(checkout.work, "status").returncode == 0


def test_what_writes_until_it_is_killed_cannot_break_it_again(checkout: Place) -> None:
    writer = "trap '' TERM; for _ in $(seq 3000); do git config core.bare true; sleep 0.01; done"
    done = checkout.run("sh", "-c", f'setsid sh -c "{writer}" & sleep 0.3; exit 3', options=["--grace", "1"])
    assert done.code == 3
    assert git(checkout.work, "status").returncode == 0


def test_a_success_is_left_as_it_is_and_said_to_be_unclean(checkout: Place) -> None:
    done = checkout.run("sh", "-c", BREAK, options=["--report", "r.json"])
    report = report_of(checkout.work / "r.json")
    assert done.code == 120
    assert f"git: {checkout.work} does not work as before: core.bare (" in done.err
    assert "git says: fatal: this operation must be run in a work tree" in done.err
    assert (
        "not as before: core.bare, what git answers; what was written down is in"
        in checkout("show", checkout.only_run().run_id).out
    )
    assert git(checkout.work, "config", "core.bare").stdout == "true\n"
    assert (checkout.only_run().outcome, report["clean"]) == (Outcome.COMPLETED, False)
    assert [str(each) for each in checkout.folders] == [report["git"]["kept"]]


def test_a_bare_checkout_that_works_afterwards_is_said_to_in_words(checkout: Place) -> None:
    git(checkout.work, "config", "core.bare", "true")
    done = checkout.run("sh", "-c", "git config core.bare false")
    run_id = checkout.only_run().run_id
    assert done.code == 0
    changed = f"core.bare (true before, false after); git works in {checkout.work}, where it did not before"
    assert done.said == [f"runcoord: git: {checkout.work} was changed: {changed}"]
    assert "works as before; changed: core.bare, what git answers" in checkout("show", run_id).out
    said = json.dumps(json.loads(checkout("show", run_id, "--json").out)["snapshot"]["report"])
    assert "toplevel none" in said


def test_a_success_that_commits_is_clean(checkout: Place) -> None:
    script = "git -c user.name=A -c user.email=a@example.org commit -q --allow-empty -m second"
    done = checkout.run("sh", "-c", f"{script}; git switch -q -c other")
    assert done.code == 0
    assert checkout.folders == []


def test_commits_and_worktrees_of_a_failed_run_are_kept(checkout: Place) -> None:
    script = (
        "git -c user.name=A -c user.email=a@example.org commit -q --allow-empty -m second;"
        f" git worktree add -q ../child -b child; {BREAK}; exit 1"
    )
    assert checkout.run("sh", "-c", script).code == 1
    assert "second" in git(checkout.work, "log", "--oneline").stdout
    assert git(checkout.directory / "child", "status").returncode == 0


def test_with_no_git_nothing_is_looked_at(checkout: Place) -> None:
    done = checkout.run("sh", "-c", f"{BREAK}; exit 3", options=["--no-git", "--report", "r.json"])
    assert (done.code, done.err) == (3, "")
    assert report_of(checkout.work / "r.json")["git"] is None
    assert git(checkout.work, "config", "core.bare").stdout == "true\n"


def test_the_variables_of_a_hook_reach_neither_the_command_nor_the_snapshot(checkout: Place) -> None:
    other = checkout.directory / "other"
    other.mkdir()
    git(other, "init", "-q")
    bound = {"GIT_DIR": str(other / ".git"), "GIT_INDEX_FILE": str(other / "index")}
    done = checkout.run("sh", "-c", f"echo ${{GIT_DIR-none}}; {BREAK}; exit 3", more=bound)
    assert (done.code, done.out) == (3, "none\n")
    assert git(checkout.work, "status").returncode == 0
    assert git(other, "config", "core.bare").stdout == "false\n"


def test_outside_of_a_checkout_nothing_is_written_down(place: Place) -> None:
    done = place.run("sh", "-c", "exit 3", options=["--report", "r.json"])
    assert (done.code, report_of(place.work / "r.json")["git"]) == (3, None)


def test_a_worktree_that_was_lost_is_called_one(checkout: Place) -> None:
    assert git(checkout.work, "worktree", "add", "-q", str(checkout.work.parent / "side")).returncode == 0
    done = checkout.run("sh", "-c", "rm -r .git/worktrees; exit 1")
    assert f"git: put back in {checkout.work}: worktree side (" in done.err
    assert "side" in git(checkout.work, "worktree", "list").stdout
