"""The boundary faults that are shipped, by area."""

from __future__ import annotations

from pytest_runcoord.bite.fault import BoundaryFault
from pytest_runcoord.bite.faults import (
    answering,
    commands,
    folders,
    leases,
    outbox,
    processes,
    recovery,
    runs,
)

AREAS: dict[str, tuple[BoundaryFault, ...]] = {
    "runs": runs.FAULTS,
    "answers": answering.FAULTS,
    "leases": leases.FAULTS,
    "recovery": recovery.FAULTS,
    "outbox": outbox.FAULTS,
    "processes": processes.FAULTS,
    "commands": commands.FAULTS,
    "folders": folders.FAULTS,
}
"""In the order in which they are run and shown."""

FAULTS: tuple[BoundaryFault, ...] = tuple(each for faults in AREAS.values() for each in faults)
