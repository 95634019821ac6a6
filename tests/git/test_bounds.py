"""Every question to git has an end, and there are few of them; nothing here raises."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from git.repositories import PATIENCE, Place, contents, with_program
from runcoord._core import limits
from runcoord._git import Agreement, Outcome, Result, What, drift, load
from runcoord._git.calls import Git
from runcoord._git.values import GitSnapshot


def counting(place: Place, log: Path) -> Place:
    real = shutil.which("git")
    return with_program(place, "git", f'#!/bin/sh\necho "$*" >> {log}\nexec {real} "$@"\n')


def test_few_git_processes_are_started(main: Place, tmp_path: Path) -> None:
    log = tmp_path / "started"
    counted = counting(main, log)

    def started() -> int:
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return len(lines)

    snapshot = counted.snapshot()
    assert started() == 3  # the config, where, status
    assert counted.restored(snapshot).git_processes == started() == 2
    assert drift(snapshot, environ=counted.environ).git_processes == started() == 2
    main.git("config", "core.bare", "true")
    assert counted.restored(snapshot).git_processes == started() == 4  # read, written, where, status


def test_no_key_of_the_terminal_reaches_a_git_that_is_being_started(main: Place, tmp_path: Path) -> None:
    """It is in the caller's group until it has a session; a stop there would stand still with the caller."""
    seen, real = tmp_path / "seen", shutil.which("git")
    program = (  # a shell would clear its mask
        f"#!{sys.executable} -IS\n"
        "import os, signal, sys\n"
        f"with open({str(seen)!r}, 'a') as file:\n"
        "    print(*map(int, signal.pthread_sigmask(signal.SIG_BLOCK, [])), file=file)\n"
        f"os.execv({real!r}, ['git', *sys.argv[1:]])\n"
    )
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    with_program(main, "git", program).snapshot()
    assert seen.exists()
    for line in seen.read_text().splitlines():
        assert {signal.SIGTSTP, signal.SIGINT, signal.SIGQUIT} <= {*map(int, line.split())}
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


def test_two_more_processes_for_each_worktree(main: Place) -> None:
    for name in ("a", "b", "c"):
        main.worktree(name)
    snapshot = main.snapshot()
    assert main.restored(snapshot).git_processes == 2 * 4


