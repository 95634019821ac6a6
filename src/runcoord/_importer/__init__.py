"""Run folders that others left behind become runs and events, once."""

from __future__ import annotations

from runcoord._importer.importing import Importer
from runcoord._importer.report import ImportReport

__all__ = ["ImportReport", "Importer"]
