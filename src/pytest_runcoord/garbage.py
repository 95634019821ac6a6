"""When the garbage of a scenario, or of reading a file, is collected: at its end, while all of it is young.

Nearly everything that is made for a scenario refers to its world and is referred to by it, so only the
garbage collector lets go of it. Left to itself the collector looks in the middle of scenarios, takes
what is in use there for lasting, and then goes through all objects of a session again and again: that was
a fifth of the time of 1,000 scenarios. It was also a quarter of the time in which their files are read, of
which nearly everything stays.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG_OBJECTS = 20_000
"""Objects that may come about in a scenario before the collector looks; by default it is 700 (2,000 since
Python 3.12). A scenario of ten steps makes some 2,000, and 20,000 are a few megabytes."""


@contextmanager
def collected_at_the_end() -> Iterator[None]:
    """Collect what becomes garbage in the block when it ends, and seldom before.

    A collector that is switched off, or that has no thresholds (PyPy), is left alone, and so are thresholds
    that are higher, or that something in the block sets.
    """
    if not (gc.isenabled() and hasattr(gc, "get_threshold")):
        yield
        return
    usual = gc.get_threshold()
    raised = (max(usual[0], YOUNG_OBJECTS) if usual[0] else 0, *usual[1:])
    gc.set_threshold(*raised)
    try:
        yield
    finally:
        if gc.get_threshold() == raised:
            gc.set_threshold(*usual)
        gc.collect(0)
