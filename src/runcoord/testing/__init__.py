"""For tests of programs that use runcoord, and for stores of other makers.

:class:`StoreContract` is the suite that every store must pass; :class:`MemoryStore` is the simplest store
that does. :class:`ProcessesContract` is the one for tables of processes, on a :class:`ProcessMaker`, and
:class:`HomesContract` the one for homes of run folders.
:class:`ManualClock`, :class:`ManualSleeper` and :class:`CountingIds` stand in for time and
chance: give them to :func:`runcoord.open_coordinator` through :class:`runcoord.ports.Ports`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runcoord.testing.clock import CountingIds, ManualClock, ManualSleeper
from runcoord.testing.memory import MemoryStore
from runcoord.testing.memory_data import MemoryData

if TYPE_CHECKING:
    from runcoord.testing.contract import StoreContract
    from runcoord.testing.home_contract import HomesContract
    from runcoord.testing.process_contract import ProcessesContract
    from runcoord.testing.process_making import Can, ProcessMaker, Start
else:  # who wants a clock does not wait for the contract suites
    from runcoord._late import LateNames

    _NAMES = LateNames(
        __name__,
        {
            "contract": ("StoreContract",),
            "home_contract": ("HomesContract",),
            "process_contract": ("ProcessesContract",),
            "process_making": ("Can", "ProcessMaker", "Start"),
        },
    )
    __getattr__ = _NAMES.find

    def __dir__() -> list[str]:
        return sorted({*globals(), *_NAMES.names()})


__all__ = [
    "Can",
    "CountingIds",
    "HomesContract",
    "ManualClock",
    "ManualSleeper",
    "MemoryData",
    "MemoryStore",
    "ProcessMaker",
    "ProcessesContract",
    "Start",
    "StoreContract",
]
