"""The bite test: does the gate turn red when the subject is put wrong at its boundary?

What faults of one's own are written with is here: :class:`BoundaryFault`, :func:`fault`, and
:class:`Boundary` with what passes it.
"""

from __future__ import annotations

from pytest_runcoord.bite.boundary import (
    Asked,
    Boundary,
    FaultySession,
    FaultySubject,
    StandIn,
    every_run,
    with_runs,
)
from pytest_runcoord.bite.fault import BoundaryFault, fault

__all__ = [
    "Asked",
    "Boundary",
    "BoundaryFault",
    "FaultySession",
    "FaultySubject",
    "StandIn",
    "every_run",
    "fault",
    "with_runs",
]
