"""Directories of run folders, as the system has them."""

from __future__ import annotations

from runcoord._home_ports import Homes
from runcoord._homes.opening import SystemHomes


def open_homes() -> Homes:
    """The homes of this machine. What the system can do is asked whenever one is opened."""
    return SystemHomes()


__all__ = ["open_homes"]
