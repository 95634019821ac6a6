"""The fixtures with simulated processes, and the guard in front of real ones."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from plugin.conftest import Run
from pytest_runcoord.patching import (
    KillGuard,
    ProcessTree,
    SignalRefused,
    StrangerSignalled,
    WouldWaitForEver,
)
from pytest_runcoord.patching.tree import PidReuse, Reboot
from runcoord.testing import ManualClock

pytest_plugins = ["pytester"]

captured_kill, captured_popen = os.kill, subprocess.Popen


@pytest.fixture
def real_child() -> Iterator[subprocess.Popen[bytes]]:
    """A real process that this test started, which lives a minute at most."""
    child = captured_popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield child
    child.kill()
    child.wait()


# --- code that signals by os ---


def test_a_tree_of_children_is_signalled_and_waited_for(runcoord_process_tree: ProcessTree) -> None:
    tree = runcoord_process_tree({"server": {"children": ["worker", {"deaf": {"ignores": ["TERM"]}}]}})
    group = os.getpgid(tree["server"].pid)
    assert group == os.getpgrp()
    os.kill(tree["server"].pid, signal.SIGTERM)
    assert os.waitpid(tree["server"].pid, 0) == (tree["server"].pid, signal.SIGTERM)
    os.kill(tree["deaf"].pid, signal.SIGTERM)
    assert tree.alive == ["worker", "deaf"]
    os.kill(tree["deaf"].pid, signal.SIGKILL)
    assert tree["deaf"].signals == ["SIGTERM", "SIGKILL"]
    assert tree["deaf"].status == -signal.SIGKILL


def test_a_group_is_signalled_at_once_and_who_left_it_is_not(runcoord_process_tree: ProcessTree) -> None:
    tree = runcoord_process_tree(
        {"leader": {"own_group": True, "children": ["member", {"away": {"setsid": True}}]}}
    )
    os.killpg(tree["leader"].pid, signal.SIGKILL)
    assert tree.alive == ["away"]
    with pytest.raises(ProcessLookupError):
        os.killpg(tree["leader"].pid + 500, signal.SIGKILL)


def test_a_child_that_ended_is_a_zombie_until_it_is_waited_for(runcoord_process_tree: ProcessTree) -> None:
    worker = runcoord_process_tree({"worker": {"ends_after": 2.0, "status": 3}})["worker"]
    assert os.waitpid(worker.pid, os.WNOHANG) == (0, 0)
    time.sleep(2.0)
    assert (worker.alive, worker.reaped) == (False, False)
    os.kill(worker.pid, 0)
    assert os.waitstatus_to_exitcode(os.waitpid(-1, 0)[1]) == 3
    with pytest.raises(ProcessLookupError):
        os.kill(worker.pid, 0)
    with pytest.raises(ChildProcessError):
        os.waitpid(worker.pid, 0)


def test_a_wait_costs_only_time_of_the_simulation(
    runcoord_process_tree: ProcessTree, runcoord_clock: ManualClock
) -> None:
    tree = runcoord_process_tree({"slow": {"handles": {"TERM": 3600.0}}})
    began = runcoord_clock.monotonic()
    os.kill(tree["slow"].pid, signal.SIGTERM)
    os.waitpid(tree["slow"].pid, 0)
    assert runcoord_clock.monotonic() - began == pytest.approx(3600.0)


def test_a_wait_that_would_never_end_says_so(runcoord_process_tree: ProcessTree) -> None:
    tree = runcoord_process_tree("worker")
    with pytest.raises(WouldWaitForEver, match="without a bound"):
        os.waitpid(tree["worker"].pid, 0)


def test_a_descriptor_means_the_process_that_it_was_opened_for(
    runcoord_process_tree: ProcessTree, runcoord_pid_reuse: PidReuse
) -> None:
    tree = runcoord_process_tree("worker")
    pidfd = os.pidfd_open(tree["worker"].pid)
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    assert poller.poll(1000) == []
    stranger = runcoord_pid_reuse("worker")
    assert poller.poll(1000) == [(pidfd, select.POLLIN)]
    with pytest.raises(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    assert stranger.alive
    os.close(pidfd)


# --- code that starts commands ---


def test_a_declared_program_runs_and_its_output_is_there(runcoord_process_tree: ProcessTree) -> None:
    runcoord_process_tree.program("report", {"ends_after": 5.0, "status": 4}, stdout=b"3 pages\n")
    done = subprocess.run(["/usr/bin/report", "--all"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (4, "3 pages\n")


def test_a_program_that_was_not_declared_is_not_found(runcoord_process_tree: ProcessTree) -> None:
    with pytest.raises(FileNotFoundError, match="declared: none"):
        subprocess.Popen(["sleep", "1"])


def test_a_command_that_does_not_end_in_time_is_terminated(runcoord_process_tree: ProcessTree) -> None:
    runcoord_process_tree.program("server", {"children": ["helper"]})
    process = subprocess.Popen(["server"], start_new_session=True)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=30)
    assert process.poll() is None
    assert os.getsid(process.pid) == process.pid
    process.terminate()
    assert process.wait() == -signal.SIGTERM
    assert runcoord_process_tree.alive == ["helper"]
    os.killpg(process.pid, signal.SIGKILL)
    assert runcoord_process_tree.alive == []


# --- code that looks by psutil ---


def test_what_outlives_a_wait_of_psutil_can_be_killed(runcoord_process_tree: ProcessTree) -> None:
    tree = runcoord_process_tree({"agent": {"children": ["tool", {"deaf": {"ignores": ["TERM"]}}]}})
    agent = psutil.Process(tree["agent"].pid)
    everybody = [agent, *agent.children(recursive=True)]
    for each in everybody:
        each.terminate()
    _gone, alive = psutil.wait_procs(everybody, timeout=3)
    assert [each.pid for each in alive] == [tree["deaf"].pid]
    alive[0].kill()  # psutil has closed the descriptor that it waited on
    assert tree["deaf"].signals == ["SIGTERM", "SIGKILL"]
    assert tree.alive == []


def test_psutil_sees_the_tree_and_each_change_of_it(runcoord_process_tree: ProcessTree) -> None:
    tree = runcoord_process_tree(
        {"server": {"children": ["worker", {"daemon": {"double_fork": True, "program": "daemond"}}]}}
    )
    server = psutil.Process(tree["server"].pid)
    assert server.parent() == psutil.Process(os.getpid())
    assert [each.pid for each in server.children(recursive=True)] == [tree["worker"].pid]
    assert psutil.Process(tree["daemon"].pid).ppid() == 1
    assert {each.pid for each in psutil.process_iter()} == {
        1,
        os.getpid(),
        *(tree[n].pid for n in tree.alive),
    }
    assert (server.exe(), server.cwd(), server.open_files()) == ("/usr/bin/server", "/", [])
    assert server.cmdline() == ["server"]
    assert server.memory_info().rss == 0
    assert psutil.Process(tree["daemon"].pid).name() == "daemond"
    server.suspend()
    assert server.status() == psutil.STATUS_STOPPED
    server.resume()
    server.terminate()
    assert server.status() == psutil.STATUS_ZOMBIE
    assert server.wait(timeout=1) == -signal.SIGTERM
    assert not server.is_running()
    assert psutil.Process(tree["worker"].pid).ppid() == 1


def test_psutil_reads_the_environment_and_is_refused_a_closed_one(
    runcoord_process_tree: ProcessTree,
) -> None:
    tree = runcoord_process_tree(
        [{"open": {}}, {"closed": {"closed": True}}, {"empty": {"clears_environment": True}}]
    )
    assert psutil.Process(tree["empty"].pid).environ() == {}
    with pytest.raises((psutil.Error, OSError)):
        psutil.Process(tree["closed"].pid).environ()


def test_psutil_takes_a_stranger_with_the_same_start_tick_for_the_same_process_and_the_test_fails(
    runcoord_process_tree: ProcessTree, runcoord_pid_reuse: PidReuse
) -> None:
    tree = runcoord_process_tree("worker")
    worker = psutil.Process(tree["worker"].pid)
    stranger = runcoord_pid_reuse("worker")
    assert worker.is_running()  # measured of the real one too: equal pid and start
    with pytest.raises(psutil.AccessDenied):
        worker.kill()
    assert stranger.alive
    with pytest.raises(StrangerSignalled, match="stranger"):
        tree.guard.check()


def test_psutil_sees_that_a_later_stranger_is_another_process(
    runcoord_process_tree: ProcessTree, runcoord_pid_reuse: PidReuse
) -> None:
    tree = runcoord_process_tree("worker")
    worker = psutil.Process(tree["worker"].pid)
    runcoord_pid_reuse("worker", same_tick=False)
    assert not worker.is_running()
    with pytest.raises(psutil.NoSuchProcess):
        worker.kill()


def test_a_pid_whose_group_lives_on_is_not_given_out_anew(
    runcoord_process_tree: ProcessTree, runcoord_pid_reuse: PidReuse
) -> None:
    tree = runcoord_process_tree({"server": {"own_group": True, "children": ["worker"]}})
    with pytest.raises(
        ValueError, match=r"'server' cannot be given out anew while there is worker.*\.exit\(\)"
    ):
        runcoord_pid_reuse("server")
    assert tree.alive == ["server", "worker"]
    tree["worker"].exit()
    os.kill(tree["server"].pid, signal.SIGKILL)
    stranger = runcoord_pid_reuse("server")
    assert stranger.pid == tree["server"].pid


# --- a reboot ---


def test_after_a_reboot_nothing_runs_and_pids_begin_again(
    runcoord_process_tree: ProcessTree, runcoord_reboot: Reboot, runcoord_clock: ManualClock
) -> None:
    tree = runcoord_process_tree("worker")
    pid, boot = tree["worker"].pid, (tree.proc / "sys/kernel/random/boot_id").read_text()
    runcoord_reboot()
    assert tree.alive == []
    assert not psutil.pid_exists(pid)
    assert (tree.proc / "sys/kernel/random/boot_id").read_text() != boot
    assert psutil.Process(os.getpid()).is_running()
    assert tree("again")["again"].pid == pid
    assert tree["again"].process.start == int(runcoord_clock.boottime() * 100)


# --- the guard ---


def test_signals_to_strangers_are_not_sent_and_fail_the_test_afterwards(
    runcoord_process_tree: ProcessTree,
) -> None:
    tree = runcoord_process_tree("worker")
    stranger = tree.stranger("postgres")
    tries: tuple[Callable[[], None], ...] = (
        lambda: os.kill(stranger.pid, signal.SIGTERM),
        lambda: os.killpg(stranger.pid, signal.SIGTERM),
        lambda: os.kill(-1, signal.SIGTERM),
        lambda: os.kill(0, signal.SIGTERM),
        lambda: os.killpg(1, signal.SIGTERM),
        lambda: os.killpg(0, signal.SIGTERM),
        lambda: os.kill(os.getppid(), signal.SIGTERM),
        lambda: os.kill(os.getpid(), signal.SIGTERM),
        lambda: captured_kill(os.getppid(), signal.SIGTERM),
    )
    for kill in tries:
        with pytest.raises(SignalRefused):
            kill()
    assert stranger.alive
    assert tree["worker"].alive
    os.kill(stranger.pid, 0)
    with pytest.raises(StrangerSignalled) as failed:
        tree.guard.check()
    assert str(failed.value).count(";") == 8


def test_a_group_with_one_stranger_in_it_is_not_signalled_at_all(runcoord_process_tree: ProcessTree) -> None:
    tree = runcoord_process_tree({"leader": {"own_group": True, "children": ["member"]}})
    tree.table.start("intruder", parent=tree["leader"].process, run="")
    with pytest.raises(SignalRefused):
        os.killpg(tree["leader"].pid, signal.SIGKILL)
    assert tree.alive == ["leader", "member"]
    tree.guard.violations.clear()


def test_a_real_child_of_the_test_can_still_be_signalled_under_the_simulation(
    real_child: subprocess.Popen[bytes], runcoord_process_tree: ProcessTree
) -> None:
    real_child.kill()
    assert real_child.wait() == -signal.SIGKILL
    assert runcoord_process_tree.guard.sent == [(real_child.pid, signal.SIGKILL)]


def test_everything_is_put_back_after_the_test(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        """
        import os, select, signal, subprocess, time
        import psutil

        NAMES = [(os, "kill"), (os, "killpg"), (os, "getpgid"), (os, "getsid"), (os, "waitpid"),
                 (os, "pidfd_open"), (signal, "pidfd_send_signal"), (subprocess, "Popen"), (select, "poll"),
                 (time, "sleep"), (time, "time"), (time, "monotonic"), (psutil, "PROCFS_PATH")]
        before = [getattr(owner, name) for owner, name in NAMES]

        def test_inside(runcoord_process_tree):
            assert [getattr(owner, name) for owner, name in NAMES] != before

        def test_after():
            assert [getattr(owner, name) for owner, name in NAMES] == before
        """
    )
    run().assert_outcomes(passed=2)


def test_a_refused_signal_fails_the_test_though_its_code_goes_on(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        """
        import os, signal
        from os import kill

        def clean_up(pid):
            try:
                kill(pid, signal.SIGTERM)
            except OSError:
                pass

        def test_simulated(runcoord_process_tree, runcoord_pid_reuse):
            runcoord_process_tree("worker")
            pid = runcoord_process_tree["worker"].pid
            runcoord_pid_reuse("worker")
            clean_up(pid)

        def test_real(runcoord_kill_guard):
            clean_up(os.getppid())
        """
    )
    result = run()
    result.assert_outcomes(failed=2)
    told = "*StrangerSignalled: SIGTERM to stranger (pid *), a stranger (by *.py:6, in clean_up)"
    result.stdout.fnmatch_lines([told])
    result.stdout.no_fnmatch_line("*guard.check()*")


def test_a_refusal_that_fails_the_test_itself_is_said_once_and_at_its_line(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(
        """
        import os

        def test_it(runcoord_process_tree):
            os.kill(runcoord_process_tree.stranger("shell").pid, 15)
        """
    )
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [">*os.kill(*", "E *SignalRefused: SIGTERM to shell (pid *), a stranger. Nothing was sent."]
    )
    result.stdout.no_fnmatch_line("*Signals that were refused: *")
    result.stdout.no_fnmatch_line("*self._require_owned*")


# --- the guard alone ---


def test_the_guard_lets_a_real_signal_through_to_a_process_that_the_test_started(
    runcoord_kill_guard: KillGuard, real_child: subprocess.Popen[bytes]
) -> None:
    os.kill(real_child.pid, signal.SIGTERM)
    assert real_child.wait() == -signal.SIGTERM
    assert runcoord_kill_guard.sent == [(real_child.pid, signal.SIGTERM)]


def test_the_guard_refuses_a_process_that_was_there_before_until_it_is_allowed(
    real_child: subprocess.Popen[bytes], runcoord_kill_guard: KillGuard
) -> None:
    with pytest.raises(SignalRefused):
        os.kill(real_child.pid, signal.SIGTERM)
    with pytest.raises(SignalRefused):
        os.killpg(os.getpgrp(), signal.SIGTERM)
    assert real_child.poll() is None
    runcoord_kill_guard.violations.clear()
    runcoord_kill_guard.allow(real_child.pid)
    os.kill(real_child.pid, signal.SIGTERM)
    assert real_child.wait() == -signal.SIGTERM


def test_the_guard_sees_through_a_descriptor(
    real_child: subprocess.Popen[bytes], runcoord_kill_guard: KillGuard
) -> None:
    pidfd = os.pidfd_open(real_child.pid)
    with pytest.raises(SignalRefused):
        signal.pidfd_send_signal(pidfd, signal.SIGTERM)
    os.close(pidfd)
    assert real_child.poll() is None
    runcoord_kill_guard.violations.clear()


@pytest.mark.parametrize("pid", [0, 1, -1, True, "12"])
def test_the_guard_is_not_told_to_allow_what_no_test_owns(runcoord_kill_guard: KillGuard, pid: int) -> None:
    with pytest.raises(ValueError, match="no process that a test can own"):
        runcoord_kill_guard.allow(pid)


def test_a_test_may_signal_itself_when_it_handles_the_signal(runcoord_kill_guard: KillGuard) -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: heard.append(number))
    try:
        os.kill(os.getpid(), signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert heard == [signal.SIGUSR1]
    with pytest.raises(SignalRefused):
        os.kill(os.getpid(), signal.SIGUSR1)
    runcoord_kill_guard.violations.clear()


# --- descriptions ---


@pytest.mark.parametrize(
    ("description", "says"),
    [
        ({"w": {"ignore": ["TERM"]}}, "unknown word 'ignore'"),
        ({"w": {"ignores": ["TREM"]}}, "'TREM' is no signal"),
        ({"w": {"ends_after": -1}}, "give seconds from 0"),
        ({"w": 3}, "described by 3"),
        (7, "not a name, a list or a mapping"),
    ],
)
def test_a_wrong_description_is_refused_and_starts_nothing(
    runcoord_process_tree: ProcessTree, description: object, says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        runcoord_process_tree(description)
    assert runcoord_process_tree.alive == []


def test_a_name_that_is_taken_is_refused(runcoord_process_tree: ProcessTree, tmp_path: Path) -> None:
    runcoord_process_tree("worker")
    with pytest.raises(ValueError, match="already"):
        runcoord_process_tree({"other": {"children": ["worker"]}})
    assert runcoord_process_tree.alive == ["worker"]
    with pytest.raises(KeyError, match="no process 'nobody' in this simulation; there are worker\""):
        runcoord_process_tree["nobody"]
