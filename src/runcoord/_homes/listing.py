"""The names in a root: in order, a bounded number of them, whatever number there is."""

from __future__ import annotations

import os
from collections.abc import Iterator

from runcoord._core.limits import FOLDER_ENTRIES_LOOKED_AT
from runcoord._home_ports import Names


def names_among(entries: Iterator[os.DirEntry[str]], limit: int, after: str) -> Names:
    """The first ``limit`` names behind ``after``. Holds at most some more than twice as many at a time."""
    found: list[str] = []
    held, last, more, looked = 2 * limit + 1024, "", False, 0
    for looked, entry in enumerate(entries, 1):
        name = entry.name
        if name > after and (not last or name < last):
            found.append(name)
            if len(found) == held:
                found.sort()
                del found[limit:]
                last, more = found[-1] if found else after, True
        if looked == FOLDER_ENTRIES_LOOKED_AT:
            break
    found.sort()
    more = more or len(found) > limit
    return Names(found[:limit], more, looked == FOLDER_ENTRIES_LOOKED_AT and next(entries, None) is not None)
