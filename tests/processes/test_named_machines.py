"""The real table under the name of a machine of a scenario: the same contract, and no word of another one."""

from __future__ import annotations

import os
import sys

import pytest

if sys.platform != "linux":
    pytest.skip("these are the processes of Linux", allow_module_level=True)

from processes.making import RealMaker
from pytest_runcoord.real.machine import NamedMachine
from runcoord import open_processes
from runcoord.errors import ProbeFailed
from runcoord.ports import Likeness
from runcoord.testing import ProcessesContract, ProcessMaker

pytestmark = pytest.mark.real


class TestANamedMachine(ProcessesContract):
    def make_processes(self) -> ProcessMaker:
        return RealMaker(NamedMachine(open_processes(), "gw1"))


def test_a_record_of_another_machine_says_nothing_though_it_is_the_same_process() -> None:
    here, there = NamedMachine(open_processes(), "gw1"), NamedMachine(open_processes(), "gw2")
    itself = here.itself()
    assert here.open(itself).look(itself).likeness is Likeness.SAME
    with pytest.raises(ProbeFailed):
        there.open(itself)
    elsewhere = there.itself()
    assert elsewhere.pid == itself.pid == os.getpid()
    assert there.open(elsewhere).look(itself).likeness is Likeness.UNKNOWN
