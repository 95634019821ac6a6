"""For tests of programs that use runcoord, and for stores of other makers.

:class:`StoreContract` is the suite that every store must pass; :class:`MemoryStore` is the simplest store
that does. :class:`ManualClock`, :class:`ManualSleeper` and :class:`CountingIds` stand in for time and
chance: give them to :func:`runcoord.open_coordinator` through :class:`runcoord.ports.Ports`.
"""

from __future__ import annotations

from runcoord.testing.clock import CountingIds, ManualClock, ManualSleeper
from runcoord.testing.contract import StoreContract
from runcoord.testing.memory import MemoryStore
from runcoord.testing.memory_data import MemoryData

__all__ = [
    "CountingIds",
    "ManualClock",
    "ManualSleeper",
    "MemoryData",
    "MemoryStore",
    "StoreContract",
]
