"""What a table of processes says of a pinned process, and promises of itself.

Public through :mod:`runcoord.ports`; apart from the protocols there, of which a shim loads none.
"""

from __future__ import annotations

from runcoord._core.identity import Likeness
from runcoord._core.values import value


@value
class Look:
    """What a pinned process is at this moment."""

    likeness: Likeness
    """Against the record. *different* also means: gone, and somebody else has the pid."""
    ended: bool
    """It has ended: nobody has its place, or it is a zombie whose last thread has ended."""
    state: str = ""
    name: str = ""
    why: str = ""
    """Why it is unknown, in words."""


@value
class Guarantees:
    """What a table of processes can promise on this system."""

    platform: str
    durable_handle: bool
    """A record names a process by a number that is never used a second time in one boot."""
    pinned: bool
    """A signal cannot reach a process that took the pid between the check and the signal. Else the check is
    repeated immediately before the signal, and a gap of microseconds is left."""
    group_in_one_step: bool
    """:meth:`Processes.signal_group` works."""
    ends_by_event: bool
    """:meth:`Processes.wait` is told by the system. Else it asks again and again."""
