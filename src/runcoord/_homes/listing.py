"""The names in a root: in order, a bounded number of them, whatever number there is."""

from __future__ import annotations

import os
from collections.abc import Iterator

from runcoord._core.limits import FOLDER_ENTRIES_LOOKED_AT, FOLDER_NAMES_CHARACTERS
from runcoord._home_ports import Names


def names_among(entries: Iterator[os.DirEntry[str]], limit: int, after: str) -> Names:
    """The first ``limit`` names behind ``after``, or fewer when they are long. Holds at most some more than
    twice as many at a time."""
    found: list[str] = []
    held, last, more, looked, weight = 2 * limit + 1024, "", False, 0, 0
    for looked, entry in enumerate(entries, 1):
        name = entry.name
        if name > after and (not last or name < last):
            found.append(name)
            weight += _weight(name)
            if len(found) == held or weight > FOLDER_NAMES_CHARACTERS:
                found.sort()
                del found[min(limit, (len(found) + 1) // 2) :]
                last, more = found[-1] if found else after, True
                weight = sum(map(_weight, found))
        if looked == FOLDER_ENTRIES_LOOKED_AT:
            break
    found.sort()
    more = more or len(found) > limit
    return Names(found[:limit], more, looked == FOLDER_ENTRIES_LOOKED_AT and next(entries, None) is not None)


def _weight(name: str) -> int:
    """One character that needs four bytes makes all of them take as many."""
    return len(name) if name.isascii() else 4 * len(name)
