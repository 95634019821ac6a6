"""What a user can get wrong and a machine can refuse: a clear message, its exit status, nothing left."""

from __future__ import annotations

import json
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys

import pytest

from runcoord import Outcome
from running.real_runs import LIFE, Done, Place, finished, program

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="runs commands on Linux"),
]


def nothing_happened(place: Place) -> None:
    assert not (place.work / "executed").exists()
    assert place.folders == []
    if place.store.exists():
        assert place.runs() == []


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("no-such-command", 127, "there is no command 'no-such-command' in any directory of PATH"),
        ("./no-such-file", 127, "there is no command './no-such-file': No such file or directory"),
        ("", 127, "the name of the command is empty"),
        ("/etc/passwd", 126, "/etc/passwd cannot be executed: Permission denied"),
        ("/etc", 126, "/etc cannot be executed: Is a directory"),
    ],
)
def test_a_command_that_cannot_be_is_named(place: Place, command: str, code: int, said: str) -> None:
    done = place.run(command)
    assert (done.code, done.out, done.said[0]) == (code, "", f"runcoord: {said}")
    nothing_happened(place)


@pytest.mark.parametrize(
    ("content", "said", "remedy"),
    [
        ("#!/no/such/interpreter\n", "No such file or directory", "check the interpreter"),
        ("\x7fELF nonsense", "Exec format error", "a script needs a first line"),
    ],
)
def test_a_program_that_the_system_refuses_ends_its_run_as_failed(
    place: Place, content: str, said: str, remedy: str
) -> None:
    program_file = place.work / "tool"
    program_file.write_text(content)
    program_file.chmod(0o755)
    done = place.run("./tool")
    run = place.only_run()
    what = f"{program_file} cannot be executed: {said}"
    assert done.code == 126
    assert done.said[0] == f"runcoord: {what}; run {run.run_id!r} is recorded as failed"
    assert remedy in done.said[1]
    assert run.error == f"it never began: {program_file} cannot be executed: {said}"
    assert (run.outcome, run.exit_status, place.folders) == ("failed", None, [])


@pytest.mark.parametrize("directory", ["missing", "file"])
def test_a_directory_that_cannot_be_entered_is_named(place: Place, directory: str) -> None:
    (place.work / "file").touch()
    done = place.run("touch", "executed", options=["-C", directory])
    assert done.code == 126
    assert done.said[0].startswith(f"runcoord: {directory} cannot be entered: ")
    nothing_happened(place)


def without_privileges(place: Place, *words: str) -> Done:
    """The same, where permissions count also for root."""
    setpriv = shutil.which("setpriv")
    if os.geteuid() == 0 and setpriv is None:
        pytest.skip("root without setpriv may do everything")
    drop = [setpriv, "--bounding-set=-dac_override,-dac_read_search"] if setpriv and os.geteuid() == 0 else []
    process = subprocess.Popen(
        [*drop, *program(*words)],
        env=place.environment(),
        cwd=place.work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return finished(process)


def test_a_directory_without_permission_is_named(place: Place) -> None:
    (place.work / "closed").mkdir(mode=0)
    done = without_privileges(place, "run", "-C", "closed", "--", "touch", "executed")
    assert (done.code, done.said[0]) == (126, "runcoord: closed cannot be entered: Permission denied")
    nothing_happened(place)


def test_a_store_without_permission_is_named(place: Place) -> None:
    place.run("true")
    place.store.chmod(0o400)
    place.store.parent.chmod(0o500)
    done = without_privileges(place, "run", "--", "touch", "executed")
    place.store.parent.chmod(0o700)
    assert (done.code, done.out) == (125, "")
    assert str(place.store) in done.said[0]
    assert not (place.work / "executed").exists()
    assert len(place.runs()) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--timeout", "0"], "timeout is 0.0: the command would have no time at all"),
        (["--timeout", "0m"], "timeout is 0.0: the command would have no time at all"),
        (["--timeout", "101000d"], "timeout is 8726400000.0, not a number of seconds from 0 to 3153600000"),
        (["--grace", "999"], "grace is 999.0"),
        (["--depth-variable", "a b"], "depth 'a b' is not the name of an environment variable"),
        (["--report", "/nowhere/r.json"], "the report cannot be written to '/nowhere/r.json'"),
        (["--task", "x" * 2_000], "task"),
        (["--run-id", "a/b"], "run_id"),
        (["--run-id", "."], "run_id"),
        (["--run-id", ".."], "run_id"),
    ],
)
def test_an_option_that_makes_no_sense_is_named(place: Place, options: list[str], said: str) -> None:
    done = place.run("touch", "executed", options=options)
    assert (done.code, done.out) == (125, "")
    assert said in done.said[0]
    nothing_happened(place)


