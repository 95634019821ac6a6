"""A durable run coordinator: fenced leases, commands, crash recovery and an outbox."""

from __future__ import annotations

from runcoord._version import __version__

__all__ = ["__version__"]
