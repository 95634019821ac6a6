"""A coordinator on a terminal: ``python terminal_program.py FOLDER GRACE SCRIPT``.

Hands the terminal to a shell script, prints how it ended, and leaves with 0.
"""

from __future__ import annotations

import os
import signal
import sys
import termios
from pathlib import Path

from processes.trees import LIFE_SECONDS, Grove
from runcoord._launching import ShimLauncher


def main(folder: str, grace: str, script: str) -> None:
    grove = Grove(Path(folder))
    order = grove.order("sh", "-c", script, terminal=True)
    before = termios.tcgetattr(0)
    tree = ShimLauncher().launch(order)
    grove.trees.append(tree)
    signal.signal(signal.SIGINT, lambda number, frame: tree.hurry())
    tree.open_gate()
    ending = None
    while ending is None and tree.interruptions() == 0:
        ending = tree.wait(LIFE_SECONDS)
    print("ending", ending and ending.status, "interrupted", tree.interruptions(), flush=True)
    print("foreground", os.tcgetpgrp(0) == os.getpgrp(), flush=True)
    print("tearing down", flush=True)
    report = tree.tear_down(float(grace))
    print("foreground", os.tcgetpgrp(0) == os.getpgrp(), "modes", termios.tcgetattr(0) == before)
    print("emptied", report.emptied, sorted(each.fate.value for each in report.processes), flush=True)
    grove.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
