"""Imports a home into a store of its own, and says by how much memory that made the process larger."""

from __future__ import annotations

import json
import resource
import sys

from runcoord import open_coordinator
from runcoord.ports import Ports

home, store = sys.argv[1:]
with open_coordinator(store, ports=Ports()) as coordinator:
    coordinator.import_folders(home + "/empty")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = coordinator.import_folders(home)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"kib": after - before, "imported": report.imported, "corrupt": report.corrupt_count}))
