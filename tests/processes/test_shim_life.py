"""A run on its shim: the gate, what the command gets, how its end is told, and what stays untouched."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from processes.trees import LIFE_SECONDS, PATIENCE_SECONDS, Grove, grove, linux_only
from runcoord._launching import ShimLauncher
from runcoord._processes import open_processes
from runcoord.errors import InvalidRequest, LaunchFailed, ProcessGone
from runcoord.ports import Fate, Membership

__all__ = ["grove"]

pytestmark = [linux_only, pytest.mark.real]

ENOUGH_DESCRIPTORS = 11
SLEEP = f"exec sleep {LIFE_SECONDS}"
TELL = """
import json, os, signal, sys
lines = open("/proc/self/status").read().splitlines()
status = dict(line.split(":\\t", 1) for line in lines if ":\\t" in line)
told = {
    "ignored": status["SigIgn"], "blocked": status["SigBlk"], "pid": os.getpid(), "parent": os.getppid(),
    "group": os.getpgrp(), "session": os.getsid(0), "directory": os.getcwd(), "argv0": sys.orig_argv[0],
    "descriptors": sorted(int(fd) for fd in os.listdir("/proc/self/fd")),
    "environment": {key.decode("latin1"): value.decode("latin1") for key, value in os.environb.items()},
}
open(sys.argv[1], "w").write(json.dumps(told))
"""


def told_by_command(
    grove: Grove, launcher: ShimLauncher | None = None, **changes: object
) -> dict[str, object]:
    """What a command says about itself."""
    answer = grove.folder / "told"
    order = grove.order(sys.executable, "-c", TELL, str(answer), **changes)
    tree = ShimLauncher().launch(order)
    grove.trees.append(tree)
    tree.open_gate()
    ending = tree.wait(PATIENCE_SECONDS)
    assert ending is not None
    assert ending.status == 0
    return dict(json.loads(answer.read_text()))


def descriptors() -> set[str]:
    return {each.name for each in Path("/proc/self/fd").iterdir() if each.exists() or each.is_symlink()}


def run_python(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A program of its own, which can use this directory."""
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
    )


def nothing_is_left(cookie: str) -> bool:
    """No process of the run is found by its cookie."""
    return open_processes().scan(Membership(cookie=cookie), 5.0).members == ()


def await_nothing_left(cookie: str) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not nothing_is_left(cookie):
        assert time.monotonic() < until, open_processes().scan(Membership(cookie=cookie), 5.0)
        os.sched_yield()


