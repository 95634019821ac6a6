"""Runs under strace: system calls of single steps, between two calls that mark them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from runcoord._processes import open_processes

COOKIE = "c" * 32


@contextlib.contextmanager
def marked(name: str) -> Iterator[None]:
    os.access(f"/begin/{name}", 0)
    yield
    os.access(f"/end/{name}", 0)


def main() -> None:
    table = open_processes()
    children = [os.posix_spawn("/bin/sleep", ["sleep", length], {}) for length in ("60", "60", "60", "0.5")]
    warm, seen, alone, short = (table.identify(pid, COOKIE) for pid in children)
    likeness = ""
    for record in (warm, seen):
        with marked("look and signal"):
            process = table.open(record)
            likeness = process.look(record).likeness
            process.signal(signal.SIGKILL)
            process.close()
    with marked("signal"):
        process = table.open(alone)
        process.signal(signal.SIGKILL)
        process.close()
    process = table.open(short)
    with marked("wait"):
        table.wait([process], 30.0)
    ended = process.ended()
    for pid in children:
        os.waitpid(pid, 0)
    Path(sys.argv[1]).write_text(json.dumps({"likeness": likeness, "ended": ended}))


if __name__ == "__main__":
    main()
