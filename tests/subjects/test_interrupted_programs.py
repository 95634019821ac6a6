"""An interrupt while a program is waited for ends the run, and the program with it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_runcoord.subjects import conversation
from subjects.programs import children, program, run
from subjects.test_program_faults import _is_gone

STUBBORN = """
for each in (2, 15, 1):
    signal.signal(each, signal.SIG_IGN)
def linger(request=None):
    number = os.path.join(os.path.dirname(__file__), "number")
    open(number + "_", "w").write(str(os.getpid()))
    os.rename(number + "_", number)
    signal.alarm(60)
    signal.pause()
"""


@pytest.fixture
def number(tmp_path: Path) -> Iterator[Path]:
    """Where the program writes who it is; from then on an interrupt comes."""
    path = tmp_path / "number"
    rung: list[int] = []

    def ring(*_: object) -> None:
        if path.exists() and not rung:  # a second alarm may be on its way already
            rung.append(1)
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    yield path
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_a_program_that_is_silent_from_the_start_is_ended_by_an_interrupt(
    tmp_path: Path, number: Path
) -> None:
    (tmp_path / "mute.py").write_text(f"import os, signal\n{STUBBORN}\nlinger()\n")
    with pytest.raises(KeyboardInterrupt):
        conversation.Conversation(conversation.Command((sys.executable, "-S", "mute.py"), tmp_path))
    assert _is_gone(int(number.read_text()))


def test_a_program_that_does_not_answer_is_ended_by_an_interrupt(tmp_path: Path, number: Path) -> None:
    before = children()
    with pytest.raises(KeyboardInterrupt):
        run(program(tmp_path, f"{STUBBORN}\non_submit = linger\n"))
    assert _is_gone(int(number.read_text()))
    assert children() <= before
