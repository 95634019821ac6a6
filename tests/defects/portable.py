"""Seeded defects of this area."""

from __future__ import annotations

from defects.catalogue import Defect
from defects.portable_ending import ENDING
from defects.portable_keeping import KEEPING
from defects.portable_owning import OWNING
from defects.portable_submitting import SUBMITTING

DEFECTS: list[Defect] = [*KEEPING, *OWNING, *ENDING, *SUBMITTING]