def hold_still(pid: int) -> None:
    """Stop a process as a debugger does, so that continuing it changes nothing."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    for request in (0x4206, 0x4207):  # PTRACE_SEIZE, PTRACE_INTERRUPT
        if libc.ptrace(request, pid, None, None) < 0:
            pytest.skip(f"processes cannot be traced here: {os.strerror(ctypes.get_errno())}")


# --- the gate --------------------------------------------------------------------------------------


def test_nothing_is_executed_before_the_gate_opens(grove: Grove) -> None:
    marker = grove.folder / "executed"
    order = grove.order("sh", "-c", f"echo > {marker}")
    tree = ShimLauncher().launch(order)
    grove.trees.append(tree)
    assert tree.leader.pid != tree.shim.pid
    assert tree.wait(0.2) is None
    assert not marker.exists()
    tree.open_gate()
    ending = tree.wait(PATIENCE_SECONDS)
    assert ending is not None
    assert marker.exists()


def test_a_tree_that_is_let_go_before_its_gate_opened_leaves_nothing_and_executed_nothing(
    grove: Grove,
) -> None:
    marker = grove.folder / "executed"
    order = grove.order("sh", "-c", f"echo > {marker}")
    tree = ShimLauncher().launch(order)
    pins = [open_processes().open(each) for each in (tree.shim, tree.leader)]
    tree.close()
    open_processes().wait(pins, PATIENCE_SECONDS)
    assert all(each.ended() for each in pins)
    for each in pins:
        each.close()
    assert not marker.exists()
    assert not Path(order.last_words).exists()


def test_a_shim_that_is_killed_behind_its_gate_is_a_launch_that_failed(grove: Grove) -> None:
    order = grove.order("sh", "-c", "true")
    tree = ShimLauncher().launch(order)
    grove.trees.append(tree)
    processes, until = open_processes(), time.monotonic() + PATIENCE_SECONDS
    while len(members := processes.scan(Membership(cookie=order.cookie), 5.0).members) < 2:
        assert time.monotonic() < until
    for member in members:
        with contextlib.suppress(ProcessGone):
            pin = processes.open(processes.identify(member.identity.pid, order.cookie))
            pin.signal(signal.SIGKILL)
            pin.close()
    await_nothing_left(order.cookie)
    with pytest.raises(LaunchFailed, match=r"before the command began|did not start"):
        _ = tree.leader
    assert not Path(order.last_words).exists()


def test_a_tree_that_is_let_go_while_its_shim_is_still_starting_leaves_nothing(grove: Grove) -> None:
    order = grove.order("sh", "-c", "true")
    ShimLauncher().launch(order).close()
    await_nothing_left(order.cookie)


def test_a_tree_that_was_let_go_is_not_torn_down_from_here_any_more(grove: Grove) -> None:
    tree = grove.shell(f"echo member $$ > $EARS; {SLEEP}", "member")
    tree.close()
    with pytest.raises(ProcessGone, match="was closed"):
        tree.tear_down(5)
    grove.ears.await_ends()
    closed = ShimLauncher().launch(grove.order("true"))
    assert closed.leader.pid != closed.shim.pid
    closed.close()
    assert closed.tear_down(5).emptied, "its gate was never opened, and its shim is gone"


def test_an_interpreter_that_cannot_be_executed_is_no_matter_of_limits(
    grove: Grove, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    order, program = grove.order("true"), tmp_path / "python"
    program.touch(mode=0o644)
    monkeypatch.setattr(sys, "executable", str(program))
    with pytest.raises(LaunchFailed, match="Permission denied") as failure:
        ShimLauncher().launch(order)
    assert failure.value.remedy == f"Check that the Python interpreter can be executed: {program}"
    await_nothing_left(order.cookie)


def test_the_waiting_command_and_its_shim_carry_the_cookie(grove: Grove) -> None:
    order = grove.order("sh", "-c", "true")
    tree = ShimLauncher().launch(order)
    grove.trees.append(tree)
    both = {tree.shim.pid, tree.leader.pid}
    members = open_processes().scan(Membership(cookie=order.cookie), 5.0).members
    assert {each.identity.pid for each in members} == both


# --- what cannot be executed --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "mode", "number"),
    [(None, 0, errno.ENOENT), ("#!/bin/sh\n", 0o644, errno.EACCES), ("no program", 0o755, errno.ENOEXEC)],
    ids=["not-there", "not-executable", "no-program"],
)
def test_a_command_that_cannot_be_executed_says_why_and_leaves_nothing(
    grove: Grove, content: str | None, mode: int, number: int
) -> None:
    program = grove.folder / "program"
    if content is not None:
        program.write_text(content)
        program.chmod(mode)
    order = grove.order("program", executable=str(program))
    tree = ShimLauncher().launch(order)
    with pytest.raises(LaunchFailed, match="program cannot be executed") as caught:
        tree.open_gate()
    assert caught.value.details == {"errno": number, "stage": "executable"}
    await_nothing_left(order.cookie)
    assert not Path(order.last_words).exists()


def test_a_directory_that_cannot_be_entered_says_so_and_nothing_is_executed(grove: Grove) -> None:
    marker = grove.folder / "executed"
    order = grove.order("sh", "-c", f"echo > {marker}", directory=str(grove.folder / "nowhere"))
    with pytest.raises(LaunchFailed, match="nowhere cannot be entered: No such file") as caught:
        ShimLauncher().launch(order).open_gate()
    assert caught.value.details["stage"] == "directory"
    assert not marker.exists()
    await_nothing_left(order.cookie)


def test_an_interpreter_that_cannot_be_started_is_a_launch_that_failed(
    grove: Grove, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(grove.folder / "no-python"))
    before = descriptors()
    with pytest.raises(LaunchFailed, match="cannot be started: No such file"):
        ShimLauncher().launch(grove.order("true"))
    assert descriptors() == before


def test_an_interpreter_that_ends_at_once_is_a_launch_that_failed(
    grove: Grove, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/true")
    before = descriptors()
    with pytest.raises(LaunchFailed, match="did not start"):
        ShimLauncher().launch(grove.order("true")).open_gate()
    assert descriptors() == before


LIMITED = """
import os, resource, sys
from processes.trees import Grove
from pathlib import Path
from runcoord._launching import ShimLauncher
from runcoord.errors import LaunchFailed
grove = Grove(Path(sys.argv[1]))
order = grove.order("sh", "-c", f"echo > {sys.argv[1]}/executed")
if sys.argv[2] == "files":
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[3]), int(sys.argv[3])))
else:
    os.close(int(sys.argv[3]))
