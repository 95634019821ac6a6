"""Seeded defects of this area."""

from __future__ import annotations

from defects.catalogue import Defect
from defects.leases_clocks import CLOCKS
from defects.leases_fences import FENCES
from defects.leases_holding import HOLDING
from defects.leases_recovery import RECOVERY
from defects.processes_records import OWNERS

DEFECTS: list[Defect] = [*FENCES, *HOLDING, *RECOVERY, *CLOCKS, *OWNERS]