@pytest.mark.parametrize("option", ["--timeout", "--grace"])
@pytest.mark.parametrize(
    "length", ["nan", "inf", "-1", "1e3", "90 s", "90S", "5w", "s", "", ".", "٣s", "1s1s"]
)
def test_a_length_of_time_that_is_none_is_named_with_the_units(
    place: Place, option: str, length: str
) -> None:
    done = place.run("touch", "executed", options=[option, length])
    assert (done.code, done.out) == (125, "")
    assert f"Invalid value for '{option}': {length!r} is not a length of time" in done.err
    assert "(ms, s, m, h, d), as in 90s; without a unit it is seconds." in " ".join(done.err.split())
    nothing_happened(place)


@pytest.mark.parametrize("words", [["run"], ["run", "--"], ["run", "--nonsense", "--", "true"]])
def test_a_command_line_that_is_not_understood_has_the_code_of_a_failure_of_runcoord(
    place: Place, words: list[str]
) -> None:
    done = place(*words)
    assert (done.code, done.out) == (125, "")
    assert "See: runcoord run --help" in done.err
    nothing_happened(place)


def test_a_store_that_cannot_be_written_is_named_and_nothing_is_executed(place: Place) -> None:
    (place.directory / "file").touch()
    done = place.run("touch", "executed", options=["--store", str(place.directory / "file" / "runs.db")])
    assert done.code == 125
    assert "the store cannot be opened" in done.said[0]
    nothing_happened(place)


def test_a_store_that_is_no_store_is_named_and_left_alone(place: Place) -> None:
    place.store.parent.mkdir()
    place.store.write_text("not a database, but long enough to be taken for one" * 10)
    before = place.store.read_bytes()
    done = place.run("touch", "executed", options=["--json"])
    assert done.code == 125
    error = json.loads(done.err)
    assert (error["code"], error["happened"]) == ("store-damaged", "no")
    assert place.store.read_bytes() == before
    assert not (place.work / "executed").exists()


def test_a_folder_for_the_run_that_cannot_be_made_is_named(place: Place) -> None:
    place.run("true")
    place.store.with_name("runs.db.snapshots").write_text("in the way")
    done = place.run("touch", "executed")
    assert done.code == 125
    assert "the directory of the run cannot be made" in done.said[0]
    assert not (place.work / "executed").exists()
    assert len(place.runs()) == 1


# --- what the process that starts it passes on ----------------------------------------------------


PROBE = (
    "cat >/dev/null 2>&1; a=$?; (printf x) 2>/dev/null; b=$?; printf x >&2; c=$?;"
    " echo $a $b $c >streams; exit 3"
)
"""Writes which of the standard streams can be used: 0 for those that can."""