try:
    ShimLauncher().launch(order).open_gate()
except LaunchFailed as error:
    Path(sys.argv[1], "said").write_text(f"{order.cookie} {error}")
else:
    Path(sys.argv[1], "said").write_text(f"{order.cookie} launched")
"""


@pytest.mark.parametrize("limit", range(7, 18, 2))
def test_few_file_descriptors_are_a_launch_that_failed_and_leave_nothing(tmp_path: Path, limit: int) -> None:
    assert run_python(LIMITED, str(tmp_path), "files", str(limit)).returncode == 0
    cookie, said = (tmp_path / "said").read_text().split(" ", 1)
    await_nothing_left(cookie)
    if said != "launched":
        assert "Too many open files" in said
        assert not (tmp_path / "executed").exists()
    assert (said == "launched") == (limit > ENOUGH_DESCRIPTORS)


@pytest.mark.parametrize("stream", [0, 1, 2])
def test_a_closed_standard_stream_is_a_launch_that_failed_and_leaves_nothing(
    tmp_path: Path, stream: int
) -> None:
    assert run_python(LIMITED, str(tmp_path), "streams", str(stream)).returncode == 0
    cookie, said = (tmp_path / "said").read_text().split(" ", 1)
    await_nothing_left(cookie)
    assert said.startswith(f"the standard stream {stream} (of input 0, output 1 and errors 2) is closed")
    assert not (tmp_path / "executed").exists()


# --- what the command gets ------------------------------------------------------------------------------


def test_the_command_gets_its_environment_exactly_and_nothing_else(grove: Grove) -> None:
    answer = grove.folder / "answer"
    order = grove.order("sh", "-c", f"exec env -0 > {answer}")
    wanted = {
        "PLAIN": "x",
        "BYTES": b"\xff\xfe".decode("utf-8", "surrogateescape"),
        "EMPTY": "",
        "LANG": "C",
        "PATH": os.environ["PATH"],
        "RUNCOORD_COOKIE": order.cookie,
    }
    tree = ShimLauncher().launch(replace(order, environment=wanted))
    grove.trees.append(tree)
    tree.open_gate()
    assert tree.wait(PATIENCE_SECONDS) is not None
    got = dict(pair.split(b"=", 1) for pair in answer.read_bytes().split(b"\0") if pair)
    expected = {os.fsencode(key): os.fsencode(value) for key, value in wanted.items()}
    assert {key: got.get(key) for key in expected} == expected
    assert set(got) - set(expected) <= {b"PWD", b"OLDPWD", b"_", b"SHLVL"}, "the shell's own"


def test_a_large_environment_goes_through_the_gate(grove: Grove) -> None:
    large = {f"V{number}": "x" * 100_000 for number in range(15)}
    told = told_by_command(grove, environment=large)
    got = told["environment"]
    assert isinstance(got, dict)
    assert {name: got[name] for name in large} == large


def test_a_caller_with_many_open_files_hands_none_of_them_on(grove: Grove) -> None:
    many = [os.open("/dev/null", os.O_RDONLY) for _ in range(200)]
    try:
        for fd in many:
            os.set_inheritable(fd, True)
        told = told_by_command(grove)
    finally:
        for fd in many:
            os.close(fd)
    descriptors = told["descriptors"]
    assert isinstance(descriptors, list)
    assert len(descriptors) == 4, "three streams, and the one that lists them"


def test_the_command_has_the_three_streams_its_own_group_and_the_directory(grove: Grove) -> None:
    read, write = os.pipe()
    try:
        os.set_inheritable(write, True)
        told = told_by_command(grove)
    finally:
        os.close(read)
        os.close(write)
    assert told["directory"] == str(grove.folder)
    assert told["group"] == told["pid"]
    assert told["session"] == told["parent"], "that of the shim"
    descriptors = told["descriptors"]
    assert isinstance(descriptors, list)
    assert descriptors[:3] == [0, 1, 2]
    assert len(descriptors) == 4, "the fourth is the one that lists them"


CALLER = """
import os, signal, sys
from pathlib import Path
from processes.trees import Grove
from processes.test_shim_life import told_by_command
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})
grove = Grove(Path(sys.argv[1]))
try:
    told = told_by_command(grove)
    tree = grove.launch("sh", "-c", "exit 3")
    Path(sys.argv[1], "status").write_text(f"{tree.wait(20).status}")
finally:
    grove.close()
