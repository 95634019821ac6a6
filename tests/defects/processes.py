"""Seeded defects of this area."""

from __future__ import annotations

from defects.catalogue import Defect
from defects.processes_grace import GRACE
from defects.processes_recovery import RECOVERY
from defects.processes_sparing import SPARING
from defects.processes_sweeping import SWEEPING
from defects.processes_teardown import TEARDOWN

DEFECTS: list[Defect] = [*RECOVERY, *TEARDOWN, *SPARING, *SWEEPING, *GRACE]
