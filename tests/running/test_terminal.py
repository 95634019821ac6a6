"""``runcoord run`` on a terminal: the command has it, and its keys do what people expect."""

from __future__ import annotations

import shutil
import sys

import pytest

from runcoord import Outcome
from running.real_runs import LIFE, Place, program, until
from running.terminals import CTRL_C, CTRL_Z, on_a_terminal

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
    words = run("--grace", "20", "--", "sh", "-c", script)
    with on_a_terminal(words, place.environment(), place.work) as terminal:
        until((place.work / "ready").exists)
        terminal.types(CTRL_C)
        assert terminal.ends() == 130
    assert (place.work / "cleaned").exists()
    assert place.only_run().outcome is Outcome.STOPPED


def test_a_second_ctrl_c_ends_the_grace(place: Place) -> None:
    script = f"trap 'touch heard' INT; trap '' TERM; touch ready; while :; do sleep 0.05; done; sleep {LIFE}"
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
    script = "touch ready; until test -e go; do sleep 0.02; done; read answer; echo \\<$answer\\>; exit 6"
    line = f"{' '.join(run('--', 'sh', '-c'))} '{script}'\n"
    environment = place.environment(PS1="prompt> ", HISTFILE="/dev/null")
    with on_a_terminal(["bash", "--norc", "-i"], environment, place.work) as terminal:
        terminal.shows("prompt> ")
        terminal.types(line.encode())
        until((place.work / "ready").exists)
        terminal.types(CTRL_Z)
        at = terminal.shows("Stopped")
        at = terminal.shows("prompt> ", at)
        (place.work / "go").touch()
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
