"""``python empty_runs.py ROUNDS WITHOUT WITH``: what options add to an empty pytest run, in seconds, one line
a round.

Each run is forked from a process that has made one already, so that pytest itself is loaded, and what is
looked for is a sixth of what is measured instead of a fortieth: whole processes differ by more than that from
one to the next. The options are single words, divided by spaces; WITHOUT must not load runcoord.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time

import pytest


def processor_time(options: list[str]) -> float:
    """Of one empty run, in a child of this process."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            before = time.process_time()
            code = run(options)
            os.write(writes, f"{time.process_time() - before} {code}".encode())
        finally:
            os._exit(0)  # whatever was raised: nothing of the caller is done twice
    os.close(writes)
    with os.fdopen(reads) as told:
        took, _, ended = told.read().partition(" ")
    os.waitpid(child, 0)
    if ended != str(int(pytest.ExitCode.NO_TESTS_COLLECTED)):
        raise SystemExit(f"an empty run with {options} ended with {ended or 'nothing said'}")
    return float(took)


def run(options: list[str]) -> int:
    return int(pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", ".", *options, "."]))


def main(rounds: int, without: list[str], with_it: list[str]) -> None:
    shown = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        run(without)
        if any(name.partition(".")[0] in ("pytest_runcoord", "runcoord") for name in sys.modules):
            raise SystemExit("the plugin is loaded already")
        processor_time(with_it)  # whatever is compiled at first is
        for number in range(rounds):
            if number % 2:  # each of them goes first in turn
                less = processor_time(without)
                more = processor_time(with_it)
            else:
                more = processor_time(with_it)
                less = processor_time(without)
            os.write(shown, f"{more - less}\n".encode())
        os.chdir("/")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2].split(), sys.argv[3].split())