"""


def test_signals_that_the_caller_ignores_or_blocks_do_not_change_how_the_command_is_seen(
    tmp_path: Path,
) -> None:
    assert run_python(CALLER, str(tmp_path)).returncode == 0
    told = json.loads((tmp_path / "told").read_text())
    ignored = int(told["ignored"], 16)
    assert not ignored & (1 << (signal.SIGCHLD - 1))
    assert ignored & (1 << (signal.SIGHUP - 1)), "nohup is passed on"
    assert int(told["blocked"], 16) == 0
    assert (tmp_path / "status").read_text() == "3"


# --- how it ends ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "status"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", -9), ("kill -INT $$", -2)]
)
def test_the_end_of_the_command_is_told_with_its_status_before_it_is_reaped(
    grove: Grove, script: str, status: int
) -> None:
    tree = grove.launch("sh", "-c", f"echo leader $$ > $EARS; {script}")
    ending = tree.wait(PATIENCE_SECONDS)
    assert ending is not None
    assert (ending.status, ending.interrupted) == (status, False)
    assert tree.wait(0) == ending
    [leader] = grove.ears.hear("leader")
    assert Path(f"/proc/{leader}").exists(), "a zombie, whose number stays taken"
    report = tree.tear_down(5)
    assert report.emptied
    assert not Path(f"/proc/{leader}").exists()
    assert not nothing_is_left(grove.cookies[-1]), "the shim stays until it is let go"
    tree.close()
    assert nothing_is_left(grove.cookies[-1])


def test_a_wait_can_be_woken_from_another_thread(grove: Grove) -> None:
    tree = grove.launch("sh", "-c", SLEEP)
    timer = threading.Timer(0.1, tree.wake)
    timer.start()
    began = time.monotonic()
    assert tree.wait(PATIENCE_SECONDS) is None
    assert time.monotonic() - began < 10
    timer.join()
    tree.wake()
    began = time.monotonic()
    assert tree.wait(PATIENCE_SECONDS) is None, "the next wait is woken too"
    assert time.monotonic() - began < 10


def test_a_hurry_ends_the_grace_of_a_teardown_that_is_under_way(grove: Grove) -> None:
    tree = grove.shell(f"trap '' TERM; echo member $$ > $EARS; {SLEEP}", "member")
    timer = threading.Timer(0.3, tree.hurry)
    timer.start()
    began = time.monotonic()
    report = tree.tear_down(50)
    assert time.monotonic() - began < 20
    timer.join()
    assert [each.fate for each in report.processes] == [Fate.KILLED]
    assert 0.2 < report.asking_seconds < 20


def test_a_hurry_before_the_teardown_ends_its_grace_at_once(grove: Grove) -> None:
    tree = grove.shell(f"trap '' TERM; echo member $$ > $EARS; {SLEEP}", "member")
    tree.hurry()
    began = time.monotonic()
    assert tree.tear_down(50).emptied
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("grace", [-1.0, 301.0, float("nan")])
def test_a_grace_out_of_range_is_refused_and_nothing_is_signalled(grove: Grove, grace: float) -> None:
    tree = grove.shell(f"echo member $$ > $EARS; {SLEEP}", "member")
    with pytest.raises(InvalidRequest, match="grace"):
        tree.tear_down(grace)
    assert tree.wait(0.1) is None
    assert len(grove.ears.living()) == 1


def test_a_teardown_that_an_exception_left_is_gone_on_with(grove: Grove) -> None:
    tree = grove.shell(f"trap '' TERM; echo member $$ > $EARS; {SLEEP}", "member")

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            tree.tear_down(1.0)
    finally:
        signal.signal(signal.SIGALRM, before)
    report = tree.tear_down(1.0)
    assert report.emptied
    [each] = report.processes
    assert each.signals == ("SIGTERM", "SIGCONT", "SIGKILL")


def test_a_signal_that_tells_the_shim_to_end_ends_the_run(grove: Grove) -> None:
    tree = grove.shell(f"echo member $$ > $EARS; {SLEEP}", "member", grace=20.0)
    pin = open_processes().open(tree.shim)
    pin.signal(signal.SIGTERM)
    ending = tree.wait(PATIENCE_SECONDS)
    pin.close()
    assert ending is not None
    assert ending.status == -signal.SIGTERM
    assert grove.ears.living() == []
    report = tree.tear_down(0)
    assert report.emptied
    assert [each.fate for each in report.processes] == [Fate.ASKED]


# --- what stays untouched ---------------------------------------------------------------------------------


def test_the_children_of_the_caller_stay_its_own(grove: Grove) -> None:
    listed = Path(f"/proc/self/task/{os.getpid()}/children")
    before = set(listed.read_text().split())  # other tests of this process may have started what lives longer
    own = subprocess.Popen(["sh", "-c", "exit 5"])
    tree = grove.launch("sh", "-c", SLEEP)
    assert set(listed.read_text().split()) - before == {str(own.pid)}
    tree.tear_down(0)
    tree.close()
    assert own.wait(PATIENCE_SECONDS) == 5


def test_no_descriptor_is_left_open_after_a_run(grove: Grove) -> None:
    grove.launch("true").close()
    before = descriptors()
    tree = grove.launch("true")
    tree.wait(PATIENCE_SECONDS)
    tree.tear_down(5)
    tree.close()
    tree.close()
    assert descriptors() == before


def test_output_passes_straight_and_nobody_waits_for_who_holds_the_pipe(tmp_path: Path) -> None:
    script = "echo one; echo two >&2; (setsid sleep 50 &); echo three"
    program = (
        "import sys\nfrom pathlib import Path\nfrom processes.trees import Grove\n"
        "grove = Grove(Path(sys.argv[1]))\n"
        "tree = grove.launch('sh', '-c', sys.argv[2])\n"
        "status = tree.wait(20).status\nreport = tree.tear_down(5)\ngrove.close()\n"
        "sys.exit(status if report.emptied else 99)\n"
    )
    began = time.monotonic()
    done = run_python(program, str(tmp_path), script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "one\nthree\n", "two\n")
    assert time.monotonic() - began < 20


# --- without a shim ---------------------------------------------------------------------------------------


def test_a_run_whose_shim_is_killed_is_torn_down_by_cookie(grove: Grove) -> None:
    escapee = f"(setsid sh -c 'echo escapee $$ > $EARS; {SLEEP}' &); true"
    clean = f"env -i EARS=$EARS sh -c 'echo clean $$ > $EARS; {SLEEP}' &"
    tree = grove.shell(f"{escapee}; {clean} echo leader $$ > $EARS; {SLEEP}", "escapee", "clean", "leader")
    pin = open_processes().open(tree.shim)
    pin.signal(signal.SIGKILL)
    with pytest.raises(ProcessGone, match="hangs on is gone"):
        tree.wait(PATIENCE_SECONDS)
    pin.close()
    report = tree.tear_down(5)
    assert report.emptied
    assert report.left == ()
    assert "hung on was gone" in report.problems[0]
    assert grove.ears.living() == [], report
    assert tree.tear_down(5) is report


def test_a_run_whose_shim_is_killed_after_the_command_still_tells_its_status(grove: Grove) -> None:
    os.mkfifo(f"{grove.ears.path}.go")
    tree = grove.shell("echo leader $$ > $EARS; read line < $EARS.go; exit 4", "leader")
    pin = open_processes().open(tree.shim)
    pin.signal(signal.SIGKILL)
    open_processes().wait([pin], PATIENCE_SECONDS)
    pin.close()
    with open(f"{grove.ears.path}.go", "w") as go:
        go.write("\n")
    grove.ears.await_ends()
    with contextlib.suppress(ProcessGone):  # kernels that do not tell it
        ending = tree.wait(PATIENCE_SECONDS)
        assert ending is not None
        assert ending.status == 4
    assert tree.tear_down(0).emptied


def test_a_shim_that_was_stopped_is_continued_and_costs_a_teardown_no_more_than_that(grove: Grove) -> None:
    tree = grove.shell(f"(setsid sh -c 'echo escapee $$ > $EARS; {SLEEP}' &); {SLEEP}", "escapee")
    pin = open_processes().open(tree.shim)
    pin.signal(signal.SIGSTOP)
    began = time.monotonic()
    report = tree.tear_down(0)
    assert time.monotonic() - began < 5
    assert (report.emptied, report.problems) == (True, ())
    assert grove.ears.living() == []
    pin.close()


@pytest.mark.soak
def test_a_shim_that_does_not_answer_is_killed_and_the_run_torn_down_without_it(grove: Grove) -> None:
    tree = grove.shell(f"(setsid sh -c 'echo escapee $$ > $EARS; {SLEEP}' &); {SLEEP}", "escapee")
    pin = open_processes().open(tree.shim)
    hold_still(tree.shim.pid)
    began = time.monotonic()
    report = tree.tear_down(0)
    assert time.monotonic() - began < 40
    assert report.emptied
    assert "hung on was gone" in report.problems[0]
    assert pin.ended()
    pin.close()
    assert grove.ears.living() == []
