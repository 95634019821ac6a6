"""What must always be so. Each invariant is fed every ended history entry once, is asked after every step and
at the end, and counts how often it was *exercised*: had occasion to fail. One that never had is
reported as such, not called green.

A new invariant is a subclass of :class:`Invariant` with an ``id`` and a sentence in ``says``, added to
:data:`INVARIANTS`; it raises :class:`Violated`.
"""

from __future__ import annotations

from pytest_runcoord.invariants.base import Invariant, Violated, Watch
from pytest_runcoord.invariants.commands import COMMAND_INVARIANTS
from pytest_runcoord.invariants.delivery import (
    AcknowledgedStays,
    DeliveredToSomeone,
    NothingLost,
    ResultKept,
    SameEventSameBytes,
)
from pytest_runcoord.invariants.holding import HeldByOne, StaleHolderRefused
from pytest_runcoord.invariants.homes import HOME_INVARIANTS
from pytest_runcoord.invariants.importing import OF_IMPORTS
from pytest_runcoord.invariants.keeping import KEEPING
from pytest_runcoord.invariants.ownership import EpochRises, LiveLeaseKept, OwnerTold, StaleOwnerRefused
from pytest_runcoord.invariants.processes import PROCESS_INVARIANTS
from pytest_runcoord.invariants.progress import (
    BoundedAndClean,
    Converges,
    IdleIsFree,
    NoSilentZero,
    OneBadApple,
    WorkInProportion,
)
from pytest_runcoord.invariants.silence import NothingUnasked
from pytest_runcoord.invariants.starting import StartsOnce
from pytest_runcoord.invariants.summaries import GroupAddsUp, HeldIsTold
from pytest_runcoord.invariants.verdicts import OneOutcome, StopWins

INVARIANTS: tuple[type[Invariant], ...] = (
    OneOutcome,
    EpochRises,
    StaleOwnerRefused,
    LiveLeaseKept,
    OwnerTold,
    StartsOnce,
    NothingUnasked,
    Converges,
    StopWins,
    DeliveredToSomeone,
    AcknowledgedStays,
    SameEventSameBytes,
    NothingLost,
    ResultKept,
    OneBadApple,
    GroupAddsUp,
    HeldIsTold,
    IdleIsFree,
    WorkInProportion,
    NoSilentZero,
    BoundedAndClean,
    *PROCESS_INVARIANTS,
    *COMMAND_INVARIANTS,
    *HOME_INVARIANTS,
)
WATCHED: tuple[type[Invariant], ...] = (*INVARIANTS, *KEEPING, HeldByOne, StaleHolderRefused, *OF_IMPORTS)
"""All that watch a scenario: some have a second part of the same id, about something else that is kept, about
imports, or for a subject without leases or epochs."""

__all__ = ["INVARIANTS", "WATCHED", "IdleIsFree", "Invariant", "Violated", "Watch"]
