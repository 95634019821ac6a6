"""Seeded defects of homes: the folders that runs left before there was a coordinator."""

from __future__ import annotations

from defects.catalogue import Defect
from defects.homes_reaching import REACHING
from defects.homes_systems import SYSTEMS

DEFECTS: list[Defect] = [*REACHING, *SYSTEMS]
