"""``runcoord run`` on a terminal: the command has it, and its keys do what people expect."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Iterator

import pytest

from runcoord import Outcome
from running.real_runs import LIFE, Place, program, until
from running.terminals import CTRL_C, CTRL_Z, Terminal, on_a_terminal

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="runs commands on Linux"),
]

FOREGROUND = (
    "import os, sys; print('mine' if os.tcgetpgrp(0) == os.getpgrp() else 'not mine', sys.stdin.isatty())"
)


def run(*words: str) -> list[str]:
    return program("run", *words)


def test_the_command_is_in_the_foreground_and_reads_what_is_typed(place: Place) -> None:
    script = f'{sys.executable} -c "{FOREGROUND}"; read answer; echo "<$answer>"'
    with on_a_terminal(run("--", "sh", "-c", script), place.environment(), place.work) as terminal:
        terminal.shows("mine True")
        terminal.types(b"yes\n")
        terminal.shows("<yes>")
        assert terminal.ends() == 0
    assert place.only_run().outcome is Outcome.COMPLETED


def test_ctrl_c_ends_the_run_as_stopped(place: Place) -> None:
    script = f"(trap '' INT TERM; sleep {LIFE}) & setsid sleep {LIFE} & touch ready; sleep {LIFE}"
    words = run("--grace", "1", "--", "sh", "-c", script)
    with on_a_terminal(words, place.environment(), place.work) as terminal:
        until((place.work / "ready").exists)
        terminal.types(CTRL_C)
        assert terminal.ends() == 130
        assert "runcoord: interrupted from the keyboard" in terminal.shown
    assert place.alive() == {}
    ended = place.only_run()
    assert (ended.outcome, ended.error) == (Outcome.STOPPED, "interrupted from the keyboard")


def test_a_command_that_ignores_ctrl_c_is_ended_within_the_grace(place: Place) -> None:
    script = f"trap '' INT TERM; touch ready; sleep {LIFE}"
    words = run("--grace", "1", "--", "sh", "-c", script)
    with on_a_terminal(words, place.environment(), place.work) as terminal:
        until((place.work / "ready").exists)
        terminal.types(CTRL_C)
        assert terminal.ends() == 130
    assert place.only_run().outcome is Outcome.STOPPED


def test_a_command_may_clean_up_after_ctrl_c(place: Place) -> None:
    script = f"trap 'sleep 0.3; touch cleaned; exit 130' INT; touch ready; sleep {LIFE}"
    words = run("--grace", "100", "--", "sh", "-c", script)
    with on_a_terminal(words, place.environment(), place.work) as terminal:
        until((place.work / "ready").exists)
        terminal.types(CTRL_C)
        assert terminal.ends() == 130
    assert (place.work / "cleaned").exists()
    assert place.only_run().outcome is Outcome.STOPPED


def test_a_second_ctrl_c_ends_the_grace(place: Place) -> None:
    loop = "for _ in $(seq 1000); do sleep 0.05; done"
    script = f"trap 'touch heard' INT; trap '' TERM; touch ready; {loop}; sleep {LIFE}"
    words = run("--grace", "100", "--", "sh", "-c", script)
    with on_a_terminal(words, place.environment(), place.work) as terminal:
        until((place.work / "ready").exists)
        terminal.types(CTRL_C)
        until((place.work / "heard").exists)
        # Two that come at once may be one: the system does not queue them.
        while terminal.process.poll() is None:
            terminal.types(CTRL_C)
            terminal.looks(0.2)
        assert terminal.ends() == 130
    assert place.only_run().outcome is Outcome.STOPPED


def test_an_interactive_command_has_ctrl_c_for_itself(place: Place) -> None:
    script = "trap 'touch heard' INT; touch ready; until test -e heard; do sleep 0.02; done; exit 4"
    words = run("--interactive", "--grace", "0", "--", "sh", "-c", script)
    with on_a_terminal(words, place.environment(), place.work) as terminal:
        until((place.work / "ready").exists)
        terminal.types(CTRL_C)
        assert terminal.ends() == 4
    ended = place.only_run()
    assert (ended.outcome, ended.error) == (Outcome.FAILED, "exit status 4")


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash has job control, and is not installed")
def test_ctrl_z_stops_the_job_and_fg_continues_it(place: Place) -> None:
    # Nothing is started when the key is pressed: dash starts programs by vfork, and one that is stopped
    # before its exec leaves the shell unstoppable, without runcoord as well.
    script = "touch ready; read answer; echo \\<$answer\\>; exit 6"
    line = f"{' '.join(run('--', 'sh', '-c'))} '{script}'\n"
    environment = place.environment(PS1="prompt> ", HISTFILE="/dev/null")
    with on_a_terminal(["bash", "--norc", "-i"], environment, place.work) as terminal:
        terminal.shows("prompt> ")
        terminal.types(line.encode())
        until((place.work / "ready").exists)
        terminal.types(CTRL_Z)
        at = terminal.shows("Stopped")
        at = terminal.shows("prompt> ", at)
        terminal.types(b"jobs\n")
        at = terminal.shows("Stopped", at)
        terminal.types(b"fg\n")
        terminal.types(b"words\n")
        at = terminal.shows("<words>", at)
        terminal.types(b"echo status $?\n")
        terminal.shows("status 6", at)
        terminal.types(b"exit\n")
        terminal.ends()
    assert place.only_run().exit_status == 6


def test_a_command_in_the_background_does_not_take_the_terminal(place: Place) -> None:
    line = f"{' '.join(run('--', 'sh', '-c'))} 'touch ready; sleep 1; exit 3' & wait $!; echo status $?"
    line += "; read x; echo \\<$x\\>"
    with on_a_terminal(["sh", "-c", f"set -m; {line}"], place.environment(), place.work) as terminal:
        until((place.work / "ready").exists)
        terminal.types(b"words\n")
        terminal.shows("status 3")
        terminal.shows("<words>")
        assert terminal.ends() == 0


needs_bash = pytest.mark.skipif(
    shutil.which("bash") is None, reason="bash has job control, and is not installed"
)


@contextlib.contextmanager
def a_shell(place: Place) -> Iterator[Terminal]:
    """An interactive shell with job control, at its first prompt."""
    environment = place.environment(PS1="prompt> ", HISTFILE="/dev/null")
    with on_a_terminal(["bash", "--norc", "-i"], environment, place.work) as terminal:
        terminal.shows("prompt> ")
        yield terminal
        terminal.types(b"exit\n")
        terminal.ends()


@needs_bash
def test_a_command_in_the_background_that_reads_is_stopped_and_takes_no_key_from_the_shell(
    place: Place,
) -> None:
    script = "touch ready; read answer; echo \\<$answer\\>; exit 6"
    with a_shell(place) as terminal:
        terminal.types(f"{' '.join(run('--', 'sh', '-c'))} '{script}' &\n".encode())
        until((place.work / "ready").exists)
        at = len(terminal.shown)
        while "Stopped" not in terminal.shown[at:]:  # what bash says of jobs it says before a prompt
            terminal.types(b"jobs\n")
            at = terminal.shows("prompt> ", at)
            terminal.looks(0.1)
            at = terminal.shown.index("jobs")
        at = len(terminal.shown)
        terminal.types(b"fg\n")
        terminal.types(b"words\n")
        at = terminal.shows("<words>", at)
        terminal.types(b"echo status $?\n")
        terminal.shows("status 6", at)
    assert place.only_run().exit_status == 6


READS_THE_TERMINAL = (
    "import os, sys; sys.stdin.read(); tty = os.open('/dev/tty', os.O_RDWR);"
    " print('pager has it', os.tcgetpgrp(tty) == os.getpgrp()); print(os.read(tty, 100))"
)


@needs_bash
def test_a_pager_behind_the_command_has_the_terminal(place: Place) -> None:
    with a_shell(place) as terminal:
        pager = f'{sys.executable} -c "{READS_THE_TERMINAL}"'
        terminal.types(f"{' '.join(run('--', 'echo', 'much'))} | {pager}\n".encode())
        at = terminal.shows("pager has it True")
        terminal.types(b"quit\n")
        at = terminal.shows("b'quit", at)
        terminal.types(b"echo status ${PIPESTATUS[0]}\n")
        terminal.shows("status 0", at)
    assert place.only_run().outcome is Outcome.COMPLETED


@needs_bash
def test_a_command_in_front_of_a_pipe_gets_the_terminal_when_it_reads_from_it(place: Place) -> None:
    with a_shell(place) as terminal:
        command = " ".join(run("--", "sh", "-c"))
        terminal.types(f"{command} 'read answer; echo \\<$answer\\>' | cat\nwords\n".encode())
        terminal.shows("<words>")
    assert place.only_run().outcome is Outcome.COMPLETED


@needs_bash
@pytest.mark.parametrize("line", ["{} | cat", 'sh -c "{}; exit 0"'], ids=["pipeline", "script"])
def test_ctrl_z_stops_all_of_the_job_that_runcoord_is_a_part_of(place: Place, line: str) -> None:
    script = "touch ready; read first; touch go; read answer; echo \\<$answer\\>"
    (place.work / "script").write_text(script.replace("\\\\", "\\"))
    with a_shell(place) as terminal:
        terminal.types(line.format(" ".join(run("--", "sh", "script"))).encode() + b"\n")
        until((place.work / "ready").exists)
        terminal.types(b"first\n")
        until((place.work / "go").exists)
        terminal.types(CTRL_Z)
        at = terminal.shows("Stopped")
        at = terminal.shows("prompt> ", at)
        terminal.types(b"fg\nwords\n")
        terminal.shows("<words>", at)
    assert place.only_run().outcome is Outcome.COMPLETED


@needs_bash
def test_a_shell_that_suspends_itself_with_its_group_stops_the_job(place: Place) -> None:
    with a_shell(place) as terminal:
        terminal.types(
            f"PS1='inner> ' {' '.join(run('--interactive', '--', 'bash', '--norc', '-i'))}\n".encode()
        )
        at = terminal.shows("inner> ", len(terminal.shown) + 20)
        terminal.types(b"suspend -f\n")
        at = terminal.shows("Stopped", at)
        at = terminal.shows("prompt> ", at)
        terminal.types(b"fg\necho $((40 + 2))\nexit 7\n")
        at = terminal.shows("42", at)
        at = terminal.shows("prompt> ", at)
        terminal.types(b"echo status $?\n")
        terminal.shows("status 7", at)
    assert place.only_run().exit_status == 7


@needs_bash
def test_a_stop_at_the_very_beginning_of_the_command_is_followed(place: Place) -> None:
    # In its group is also what the run hangs on, and often has not told yet that the command was executed.
    script = "kill -STOP 0; read answer; echo \\<$answer\\>; exit 6"
    with a_shell(place) as terminal:
        terminal.types(f"{' '.join(run('--', 'sh', '-c'))} '{script}'\n".encode())
        at = terminal.shows("Stopped")
        at = terminal.shows("prompt> ", at)
        terminal.types(b"fg\nwords\n")
        at = terminal.shows("<words>", at)
        at = terminal.shows("prompt> ", at)
        terminal.types(b"echo status $?\n")
        terminal.shows("status 6", at)
    assert place.only_run().exit_status == 6
