"""Prints the identity of a process, with whatever clock and locale it was started under."""

from __future__ import annotations

import json
import locale
import sys
import time

from runcoord._processes import open_processes


def main() -> None:
    pid, step = int(sys.argv[1]), float(sys.argv[2])
    locale.setlocale(locale.LC_ALL, "")
    wall = time.time
    time.time = lambda: wall() + step
    print(json.dumps(open_processes().identify(pid).document()))


if __name__ == "__main__":
    main()
