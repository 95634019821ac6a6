"""A simulated world of processes: one table that the reference reaches through its ports, and unmodified code
through the patches of :mod:`pytest_runcoord.patching`."""

from __future__ import annotations

from pytest_runcoord.processes.numbers import TableFull
from pytest_runcoord.processes.pinned import SimPinned
from pytest_runcoord.processes.port import SimProcesses
from pytest_runcoord.processes.process import (
    Handled,
    Ignored,
    Life,
    Place,
    Sight,
    SignalSent,
    SimProcess,
    signal_name,
    signal_number,
)
from pytest_runcoord.processes.table import NumberTaken, SimTable

__all__ = [
    "Handled",
    "Ignored",
    "Life",
    "NumberTaken",
    "Place",
    "Sight",
    "SignalSent",
    "SimPinned",
    "SimProcess",
    "SimProcesses",
    "SimTable",
    "TableFull",
    "signal_name",
    "signal_number",
]
