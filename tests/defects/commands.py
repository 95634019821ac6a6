"""Seeded defects of this area."""

from __future__ import annotations

from defects import (
    commands_begun,
    commands_retrying,
    commands_starting,
    commands_stopping,
    commands_stored,
    commands_submitting,
)
from defects.catalogue import Defect

DEFECTS: list[Defect] = [
    *commands_starting.DEFECTS,
    *commands_begun.DEFECTS,
    *commands_stopping.DEFECTS,
    *commands_submitting.DEFECTS,
    *commands_retrying.DEFECTS,
    *commands_stored.DEFECTS,
]
"""Seeded defects of this area."""
