"""Seeded defects of homes: the folders that runs left before there was a coordinator."""

from __future__ import annotations

from defects.catalogue import Defect
from defects.homes_fields import FIELDS
from defects.homes_files import FILES
from defects.homes_once import ONCE
from defects.homes_reaching import REACHING
from defects.homes_scale import SCALE
from defects.homes_systems import SYSTEMS
from defects.homes_telling import TELLING

DEFECTS: list[Defect] = [*REACHING, *SYSTEMS, *FILES, *FIELDS, *SCALE, *TELLING, *ONCE]
