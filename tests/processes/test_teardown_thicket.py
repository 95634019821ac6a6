"""Large trees of every nasty kind, again and again, where nobody else is there to be harmed."""

from __future__ import annotations

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("these are the processes of Linux", allow_module_level=True)

from processes.namespaces import PIDS, told_inside

pytestmark = pytest.mark.real


@pytest.mark.parametrize(
    ("processes", "repetitions"), [(40, 1), pytest.param(300, 20, marks=pytest.mark.soak)]
)
def test_trees_of_many_nasty_processes_are_gone_however_the_run_ended(
    processes: int, repetitions: int
) -> None:
    seen = told_inside(PIDS, "thicket_program.py", {"processes": processes, "repetitions": repetitions})
    assert seen["left"] == []
    assert seen["trees"] == 4 * repetitions
    assert seen["bystanders"] == [True, True]
    assert seen["least"] >= processes * 7 / 8, "at the least, those that do not end by themselves"
