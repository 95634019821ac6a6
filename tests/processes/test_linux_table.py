"""The table of Linux passes the contract, with all that this kernel can do and with less."""

from __future__ import annotations

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("these are the processes of Linux", allow_module_level=True)

from processes.making import RealMaker
from runcoord._processes import open_processes
from runcoord._processes.linux import LinuxProcesses
from runcoord._processes.pidfd import Abilities
from runcoord.testing import ProcessesContract, ProcessMaker

pytestmark = pytest.mark.real


class TestThisKernel(ProcessesContract):
    def make_processes(self) -> ProcessMaker:
        return RealMaker(open_processes())


class TestAKernelWithoutDurableHandles(ProcessesContract):
    """Linux 5.3 to 6.8."""

    def make_processes(self) -> ProcessMaker:
        return RealMaker(LinuxProcesses(abilities=Abilities(pins=True, durable=False, groups=False)))


class TestAKernelWithoutProcessHandles(ProcessesContract):
    """Linux before 5.3, and containers that forbid the calls."""

    def make_processes(self) -> ProcessMaker:
        return RealMaker(LinuxProcesses(abilities=Abilities(pins=False, durable=False, groups=False)))
