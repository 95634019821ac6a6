"""Seeded defects of the caller's git state."""

from __future__ import annotations

from defects.catalogue import Defect
from defects.git_keeping import KEEPING
from defects.git_refusing import REFUSING
from defects.git_restoring import RESTORING

DEFECTS: list[Defect] = [*RESTORING, *REFUSING, *KEEPING]