def test_git_that_does_not_answer_is_ended_with_its_children_and_counts_as_unknown(
    main: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    snapshot = main.snapshot()
    pids = tmp_path / "pids"
    stuck = with_program(main, "git", f"#!/bin/sh\nsleep 60 &\necho $$ $! >> {pids}\nwait\n")
    monkeypatch.setattr(limits, "GIT_CALL_SECONDS", 0.5)
    main.git("config", "core.bare", "true")
    before = contents(main.path)
    report = stuck.restored(snapshot)
    assert contents(main.path) == before
    assert not report.settled
    assert any("no answer" in each.difference.detail for each in report.steps)
    deadline = time.monotonic() + PATIENCE
    left = [int(pid) for pid in pids.read_text().split()]
    while any(alive(pid) for pid in left):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def test_all_questions_together_have_an_end(main: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "GIT_SECONDS", 0.0)
    snapshot = main.snapshot()
    assert all("not asked" in each.says for each in snapshot.before.behaviours)
    assert main.restored(snapshot).outcome is Outcome.UNVERIFIED


def test_git_that_says_too_much_is_ended(main: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "GIT_OUTPUT_BYTES", 1000)
    loud = with_program(main, "git", "#!/bin/sh\nexec yes\n")
    [answer] = Git(loud.environ).inside([(str(main.path), ["status"])])
    assert answer.status is None
    assert "more than 1000 bytes" in answer.problem


@pytest.mark.parametrize("path", ["", "relative", "/nowhere"])
def test_without_git_nothing_is_verified_and_nothing_changed(main: Place, path: str) -> None:
    snapshot = main.snapshot()
    main.git("config", "core.bare", "true")
    before = contents(main.path)
    report = Place(main.path, {**main.environ, "PATH": path}).restored(snapshot)
    assert contents(main.path) == before
    assert report.outcome is Outcome.UNVERIFIED
    assert report.git_processes == 0


def test_a_git_in_the_current_directory_is_not_run(main: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = main.path.parent / "ran"
    (main.path / "programs").mkdir()
    (main.path / "programs" / "git").write_text(f"#!/bin/sh\n: > {ran}\n")
    (main.path / "programs" / "git").chmod(0o755)
    monkeypatch.chdir(main.path)
    Place(main.path, {**main.environ, "PATH": "programs"}).snapshot()
    assert not ran.exists()


def test_a_config_is_read_and_written_without_looking_for_a_repository(main: Place, tmp_path: Path) -> None:
    """Else a broken repository in the current directory would keep its own config from being repaired."""
    log = tmp_path / "asked"
    real = shutil.which("git")
    script = f'#!/bin/sh\ncase "$1" in config) echo "$PWD $GIT_DIR" >> {log};; esac\nexec {real} "$@"\n'
    logged = with_program(main, "git", script)
    snapshot = logged.snapshot()
    main.git("config", "core.bare", "true")
    assert logged.restored(snapshot).outcome is Outcome.RESTORED
    assert log.read_text().splitlines() == ["/ /dev/null"] * 3


def test_a_lost_exit_status_is_unknown_and_never_success(main: Place) -> None:
    """With SIGCHLD ignored the kernel reaps children, and nobody learns how they ended."""
    snapshot = main.snapshot()
    main.git("config", "core.bare", "true")
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        report = main.restored(snapshot)
        alone = main.snapshot(main.path.parent / "alone")
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert not report.settled
    assert {each.heard.value for each in alone.before.behaviours} == {"unknown"}
    assert main.restored(snapshot).settled


def test_a_config_that_is_a_pipe_blocks_nobody(main: Place) -> None:
    snapshot = main.snapshot()
    (main.path / ".git" / "config").unlink()
    os.mkfifo(main.path / ".git" / "config")
    git = Git(main.environ)
    report = drift(GitSnapshot(snapshot.directory, snapshot.before), environ={"PATH": ""})
    assert git.processes == 0
    assert report.agreement is Agreement.BROKEN
    assert What.IDENTITY in {each.what for each in report.differences}


def test_a_config_too_large_is_left_alone(main: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "GIT_CONFIG_BYTES", 20)
    snapshot = main.snapshot()
    main.git("config", "core.bare", "true")
    before = contents(main.path)
    assert not main.restored(snapshot).settled
    assert contents(main.path) == before


def test_a_snapshot_has_a_size(main: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    main.worktree("linked")
    monkeypatch.setattr(limits, "GIT_SNAPSHOT_BYTES", 100)
    snapshot = main.snapshot()
    saved = sum(len(file.content or b"") for each in snapshot.before.registrations for file in each.files)
    assert saved <= 100


def test_an_error_of_our_own_is_a_step_of_the_report(main: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = main.snapshot()

    def broken(*_: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr("runcoord._git.restoring.files_now", broken)
    report = main.restored(snapshot)
    assert report.outcome is Outcome.NOT_RESTORED
    assert [(each.result, each.difference.what) for each in report.steps] == [(Result.FAILED, What.FAULT)]
    assert drift(snapshot, environ=main.environ).agreement is Agreement.UNKNOWN


def test_every_step_is_logged_with_its_fields(main: Place, caplog: pytest.LogCaptureFixture) -> None:
    snapshot = main.snapshot()
    main.git("config", "core.bare", "true")
    with caplog.at_level(logging.INFO, "runcoord.git"):
        report = main.restored(snapshot)
    said = [vars(record) for record in caplog.records]
    assert len(said) == len(report.steps) + 1
    assert (said[0]["result"], said[0]["about"], said[0]["key"]) == ("done", "config", "core.bare")
    assert (said[-1]["outcome"], said[-1]["changed"]) == ("restored", 1)


def test_reports_and_snapshots_are_json(main: Place) -> None:
    snapshot = main.snapshot()
    main.git("config", "core.bare", "true")
    report = json.loads(json.dumps(main.restored(snapshot).document()))
    assert report["outcome"] == "restored"
    assert report["steps"][0]["before"] == ["false"]
    document = json.loads(json.dumps(snapshot.document()))
    assert document["configs"][0]["values"]["core.bare"] == ["false"]
    assert isinstance(load(snapshot.directory), GitSnapshot)


def test_nothing_is_left_running(main: Place) -> None:
    main.restored(main.snapshot())
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    if not children.exists() or sys.platform != "linux":
        pytest.skip("this system does not list children")
    names = [Path(f"/proc/{pid}/comm").read_text().strip() for pid in children.read_text().split()]
    assert "git" not in names
