"""Seeded defects of this area."""

from __future__ import annotations

from defects.catalogue import Defect

DEFECTS: list[Defect] = []
