"""The ``real`` tier: every incarnation is a process of its own, and a crash is SIGKILL.

The clocks stay the world's: each message to the process carries their readings, so nobody waits out a
lease. Ports work as in the ``sim`` tier, but through the pipe: the process stops at every named moment until
the world lets it go on, and there it can be killed.
"""

from __future__ import annotations

from pytest_runcoord.real.process_world import RealProcessWorld
from pytest_runcoord.real.remote import RemoteProcess, process_of

__all__ = ["RealProcessWorld", "RemoteProcess", "process_of"]
