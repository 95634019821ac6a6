"""Looks at the folders of a home once, in one way, for those who count the calls of the system."""

from __future__ import annotations

import sys

from runcoord._homes import open_homes

home, how, *marks = sys.argv[1:]
with open_homes().open(home, "runs") as root:
    names = root.names(10_000).names
    if how == "changed":
        root.changed(dict.fromkeys(names, "none"), "state.json")
    elif how == "read":
        for name in names:
            with root.folder(name) as folder:
                folder.read("state.json", 1_000)
                folder.read("tombstone.json", 1_000)
                folder.seen("result.txt")
