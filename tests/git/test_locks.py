"""Lock files left behind: moved aside only when new and held by nobody."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from git.repositories import PATIENCE, Place, as_nobody, contents, environment, repository, with_program
from runcoord._git import Agreement, GitSnapshot, Outcome, RestoreReport, Result, What, drift, load
from runcoord._git.entries import lock_at
from runcoord._git.locks import move_aside

HOLD = "import sys, time; held = open(sys.argv[1], 'xb'); print('held', flush=True); time.sleep(60)"


def lock_steps(report: RestoreReport) -> list[tuple[Result, str]]:
    return [(each.result, each.why) for each in report.steps if each.difference.what is What.LOCK]


@contextmanager
def holding(lock: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process makes the lock and keeps it open."""
    command = [sys.executable, "-I", "-S", "-c", HOLD, str(lock)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


@contextmanager
def git_before_its_rename(main: Place, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A real ``git config`` that wrote and closed ``config.lock`` and has not renamed it yet."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    log = main.path.parent / "strace.log"
    renames = "rename,renameat,renameat2"
    command = [strace, "-f", "-o", str(log), "-e", f"trace={renames}"]
    command += ["-e", f"inject={renames}:delay_enter=50000000", "git", *arguments]
    lock = main.path / ".git" / "config.lock"
    process = subprocess.Popen(command, cwd=main.path, env=main.environ, start_new_session=True)
    try:
        deadline = time.monotonic() + PATIENCE
        while not (log.exists() and b"rename" in log.read_bytes() and lock.exists()):
            if process.poll() is not None:
                pytest.skip("strace cannot trace or inject here")
            assert time.monotonic() < deadline, "git did not come to its rename"
            os.sched_yield()
        yield process
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(PATIENCE)


def left_by_a_killed_git(main: Place) -> Path:
    with git_before_its_rename(main, "config", "user.name", "x"):
        pass
    lock = main.path / ".git" / "config.lock"
    assert lock.exists()
    return lock


@pytest.mark.real
def test_a_lock_left_by_a_killed_git_is_moved_aside_and_the_values_go_back(main: Place) -> None:
    snapshot = main.snapshot()
    main.git("config", "core.bare", "true")
    lock = left_by_a_killed_git(main)
    content = lock.read_bytes()
    report = main.restored(snapshot)
    assert report.outcome is Outcome.RESTORED
    [(result, why)] = lock_steps(report)
    assert result is Result.DONE
    assert "held by nobody" in why
    assert [each.read_bytes() for each in lock.parent.glob("config.lock.left-*")] == [content]
    assert main.works
    main.git("config", "user.name", "can write again")
    assert main.restored(snapshot).outcome is Outcome.AS_BEFORE


def test_a_stale_lock_without_another_difference_is_moved_aside_too(main: Place) -> None:
    snapshot = main.snapshot()
    (main.path / ".git" / "config.lock").touch()
    assert drift(snapshot, environ=main.environ).agreement is Agreement.DIFFERS
    assert main.restored(snapshot).outcome is Outcome.RESTORED
    main.git("config", "user.name", "x")


def test_an_ordinary_user_can_move_a_stale_lock_of_their_own(open_to_all: Path) -> None:
    """What other users' processes have open cannot be seen; but they do not hold a lock of one's own."""

    def told() -> Any:
        place = repository(open_to_all / "main", environment(open_to_all / "home"))
        snapshot = place.snapshot()
        (place.path / ".git" / "config.lock").touch()
        return place.restored(snapshot).document()

    report = as_nobody(told)
    assert (report["outcome"], report["changed"]) == ("restored", 1)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a lock of another user")
def test_a_lock_of_another_user_is_left_alone_because_its_holder_cannot_be_seen(open_to_all: Path) -> None:
    place = Place(open_to_all / "main", environment(open_to_all / "home"))

    def prepared() -> Any:
        repository(place.path, place.environ)
        return place.snapshot().directory

    def told() -> Any:
        snapshot = load(directory)
        assert isinstance(snapshot, GitSnapshot)
        before = contents(place.path)
        report = place.restored(snapshot)
        return {"report": report.document(), "same": contents(place.path) == before}

    directory = as_nobody(prepared)
    (place.path / ".git" / "config.lock").touch()
    heard = as_nobody(told)
    assert heard["same"]
    assert heard["report"]["outcome"] == "unverified"
    assert [step["result"] for step in heard["report"]["steps"]] == ["refused"]


def assert_left_alone(main: Place, snapshot: GitSnapshot, why: str) -> None:
    before = contents(main.path)
    report = main.restored(snapshot)
    assert contents(main.path) == before
    assert report.outcome is Outcome.NOT_RESTORED
    assert report.changed == 0
    [(result, said)] = lock_steps(report)
    assert result is Result.REFUSED
    assert why in said
    [failed] = [each for each in report.steps if each.difference.what is What.CONFIG]
    assert failed.result is Result.FAILED
    assert "lock" in failed.why


def test_a_lock_held_by_a_living_process_is_reported_and_not_touched(main: Place) -> None:
    snapshot = main.snapshot()
    main.git("config", "core.bare", "true")
    with holding(main.path / ".git" / "config.lock") as process:
        assert_left_alone(main, snapshot, f"process {process.pid} has it open")
    assert main.restored(snapshot).outcome is Outcome.RESTORED


@pytest.mark.real
def test_a_living_git_that_closed_its_lock_and_did_not_rename_it_yet_keeps_it(main: Place) -> None:
    snapshot = main.snapshot()
    main.git("config", "core.bare", "true")
    with git_before_its_rename(main, "config", "user.name", "x"):
        assert_left_alone(main, snapshot, "is a git at work in this repository")


def test_a_lock_that_goes_away_within_a_moment_is_waited_for(main: Place) -> None:
    snapshot = main.snapshot()
    main.git("config", "core.bare", "true")
    once = main.path.parent / "once"
    script = f"""#!/bin/sh
case "$*" in *--replace-all*)
    if [ ! -e {once} ]; then
        : > {once}
        echo 'error: could not lock config file .git/config: File exists' >&2
        exit 255
    fi;;
esac
exec {shutil.which("git")} "$@"
"""
    assert with_program(main, "git", script).restored(snapshot).outcome is Outcome.RESTORED
    assert once.exists()


def test_a_held_lock_in_nobodys_way_does_not_spoil_the_result(main: Place) -> None:
    snapshot = main.snapshot()
    with holding(main.path / ".git" / "config.lock"):
        report = main.restored(snapshot)
        assert report.outcome is Outcome.AS_BEFORE
        assert [result for result, _ in lock_steps(report)] == [Result.REFUSED]


def test_a_lock_that_was_there_at_the_snapshot_is_nobodys_to_move(main: Place) -> None:
    lock = main.path / ".git" / "config.lock"
    lock.touch()
    snapshot = main.snapshot()
    before = contents(main.path)
    report = main.restored(snapshot)
    assert contents(main.path) == before
    assert report.outcome is Outcome.AS_BEFORE
    [step] = report.steps
    assert (step.result, step.difference.what) == (Result.REPORTED, What.LOCK_LEFT)
    lock.unlink()
    lock.write_text("another one")
    assert main.restored(snapshot).outcome is Outcome.RESTORED
    assert not lock.exists()


def test_locks_of_index_and_head_are_reported_only(main: Place) -> None:
    """A ``git commit`` in its editor holds ``index.lock`` without having it open: nobody can tell."""
    snapshot = main.snapshot()
    for name in ("index.lock", "HEAD.lock"):
        (main.path / ".git" / name).touch()
    before = contents(main.path)
    report = main.restored(snapshot)
    assert contents(main.path) == before
    assert report.outcome is Outcome.AS_BEFORE
    assert [(each.result, each.difference.what) for each in report.steps] == [
        (Result.REPORTED, What.LOCK_LEFT)
    ] * 2


def test_a_lock_that_another_git_took_meanwhile_is_given_back(main: Place) -> None:
    path = main.path / ".git" / "config.lock"
    path.write_text("stale")
    stale = lock_at(str(path))
    assert stale is not None
    other = main.path / "other"
    other.write_text("of a living git")
    other.rename(path)
    before = contents(main.path)
    with pytest.raises(FileExistsError, match="meanwhile"):
        move_aside(stale)
    assert contents(main.path) == before
