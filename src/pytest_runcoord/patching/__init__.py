"""Patched ``os``, ``signal``, ``subprocess``, ``time`` and a fake ``/proc``, for code that was not written
for us; and the guard that refuses signals to processes which a test does not own."""

from __future__ import annotations

from pytest_runcoord.patching.guard import KillGuard, SignalRefused, StrangerSignalled
from pytest_runcoord.patching.patched import guarded, simulated
from pytest_runcoord.patching.popen import Program, Programs
from pytest_runcoord.patching.procfs import FakeProc
from pytest_runcoord.patching.simulated_os import SimulatedOs, WouldWaitForEver
from pytest_runcoord.patching.tree import ProcessTree, Simulated, process_tree

__all__ = [
    "FakeProc",
    "KillGuard",
    "ProcessTree",
    "Program",
    "Programs",
    "SignalRefused",
    "Simulated",
    "SimulatedOs",
    "StrangerSignalled",
    "WouldWaitForEver",
    "guarded",
    "process_tree",
    "simulated",
]