@pytest.mark.parametrize(
    ("closed", "seen"),
    [("", "0 0 0"), ("<&-", "1 0 0"), (">&-", "0 2 0"), ("2>&-", "0 0 2"), ("<&- >&- 2>&-", "1 2 2")],
)
def test_closed_standard_streams_are_as_unusable_for_the_command(
    place: Place, closed: str, seen: str
) -> None:
    words = shlex.join(program("run", "--", "sh", "-c", PROBE))
    process = subprocess.Popen(
        ["sh", "-c", f"exec {words} {closed}"],
        env=place.environment(),
        cwd=place.work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    done = finished(process)
    assert done.code == 3, done.err
    usable = [int(status) == 0 for status in (place.work / "streams").read_text().split()]
    assert usable == [int(status) == 0 for status in seen.split()]
    assert place.only_run().exit_status == 3


@pytest.mark.parametrize("limit", [6, 8, 10, 12, 14, 16, 20, 26, 40])
def test_with_few_file_descriptors_it_works_or_says_why_not(place: Place, limit: int) -> None:
    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

    done: Done = place.run("sh", "-c", "exit 3", preexec_fn=lower)
    if done.code == 3:
        assert place.only_run().exit_status == 3
        return
    assert (done.code, done.out) == (125, ""), done.err
    assert "Too many open files" in done.err or "cannot" in done.err
    if place.store.exists() and place.store.stat().st_size:
        assert [run for run in place.runs() if run.outcome == "completed"] == []


def test_a_system_that_gives_no_thread_is_named_and_nothing_is_left(place: Place) -> None:
    code = (
        "import sys, threading; from runcoord.cli import main\n"
        'def refuse(self): raise RuntimeError("can\'t start new thread")\n'
        "start = threading.Thread.start\n"
        "def begin(self): (refuse if self.name.startswith('runcoord-command') else start)(self)\n"
        "threading.Thread.start = begin\n"
        f"sys.argv[1:] = ['run', '--', 'sleep', '{LIFE}']; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=place.environment(),
        cwd=place.work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    done = finished(process)
    said = "nothing can keep its lease: can't start new thread"
    assert (done.code, done.said) == (125, [f"runcoord: {said}"])
    assert (place.only_run().outcome, place.only_run().error) == (Outcome.INTERRUPTED, said)
    assert (place.alive(), place.folders) == ({}, [])


def test_enough_file_descriptors_are_few(place: Place) -> None:
    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    assert place.run("sh", "-c", "exit 3", preexec_fn=lower).code == 3


def test_a_caller_that_ignores_the_end_of_its_children_changes_nothing(place: Place) -> None:
    git = shutil.which("git")
    if git is not None:
        subprocess.run([git, "init", "-q"], cwd=place.work, check=True, env=place.environment())
    script = "git config core.bare true; exit 3" if git else "exit 3"
    done = place.run("sh", "-c", script, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert done.code == 3
    assert place.only_run().exit_status == 3
    if git is not None:
        status = subprocess.run([git, "status"], cwd=place.work, check=False, capture_output=True)
        assert status.returncode == 0


def test_the_command_s_own_view_of_signals_is_the_caller_s(place: Place) -> None:
    def ignore() -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    probe = (
        "import signal; print(*[signal.getsignal(n) == signal.SIG_IGN for n in"
        " (signal.SIGCHLD, signal.SIGHUP, signal.SIGTERM, signal.SIGTTOU)],"
        " len(signal.pthread_sigmask(signal.SIG_BLOCK, [])))"
    )
    done = place.run(sys.executable, "-c", probe, preexec_fn=ignore)
    assert done.out == "False True False False 0\n"


# --- /proc ----------------------------------------------------------------------------------------


def behind(place: Place, mounts: str, *words: str) -> Done:
    """The same where ``/proc`` is mounted otherwise, in a namespace of its own."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("only root may mount, in a namespace that unshare makes")
    script = f"{mounts} && exec {shlex.join(program(*words))}"
    process = subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", script],
        env=place.environment(),
        cwd=place.work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    done = finished(process)
    if "mount:" in done.err:
        pytest.skip(f"nothing can be mounted here: {done.err.splitlines()[0]}")
    return done


WITHOUT_PROC = "mount -t tmpfs none /proc"


@pytest.mark.parametrize("code", [0, 3])
def test_without_proc_nothing_is_left_running(place: Place, code: int) -> None:
    tree = f"sleep {LIFE} & (trap '' TERM; sleep {LIFE}) & sleep 0.3; exit {code}"
    done = behind(place, WITHOUT_PROC, "run", "--grace", "1", "--", "sh", "-c", tree)
    assert (done.code, done.err) == (code, "")
    assert place.alive() == {}


def test_without_proc_one_that_cannot_be_found_is_said_to_be_there(place: Place) -> None:
    tree = "setsid sleep 12 >/dev/null 2>&1 & sleep 0.3; exit 0"
    done = behind(place, WITHOUT_PROC, "run", "--grace", "1", "--", "sh", "-c", tree)
    assert done.code == 120
    assert "it could not be seen that no process of it is left" in done.err


@pytest.mark.parametrize("hidepid", ["1", "2"])
def test_with_processes_of_others_hidden_nothing_is_left_running(place: Place, hidepid: str) -> None:
    tree = f"setsid sleep {LIFE} & (trap '' TERM; sleep {LIFE}) & sleep 0.3; exit 3"
    mounts = f"mount -t proc -o hidepid={hidepid} proc /proc"
    done = behind(place, mounts, "run", "--grace", "1", "--", "sh", "-c", tree)
    assert done.code == 3, done.err
    assert place.alive() == {}


@pytest.mark.parametrize("run_id", [".", "..", "../..", "a/../.."])
def test_an_id_that_names_a_directory_removes_nothing_of_it(place: Place, run_id: str) -> None:
    """The directory of a run that is refused is removed with all that is in it."""
    assert place.run("true").code == 0
    beside = place.store.with_name("not-ours")
    beside.write_text("kept")
    others = place.store.with_name(f"{place.store.name}.snapshots") / "another-run" / "file"
    others.parent.mkdir(parents=True)
    others.write_text("kept")
    done = place.run("touch", "executed", options=["--run-id", run_id])
    assert (done.code, "is not usable as an id" in done.said[0]) == (125, True)
    assert (beside.read_text(), others.read_text(), len(place.runs())) == ("kept", "kept", 1)
    assert not (place.work / "executed").exists()
