"""``python benchmarks [NAME ...]``: print the ratios that the project promises, measured here and now.

Names: start, verbs, recovery, folders, teardown, plugin, loading; all of them by default. Nothing is
asserted: a clock is no judge on a shared machine. Growth is asserted by counting, in the tests.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import folders
import recovery
import start
import teardown
import verbs

import plugin

GROUPS = {
    "start": start.measure,
    "verbs": verbs.measure,
    "recovery": recovery.measure,
    "folders": folders.measure,
    "teardown": teardown.measure,
    "plugin": plugin.measure,
}


def main(names: list[str]) -> int:
    unknown = sorted(set(names) - {*GROUPS, "loading"})
    if unknown:
        print(
            f"no benchmark {', '.join(unknown)}; there are {', '.join([*GROUPS, 'loading'])}", file=sys.stderr
        )
        return 2
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as place:
        for name, measure in GROUPS.items():
            if not names or name in names:
                for ratio in measure(Path(place)):
                    print(ratio, flush=True)
        if not names or "loading" in names:
            print(*plugin.loading(), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
