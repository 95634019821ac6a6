"""A scenario as a space-time picture: lanes for those who act, rows for what happened, bars for leases.

Pure: values of a history go in, values that can be drawn come out. How they are drawn is written elsewhere.
"""

from __future__ import annotations

from pytest_runcoord.picture.drawing import picture_of
from pytest_runcoord.picture.model import Lane, LaneKind, Lease, LeaseSeen, Life, Mark, Picture, Row

__all__ = ["Lane", "LaneKind", "Lease", "LeaseSeen", "Life", "Mark", "Picture", "Row", "picture_of"]
