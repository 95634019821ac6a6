"""Seeded defects of this area."""

from __future__ import annotations

from defects.catalogue import Defect
from defects.processes_grace import GRACE
from defects.processes_recovery import RECOVERY

DEFECTS: list[Defect] = [*GRACE, *RECOVERY]
