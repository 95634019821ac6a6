"""Seeded defects of depth: the guard against runs that start themselves."""

from __future__ import annotations

from defects.catalogue import Defect
from defects.depth_guard import GUARD
from defects.depth_limits import LIMITS
from defects.depth_lineages import LINEAGES

DEFECTS: list[Defect] = [*GUARD, *LIMITS, *LINEAGES]
