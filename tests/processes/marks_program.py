"""Runs in a pid namespace of its own: gives one pid to process after process, and tells the marks."""

from __future__ import annotations

import json
import sys

from processes.reuse_program import end, spawn, spawn_as
from runcoord._processes.procfs import Procfs


def main() -> None:
    tries = json.load(sys.stdin)["tries"]
    pid, table = spawn(), Procfs()
    marks = [table.marks()[pid]]
    for _ in range(tries - 1):
        end(pid)
        spawn_as(pid)
        marks.append(table.marks()[pid])
    end(pid)
    json.dump(marks, sys.stdout)


if __name__ == "__main__":
    main()
