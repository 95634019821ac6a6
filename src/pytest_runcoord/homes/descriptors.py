"""Which files this process has open, and where they are."""

from __future__ import annotations

import os
from pathlib import Path

DESCRIPTORS = "/proc/self/fd"


def open_below(directory: Path) -> list[str]:
    """Paths below a directory (resolved) that this process has open, also as mere handles; sorted.

    Empty on systems that do not tell.
    """
    prefix = f"{directory}/"
    found = []
    try:
        numbers = os.listdir(DESCRIPTORS)
    except OSError:
        return []
    for number in numbers:
        try:
            path = os.readlink(f"{DESCRIPTORS}/{number}")
        except OSError:  # the listing itself was one of them
            continue
        if path.startswith(prefix) or path == prefix[:-1]:
            found.append(path)
    return sorted(found)
