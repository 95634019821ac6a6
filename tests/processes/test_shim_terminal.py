"""A tree that has the terminal: its keys, its modes, and taking it back."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from processes.trees import LIFE_SECONDS, PATIENCE_SECONDS, linux_only
from runcoord._processes import open_processes
from runcoord.ports import Membership, PinnedProcess
from running.real_runs import until
from running.terminals import CTRL_C, Terminal, on_a_terminal

pytestmark = [linux_only, pytest.mark.real]

SLEEP = f"exec sleep {LIFE_SECONDS}"
PROGRAM = str(Path(__file__).with_name("terminal_program.py"))
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}


def coordinator(folder: Path, script: str, grace: str = "5") -> list[str]:
    return [sys.executable, PROGRAM, str(folder), grace, script]


def shown_in_order(terminal: Terminal, *texts: str) -> None:
    at = 0
    for text in texts:
        at = terminal.shows(text, at)


def test_the_interrupt_key_is_told_and_the_escapees_end_with_the_tree(tmp_path: Path) -> None:
    script = f"trap '' INT; (setsid sh -c 'trap \"\" TERM; echo ready; {SLEEP}' &); {SLEEP}"
    with on_a_terminal(coordinator(tmp_path, script, "0.5"), ENVIRONMENT, tmp_path) as terminal:
        terminal.shows("ready")
        terminal.types(CTRL_C)
        shown_in_order(
            terminal,
            "ending None interrupted 1",
            "foreground False",
            "foreground True modes True",
            "emptied True ['asked', 'killed']",
        )
        assert terminal.ends() == 0


def test_a_command_that_the_key_ends_is_told_as_interrupted(tmp_path: Path) -> None:
    with on_a_terminal(coordinator(tmp_path, f"echo ready; {SLEEP}"), ENVIRONMENT, tmp_path) as terminal:
        terminal.shows("ready")
        terminal.types(CTRL_C)
        shown_in_order(terminal, "interrupted 1", "tearing down", "foreground True", "emptied True")
        assert terminal.ends() == 0


def test_during_the_teardown_the_key_reaches_the_coordinator(tmp_path: Path) -> None:
    script = f"trap '' INT TERM; echo ready; {SLEEP}"
    with on_a_terminal(coordinator(tmp_path, script, "100"), ENVIRONMENT, tmp_path) as terminal:
        terminal.shows("ready")
        terminal.types(CTRL_C)
        terminal.shows("tearing down")
        while (
            "emptied" not in terminal.shown
        ):  # one that comes before the terminal is back counts for the tree
            terminal.types(CTRL_C)
            terminal.looks(0.2)
        terminal.shows("emptied True ['killed']")
        assert terminal.ends() == 0


def test_modes_that_a_killed_command_left_are_put_back(tmp_path: Path) -> None:
    script = f"stty raw -echo; echo $$ > leader.new; mv leader.new leader; {SLEEP}"
    with on_a_terminal(coordinator(tmp_path, script), ENVIRONMENT, tmp_path) as terminal:
        until((tmp_path / "leader").exists)
        with pinned(int((tmp_path / "leader").read_text())) as leader:
            leader.signal(signal.SIGKILL)
        shown_in_order(terminal, "ending -9 interrupted 0", "foreground True modes True")
        assert terminal.ends() == 0


def test_a_killed_coordinator_on_a_terminal_leaves_nothing_running(tmp_path: Path) -> None:
    script = (
        f"(setsid sh -c 'touch escaped; {SLEEP}' &); echo $COOKIE $PPID > told.new; mv told.new told; {SLEEP}"
    )
    with on_a_terminal(coordinator(tmp_path, script), ENVIRONMENT, tmp_path) as terminal:
        until((tmp_path / "escaped").exists)
        until((tmp_path / "told").exists)
        cookie, shim = (tmp_path / "told").read_text().split()
        with pinned(int(shim)) as held:
            terminal.process.kill()
            terminal.process.wait(PATIENCE_SECONDS)
            open_processes().wait([held], PATIENCE_SECONDS)
            assert held.ended()
        assert open_processes().scan(Membership(cookie=cookie), 5.0).members == ()


@contextlib.contextmanager
def pinned(pid: int) -> Iterator[PinnedProcess]:
    table = open_processes()
    held = table.open(table.identify(pid))
    try:
        yield held
    finally:
        held.close()
