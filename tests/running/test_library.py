"""``Coordinator.run_command`` in a program of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from runcoord import Outcome
from running.real_runs import Done, Place, finished, until

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="runs commands on Linux"),
]

PROGRAM = Path(__file__).with_name("library_program.py")


def program(place: Place, what: str) -> Done:
    place.store.parent.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), str(place.store), what],
        env=place.environment(),
        cwd=place.work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return finished(process)


def test_an_exception_thrown_into_it_ends_the_run_and_passes(place: Place) -> None:
    done = program(place, "interrupted")
    run = place.only_run()
    assert (done.code, done.out, done.err) == (0, "interrupted\n", "")
    assert set(place.alive().values()) <= {"python"}, "nobody of the command is left"
    until(lambda: not place.alive(), "its shim ends, which is waited for at most two seconds")
    assert (run.outcome, run.error) == (
        Outcome.INTERRUPTED,
        "its caller was interrupted: KeyboardInterrupt",
    )


def test_a_host_that_ignores_its_children_gets_the_exit_status_and_stays_so(place: Place) -> None:
    done = program(place, "children_ignored")
    assert (done.code, done.out, done.err) == (0, "3 True True\n", "")


def test_commands_run_side_by_side_in_threads(place: Place) -> None:
    done = program(place, "side_by_side")
    assert (done.code, done.out, done.err) == (0, "[(0, 0), (1, 1), (2, 2), (3, 3)]\n", "")
    assert len(place.runs()) == 4


def test_children_of_the_host_are_left_to_it(place: Place) -> None:
    done = program(place, "own_children")
    assert (done.code, done.out, done.err) == (0, "0 9 0\n", "")


def test_what_is_no_command_is_refused_with_its_code(place: Place) -> None:
    done = program(place, "refused")
    assert done.out == "command-not-found\ninvalid-request\ninvalid-request\n"
    assert place.runs() == []
