"""What is needed to write a subject: somebody's own coordinator, for the harness to drive.

Everything that such a subject imports of the harness is here; other modules of it may change.
"""

from __future__ import annotations

from pytest_runcoord.subject import (
    CAPABILITIES,
    Answer,
    EventSeen,
    RefusedSeen,
    RunSeen,
    Snapshot,
    SubjectWorld,
    Timer,
)
from pytest_runcoord.subjects.base import (
    CAPABILITY_METHODS,
    Refused,
    SessionBase,
    SubjectBase,
    capabilities_of,
    deadline,
    send,
)
from runcoord import DestinationRefused
from runcoord.ports import Counters, Deadline

__all__ = [
    "CAPABILITIES",
    "CAPABILITY_METHODS",
    "Answer",
    "Counters",
    "Deadline",
    "DestinationRefused",
    "EventSeen",
    "Refused",
    "RefusedSeen",
    "RunSeen",
    "SessionBase",
    "Snapshot",
    "SubjectBase",
    "SubjectWorld",
    "Timer",
    "capabilities_of",
    "deadline",
    "send",
]
